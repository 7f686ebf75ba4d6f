//! The approximate index: a hierarchical navigable small-world graph (usearch).

use std::path::Path;

use ndarray::{ArrayView1, ArrayView2, Axis};
use rayon::prelude::*;
use usearch::{IndexOptions, MetricKind, ScalarKind};

use super::{Hit, Index, check_k};
use crate::matrix::check_finite;
use crate::{Error, ErrorKind, Monitor, Result};

/// Size of the graph and effort of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HnswOptions {
    /// Neighbours a node keeps (M). More find more and take more memory.
    pub connectivity: usize,
    /// Candidates looked at when an item is inserted (efConstruction).
    pub build_effort: usize,
    /// Candidates looked at in a search (ef), at least k.
    pub search_effort: usize,
}

impl Default for HnswOptions {
    /// M 16, efConstruction 128, ef 128.
    fn default() -> Self {
        Self {
            connectivity: 16,
            build_effort: 128,
            search_effort: 128,
        }
    }
}

/// An approximate cosine index for single queries over many items.
///
/// Use it beyond about a hundred thousand items where one query must be answered in
/// well under a millisecond. For a batch of queries, for a kNN graph, or for fewer items,
/// [`Flat`](super::Flat) is exact and often faster. Data with very many exact duplicates
/// make poor small-world graphs: check with [`measured_recall`](super::measured_recall).
///
/// Items are inserted one after the other on one thread, so that the same rows give the
/// same graph. Building costs about O(n log n x effort x d), memory `4 d + 8 M` bytes an
/// item. Rows of zeros have similarity 0 to everything, as in the exact index: they are
/// not in the graph, but fill up answers that would be shorter without them.
///
/// Source: Malkov & Yashunin 2018, by the library usearch.
pub struct Hnsw {
    graph: usearch::Index,
    /// Number of rows, those of zeros included.
    n: usize,
    zeros: Vec<usize>,
}

impl std::fmt::Debug for Hnsw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hnsw")
            .field("items", &self.n)
            .field("dimensions", &self.dimensions())
            .finish_non_exhaustive()
    }
}
