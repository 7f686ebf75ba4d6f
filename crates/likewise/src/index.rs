//! Indexes: answer k-nearest queries.
//!
//! [`Flat`] is exact and needs no building; up to some hundred thousand items it is the
//! right choice. [`nearest`] answers a few queries without even preparing the rows. `Hnsw` (cargo feature `hnsw`) is approximate and answers a single query
//! in a fraction of the time; say what it costs with [`measured_recall`].

#[cfg(feature = "hnsw")]
mod checked;
mod flat;
#[cfg(feature = "hnsw")]
mod hnsw;
mod nearest;

use std::cmp::Ordering;
use std::collections::HashSet;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

pub use flat::Flat;
#[cfg(feature = "hnsw")]
pub use hnsw::{Hnsw, HnswOptions};
pub use nearest::nearest;

use crate::{Error, Monitor, Result};

/// One answer of an index.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Row of the item when the index was built.
    pub item: usize,
    /// Similarity to the query; larger is more similar.
    pub similarity: f32,
}

/// Something that answers k-nearest queries.
pub trait Index {
    /// Number of indexed items.
    fn len(&self) -> usize;

    /// Whether nothing is indexed.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Length of a row.
    fn dimensions(&self) -> usize;

    /// The `k` items most similar to each row of `queries` (`m x d`), best first.
    ///
    /// Fewer if there are fewer items. An item that is itself the query is found like any
    /// other. Fails on another dimension, on NaN, on k = 0 and if cancelled.
    fn search(
        &self,
        queries: ArrayView2<f32>,
        k: usize,
        monitor: &Monitor,
    ) -> Result<Vec<Vec<Hit>>>;
}

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

fn check_k(k: usize) -> Result<()> {
    if k == 0 {
        return Err(Error::parameter("k", 0, "must be at least 1"));
    }
    Ok(())
}

/// Best first, ties by item.
fn order(a: &Hit, b: &Hit) -> Ordering {
    // Adding 0 turns -0 into 0, which would otherwise be ordered apart.
    let by_similarity = (b.similarity + 0.0).total_cmp(&(a.similarity + 0.0));
    by_similarity.then(a.item.cmp(&b.item))
}
