//! Tables of any form as rows of cells.

use likewise::Monitor;

use crate::Result;

/// What stands in one cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    Missing,
    Text(&'a str),
    Number(f64),
    Flag(bool),
    /// Days since 2000-01-01.
    Date(f64),
    /// A list of numbers.
    Numbers(&'a [f64]),
    /// What no column of a table can hold: other lists, records.
    Other,
}

/// Where the rows of a table stand, for messages: its lines or rows, and their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) what: &'static str,
    pub(crate) number: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.what, self.number)
    }
}

/// What is done with a row.
pub(crate) type Each<'a> = &'a mut dyn FnMut(Place, &[Cell]) -> Result<()>;

/// A table that can be gone through more than once.
///
/// Rows have as many cells as there are names.
pub(crate) trait Rows {
    fn names(&self) -> &[String];

    /// How its text is written, for people: the separator, the encoding.
    fn said(&self) -> Vec<String>;

    /// What stands between the columns, where it is a text.
    fn separator(&self) -> Option<char> {
        None
    }

    /// Whether a row of nothing is none, as below what was deleted in a spreadsheet.
    fn skips_blank(&self) -> bool {
        true
    }

    /// What the numbers of its places count, as people see them; none where nobody does.
    fn counted(&self) -> Option<&'static str> {
        Some("lines")
    }

    /// First and last of the lines that look like names, where there are several.
    fn several_lines_of_names(&self) -> Option<(u64, u64)> {
        None
    }

    /// Where else in the file the table may be, or how else it may stand there, and what to do then.
    fn elsewhere(&self) -> Option<String> {
        None
    }

    fn each(&mut self, monitor: &Monitor, each: Each) -> Result<()>;
}

/// Where else the table may be, as the end of a message.
pub(crate) fn elsewhere(rows: &dyn Rows) -> String {
    rows.elsewhere()
        .map_or(String::new(), |words| format!("; {words}"))
}
