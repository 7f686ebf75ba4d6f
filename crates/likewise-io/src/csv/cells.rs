//! A text as rows of cells, whatever they hold.

use likewise::Monitor;

use super::dialect::Dialect;
use super::encoding::Letters;
use super::lines::{Table, word};
use crate::Result;
use crate::input::Input;
use crate::number::Progress;
use crate::table::cells::{Cell, Each, Place, Rows};

/// Bytes read between two reports.
const REPORT: u64 = 1 << 18;

/// A text that is gone through line by line.
pub(super) struct Lines<'a> {
    input: &'a Input,
    dialect: Dialect,
    own: u8,
    names: Vec<String>,
}

impl<'a> Lines<'a> {
    pub(super) fn open(input: &'a Input, dialect: Dialect, own: u8) -> Result<Self> {
        let names = Table::open(input, dialect)?.names;
        Ok(Self {
            input,
            dialect,
            own,
            names,
        })
    }

    /// What is not as the name of the file says.
    pub(super) fn said_of(dialect: Dialect, own: u8) -> Vec<String> {
        let mut said = Vec::new();
        if dialect.separator != own {
            said.push(match dialect.separator {
                b'\t' => "tabs between columns".to_owned(),
                other => format!("\"{}\" between columns", other as char),
            });
        }
        if dialect.letters != Letters::Utf8 {
            said.push(format!("letters as in {}", dialect.letters.name()));
        }
        if dialect.bare {
            said.push(
                "no names in the first line, so columns are \"column 1\" and so on".to_owned(),
            );
        } else if dialect.above > 0 {
            said.push(format!("names in line {}", dialect.above + 1));
        }
        said
    }
}

impl Rows for Lines<'_> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn said(&self) -> Vec<String> {
        Self::said_of(self.dialect, self.own)
    }

    fn separator(&self) -> Option<char> {
        Some(self.dialect.separator as char)
    }

    fn several_lines_of_names(&self) -> Option<(u64, u64)> {
        self.dialect.several
    }

    fn elsewhere(&self) -> Option<String> {
        self.dialect.doubt()
    }

    fn each(&mut self, monitor: &Monitor, each: Each) -> Result<()> {
        let mut table = Table::open(self.input, self.dialect)?;
        let mut progress = Progress::new(monitor);
        let (mut seen, mut reported) = (0, 0);
        table.each(|record, line| {
            let place = Place {
                what: "line",
                number: line,
            };
            let mut cells = Vec::with_capacity(record.len());
            for field in record {
                cells.push(match word(field, line)? {
                    "" => Cell::Missing,
                    text => Cell::Text(text),
                });
            }
            each(place, &cells)?;
            seen = record.position().map_or(seen, csv::Position::byte);
            if seen - reported > REPORT {
                progress.add((seen - reported) as usize)?;
                reported = seen;
            }
            Ok(())
        })
    }
}
