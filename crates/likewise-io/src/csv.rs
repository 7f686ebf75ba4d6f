//! Comma- and tab-separated text.
//!
//! The first line names the columns: `id` (or a first column without a name), `label`
//! (or `labels`, `y`, `target`) and `split` mean what they say; all other columns are
//! numbers and make one view, `features`. A file of numbers alone needs no header; a
//! first line that just counts 0, 1, 2 ... is a header, as data frames write it.

use std::io::Read;

use csv::{ByteRecord, Reader, ReaderBuilder};
use likewise::{Labels, Monitor};

use crate::assemble::{Parts, Role, Shape};
use crate::input::Input;
use crate::number::{Budget, Progress};
use crate::read::ReadOptions;
use crate::{Error, Result};

/// An open table: the names and roles of its columns, and the lines below.
struct Table<R> {
    reader: Reader<R>,
    names: Vec<String>,
    roles: Vec<Role>,
    /// The first line, where it is data already.
    first: Option<ByteRecord>,
}

impl<R: Read> Table<R> {
    fn open(stream: R, delimiter: u8) -> Result<Self> {
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .from_reader(stream);
        let mut record = ByteRecord::new();
        if !reader.read_byte_record(&mut record)? {
            return Err(Error::value(
                "the file is empty; a header and lines are needed",
            ));
        }
        let numeric = |field: &[u8]| number(field).is_some();
        let counts = record.len() > 1
            && (0..).zip(&record).all(|(i, field)| {
                std::str::from_utf8(field).is_ok_and(|f| f.trim() == i.to_string())
            });
        if record.iter().all(numeric) && !counts {
            let names: Vec<String> = (0..record.len()).map(|i| i.to_string()).collect();
            return Ok(Self {
                reader,
                roles: vec![Role::Feature; names.len()],
                names,
                first: Some(record),
            });
        }
        let name = |field: &[u8]| match std::str::from_utf8(field) {
            Ok(name) => Ok(name.trim().to_owned()),
            Err(_) => Err(not_utf8(1)),
        };
        let names: Vec<String> = record.iter().map(name).collect::<Result<_>>()?;
        let role = |(i, name): (usize, &String)| match Role::of(name) {
            _ if i == 0 && name.is_empty() => Role::Id,
            Role::Classes => Role::Feature,
            role => role,
        };
        let roles: Vec<Role> = names.iter().enumerate().map(role).collect();
        for role in [Role::Id, Role::Label, Role::Split] {
            let mut of_role = names.iter().zip(&roles).filter(|&(_, &r)| r == role);
            if let (Some((a, _)), Some((b, _))) = (of_role.next(), of_role.next()) {
                return Err(Error::format(format!(
                    "columns \"{a}\" and \"{b}\" mean the same; keep one of them"
                )));
            }
        }
        Ok(Self {
            reader,
            names,
            roles,
            first: None,
        })
    }

    /// Hands every line of data to `each`, with its number in the file.
    fn each(&mut self, mut each: impl FnMut(&ByteRecord, u64) -> Result<()>) -> Result<()> {
        if let Some(record) = self.first.take() {
            each(&record, 1)?;
        }
        let mut record = ByteRecord::new();
        while self.reader.read_byte_record(&mut record)? {
            let line = record.position().map_or(0, csv::Position::line);
            each(&record, line)?;
        }
        Ok(())
    }

    fn dimension(&self) -> usize {
        self.roles.iter().filter(|&&r| r == Role::Feature).count()
    }
}

fn not_utf8(line: u64) -> Error {
    Error::format(format!(
        "line {line} is not UTF-8 text; save the file as UTF-8"
    ))
}

/// A field as a number, if it is one.
fn number(field: &[u8]) -> Option<f32> {
    std::str::from_utf8(field).ok()?.trim().parse().ok()
}

fn word(field: &[u8], line: u64) -> Result<String> {
    let text = std::str::from_utf8(field).map_err(|_| not_utf8(line))?;
    Ok(text.trim().to_owned())
}

/// Words of the columns with a meaning of their own, and what they are for.
#[derive(Default)]
struct Words {
    ids: Vec<String>,
    labels: Vec<String>,
    split: Vec<String>,
}

impl Words {
    /// Keeps a field, if its column is not a feature.
    fn take(&mut self, role: Role, field: &[u8], line: u64) -> Result<()> {
        let words = match role {
            Role::Id => &mut self.ids,
            Role::Label => &mut self.labels,
            Role::Split => &mut self.split,
            Role::Classes | Role::Feature => return Ok(()),
        };
        words.push(word(field, line)?);
        Ok(())
    }
}

