//! Negative edges: neighbours in the graph that seem to belong to different classes.
//!
//! For every edge `{i, j}` the classes of `i` are estimated from its other neighbours, as
//! if the edge were cut, and those of `j` likewise. If both are sure and disagree, the edge
//! is a hard negative.
//!
//! With `Z_ij = softmax(a_ij)` the weight is `omega(Z_ij) omega(Z_ji) (1 - Z_ij . Z_ji)`,
//! symmetric and within [0, 1]. It is defined on edges only.
//!
//! Cost: O(edges x C) time, of it 2 C exponentials an edge; memory O(entries + n C).
//!
//! Source: Zhuang and Moulin 2023, eq. (18)-(22).

use ndarray::{Array2, ArrayView1};
use rayon::prelude::*;

use super::confidence::omega;
use super::known::Known;
use crate::{Convergence, Error, Graph, Monitor, Result};

/// A denominator below this share of the degree is what rounding leaves of 0.
const ROUNDING: f64 = 1e-12;

/// Weights of the negative edges of a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct NegativeEdges {
    weights: Vec<f64>,
}

/// How the estimate of a node without one neighbour is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Estimate {
    /// `a_ij = lambda (D_i F_i - w_ij F_j)`, the sum over the others (eq. 20).
    Sum,
    /// `a_ij = lambda (D_i F_i - w_ij F_j) / (D_i - w_ij)`, the average of the others
    /// (eq. 19); and the weight of the negative edge is multiplied by `w_ij`.
    Average,
}

impl NegativeEdges {
    /// Negative edges that are known from elsewhere: triples `(i, j, weight)`, either order.
    /// All other edges weigh 0; where a pair stands twice, the last one counts.
    ///
    /// Fails on a pair that is no edge of the graph and on a weight that is not within
    /// [0, 1]. Costs O(entries + pairs x log degree).
    ///
    /// ```
    /// use likewise::{Graph, propagate::NegativeEdges};
    /// let graph = Graph::new(vec![0, 1, 3, 4], vec![1, 0, 2, 1], vec![1.0; 4])?;
    /// let negatives = NegativeEdges::from_pairs(&graph, [(2, 1, 1.0)])?;
    /// assert_eq!(negatives.weights(), [0.0, 0.0, 1.0, 1.0]);
    /// assert!(NegativeEdges::from_pairs(&graph, [(0, 2, 1.0)]).is_err());
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn from_pairs(
        graph: &Graph,
        pairs: impl IntoIterator<Item = (u32, u32, f64)>,
    ) -> Result<Self> {
        let mut weights = vec![0.0; graph.nnz()];
        for (i, j, weight) in pairs {
            if !(0.0..=1.0).contains(&weight) {
                return Err(Error::data(format!(
                    "negative edge ({i}, {j}) has weight {weight}; weights must lie in [0, 1]"
                )));
            }
            let n = graph.n();
            let inside = (i as usize) < n && (j as usize) < n;
            let entry = |i, j| (inside.then(|| graph.entry(i as usize, j as usize))).flatten();
            let (Some(there), Some(back)) = (entry(i, j), entry(j, i)) else {
                return Err(Error::data(format!(
                    "negative edge ({i}, {j}) is no edge of the graph of {n} nodes; \
                     only neighbours can be negative"
                )));
            };
            weights[there] = weight;
            weights[back] = weight;
        }
        Ok(Self { weights })
    }

    /// The weight `weigh(i, j, w_ij)` for each entry, which must be symmetric to the bit.
    pub(super) fn weigh(graph: &Graph, weigh: impl Fn(usize, usize, f64) -> f64 + Sync) -> Self {
        let row = |i: usize| {
            let (columns, weights) = graph.row(i);
            (columns.iter().zip(weights)).map(move |(&j, &w)| (i, j as usize, f64::from(w)))
        };
        let rows = (0..graph.n()).into_par_iter().flat_map_iter(row);
        Self {
            weights: rows.map(|(i, j, w)| weigh(i, j, w)).collect(),
        }
    }

    /// Fails unless these are the negative edges of `graph`, as far as their number tells.
    pub(super) fn check(&self, graph: &Graph) -> Result<()> {
        if self.weights.len() == graph.nnz() {
            return Ok(());
        }
        Err(Error::data(format!(
            "negative edges: {} weights, but the graph has {} entries; make them for this graph",
            self.weights.len(),
            graph.nnz()
        )))
    }

    /// Sum of the weights of every node.
    pub(super) fn degrees(&self, graph: &Graph) -> Vec<f64> {
        (graph.indptr().windows(2))
            .map(|row| self.weights[row[0]..row[1]].iter().sum())
            .collect()
    }

