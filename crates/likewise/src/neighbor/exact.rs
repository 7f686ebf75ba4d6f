//! Exact nearest neighbours by tiles: one matrix product a tile, then a scan.
//!
//! **Use it** up to some 100,000 items, and as the yardstick of approximate search.
//! **Not** for millions of items on one machine: the time grows with n².
//!
//! The similarities of a tile of queries with a tile of items are one matrix product.
//! The scan keeps, for each query, the best candidates so far and looks only at values
//! above the worst of the best `k`.
//!
//! Cost: 2 n² d operations for the products; memory O(nk) and one tile a thread. The
//! n x n matrix never exists.
//!
//! Every product has the full size of a tile (the data are padded with zero rows). So
//! the similarity of two items has the same bits wherever the items stand and whatever
//! the number of threads, identical items get identical similarities, and ties are
//! decided by the smaller index.
//!
//! Source: nearest neighbours of eq. (15) in Zhuang and Moulin, CVPR 2023. Rows are
//! compared by inner product, of unit rows for the cosine; in unit rows the order is
//! that of the Euclidean distance.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Neighbors;
use crate::matrix::{check_finite, l2_normalize};
use crate::{Error, ErrorKind, Monitor, Result};

/// Queries of a tile.
const QUERIES: usize = 256;
/// Items of a tile: 1 MiB of similarities, which stay in the cache until scanned.
/// A multiple of `QUERIES`, so that one padding serves both.
const ITEMS: usize = 1024;
/// Values that are compared with the threshold at once.
const LANES: usize = 32;

/// How two items are compared; larger is nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Cosine of the angle. A row of zeros has cosine 0 with everything.
    #[default]
    Cosine,
    /// Inner product of the rows as they are.
    InnerProduct,
}

/// A range of rows, made ready for comparison.
///
/// Holds a copy of the rows (scaled to unit length for the cosine), padded to whole
/// tiles: 4 bytes a value.
#[derive(Debug, Clone)]
pub struct Rows {
    data: Vec<f32>,
    n: usize,
    dimension: usize,
    first: usize,
}

impl Rows {
    /// Prepares the rows of `x` (`n x d`), of which the first has index `first` in the
    /// whole collection.
    ///
    /// Fails on NaN and infinite values, on indices past `u32`, and for the inner
    /// product on rows so long that products would overflow.
    pub fn new(x: ArrayView2<f32>, first: usize, metric: Metric) -> Result<Self> {
        check_finite(x, "features")?;
        let (n, dimension) = x.dim();
        if first + n > u32::MAX as usize {
            return Err(Error::data(format!(
                "features: item {} is past the largest index {}",
                first + n - 1,
                u32::MAX
            )));
        }
        let mut rows = x.as_standard_layout().into_owned();
        match metric {
            Metric::Cosine => rows = l2_normalize(rows),
            Metric::InnerProduct => check_lengths(rows.view())?,
        }
        let (mut data, offset) = rows.into_raw_vec_and_offset();
        data.drain(..offset.unwrap_or(0));
        data.truncate(n * dimension);
        data.resize(n.next_multiple_of(ITEMS) * dimension, 0.0);
        Ok(Self {
            data,
            n,
            dimension,
            first,
        })
    }

    fn tile(&self, start: usize, rows: usize) -> MatRef<'_, f32> {
        let data = &self.data[start * self.dimension..(start + rows) * self.dimension];
        MatRef::from_row_major_slice(data, rows, self.dimension)
    }
}

fn check_lengths(x: ArrayView2<f32>) -> Result<()> {
    for (row, values) in x.axis_iter(Axis(0)).enumerate() {
        let square: f64 = values.iter().map(|&v| f64::from(v).powi(2)).sum();
        if square > f64::from(f32::MAX) / 4.0 {
            return Err(Error::data(format!(
                "features: row {row} has length {:e}; inner products overflow, scale the data",
                square.sqrt()
            )));
        }
    }
    Ok(())
}

/// The best `k` items for each query among those seen so far.
///
/// [`merge`](Self::merge) is associative and commutative, so blocks may be searched
/// anywhere and in any order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Partial {
    first: usize,
    k: usize,
    lists: Vec<Vec<Candidate>>,
}

/// An item and its similarity to the query.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Candidate {
    index: u32,
    similarity: f32,
}

impl Candidate {
    /// Nearest first, ties by the smaller index.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "the form that sorting takes"
    )]
    fn order(&self, other: &Self) -> Ordering {
        (other.similarity.total_cmp(&self.similarity)).then(self.index.cmp(&other.index))
    }
}

