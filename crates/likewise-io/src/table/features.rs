//! The cells of a table as features.

use std::collections::HashMap;

use likewise::Monitor;

use super::cells::{Cell, Place, Rows};
use super::date::days;
use super::decide::drops;
use super::ngrams;
use super::survey::{is_blank, word};
use super::written::{flag, is_missing, number};
use crate::assemble::check_values;
use crate::budget::Budget;
use crate::layout::{Column, DateOrder, Decimal, Layout, Taken};
use crate::number::push;
use crate::role::Role;
use crate::words::Words;
use crate::{Error, Result};

/// Features, words, and what had to be done to get them.
pub(super) struct Read {
    pub(super) values: Vec<f32>,
    pub(super) rows: usize,
    pub(super) words: Words,
    /// Numbers that the median stands for.
    pub(super) filled: usize,
    /// Lines that were left out, for what they lack.
    pub(super) dropped: usize,
    /// Words that no category has, and the first of them with its column.
    pub(super) unseen: usize,
    pub(super) first_unseen: Option<(String, String)>,
}

/// One column that is taken.
struct Source<'a> {
    column: &'a Column,
    place: usize,
    decimal: Decimal,
    /// Where its features begin in a row.
    begin: usize,
    /// Places of the words of a category.
    words: HashMap<&'a str, usize>,
    drops: bool,
    /// Whether words that are no numbers count as missing.
    lenient: bool,
}

/// What a table is read by.
pub(super) struct By<'a> {
    pub(super) layout: &'a Layout,
    pub(super) places: &'a [usize],
    pub(super) decimals: &'a [Decimal],
    pub(super) roles: &'a [Role],
}

impl By<'_> {
    fn sources(&self) -> Vec<Source<'_>> {
        let mut begin = 0;
        let both = self.layout.columns.iter().zip(self.places);
        both.map(|(column, &place)| {
            let words = match &column.taken {
                Taken::Category { values } => values.iter().map(String::as_str).zip(0..).collect(),
                _ => HashMap::new(),
            };
            let source = Source {
                column,
                place,
                decimal: self.decimals[place],
                begin,
                words,
                drops: drops(self.layout, &column.taken),
                lenient: self.layout.lenient,
            };
            begin += column.taken.width();
            source
        })
        .collect()
    }
}

/// Reads the features, row by row; missing numbers are NaN.
///
/// One pass over the cells; memory is the features and the words.
pub(super) fn read(
    rows: &mut dyn Rows,
    by: &By,
    budget: &Budget,
    monitor: &Monitor,
) -> Result<Read> {
    let sources = by.sources();
    let width = by.layout.dimensions();
    // No width is believed before there is room for one row.
    budget.check(4 * width as u64)?;
    let mut row = vec![0.0_f32; width];
    let mut out = Read {
        values: Vec::new(),
        rows: 0,
        words: Words::of(rows.counted()),
        filled: 0,
        dropped: 0,
        unseen: 0,
        first_unseen: None,
    };
    let skips = rows.skips_blank();
    rows.each(monitor, &mut |place, cells| {
        if skips && is_blank(cells) {
            return Ok(());
        }
        row.fill(0.0);
        let mut whole = true;
        for source in &sources {
            let found = source.read(&cells[source.place], place, &mut row, &mut out)?;
            whole &= found || !source.drops;
        }
        if !whole {
            out.dropped += 1;
            return Ok(());
        }
        for (cell, &role) in cells.iter().zip(by.roles) {
            if matches!(role, Role::Id | Role::Label | Role::Split) {
                let word = word(cell);
                out.words
                    .take(role, word.as_deref().unwrap_or(""), place.number)?;
            }
        }
        for &value in &row {
            push(&mut out.values, value)?;
        }
        out.rows += 1;
        budget.check(4 * out.values.len() as u64 + out.words.bytes)
    })?;
    Ok(out)
}

impl Source<'_> {
    /// Puts a cell into its place of a row; whether it holds something.
    fn read(&self, cell: &Cell, place: Place, row: &mut [f32], out: &mut Read) -> Result<bool> {
        let cell = match cell {
            Cell::Text(text) if is_missing(text) => &Cell::Missing,
            cell => cell,
        };
        match &self.column.taken {
            Taken::Number { date, .. } => {
                let value = self.number(cell, *date, place)?;
                row[self.begin] = value.unwrap_or(f32::NAN);
                Ok(value.is_some())
            }
            Taken::Category { .. } => {
                let Some(word) = word(cell) else {
                    return Ok(false);
                };
                if let Some(&at) = self.words.get(word.as_ref()) {
                    row[self.begin + at] = 1.0;
                } else {
                    out.unseen += 1;
                    out.first_unseen
                        .get_or_insert_with(|| (word.into_owned(), self.column.name.clone()));
                }
                Ok(true)
            }
            Taken::Text { dimensions } => {
                let word = word(cell);
                let row = &mut row[self.begin..self.begin + dimensions];
                ngrams::add(word.as_deref().unwrap_or(""), row);
                Ok(word.is_some())
            }
        }
    }

    /// A cell as a number, or `None` where it is missing.
    fn number(&self, cell: &Cell, date: Option<DateOrder>, place: Place) -> Result<Option<f32>> {
        let value = match (*cell, date) {
            (Cell::Missing, _) => return Ok(None),
            (Cell::Number(value), None) => Some(value as f32),
            (Cell::Flag(flag), None) => Some(f32::from(u8::from(flag))),
            (Cell::Text(text), None) => {
                let truth = || flag(text).map(|word| f32::from(u8::from(word == "true")));
                number(text, self.decimal).or_else(truth)
            }
            (Cell::Date(days), Some(_)) => Some(days as f32),
            (Cell::Text(text), Some(order)) => days(text, order).map(|days| days as f32),
            _ => None,
        };
        match value {
            Some(value) if value.is_finite() => Ok(Some(value)),
            _ if self.lenient => Ok(None),
            other => {
                // All the digits of a huge number would say less.
                let text = match *cell {
                    Cell::Number(value) if value.abs() >= 1e15 => format!("{value:e}").into(),
                    _ => word(cell).unwrap_or("that".into()),
                };
                let text: String = text.chars().take(40).collect();
                let what = if date.is_some() { "date" } else { "number" };
                let place = format!("{place}, column \"{}\"", self.column.name);
                Err(Error::value(match other {
                    // With digits it is no word for what is infinite.
                    Some(_) if text.contains(|c: char| c.is_ascii_digit()) => format!(
                        "{place}: \"{text}\" is too large for a 32-bit float (at most {:.1e}); \
                         scale the column down",
                        f32::MAX
                    ),
                    Some(value) => {
                        format!("{place} is {value} (\"{text}\"); remove or fill such values")
                    }
                    None => format!("{place}: \"{text}\" is not a {what}; correct or remove it"),
                }))
            }
        }
    }
}

