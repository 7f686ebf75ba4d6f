//! Exact nearest neighbours: every item is compared with every other.
//!
//! **Use it** up to some 100,000 items, and as the yardstick of approximate search.
//! **Not** for millions of items on one machine: the time grows with n²; see
//! [`Ivf`](super::Ivf).
//!
//! Similarities are computed 12 x 32 at a time in registers and compared with the worst of
//! each item's best so far; only better ones are kept ([`crate::distance`]). Each pair is
//! compared once and serves both items.
//!
//! [`Precision::I16`]: the candidates are found in sixteen bits, and their similarities
//! computed again in `f32`. How far the sixteen bits may be off is known for each item, and
//! all candidates within that reach are computed again: the lists are those of
//! [`Precision::F32`] to the last bit, whatever the data. An item with too many such
//! candidates (more than 64 copies or near-copies, say) is searched in `f32`; where half of
//! the items are like that, all are. [`Precision::Auto`] takes this path where it is faster.
//! By Euclidean distance the first pass in `f32` has its bound likewise.
//!
//! Cost: n² d operations for the products; memory O(n k + n d). The n x n matrix never
//! exists.
//!
//! The similarity of two items has the same bits wherever the items stand and for any
//! number of threads, identical items have identical similarities, and ties are decided
//! by the smaller index. Machines without fused multiply-add round differently.
//!
//! Source: nearest neighbours of eq. (15) in Zhuang and Moulin, CVPR 2023. The cosine is
//! the inner product of unit rows; in unit rows the order is that of the Euclidean
//! distance.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::Neighbors;
use super::candidate::{Candidate, Lists, Partial};
use super::panel::{self, Keep};
use super::rows::{Rows, SPARE, block_with};
use super::sixteen;
use crate::distance::Metric;
use crate::distance::tile::Kernel;
use crate::{Error, Monitor, Result};

/// How many bits the first pass of an exact search has. The result does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Sixteen bits where the machine is faster with them and the items are many.
    #[default]
    Auto,
    /// `f32`.
    F32,
    /// Sixteen bits, then `f32` for the candidates.
    #[serde(alias = "i8")]
    I16,
}

/// How an exact search went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExactSearch {
    /// Instructions used: `avx512`, `avx2` or `portable`.
    pub kernel: String,
    /// Bits of the first pass: `f32` or `i16`.
    pub precision: Precision,
    /// Share of the true neighbours that were found: 1 by construction, and here to stand
    /// beside that of an approximate search.
    pub recall: f64,
    /// Candidates an item that were computed again in `f32`, on average and rounded up; 0 if
    /// none was.
    pub candidates: usize,
    /// Items that had too many candidates in sixteen bits and were searched in `f32`.
    pub crowded: usize,
}

/// Exact search of all items among themselves.
///
/// ```
/// use likewise::neighbor::{Exact, Metric};
/// let x = ndarray::array![[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]];
/// let (neighbors, searched) = Exact::new()
///     .metric(Metric::Euclidean)
///     .search(x.view(), 1, &likewise::Monitor::silent())?;
/// assert_eq!(neighbors.indices, ndarray::array![[1], [0], [1]]);
/// assert_eq!(searched.crowded, 0);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Exact {
    metric: Metric,
    precision: Precision,
}

impl Exact {
    /// By cosine, in the fastest precision.
    pub fn new() -> Self {
        Self::default()
    }

    /// How two items are compared.
    #[must_use]
    pub fn metric(mut self, metric: Metric) -> Self {
        self.metric = metric;
        self
    }

    /// Bits of the first pass.
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// The `k` nearest neighbours of every row of `x` (`n x d`) among the other rows.
    ///
    /// Fails on NaN and infinite values (naming row and column), if `k` is 0 or not below
    /// `n`, and when cancelled.
    pub fn search(
        &self,
        x: ArrayView2<f32>,
        k: usize,
        monitor: &Monitor,
    ) -> Result<(Neighbors, ExactSearch)> {
        self.search_with(Kernel::detect(), x, k, monitor)
    }

