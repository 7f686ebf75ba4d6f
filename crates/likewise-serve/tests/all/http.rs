//! Requests as any program sends them, one a connection.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {text}"))
    }

    /// The body of an answer that must be good.
    #[track_caller]
    pub(crate) fn good(&self) -> Value {
        assert!(self.status < 300, "{}: {}", self.status, self.text());
        self.json()
    }

    /// The error of an answer that must be one of this state.
    #[track_caller]
    pub(crate) fn bad(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        let json = self.json();
        assert!(json["hint"].is_null() || json["hint"].is_string(), "{json}");
        json["error"].as_str().unwrap().to_owned()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut own = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        own.next().map(|(_, value)| value.trim().to_owned())
    }
}

fn send(to: SocketAddr, line: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(to).unwrap();
    let mut head = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        write!(head, "Host: {to}\r\n").unwrap();
    }
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    write!(head, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    // Whoever refuses a body need not read it.
    let _ = stream.write_all(body);
    stream
}

pub(crate) fn ask(to: SocketAddr, line: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut stream = send(to, line, headers, body);
    let mut bytes = Vec::new();
    if let Err(e) = stream.read_to_end(&mut bytes) {
        assert!(!bytes.is_empty(), "{line}: {e}");
    }
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("{line}: {}", String::from_utf8_lossy(&bytes)));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut body = bytes.split_off(end + 4);
    if head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked")
    {
        body = unchunked(&body);
    }
    Answer { status, head, body }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        body.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
    }
    body
}

pub(crate) fn get(to: SocketAddr, path: &str) -> Answer {
    ask(to, &format!("GET {path}"), &[], b"")
}

pub(crate) fn post(to: SocketAddr, path: &str, body: &Value) -> Answer {
    let json = [("Content-Type", "application/json")];
    ask(
        to,
        &format!("POST {path}"),
        &json,
        body.to_string().as_bytes(),
    )
}

/// The events of a stream, as they come.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    pub(crate) fn listen(to: SocketAddr) -> Self {
        let stream = send(to, "GET /events", &[], b"");
        let limit = std::time::Duration::from_mins(1);
        stream.set_read_timeout(Some(limit)).unwrap();
        Self(BufReader::new(stream))
    }

    /// The data of the next event of this name; others are passed over.
    pub(crate) fn next(&mut self, wanted: &str) -> Value {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended");
            if let Some(own) = line.strip_prefix("event: ") {
                own.trim_end().clone_into(&mut name);
            } else if let Some(data) = line.strip_prefix("data: ")
                && name == wanted
            {
                return serde_json::from_str(data.trim_end()).unwrap();
            }
        }
    }

    /// Whether the stream ends.
    pub(crate) fn ends(mut self) -> bool {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).is_ok()
    }
}
