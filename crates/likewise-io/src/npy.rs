//! The `.npy` array format of numpy: reading, and writing of matrices.
//!
//! Reads booleans, integers and floats of 1 to 8 bytes, both byte orders, C and
//! Fortran order, and (for labels and ids) strings of type `U` and `S`. Python objects
//! and records are refused. Source: numpy's format specification, versions 1 to 3.

use std::io::{Read, Write};
use std::path::Path;

use likewise::Monitor;
use ndarray::ArrayView2;

use crate::assemble::{Parts, Shape};
use crate::input::{Input, Stream};
use crate::number::{Budget, Kind, Number, Progress, append, interleave, pieces, reserve};
use crate::read::ReadOptions;
use crate::{Error, Result, atomic};

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

    fn parse(text: &str, start: u64) -> Result<Self> {
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

/// Appends the rows of a matrix to `out`, in row order whatever the order in the file.
///
/// Rows in C order need no room beside `out`, which grows with the data that arrive. In
/// Fortran order the whole matrix is allocated first, so the caller must have made sure
/// that the elements exist; 16 columns are held beside it.
pub(crate) fn append_rows(
    reader: &mut dyn Read,
    header: &Header,
    progress: &mut Progress,
    out: &mut Vec<f32>,
) -> Result<()> {
    let (Element::Number(number), Some((rows, columns))) = (&header.element, header.matrix())
    else {
        return Err(Error::format(format!(
            "an array of shape {:?} is not a matrix of numbers, items x dimensions",
            header.shape
        )));
    };
    if !header.fortran || rows <= 1 || columns <= 1 {
        return append(reader, *number, header.count, progress, out);
    }
    let before = out.len();
    reserve(out, header.count)?;
    out.resize(before + header.count, 0.0);
    let out = &mut out[before..];
    let mut block = Vec::new();
    for first in (0..columns).step_by(16) {
        let width = 16.min(columns - first);
        block.clear();
        append(reader, *number, width * rows, progress, &mut block)?;
        interleave(&block, rows, first, columns, out);
    }
    Ok(())
}

/// A list of numbers or strings as words, as labels and ids are written.
///
/// Whole floats lose their fraction, NaN becomes an empty word (unknown).
pub(crate) fn words(
    reader: &mut dyn Read,
    header: &Header,
    progress: &mut Progress,
) -> Result<Vec<String>> {
    let scalar = header.shape.is_empty().then_some(1);
    let Some(count) = header.list().or(scalar) else {
        return Err(Error::format(format!(
            "an array of shape {:?} is not a list; one word or number an item is needed",
            header.shape
        )));
    };
    let mut out: Vec<String> = Vec::new();
    match &header.element {
        Element::Number(number) if number.is_float() => {
            pieces(reader, *number, count, progress, |piece: &[f64]| {
                for &value in piece {
                    out.push(whole(value).map_err(|e| e.within(format!("row {}", out.len())))?);
                }
                Ok(())
            })?;
        }
        Element::Number(number) => {
            pieces(reader, *number, count, progress, |piece: &[i64]| {
                out.extend(piece.iter().map(i64::to_string));
                Ok(())
            })?;
        }
        Element::Text {
            bytes,
            utf32_big_endian,
        } => {
            let mut word = vec![0; *bytes];
            for row in 0..count {
                reader.read_exact(&mut word)?;
                let text = text(&word, *utf32_big_endian).ok_or_else(|| {
                    Error::value(format!("row {row}: not valid text; write it as Unicode"))
                })?;
                out.push(text);
                if row % 4096 == 0 {
                    progress.add(4096 * bytes)?;
                }
            }
        }
        Element::Other(descr) => {
            return Err(Error::format(format!(
                "elements of type {descr:?} cannot be read; convert them with .astype"
            )));
        }
    }
    Ok(out)
}

/// A whole number as a word; NaN is an empty word.
pub(crate) fn whole(value: f64) -> Result<String> {
    if value.is_nan() {
        Ok(String::new())
    } else if value.fract() == 0.0 && value.abs() < 9.0e15 {
        Ok((value as i64).to_string())
    } else {
        Err(Error::value(format!(
            "label {value} is not a whole number; labels are class numbers or names"
        )))
    }
}

fn text(bytes: &[u8], utf32_big_endian: Option<bool>) -> Option<String> {
    let Some(big_endian) = utf32_big_endian else {
        let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |p| p + 1);
        return Some(std::str::from_utf8(&bytes[..end]).ok()?.to_owned());
    };
    let (chars, _) = bytes.as_chunks::<4>();
    let code = |b: &[u8; 4]| {
        if big_endian {
            u32::from_be_bytes(*b)
        } else {
            u32::from_le_bytes(*b)
        }
    };
    let end = chars
        .iter()
        .rposition(|b| code(b) != 0)
        .map_or(0, |p| p + 1);
    chars[..end]
        .iter()
        .map(|b| char::from_u32(code(b)))
        .collect()
}