impl Partial {
    /// Joins the lists of the same queries against other items.
    ///
    /// Fails if the two are not about the same queries and `k`.
    pub fn merge(mut self, other: Self) -> Result<Self> {
        if (self.first, self.k, self.lists.len()) != (other.first, other.k, other.lists.len()) {
            return Err(Error::new(
                ErrorKind::Parameter,
                "partial neighbour lists are of different queries or different k",
            ));
        }
        for (list, more) in self.lists.iter_mut().zip(other.lists) {
            list.extend(more);
            list.sort_unstable_by(Candidate::order);
            list.dedup_by_key(|c| c.index);
            list.truncate(self.k);
        }
        Ok(self)
    }

    /// The finished lists, one row a query.
    ///
    /// Fails where a query has seen fewer than `k` items.
    pub fn finish(self) -> Result<Neighbors> {
        let (n, k) = (self.lists.len(), self.k);
        if let Some(row) = self.lists.iter().position(|list| list.len() < k) {
            return Err(Error::data(format!(
                "item {} was compared with {} others only, but k = {k}",
                self.first + row,
                self.lists[row].len()
            )));
        }
        let flat = || self.lists.iter().flatten();
        let shape = |_| Error::new(ErrorKind::Internal, "neighbour lists of unequal length");
        Ok(Neighbors {
            k,
            indices: Array2::from_shape_vec((n, k), flat().map(|c| c.index).collect())
                .map_err(shape)?,
            similarities: Array2::from_shape_vec((n, k), flat().map(|c| c.similarity).collect())
                .map_err(shape)?,
        })
    }
}

/// Collects candidates in ascending order of their index.
struct Best {
    k: usize,
    threshold: f32,
    found: Vec<Candidate>,
}

impl Best {
    fn new(k: usize) -> Self {
        Self {
            k,
            threshold: f32::NEG_INFINITY,
            found: Vec::new(),
        }
    }

    fn push(&mut self, index: u32, similarity: f32) {
        // Adding 0 turns -0 into 0, which would otherwise be ordered apart.
        let similarity = similarity + 0.0;
        self.found.push(Candidate { index, similarity });
        if self.found.len() >= 2 * self.k + LANES {
            self.shrink();
        }
    }

