//! Quotes that open and never close.

use std::io::Read;

/// Bytes on their way to the csv reader, and whether they stand in quotes at their end.
///
/// A quote opens where a field begins, and closes at the next one that is not doubled; this
/// is the reader's own rule, but it does not tell how the file ended. One pass, O(bytes).
pub(super) struct Watched<R> {
    inner: R,
    delimiter: u8,
    state: State,
    /// Bytes of a byte order mark that may stand at the beginning.
    mark: usize,
    ended: bool,
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
    pub(super) fn new(inner: R, delimiter: u8) -> Self {
        Self {
            inner,
            delimiter,
            state: State::FieldBegins,
            mark: 0,
            ended: false,
        }
    }

    /// Whether the last byte was read, and a quote is still open.
    pub(super) fn ends_in_quotes(&self) -> bool {
        self.ended && self.state == State::InQuotes
    }

    fn see(&mut self, byte: u8) {
        if self.mark < 3 {
            if byte == [0xef, 0xbb, 0xbf][self.mark] {
                self.mark += 1;
                return;
            }
            self.mark = 3;
        }
        self.state = match (self.state, byte) {
            (State::InQuotes, b'"') => State::AfterQuote,
            (State::FieldBegins | State::AfterQuote, b'"') | (State::InQuotes, _) => {
                State::InQuotes
            }
            (_, b'\n' | b'\r') => State::FieldBegins,
            (_, byte) if byte == self.delimiter => State::FieldBegins,
            _ => State::InField,
        };
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(out)?;
        self.ended |= read == 0 && !out.is_empty();
        out[..read].iter().for_each(|&byte| self.see(byte));
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn open_at_the_end(text: &str) -> bool {
        let mut watched = Watched::new(text.as_bytes(), b',');
        std::io::copy(&mut watched, &mut std::io::sink()).unwrap();
        watched.ends_in_quotes()
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
