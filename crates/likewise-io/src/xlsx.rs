//! Spreadsheets of Excel: the first sheet with something in it is a table, whose first row names
//! the columns.
//!
//! A row of one cell above others is a title, and passed over. Cells with the format of a date are
//! dates, errors (`#N/A`) are missing, formulas are what Excel computed of them. Cells right of the
//! named ones are notes.
//!
//! The sheet is read cell by cell from its archive. Beside the features only the texts that cells
//! share are held. A part that unpacks to far more than Excel writes is refused.

mod book;
mod sheet;
mod xml;

use likewise::Monitor;

use self::book::Book;
use self::sheet::{Row, Value};
use crate::assemble::{Parts, Shape};
use crate::budget::Budget;
use crate::input::Input;
use crate::options::ReadOptions;
use crate::role::some;
use crate::table::cells::{Cell, Each, Place, Rows};
use crate::{Error, Result, table};

pub(crate) fn shape(input: Input, options: &ReadOptions) -> Result<Shape> {
    table::shape(&mut Sheet::open(input, options)?, options)
}

pub(crate) fn read(input: Input, options: &ReadOptions, monitor: &Monitor) -> Result<Parts> {
    table::read(&mut Sheet::open(input, options)?, options, monitor)
}

/// Cells that a sheet may span for each that holds something, beside [`SPANNED`]: each that is empty
/// takes time and, as a feature, memory.
const SPARSE: u64 = 32;
const SPANNED: u64 = 1 << 24;

/// A sheet as a table.
pub(crate) struct Sheet {
    book: Book,
    place: usize,
    names: Vec<String>,
    /// The row of the names; those up to it hold no data.
    header: u64,
    /// Whether it is data itself.
    is_data: bool,
}

impl Sheet {
    /// Opens the first sheet that holds something.
    pub(crate) fn open(input: Input, options: &ReadOptions) -> Result<Self> {
        options.table.refuse(&["sep"], "a spreadsheet")?;
        let mut book = Book::open(input, Budget::new(options.max_memory))?;
        for place in 0..book.sheets.len() {
            let mut found: Option<Row> = None;
            book.each(place, |row| {
                let wider = found.as_ref().is_none_or(|first| first.held() < 2);
                if wider && row.held() > found.as_ref().map_or(0, Row::held) {
                    found = Some(row.clone());
                }
                Ok(found.as_ref().is_none_or(|first| first.held() < 2))
            })?;
            if let Some(row) = found {
                return Ok(Self::of(book, place, &row));
            }
        }
        Err(Error::value(if book.sheets.is_empty() {
            "the spreadsheet has no sheet of cells; save the table in one"
        } else {
            "the spreadsheet is empty; a row of names and rows of cells are needed"
        }))
    }

    fn of(book: Book, place: usize, row: &Row) -> Self {
        let number = |value: &Value| match value {
            Value::Number(number) => Some(*number),
            _ => None,
        };
        let values = row.values();
        let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
        // Columns that are called 0, 1, 2 ... have these names.
        let counts = |all: &Vec<f64>| {
            all.iter()
                .zip(0..)
                .all(|(&v, i)| v.to_bits() == f64::from(i).to_bits())
        };
        let is_data = numbers.is_some_and(|all| !counts(&all) || all.len() == 1);
        let name = |(i, value): (usize, &Value)| match value {
            _ if is_data => i.to_string(),
            Value::Missing => String::new(),
            Value::Number(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::Date(_) => format!("column {}", i + 1),
            Value::Text(text) => text.trim().to_owned(),
            Value::Shared(at) => book
                .texts
                .get(*at)
                .map_or(String::new(), |t| t.trim().to_owned()),
        };
        let names = values.iter().enumerate().map(name).collect();
        Self {
            names,
            place,
            header: row.number,
            is_data,
            book,
        }
    }
}

impl Rows for Sheet {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn said(&self) -> Vec<String> {
        let mut said = Vec::new();
        if self.book.sheets.len() > 1 {
            let (name, count) = (&self.book.sheets[self.place].0, self.book.sheets.len());
            said.push(format!("sheet \"{name}\" of {count}"));
        }
        if self.header > 1 && !self.is_data {
            said.push(format!("names in row {}", self.header));
        }
        said
    }

    fn counted(&self) -> Option<&'static str> {
        Some("rows")
    }

    fn elsewhere(&self) -> Option<String> {
        let sheets = self.book.sheets.iter().enumerate();
        let others = sheets.filter(|(place, _)| *place != self.place);
        let others: Vec<&str> = others.map(|(_, sheet)| sheet.0.as_str()).collect();
        (!others.is_empty()).then(|| {
            format!(
                "only sheet \"{}\" was read, the first that holds something; if the table is in \
                 another one ({}), make that the first, or save it as a file of its own",
                self.book.sheets[self.place].0,
                some(&others)
            )
        })
    }

    fn each(&mut self, monitor: &Monitor, each: Each) -> Result<()> {
        let (width, header, is_data) = (self.names.len(), self.header, self.is_data);
        let (mut seen, mut held) = (0_u64, 0_u64);
        self.book.each_with_texts(self.place, |row, texts| {
            if row.number < header || (row.number == header && !is_data) {
                return Ok(true);
            }
            seen += 1;
            held += row.held() as u64;
            let spanned = seen.saturating_mul(width as u64);
            if spanned > SPANNED.saturating_add(SPARSE.saturating_mul(held)) {
                return Err(Error::value(format!(
                    "row {}: {held} of the {spanned} cells up to here hold something; delete the columns \
                     that are empty (there are {width}), or save the table as .csv",
                    row.number
                )));
            }
            let mut cells = vec![Cell::Missing; width];
            let named = row.cells.iter().take_while(|(column, _)| *column < width);
            for (column, value) in named {
                let text = |text: &'_ str| text.trim().is_empty();
                cells[*column] = match value {
                    Value::Missing => Cell::Missing,
                    Value::Number(number) => Cell::Number(*number),
                    Value::Flag(flag) => Cell::Flag(*flag),
                    Value::Date(days) => Cell::Date(*days),
                    Value::Text(own) if text(own) => Cell::Missing,
                    Value::Text(own) => Cell::Text(own.trim()),
                    Value::Shared(at) => {
                        let shared = texts.get(*at).ok_or_else(|| {
                            Error::format(format!(
                                "row {}: a cell shares a text that is not there; the file is \
                                 damaged",
                                row.number
                            ))
                        })?;
                        if text(shared) {
                            Cell::Missing
                        } else {
                            Cell::Text(shared.trim())
                        }
                    }
                };
            }
            if seen.is_multiple_of(1024) {
                monitor.check()?;
            }
            let place = Place {
                what: "row",
                number: row.number,
            };
            each(place, &cells)?;
            Ok(true)
        })
    }
}
