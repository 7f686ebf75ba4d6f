//! Writing of tables.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use ndarray::{Array2, Axis};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type as stored;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::Result;

/// A column to write.
pub(crate) enum Column {
    /// Text, or null.
    Text(Vec<Option<String>>),
    /// 32-bit floats, or null.
    Float(Vec<Option<f32>>),
    /// 64-bit floats.
    Double(Vec<f64>),
    /// Whole numbers.
    Int(Vec<i32>),
    /// Yes or no.
    Bool(Vec<bool>),
    /// One vector of 32-bit floats each.
    Vectors(Array2<f32>),
    /// One vector of bytes each.
    Bytes(Array2<u8>),
}

/// Numbers of vectors that are written at once.
const BLOCK: usize = 1 << 20;

impl Column {
    fn schema(&self, name: &str) -> Result<Type> {
        let (physical, repetition) = match self {
            Column::Vectors(_) => return vectors(name, Physical::FLOAT, None),
            Column::Bytes(_) => {
                let byte = LogicalType::integer(8, false);
                return vectors(name, Physical::INT32, Some(byte));
            }
            Column::Text(_) => (Physical::BYTE_ARRAY, Repetition::OPTIONAL),
            Column::Float(_) => (Physical::FLOAT, Repetition::OPTIONAL),
            Column::Double(_) => (Physical::DOUBLE, Repetition::REQUIRED),
            Column::Int(_) => (Physical::INT32, Repetition::REQUIRED),
            Column::Bool(_) => (Physical::BOOLEAN, Repetition::REQUIRED),
        };
        let text = matches!(self, Column::Text(_));
        Ok(Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type(text.then_some(LogicalType::String))
            .build()?)
    }
}

/// A list that is always there, of numbers that are.
fn vectors(name: &str, physical: Physical, logical: Option<LogicalType>) -> Result<Type> {
    let element = Type::primitive_type_builder("element", physical)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(logical)
        .build()?;
    let list = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(element)])
        .build()?;
    Ok(Type::group_type_builder(name)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![Arc::new(list)])
        .build()?)
}

/// Definition levels (1 = there is a value) and values of a column with gaps.
fn dense<T, V>(column: &[Option<T>], convert: impl Fn(&T) -> V) -> (Vec<i16>, Vec<V>) {
    let levels = column.iter().map(|v| i16::from(v.is_some()));
    let values = column.iter().flatten().map(convert);
    (levels.collect(), values.collect())
}

/// Writes a table of columns of equal length. Equal columns give equal bytes.
pub(crate) fn write(file: &mut BufWriter<File>, columns: &[(String, Column)]) -> Result<()> {
    let fields = columns
        .iter()
        .map(|(name, c)| Ok(Arc::new(c.schema(name)?)));
    let schema = Type::group_type_builder("items")
        .with_fields(fields.collect::<Result<_>>()?)
        .build()?;
    let properties = WriterProperties::builder()
        .set_created_by("likewise".to_owned())
        .set_compression(Compression::ZSTD(parquet::basic::ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::None)
        .build();
    let mut writer = SerializedFileWriter::new(&mut *file, Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (_, column) in columns {
        let Some(mut out) = group.next_column()? else {
            break;
        };
        match column {
            Column::Text(values) => {
                let (levels, values) = dense(values, |v| stored::ByteArray::from(v.as_str()));
                out.typed::<stored::ByteArrayType>()
                    .write_batch(&values, Some(&levels), None)?;
            }
            Column::Float(values) => {
                let (levels, values) = dense(values, |&v| v);
                out.typed::<stored::FloatType>()
                    .write_batch(&values, Some(&levels), None)?;
            }
            Column::Double(values) => {
                out.typed::<stored::DoubleType>()
                    .write_batch(values, None, None)?;
            }
            Column::Int(values) => {
                out.typed::<stored::Int32Type>()
                    .write_batch(values, None, None)?;
            }
            Column::Vectors(rows) => {
                lists::<stored::FloatType, _>(out.typed(), rows, |v| v)?;
            }
            Column::Bytes(rows) => {
                lists::<stored::Int32Type, _>(out.typed(), rows, i32::from)?;
            }
            Column::Bool(values) => {
                out.typed::<stored::BoolType>()
                    .write_batch(values, None, None)?;
            }
        }
        out.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(file.flush()?)
}

/// Writes a list a row, in blocks.
fn lists<T: stored::DataType, V: Copy>(
    out: &mut ColumnWriterImpl<'_, T>,
    rows: &Array2<V>,
    value: impl Fn(V) -> T::T,
) -> Result<()> {
    let block = (BLOCK / rows.ncols().max(1)).max(1);
    for part in rows.axis_chunks_iter(Axis(0), block) {
        let values: Vec<T::T> = part.iter().map(|&v| value(v)).collect();
        let there = vec![1; values.len()];
        // 0 begins a list, 1 goes on with it.
        let goes_on = (0..values.len()).map(|i| i16::from(i % rows.ncols() > 0));
        let goes_on: Vec<i16> = goes_on.collect();
        out.write_batch(&values, Some(&there), Some(&goes_on))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_no_damaged_table() {
        let Ok(full) = File::options().write(true).open("/dev/full") else {
            println!("there is no /dev/full here");
            return;
        };
        let columns = [("a".to_owned(), Column::Double(vec![1.0; 100_000]))];
        for room in [1, 1 << 20] {
            let file = &mut BufWriter::with_capacity(room, full.try_clone().unwrap());
            let said = write(file, &columns).unwrap_err().to_string();
            assert!(said.starts_with("No space left"), "{said}");
        }
    }
}
