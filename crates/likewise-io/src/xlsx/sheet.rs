//! The cells of one sheet, row by row.

use quick_xml::events::{BytesStart, Event};

use super::xml::{Xml, append, attribute, damaged};
use crate::layout::DateOrder;
use crate::table::date::{EXCEL, days};
use crate::{Error, Result};

/// Columns and rows that a sheet of Excel can have.
const MOST_COLUMNS: usize = 16_384;
const MOST_ROWS: u64 = 1 << 20;

/// What a cell holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Missing,
    Number(f64),
    Flag(bool),
    /// Days since 2000-01-01.
    Date(f64),
    Text(String),
    /// One of the texts that cells share.
    Shared(usize),
}

/// One row.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    /// Its number in the sheet, from 1.
    pub(super) number: u64,
    /// Its cells that hold something, each with its column, in their order: one cell may be all there
    /// is, and lie in the last column.
    pub(super) cells: Vec<(usize, Value)>,
}

impl Row {
    /// Cells that hold something.
    pub(super) fn held(&self) -> usize {
        self.cells.len()
    }

    /// All its cells up to the last that holds something.
    pub(super) fn values(&self) -> Vec<Value> {
        let width = self.cells.last().map_or(0, |(column, _)| column + 1);
        let mut values = vec![Value::Missing; width];
        for (column, value) in &self.cells {
            values[*column] = value.clone();
        }
        values
    }

    fn add(&mut self, column: usize, value: Value) -> Result<()> {
        if self.cells.len() == MOST_COLUMNS {
            return Err(damaged(&"a row has more cells than a sheet has columns"));
        }
        self.cells.push((column, value));
        Ok(())
    }

    /// Puts the cells in order; of two at one place the later counts.
    fn order(&mut self) {
        if self.cells.is_sorted_by(|a, b| a.0 < b.0) {
            return;
        }
        self.cells.reverse();
        self.cells.sort_by_key(|(column, _)| *column);
        self.cells.dedup_by_key(|(column, _)| *column);
    }
}

/// How numbers are to be understood.
#[derive(Debug, Clone, Default)]
pub(super) struct Styles {
    /// Whether the numbers of a style are dates, by its place.
    pub(super) dates: Vec<bool>,
    /// Whether days are counted from 1904.
    pub(super) since_1904: bool,
}

/// Hands every row that holds something to `each`, until it says that it is enough.
pub(super) fn each(
    xml: &mut Xml,
    styles: &Styles,
    mut each: impl FnMut(&Row) -> Result<bool>,
) -> Result<()> {
    let mut row = Row::default();
    let mut cell = Open::default();
    let mut in_sheet = false;
    let mut rows = 0;
    loop {
        let piece = xml.next()?;
        match &piece {
            Event::Start(tag) => match tag.local_name().as_ref() {
                "sheetData" => in_sheet = true,
                "row" if in_sheet => {
                    let given = attribute(tag, "r")?.and_then(|r| r.parse().ok());
                    row.number = given.unwrap_or(row.number.saturating_add(1));
                    row.cells.clear();
                    rows += 1;
                    if rows.max(row.number) > MOST_ROWS {
                        return Err(damaged(&format!(
                            "it has more than {MOST_ROWS} rows, which no program of spreadsheets writes"
                        )));
                    }
                }
                "c" if in_sheet => {
                    let next = row.cells.last().map_or(0, |(column, _)| column + 1);
                    cell = Open::new(tag, next)?;
                }
                "v" | "t" if in_sheet => cell.reads = true,
                // How an Asian word is read: not part of it.
                "rPh" => cell.aside = true,
                _ => {}
            },
            Event::End(tag) => match tag.local_name().as_ref() {
                "v" | "t" => cell.reads = false,
                "rPh" => cell.aside = false,
                "c" if in_sheet => {
                    let value = cell.value(styles)?;
                    if value != Value::Missing {
                        row.add(cell.column, value)?;
                    }
                    cell = Open::default();
                }
                "row" if in_sheet && row.held() > 0 => {
                    row.order();
                    if !each(&row)? {
                        return Ok(());
                    }
                }
                "sheetData" => return Ok(()),
                _ => {}
            },
            Event::Eof => return Err(damaged(&"the sheet ends early")),
            _ if cell.reads && !cell.aside => append(&piece, &mut cell.text)?,
            _ => {}
        }
    }
}

/// A cell that is being read.
#[derive(Default)]
struct Open {
    column: usize,
    kind: String,
    style: Option<usize>,
    text: String,
    reads: bool,
    aside: bool,
}

impl Open {
    fn new(tag: &BytesStart, next: usize) -> Result<Self> {
        let column = match attribute(tag, "r")? {
            Some(place) => column(&place)?,
            None => next,
        };
        if column >= MOST_COLUMNS {
            return Err(damaged(&"a cell lies beyond the last column"));
        }
        Ok(Self {
            column,
            kind: attribute(tag, "t")?.unwrap_or_default(),
            style: attribute(tag, "s")?.and_then(|s| s.parse().ok()),
            ..Self::default()
        })
    }

    fn value(&mut self, styles: &Styles) -> Result<Value> {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return Ok(Value::Missing);
        }
        let odd = || Error::format(format!("a cell holds \"{text}\"; the file is damaged"));
        Ok(match self.kind.as_str() {
            "s" => Value::Shared(text.trim().parse().map_err(|_| odd())?),
            "str" | "inlineStr" => Value::Text(text),
            "b" => Value::Flag(text.trim() == "1"),
            "e" => Value::Missing,
            "d" => match days(text.trim(), DateOrder::YearFirst) {
                Some(days) => Value::Date(days),
                None => Value::Text(text),
            },
            _ => {
                let number: f64 = text.trim().parse().map_err(|_| odd())?;
                let date = |style: usize| styles.dates.get(style) == Some(&true);
                if self.style.is_some_and(date) {
                    let later = if styles.since_1904 { 1462.0 } else { 0.0 };
                    Value::Date(number + later - EXCEL)
                } else {
                    Value::Number(number)
                }
            }
        })
    }
}

/// The column of a cell like `AB12`, counted from 0.
fn column(place: &str) -> Result<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_alphabetic);
    let number = letters.fold(0_usize, |n, letter| {
        n.saturating_mul(26)
            .saturating_add(usize::from(letter.to_ascii_uppercase() - b'A') + 1)
    });
    number
        .checked_sub(1)
        .ok_or_else(|| damaged(&format!("\"{place}\" is no place of a cell")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_letters() {
        let of = |place: &str| column(place).unwrap();
        assert_eq!(
            (of("A1"), of("Z9"), of("AA1"), of("XFD1")),
            (0, 25, 26, 16_383)
        );
        assert!(column("12").is_err());
    }

    #[test]
    fn cells_out_of_order_are_put_in_order_and_the_later_one_counts() {
        let mut row = Row::default();
        for (column, number) in [(2, 1.0), (0, 2.0), (2, 3.0)] {
            row.add(column, Value::Number(number)).unwrap();
        }
        row.order();
        let number = Value::Number;
        assert_eq!(row.held(), 2);
        assert_eq!(row.values(), [number(2.0), Value::Missing, number(3.0)]);
    }
}
