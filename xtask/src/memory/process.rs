//! One command of the program, and the most memory that it held.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::data::Result;

/// How often a process is looked at.
const EVERY: Duration = Duration::from_millis(2);

/// How a command ended.
pub(super) struct Ended {
    pub(super) well: bool,
    /// What it wrote on standard output and standard error.
    pub(super) answer: String,
    pub(super) said: String,
    /// Most memory that was resident at once, mapped files included: what the system calls the
    /// high-water mark.
    pub(super) peak: u64,
    /// Most of it that was the process's own, and could not be read again from a file.
    pub(super) own: u64,
    pub(super) seconds: f64,
}

/// Runs the program in a folder and watches it.
pub(super) fn run(binary: &Path, arguments: &[String], folder: &Path) -> Result<Ended> {
    let (answer, said) = (folder.join("stdout"), folder.join("stderr"));
    let began = Instant::now();
    let mut child = Command::new(binary)
        .args(arguments)
        .current_dir(folder)
        .env("LIKEWISE_CACHE", folder.join("cache"))
        .stdin(Stdio::null())
        .stdout(File::create(&answer)?)
        .stderr(File::create(&said)?)
        .spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let (mut peak, mut own) = (0, 0);
    let ended = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        peak = peak.max(field(&text, "VmHWM:"));
        own = own.max(field(&text, "RssAnon:"));
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        std::thread::sleep(EVERY);
    };
    let text = |path: &Path| -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
    };
    Ok(Ended {
        well: ended.success(),
        answer: text(&answer)?,
        said: text(&said)?,
        peak,
        own,
        seconds: began.elapsed().as_secs_f64(),
    })
}

/// The bytes behind a name, 0 where it is not there.
fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_words_are_read() {
        let status = "Name:\tx\nVmHWM:\t  2048 kB\nRssAnon:\t    12 kB\n";
        assert_eq!(field(status, "VmHWM:"), 2 << 20);
        assert_eq!(field(status, "RssAnon:"), 12 << 10);
        assert_eq!(field(status, "VmPeak:"), 0);
    }
}
