//! Who may ask: this machine's own programs and pages, and whoever knows the token.
//!
//! A page of another site can make a browser send requests here, by our address or by a name of its own that it
//! points at us. So the name that is asked for must be ours, a request that says where it comes from must
//! come from our own page, and what changes something must have a type that other sites cannot send unasked.
//! At any other address than this machine's own a token is needed, and then any name will do: the browser sends its
//! cookie to no other name than the one that it was set for.

use std::net::SocketAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use subtle::ConstantTimeEq as _;

use crate::extract::{is_json, media_type, not_json};
use crate::problem::Problem;

/// Who may ask.
pub(crate) struct Guard {
    at: SocketAddr,
    token: Option<String>,
}

impl Guard {
    pub(crate) fn new(at: SocketAddr, token: Option<String>) -> Self {
        Self { at, token }
    }

    /// The name of the cookie: servers on other ports of the same name have their own.
    fn cookie(&self) -> String {
        format!("likewise_{}", self.at.port())
    }

    /// The cookie that lets a browser in.
    pub(crate) fn set_cookie(&self, token: &str) -> String {
        format!(
            "{}={token}; Path=/; HttpOnly; SameSite=Strict",
            self.cookie()
        )
    }

    /// Whether this is the token, in a time that does not tell where it differs.
    pub(crate) fn is_token(&self, given: &str) -> bool {
        let own = self.token.as_deref();
        own.is_some_and(|own| own.as_bytes().ct_eq(given.as_bytes()).into())
    }

    /// Fails where this request may not be answered.
    pub(crate) fn check(&self, request: &Request) -> Result<(), Problem> {
        let headers = request.headers();
        let host = self.check_host(request)?;
        check_origin(headers, &host, request.uri().path())?;
        if self.token.is_some() && !is_entrance(request) && !self.knows_token(headers) {
            let problem = Problem::new(StatusCode::UNAUTHORIZED, "a token is needed");
            return Err(problem.hint("send Authorization: Bearer TOKEN, or open /?token=TOKEN"));
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let image = media_type(headers).is_some_and(|kind| kind.starts_with("image/"));
            if request.method() == Method::POST && !is_json(headers) && !image {
                return Err(not_json());
            }
        }
        Ok(())
    }

    fn check_host(&self, request: &Request) -> Result<String, Problem> {
        let foreign = || {
            Problem::new(StatusCode::FORBIDDEN, "this is not the name of this server")
                .hint(format!(
                    "ask http://{}; by another name or port, as through a tunnel, it answers where it was started \
                     with a token",
                    self.at
                ))
        };
        let host = request.headers().get(header::HOST);
        let host = host
            .and_then(|host| host.to_str().ok())
            .ok_or_else(foreign)?;
        if self.token.is_some() {
            return Ok(host.to_ascii_lowercase());
        }
        let host = host.to_ascii_lowercase();
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port),
            _ => (host.as_str(), "80"),
        };
        let own = ["localhost", "127.0.0.1", "[::1]"].contains(&name)
            || name == self.at.ip().to_string()
            || name == format!("[{}]", self.at.ip());
        if own && port == self.at.port().to_string() {
            Ok(host)
        } else {
            Err(foreign())
        }
    }

    fn knows_token(&self, headers: &HeaderMap) -> bool {
        let text = |name: header::HeaderName| headers.get(name).and_then(|v| v.to_str().ok());
        let given = text(header::AUTHORIZATION).and_then(|value| value.split_once(' '));
        // Names of schemes ignore case.
        let bearer = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        if bearer.is_some_and(|(_, given)| self.is_token(given.trim())) {
            return true;
        }
        let own = self.cookie();
        let cookies = text(header::COOKIE).unwrap_or_default().split(';');
        let mut pairs = cookies.filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == own && self.is_token(value))
    }
}

/// `GET /?token=T`, which looks at the token itself.
fn is_entrance(request: &Request) -> bool {
    let query = request.uri().query().unwrap_or_default();
    request.uri().path() == "/" && query.starts_with("token=")
}

/// What a link on a page of another site may open.
const PAGES: [&str; 2] = ["/", "/report.html"];

