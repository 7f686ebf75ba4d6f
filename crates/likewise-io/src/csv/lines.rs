//! A text as lines of fields, below the names of its columns.

use std::io::Read;

use csv::{ByteRecord, Reader, ReaderBuilder};

use super::dialect::Dialect;
use super::quote::Watched;
use crate::input::Input;
use crate::role::unnamed;
use crate::{Error, Result};

/// An open table: the names of its columns, and the lines below.
pub(super) struct Table {
    reader: Reader<Watched<Box<dyn Read>>>,
    dialect: Dialect,
    pub(super) names: Vec<String>,
    /// The first line, where it is data already, and its number.
    first: Option<(u64, ByteRecord)>,
}

impl Table {
    pub(super) fn open(input: &Input, dialect: Dialect) -> Result<Self> {
        let delimiter = dialect.separator;
        let stream = dialect.open(input)?;
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .from_reader(Watched::below(dialect.above, stream, delimiter));
        let mut record = ByteRecord::new();
        let Some(line) = next(&mut reader, &mut record, dialect)? else {
            return Err(Error::value(
                "the file is empty; a header and lines are needed",
            ));
        };
        let name = |field: &[u8]| match std::str::from_utf8(field) {
            Ok(name) => Ok(name.trim().to_owned()),
            Err(_) => Err(not_utf8(line)),
        };
        let places = 0..record.len();
        let (names, first): (Vec<String>, _) = if dialect.bare {
            (places.map(unnamed).collect(), Some((line, record)))
        } else if is_data(&record, delimiter) {
            let names = places.map(|i| i.to_string()).collect();
            (names, Some((line, record)))
        } else {
            (record.iter().map(name).collect::<Result<_>>()?, None)
        };
        Ok(Self {
            reader,
            dialect,
            names,
            first,
        })
    }

    /// Whether the columns have names.
    pub(super) fn is_named(&self) -> bool {
        self.first.is_none() || self.dialect.bare
    }

    /// Hands every line of data to `each`, with its number in the file.
    pub(super) fn each(
        &mut self,
        mut each: impl FnMut(&ByteRecord, u64) -> Result<()>,
    ) -> Result<()> {
        self.each_until(|record, line| each(record, line).map(|()| true))
    }

    /// The same, until `each` says that it is enough.
    pub(super) fn each_until(
        &mut self,
        mut each: impl FnMut(&ByteRecord, u64) -> Result<bool>,
    ) -> Result<()> {
        if let Some((line, record)) = self.first.take()
            && !each(&record, line)?
        {
            return Ok(());
        }
        let mut record = ByteRecord::new();
        while let Some(line) = next(&mut self.reader, &mut record, self.dialect)? {
            if !each(&record, line)? {
                break;
            }
        }
        Ok(())
    }
}

/// Reads the next line that holds something, and tells its number in the file. Fails where a quote
/// swallows the rest of the file, and on a line of more or fewer fields than the first.
fn next<R: Read>(
    reader: &mut Reader<Watched<R>>,
    record: &mut ByteRecord,
    dialect: Dialect,
) -> Result<Option<u64>> {
    let (line, place) = (reader.position().line(), reader.position().byte());
    let read = reader.read_byte_record(record);
    let line = line + dialect.above + reader.get_mut().blank_at(place);
    if reader.get_ref().ends_in_quotes() {
        return Err(Error::format(format!(
            "line {line}: a quote (\") opens here and is never closed, so all behind it would be \
             one field; close it, or write a quote that belongs to the text twice"
        )));
    }
    let found = read.map_err(|e| match *e.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => Error::format(format!(
            "line {line} has {len} fields, but the first line has {expected_len}; every line must \
             have the same columns"
        ))
        .with(&dialect.advice()),
        _ => Error::from(e),
    })?;
    Ok(found.then_some(line))
}

/// Whether the first line is data already: numbers that do not just count, perhaps with gaps.
fn is_data(record: &ByteRecord, delimiter: u8) -> bool {
    // Where no comma stands between columns, it may stand in numbers.
    let number = |field: &[u8]| {
        let text = std::str::from_utf8(field).ok()?;
        number(field).or_else(|| {
            text.replace(',', ".")
                .parse()
                .ok()
                .filter(|_| delimiter != b',')
        })
    };
    let fields = || record.iter().map(<[u8]>::trim_ascii);
    let numbers = fields().filter(|f| !f.is_empty());
    if numbers.clone().next().is_none() || !numbers.clone().all(|f| number(f).is_some()) {
        return false;
    }
    let integer = |f: &[u8]| std::str::from_utf8(f).ok()?.parse::<i64>().ok();
    let counted: Option<Vec<i64>> = numbers.map(integer).collect();
    // A header of a frame: columns 0, 1, 2 ..., behind an index perhaps, where any start will do.
    let index = fields().next().is_some_and(<[u8]>::is_empty);
    let gaps = fields().skip(1).any(<[u8]>::is_empty);
    !counted.is_some_and(|c| {
        let counts = c.windows(2).all(|w| w[1].checked_sub(w[0]) == Some(1));
        counts
            && !gaps
            && if index {
                !c.is_empty()
            } else {
                c.len() > 1 && c[0] == 0
            }
    })
}

pub(super) fn borrowed(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

pub(super) fn not_utf8(line: u64) -> Error {
    Error::format(format!(
        "line {line} is not UTF-8 text; save the file as UTF-8"
    ))
}

/// A field as a number, if it is one.
pub(super) fn number(field: &[u8]) -> Option<f32> {
    std::str::from_utf8(field).ok()?.trim().parse().ok()
}

pub(super) fn word(field: &[u8], line: u64) -> Result<&str> {
    let text = std::str::from_utf8(field).map_err(|_| not_utf8(line))?;
    Ok(text.trim())
}
