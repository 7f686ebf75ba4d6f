//! Comma- and tab-separated text.
//!
//! The first line names the columns: `id` (or a first column without a name), `label`
//! (or `labels`, `y`, `target`; else `class` or `category`) and `split` mean what they say;
//! columns of row numbers (`index`, `Unnamed: 0`, if their values look like it) are left out; all
//! other columns are features and make one view, `features`. A file of numbers alone needs no header; a
//! first line that just counts, 0, 1, 2 ..., is a header, as data frames write it.
//!
//! Where all features are numbers as programs write them, they are read as they are, line by line.
//! Else the text is a table as people write it, see [`table`].

mod cells;
mod dialect;
mod encoding;
mod head;
mod lines;
mod quote;
mod rows;
#[cfg(test)]
mod tests;
mod watch;

use likewise::Monitor;

use self::cells::Lines;
use self::dialect::Dialect;
use self::lines::{Table, borrowed, number, word};
pub(crate) use self::rows::read_rows;
use self::watch::Watch;
use crate::Result;
use crate::assemble::{Parts, Shape};
use crate::budget::Budget;
use crate::doubts::Doubts;
use crate::input::Input;
use crate::layout::Layout;
use crate::number::{Progress, push};
use crate::options::{ReadOptions, TableOptions};
use crate::role::{Role, tell};
use crate::table::{self, tell_numbers};
use crate::words::{LabelTable, Words, roles_of_labels};

/// Lines that an estimate looks at to see whether all features are numbers.
const LOOKED_AT: usize = 1000;

pub(crate) fn shape(input: Input, delimiter: u8, options: &ReadOptions) -> Result<Shape> {
    let dialect = Dialect::of(&input, delimiter, options.table.sep)?;
    if let Some((_, roles)) = columns_of_numbers(&input, dialect, options)? {
        let mut open = Table::open(&input, dialect)?;
        let (mut rows, mut plain) = (0, true);
        open.each_until(|record, _| {
            if rows < LOOKED_AT {
                let mut fields = record.iter().zip(&roles);
                plain =
                    fields.all(|(field, &role)| role != Role::Feature || value(field).is_some());
            }
            rows += 1;
            Ok(plain)
        })?;
        if plain {
            let features = roles.iter().filter(|&&role| role == Role::Feature);
            return Ok(Shape::one("features", rows, features.count()));
        }
    }
    table::shape(&mut Lines::open(&input, dialect, delimiter)?, options)
}

pub(crate) fn read(
    input: Input,
    delimiter: u8,
    options: &ReadOptions,
    monitor: &Monitor,
) -> Result<Parts> {
    let dialect = Dialect::of(&input, delimiter, options.table.sep)?;
    match read_numbers(&input, (dialect, delimiter), options, monitor)? {
        Some(parts) => Ok(parts),
        None => table::read(
            &mut Lines::open(&input, dialect, delimiter)?,
            options,
            monitor,
        ),
    }
}

/// Names of the columns and what they mean, if all features are numbers; `None` where these would
/// not be the features. One pass over the text where a name alone does not say it.
fn columns_of_numbers(
    input: &Input,
    dialect: Dialect,
    options: &ReadOptions,
) -> Result<Option<(Vec<String>, Vec<Role>)>> {
    if !options.table.suits_numbers() {
        return Ok(None);
    }
    let mut open = Table::open(input, dialect)?;
    let (mut names, named) = (open.names.clone(), open.is_named());
    let mut roles = Role::of_columns(&borrowed(&names), &options.table)
        .map_err(|e| e.with(&dialect.advice()))?;
    let mut doubts = Doubts::of(&names, &roles, options);
    let places = doubts.places();
    if !places.is_empty() {
        let budget = Budget::new(options.max_memory);
        open.each(|record, line| {
            for &place in &places {
                doubts.see(place, word(record.get(place).unwrap_or_default(), line)?)?;
            }
            budget.check(doubts.bytes())
        })?;
        doubts.settle(&mut names, &mut roles, &options.table);
    }
    let features = || {
        let all = names.iter().zip(&roles);
        all.filter(|(_, role)| **role == Role::Feature)
            .map(|(name, _)| name.as_str())
    };
    let suits = match &options.layout {
        Some(layout) => layout.is_of_numbers(features(), named),
        None => features().next().is_some(),
    };
    Ok(suits.then_some((names, roles)))
}

/// A field as a number that can be a feature as it is.
fn value(field: &[u8]) -> Option<f32> {
    number(field).filter(|v| v.is_finite())
}

