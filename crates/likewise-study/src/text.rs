//! Texts that people write for us: recipes, experiments, settings; pages that we write for them; and what
//! tells a text of ours from that of another program.

use std::io::Write as _;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::Result;

/// Longest text that is read, bytes.
pub const MOST: u64 = 16 << 20;

/// What the readers of TOML and JSON say of a value, without the types of the program: a whole number that they
/// cannot hold is told by the range.
pub fn in_words(said: &str) -> String {
    let rule = format!("a whole number must be from {} to {}", i64::MIN, i64::MAX);
    let mut told = said.to_owned();
    for words in ["u64 value was too large", "integer number overflowed"] {
        told = told.replace(words, &rule);
    }
    // Here the number is told, as of a type of the reader.
    match told.split_once("invalid type: integer `") {
        Some((before, behind)) if behind.contains("` as i128") || behind.contains("` as u128") => {
            format!("{before}{rule}")
        }
        _ => of_types(&told),
    }
}

/// The same with what a value was expected to be in place of its type.
fn of_types(said: &str) -> String {
    const EXPECTED: &str = ", expected ";
    let Some((before, behind)) = said.split_once(EXPECTED) else {
        return said.to_owned();
    };
    let end = behind.find([':', ';']).unwrap_or(behind.len());
    let end = behind.find(" at line").map_or(end, |line| line.min(end));
    let (of_type, rest) = behind.split_at(end);
    let word = match of_type {
        "usize" | "u8" | "u16" | "u32" | "u64" => "a whole number of 0 or more",
        "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a map" | "any valid TOML value" => "a table",
        "map with a single key" => "a table of one field",
        "string or map" => "a word or a table",
        "variant identifier" => "a word",
        "a sequence" => "a list",
        of if of.starts_with("struct ") || of.starts_with("internally tagged enum ") => "a table",
        of if of.starts_with("enum ") => "a word or a table",
        of => of,
    };
    format!("{before}{EXPECTED}{word}{rest}")
}

/// What is wrong with a text in TOML, on one line.
pub fn wrong_toml(e: &toml::de::Error, text: &str) -> String {
    let line = e.span().map_or(1, |span| {
        text.get(..span.start)
            .map_or(0, |before| before.matches('\n').count())
            + 1
    });
    format!("line {line}: {}", in_words(e.message().trim_end()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_beyond_the_range_is_told_by_the_range() {
        for number in [
            "9223372036854775808",
            "18446744073709551616",
            "-9223372036854775809",
            "99999999999999999999999999999999999999999999",
        ] {
            let text = format!("a = 1\nseed = {number}\n");
            let e = text.parse::<toml::Table>().unwrap_err();
            assert_eq!(
                wrong_toml(&e, &text),
                "line 2: a whole number must be from -9223372036854775808 to 9223372036854775807"
            );
        }
        let other = "invalid type: integer `3`, expected a string";
        assert_eq!(in_words(other), other);
    }

    #[test]
    fn what_was_expected_is_told_without_types() {
        for (said, words) in [
            (
                "`3`, expected struct Rounds: in `rounds`",
                "`3`, expected a table: in `rounds`",
            ),
            (
                "`3`, expected internally tagged enum Kind",
                "`3`, expected a table",
            ),
            (
                "\"x\", expected usize at line 1 column 3",
                "\"x\", expected a whole number of 0 or more at line 1 column 3",
            ),
            (
                "\"x\", expected f64; its usual value is 2",
                "\"x\", expected a number; its usual value is 2",
            ),
            ("`3`, expected enum Rule", "`3`, expected a word or a table"),
            (
                "unknown field `a`, expected one of `b`, `c`",
                "unknown field `a`, expected one of `b`, `c`",
            ),
            ("expected an equals", "expected an equals"),
        ] {
            assert_eq!(in_words(said), words);
        }
    }
}