fn bad_number(name: &str, field: &[u8], line: u64) -> Error {
    let text = String::from_utf8_lossy(field);
    let place = format!("line {line}, column \"{name}\"");
    Error::value(match text.trim() {
        "" => format!("{place} is empty; fill it or remove the line"),
        text => {
            let mut text: String = text.chars().take(40).collect();
            if let Some(value) = number(field) {
                text = format!("{place} is {value} (\"{text}\"); remove or fill such values");
            } else {
                text = format!("{place}: \"{text}\" is not a number; correct or remove it");
            }
            text
        }
    })
}

pub(crate) fn shape(input: Input, delimiter: u8) -> Result<Shape> {
    let mut table = Table::open(input.stream(), delimiter)?;
    let mut rows = 0;
    table.each(|_, _| {
        rows += 1;
        Ok(())
    })?;
    Ok(Shape::one("features", rows, table.dimension()))
}

pub(crate) fn read(
    input: Input,
    delimiter: u8,
    options: &ReadOptions,
    monitor: &Monitor,
) -> Result<Parts> {
    let len = input.len;
    let mut table = Table::open(input.stream(), delimiter)?;
    let columns = table.dimension();
    if columns == 0 {
        return Err(Error::value(format!(
            "no columns of numbers; the columns are: {}",
            table.names.join(", ")
        )));
    }
    options.choose(&["features"])?;
    let budget = Budget::new(options.max_memory);
    let mut progress = Progress::new(monitor);
    let (names, roles) = (table.names.clone(), table.roles.clone());
    let mut words = Words::default();
    let mut values: Vec<f32> = Vec::new();
    let (mut rows, mut seen, mut reported) = (0_usize, 0_u64, 0_u64);
    table.each(|record, line| {
        for ((field, &role), name) in record.iter().zip(&roles).zip(&names) {
            if role == Role::Feature {
                let value = number(field).filter(|v| v.is_finite());
                values.push(value.ok_or_else(|| bad_number(name, field, line))?);
            } else {
                words.take(role, field, line)?;
            }
        }
        rows += 1;
        seen = record.position().map_or(seen, csv::Position::byte);
        if seen - reported > 1 << 18 {
            // The rest of the file will hold as much a byte as the lines so far.
            let bytes = (4 * values.len()) as f64;
            budget.check((bytes * len as f64 / seen as f64) as u64)?;
            progress.add((seen - reported) as usize)?;
            reported = seen;
        }
        Ok(())
    })?;
    budget.check(4 * values.len() as u64)?;
    values.shrink_to_fit();
    let mut parts = Parts::default();
    parts.add_view("features", rows, columns, values)?;
    if roles.contains(&Role::Id) {
        parts.ids = Some(words.ids);
    }
    if roles.contains(&Role::Label) {
        parts.labels = Some(Labels::parse(&words.labels));
    }
    if roles.contains(&Role::Split) {
        parts.set_split(&words.split)?;
    }
    Ok(parts)
}

/// A table of labels.
pub(crate) struct LabelTable {
    /// Ids, if there is such a column.
    pub(crate) ids: Option<Vec<String>>,
    pub(crate) labels: Vec<String>,
    /// Where each label stands in the file.
    pub(crate) lines: Vec<u64>,
}

/// Reads a table of labels: a column `label` and perhaps `id`; others are ignored.
///
/// A single column needs no header.
pub(crate) fn read_labels(input: Input, delimiter: u8) -> Result<LabelTable> {
    let mut table = Table::open(input.stream(), delimiter)?;
    let mut words = Words::default();
    let mut lines = Vec::new();
    if table.names.len() == 1 && table.roles[0] == Role::Feature {
        if table.first.is_none() {
            words.labels.push(table.names[0].clone());
            lines.push(1);
        }
        table.roles[0] = Role::Label;
    }
    if !table.roles.contains(&Role::Label) {
        return Err(Error::format(format!(
            "no column named label, labels, y or target; the columns are: {}",
            table.names.join(", ")
        )));
    }
    let roles = table.roles.clone();
    table.each(|record, line| {
        lines.push(line);
        for (field, &role) in record.iter().zip(&roles) {
            words.take(role, field, line)?;
        }
        Ok(())
    })?;
    Ok(LabelTable {
        ids: roles.contains(&Role::Id).then_some(words.ids),
        labels: words.labels,
        lines,
    })
}