/// Reads a table of which all features are numbers; `None` where they are not.
fn read_numbers(
    input: &Input,
    (dialect, delimiter): (Dialect, u8),
    options: &ReadOptions,
    monitor: &Monitor,
) -> Result<Option<Parts>> {
    let len = input.len;
    let Some((names, roles)) = columns_of_numbers(input, dialect, options)? else {
        return Ok(None);
    };
    let mut table = Table::open(input, dialect)?;
    let columns = roles.iter().filter(|&&role| role == Role::Feature).count();
    options.choose(&["features"])?;
    let mut budget = Budget::new(options.max_memory);
    let mut progress = Progress::new(monitor);
    let named = table.is_named();
    let mut words = Words::of(Some("lines"));
    let mut values: Vec<f32> = Vec::new();
    let (mut rows, mut seen, mut reported) = (0_usize, 0_u64, 0_u64);
    let mut plain = true;
    let mut watch = Watch::of((&names, &roles), dialect);
    table.each_until(|record, line| {
        watch.line(record, &roles, line);
        for (place, (field, &role)) in record.iter().zip(&roles).enumerate() {
            if role == Role::Feature {
                let Some(value) = value(field) else {
                    plain = false;
                    return Ok(false);
                };
                push(&mut values, value)?;
                watch.number(place, (field, value), line)?;
            } else {
                words.take(role, word(field, line)?, line)?;
            }
        }
        rows += 1;
        budget.check(4 * values.len() as u64 + words.bytes)?;
        seen = record.position().map_or(seen, csv::Position::byte);
        if seen - reported > 1 << 18 {
            // The rest of the file will hold as much a byte as the lines so far.
            let bytes = (4 * values.len() as u64 + words.bytes) as f64;
            budget.check((bytes * len as f64 / seen as f64) as u64)?;
            progress.add((seen - reported) as usize)?;
            reported = seen;
        }
        Ok(true)
    })?;
    if !plain {
        return Ok(None);
    }
    budget.take(4 * values.len() as u64 + words.bytes)?;
    budget.items(rows)?;
    values.shrink_to_fit();
    let mut parts = Parts::default();
    parts.add_view("features", rows, columns, values)?;
    words.remark(monitor);
    let said = Lines::said_of(dialect, delimiter);
    tell_numbers((&names, &roles), rows, &said, options, monitor);
    watch.tell(&names, options, monitor);
    tell(&borrowed(&names), &roles, options, monitor);
    let features = names
        .iter()
        .zip(&roles)
        .filter(|(_, r)| **r == Role::Feature);
    parts.columns = features.map(|(name, _)| name.clone()).collect();
    parts.layout = options.layout.as_deref().cloned().or_else(|| {
        let mut layout = Layout::of_numbers(parts.columns.iter().map(String::as_str));
        layout.id.clone_from(&options.table.id_column);
        layout.label.clone_from(&options.table.label_column);
        (named || !options.table.is_empty()).then_some(layout)
    });
    words.give(&names, &roles, &mut parts, options, monitor)?;
    Ok(Some(parts))
}

/// Reads a table of labels: a column `label` and perhaps `id`; others are ignored.
///
/// A single column needs no header.
pub(crate) fn read_labels(
    input: Input,
    delimiter: u8,
    asked: &TableOptions,
    own_id: Option<&str>,
    monitor: &Monitor,
) -> Result<LabelTable> {
    let dialect = Dialect::of(&input, delimiter, asked.sep)?;
    let mut table = Table::open(&input, dialect)?;
    let mut roles = Role::of_columns(&borrowed(&table.names), asked)?;
    let mut words = Words::default();
    let mut lines = Vec::new();
    if table.names.len() == 1 && roles[0] == Role::Feature {
        if table.is_named() {
            words.labels.push(table.names[0].clone());
            lines.push(dialect.above + 1);
        }
        roles[0] = Role::Label;
    }
    let named = roles_of_labels(&borrowed(&table.names), &mut roles, own_id)?;
    let budget = Budget::new(None);
    table.each(|record, line| {
        push(&mut lines, line)?;
        for (field, &role) in record.iter().zip(&roles) {
            words.take(role, word(field, line)?, line)?;
        }
        budget.check(words.bytes)
    })?;
    words.remark(monitor);
    Ok(LabelTable {
        ids: roles.contains(&Role::Id).then_some(words.ids),
        labels: words.labels,
        lines,
        named,
    })
}