    /// One weight for each entry of the graph, 0 on edges that are not negative.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Edges `(i, j, weight)` with `i < j` and a weight above 0, in that order.
    pub fn edges<'a>(&'a self, graph: &'a Graph) -> impl Iterator<Item = (u32, u32, f64)> + 'a {
        (0..graph.n()).flat_map(move |i| {
            let entries = graph.indptr()[i]..graph.indptr()[i + 1];
            (graph.indices()[entries.clone()].iter())
                .zip(&self.weights[entries])
                .filter(move |&(&j, &weight)| j as usize > i && weight > 0.0)
                .map(move |(&j, &weight)| (i as u32, j, weight))
        })
    }

    /// Notes in the report how many and how heavy these are.
    pub(super) fn report(
        &self,
        known: &Known,
        mut convergence: Convergence,
        monitor: &Monitor,
    ) -> Convergence {
        let (mean, share) = self.summary();
        convergence.mean_negative_weight = Some(mean);
        convergence.negative_share = Some(share);
        if share == 0.0 && known.n_classes() > 1 {
            monitor.note(format!(
                "no negative edge weighs more than 0.01 (mean {mean:.1e}): the result is close \
                 to that of plain propagation"
            ));
        }
        convergence
    }

    /// Mean weight over all edges of the graph, and the share of edges above 0.01.
    fn summary(&self) -> (f64, f64) {
        let n = self.weights.len().max(1) as f64;
        let above = self.weights.iter().filter(|&&s| s > 0.01).count();
        (self.weights.iter().sum::<f64>() / n, above as f64 / n)
    }

    /// The weights for scores `f` (`n x C`).
    pub(super) fn find(
        graph: &Graph,
        f: &Array2<f64>,
        lambda: f64,
        estimate: Estimate,
        reached: impl Fn(usize) -> bool + Sync,
    ) -> Self {
        let degrees = graph.degrees();
        let classes = f.ncols();
        // Each edge once, in the row of its smaller node ...
        let rows: Vec<Vec<f64>> = (0..graph.n())
            .into_par_iter()
            .map_init(
                || (vec![0.0; classes], vec![0.0; classes]),
                |(here, there), i| {
                    let (columns, weights) = graph.row(i);
                    (columns.iter().zip(weights))
                        .map(|(&j, &w)| {
                            let (j, w) = (j as usize, f64::from(w));
                            if j < i || !reached(i) {
                                return 0.0;
                            }
                            let ij = other_neighbors(f.row(i), f.row(j), degrees[i], w, estimate);
                            let ji = other_neighbors(f.row(j), f.row(i), degrees[j], w, estimate);
                            let (Some(ij), Some(ji)) = (ij, ji) else {
                                return 0.0;
                            };
                            let sure = softmax(ij.map(|a| lambda * a), here)
                                * softmax(ji.map(|a| lambda * a), there);
                            let same: f64 = here.iter().zip(&*there).map(|(p, q)| p * q).sum();
                            let dissimilar = sure * (1.0 - same).max(0.0);
                            match estimate {
                                Estimate::Sum => dissimilar,
                                Estimate::Average => dissimilar * w,
                            }
                        })
                        .collect()
                },
            )
            .collect();
        let mut weights: Vec<f64> = rows.into_iter().flatten().collect();
        // ... and then in the row of the larger one.
        for i in 0..graph.n() {
            for entry in graph.indptr()[i]..graph.indptr()[i + 1] {
                let j = graph.indices()[entry] as usize;
                if j < i
                    && let Some(mirror) = graph.entry(j, i)
                {
                    weights[entry] = weights[mirror];
                }
            }
        }
        Self { weights }
    }
}

/// What the neighbours of `i` other than `j` say, per class. `None` where there is no
/// other neighbour and the average is asked for.
fn other_neighbors<'a>(
    fi: ArrayView1<'a, f64>,
    fj: ArrayView1<'a, f64>,
    degree: f64,
    w: f64,
    estimate: Estimate,
) -> Option<impl Iterator<Item = f64> + Clone + 'a> {
    let scale = match estimate {
        Estimate::Sum => 1.0,
        Estimate::Average if degree - w > ROUNDING * degree => 1.0 / (degree - w),
        Estimate::Average => return None,
    };
    Some((fi.into_iter().zip(fj)).map(move |(a, b)| (degree * a - w * b) * scale))
}

/// Writes the softmax of `a` to `p` and gives its confidence.
fn softmax(a: impl Iterator<Item = f64> + Clone, p: &mut [f64]) -> f64 {
    let max = a.clone().fold(f64::NEG_INFINITY, f64::max);
    let (mut sum, mut weighted) = (0.0, 0.0);
    for (p, a) in p.iter_mut().zip(a) {
        let e = (a - max).exp();
        *p = e;
        sum += e;
        weighted += (a - max) * e;
    }
    for p in &mut *p {
        *p /= sum;
    }
    omega(sum.ln() - weighted / sum, p.len())
}