/// Fails where a page of another site asks.
fn check_origin(headers: &HeaderMap, host: &str, path: &str) -> Result<(), Problem> {
    let foreign = || {
        let status = StatusCode::FORBIDDEN;
        Problem::new(status, "a page of another site may not ask this server")
    };
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if let Some(origin) = text("origin") {
        let own = origin.to_ascii_lowercase();
        let own = own.strip_prefix("http://").or(own.strip_prefix("https://"));
        if own != Some(host) {
            return Err(foreign());
        }
    }
    // Who follows a link to the page sees it; a frame of another site, or a link to what takes minutes, asks for nothing.
    let follows = text("sec-fetch-mode") == Some("navigate")
        && text("sec-fetch-dest") == Some("document")
        && PAGES.contains(&path);
    match text("sec-fetch-site") {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) if follows => Ok(()),
        Some(_) => Err(foreign()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn guard(at: &str, token: Option<&str>) -> Guard {
        Guard::new(at.parse().unwrap(), token.map(str::to_owned))
    }

    fn state(guard: &Guard, headers: &[(&str, &str)]) -> u16 {
        let mut request = axum::http::Request::get("/run");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let checked = guard.check(&request.body(Body::empty()).unwrap());
        checked.map_or_else(|problem| problem.status.as_u16(), |()| 200)
    }

    #[test]
    fn only_our_own_names_are_answered() {
        let guard = guard("127.0.0.1:8080", None);
        for host in [
            "127.0.0.1:8080",
            "localhost:8080",
            "LOCALHOST:8080",
            "[::1]:8080",
        ] {
            assert_eq!(state(&guard, &[("host", host)]), 200, "{host}");
        }
        for host in [
            "evil.example:8080",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.1:8080.evil.example",
            "localhost.evil.example:8080",
            "",
        ] {
            assert_eq!(state(&guard, &[("host", host)]), 403, "{host}");
        }
        assert_eq!(state(&guard, &[]), 403);
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let guard = guard("127.0.0.1:8080", None);
        let with = |name, value| state(&guard, &[("host", "localhost:8080"), (name, value)]);
        assert_eq!(with("origin", "http://localhost:8080"), 200);
        for origin in [
            "http://127.0.0.1:8080",
            "http://evil.example",
            "null",
            "http://localhost:8081",
        ] {
            assert_eq!(with("origin", origin), 403, "{origin}");
        }
        assert_eq!(with("sec-fetch-site", "same-origin"), 200);
        assert_eq!(with("sec-fetch-site", "none"), 200);
        assert_eq!(with("sec-fetch-site", "cross-site"), 403);
        assert_eq!(with("sec-fetch-site", "same-site"), 403);
        // Who follows a link comes to the page, and nothing else is asked by a link or a frame.
        let linked = |path: &str, dest: &str| {
            let request = axum::http::Request::get(path)
                .header("host", "localhost:8080")
                .header("sec-fetch-site", "cross-site")
                .header("sec-fetch-mode", "navigate")
                .header("sec-fetch-dest", dest);
            guard.check(&request.body(Body::empty()).unwrap()).is_ok()
        };
        assert!(linked("/", "document") && linked("/report.html", "document"));
        assert!(!linked("/", "iframe") && !linked("/advise?curve=true", "document"));
    }

    #[test]
    fn a_token_is_asked_for_and_then_any_name_will_do() {
        let guard = guard("0.0.0.0:8080", Some("s3cret"));
        let with = |name, value| state(&guard, &[("host", "box.lan:8080"), (name, value)]);
        assert_eq!(with("accept", "*/*"), 401);
        assert_eq!(with("authorization", "Bearer s3cret"), 200);
        assert_eq!(with("authorization", "bearer s3cret"), 200);
        assert_eq!(with("authorization", "Bearer s3cre"), 401);
        assert_eq!(with("authorization", "Basic s3cret"), 401);
        assert_eq!(with("cookie", "a=b; likewise_8080=s3cret"), 200);
        assert_eq!(with("cookie", "likewise_8081=s3cret"), 401);
        assert_eq!(with("cookie", "likewise_8080="), 401);
    }
}
