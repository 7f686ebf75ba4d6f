//! The affinity graph of eq. (15): `A_ij = max(cos(i, j), 0)^gamma` where `i` is among
//! the `k` nearest neighbours of `j`, and `W = A + A^T`.
//!
//! A pair of mutual neighbours weighs `2 cos^gamma`, a one-sided pair `cos^gamma` (the sum
//! is not halved), so weights lie in [0, 2]. A negative cosine gives weight 0, and such
//! an edge is not stored. An item without similar neighbours becomes an isolated node.
//!
//! Cost: that of the neighbour search and O(nk log k) for the graph; memory O(nk).
//!
//! Source: Zhuang and Moulin, "Mixed label propagation", CVPR 2023, eq. (15), k = 50,
//! gamma = 3; the same graph in Iscen et al. 2019.

use ndarray::ArrayView2;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Metric, Neighbors, exact};
use crate::{Error, Graph, Monitor, Result};

/// Parameters of the affinity graph.
///
/// ```
/// use likewise::{Monitor, neighbor::KnnGraph};
/// let x = ndarray::array![[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]];
/// let graph = KnnGraph::new().k(1).gamma(3.0).build(x.view(), &Monitor::silent())?;
/// // 0 and 1 list each other: twice 0.8^3.  2 lists 1, but 1 does not list 2: once 0.6^3.
/// assert!((graph.weight(0, 1).unwrap() - 1.024).abs() < 1e-6);
/// assert!((graph.weight(1, 2).unwrap() - 0.216).abs() < 1e-6);
/// assert_eq!(graph.weight(0, 2), None);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KnnGraph {
    k: usize,
    gamma: f64,
}

impl Default for KnnGraph {
    fn default() -> Self {
        Self { k: 50, gamma: 3.0 }
    }
}

impl KnnGraph {
    /// The printed values: 50 neighbours, gamma 3.
    pub fn new() -> Self {
        Self::default()
    }

    /// Neighbours of an item; at least 1 and below the number of items.
    #[must_use]
    pub fn k(mut self, k: usize) -> Self {
        self.k = k;
        self
    }

    /// Neighbours of an item that this asks for.
    pub fn n_neighbors(&self) -> usize {
        self.k
    }

    /// Exponent of the cosine, above 0: the larger, the less a far neighbour weighs.
    #[must_use]
    pub fn gamma(mut self, gamma: f64) -> Self {
        self.gamma = gamma;
        self
    }

    /// The graph of the rows of `x` (`n x d`), which need not have unit length.
    ///
    /// Fails on NaN and infinite values, if `k` is not below `n`, on a `gamma` out of
    /// its range, and when cancelled. Costs O(n² d): see [`exact()`].
    pub fn build(&self, x: ArrayView2<f32>, monitor: &Monitor) -> Result<Graph> {
        self.check_gamma()?;
        let neighbors = exact(x, self.k, Metric::Cosine, monitor)?;
        self.symmetrise(&neighbors)
    }

    /// The graph of neighbours found by any search; their similarities must be cosines.
    /// The number of neighbours is that of the lists, not [`k`](Self::k).
    ///
    /// Fails on broken lists (see [`Neighbors::check`]) and on a `gamma` out of its range.
    pub fn from_neighbors(&self, neighbors: &Neighbors) -> Result<Graph> {
        self.check_gamma()?;
        neighbors.check()?;
        self.symmetrise(neighbors)
    }

    fn check_gamma(&self) -> Result<()> {
        if self.gamma.is_finite() && self.gamma > 0.0 {
            Ok(())
        } else {
            Err(Error::parameter(
                "gamma",
                self.gamma,
                "must be finite and above 0",
            ))
        }
    }

