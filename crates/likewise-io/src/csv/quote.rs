//! Quotes that open and never close, and where lines end.

use std::collections::VecDeque;
use std::io::Read;

/// Bytes on their way to the csv reader, and whether they stand in quotes at their end.
///
/// A quote opens where a field begins, and closes at the next one that is not doubled; this
/// is the reader's own rule, but it does not tell how the file ended. One pass, O(bytes).
///
/// Outside of quotes every line ends in a newline alone when it is handed on, whatever program wrote it:
/// the reader counts newlines, and would take the second byte of an end for part of the next line.
pub(super) struct Watched<R> {
    inner: R,
    delimiter: u8,
    state: State,
    /// Bytes of a byte order mark that may stand at the beginning.
    mark: usize,
    ended: bool,
    /// Whether the last byte was a carriage return that ended a line.
    returned: bool,
    /// Lines that are still to be passed over.
    above: u64,
    /// Bytes handed on, and whether a line begins behind them.
    given: u64,
    begins: bool,
    /// Where lines of nothing stand among them, and how many: the reader does not tell of them.
    blank: VecDeque<(u64, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    FieldBegins,
    InField,
    InQuotes,
    /// Behind a quote in quotes: the end of the field, or the first half of a doubled quote.
    AfterQuote,
}

impl<R: Read> Watched<R> {
    /// The bytes below so many lines.
    pub(super) fn below(above: u64, inner: R, delimiter: u8) -> Self {
        Self {
            inner,
            delimiter,
            state: State::FieldBegins,
            mark: 0,
            ended: false,
            returned: false,
            above,
            given: 0,
            begins: true,
            blank: VecDeque::new(),
        }
    }

    /// Whether the last byte was read, and a quote is still open.
    pub(super) fn ends_in_quotes(&self) -> bool {
        self.ended && self.state == State::InQuotes
    }

    /// How many lines of nothing stand at this place of what was handed on. Places may only rise.
    pub(super) fn blank_at(&mut self, place: u64) -> u64 {
        while let Some(&(begin, count)) = self.blank.front() {
            let end = begin + count;
            if end > place {
                return if begin <= place { end - place } else { 0 };
            }
            self.blank.pop_front();
        }
        0
    }

    /// Takes the next byte; what is handed on of it.
    fn see(&mut self, byte: u8) -> Option<u8> {
        if self.mark < 3 {
            if byte == [0xef, 0xbb, 0xbf][self.mark] {
                self.mark += 1;
                self.given += 1;
                return Some(byte);
            }
            self.mark = 3;
        }
        if std::mem::take(&mut self.returned) && byte == b'\n' {
            return None;
        }
        let quoted = self.state == State::InQuotes;
        self.state = match (self.state, byte) {
            (State::InQuotes, b'"') => State::AfterQuote,
            (State::FieldBegins | State::AfterQuote, b'"') | (State::InQuotes, _) => {
                State::InQuotes
            }
            (_, b'\n' | b'\r') => State::FieldBegins,
            (_, byte) if byte == self.delimiter => State::FieldBegins,
            _ => State::InField,
        };
        self.returned = byte == b'\r' && !quoted;
        let byte = if self.returned { b'\n' } else { byte };
        let ends = byte == b'\n' && !quoted;
        if self.above > 0 {
            self.above -= u64::from(ends);
            return None;
        }
        if ends && self.begins {
            match self.blank.back_mut() {
                Some((begin, count)) if *begin + *count == self.given => *count += 1,
                _ => self.blank.push_back((self.given, 1)),
            }
        }
        self.begins = ends;
        self.given += 1;
        Some(byte)
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = self.inner.read(out)?;
            if read == 0 {
                self.ended |= !out.is_empty();
                return Ok(0);
            }
            let mut kept = 0;
            for at in 0..read {
                if let Some(byte) = self.see(out[at]) {
                    out[kept] = byte;
                    kept += 1;
                }
            }
            // Nothing would be the end.
            if kept > 0 {
                return Ok(kept);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open_at_the_end(text: &str) -> bool {
        let mut watched = Watched::below(0, text.as_bytes(), b',');
        std::io::copy(&mut watched, &mut std::io::sink()).unwrap();
        watched.ends_in_quotes()
    }

    #[test]
    fn every_line_ends_in_a_newline_alone() {
        let below = |above, text: &str| {
            let mut watched = Watched::below(above, text.as_bytes(), b',');
            let mut out = String::new();
            watched.read_to_string(&mut out).unwrap();
            out
        };
        assert_eq!(below(0, "a\r\nb\rc\nd\r\n"), "a\nb\nc\nd\n");
        // In quotes all stays as it is.
        assert_eq!(below(0, "\"a\r\nb\"\r\n"), "\"a\r\nb\"\n");
        assert_eq!(below(2, "\u{feff}a\r\n\r\nb\r\n"), "\u{feff}b\n");
        assert_eq!(below(3, "a\n"), "");
    }

    #[test]
    fn lines_of_nothing_are_counted_where_they_stand() {
        let mut watched = Watched::below(0, "a\r\n\r\n\r\nb\n\nc\n".as_bytes(), b',');
        std::io::copy(&mut watched, &mut std::io::sink()).unwrap();
        // Handed on is "a\n\n\nb\n\nc\n".
        let found = [0, 2, 4, 6].map(|place| watched.blank_at(place));
        assert_eq!(found, [0, 2, 0, 1]);
    }

    #[test]
    fn quotes_open_at_the_beginning_of_fields_only() {
        for open in [
            "\"",
            "a,\"b",
            "a\n\"b,c\n",
            "\u{feff}\"a",
            "\"a\"\"",
            "\"\"\"a\"\"",
        ] {
            assert!(open_at_the_end(open), "{open}");
        }
        for closed in ["", "a\"b", "\"a\"", "\"a\"\"b\"\n", "6\", 7\"", "\"a\"b\""] {
            assert!(!open_at_the_end(closed), "{closed}");
        }
    }

    proptest! {
        /// The reader is asked the long way: a line behind the text is a record of its own
        /// unless a quote is open.
        #[test]
        fn the_rule_is_that_of_the_reader(text in "[a\",\n\r]{0,12}") {
            let longer = format!("{text}\nend\n");
            let mut reader = csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .from_reader(longer.as_bytes());
            let last = reader.byte_records().last().unwrap().unwrap();
            prop_assert_eq!(open_at_the_end(&text), last != vec!["end"], "{:?}", text);
        }
    }
}