    pub(super) fn search_with(
        &self,
        kernel: Kernel,
        x: ArrayView2<f32>,
        k: usize,
        monitor: &Monitor,
    ) -> Result<(Neighbors, ExactSearch)> {
        check_k(k, x.nrows())?;
        let rows = Rows::new(x, 0, self.metric)?;
        monitor.start("exact nearest neighbours", rows.n() as u64);
        let sixteen = match self.precision {
            Precision::F32 => false,
            Precision::I16 => true,
            Precision::Auto => kernel.prefers_i16() && sixteen::pays(&rows),
        };
        let mut searched = ExactSearch {
            kernel: kernel.name().into(),
            precision: Precision::F32,
            recall: 1.0,
            candidates: 0,
            crowded: 0,
        };
        let mut lists = if sixteen {
            let found = sixteen::search(kernel, &rows, k, monitor)?;
            searched.precision = Precision::I16;
            searched.candidates = found.candidates.div_ceil(rows.n() as u64) as usize;
            searched.crowded = found.lists.iter().filter(|list| list.is_none()).count();
            found.lists
        } else {
            in_f32(kernel, &rows, k, monitor)?
        };
        // Beyond half, it costs less to compare each pair once.
        if 2 * searched.crowded > rows.n() {
            lists = in_f32(kernel, &rows, k, monitor)?;
        }
        let lists = complete(kernel, &rows, k, lists, monitor)?;
        monitor.end();
        let partial = Partial {
            queries: rows.ids,
            k,
            lists,
        };
        Ok((partial.finish()?, searched))
    }
}

pub(super) fn check_k(k: usize, n: usize) -> Result<()> {
    if k == 0 {
        return Err(Error::parameter("k", k, "must be at least 1"));
    }
    if k >= n {
        let rule = format!("must be below the number of items, n = {n}");
        return Err(Error::parameter("k", k, &rule));
    }
    Ok(())
}

/// Lists by position; `None` where there were too many candidates.
fn in_f32(
    kernel: Kernel,
    rows: &Rows,
    k: usize,
    monitor: &Monitor,
) -> Result<Vec<Option<Vec<Candidate>>>> {
    let center = rows.center();
    let (queries, items, side) = (
        rows.queries(&center),
        rows.items(&center),
        rows.side(&center),
    );
    let window;
    let keep = if rows.first_pass_is_final(rows, &center) {
        Keep::Best(k)
    } else {
        window = rows.windows(rows, &center);
        Keep::Within {
            k,
            spare: SPARE,
            window: &window,
        }
    };
    let finish = |first: usize, mut lists: Lists| -> Vec<Option<Vec<Candidate>>> {
        (first..(first + lists.threshold.len()).min(rows.n()))
            .map(|i| rows.finished(kernel, rows.row(i), &mut lists, i - first, keep))
            .collect()
    };
    let lists = panel::self_join(kernel, &(&queries, &items), &side, keep, monitor, finish)?;
    Ok(lists.into_iter().flatten().collect())
}

/// Searches again in `f32` for the items that have no list.
fn complete(
    kernel: Kernel,
    rows: &Rows,
    k: usize,
    lists: Vec<Option<Vec<Candidate>>>,
    monitor: &Monitor,
) -> Result<Vec<Vec<Candidate>>> {
    let missing: Vec<usize> = (0..lists.len()).filter(|&i| lists[i].is_none()).collect();
    let again = if missing.is_empty() {
        Vec::new()
    } else {
        block_with(kernel, &rows.select(&missing), rows, k, monitor)?.lists
    };
    let mut again = again.into_iter();
    Ok((lists.into_iter())
        .map(|list| list.or_else(|| again.next()).unwrap_or_default())
        .collect())
}

/// The `k` nearest neighbours of every row of `x` (`n x d`) among the other rows: [`Exact`]
/// in its fastest precision.
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
    let (neighbors, _) = Exact::new().metric(metric).search(x, k, monitor)?;
    Ok(neighbors)
}

