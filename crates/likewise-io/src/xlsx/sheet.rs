//! The cells of one sheet, row by row.

use quick_xml::events::{BytesStart, Event};

use super::xml::{Xml, append, attribute, damaged};
use crate::layout::DateOrder;
use crate::table::date::{EXCEL, days};
use crate::{Error, Result};

/// Columns that a sheet of Excel can have.
const MOST_COLUMNS: usize = 16_384;

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
    /// Its cells up to the last that holds something.
    pub(super) values: Vec<Value>,
}

impl Row {
    /// Cells that hold something.
    pub(super) fn held(&self) -> usize {
        let held = self.values.iter().filter(|v| **v != Value::Missing);
        held.count()
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
    loop {
        let piece = xml.next()?;
        match &piece {
            Event::Start(tag) => match tag.local_name().as_ref() {
                "sheetData" => in_sheet = true,
                "row" if in_sheet => {
                    let given = attribute(tag, "r")?.and_then(|r| r.parse().ok());
                    row.number = given.unwrap_or(row.number + 1);
                    row.values.clear();
                }
                "c" if in_sheet => cell = Open::new(tag, row.values.len())?,
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
                        if cell.column >= row.values.len() {
                            row.values.resize(cell.column + 1, Value::Missing);
                        }
                        row.values[cell.column] = value;
                    }
                    cell = Open::default();
                }
                "row" if in_sheet && row.held() > 0 && !each(&row)? => return Ok(()),
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
}