/// The header of a data file: it must be a matrix, and as long as it says.
fn matrix_header(stream: &mut dyn Stream, len: u64) -> Result<(Header, usize, usize)> {
    let header = Header::read(stream)?;
    header.check_len(len)?;
    match header.matrix() {
        Some((rows, columns)) => Ok((header, rows, columns)),
        None => Err(Error::format(format!(
            "an array of shape {:?} is not a matrix of numbers, items x dimensions; \
             reshape it before writing",
            header.shape
        ))),
    }
}

pub(crate) fn shape(input: Input) -> Result<Shape> {
    let len = input.len;
    let (_, rows, columns) = matrix_header(&mut *input.stream(), len)?;
    Ok(Shape::one("features", rows, columns))
}

pub(crate) fn read(input: Input, options: &ReadOptions, monitor: &Monitor) -> Result<Parts> {
    let len = input.len;
    let mut stream = input.stream();
    let (header, rows, columns) = matrix_header(&mut *stream, len)?;
    options.choose(&["features"])?;
    Budget::new(options.max_memory).matrix(rows, columns)?;
    let mut values = Vec::new();
    reserve(&mut values, header.count)?;
    append_rows(
        &mut *stream,
        &header,
        &mut Progress::new(monitor),
        &mut values,
    )?;
    let mut parts = Parts::default();
    parts.add_view("features", rows, columns, values)?;
    Ok(parts)
}

