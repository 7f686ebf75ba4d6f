//! Texts that people write for us: recipes, experiments, settings; and pages that we write for them.

use std::io::Write as _;
use std::path::Path;

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
