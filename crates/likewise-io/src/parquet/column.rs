//! Columns: what can be read, and the decoding of their values.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use half::f16;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type as stored;
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::{ColumnDescriptor, Type};

use super::page::{Checked, guarded};
use crate::budget::Budget;
use crate::npy::whole;
use crate::role::Role;
use crate::{Error, Result};

/// Records decoded at once.
const BATCH: usize = 4096;

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Holds {
    Text,
    /// Truth values.
    Flags,
    Numbers {
        unsigned: bool,
    },
    /// Whole numbers, so many times as large as what is meant.
    Decimals {
        times: f64,
    },
    /// Whole numbers since 1970, this many a day.
    Dates {
        a_day: i64,
    },
}

/// Days from 1970-01-01, from which Parquet counts, to 2000-01-01.
const FROM_1970: f64 = 10_957.0;

const MILLISECONDS_A_DAY: i64 = 86_400_000;

/// How many numbers of a column are a day; `None` where it holds no dates.
fn a_day(column: &ColumnDescriptor) -> Option<i64> {
    use ConvertedType as C;
    let milliseconds = MILLISECONDS_A_DAY;
    match (column.logical_type_ref(), column.converted_type()) {
        _ if column.physical_type() == Physical::INT96 => Some(milliseconds),
        (Some(LogicalType::Date), _) | (None, C::DATE) => Some(1),
        (Some(LogicalType::Timestamp(of)), _) => Some(match of.unit {
            TimeUnit::MILLIS => milliseconds,
            TimeUnit::MICROS => milliseconds * 1000,
            TimeUnit::NANOS => milliseconds * 1_000_000,
        }),
        (None, C::TIMESTAMP_MILLIS) => Some(milliseconds),
        (None, C::TIMESTAMP_MICROS) => Some(milliseconds * 1000),
        _ => None,
    }
}

/// By how much the whole numbers that are stored are larger than what is meant; `None` where the column
/// holds no decimals.
fn times(column: &ColumnDescriptor) -> Option<f64> {
    let decimal = column.converted_type() == ConvertedType::DECIMAL
        || matches!(column.logical_type_ref(), Some(LogicalType::Decimal(_)));
    let stored = matches!(
        column.physical_type(),
        Physical::INT32 | Physical::INT64 | Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY
    );
    (decimal && stored).then(|| 10_f64.powi(column.type_scale().max(0)))
}

/// A column that can be read.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub(super) index: usize,
    pub(super) name: String,
    /// What its name says, among the columns of the table.
    pub(super) role: Role,
    pub(super) holds: Holds,
    /// A vector per item, as opposed to one value.
    pub(super) list: bool,
    /// Definition levels: of a value, and of an element that may be null.
    value: i16,
    element: i16,
}

impl Leaf {
    pub(super) fn is_text(&self) -> bool {
        self.holds == Holds::Text
    }

    pub(super) fn is_date(&self) -> bool {
        matches!(self.holds, Holds::Dates { .. })
    }

    /// A whole number as it is, of a date the days since 2000-01-01.
    fn number(&self, stored: i64) -> f32 {
        match self.holds {
            Holds::Dates { a_day } => (stored as f64 / a_day as f64 - FROM_1970) as f32,
            Holds::Decimals { times } => (stored as f64 / times) as f32,
            _ => stored as f32,
        }
    }

    /// A whole number as a word; of a decimal what is meant.
    fn word(&self, stored: i64) -> Result<String> {
        match self.holds {
            Holds::Decimals { times } => whole(stored as f64 / times),
            _ => Ok(stored.to_string()),
        }
    }

    /// A number that is stored as bytes: a decimal, or a float of 16 bits.
    fn of_bytes(&self, bytes: &[u8]) -> Result<f64> {
        match self.holds {
            Holds::Decimals { times } => Ok(big_endian(bytes) / times),
            _ => Ok(half_of(bytes)?.into()),
        }
    }

    fn is_decimal(&self) -> bool {
        matches!(self.holds, Holds::Decimals { .. })
    }

    fn is_unsigned(&self) -> bool {
        self.holds == Holds::Numbers { unsigned: true }
    }

