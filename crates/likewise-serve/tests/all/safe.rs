//! Who may ask, and how much.

use std::net::{IpAddr, Ipv4Addr};

use likewise_serve::Options;
use serde_json::json;

use crate::http::{Events, ask, get, post};
use crate::scene::{Server, device, run, served};

#[test]
fn pages_of_other_sites_and_other_names_are_refused() {
    let (run, server) = served();
    let json = ("Content-Type", "application/json");
    let body = br#"{"id": "d1", "label": "3"}"#;
    for wrong in [
        ("Host", "evil.example"),
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
    ] {
        ask(server.at, "POST /label", &[json, wrong], body).bad(403);
    }
    // What a form of another site can send.
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ] {
        ask(server.at, "POST /label", &[("Content-Type", kind)], body).bad(415);
    }
    ask(server.at, "POST /label", &[], body).bad(415);
    let text = std::fs::read_to_string(crate::scene::journal(run.path())).unwrap();
    assert_eq!(text, "");
    let own = format!("http://{}", server.at);
    assert_eq!(
        ask(server.at, "POST /label", &[json, ("Origin", &own)], body).status,
        200
    );
}

#[test]
fn every_answer_has_the_headers_that_keep_a_browser_safe() {
    let (_run, server) = served();
    for path in ["/", "/run", "/nothing", "/items/nobody", "/openapi.json"] {
        let answer = get(server.at, path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"));
        assert!(!policy.contains("unsafe"));
        assert_eq!(
            answer.header("x-content-type-options").unwrap(),
            "nosniff",
            "{path}"
        );
        assert_eq!(answer.header("referrer-policy").unwrap(), "no-referrer");
        assert_eq!(
            answer.header("cross-origin-resource-policy").unwrap(),
            "same-origin"
        );
        assert!(answer.header("access-control-allow-origin").is_none());
    }
}

#[test]
fn the_page_is_a_part_of_the_program_and_nothing_else_is() {
    let (_run, server) = served();
    let page = get(server.at, "/");
    assert_eq!(
        (page.status, page.header("content-type").unwrap().as_str()),
        (200, "text/html; charset=utf-8")
    );
    let mark = page.header("etag").unwrap();
    let again = ask(server.at, "GET /", &[("If-None-Match", &mark)], b"");
    assert_eq!((again.status, again.body.len()), (304, 0));
    for path in [
        "/page/..%2FAPI.md",
        "/page/%2Fetc%2Fpasswd",
        "/page/",
        "/page/nothing.js",
        "/page/..%2f..%2fCargo.toml",
    ] {
        get(server.at, path).bad(404);
    }
    get(server.at, "/../../etc/passwd").bad(404);
}

#[test]
fn large_bodies_are_refused() {
    let (_run, server) = served();
    let json = [("Content-Type", "application/json")];
    let large = vec![b' '; (1 << 20) + 1];
    ask(server.at, "POST /label", &json, &large).bad(413);
    let image = [("Content-Type", "image/png")];
    let large = vec![0; (32 << 20) + 1];
    ask(server.at, "POST /search", &image, &large).bad(413);
    get(server.at, "/healthz").good();
}

#[test]
fn nobody_makes_names_that_nobody_sees() {
    let (_run, server) = served();
    for name in ["a\u{0}b", "a\nb", "\u{1b}[31m", "a\u{202e}b"] {
        post(server.at, "/classes", &json!({"add": name})).bad(400);
        post(
            server.at,
            "/label",
            &json!({"id": "d1", "label": "3", "who": name}),
        )
        .bad(400);
    }
}

#[test]
fn another_address_needs_a_token_and_asks_for_it() {
    let run = run();
    let open = Options {
        host: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        ..Options::new(run.path(), device())
    };
    let said = Server::begin(&open, None).err().unwrap().to_string();
    assert!(said.contains("needs a token"), "{said}");
    let short = Options {
        token: Some("s3cret".into()),
        ..open.clone()
    };
    assert!(Server::begin(&short, None).is_err());
    let token = "s3cret-s3cret";
    let options = Options {
        token: Some(token.into()),
        ..open
    };
    let mut server = Server::begin(&options, None).unwrap();
    server.at.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
    for path in [
        "/",
        "/run",
        "/healthz",
        "/metrics",
        "/page/index.html",
        "/openapi.json",
    ] {
        get(server.at, path).bad(401);
    }
    post(server.at, "/label", &json!({"id": "d1", "label": "3"})).bad(401);
    let with = |name: &str, value: &str| ask(server.at, "GET /run", &[(name, value)], b"").status;
    assert_eq!(with("Authorization", &format!("Bearer {token}")), 200);
    assert_eq!(with("Authorization", "Bearer s3cret-s3creT"), 401);
    get(server.at, "/?token=wrong-token").bad(401);
    let entered = get(server.at, &format!("/?token={token}"));
    assert_eq!(
        (entered.status, entered.header("location").unwrap().as_str()),
        (303, "/")
    );
    let cookie = entered.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
    assert_eq!(with("Cookie", cookie.split(';').next().unwrap()), 200);
}

#[test]
fn a_server_that_is_told_to_stop_ends_its_streams_and_stops() {
    let (_run, server) = served();
    let mut events = Events::listen(server.at);
    events.next("hello");
    let begun = std::time::Instant::now();
    server.stop().unwrap();
    assert!(events.ends());
    assert!(begun.elapsed().as_secs() < 5);
}

#[test]
fn what_is_no_run_is_not_served() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::new(folder.path(), device());
    let said = Server::begin(&options, None).err().unwrap().to_string();
    assert!(said.contains("not a run"), "{said}");
    // Nothing is left in a folder of others.
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    let options = Options::new(&folder.path().join("nothing"), device());
    let said = Server::begin(&options, None).err().unwrap().to_string();
    assert!(said.contains("not a run"), "{said}");
}