/// The words of a file that holds one list.
pub(crate) fn read_words(input: Input) -> Result<Vec<String>> {
    let len = input.len;
    let mut stream = input.stream();
    let header = Header::read(&mut *stream)?;
    header.check_len(len)?;
    words(
        &mut *stream,
        &header,
        &mut Progress::new(&Monitor::silent()),
    )
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

/// Writes `values` as little-endian numbers, a piece at a time.
pub(crate) fn write_numbers<const N: usize, T: Copy>(
    writer: &mut dyn Write,
    values: impl IntoIterator<Item = T>,
    bytes_of: impl Fn(T) -> [u8; N],
) -> Result<()> {
    let mut buffer = Vec::with_capacity(1 << 16);
    for value in values {
        buffer.extend(bytes_of(value));
        if buffer.len() + N > 1 << 16 {
            writer.write_all(&buffer)?;
            buffer.clear();
        }
    }
    Ok(writer.write_all(&buffer)?)
}

/// Writes a matrix (items x dimensions) as little-endian `f32` in C order, atomically.
///
/// `numpy.load` reads it. Fails where the file cannot be written; then nothing is left
/// behind and an older file of this name stays as it was. Costs O(n d), no copy.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("x.npy");
/// let x = ndarray::array![[1.0, 2.0], [3.0, 4.0]];
/// likewise_io::write_npy(&path, x.view())?;
/// assert_eq!(likewise_io::read_matrix(&path, None)?, x);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
// Views are passed by value, as everywhere in ndarray.
#[allow(clippy::needless_pass_by_value)]
pub fn write_npy(path: impl AsRef<Path>, matrix: ArrayView2<f32>) -> Result<()> {
    atomic::write(path, |file| {
        file.write_all(&header_bytes("<f4", matrix.shape()))?;
        write_numbers(file, matrix.iter().copied(), f32::to_le_bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::read::{Form, read_bytes};
    use proptest::prelude::*;

    fn file(header: &str, payload: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(payload);
        bytes
    }

    fn error(bytes: &[u8]) -> Error {
        read_bytes(Form::Npy, bytes, &ReadOptions::default()).unwrap_err()
    }

    #[test]
    fn headers_are_read_as_python_writes_them() {
        let parse = |text| Header::parse(text, 0);
        let header = parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }").unwrap();
        assert_eq!((header.matrix(), header.fortran), (Some((3, 4)), false));
        let header = parse("{\"shape\":(3L,),'fortran_order':True,'descr':'|S7'}  \n").unwrap();
        assert_eq!((header.list(), header.fortran), (Some(3), true));
        let header = parse("{'descr': '<f8', 'fortran_order': False, 'shape': (), }").unwrap();
        assert_eq!((header.count, header.list()), (1, None));
        for broken in [
            "",
            "{",
            "{'descr': '<f4'}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (1 2)}",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (99999999999999999999,)}",
            "{'descr': '<f4' 'fortran_order': True, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (1,), 'more': 1}",
        ] {
            assert!(parse(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn headers_that_lie_are_refused_before_anything_is_allocated() {
        let huge = "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }";
        assert!(error(&file(huge, &[])).to_string().contains("does not fit"));
        let large = "{'descr': '<f4', 'fortran_order': True, 'shape': (1000000000, 1000), }";
        let e = error(&file(large, &[0; 12]));
        assert_eq!(e.kind(), ErrorKind::Format);
        assert!(e.to_string().contains("4000000000"), "{e}");
        let small = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }";
        assert!(
            error(&file(small, &[0; 8]))
                .to_string()
                .contains("several arrays")
        );
        assert!(
            error(b"\x93NUMPY\x01\x00\xff\xff{")
                .to_string()
                .contains("ends early")
        );
        assert!(
            error(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{")
                .to_string()
                .contains("65536")
        );
        assert!(
            error(b"\x93NUMPY\x09\x00aa")
                .to_string()
                .contains("version 9")
        );
        assert!(
            error(b"PK\x03\x04aaaaaaaa")
                .to_string()
                .contains("not an .npy")
        );
        assert!(error(b"").to_string().contains("ends early"));
        let empty = "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 7), }";
        assert!(error(&file(empty, &[])).to_string().contains("empty"));
    }

    #[test]
    fn values_that_are_no_numbers_are_named() {
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }";
        let values = [1.0_f64, f64::NAN].map(f64::to_le_bytes).concat();
        let e = error(&file(header, &values));
        assert_eq!(e.kind(), ErrorKind::Value);
        assert!(e.to_string().contains("row 1, column 0 is NaN"), "{e}");
        // Beyond the range of f32.
        let values = [1.0_f64, 1e300].map(f64::to_le_bytes).concat();
        assert!(error(&file(header, &values)).to_string().contains("inf"));
    }

    proptest! {
        #[test]
        fn rows_are_those_of_a_naive_reader(
            rows in 1_usize..40,
            columns in 1_usize..40,
            fortran: bool,
            big: bool,
            seed: u32,
        ) {
            let at = |i: usize, j: usize| ((i * 41 + j) as u32).wrapping_mul(seed | 1) as i16;
            let bytes = |v: i16| if big { v.to_be_bytes() } else { v.to_le_bytes() };
            let payload: Vec<u8> = (0..rows * columns)
                .flat_map(|p| {
                    let (c, f) = ((p / columns, p % columns), (p % rows, p / rows));
                    let (i, j) = if fortran { f } else { c };
                    bytes(at(i, j))
                })
                .collect();
            let header = format!(
                "{{'descr': '{}i2', 'fortran_order': {}, 'shape': ({rows}, {columns}), }}",
                if big { '>' } else { '<' },
                if fortran { "True" } else { "False" },
            );
            let read = read_bytes(Form::Npy, &file(&header, &payload), &ReadOptions::default());
            let read = read.unwrap();
            for ((i, j), &value) in read.views()[0].matrix.indexed_iter() {
                prop_assert_eq!(value.to_bits(), f32::from(at(i, j)).to_bits());
            }
        }

        #[test]
        fn a_matrix_survives_the_file(rows in 1_usize..20, columns in 1_usize..20, seed: u32) {
            let matrix = ndarray::Array2::from_shape_fn((rows, columns), |(i, j)| {
                f32::from_bits((i * 37 + j) as u32 ^ seed >> 8)
            });
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.npy");
            write_npy(&path, matrix.view()).unwrap();
            prop_assert_eq!(&crate::read_matrix(&path, None).unwrap(), &matrix);
            write_npy(&path, matrix.t()).unwrap();
            prop_assert_eq!(crate::read_matrix(&path, None).unwrap(), matrix.t());
        }
    }
}
