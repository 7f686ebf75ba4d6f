//! Results on stdout.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use likewise_study::plain;
use serde::Serialize;

use crate::aside::aside;
use crate::failure::Failure;

/// Whether nobody reads stdout any more.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Writes one line. Into a closed pipe nothing is written and nothing is said, as is usual,
/// but the work goes on: what comes after the output, such as a quality gate, still decides
/// the exit code.
///
/// Fails where stdout cannot be written, as on a full disk; so do the others.
pub fn line(text: impl AsRef<str>) -> Result<(), Failure> {
    put(&plain::line(text.as_ref()))
}

/// Writes text of several lines; names of the data in it must be [plain](plain::name).
pub fn text(text: impl AsRef<str>) -> Result<(), Failure> {
    put(&plain::lines(text.as_ref()))
}

/// Whether a file of results goes where text would go.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Says where the file of results goes: where that is stdout, text goes to stderr.
pub fn beside(out: Option<&Path>) {
    if out.is_some_and(likewise_io::atomic::is_standard_output) {
        TAKEN.store(true, Ordering::Relaxed);
    }
}

fn put(text: &str) -> Result<(), Failure> {
    if CLOSED.load(Ordering::Relaxed) {
        return Ok(());
    }
    if TAKEN.load(Ordering::Relaxed) {
        aside(text);
        return Ok(());
    }
    let result = writeln!(std::io::stdout().lock(), "{text}");
    written(result)
}

/// What became of writing to stdout.
pub(crate) fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    match result.and_then(|()| std::io::stdout().flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {
            CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        Err(e) => {
            let e = likewise_io::Error::from(e).within("standard output");
            Err(Failure::failed(e.to_string()))
        }
        Ok(()) => Ok(()),
    }
}

/// Writes a value as JSON.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    put(&plain::json(&serde_json::to_string_pretty(value)?))
}
