//! Chosen columns of a table, line by line.

use likewise::Monitor;

use super::{Table, borrowed, not_utf8};
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
    let mut table = Table::open(input.stream(), delimiter)?;
    let chosen = choose(&borrowed(&table.names))?;
    let mut progress = Progress::new(monitor);
    let (mut seen, mut reported) = (0, 0);
    table.each(|record, line| {
        let text = |&column: &usize| {
            let field = record.get(column).unwrap_or_default();
            let text = std::str::from_utf8(field).map_err(|_| not_utf8(line))?;
            Ok(text.trim())
        };
        each(line, &chosen.iter().map(text).collect::<Result<Vec<_>>>()?)?;
        seen = record.position().map_or(seen, csv::Position::byte);
        if seen - reported > REPORT {
            progress.add((seen - reported) as usize)?;
            reported = seen;
        }
        Ok(())
    })
}
