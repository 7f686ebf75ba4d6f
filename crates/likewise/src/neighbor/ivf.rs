//! Approximate nearest neighbours of all items: cells of similar items (an inverted file),
//! searched with the tile kernels.
//!
//! 1. The rows are rounded to eight bits after a random rotation.
//! 2. k-means on a sample divides the items into about `2 sqrt(n)` cells (fewer where they
//!    would hold less than `4 k` items).
//! 3. For a sample of items the true neighbours are computed. They tell how many of the
//!    nearest cells an item must look into, and how many candidates must be computed again
//!    in `f32`, to reach the asked recall.
//! 4. Every item is compared with the items of that many cells. Items of one cell look into
//!    much the same cells, so they are compared together, 12 x 32 at a time.
//! 5. A second sample measures the recall that is reported. If it is missed, step 4 is done
//!    again with more cells.
//!
//! **Use it** from some 200,000 items on. **Not** below: [`Exact`](super::Exact) takes as
//! long and misses nothing. And not for the inner product of rows of different length,
//! whose neighbours are not near each other.
//!
//! Cost: O(n sqrt(n) d) operations in eight bits; memory O(n (d + k)) bytes. The features
//! are read where they lie and are not copied, so they may be a mapped file.
//!
//! Similarities are those of the items that were found, in `f32`. The result depends on the
//! seed, not on the number of threads.
//!
//! Source: Sivic and Zisserman 2003 and Jégou et al. 2011 for the inverted file; the choice
//! of the number of cells by a sample is ours.

mod centers;
mod features;
mod quantize;
mod search;

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use self::features::Features;
use self::search::{Asked, Search, same};
use super::candidate::Candidate;
use super::exact::check_k;
use super::{Neighbors, sample};
use crate::distance::Metric;
use crate::distance::tile::Kernel;
use crate::matrix::{check_finite, l2_normalize};
use crate::{Error, Monitor, Result};

/// Parameters of the approximate search.
///
/// ```
/// use likewise::neighbor::Ivf;
/// use likewise::{Monitor, seed};
/// use rand::RngExt;
/// let mut rng = seed::stream(1, "example");
/// let x = ndarray::Array2::from_shape_fn((3000, 8), |_| rng.random::<f32>() - 0.5);
/// let (neighbors, searched) = Ivf::new().recall(0.95).search(x.view(), 10, &Monitor::silent())?;
/// assert_eq!(neighbors.indices.dim(), (3000, 10));
/// assert!(searched.recall >= 0.95);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ivf {
    metric: Metric,
    recall: f64,
    cells: Option<usize>,
    seed: u64,
}

impl Default for Ivf {
    fn default() -> Self {
        Self {
            metric: Metric::Cosine,
            recall: 0.95,
            cells: None,
            seed: 0,
        }
    }
}

/// How an approximate search went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApproximateSearch {
    /// Instructions used: `avx512`, `avx2` or `portable`.
    pub kernel: String,
    /// Cells of the items.
    pub cells: usize,
    /// Cells that each item looked into.
    pub probes: usize,
    /// Candidates an item that were computed again in `f32`.
    pub candidates: usize,
    /// Share of the true neighbours that were found, measured on a sample that had no part
    /// in any choice.
    pub recall: f64,
    /// Items of that sample.
    pub sampled: usize,
}

impl Ivf {
    /// By cosine, recall .95.
    pub fn new() -> Self {
        Self::default()
    }

    /// How two items are compared: by cosine or Euclidean distance.
    #[must_use]
    pub fn metric(mut self, metric: Metric) -> Self {
        self.metric = metric;
        self
    }

    /// Least share of the true neighbours to find, above 0 and below 1.
    #[must_use]
    pub fn recall(mut self, recall: f64) -> Self {
        self.recall = recall;
        self
    }

    /// Number of cells instead of `2 sqrt(n)`.
    #[must_use]
    pub fn cells(mut self, cells: usize) -> Self {
        self.cells = Some(cells);
        self
    }