    /// Keeps the best `k`. From then on a candidate must be strictly nearer than the
    /// worst of them: at equal similarity it would lose by its larger index.
    fn shrink(&mut self) {
        if self.found.len() > self.k {
            let (_, worst, _) = self
                .found
                .select_nth_unstable_by(self.k - 1, Candidate::order);
            self.threshold = worst.similarity;
            self.found.truncate(self.k);
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn scan(&mut self, similarities: &[f32], first: usize, own: usize) {
        let mut start = first;
        for lanes in similarities.chunks(LANES) {
            let threshold = self.threshold;
            let mut hit = false;
            for &s in lanes {
                hit |= s > threshold;
            }
            if hit {
                for (index, &s) in (start..).zip(lanes) {
                    if s > self.threshold && index != own {
                        self.push(index as u32, s);
                    }
                }
            }
            start += lanes.len();
        }
    }

    fn finish(mut self) -> Vec<Candidate> {
        self.shrink();
        self.found.sort_unstable_by(Candidate::order);
        self.found
    }
}

/// The `k` nearest of `items` for each of `queries`; an item is never listed as its own
/// neighbour (the same index, not merely the same features).
///
/// This is the unit of work of a cluster: prepare two ranges of rows, search one in the
/// other, and [`merge`](Partial::merge) the answers. Lists may be shorter than `k` until
/// enough blocks are merged. Queries that are no items need an index past all items.
///
/// Fails if the two differ in dimension, if `k` is 0, and when cancelled.
/// Costs 2 d operations a pair, in parallel over queries.
pub fn block(queries: &Rows, items: &Rows, k: usize, monitor: &Monitor) -> Result<Partial> {
    if queries.dimension != items.dimension {
        return Err(Error::data(format!(
            "queries have {} dimensions, items {}",
            queries.dimension, items.dimension
        )));
    }
    if k == 0 {
        return Err(Error::parameter("k", k, "must be at least 1"));
    }
    let done = AtomicU64::new(0);
    let tiles: Vec<usize> = (0..queries.n).step_by(QUERIES).collect();
    let lists: Vec<Vec<Vec<Candidate>>> = tiles
        .into_par_iter()
        .map_init(
            || vec![0.0; QUERIES * ITEMS],
            |scratch, start| {
                monitor.check()?;
                let lists = search_tile(queries, start, items, k, scratch);
                let searched = lists.len() as u64;
                monitor.step(done.fetch_add(searched, Relaxed) + searched)?;
                Ok(lists)
            },
        )
        .collect::<Result<_>>()?;
    Ok(Partial {
        first: queries.first,
        k,
        lists: lists.into_iter().flatten().collect(),
    })
}

fn search_tile(
    queries: &Rows,
    start: usize,
    items: &Rows,
    k: usize,
    scratch: &mut [f32],
) -> Vec<Vec<Candidate>> {
    let rows = QUERIES.min(queries.n - start);
    let mut best: Vec<Best> = (0..rows).map(|_| Best::new(k)).collect();
    let arch = pulp::Arch::new();
    for first in (0..items.n).step_by(ITEMS) {
        matmul(
            MatMut::from_row_major_slice_mut(scratch, QUERIES, ITEMS),
            Accum::Replace,
            queries.tile(start, QUERIES),
            items.tile(first, ITEMS).transpose(),
            1.0,
            Par::Seq,
        );
        let width = ITEMS.min(items.n - first);
        arch.dispatch(
            #[inline(always)]
            || {
                for (row, (best, similarities)) in
                    best.iter_mut().zip(scratch.chunks(ITEMS)).enumerate()
                {
                    let own = queries.first + start + row;
                    best.scan(&similarities[..width], items.first + first, own);
                }
            },
        );
    }
    best.into_iter().map(Best::finish).collect()
}

/// The `k` nearest neighbours of every row of `x` (`n x d`) among the other rows.
///
/// Fails on NaN and infinite values (naming row and column), if `k` is 0 or not below
/// `n`, and when cancelled.
///
/// ```
/// use likewise::neighbor::{Metric, exact};
/// let x = ndarray::array![[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]];
/// let neighbors = exact(x.view(), 1, Metric::Cosine, &likewise::Monitor::silent())?;
/// assert_eq!(neighbors.indices, ndarray::array![[1], [0], [1]]);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn exact(x: ArrayView2<f32>, k: usize, metric: Metric, monitor: &Monitor) -> Result<Neighbors> {
    let n = x.nrows();
    if k == 0 {
        return Err(Error::parameter("k", k, "must be at least 1"));
    }
    if k >= n {
        let rule = format!("must be below the number of items, n = {n}");
        return Err(Error::parameter("k", k, &rule));
    }
    let rows = Rows::new(x, 0, metric)?;
    monitor.start("exact nearest neighbours", n as u64);
    let neighbors = block(&rows, &rows, k, monitor)?.finish()?;
    monitor.end();
    Ok(neighbors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed;
    use ndarray::{array, s};
    use proptest::prelude::*;
    use rand::RngExt;

    fn random(n: usize, d: usize, seed: u64) -> Array2<f32> {
        let mut rng = seed::stream(seed, "test features");
        Array2::from_shape_fn((n, d), |_| rng.random::<f32>() - 0.5)
    }

    /// Features on a coarse grid, so that many rows are duplicates and many similarities
    /// are equal.
    fn with_ties(n: usize, d: usize, seed: u64) -> Array2<f32> {
        random(n, d, seed).mapv(|v| (v * 3.0).round())
    }

    fn search(x: &Array2<f32>, k: usize) -> Neighbors {
        exact(x.view(), k, Metric::Cosine, &Monitor::silent()).unwrap()
    }

    /// All pairs in f64, sorted.
    fn naive(x: &Array2<f32>, k: usize, metric: Metric) -> Vec<Vec<f64>> {
        let mut x = x.mapv(f64::from);
        if metric == Metric::Cosine {
            for mut row in x.rows_mut() {
                let norm = row.dot(&row).sqrt();
                row.mapv_inplace(|v| if norm > 0.0 { v / norm } else { 0.0 });
            }
        }
        (0..x.nrows())
            .map(|i| {
                let mut all: Vec<f64> = (0..x.nrows())
                    .filter(|&j| j != i)
                    .map(|j| x.row(i).dot(&x.row(j)))
                    .collect();
                all.sort_by(|a, b| b.total_cmp(a));
                all.truncate(k);
                all
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn equals_all_pairs_sorted(
            n in 2_usize..400, d in 1_usize..40, k in 1_usize..60, seed in 0_u64..1000, cosine: bool,
        ) {
            let k = k.min(n - 1);
            let metric = if cosine { Metric::Cosine } else { Metric::InnerProduct };
            let x = random(n, d, seed);
            let found = exact(x.view(), k, metric, &Monitor::silent()).unwrap();
            found.check().unwrap();
            for (i, expected) in naive(&x, k, metric).iter().enumerate() {
                for (p, &e) in expected.iter().enumerate() {
                    prop_assert!((f64::from(found.similarities[[i, p]]) - e).abs() < 1e-5);
                }
            }
        }
    }

    #[test]
    fn ties_go_to_the_smaller_index_across_tile_borders() {
        // Twenty distinct rows repeated over several tiles of both kinds: each item's
        // neighbours are the smallest indices of its own kind, all at the same bits.
        for d in [3, 16, 61, 128] {
            let kinds = random(20, d, 1);
            let n = 2 * ITEMS + QUERIES + 7;
            let x = Array2::from_shape_fn((n, d), |(i, c)| kinds[[(i * 7) % 20, c]]);
            let found = search(&x, 30);
            for i in 0..n {
                let own = (i * 7) % 20;
                let expected: Vec<u32> = (0..n)
                    .filter(|&j| j != i && (j * 7) % 20 == own)
                    .take(30)
                    .map(|j| j as u32)
                    .collect();
                assert_eq!(found.indices.row(i).to_vec(), expected, "item {i}, d {d}");
                let s = found.similarities.row(i);
                assert!(s.iter().all(|v| v.to_bits() == s[0].to_bits()));
            }
        }
    }

    #[test]
    fn lists_are_ordered_by_similarity_then_index() {
        let x = with_ties(700, 4, 3);
        let found = search(&x, 50);
        for i in 0..x.nrows() {
            for p in 1..50 {
                let (a, b) = (found.similarities[[i, p - 1]], found.similarities[[i, p]]);
                let ascending = found.indices[[i, p - 1]] < found.indices[[i, p]];
                assert!(a > b || (a.to_bits() == b.to_bits() && ascending));
            }
        }
    }

    #[test]
    fn a_zero_row_has_cosine_zero_with_everything() {
        let x = array![[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]];
        let found = search(&x, 3);
        assert_eq!(found.indices.row(0).to_vec(), [1, 2, 3]);
        assert_eq!(found.similarities.row(0).to_vec(), [0.0, 0.0, 0.0]);
        assert_eq!(found.indices.row(1).to_vec(), [2, 0, 3]);
    }

    #[test]
    fn any_cut_into_blocks_gives_the_same_bytes() {
        let x = with_ties(ITEMS + 300, 5, 4);
        let whole = search(&x, 20);
        let n = x.nrows();
        for cuts in [vec![0, 1, 130, n], vec![0, ITEMS, n], vec![0, 777, 778, n]] {
            let ranges: Vec<Rows> = cuts
                .windows(2)
                .map(|w| Rows::new(x.slice(s![w[0]..w[1], ..]), w[0], Metric::Cosine).unwrap())
                .collect();
            let (mut indices, mut similarities) = (Vec::new(), Vec::new());
            for queries in &ranges {
                // In reverse, since the order of merging must not matter.
                let merged = ranges
                    .iter()
                    .rev()
                    .map(|items| block(queries, items, 20, &Monitor::silent()).unwrap())
                    .reduce(|a, b| a.merge(b).unwrap())
                    .unwrap()
                    .finish()
                    .unwrap();
                indices.extend(merged.indices);
                similarities.extend(merged.similarities.iter().map(|s| s.to_bits()));
            }
            assert_eq!(indices, whole.indices.iter().copied().collect::<Vec<_>>());
            let bits: Vec<u32> = whole.similarities.iter().map(|s| s.to_bits()).collect();
            assert_eq!(similarities, bits);
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let x = with_ties(900, 7, 5);
        let (one, two) = crate::reference::in_one_and_two_threads(|| search(&x, 25));
        assert_eq!(one, two);
    }

    #[test]
    fn bad_input_is_refused_with_its_place() {
        let message = |x: Array2<f32>, k, metric| {
            exact(x.view(), k, metric, &Monitor::silent())
                .unwrap_err()
                .to_string()
        };
        let x = array![[1.0, 0.0], [0.0, 1.0]];
        assert_eq!(
            message(x.clone(), 2, Metric::Cosine),
            "k = 2: must be below the number of items, n = 2"
        );
        assert!(message(x.clone(), 0, Metric::Cosine).contains("at least 1"));
        assert!(message(Array2::zeros((0, 2)), 1, Metric::Cosine).contains("n = 0"));
        assert!(
            message(array![[1.0, f32::NAN], [0.0, 1.0]], 1, Metric::Cosine)
                .contains("row 0, column 1")
        );
        assert!(message(x.mapv(|v| v * 1e20), 1, Metric::InnerProduct).contains("overflow"));
        // The cosine does not care for the length.
        assert_eq!(search(&x.mapv(|v| v * 1e38), 1), search(&x, 1));
    }

    #[test]
    fn cancelling_stops_the_search() {
        let monitor = Monitor::silent();
        monitor.cancel();
        let e = exact(random(50, 3, 0).view(), 5, Metric::Cosine, &monitor).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Cancelled);
    }
}
