//! Texts that are not UTF-8.

use std::io::{Read, Result};

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// How the letters of a text are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    Utf8,
    Utf16Le,
    Utf16Be,
    /// What is neither: Latin-1, in the form that Windows gives it. Every byte is a letter.
    Windows1252,
}

impl Letters {
    /// By the byte order mark at the beginning; UTF-8 without one.
    pub(super) fn of(start: &[u8]) -> Self {
        match start {
            [0xff, 0xfe, ..] => Self::Utf16Le,
            [0xfe, 0xff, ..] => Self::Utf16Be,
            _ => Self::Utf8,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le | Self::Utf16Be => "UTF-16",
            Self::Windows1252 => "Latin-1",
        }
    }

    /// The bytes as UTF-8.
    pub(super) fn decode<'a>(self, inner: Box<dyn Read + 'a>) -> Box<dyn Read + 'a> {
        let encoding: &'static Encoding = match self {
            Self::Utf8 => return inner,
            Self::Utf16Le => UTF_16LE,
            Self::Utf16Be => UTF_16BE,
            Self::Windows1252 => WINDOWS_1252,
        };
        Box::new(Decoded {
            inner,
            decoder: encoding.new_decoder_with_bom_removal(),
            bytes: vec![0; 1 << 13],
            begin: 0,
            end: 0,
            text: vec![0; 1 << 15],
            given: 0,
            made: 0,
            ended: false,
        })
    }
}

struct Decoded<'a> {
    inner: Box<dyn Read + 'a>,
    decoder: Decoder,
    /// What was read and not yet decoded: from `begin` to `end`.
    bytes: Vec<u8>,
    begin: usize,
    end: usize,
    /// What was decoded and not yet given: from `given` to `made`.
    text: Vec<u8>,
    given: usize,
    made: usize,
    ended: bool,
}

impl Read for Decoded<'_> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        while self.given == self.made && !self.ended {
            if self.begin == self.end {
                self.begin = 0;
                self.end = self.inner.read(&mut self.bytes)?;
            }
            let last = self.end == 0;
            let (result, read, made, _) = self.decoder.decode_to_utf8(
                &self.bytes[self.begin..self.end],
                &mut self.text,
                last,
            );
            self.begin += read;
            (self.given, self.made) = (0, made);
            self.ended = last && result == CoderResult::InputEmpty;
        }
        let count = out.len().min(self.made - self.given);
        out[..count].copy_from_slice(&self.text[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(letters: Letters, bytes: &[u8]) -> String {
        let mut out = String::new();
        let mut read = letters.decode(Box::new(bytes));
        read.read_to_string(&mut out).unwrap();
        out
    }

    #[test]
    fn letters_are_decoded_over_the_ends_of_buffers() {
        let long = "gr\u{fc}n;\u{20ac}\n".repeat(5000);
        let wide = |big: bool| -> Vec<u8> {
            let units = std::iter::once(0xfeff).chain(long.encode_utf16());
            units
                .flat_map(|u: u16| {
                    if big {
                        u.to_be_bytes()
                    } else {
                        u.to_le_bytes()
                    }
                })
                .collect()
        };
        for big in [false, true] {
            let bytes = wide(big);
            assert_eq!(text(Letters::of(&bytes), &bytes), long);
        }
        assert_eq!(
            text(Letters::Windows1252, b"gr\xfcn \x80"),
            "gr\u{fc}n \u{20ac}"
        );
        assert_eq!(text(Letters::of(b"abc"), b"abc"), "abc");
        assert_eq!(text(Letters::Utf16Le, &[0xff, 0xfe]), "");
    }
}
