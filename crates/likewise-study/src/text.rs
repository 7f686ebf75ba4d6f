//! Texts that people write for us: recipes, experiments, settings; pages that we write for them; and what
//! tells a text of ours from that of another program.

use std::io::Write as _;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::Result;

/// Longest text that is read, bytes.
pub const MOST: u64 = 16 << 20;

/// What is wrong with a text in TOML, on one line.
pub fn wrong_toml(e: &toml::de::Error, text: &str) -> String {
    let line = e.span().map_or(1, |span| {
        text.get(..span.start)
            .map_or(0, |before| before.matches('\n').count())
            + 1
    });
    format!("line {line}: {}", e.message().trim_end())
}

/// Writes a page, whole or not at all. Fails where the file cannot be written.
pub(crate) fn write(out: &Path, page: &str) -> Result<()> {
    Ok(likewise_io::atomic::write(out, |file| {
        Ok(file.write_all(page.as_bytes())?)
    })?)
}

/// What a text in JSON says, if it is an object with these fields. A list is none, though serde would take
/// its values for the fields in their order: it is of another program.
pub(crate) fn object<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    if !text.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    serde_json::from_slice(text).ok()
}