/// Medians, means and deviations of the numbers, for a table that is the first of its kind.
///
/// A number that is the same everywhere keeps a deviation of 1. One column is held beside the
/// features at a time; O(cells).
pub(super) fn measure(layout: &mut Layout, plain: bool, read: &Read) {
    if plain {
        return;
    }
    let width = layout.dimensions();
    let mut begin = 0;
    for column in &mut layout.columns {
        let own = begin;
        begin += column.taken.width();
        let Taken::Number {
            median,
            mean,
            deviation,
            ..
        } = &mut column.taken
        else {
            continue;
        };
        let all = || read.values.iter().skip(own).step_by(width);
        let mut known: Vec<f32> = all().copied().filter(|v| !v.is_nan()).collect();
        let middle = middle(&mut known);
        *median = Some(middle);
        let filled = || all().map(|v| f64::from(if v.is_nan() { middle } else { *v }));
        let n = read.rows.max(1) as f64;
        *mean = filled().sum::<f64>() / n;
        let variance = filled().map(|v| (v - *mean).powi(2)).sum::<f64>() / n;
        *deviation = if variance > 0.0 && variance.sqrt().is_normal() {
            variance.sqrt()
        } else {
            1.0
        };
    }
}

/// The median; the mean of the two in the middle where there are as many on both sides.
fn middle(values: &mut [f32]) -> f32 {
    if values.is_empty() {
        return 0.0;
    }
    values.sort_unstable_by(f32::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 {
        values[half]
    } else {
        f32::midpoint(values[half - 1], values[half])
    }
}

/// Fills what is missing, and brings numbers to one scale.
///
/// Fails where a number is missing that the fitted table never lacked.
pub(super) fn fill(layout: &Layout, read: &mut Read) -> Result<()> {
    let width = layout.dimensions();
    let mut begin = 0;
    for column in &layout.columns {
        let own = begin;
        begin += column.taken.width();
        let Taken::Number {
            median,
            mean,
            deviation,
            ..
        } = column.taken
        else {
            continue;
        };
        let as_it_is = column.taken == Taken::plain();
        for (row, value) in read.values.iter_mut().skip(own).step_by(width).enumerate() {
            if value.is_nan() {
                *value = median.ok_or_else(|| {
                    Error::value(format!(
                        "item {row}, column \"{}\" is empty, and there is no median to take: no \
                         value was missing in the fitted table; fill it or remove the line",
                        column.name
                    ))
                })?;
                read.filled += 1;
            }
            if !as_it_is {
                *value = ((f64::from(*value) - mean) / deviation) as f32;
            }
        }
    }
    let matrix = ndarray::ArrayView2::from_shape((read.rows, width), &read.values);
    let matrix = matrix.map_err(|e| Error::format(e.to_string()))?;
    check_values("features", matrix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;

    #[test]
    fn a_number_that_is_too_large_is_said_as_it_is_written() {
        let said = |form: Form, text: &str| {
            let read = crate::read_bytes(form, text.as_bytes(), &crate::ReadOptions::default());
            read.unwrap_err().to_string()
        };
        for (form, text, written) in [
            (
                Form::Csv,
                "w\n1\n1e300\n",
                "line 3, column \"w\": \"1e300\"",
            ),
            (
                Form::Csv,
                "w\n1\n-1e300 %\n",
                "line 3, column \"w\": \"-1e300 %\"",
            ),
            (
                Form::Jsonl,
                "{\"w\": 1e300}\n",
                "line 1, column \"w\": \"1e300\"",
            ),
        ] {
            let e = said(form, text);
            assert!(e.contains(&format!("{written} is too large")), "{e}");
            assert!(!e.contains("inf"), "{e}");
        }
        let e = said(Form::Csv, "w\n1\ninf\n");
        assert!(e.contains("column \"w\" is inf (\"inf\")"), "{e}");
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        let of = |values: &[f32]| middle(&mut values.to_vec()).to_bits();
        assert_eq!(of(&[3.0, 1.0, 2.0]), 2.0_f32.to_bits());
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]), 2.5_f32.to_bits());
        assert_eq!(of(&[]), 0);
    }
}