    pub(super) fn of(column: &ColumnDescriptor, index: usize, root: &Type) -> Option<Self> {
        use ConvertedType as C;
        let logical = column.logical_type_ref();
        let a_day = a_day(column).filter(|_| column.max_rep_level() == 0);
        let times = times(column);
        let unsigned = matches!(
            column.converted_type(),
            C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64
        );
        let integer = unsigned
            || (matches!(
                column.converted_type(),
                C::NONE | C::INT_8 | C::INT_16 | C::INT_32 | C::INT_64
            ) && matches!(logical, None | Some(LogicalType::Integer(_))));
        let text = match column.physical_type() {
            Physical::BOOLEAN | Physical::FLOAT | Physical::DOUBLE => false,
            _ if times.is_some() => false,
            Physical::INT32 | Physical::INT64 | Physical::INT96 if a_day.is_some() => false,
            Physical::INT32 | Physical::INT64 if integer => false,
            Physical::FIXED_LEN_BYTE_ARRAY if logical == Some(&LogicalType::Float16) => false,
            Physical::BYTE_ARRAY => match column.converted_type() {
                C::UTF8 | C::ENUM | C::NONE if column.max_rep_level() == 0 => true,
                _ => return None,
            },
            _ => return None,
        };
        let list = column.max_rep_level() == 1;
        let plain = column.max_rep_level() == 0 && root.is_primitive();
        (list || plain).then(|| Self {
            index,
            name: root.name().to_owned(),
            role: Role::Feature,
            holds: match (column.physical_type(), a_day) {
                (Physical::BOOLEAN, _) => Holds::Flags,
                _ if text => Holds::Text,
                (_, Some(a_day)) => Holds::Dates { a_day },
                _ => times.map_or(Holds::Numbers { unsigned }, |times| Holds::Decimals {
                    times,
                }),
            },
            list,
            value: column.max_def_level(),
            element: column.repeated_ancestor_def_level(),
        })
    }
}

/// What stands at one place of a column.
#[derive(Clone, Copy)]
pub(super) enum Slot<V> {
    Value(V),
    Null,
    NullList,
    EmptyList,
}

/// A column whose pages are checked.
pub(super) struct Values {
    reader: ColumnReader,
    /// Values of the pages read since it was set to 0.
    read: Arc<AtomicU64>,
}

