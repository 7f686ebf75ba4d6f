//! The header of an `.npy` array: its grammar, read and written.

use std::io::Read;

use crate::number::{Kind, Number};
use crate::{Error, Result};

/// What the elements of an array are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Element {
    Number(Number),
    /// Text of a fixed number of bytes; UTF-32 in the given byte order, or single bytes.
    Text {
        bytes: usize,
        utf32_big_endian: Option<bool>,
    },
    /// Anything else: complex numbers, dates, records, Python objects.
    Other(String),
}

impl Element {
    fn parse(descr: &str) -> Self {
        let other = || Element::Other(descr.to_owned());
        let mut chars = descr.chars();
        let Some(order @ ('<' | '>' | '|' | '=')) = chars.next() else {
            return other();
        };
        let big_endian = order == '>' || (order == '=' && cfg!(target_endian = "big"));
        let Some(letter) = chars.next() else {
            return other();
        };
        let Ok(size) = chars.as_str().parse::<usize>() else {
            return other();
        };
        let kind = match (letter, size) {
            ('b', 1) => Kind::Bool,
            ('i', 1) => Kind::I8,
            ('i', 2) => Kind::I16,
            ('i', 4) => Kind::I32,
            ('i', 8) => Kind::I64,
            ('u', 1) => Kind::U8,
            ('u', 2) => Kind::U16,
            ('u', 4) => Kind::U32,
            ('u', 8) => Kind::U64,
            ('f', 2) => Kind::F16,
            ('f', 4) => Kind::F32,
            ('f', 8) => Kind::F64,
            // 64 KiB a word is beyond any label, and bounds what one word can cost.
            ('S', 1..=65536) => {
                return Element::Text {
                    bytes: size,
                    utf32_big_endian: None,
                };
            }
            ('U', 1..=16384) => {
                return Element::Text {
                    bytes: 4 * size,
                    utf32_big_endian: Some(big_endian),
                };
            }
            _ => return other(),
        };
        Element::Number(Number { kind, big_endian })
    }

    /// Whether this machine's `f32` has these bytes.
    pub(crate) fn is_native_f32(&self) -> bool {
        *self
            == Self::Number(Number {
                kind: Kind::F32,
                big_endian: cfg!(target_endian = "big"),
            })
    }

    fn size(&self) -> usize {
        match self {
            Element::Number(number) => number.size(),
            Element::Text { bytes, .. } => *bytes,
            Element::Other(_) => 0,
        }
    }
}

/// The header of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) element: Element,
    pub(crate) fortran: bool,
    pub(crate) shape: Vec<usize>,
    /// Number of elements.
    pub(crate) count: usize,
    /// Bytes before the elements.
    pub(crate) start: u64,
}

impl Header {
    /// Reads a header; the stream then stands at the first element.
    pub(crate) fn read(reader: &mut dyn Read) -> Result<Self> {
        let mut lead = [0; 8];
        reader.read_exact(&mut lead)?;
        if lead[..6] != *b"\x93NUMPY" {
            return Err(Error::format(
                "not an .npy array (it does not start with \\x93NUMPY); write it with numpy.save",
            ));
        }
        let (length, before) = match lead[6] {
            1 => {
                let mut bytes = [0; 2];
                reader.read_exact(&mut bytes)?;
                (usize::from(u16::from_le_bytes(bytes)), 10)
            }
            2 | 3 => {
                let mut bytes = [0; 4];
                reader.read_exact(&mut bytes)?;
                (u32::from_le_bytes(bytes) as usize, 12)
            }
            version => {
                return Err(Error::format(format!(
                    "version {version} of the .npy format is not known; versions 1 to 3 are"
                )));
            }
        };
        if length > 1 << 16 {
            return Err(Error::format(format!(
                "an .npy header of {length} bytes; arrays of numbers need less than 65536"
            )));
        }
        let mut text = vec![0; length];
        reader.read_exact(&mut text)?;
        let text = std::str::from_utf8(&text)
            .map_err(|_| Error::format("the .npy header is not text; the file is damaged"))?;
        Self::parse(text, before + length as u64)
    }

