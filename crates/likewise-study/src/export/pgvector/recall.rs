//! How often the index of the server finds what comparing with every item finds.

use std::fmt::Write;

use likewise::Monitor;
use postgres::Client;

use super::connection::Failed;
use super::table::Table;
use crate::export::contents::{Contents, Vectors};
use crate::export::recall;
use crate::export::report::Recall;

/// Asks for the neighbours of a sample of the items, by the index where there is one.
pub(super) fn measure(
    client: &mut Client,
    table: &Table,
    contents: &Contents,
    seed: u64,
    monitor: &Monitor,
) -> Result<Recall, Failed> {
    // Of few rows the server would rather compare with all, and the index would not be asked.
    client.batch_execute("SET enable_seqscan = off")?;
    let ask = client.prepare(&format!(
        "SELECT id FROM {} ORDER BY embedding {} $1::text::{} LIMIT $2",
        table.name, table.operator, table.column
    ))?;
    let recall = recall::measure(contents, seed, monitor, |item, k| {
        let rows = client.query(&ask, &[&as_text(contents, item)?, &(k as i64)])?;
        Ok::<_, Failed>(rows.iter().map(|row| row.get(0)).collect())
    })?;
    client.batch_execute("RESET enable_seqscan")?;
    Ok(recall)
}

/// A query as the server reads it: `[1,2]`, or `0110`.
fn as_text(contents: &Contents, item: usize) -> Result<String, Failed> {
    Ok(match &contents.vectors {
        Vectors::Codes(codes) => {
            let bit = |k: usize| codes.row(item)[k / 64] >> (k % 64) & 1 == 1;
            let bits = (0..codes.bits()).map(|k| if bit(k) { '1' } else { '0' });
            bits.collect()
        }
        Vectors::Rows(_) => {
            let mut text = String::from("[");
            for (place, value) in contents.asking(&[item])?.iter().enumerate() {
                let comma = if place > 0 { "," } else { "" };
                // Writing into a string cannot fail.
                let _ = write!(text, "{comma}{value}");
            }
            text + "]"
        }
    })
}
