//! A program that serves is asked, and told to end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::data::Result;

/// What stands for the address of the server in a request.
pub(super) const HERE: &str = "127.0.0.1:0";
/// How long a request that was cut short is waited for.
const PATIENCE: Duration = Duration::from_millis(400);
/// Most bytes that are read of an answer.
const READ: u64 = 4 << 20;

/// Sends what is in `requests` to the server that `program` is, and asks it to end.
///
/// `told` is what it prints. `false` where it answers no more, though it runs.
pub(super) fn ask(
    program: &mut Child,
    told: &Path,
    requests: &Path,
    limit: Duration,
) -> Result<bool> {
    let Some(address) = address(program, told, limit)? else {
        return Ok(true);
    };
    let mut files = std::fs::read_dir(requests)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    files.sort();
    for file in files {
        let request = std::fs::read(file)?;
        // What is refused, cut short or not answered is as it should be.
        let _ = exchange(address, &request, PATIENCE);
    }
    let health = format!("GET /healthz HTTP/1.1\r\nHost: {HERE}\r\nConnection: close\r\n\r\n");
    let alive = exchange(address, health.as_bytes(), limit).is_ok_and(|answer| !answer.is_empty());
    // A server that has ended says how by its status.
    if !alive && program.try_wait()?.is_none() {
        return Ok(false);
    }
    let id = program.id().to_string();
    // The shell's own: not every machine has a program of that name.
    std::process::Command::new("sh")
        .args(["-c", r#"kill -TERM "$1""#, "sh", &id])
        .stderr(std::process::Stdio::null())
        .status()?;
    Ok(true)
}

/// Where it listens, once it does; none where it has ended or does not come to it.
fn address(program: &mut Child, told: &Path, limit: Duration) -> Result<Option<SocketAddr>> {
    let began = Instant::now();
    while program.try_wait()?.is_none() && began.elapsed() < limit {
        // Half a line is none yet.
        if let Ok(json) = serde_json::from_slice::<serde_json::Value>(&std::fs::read(told)?) {
            let url = json["url"].as_str().unwrap_or_default();
            let address = url.trim_start_matches("http://").trim_end_matches('/');
            return Ok(Some(address.parse()?));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(None)
}

fn exchange(to: SocketAddr, request: &[u8], patience: Duration) -> Result<Vec<u8>> {
    let mut request = request.to_vec();
    if let Some(at) = place_of(&request, HERE.as_bytes()) {
        request.splice(at..at + HERE.len(), to.to_string().into_bytes());
    }
    let mut stream = TcpStream::connect_timeout(&to, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    stream.write_all(&request)?;
    let mut answer = vec![];
    stream.take(READ).read_to_end(&mut answer)?;
    Ok(answer)
}

pub(super) fn place_of(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|part| part == what)
}
