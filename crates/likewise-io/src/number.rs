//! Numbers as files store them, and their decoding in pieces of bounded size.

use std::io::Read;

use half::{bf16, f16};
use likewise::Monitor;

use crate::memory::tried;
use crate::{Error, ErrorKind, Result};

/// How one number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

/// A kind and its byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) kind: Kind,
    pub(crate) big_endian: bool,
}

impl Number {
    pub(crate) fn size(self) -> usize {
        match self.kind {
            Kind::Bool | Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 | Kind::F16 | Kind::Bf16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::I64 | Kind::U64 | Kind::F64 => 8,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self.kind, Kind::F16 | Kind::Bf16 | Kind::F32 | Kind::F64)
    }
}

/// What numbers are decoded to: `f32` features, `f64` scores, `i64` indices and labels, and
/// `u8` letters.
pub(crate) trait Target: Sized + Copy {
    /// Appends the numbers in `bytes`, whose length is a multiple of the number's size.
    fn decode(number: Number, bytes: &[u8], out: &mut Vec<Self>);
}

fn extend<const N: usize, T>(
    bytes: &[u8],
    big_endian: bool,
    out: &mut Vec<T>,
    convert: impl Fn([u8; N]) -> T,
) {
    let (numbers, _) = bytes.as_chunks::<N>();
    if big_endian {
        out.extend(numbers.iter().map(|&(mut b)| {
            b.reverse();
            convert(b)
        }));
    } else {
        out.extend(numbers.iter().map(|&b| convert(b)));
    }
}

macro_rules! target {
    ($($target:ty),*) => {$(
        impl Target for $target {
            fn decode(number: Number, bytes: &[u8], out: &mut Vec<Self>) {
                let big = number.big_endian;
                match number.kind {
                    Kind::Bool => extend(bytes, big, out, |[b]| u8::from(b != 0) as Self),
                    Kind::I8 => extend(bytes, big, out, |b| i8::from_le_bytes(b) as Self),
                    Kind::I16 => extend(bytes, big, out, |b| i16::from_le_bytes(b) as Self),
                    Kind::I32 => extend(bytes, big, out, |b| i32::from_le_bytes(b) as Self),
                    Kind::I64 => extend(bytes, big, out, |b| i64::from_le_bytes(b) as Self),
                    Kind::U8 => extend(bytes, big, out, |[b]| b as Self),
                    Kind::U16 => extend(bytes, big, out, |b| u16::from_le_bytes(b) as Self),
                    Kind::U32 => extend(bytes, big, out, |b| u32::from_le_bytes(b) as Self),
                    Kind::U64 => extend(bytes, big, out, |b| u64::from_le_bytes(b) as Self),
                    Kind::F16 => {
                        extend(bytes, big, out, |b| f16::from_le_bytes(b).to_f32() as Self);
                    }
                    Kind::Bf16 => {
                        extend(bytes, big, out, |b| bf16::from_le_bytes(b).to_f32() as Self);
                    }
                    Kind::F32 => extend(bytes, big, out, |b| f32::from_le_bytes(b) as Self),
                    Kind::F64 => extend(bytes, big, out, |b| f64::from_le_bytes(b) as Self),
                }
            }
        }
    )*};
}

// Some of the casts of the macro are between equal or wider types.
#[allow(clippy::unnecessary_cast, clippy::cast_lossless)]
mod targets {
    use super::{Kind, Number, Target, bf16, extend, f16};
    target!(u8, f32, f64, i64);
}

/// Counts bytes for the progress of one file and stops when asked to.
pub(crate) struct Progress<'a> {
    monitor: &'a Monitor,
    done: u64,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(monitor: &'a Monitor) -> Self {
        Self { monitor, done: 0 }
    }

    pub(crate) fn add(&mut self, bytes: usize) -> Result<()> {
        self.done += bytes as u64;
        Ok(self.monitor.step(self.done)?)
    }
}

/// Bytes decoded at once: large enough to stream, small enough to stay in cache.
const PIECE: usize = 1 << 18;

/// Reads `count` numbers and hands them to `each` piece by piece.
///
/// Memory is one piece, whatever `count` claims.
pub(crate) fn pieces<T: Target>(
    reader: &mut dyn Read,
    number: Number,
    count: usize,
    progress: &mut Progress,
    mut each: impl FnMut(&[T]) -> Result<()>,
) -> Result<()> {
    let most = PIECE / number.size();
    let mut bytes = vec![0; most.min(count) * number.size()];
    let mut numbers = Vec::with_capacity(most.min(count));
    let mut left = count;
    while left > 0 {
        let now = left.min(most);
        let bytes = &mut bytes[..now * number.size()];
        reader.read_exact(bytes)?;
        numbers.clear();
        T::decode(number, bytes, &mut numbers);
        each(&numbers)?;
        left -= now;
        progress.add(bytes.len())?;
    }
    Ok(())
}