    /// Seed of the samples and of k-means.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// About the `k` nearest neighbours of every row of `x` (`n x d`) among the other rows.
    ///
    /// Fails on NaN and infinite values, if `k` is 0 or not below `n`, on parameters out
    /// of range, where the recall cannot be reached, and when cancelled.
    pub fn search(
        &self,
        x: ArrayView2<f32>,
        k: usize,
        monitor: &Monitor,
    ) -> Result<(Neighbors, ApproximateSearch)> {
        self.search_with(Kernel::detect(), x, k, monitor)
    }

    fn search_with(
        &self,
        kernel: Kernel,
        x: ArrayView2<f32>,
        k: usize,
        monitor: &Monitor,
    ) -> Result<(Neighbors, ApproximateSearch)> {
        self.check(x.nrows())?;
        if x.ncols() > quantize::WIDEST {
            return Err(Error::data(format!(
                "features: {} columns; the approximate search takes {} at most: search exactly",
                x.ncols(),
                quantize::WIDEST
            )));
        }
        check_k(k, x.nrows())?;
        check_finite(x, "features")?;
        // Without columns all similarities are 0, as with one column of zeros.
        let zeros = Array2::zeros((x.nrows(), 1));
        let x = if x.ncols() == 0 { zeros.view() } else { x };
        let copy;
        let mut features = Features::new(x, self.metric);
        if features.too_long_or_short() || features.rows.is_none() {
            copy = match self.metric {
                Metric::Cosine => l2_normalize(x.as_standard_layout().into_owned()),
                _ => x.as_standard_layout().into_owned(),
            };
            features = Features::new(copy.view(), self.metric);
        }
        let drawn = sample::draw(x.nrows(), self.seed);
        monitor.start("true neighbours of a sample", x.nrows() as u64);
        let truth = features.truth(kernel, &drawn, k, monitor)?;
        monitor.end();
        let (choose, measure) = sample::split(drawn);
        let (truth, held_out) = sample::split(truth);

        let asked = Asked {
            recall: self.recall,
            cells: self.cells,
            seed: self.seed,
        };
        let mut search = Search::new(&asked, kernel, &features, k, (&choose, &truth), monitor)?;
        search.choose_candidates(k, &choose, &truth);
        loop {
            let found = search.all(k, monitor)?;
            let recall = share_found(&found, &measure, &held_out);
            if recall >= self.recall || search.probes == search.most {
                let probed = ApproximateSearch {
                    kernel: kernel.name().into(),
                    cells: search.cells.len(),
                    probes: search.probes,
                    candidates: search.keep,
                    recall,
                    sampled: measure.len(),
                };
                if recall < self.recall {
                    monitor.warn(format!(
                        "the approximate search found {recall:.4} of the neighbours of a sample, \
                         not {}; the items are too close for eight bits: search exactly",
                        self.recall
                    ));
                }
                return Ok((found, probed));
            }
            monitor.note(format!(
                "recall {recall:.4} on a sample; searching with more cells"
            ));
            search.probes = (search.probes * 3).div_ceil(2).min(search.most);
            search.keep = (search.keep + k / 4 + 1).min(x.nrows() - 1);
        }
    }

    fn check(&self, n: usize) -> Result<()> {
        if self.metric == Metric::InnerProduct {
            let rule = "approximate search is by cosine or Euclidean distance";
            return Err(Error::parameter("metric", "inner-product", rule));
        }
        if !(self.recall > 0.0 && self.recall < 1.0) {
            return Err(Error::parameter(
                "recall",
                self.recall,
                "must be above 0 and below 1",
            ));
        }
        match self.cells {
            Some(cells) if cells == 0 || cells > n => {
                let rule = format!("must be from 1 to the number of items, {n}");
                Err(Error::parameter("cells", cells, &rule))
            }
            _ => Ok(()),
        }
    }
}

