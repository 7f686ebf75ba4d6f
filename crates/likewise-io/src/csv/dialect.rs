//! How a text was written: its letters, and what stands between its columns.

use std::io::{Read, Seek};

use csv::ByteRecord;

use super::encoding::Letters;
use super::head::{self, records};
use crate::Result;
use crate::input::{Input, Stream};

/// Bytes that are looked at to tell the separator.
const LOOKED_AT: u64 = 1 << 16;

/// How a text was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) letters: Letters,
    pub(super) separator: u8,
    /// The separator that the text speaks for, where another one is given.
    speaks_for: Option<u8>,
    /// Lines above the names that are passed over: a title, and what Excel says of the separator.
    pub(super) above: u64,
    /// Whether the first line is data, though it holds words.
    pub(super) bare: bool,
    /// First and last of several lines of names.
    pub(super) several: Option<(u64, u64)>,
}

impl Dialect {
    /// How this text was written; `own` is the separator that its name means. A separator that
    /// is `given` is believed.
    pub(super) fn of(input: &Input, own: u8, given: Option<char>) -> Result<Self> {
        let mut start = Vec::new();
        let mut stream = rewound(input)?;
        stream.by_ref().take(LOOKED_AT).read_to_end(&mut start)?;
        let letters = match Letters::of(&start) {
            Letters::Utf8 if !is_utf8(rewound(input)?)? => Letters::Windows1252,
            letters => letters,
        };
        let whole = (start.len() as u64) < LOOKED_AT;
        let given = given.and_then(|sign| u8::try_from(sign).ok());
        let mut text = Vec::new();
        let mut decoded = letters.decode(Box::new(start.as_slice()));
        decoded.read_to_end(&mut text)?;
        head::no_drawing(&text)?;
        let (said, text) = head::said_separator(&text);
        let given = given.or(said);
        let found = separator(text, given.unwrap_or(own), whole);
        let found = given.map_or_else(|| head::separator_below(text, found), |_| found);
        let separator = given.unwrap_or(found);
        let titles = head::titles(text, separator);
        let above = u64::from(said.is_some()) + titles as u64;
        let lines = records(head::below(text, titles), separator, whole);
        let bare = head::is_bare(&lines);
        let names = head::lines_of_names(&lines).filter(|_| !bare);
        Ok(Self {
            letters,
            separator,
            speaks_for: Some(found).filter(|found| *found != separator),
            above,
            bare,
            several: names.map(|names| (above + 1, above + names as u64)),
        })
    }

    /// What may be wrong where the text is no table by the separator that is given; else nothing.
    pub(super) fn doubt(self) -> Option<String> {
        let name = |separator| match separator {
            b'\t' => "a tab".to_owned(),
            other => format!("\"{}\"", other as char),
        };
        let found = name(self.speaks_for?);
        Some(format!(
            "the file looks as if {found} stands between columns, but `sep` says {}; leave it out",
            name(self.separator)
        ))
    }

    /// The same as the end of a message.
    pub(super) fn advice(self) -> String {
        self.doubt()
            .map_or(String::new(), |doubt| format!("; {doubt}"))
    }

    /// The text in UTF-8, from its beginning.
    pub(super) fn open(self, input: &Input) -> Result<Box<dyn Read>> {
        Ok(self.letters.decode(Box::new(rewound(input)?)))
    }
}

/// Whether all of a text is UTF-8; also where it is no text at all, which is said elsewhere.
fn is_utf8(mut stream: impl Read) -> Result<bool> {
    let mut bytes = vec![0; 1 << 16];
    let mut kept = 0;
    let mut sound = true;
    loop {
        let read = stream.read(&mut bytes[kept..])?;
        if read == 0 {
            return Ok(sound && kept == 0);
        }
        let now = &bytes[..kept + read];
        if now.contains(&0) {
            return Ok(true);
        }
        let cut = match std::str::from_utf8(now) {
            Ok(_) => now.len(),
            Err(e) if e.error_len().is_none() => e.valid_up_to(),
            Err(_) => {
                sound = false;
                now.len()
            }
        };
        let end = kept + read;
        bytes.copy_within(cut..end, 0);
        kept = end - cut;
    }
}

fn rewound(input: &Input) -> Result<Box<dyn Stream>> {
    // Handles of a file share their position.
    let mut stream = input.again()?.stream();
    stream.rewind()?;
    Ok(stream)
}

/// The separator of a text: `own` unless the first line speaks for another one, and most others
/// do, too.
fn separator(text: &[u8], own: u8, whole: bool) -> u8 {
    let lines = records(text, own, whole);
    let Some(first) = lines.first() else {
        return own;
    };
    let others = [b';', b'\t', b',', b'|'];
    let looks = |other: &u8| {
        // Spaces are no separator that somebody forgot to name.
        if *other == own || own == b' ' {
            return false;
        }
        let has = |field: &&[u8]| field.contains(other);
        let count = first.iter().flatten().filter(|b| *b == other).count();
        // With decimal commas, fields such as "5;2" stand between the commas.
        let number = |field: &[u8]| {
            let text = std::str::from_utf8(field).unwrap_or("x").trim();
            !text.is_empty()
                && text
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b))
        };
        let cuts = |field: &[u8]| field.split(|b| b == other).all(number);
        let spoken = count >= first.len() || first.iter().filter(has).any(cuts);
        count > 0 && spoken && agree(&records(text, *other, whole))
    };
    others.into_iter().find(looks).unwrap_or(own)
}

/// Whether most lines have as many fields as the first, and that more than one. A line that has
/// not is a mistake, and named as one.
fn agree(lines: &[ByteRecord]) -> bool {
    let width = lines.first().map_or(0, ByteRecord::len);
    let same = lines.iter().filter(|line| line.len() == width).count();
    width > 1 && 2 * same > lines.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_separator_is_the_one_that_lines_agree_on() {
        let of = |text: &str, own| separator(text.as_bytes(), own, true) as char;
        assert_eq!(of("a,b\n1,2\n", b','), ',');
        assert_eq!(of("id;label\n1;2\n", b','), ';');
        assert_eq!(of("a;b;c\n1,5;2;3\n", b','), ';');
        assert_eq!(of("1,5;2,5;3\n", b','), ';');
        assert_eq!(of("a\tb\n1\t2\n", b','), '\t');
        assert_eq!(of("a|b|c\n1|2|3\n", b','), '|');
        assert_eq!(of("a,b\n1,2\n", b'\t'), ',');
        assert_eq!(of("a;b,c\n1,2\n", b','), ',');
        // A text in one column, and one in quotes.
        assert_eq!(of("label\nx;y\n", b','), ',');
        assert_eq!(of("a;b\n1\n2\n", b','), ',');
        // One line is wrong.
        assert_eq!(of("a;b\n1;2\n3\n", b','), ';');
        assert_eq!(of("\"a;b\",c\n1,2\n", b','), ',');
        assert_eq!(of("a, b c\n1, 2\n", b' '), ' ');
        assert_eq!(of("", b','), ',');
    }
}