    pub(super) fn parse(text: &str, start: u64) -> Result<Self> {
        let damaged = || Error::format("the .npy header cannot be read; the file is damaged");
        let mut dict = Dict { rest: text };
        let (mut element, mut fortran, mut shape) = (None, None, None);
        dict.expect('{').ok_or_else(damaged)?;
        while dict.expect('}').is_none() {
            let key = dict.string().ok_or_else(damaged)?;
            dict.expect(':').ok_or_else(damaged)?;
            match key {
                "descr" => match dict.string() {
                    Some(descr) => element = Some(Element::parse(descr)),
                    None => {
                        return Err(Error::format(
                            "an array of records; write each field as an array of its own",
                        ));
                    }
                },
                "fortran_order" => fortran = Some(dict.boolean().ok_or_else(damaged)?),
                "shape" => shape = Some(dict.tuple().ok_or_else(damaged)?),
                _ => return Err(damaged()),
            }
            if dict.expect(',').is_none() && !dict.rest.trim_start().starts_with('}') {
                return Err(damaged());
            }
        }
        let (Some(element), Some(fortran), Some(shape)) = (element, fortran, shape) else {
            return Err(damaged());
        };
        let count = shape
            .iter()
            .try_fold(1_usize, |product, &n| product.checked_mul(n))
            .filter(|count| count.checked_mul(element.size().max(8)).is_some())
            .ok_or_else(|| {
                Error::format(format!(
                    "an array of shape {shape:?} does not fit into memory; the header must be wrong"
                ))
            })?;
        Ok(Self {
            element,
            fortran,
            shape,
            count,
            start,
        })
    }

    /// Bytes of all elements together. Cannot overflow, see `parse`.
    pub(crate) fn payload(&self) -> u64 {
        (self.count * self.element.size()) as u64
    }

    /// Rows and columns, if this is a matrix of numbers.
    pub(crate) fn matrix(&self) -> Option<(usize, usize)> {
        match (&self.element, self.shape.as_slice()) {
            (Element::Number(_), &[rows, columns]) => Some((rows, columns)),
            _ => None,
        }
    }

    /// Number of elements, if this is one row or one column of words or numbers.
    pub(crate) fn list(&self) -> Option<usize> {
        match (&self.element, self.shape.as_slice()) {
            (Element::Other(_), _) => None,
            (_, &[n] | &[n, 1]) => Some(n),
            _ => None,
        }
    }

    /// Shape and type of the elements, for messages.
    pub(crate) fn described(&self) -> String {
        let of = match &self.element {
            Element::Number(number) if number.is_float() => "floats".to_owned(),
            Element::Number(_) => "whole numbers".to_owned(),
            Element::Text { .. } => "words".to_owned(),
            Element::Other(descr) if descr.contains(['U', 'S']) => {
                format!("words of more than 16384 letters, {descr}")
            }
            Element::Other(descr) if descr.contains('O') => format!("Python objects, {descr}"),
            Element::Other(descr) => format!("type {descr}"),
        };
        format!("shape {:?} of {of}", self.shape)
    }

    /// Fails unless `len`, the length of the whole file, is what the header says.
    pub(crate) fn check_len(&self, len: u64) -> Result<()> {
        let expected = self.start.saturating_add(self.payload());
        if let Element::Other(descr) = &self.element {
            return Err(Error::format(format!(
                "elements of type {descr:?} cannot be read; convert them with .astype"
            )));
        }
        match len.cmp(&expected) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Less => Err(Error::format(format!(
                "the array of shape {:?} needs {expected} bytes, but there are {len}; \
                 the file is truncated, fetch or write it again",
                self.shape
            ))),
            std::cmp::Ordering::Greater => Err(Error::format(format!(
                "the array of shape {:?} needs {expected} bytes, but there are {len}; \
                 the header is wrong, or several arrays were written into one file",
                self.shape
            ))),
        }
    }
}

/// The Python dictionary of a header: strings, booleans and tuples of whole numbers.
struct Dict<'a> {
    rest: &'a str,
}

impl<'a> Dict<'a> {
    fn expect(&mut self, c: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(c)?;
        Some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (inner, rest) = rest[1..].split_once(quote)?;
        self.rest = rest;
        Some(inner)
    }

    fn boolean(&mut self) -> Option<bool> {
        let rest = self.rest.trim_start();
        let (value, rest) = match rest.strip_prefix("True") {
            Some(rest) => (true, rest),
            None => (false, rest.strip_prefix("False")?),
        };
        self.rest = rest;
        Some(value)
    }

    fn tuple(&mut self) -> Option<Vec<usize>> {
        self.expect('(')?;
        let mut numbers = Vec::new();
        while self.expect(')').is_none() {
            let rest = self.rest.trim_start();
            let end = rest.find(|c: char| !c.is_ascii_digit())?;
            numbers.push(rest[..end].parse().ok()?);
            // Python 2 wrote long integers as 3L.
            let rest = &rest[end..];
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if self.expect(',').is_none() && !self.rest.trim_start().starts_with(')') {
                return None;
            }
        }
        Some(numbers)
    }
}

/// The bytes of a header: magic, version, length, dictionary, padded to 64 bytes.
pub(crate) fn header_bytes(descr: &str, shape: &[usize]) -> Vec<u8> {
    let shape = match shape {
        [n] => format!("({n},)"),
        many => {
            let numbers: Vec<String> = many.iter().map(usize::to_string).collect();
            format!("({})", numbers.join(", "))
        }
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let unpadded = 10 + text.len() + 1;
    text.extend(std::iter::repeat_n(
        ' ',
        unpadded.next_multiple_of(64) - unpadded,
    ));
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}
