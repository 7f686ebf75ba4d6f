//! How often the index of the server finds what comparing with every item finds.

use std::collections::HashMap;
use std::fmt::Write;

use likewise::{Monitor, seed};
use postgres::Client;
use rand::seq::index::sample;

use super::connection::Failed;
use super::table::Table;
use crate::export::contents::{Compared, Contents, Vectors};
use crate::export::report::Recall;

/// Items that ask, and neighbours that are asked for.
const QUERIES: usize = 100;
const K: usize = 10;
/// What two similarities may differ by and be the same: the server rounds otherwise.
const SAME: f64 = 1e-5;

/// Asks for the neighbours of a sample of the items, by the index where there is one. What is as near
/// as the last of the true neighbours counts as one.
pub(super) fn measure(
    client: &mut Client,
    table: &Table,
    contents: &Contents,
    seed: u64,
    monitor: &Monitor,
) -> Result<Recall, Failed> {
    let n = contents.items.len();
    let k = K.min(n);
    let mut rng = seed::stream(seed, "recall of an export");
    let mut asking = sample(&mut rng, n, QUERIES.min(n)).into_vec();
    asking.sort_unstable();
    let exact = contents.nearest(&asking, k, &monitor.quiet())?;
    let ids = contents.items.iter().map(|item| item.id.as_str());
    let places: HashMap<&str, usize> = ids.zip(0..).collect();
    let queries = as_text(contents, &asking)?;
    // Of few rows the server would rather compare with all, and the index would not be asked.
    client.batch_execute("SET enable_seqscan = off")?;
    let ask = client.prepare(&format!(
        "SELECT id FROM {} ORDER BY embedding {} $1::text::{} LIMIT {k}",
        table.name, table.operator, table.column
    ))?;
    let mut found = 0;
    monitor.start("recall", asking.len() as u64);
    for (done, ((query, exact), &item)) in (1..).zip(queries.iter().zip(&exact).zip(&asking)) {
        let rows = client.query(&ask, &[query])?;
        let got: Vec<usize> = (rows.iter())
            .filter_map(|row| places.get(row.get::<_, &str>(0)).copied())
            .collect();
        let last = exact.last().map_or(f64::NEG_INFINITY, |hit| hit.1);
        let near = nearness(contents, item, &got)?;
        let slack = SAME * (1.0 + last.abs());
        found += near
            .iter()
            .filter(|&&near| near >= last - slack)
            .count()
            .min(k);
        monitor.step(done)?;
    }
    monitor.end();
    client.batch_execute("RESET enable_seqscan")?;
    Ok(Recall {
        k,
        queries: asking.len(),
        value: found as f64 / (k * asking.len()).max(1) as f64,
    })
}

/// How near items are to one that asks; larger is nearer.
fn nearness(contents: &Contents, asks: usize, items: &[usize]) -> Result<Vec<f64>, Failed> {
    Ok(match &contents.vectors {
        Vectors::Codes(codes) => (items.iter())
            .map(|&item| -f64::from(codes.distance(asks, item)))
            .collect(),
        Vectors::Rows(rows) => {
            let query = contents.asking(&[asks])?;
            let near = |&item: &usize| {
                let pairs = query.iter().zip(rows.row(item));
                let pairs = pairs.map(|(&a, &b)| (f64::from(a), f64::from(b)));
                if contents.compared == Compared::Euclidean {
                    -pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>()
                } else {
                    pairs.map(|(a, b)| a * b).sum::<f64>()
                }
            };
            items.iter().map(near).collect()
        }
    })
}

/// Queries as the server reads them: `[1,2]`, or `0110`.
fn as_text(contents: &Contents, asking: &[usize]) -> Result<Vec<String>, Failed> {
    Ok(match &contents.vectors {
        Vectors::Codes(codes) => {
            let bit = |item: usize, k: usize| codes.row(item)[k / 64] >> (k % 64) & 1 == 1;
            let text = |&item: &usize| {
                let bits = (0..codes.bits()).map(|k| if bit(item, k) { '1' } else { '0' });
                bits.collect()
            };
            asking.iter().map(text).collect()
        }
        Vectors::Rows(_) => {
            let rows = contents.asking(asking)?;
            let text = |row: ndarray::ArrayView1<f32>| {
                let mut text = String::from("[");
                for (place, value) in row.iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    // Writing into a string cannot fail.
                    let _ = write!(text, "{comma}{value}");
                }
                text + "]"
            };
            rows.rows().into_iter().map(text).collect()
        }
    })
}
