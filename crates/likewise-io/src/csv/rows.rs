//! Chosen columns of a table, line by line.

use likewise::Monitor;

use super::dialect::Dialect;
use super::lines::{Table, borrowed, word};
use crate::Result;
use crate::input::Input;
use crate::number::Progress;

/// Bytes read between two reports.
const REPORT: u64 = 1 << 18;

/// Hands the fields of the columns that `choose` names, in its order and trimmed, to `each`, with
/// the number of the line. `choose` sees the names of all columns and gives their places.
pub(crate) fn read_rows(
    input: Input,
    delimiter: u8,
    monitor: &Monitor,
    choose: impl FnOnce(&[&str]) -> Result<Vec<usize>>,
    mut each: impl FnMut(u64, &[&str]) -> Result<()>,
) -> Result<()> {
    let dialect = Dialect::of(&input, delimiter, None)?;
    let mut table = Table::open(&input, dialect)?;
    let chosen = choose(&borrowed(&table.names))?;
    let mut progress = Progress::new(monitor);
    let (mut seen, mut reported) = (0, 0);
    table.each(|record, line| {
        let text = |&column: &usize| word(record.get(column).unwrap_or_default(), line);
        each(line, &chosen.iter().map(text).collect::<Result<Vec<_>>>()?)?;
        seen = record.position().map_or(seen, csv::Position::byte);
        if seen - reported > REPORT {
            progress.add((seen - reported) as usize)?;
            reported = seen;
        }
        Ok(())
    })
}
