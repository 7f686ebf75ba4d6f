//! How often a database finds what comparing with every item finds.

use std::collections::HashMap;

use likewise::{Monitor, seed};
use rand::seq::index::sample;

use super::contents::{Compared, Contents, Vectors};
use super::report::Recall;

/// Items that ask, and neighbours that are asked for.
const QUERIES: usize = 100;
const K: usize = 10;
/// What two similarities may differ by and be the same: a server rounds otherwise.
const SAME: f64 = 1e-5;

/// Asks for the neighbours of a sample of the items: `ask` gives the ids that the database has for the item at a
/// place, at most so many. What is as near as the last of the true neighbours counts as one.
pub(super) fn measure<E: From<likewise::Error>>(
    contents: &Contents,
    seed: u64,
    monitor: &Monitor,
    mut ask: impl FnMut(usize, usize) -> Result<Vec<String>, E>,
) -> Result<Recall, E> {
    let n = contents.items.len();
    let k = K.min(n);
    let mut rng = seed::stream(seed, "recall of an export");
    let mut asking = sample(&mut rng, n, QUERIES.min(n)).into_vec();
    asking.sort_unstable();
    let exact = contents.nearest(&asking, k, &monitor.quiet())?;
    let ids = contents.items.iter().map(|item| item.id.as_str());
    let places: HashMap<&str, usize> = ids.zip(0..).collect();
    let mut found = 0;
    monitor.start("recall", asking.len() as u64);
    for (done, (exact, &item)) in (1..).zip(exact.iter().zip(&asking)) {
        let got = ask(item, k)?;
        let got: Vec<usize> = (got.iter())
            .filter_map(|id| places.get(id.as_str()).copied())
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
    Ok(Recall {
        k,
        queries: asking.len(),
        value: found as f64 / (k * asking.len()).max(1) as f64,
    })
}

/// How near items are to one that asks; larger is nearer.
fn nearness(contents: &Contents, asks: usize, items: &[usize]) -> crate::Result<Vec<f64>> {
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