/// Appends `count` numbers to `out`, which grows with the data that arrive: a header
/// that lies about `count` costs at most twice the memory of the bytes that exist.
pub(crate) fn append<T: Target>(
    reader: &mut dyn Read,
    number: Number,
    count: usize,
    progress: &mut Progress,
    out: &mut Vec<T>,
) -> Result<()> {
    let mut left = count;
    pieces(reader, number, count, progress, |piece: &[T]| {
        if out.capacity() - out.len() < piece.len() {
            reserve(out, left.min(out.len().max(1 << 20)))?;
        }
        out.extend_from_slice(piece);
        left -= piece.len();
        Ok(())
    })
}

/// Puts a block of whole columns, one after the other, into a matrix in row order.
///
/// `first` is the matrix column of the block's first. A block of 16 columns touches each
/// cache line of the matrix once; single columns would touch it 16 times.
pub(crate) fn interleave(
    block: &[f32],
    rows: usize,
    first: usize,
    columns: usize,
    matrix: &mut [f32],
) {
    if rows == 0 || columns == 0 {
        return;
    }
    let width = block.len() / rows;
    for (row, values) in matrix.chunks_exact_mut(columns).enumerate() {
        for (j, value) in values[first..first + width].iter_mut().enumerate() {
            *value = block[j * rows + row];
        }
    }
}

/// Room for `more` values, or an error of kind `Memory` where there is none.
pub(crate) fn reserve<T>(out: &mut Vec<T>, more: usize) -> Result<()> {
    tried(|| out.try_reserve_exact(more)).map_err(|_| no_memory(out.len().saturating_add(more)))
}

/// Appends a value; fails as [`reserve`].
pub(crate) fn push<T>(out: &mut Vec<T>, value: T) -> Result<()> {
    if out.len() == out.capacity() {
        tried(|| out.try_reserve(1)).map_err(|_| no_memory(out.len() + 1))?;
    }
    out.push(value);
    Ok(())
}

fn no_memory(values: usize) -> Error {
    Error::new(
        ErrorKind::Memory,
        format!(
            "no memory for {values} values; choose one view, or use a machine with more memory"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode<T: Target>(kind: Kind, big_endian: bool, bytes: &[u8]) -> Vec<T> {
        let mut out = Vec::new();
        T::decode(Number { kind, big_endian }, bytes, &mut out);
        out
    }

    #[test]
    fn every_kind_decodes_in_both_byte_orders() {
        assert_eq!(decode::<f32>(Kind::Bool, false, &[0, 1, 7]), [0., 1., 1.]);
        assert_eq!(decode::<f32>(Kind::I8, false, &[0xff]), [-1.0]);
        assert_eq!(decode::<f32>(Kind::U8, false, &[0xff]), [255.0]);
        assert_eq!(decode::<f32>(Kind::I16, true, &[0xff, 0xfe]), [-2.0]);
        assert_eq!(decode::<f32>(Kind::U16, false, &[1, 2]), [513.0]);
        assert_eq!(decode::<i64>(Kind::I32, true, &[0, 0, 1, 0]), [256]);
        assert_eq!(decode::<i64>(Kind::U32, false, &[255; 4]), [4_294_967_295]);
        assert_eq!(decode::<i64>(Kind::I64, false, &[255; 8]), [-1]);
        assert_eq!(decode::<f32>(Kind::F16, true, &[0x3c, 0x00]), [1.0]);
        assert_eq!(decode::<f32>(Kind::Bf16, false, &[0x80, 0x3f]), [1.0]);
        assert_eq!(
            decode::<f32>(Kind::F32, true, &1.5_f32.to_be_bytes()),
            [1.5]
        );
        assert_eq!(
            decode::<f64>(Kind::F64, false, &0.1_f64.to_le_bytes()),
            [0.1]
        );
        assert_eq!(decode::<f32>(Kind::U64, true, &9_u64.to_be_bytes()), [9.0]);
    }

    #[test]
    fn memory_that_cannot_be_had_is_an_error() {
        let mut out = vec![0_u8; 3];
        let e = reserve(&mut out, usize::MAX / 2).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Memory);
        push(&mut out, 7).unwrap();
        assert_eq!(out, [0, 0, 0, 7]);
    }

    #[test]
    fn a_lying_count_fails_without_the_memory_it_claims() {
        let number = Number {
            kind: Kind::F64,
            big_endian: false,
        };
        let mut out: Vec<f32> = Vec::new();
        let silent = Monitor::silent();
        let bytes = vec![0; 80];
        let e = append(
            &mut bytes.as_slice(),
            number,
            usize::MAX / 16,
            &mut Progress::new(&silent),
            &mut out,
        )
        .unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Format);
        assert!(out.capacity() < 1 << 22);
    }
}