/// Share of the true neighbours of some items that were found.
fn share_found(neighbors: &Neighbors, of: &[usize], truth: &[Vec<Candidate>]) -> f64 {
    let found: usize = (of.iter().zip(truth))
        .map(|(&i, truth)| {
            let list = neighbors
                .indices
                .row(i)
                .into_iter()
                .zip(neighbors.similarities.row(i));
            list.filter(|&(&j, &s)| same(Candidate::new(j, s), truth))
                .count()
        })
        .sum();
    found as f64 / (neighbors.k * of.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbor::Exact;
    use crate::reference::in_one_and_two_threads;
    use crate::seed;
    use ndarray::{Axis, array};
    use rand::RngExt;

    /// Points about the surface of a few dimensions, in many.
    fn surface(n: usize, d: usize, seed: u64) -> Array2<f32> {
        let mut rng = seed::stream(seed, "test features");
        let mut uniform = |shape| Array2::from_shape_fn(shape, |_| rng.random::<f32>() - 0.5);
        let (inner, turn, noise) = (uniform((n, 6)), uniform((6, d)), uniform((n, d)));
        inner.dot(&turn).mapv(|v| (3.0 * v).sin()) + noise * 0.1
    }

    fn run(ivf: &Ivf, x: &Array2<f32>, k: usize) -> (Neighbors, ApproximateSearch) {
        ivf.search(x.view(), k, &Monitor::silent()).unwrap()
    }

    fn recall(found: &Neighbors, exact: &Neighbors) -> f64 {
        let hits: usize = (found.indices.outer_iter().zip(exact.indices.outer_iter()))
            .map(|(f, e)| f.iter().filter(|i| e.iter().any(|j| j == *i)).count())
            .sum();
        hits as f64 / exact.indices.len() as f64
    }

    #[test]
    fn the_recall_that_is_asked_for_is_reached_and_truly_measured() {
        let x = surface(20_000, 24, 1);
        for metric in [Metric::Cosine, Metric::Euclidean] {
            let exact = Exact::new()
                .metric(metric)
                .search(x.view(), 15, &Monitor::silent())
                .unwrap()
                .0;
            let mut probes = 0;
            for wanted in [0.8, 0.95, 0.995] {
                let (found, probed) = run(&Ivf::new().metric(metric).recall(wanted), &x, 15);
                found.check().unwrap();
                assert!(probed.recall >= wanted, "{probed:?}");
                let all = recall(&found, &exact);
                assert!((all - probed.recall).abs() < 0.02, "{all} {probed:?}");
                assert!(probed.probes > probes && probed.probes < probed.cells);
                probes = probed.probes;
                for p in 0..15 {
                    // What is found has its true similarity.
                    let (j, s) = (found.indices[[7, p]] as usize, found.similarities[[7, p]]);
                    let true_one = metric.similarity(x.row(7), x.row(j));
                    assert!((f64::from(s) - true_one).abs() < 1e-5);
                }
            }
        }
    }

    #[test]
    fn items_in_small_cells_still_get_all_their_neighbours() {
        // A crowd, and one item far from it in a cell of its own.
        let mut x = surface(600, 8, 7);
        x.row_mut(0).mapv_inplace(|v| -40.0 * v);
        let (found, _) = run(&Ivf::new().cells(200).recall(0.5), &x, 30);
        found.check().unwrap();
        assert!(found.similarities.iter().all(|&s| s != 0.0));
    }

    #[test]
    fn looking_into_all_cells_is_exact() {
        let x = surface(1500, 16, 2);
        let exact = Exact::new()
            .search(x.view(), 9, &Monitor::silent())
            .unwrap()
            .0;
        let (found, probed) = run(&Ivf::new().cells(3).recall(0.999), &x, 9);
        assert_eq!(probed.cells, 3);
        assert!(recall(&found, &exact) > 0.999);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes_and_another_seed_others() {
        let x = surface(5000, 12, 3);
        let (one, two) = in_one_and_two_threads(|| run(&Ivf::new(), &x, 8));
        assert_eq!(one, two);
        assert_ne!(run(&Ivf::new().seed(1), &x, 8).0, one.0);
    }

    #[test]
    fn every_kernel_finds_the_same_candidates() {
        let x = surface(2000, 10, 4);
        let search = |kernel| {
            Ivf::new()
                .search_with(kernel, x.view(), 6, &Monitor::silent())
                .unwrap()
        };
        let expected = search(Kernel::Portable).0.indices;
        for kernel in Kernel::all() {
            assert!(recall_of(&search(kernel).0.indices, &expected) > 0.999);
        }
    }

    fn recall_of(a: &Array2<u32>, b: &Array2<u32>) -> f64 {
        let same = a.iter().zip(b).filter(|(a, b)| a == b).count();
        same as f64 / a.len() as f64
    }

    #[test]
    fn duplicates_zero_rows_and_rows_of_any_length() {
        // Every row four times, at very different lengths, and some rows of zeros.
        let base = surface(400, 8, 5);
        let mut x = base.select(Axis(0), &(0..1600).map(|i| i / 4).collect::<Vec<_>>());
        for (i, mut row) in x.rows_mut().into_iter().enumerate() {
            row *= [1.0, 1e20, 1e-18, 3.0][i % 4];
            if i >= 1590 {
                row.fill(0.0);
            }
        }
        let (found, _) = run(&Ivf::new().recall(0.9), &x, 3);
        for i in 0..1588 {
            let mut same: Vec<u32> = (0..4).map(|p| (i / 4 * 4 + p) as u32).collect();
            same.retain(|&j| j as usize != i);
            let mut list = found.indices.row(i).to_vec();
            list.sort_unstable();
            assert_eq!(list, same, "item {i}");
        }
        assert!(found.similarities.iter().all(|s| s.is_finite()));
        let same = Array2::from_elem((300, 4), 1.0);
        let (found, _) = run(&Ivf::new(), &same, 5);
        assert_eq!(found.indices.row(0).to_vec(), [1, 2, 3, 4, 5]);
        assert_eq!(found.indices.row(299).to_vec(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn rows_without_columns_and_very_wide_ones() {
        let (found, _) = run(&Ivf::new(), &Array2::zeros((60, 0)), 3);
        assert_eq!(found.indices.row(0).to_vec(), [1, 2, 3]);
        assert!(found.similarities.iter().all(|&s| s == 0.0));
        // All values of one sign, which adds up to the most.
        let x = surface(60, 100_000, 8).mapv(f32::abs);
        let exact = Exact::new().search(x.view(), 3, &Monitor::silent());
        let (found, _) = run(&Ivf::new().recall(0.9), &x, 3);
        assert!(recall(&found, &exact.unwrap().0) > 0.9);
    }

    #[test]
    fn bad_input_is_refused() {
        let x = surface(50, 4, 6);
        let message = |ivf: Ivf, x: ArrayView2<f32>, k| {
            ivf.search(x, k, &Monitor::silent())
                .unwrap_err()
                .to_string()
        };
        assert!(message(Ivf::new(), x.view(), 50).starts_with("k = 50"));
        assert!(message(Ivf::new(), x.view(), 0).starts_with("k = 0"));
        assert!(message(Ivf::new().recall(1.0), x.view(), 3).starts_with("recall = 1"));
        assert!(message(Ivf::new().cells(51), x.view(), 3).starts_with("cells = 51"));
        assert!(message(Ivf::new().metric(Metric::InnerProduct), x.view(), 3).contains("metric"));
        assert!(
            message(Ivf::new(), array![[f32::NAN], [1.0]].view(), 1).contains("row 0, column 0")
        );
        let monitor = Monitor::silent();
        monitor.cancel();
        let e = Ivf::new().search(x.view(), 3, &monitor).unwrap_err();
        assert_eq!(e.kind(), crate::ErrorKind::Cancelled);
    }
}