/// Hands the first `records` records of a column to `each`: whether a new item begins,
/// and what stands there.
fn visit<T: stored::DataType, V>(
    (mut reader, counted): (ColumnReaderImpl<T>, &AtomicU64),
    leaf: &Leaf,
    records: usize,
    convert: impl Fn(&T::T) -> Result<V>,
    each: &mut impl FnMut(bool, Slot<V>) -> Result<()>,
) -> Result<()> {
    let (mut defs, mut reps, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut left = records;
    while left > 0 {
        defs.clear();
        reps.clear();
        values.clear();
        counted.store(0, Ordering::Relaxed);
        let (read, found, levels) = reader.read_records(
            BATCH.min(left),
            Some(&mut defs),
            Some(&mut reps),
            &mut values,
        )?;
        if read == 0 && levels == 0 {
            break;
        }
        let mut values = values.iter().take(found);
        for level in 0..levels {
            let starts = !leaf.list || reps.get(level).is_none_or(|&rep| rep == 0);
            let def = defs.get(level).copied().unwrap_or(leaf.value);
            let slot = if def == leaf.value {
                let value = values
                    .next()
                    .ok_or_else(|| Error::format("a column holds fewer values than it says"))?;
                Slot::Value(convert(value)?)
            } else if !leaf.list || def >= leaf.element {
                Slot::Null
            } else if def + 1 == leaf.element {
                Slot::EmptyList
            } else {
                Slot::NullList
            };
            each(starts, slot)?;
        }
        left = left.saturating_sub(read);
    }
    Ok(())
}

/// A whole number in two's complement, the highest byte first. O(bytes).
fn big_endian(bytes: &[u8]) -> f64 {
    let negative = bytes.first().is_some_and(|&byte| byte >= 0x80);
    // Of a number below 0 the bits are turned around, and 1 is taken off: small numbers stay exact.
    let flip = if negative { 0xff } else { 0 };
    let size = bytes
        .iter()
        .fold(0.0, |sum, &byte| sum * 256.0 + f64::from(byte ^ flip));
    if negative { -size - 1.0 } else { size }
}

fn half_of(bytes: &[u8]) -> Result<f16> {
    match bytes {
        &[a, b] => Ok(f16::from_le_bytes([a, b])),
        _ => Err(Error::format("a 16-bit float that is not 2 bytes long")),
    }
}

pub(super) fn numbers(
    column: Values,
    leaf: &Leaf,
    records: usize,
    mut each: impl FnMut(bool, Slot<f32>) -> Result<()>,
) -> Result<()> {
    use ColumnReader as C;
    let (n, each, read) = (records, &mut each, &*column.read);
    guarded(|| match column.reader {
        C::BoolColumnReader(r) => visit((r, read), leaf, n, |&v| Ok(f32::from(u8::from(v))), each),
        C::Int32ColumnReader(r) if leaf.is_unsigned() => {
            visit((r, read), leaf, n, |&v| Ok(v.cast_unsigned() as f32), each)
        }
        C::Int32ColumnReader(r) => visit((r, read), leaf, n, |&v| Ok(leaf.number(v.into())), each),
        C::Int64ColumnReader(r) if leaf.is_unsigned() => {
            visit((r, read), leaf, n, |&v| Ok(v.cast_unsigned() as f32), each)
        }
        C::Int64ColumnReader(r) => visit((r, read), leaf, n, |&v| Ok(leaf.number(v)), each),
        C::Int96ColumnReader(r) if leaf.is_date() => {
            visit((r, read), leaf, n, |v| Ok(leaf.number(v.to_millis())), each)
        }
        C::FloatColumnReader(r) => visit((r, read), leaf, n, |&v| Ok(v), each),
        C::DoubleColumnReader(r) => visit((r, read), leaf, n, |&v| Ok(v as f32), each),
        C::FixedLenByteArrayColumnReader(r) => visit(
            (r, read),
            leaf,
            n,
            |v| Ok(leaf.of_bytes(v.data())? as f32),
            each,
        ),
        C::ByteArrayColumnReader(r) if leaf.is_decimal() => visit(
            (r, read),
            leaf,
            n,
            |v| Ok(leaf.of_bytes(v.data())? as f32),
            each,
        ),
        _ => Err(Error::format(
            "a column of another type than the schema says",
        )),
    })
}

pub(super) fn words(
    column: Values,
    leaf: &Leaf,
    records: usize,
    mut each: impl FnMut(bool, Slot<String>) -> Result<()>,
) -> Result<()> {
    use ColumnReader as C;
    let (n, each, read) = (records, &mut each, &*column.read);
    guarded(|| match column.reader {
        C::BoolColumnReader(r) => visit((r, read), leaf, n, |&v| Ok(u8::from(v).to_string()), each),
        C::Int32ColumnReader(r) if leaf.is_unsigned() => visit(
            (r, read),
            leaf,
            n,
            |&v| Ok(v.cast_unsigned().to_string()),
            each,
        ),
        C::Int32ColumnReader(r) => visit((r, read), leaf, n, |&v| leaf.word(v.into()), each),
        C::Int64ColumnReader(r) if leaf.is_unsigned() => visit(
            (r, read),
            leaf,
            n,
            |&v| Ok(v.cast_unsigned().to_string()),
            each,
        ),
        C::Int64ColumnReader(r) => visit((r, read), leaf, n, |&v| leaf.word(v), each),
        C::FloatColumnReader(r) => visit((r, read), leaf, n, |&v| whole(f64::from(v)), each),
        C::DoubleColumnReader(r) => visit((r, read), leaf, n, |&v| whole(v), each),
        C::FixedLenByteArrayColumnReader(r) => visit(
            (r, read),
            leaf,
            n,
            |v| whole(leaf.of_bytes(v.data())?),
            each,
        ),
        C::ByteArrayColumnReader(r) if leaf.is_decimal() => visit(
            (r, read),
            leaf,
            n,
            |v| whole(leaf.of_bytes(v.data())?),
            each,
        ),
        C::ByteArrayColumnReader(r) => {
            let text = |v: &stored::ByteArray| match std::str::from_utf8(v.data()) {
                Ok(text) => Ok(text.trim().to_owned()),
                Err(_) => Err(Error::format("text that is not UTF-8")),
            };
            visit((r, read), leaf, n, text, each)
        }
        C::Int96ColumnReader(_) => Err(Error::format(
            "a column of another type than the schema says",
        )),
    })
}

/// The values of a column, each page checked before it is decoded.
///
/// What is decoded at once may take the whole budget.
pub(super) fn column(group: &dyn RowGroupReader, leaf: &Leaf, budget: &Budget) -> Result<Values> {
    guarded(|| {
        let pages = group.get_column_page_reader(leaf.index)?;
        let schema = group.metadata().schema_descr();
        let pages = Checked::new(pages, budget.again());
        let read = pages.values.clone();
        let reader = get_column_reader(schema.column(leaf.index), Box::new(pages));
        Ok(Values { reader, read })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_whole_numbers_in_bytes_of_any_length() {
        for (bytes, value) in [
            (vec![], 0.0),
            (vec![0x7f], 127.0),
            (vec![0x80], -128.0),
            (vec![0xff; 3], -1.0),
            (vec![0x01, 0x02], 258.0),
            (
                vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x85],
                -123.0,
            ),
        ] {
            assert_eq!(
                big_endian(&bytes).to_bits(),
                f64::to_bits(value),
                "{bytes:?}"
            );
        }
    }
}
