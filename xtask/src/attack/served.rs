//! A run that is served: requests that no page would send, and a folder that somebody else made.
//!
//! The requests of an attack are its files below `requests/`, in their order. They are sent as they
//! are, but for [`HERE`], which becomes the address of the server: without it every request would
//! end at the check of its host.

use super::ask::{HERE, place_of};
use super::kind::{Case, Files, Mutated};
use super::place::Place;
use super::run_folder;
use super::text::ending;
use crate::data::Result;

/// What can be asked: method and path, and the body.
const REQUESTS: [(&str, &str); 32] = [
    ("GET /healthz", ""),
    ("GET /run", ""),
    ("GET /metrics", ""),
    ("GET /openapi.json", ""),
    ("GET /", ""),
    ("GET /page/ask.js", ""),
    ("GET /items?limit=5&offset=3", ""),
    ("GET /items?class=red&text=i1", ""),
    ("GET /items/i3", ""),
    ("GET /items/i3/image?edge=32", ""),
    ("GET /classes", ""),
    ("GET /queue?kind=uncertain&n=7", ""),
    ("GET /queue?kind=conflicting&n=7", ""),
    ("GET /queue?kind=suspect&n=7", ""),
    ("GET /queue?kind=duplicate&n=7", ""),
    ("GET /queue?kind=informative&n=7", ""),
    ("GET /advise?budget=5", ""),
    ("GET /refit", ""),
    ("GET /models", ""),
    ("GET /map", ""),
    ("GET /report", ""),
    ("GET /labels.csv", ""),
    ("POST /search", r#"{"id":"i3","k":5}"#),
    ("POST /search", r#"{"vector":[1.0,0.5,-2.0,3.0],"k":3}"#),
    ("POST /search", r#"{"id":"i3","space":"raw","k":5}"#),
    ("POST /embed", r#"{"vector":[1.0,0.5,-2.0,3.0]}"#),
    ("POST /label", r#"{"id":"i3","label":"red"}"#),
    (
        "POST /label",
        r#"{"ids":["i3","i4"],"label":null,"who":"me"}"#,
    ),
    ("POST /undo", "{}"),
    ("POST /classes", r#"{"rename":{"from":"red","to":"rot"}}"#),
    ("POST /models/1/restore", "{}"),
    ("POST /refit/cancel", "{}"),
];

/// Requests with something wrong in them, to a run as it was made.
pub(super) fn requests(place: &Place) -> Result<Mutated> {
    let run = run_folder::whole(place, "")?;
    // It is served, and ends when it is told to: else nothing of what follows would be asked.
    let mut sound = run.clone();
    sound.extend(asked(&REQUESTS));
    place.made(sound, &[SERVE])?;
    // Some at a time: what one leaves behind meets the next.
    let cases = REQUESTS.chunks(6).map(|some| {
        let mut files = run.clone();
        files.extend(asked(some));
        serve(files).only(|name| name.starts_with("requests/"))
    });
    Ok(Mutated {
        name: "requests",
        cases: cases.collect(),
        after: measure,
    })
}

/// Sound requests to a damaged run.
pub(super) fn folder(place: &Place) -> Result<Mutated> {
    let mut files = run_folder::whole(place, "")?;
    files.extend(asked(&REQUESTS));
    let targets = |name: &str| name.starts_with("run/") && ending(name) != "md";
    Ok(Mutated {
        name: "served run",
        cases: vec![serve(files).only(targets)],
        after: run_folder::unmark,
    })
}

const SERVE: &str = "serve run --port 0 --json -q --threads 1";

fn serve(files: Files) -> Case {
    Case::new(SERVE, files)
}

fn asked(requests: &[(&str, &str)]) -> Files {
    let file = |(i, (line, body)): (usize, &(&str, &str))| {
        let head = format!("{line} HTTP/1.1\r\nHost: {HERE}\r\nConnection: close\r\n");
        let of_body = match body.len() {
            0 => String::new(),
            n => format!("Content-Type: application/json\r\nContent-Length: {n}\r\n"),
        };
        let name = format!("requests/{i:02}.http");
        (name, format!("{head}{of_body}\r\n{body}").into_bytes())
    };
    requests.iter().enumerate().map(file).collect()
}

/// Puts the length of a body right where it is even, so that half of the bodies are read whole.
fn measure(files: &mut Files) {
    for (_, request) in files
        .iter_mut()
        .filter(|(name, _)| name.starts_with("requests/"))
    {
        let Some(end) = place_of(request, b"\r\n\r\n") else {
            continue;
        };
        let body = request.len() - end - 4;
        let Some(at) = place_of(&request[..end], b"Content-Length: ") else {
            continue;
        };
        let at = at + b"Content-Length: ".len();
        if body.is_multiple_of(2) {
            let line = place_of(&request[at..end], b"\r\n").map_or(end, |length| at + length);
            request.splice(at..line, body.to_string().into_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_whole_and_measured() {
        let mut files = asked(&REQUESTS);
        assert_eq!(files.len(), REQUESTS.len());
        let label = "requests/26.http";
        let text = String::from_utf8(files[label].clone()).unwrap();
        assert!(text.starts_with("POST /label HTTP/1.1\r\nHost: 127.0.0.1:0\r\n"));
        assert!(text.ends_with("Content-Length: 25\r\n\r\n{\"id\":\"i3\",\"label\":\"red\"}"));
        // One byte more makes it even: its length is told.
        let mut longer = files[label].clone();
        longer.push(b' ');
        files.insert(label.into(), longer);
        measure(&mut files);
        let text = String::from_utf8(files[label].clone()).unwrap();
        assert!(text.contains("Content-Length: 26\r\n\r\n"), "{text}");
        // Without a head there is nothing to put right.
        measure(&mut super::super::data::files([(
            "requests/0.http",
            b"Content-Length: ".to_vec(),
        )]));
    }
}