#[cfg(test)]
mod tests {
    use super::super::block;
    use super::*;
    use crate::ErrorKind;
    use crate::seed;
    use ndarray::{Array2, Axis, array, s};
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
                let similarity = |j: usize| match metric {
                    Metric::Euclidean => -(&x.row(i) - &x.row(j)).mapv(|v| v * v).sum(),
                    _ => x.row(i).dot(&x.row(j)),
                };
                let mut all: Vec<f64> =
                    (0..x.nrows()).filter(|&j| j != i).map(similarity).collect();
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
            n in 2_usize..400, d in 1_usize..40, k in 1_usize..60, seed in 0_u64..1000,
            metric in prop::sample::select(vec![Metric::Cosine, Metric::InnerProduct, Metric::Euclidean]),
            precision in prop::sample::select(vec![Precision::F32, Precision::I16]),
        ) {
            let k = k.min(n - 1);
            // An offset must not cost the Euclidean distance its digits.
            let x = random(n, d, seed) + if metric == Metric::Euclidean { 50.0 } else { 0.0 };
            let search = Exact::new().metric(metric).precision(precision);
            let (found, _) = search.search(x.view(), k, &Monitor::silent()).unwrap();
            found.check().unwrap();
            for (i, expected) in naive(&x, k, metric).iter().enumerate() {
                for (p, &e) in expected.iter().enumerate() {
                    prop_assert!((f64::from(found.similarities[[i, p]]) - e).abs() <= 1e-4);
                }
            }
        }
    }

    /// All pairs by the definition in `f32`, sorted, ties by index.
    fn by_definition(x: &Array2<f32>, k: usize, metric: Metric) -> Vec<Vec<u32>> {
        let rows = Rows::new(x.view(), 0, metric).unwrap();
        let n = rows.n() as u32;
        (0..n)
            .map(|i| {
                let others: Vec<Candidate> = (0..n)
                    .filter(|&j| j != i)
                    .map(|j| Candidate::new(j, 0.0))
                    .collect();
                let best = rows.rescore(Kernel::detect(), rows.row(i as usize), &others, k);
                best.iter().map(|c| c.index()).collect()
            })
            .collect()
    }

    /// Every kernel and both precisions find what the definition says, to the last bit.
    fn check_all_ways(x: &Array2<f32>, k: usize, metric: Metric) {
        let search = |kernel, precision| {
            Exact::new()
                .metric(metric)
                .precision(precision)
                .search_with(kernel, x.view(), k, &Monitor::silent())
                .unwrap()
        };
        let (expected, _) = search(Kernel::detect(), Precision::F32);
        for (i, list) in by_definition(x, k, metric).iter().enumerate() {
            assert_eq!(
                &expected.indices.row(i).to_vec(),
                list,
                "{metric:?}: item {i}"
            );
        }
        for kernel in Kernel::all() {
            let (in_f32, _) = search(kernel, Precision::F32);
            let (in_i16, searched) = search(kernel, Precision::I16);
            assert_eq!(searched.precision, Precision::I16);
            assert_eq!(in_i16, in_f32, "{metric:?}, {}", kernel.name());
            if kernel != Kernel::Portable {
                assert_eq!(in_f32, expected);
            }
        }
    }

    #[test]
    fn sixteen_bits_find_what_f32_finds_to_the_last_bit() {
        for metric in [Metric::Cosine, Metric::InnerProduct, Metric::Euclidean] {
            for (n, d) in [(700, 40), (350, 1000), (500, 24), (400, 1)] {
                let centers = random(30, d, 1);
                let x = random(n, d, 2)
                    + centers.select(Axis(0), &(0..n).map(|i| i % 30).collect::<Vec<_>>());
                check_all_ways(&x, 20, metric);
                check_all_ways(&with_ties(n, d, 3), 20, metric);
            }
        }
    }

    #[test]
    fn a_rare_cluster_of_near_copies_is_found_wherever_it_stands() {
        for (offset, size, noise) in [
            (0, 60, 3e-3),
            (777, 60, 3e-4),
            (95, 60, 1e-5),
            (940, 60, 1e-7),
            (300, 150, 1e-4),
        ] {
            let (mut x, base) = (random(1000, 32, 3), random(1, 32, 4));
            let shift = random(size, 32, 5) * noise;
            for p in 0..size {
                x.row_mut(offset + p)
                    .assign(&(&base.row(0) + &shift.row(p)));
            }
            for metric in [Metric::Cosine, Metric::InnerProduct, Metric::Euclidean] {
                check_all_ways(&x, 5, metric);
            }
        }
    }

    #[test]
    fn all_items_close_together_or_alike_or_of_any_size() {
        let far = random(1, 32, 3);
        let at = |spread: f32| {
            Array2::from_shape_fn((600, 32), |(_, c)| far[[0, c]]) + random(600, 32, 4) * spread
        };
        let copies =
            |n: usize| Array2::from_shape_fn((500, 32), |(i, c)| far[[0, (i % n + c) % 32]]);
        for metric in [Metric::Cosine, Metric::InnerProduct, Metric::Euclidean] {
            for spread in [1e-4, 1e-6] {
                check_all_ways(&at(spread), 5, metric);
            }
            check_all_ways(&copies(1), 3, metric);
            check_all_ways(&copies(3), 3, metric);
            check_all_ways(&Array2::zeros((120, 3)), 4, metric);
            check_all_ways(&Array2::zeros((120, 0)), 4, metric);
            for size in [1e18, 1e-18, 1e-30, 1e-41] {
                check_all_ways(&(random(300, 32, 6) * size), 7, metric);
            }
            // One row a million times as long as the others, and some that are almost zero.
            let mut x = random(400, 32, 7);
            x.row_mut(31).mapv_inplace(|v| v * 1e6);
            x.row_mut(32).mapv_inplace(|v| v * 1e-30);
            x.row_mut(33).fill(0.0);
            check_all_ways(&x, 7, metric);
        }
    }

    #[test]
    fn items_with_too_many_candidates_are_counted_and_searched_in_f32() {
        let mut x = random(3000, 32, 8);
        let copy = x.row(0).to_owned();
        for i in 0..200 {
            x.row_mut(10 * i).assign(&copy);
        }
        let search = Exact::new().precision(Precision::I16);
        let (found, searched) = search.search(x.view(), 5, &Monitor::silent()).unwrap();
        // The copies, and the few items that have them among their nearest.
        assert!((200..240).contains(&searched.crowded), "{searched:?}");
        assert!((5..=8).contains(&searched.candidates), "{searched:?}");
        assert_eq!(found.indices.row(1990).to_vec(), [0, 10, 20, 30, 40]);
    }

    #[test]
    fn sixteen_bits_are_still_read_by_their_older_name() {
        let read = |text| serde_json::from_str::<Precision>(text).unwrap();
        assert_eq!(
            (read("\"i8\""), read("\"i16\"")),
            (Precision::I16, Precision::I16)
        );
    }

    #[test]
    fn every_kernel_finds_the_same() {
        // Small integers: no product rounds, and there are many ties.
        let x = random(700, 9, 5).mapv(|v| (v * 8.0).round());
        for metric in [Metric::InnerProduct, Metric::Euclidean] {
            let search = |kernel| {
                let search = Exact::new().metric(metric);
                search
                    .search_with(kernel, x.view(), 30, &Monitor::silent())
                    .unwrap()
                    .0
            };
            let expected = search(Kernel::Portable);
            for kernel in Kernel::all() {
                assert_eq!(search(kernel), expected, "{}", kernel.name());
            }
        }
    }

    #[test]
    fn rows_may_have_any_ascending_indices() {
        let x = random(50, 4, 6);
        let ids: Vec<u32> = (0..50).map(|i| 3 * i + 7).collect();
        let rows = Rows::with_ids(x.view(), ids.clone(), Metric::Cosine).unwrap();
        let found = block(&rows, &rows, 4, &Monitor::silent())
            .unwrap()
            .finish()
            .unwrap();
        assert_eq!(found.indices, search(&x, 4).indices.mapv(|i| 3 * i + 7));
        assert!(Rows::with_ids(x.view(), ids[1..].to_vec(), Metric::Cosine).is_err());
        assert!(Rows::with_ids(x.view(), vec![0; 50], Metric::Cosine).is_err());
    }

    #[test]
    fn ties_go_to_the_smaller_index_across_tile_borders() {
        // Twenty distinct rows repeated over several tiles of both kinds: each item's
        // neighbours are the smallest indices of its own kind, all at the same bits.
        for d in [3, 16, 61, 128] {
            let kinds = random(20, d, 1);
            let n = 2311;
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
        let x = with_ties(1324, 5, 4);
        let whole = search(&x, 20);
        let n = x.nrows();
        for cuts in [vec![0, 1, 130, n], vec![0, 1024, n], vec![0, 777, 778, n]] {
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
