//! Indexes: answer k-nearest queries.
//!
//! [`Flat`] is exact and needs no building; up to some hundred thousand items it is the
//! right choice. [`nearest`] answers a few queries without even preparing the rows. `Hnsw` (cargo feature `hnsw`) is approximate and answers a single query
//! in a fraction of the time; say what it costs with [`measured_recall`].

#[cfg(feature = "hnsw")]
mod checked;
mod exact;
mod flat;
#[cfg(feature = "hnsw")]
mod hnsw;
mod nearest;
mod recall;

use std::cmp::Ordering;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

pub use exact::Exact;
pub use flat::Flat;
#[cfg(feature = "hnsw")]
pub use hnsw::{Hnsw, HnswOptions};
pub use nearest::nearest;
pub use recall::measured_recall;

use crate::{Error, Monitor, Result};

/// One answer of an index.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Row of the item when the index was built.
    pub item: usize,
    /// Similarity to the query; larger is more similar.
    pub similarity: f32,
}

/// The kinds of index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Exact: compares with every item.
    Flat,
    /// Approximate, fast on large collections.
    Hnsw,
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
