//! Items in the space of all views, and which of them are near.

use likewise::Monitor;
use likewise::code::nearest;
use likewise::cross::Embedding;
use likewise::distance::Metric;
use likewise::index::{Flat, Index as _};
use ndarray::Axis;

use crate::{Error, Result};

/// Items in the space of all views, view by view, and the items that have the view.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// The items that have each view, ascending.
    pub items: Vec<Vec<usize>>,
    /// Their rows or codes.
    pub rows: Vec<Embedding>,
}

/// What is said of bits beside numbers.
pub(super) fn mixed() -> Error {
    Error::data("bits compare with bits, numbers with numbers; embed both with one model")
}

/// Some of the rows or codes.
pub(crate) fn select_items(of: &Embedding, places: &[usize]) -> Embedding {
    match of {
        Embedding::Real(rows) => Embedding::Real(rows.select(Axis(0), places)),
        Embedding::Bits(codes) => Embedding::Bits(codes.select(places)),
    }
}

/// The `k` of the searched that are nearest to each query, best first, with their similarity: the
/// cosine of numbers, the share of bits that are the same. Of equals the first.
///
/// Fails where numbers are compared with bits, on another number of columns, for `k` of 0, and when cancelled.
pub fn nearest_items(
    queries: &Embedding,
    searched: &Embedding,
    k: usize,
    monitor: &Monitor,
) -> Result<Vec<Vec<(usize, f32)>>> {
    match (queries, searched) {
        (Embedding::Bits(queries), Embedding::Bits(searched)) => {
            let found = nearest(queries, searched, k, monitor)?;
            let bits = searched.bits() as f32;
            let of_query = |q: usize| {
                let items = found.indices.row(q).to_vec().into_iter();
                let hits = items.zip(found.distances.row(q).to_vec());
                hits.map(|(item, d)| (item as usize, 1.0 - d as f32 / bits))
                    .collect()
            };
            Ok((0..queries.n()).map(of_query).collect())
        }
        (Embedding::Real(queries), Embedding::Real(searched)) => {
            let index = Flat::new(searched.view(), Metric::Cosine)?;
            let found = index.search(queries.view(), k, monitor)?;
            let hits = |hits: Vec<likewise::index::Hit>| {
                let hits = hits.into_iter().map(|hit| (hit.item, hit.similarity));
                hits.collect()
            };
            Ok(found.into_iter().map(hits).collect())
        }
        _ => Err(mixed()),
    }
}
