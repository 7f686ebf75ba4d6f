//! The `.npy` array format of numpy: reading, and writing of matrices.
//!
//! Reads booleans, integers and floats of 1 to 8 bytes, both byte orders, C and
//! Fortran order, and (for labels and ids) strings of type `U` and `S`. Python objects
//! and records are refused. Source: numpy's format specification, versions 1 to 3.

mod header;

use std::io::{Read, Write};
use std::path::Path;

use likewise::Monitor;
use ndarray::ArrayView2;

use crate::assemble::{Parts, Shape};
use crate::budget::{Budget, WORD};
use crate::input::{Input, Stream};
use crate::number::{Number, Progress, append, interleave, pieces, push, reserve};
use crate::options::ReadOptions;
use crate::{Error, Result, atomic};
pub(crate) use header::{Element, Header, header_bytes};

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
    budget: &mut Budget,
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
        Element::Number(number) => {
            out = whole_numbers(reader, *number, count, budget, progress)?;
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
                budget.word(&text)?;
                push(&mut out, text)?;
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

/// Numbers as words, which must be whole; NaN becomes an empty word (unknown).
pub(crate) fn whole_numbers(
    reader: &mut dyn Read,
    number: Number,
    count: usize,
    budget: &mut Budget,
    progress: &mut Progress,
) -> Result<Vec<String>> {
    budget.values(count, WORD)?;
    let mut out: Vec<String> = Vec::new();
    if number.is_float() {
        pieces(reader, number, count, progress, |piece: &[f64]| {
            for &value in piece {
                let word = whole(value).map_err(|e| e.within(format!("row {}", out.len())))?;
                push(&mut out, word)?;
            }
            Ok(())
        })?;
    } else {
        pieces(reader, number, count, progress, |piece: &[i64]| {
            piece.iter().try_for_each(|v| push(&mut out, v.to_string()))
        })?;
    }
    Ok(out)
}

/// A whole number as a word; NaN is an empty word.
pub(crate) fn whole(value: f64) -> Result<String> {
    if value.is_nan() {
        Ok(String::new())
    } else if value.fract() == 0.0 && value.abs() < 9.0e15 {
        Ok((value as i64).to_string())
    } else if value.fract() == 0.0 {
        Err(Error::value(format!(
            "label {value} is too large for a number with a fraction to be told from its neighbours; write labels \
             as whole numbers or as words"
        )))
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
pub(crate) fn matrix_header(stream: &mut dyn Stream, len: u64) -> Result<(Header, usize, usize)> {
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
    let mut budget = Budget::new(options.max_memory);
    budget.matrix(rows, columns)?;
    budget.items(rows)?;
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
        &mut Budget::new(None),
        &mut Progress::new(&Monitor::silent()),
    )
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

/// Writes bytes (items x bytes) in C order, atomically; otherwise as [`write_npy`].
#[allow(clippy::needless_pass_by_value)]
pub fn write_npy_bytes(path: impl AsRef<Path>, matrix: ArrayView2<u8>) -> Result<()> {
    atomic::write(path, |file| {
        file.write_all(&header_bytes("|u1", matrix.shape()))?;
        write_numbers(file, matrix.iter().copied(), u8::to_le_bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::{Form, read_bytes};
    use proptest::prelude::*;

    #[test]
    fn bytes_come_back_as_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("codes.npy");
        let codes = ndarray::array![[0_u8, 255], [7, 128]];
        write_npy_bytes(&path, codes.view()).unwrap();
        let read = crate::read_matrix(&path, None).unwrap();
        assert_eq!(read, codes.mapv(f32::from));
    }

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