    fn symmetrise(&self, neighbors: &Neighbors) -> Result<Graph> {
        let n = neighbors.n();
        let affinities = neighbors
            .similarities
            .mapv(|s| f64::from(s.max(0.0)).powf(self.gamma) as f32);
        let arcs = || {
            neighbors
                .indices
                .indexed_iter()
                .map(|((j, p), &i)| (j, i as usize, affinities[[j, p]]))
                .filter(|&(_, _, a)| a > 0.0)
        };
        // Every arc j -> i goes into both rows; then equal columns are added up.
        let mut start = vec![0_usize; n + 1];
        for (j, i, _) in arcs() {
            start[j + 1] += 1;
            start[i + 1] += 1;
        }
        for i in 0..n {
            start[i + 1] += start[i];
        }
        let mut entries = vec![(0_u32, 0_f32); start[n]];
        let mut next = start.clone();
        for (j, i, a) in arcs() {
            entries[next[j]] = (i as u32, a);
            entries[next[i]] = (j as u32, a);
            next[j] += 1;
            next[i] += 1;
        }
        let mut rows: Vec<&mut [(u32, f32)]> = Vec::with_capacity(n);
        let mut rest = entries.as_mut_slice();
        for i in 0..n {
            let (row, tail) = rest.split_at_mut(start[i + 1] - start[i]);
            rows.push(row);
            rest = tail;
        }
        let merged: Vec<Vec<(u32, f32)>> = rows.into_par_iter().map(add_equal_columns).collect();

        let mut indptr = Vec::with_capacity(n + 1);
        indptr.push(0);
        let mut indices = Vec::with_capacity(start[n]);
        let mut weights = Vec::with_capacity(start[n]);
        for row in merged {
            indices.extend(row.iter().map(|&(column, _)| column));
            weights.extend(row.iter().map(|&(_, weight)| weight));
            indptr.push(indices.len());
        }
        Graph::new(indptr, indices, weights)
    }
}

/// Sorts by column and adds the two arcs of a mutual pair. The sum of two numbers does
/// not depend on their order, so both mirror entries have the same bits.
fn add_equal_columns(row: &mut [(u32, f32)]) -> Vec<(u32, f32)> {
    row.sort_unstable_by_key(|&(column, _)| column);
    row.chunk_by(|a, b| a.0 == b.0)
        .map(|same| (same[0].0, same.iter().map(|&(_, a)| a).sum()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed;
    use ndarray::{Array2, array};
    use proptest::prelude::*;
    use rand::RngExt;

    fn build(x: &Array2<f32>, k: usize) -> Graph {
        KnnGraph::new()
            .k(k)
            .build(x.view(), &Monitor::silent())
            .unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn equals_the_dense_formula(n in 2_usize..80, d in 1_usize..6, k in 1_usize..12, seed in 0_u64..1000) {
            let k = k.min(n - 1);
            let mut rng = seed::stream(seed, "test features");
            let x = Array2::from_shape_fn((n, d), |_| (rng.random::<f32>() * 6.0).round() - 3.0);
            let found = exact(x.view(), k, Metric::Cosine, &Monitor::silent()).unwrap();
            let mut dense = Array2::<f32>::zeros((n, n));
            for j in 0..n {
                for p in 0..k {
                    let a = f64::from(found.similarities[[j, p]].max(0.0)).powi(3) as f32;
                    let i = found.indices[[j, p]] as usize;
                    dense[[i, j]] += a;
                    dense[[j, i]] += a;
                }
            }
            let graph = build(&x, k);
            for i in 0..n {
                for j in 0..n {
                    let w = graph.weight(i, j).unwrap_or(0.0);
                    prop_assert!((w - dense[[i, j]]).abs() <= 1e-6 && w <= 2.0 + 1e-5);
                    prop_assert_eq!(w > 0.0, dense[[i, j]] > 0.0);
                }
            }
            prop_assert!(graph.nnz() <= 2 * n * k);
        }
    }

    #[test]
    fn zero_and_opposite_rows_are_isolated_and_duplicates_weigh_two() {
        let x = array![[1.0, 0.0], [1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]];
        let graph = build(&x, 2);
        assert_eq!(graph.weight(0, 1), Some(2.0));
        assert_eq!(graph.isolated(), [2, 3]);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let x = array![[1.0, 0.0], [0.0, 1.0]];
        let message = |p: KnnGraph| {
            p.build(x.view(), &Monitor::silent())
                .unwrap_err()
                .to_string()
        };
        assert!(message(KnnGraph::new().k(2)).contains("k = 2"));
        assert!(message(KnnGraph::new().k(1).gamma(f64::NAN)).contains("gamma = NaN"));
        assert!(message(KnnGraph::new().k(1).gamma(0.0)).contains("gamma = 0"));
    }

    #[test]
    fn broken_lists_are_refused() {
        let message = |indices: Array2<u32>| {
            let similarities = indices.mapv(|_| 0.5);
            let k = indices.ncols();
            KnnGraph::new()
                .from_neighbors(&Neighbors {
                    k,
                    indices,
                    similarities,
                })
                .unwrap_err()
                .to_string()
        };
        assert!(message(array![[0], [0]]).contains("neighbours of item 0"));
        assert!(message(array![[1], [9]]).contains("index 9"));
        assert!(message(array![[1, 1], [0, 0]]).contains("twice"));
    }
}
