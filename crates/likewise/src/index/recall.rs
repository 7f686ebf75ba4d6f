//! What an approximate index misses.

use std::collections::HashSet;

use ndarray::ArrayView2;

use super::{Flat, Hit, Index};
use crate::{Error, Monitor, Result};

/// Share of the true `k` nearest items that `index` finds, over the rows of `queries`.
///
/// An item as similar as the last true one counts as found, so that duplicates do not
/// look like errors (similarities are compared to 1e-5). Fails as the searches do, and
/// without queries.
///
/// Costs one exact search; a few hundred queries are enough.
pub fn measured_recall(
    index: &dyn Index,
    exact: &Flat,
    queries: ArrayView2<f32>,
    k: usize,
    monitor: &Monitor,
) -> Result<f64> {
    let truth = exact.search(queries, k, monitor)?;
    let found = index.search(queries, k, monitor)?;
    let (mut right, mut wanted) = (0, 0);
    for (truth, found) in truth.iter().zip(&found) {
        let Some(last) = truth.last() else { continue };
        let items: HashSet<usize> = truth.iter().map(|hit| hit.item).collect();
        let close =
            |hit: &&Hit| items.contains(&hit.item) || hit.similarity >= last.similarity - 1e-5;
        right += found.iter().filter(close).count().min(truth.len());
        wanted += truth.len();
    }
    if wanted == 0 {
        return Err(Error::data(
            "recall needs at least one query and one indexed item",
        ));
    }
    Ok(f64::from(right as u32) / f64::from(wanted as u32))
}
