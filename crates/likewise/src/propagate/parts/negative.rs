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

use std::ops::Range;

use ndarray::{Array2, ArrayView2};

use super::known::Known;
use crate::solve::vectorised;
use crate::{Convergence, Error, Graph, Monitor, Result, parallel};

/// A denominator below this share of the degree is what rounding leaves of 0.
const ROUNDING: f64 = 1e-12;
/// Rows of a piece of work.
const ROWS: usize = 256;
/// Classes that are treated at once.
const LANES: usize = 8;
/// The estimate of a class that is only filling.
const NEVER: f64 = f64::MIN;
/// Exponents below this count as this; its exponential is 3e-308.
const LEAST: f64 = -708.0;

/// Weights of the negative edges of a graph.
#[derive(Debug, Clone, PartialEq)]
pub struct NegativeEdges {
    weights: Vec<f64>,
}

/// How the estimate of a node without one neighbour is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Estimate {
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
    /// [0, 2], the weights that edges have. Costs O(entries + pairs x log degree).
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
            if !(0.0..=2.0).contains(&weight) {
                return Err(Error::data(format!(
                    "negative edge ({i}, {j}) has weight {weight}; weights must lie in [0, 2]"
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
    pub(crate) fn weigh(graph: &Graph, weigh: impl Fn(usize, usize, f64) -> f64 + Sync) -> Self {
        let mut all = vec![0.0; graph.nnz()];
        parallel::each(by_rows(graph, &mut all).into_iter(), |(rows, all)| {
            let entries = rows.flat_map(|i| {
                let (columns, weights) = graph.row(i);
                (columns.iter().zip(weights)).map(move |(&j, &w)| (i, j as usize, f64::from(w)))
            });
            for (own, (i, j, w)) in all.iter_mut().zip(entries) {
                *own = weigh(i, j, w);
            }
        });
        Self { weights: all }
    }

    /// Fails unless these are the negative edges of `graph`, as far as their number tells.
    pub(crate) fn check(&self, graph: &Graph) -> Result<()> {
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
    pub(crate) fn degrees(&self, graph: &Graph) -> Vec<f64> {
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
    pub(crate) fn report(
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
    pub(crate) fn summary(&self) -> (f64, f64) {
        let n = self.weights.len().max(1) as f64;
        let above = self.weights.iter().filter(|&&s| s > 0.01).count();
        (self.weights.iter().sum::<f64>() / n, above as f64 / n)
    }

    /// The weights for scores `f` (`n x C`).
    pub(crate) fn find(
        known: &Known,
        f: &Array2<f64>,
        lambda: f64,
        estimate: Estimate,
        monitor: &Monitor,
    ) -> Result<Self> {
        let graph = known.graph;
        let degrees = graph.degrees();
        // Rows are read as slices.
        let f = f.as_standard_layout();
        let mut weights = vec![0.0; graph.nnz()];
        // Each edge once, in the row of its smaller node ...
        let chunks = by_rows(graph, &mut weights).into_iter();
        parallel::try_map(chunks, |(rows, weights)| {
            monitor.check()?;
            let edges = Edges {
                known,
                degrees: &degrees,
                f: f.view(),
                lambda,
                estimate,
            };
            let mut pair = Pair::new(f.ncols());
            vectorised(
                #[inline(always)]
                || edges.weigh(&mut pair, rows.clone(), weights),
            );
            Ok(())
        })?;
        // ... and then in the row of the larger one, whose entries ascend, too.
        let mut next = graph.indptr().to_vec();
        for i in 0..graph.n() {
            for entry in graph.indptr()[i]..graph.indptr()[i + 1] {
                let j = graph.indices()[entry] as usize;
                if j > i {
                    weights[next[j]] = weights[entry];
                    next[j] += 1;
                }
            }
        }
        Ok(Self { weights })
    }
}

impl Estimate {
    /// Factors of `F_i` and of `-F_j` in the estimate of `i`. `None` where there is no
    /// other neighbour and the average is asked for.
    fn factors(self, degree: f64, w: f64) -> Option<[f64; 2]> {
        match self {
            Estimate::Sum => Some([degree, w]),
            Estimate::Average if degree - w > ROUNDING * degree => {
                Some([degree / (degree - w), w / (degree - w)])
            }
            Estimate::Average => None,
        }
    }

    fn weight(self, w: f64) -> f64 {
        match self {
            Estimate::Sum => 1.0,
            Estimate::Average => w,
        }
    }
}

/// The entries of chunks of rows, to be written in parallel.
fn by_rows<'a>(graph: &Graph, mut entries: &'a mut [f64]) -> Vec<(Range<usize>, &'a mut [f64])> {
    let mut chunks = Vec::with_capacity(graph.n() / ROWS + 1);
    for first in (0..graph.n()).step_by(ROWS) {
        let last = graph.n().min(first + ROWS);
        let (own, rest) = entries.split_at_mut(graph.indptr()[last] - graph.indptr()[first]);
        chunks.push((first..last, own));
        entries = rest;
    }
    chunks
}

/// What the weights depend on.
struct Edges<'a> {
    known: &'a Known<'a>,
    degrees: &'a [f64],
    f: ArrayView2<'a, f64>,
    lambda: f64,
    estimate: Estimate,
}

impl Edges<'_> {
    /// Writes the weights of the entries of `rows` right of the diagonal.
    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn weigh(&self, pair: &mut Pair, rows: Range<usize>, weights: &mut [f64]) {
        let mut weights = weights.iter_mut();
        for i in rows {
            let reached = self.known.reached(i);
            let (columns, edges) = self.known.graph.row(i);
            for ((&j, &w), weight) in columns.iter().zip(edges).zip(&mut weights) {
                let (j, w) = (j as usize, f64::from(w));
                if j < i || !reached {
                    continue;
                }
                let here = self.estimate.factors(self.degrees[i], w);
                let there = self.estimate.factors(self.degrees[j], w);
                let (fi, fj) = (self.f.row(i).to_slice(), self.f.row(j).to_slice());
                if let (Some(here), Some(there), Some(fi), Some(fj)) = (here, there, fi, fj) {
                    let here = here.map(|a| self.lambda * a);
                    let there = there.map(|a| self.lambda * a);
                    *weight = self.estimate.weight(w) * pair.dissimilar(fi, fj, here, there);
                }
            }
        }
    }
}

/// What both ends of an edge think of themselves: room for two rows, filled up to whole
/// lanes with classes of no probability.
struct Pair {
    here: Vec<[f64; LANES]>,
    there: Vec<[f64; LANES]>,
    classes: usize,
    /// `1 / log C`.
    per_class: f64,
}

impl Pair {
    fn new(classes: usize) -> Self {
        let row = vec![[NEVER; LANES]; classes.div_ceil(LANES)];
        Self {
            here: row.clone(),
            there: row,
            classes,
            per_class: 1.0 / (classes as f64).ln(),
        }
    }

    /// `omega(Z_ij) omega(Z_ji) (1 - Z_ij . Z_ji)` with `Z_ij` the softmax of
    /// `here[0] F_i - here[1] F_j`, and likewise `Z_ji`.
    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn dissimilar(&mut self, fi: &[f64], fj: &[f64], here: [f64; 2], there: [f64; 2]) -> f64 {
        if self.classes < 2 {
            return 0.0;
        }
        let a = self.here.as_flattened_mut().iter_mut();
        let b = self.there.as_flattened_mut().iter_mut();
        for ((a, b), (fi, fj)) in a.zip(b).zip(fi.iter().zip(fj)) {
            *a = here[0] * fi - here[1] * fj;
            *b = there[0] * fj - there[1] * fi;
        }
        let (sum, sure) = softmax(&mut self.here, self.per_class);
        let (other_sum, other_sure) = softmax(&mut self.there, self.per_class);
        let mut same = [0.0; LANES];
        for (p, q) in self.here.iter().zip(&self.there) {
            for c in 0..LANES {
                same[c] += p[c] * q[c];
            }
        }
        // The filling holds exponentials now.
        for row in [&mut self.here, &mut self.there] {
            row.as_flattened_mut()[self.classes..].fill(NEVER);
        }
        let same = total(same) / (sum * other_sum);
        sure * other_sure * (1.0 - same).max(0.0)
    }
}

/// Replaces `a` by `exp(a - max a)`; gives the sum of that, and the confidence.
#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn softmax(a: &mut [[f64; LANES]], per_class: f64) -> (f64, f64) {
    let mut largest = [NEVER; LANES];
    for a in &*a {
        for c in 0..LANES {
            largest[c] = if a[c] > largest[c] { a[c] } else { largest[c] };
        }
    }
    let largest = largest.into_iter().fold(NEVER, f64::max);
    let (mut sum, mut weighted) = ([0.0; LANES], [0.0; LANES]);
    for a in a {
        for c in 0..LANES {
            let below = (a[c] - largest).max(LEAST);
            let e = exp(below);
            sum[c] += e;
            weighted[c] += below * e;
            a[c] = e;
        }
    }
    let sum = total(sum);
    let entropy = sum.ln() - total(weighted) / sum;
    (sum, (1.0 - entropy * per_class).clamp(0.0, 1.0))
}

#[inline]
fn total(lanes: [f64; LANES]) -> f64 {
    lanes.iter().sum()
}

/// `exp(x)` for `-708 <= x <= 0`, to a relative error below 1e-14: `2^k exp(r)` with
/// `|r| <= log(2) / 2` and the series of degree 11. Unlike that of the standard library it
/// is compiled to vector instructions.
#[inline(always)]
fn exp(x: f64) -> f64 {
    /// Adding it leaves the nearest integer in the last bits.
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    /// The upper bits of `log 2`, so that `k` times it is exact, and the rest.
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    /// `1 / m!` for `m = 2` to 11.
    const SERIES: [f64; 10] = [
        0.5,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5_040.0,
        1.0 / 40_320.0,
        1.0 / 362_880.0,
        1.0 / 3_628_800.0,
        1.0 / 39_916_800.0,
    ];
    let rounded = x * std::f64::consts::LOG2_E + ROUND;
    let k = rounded - ROUND;
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    // In pairs, and pairs of pairs: a shorter chain of operations than one after the other.
    let pair = |m: usize| SERIES[m] + SERIES[m + 1] * r;
    let (square, fourth) = (r * r, (r * r) * (r * r));
    let low = pair(0) + pair(2) * square;
    let high = (pair(4) + pair(6) * square) + pair(8) * fourth;
    let sum = low + high * fourth;
    let power = f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52);
    (sum * square + r + 1.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_that_of_the_standard_library() {
        for step in 0..=708_000 {
            let x = -f64::from(step) / 1000.0 - 1e-7 * f64::from(step % 7919);
            let x = x.max(LEAST);
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-14, "{x}");
        }
        assert_eq!(exp(0.0).to_bits(), 1.0_f64.to_bits());
    }
}
