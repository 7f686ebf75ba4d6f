//! A metric near a prior one that follows propagated affinities: what [`apllr`](super::apllr) and
//! [`apit`](super::apit) share.
//!
//! ```text
//! minimise  tr(P^-1 M) - log det M + eta tr(M H)
//! M = (P^-1 + eta H)^-1                                   P: the prior metric
//!
//! H = X^T (D - W) X / s       W = (W* + W*^T) / 2,  D: its sums by row
//! W* = (1 - gamma) R W0       R = (I - gamma Q)^-1,  Q_ij = 1/k where j is a neighbour of i
//! W0: 1 on the diagonal, w of alike pairs, -w of unlike ones
//! s = (1 - gamma) 1^T R |W0| 1
//! ```
//!
//! `W` is never formed. `X^T W* X` takes one solve a column of `X`, `W* 1` one more, and `W*^T 1` the
//! column sums of `R`.
//!
//! Printed is no scale of `H`. The sum of all |W| would need `W`; `s` is what it would be were no
//! signs to cancel, and the same where no pair is unlike. Weights of one pair are summed, to 1
//! at most: no two rows are more alike than a row is to itself. With unlike pairs `W` has negative
//! entries, and `H` may have negative eigenvalues: `eta` is lowered to .9 of the largest value that
//! leaves `M` positive, and a warning tells to what.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::constraints::Constraints;
use super::lrml::capped;
use super::nearest::nearest;
use super::spd::{self, Cholesky, cross, symmetrize};
use crate::neighbor::Neighbors;
use crate::propagate::affinity::walk::{Block, WIDTH, Walk};
use crate::{Error, Monitor, Result, parallel};

/// Least eigenvalue of a prior, beside its largest, which its inverse is taken of.
const FLOOR: f64 = 1e-6;
/// Residual of a solve, of columns that are 1 at most, and most iterations.
const TOLERANCE: f64 = 1e-10;
const ITERATIONS: usize = 3000;

/// How affinities spread, and how much they count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Propagated {
    /// Name of the learner, before the names of its parameters.
    pub(crate) learner: &'static str,
    pub(crate) k: usize,
    pub(crate) gamma: f64,
    pub(crate) eta: f64,
}

impl Propagated {
    pub(crate) fn validate(&self) -> Result<()> {
        let field = |name: &str| format!("{}.{name}", self.learner);
        if self.k == 0 {
            return Err(Error::parameter(&field("k"), 0, "must be at least 1"));
        }
        if !(self.gamma > 0.0 && self.gamma < 1.0) {
            let rule = "must be above 0 and below 1";
            return Err(Error::parameter(&field("gamma"), self.gamma, rule));
        }
        if !(0.0..f64::INFINITY).contains(&self.eta) {
            let rule = "must be finite and at least 0";
            return Err(Error::parameter(&field("eta"), self.eta, rule));
        }
        Ok(())
    }

    /// The metric near `prior`, and the weight of affinities that was taken. Eigenvalues of `prior` are 1e-6
    /// of the largest at least.
    pub(crate) fn follow(
        &self,
        prior: &Array2<f64>,
        x: ArrayView2<f32>,
        constraints: &Constraints,
        monitor: &Monitor,
    ) -> Result<(Array2<f64>, f64)> {
        let eigen = spd::eigen(prior)?;
        let least = FLOOR * eigen.largest();
        if least <= 0.0 {
            return Err(Error::data(
                "unlike pairs are nowhere farther apart than alike ones: the prior metric is 0",
            ));
        }
        if self.eta == 0.0 {
            return Ok((eigen.matrix(|v| v.max(least)), 0.0));
        }
        let neighbors = nearest(x, self.k, monitor)?;
        let apart = -self.scatter(x, &neighbors, constraints, monitor)?;
        let inverse = eigen.matrix(|v| v.max(least).recip());
        let (eta, most) = capped(&inverse, &apart, self.eta)?;
        if eta < self.eta {
            monitor.warn(format!(
                "{}.eta = {}: {eta:.3e} was taken, as no metric is the best from {most:.3e} on",
                self.learner, self.eta
            ));
        }
        let remedy = format!("lower {}.eta", self.learner);
        let whole = inverse - apart * eta;
        let metric = Cholesky::of_metric(&whole, "what is near", &remedy)?.inverse();
        Ok((metric, eta))
    }

    /// `H`.
    fn scatter(
        &self,
        x: ArrayView2<f32>,
        neighbors: &Neighbors,
        constraints: &Constraints,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        let (n, d) = x.dim();
        let walk = Walk::new(neighbors, self.gamma);
        let given = Given::of(n, constraints);
        let rest = 1.0 - self.gamma;
        // The rows of D - W have the sum 0: it is the same of centred columns.
        let mut rows = x.mapv(f64::from);
        let mean = rows.mean_axis(Axis(0)).unwrap_or_default();
        rows -= &mean;
        let sizes = rows.fold_axis(Axis(0), 0.0_f64, |most, v| most.max(v.abs()));
        let sizes = sizes.mapv(|size| if size > 0.0 { size } else { 1.0 });

        monitor.start("propagated affinities", d as u64 + 1);
        let done = AtomicU64::new(0);
        // All columns of X, and one of ones behind them.
        let solved: Vec<(Block, bool)> = parallel::try_map((0..=d).step_by(WIDTH), |first| {
            let value = |i: usize, lane: usize| match first + lane {
                j if j < d => rows[(i, j)] / sizes[j],
                j if j == d => 1.0,
                _ => 0.0,
            };
            let start = (0..n).map(|i| std::array::from_fn(|lane| value(i, lane)));
            let (found, report) = walk.solve(&given.times(&start.collect()), TOLERANCE, ITERATIONS);
            monitor.step(done.fetch_add(WIDTH as u64, Relaxed))?;
            Ok((found, report.converged))
        })?;
        monitor.end();
        if solved.iter().any(|block| !block.1) {
            monitor.warn(format!(
                "affinities were not spread to the end; lower {}.gamma",
                self.learner
            ));
        }
        let spread = |i: usize, j: usize| solved[j / WIDTH].0[i][j % WIDTH];
        let sums = Array1::from(walk.column_sums());
        let back = given.apply(&sums);
        let degrees = Array1::from_shape_fn(n, |i| rest * (spread(i, d) + back[i]) / 2.0);
        let whole = rest * sums.dot(&given.absolute());
        let spread = Array2::from_shape_fn((n, d), |(i, j)| spread(i, j) * sizes[j]);
        let scaled = &rows * &degrees.insert_axis(Axis(1)) - spread * rest;
        let mut scatter = cross(&rows, &scaled) / whole;
        symmetrize(&mut scatter);
        Ok(scatter)
    }
}

/// `W0` but for its diagonal of ones: each pair from both sides.
struct Given {
    n: usize,
    arcs: Vec<(u32, u32, f64)>,
}

impl Given {
    fn of(n: usize, constraints: &Constraints) -> Self {
        let alike = constraints.alike.iter().map(|link| (link, 1.0));
        let unlike = constraints.unlike.iter().map(|link| (link, -1.0));
        let mut arcs: Vec<(u32, u32, f64)> = alike
            .chain(unlike)
            .flat_map(|(link, sign)| {
                let link = constraints.in_all(link);
                let weight = sign * link.weight;
                [(link.a, link.b, weight), (link.b, link.a, weight)]
            })
            .collect();
        // Stable: weights are summed in their order.
        arcs.sort_by_key(|arc| (arc.0, arc.1));
        let same = arcs.chunk_by(|p, q| (p.0, p.1) == (q.0, q.1));
        let arcs = same
            .map(|same| {
                let sum: f64 = same.iter().map(|arc| arc.2).sum();
                (same[0].0, same[0].1, sum.clamp(-1.0, 1.0))
            })
            .collect();
        Self { n, arcs }
    }

    /// `W0 X`.
    fn times(&self, x: &Block) -> Block {
        let mut out = x.clone();
        for &(a, b, weight) in &self.arcs {
            for (out, x) in out[a as usize].iter_mut().zip(&x[b as usize]) {
                *out += weight * x;
            }
        }
        out
    }

    /// `W0 v`.
    fn apply(&self, v: &Array1<f64>) -> Array1<f64> {
        let mut out = v.clone();
        for &(a, b, weight) in &self.arcs {
            out[a as usize] += weight * v[b as usize];
        }
        out
    }

    /// `|W0| 1`.
    fn absolute(&self) -> Array1<f64> {
        let mut out = Array1::ones(self.n);
        for &(a, _, weight) in &self.arcs {
            out[a as usize] += weight.abs();
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::check_values::relative_error;
    use crate::propagate::affinity::affinity_exact;
    use crate::{Labels, Pairs, seed};
    use proptest::prelude::*;
    use rand::RngExt;

    fn propagated(k: usize, gamma: f64) -> Propagated {
        Propagated {
            learner: "test",
            k,
            gamma,
            eta: 1.0,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn equals_the_dense_form(
            n in 4_usize..25, d in 1_usize..12, k in 1_usize..6, unlike in any::<bool>(),
            number in any::<u64>(),
        ) {
            let mut rng = seed::stream(number, "propagated");
            let x = Array2::from_shape_fn((n, d), |_| 5.0 + rng.random_range(-1.0_f32..1.0));
            let neighbors = nearest(x.view(), k, &Monitor::silent()).unwrap();
            // Pairs of all labeled items, as the dense form takes labels.
            let class: Vec<i64> = (0..n)
                .map(|_| match rng.random_range(0..3) {
                    0 => -1,
                    1 if unlike => 1,
                    _ => 0,
                })
                .collect();
            let mut pairs = Pairs::default();
            for a in 0..n {
                for b in 0..a {
                    if class[a] >= 0 && class[b] >= 0 {
                        pairs.push(a as u32, b as u32, class[a] == class[b], 1.0);
                    }
                }
            }
            let constraints = Constraints::of(x.view(), &pairs, &Monitor::silent()).unwrap();
            let found = propagated(k, 0.9)
                .scatter(x.view(), &neighbors, &constraints, &Monitor::silent())
                .unwrap();
            let w = affinity_exact(&neighbors, &Labels::from_integers(class), 0.9).unwrap();
            let x = x.mapv(f64::from);
            let laplacian = Array2::from_diag(&w.sum_axis(Axis(1))) - &w;
            let dense = x.t().dot(&laplacian).dot(&x);
            if !unlike {
                let whole: f64 = w.iter().map(|v| v.abs()).sum();
                prop_assert!(relative_error(&found, &(&dense / whole)) < 1e-5);
            }
            // With signs the sum is another, and the same of all entries.
            let factor = found.diag().sum() / dense.diag().sum();
            prop_assume!(factor.is_finite() && dense.diag().sum().abs() > 1e-3);
            prop_assert!(relative_error(&found, &(dense * factor)) < 1e-4);
        }
    }

    #[test]
    fn weights_of_a_pair_are_summed_to_1_at_most() {
        let x = ndarray::array![[0.0_f32], [1.0], [2.0], [3.0]];
        let mut pairs = Pairs::default();
        for (a, b, alike, w) in [
            (0, 1, true, 0.25),
            (1, 0, true, 0.5),
            (1, 2, false, 3.0),
            (0, 3, true, 1.0),
            (3, 0, false, 0.5),
        ] {
            pairs.push(a, b, alike, w);
        }
        let constraints = Constraints::of(x.view(), &pairs, &Monitor::silent()).unwrap();
        let given = Given::of(4, &constraints);
        let expected = [
            (0, 1, 0.75),
            (0, 3, 0.5),
            (1, 0, 0.75),
            (1, 2, -1.0),
            (2, 1, -1.0),
            (3, 0, 0.5),
        ];
        assert_eq!(given.arcs, expected);
        let v = Array1::from(vec![1.0, 2.0, 4.0, 8.0]);
        assert_eq!(given.apply(&v).to_vec(), [6.5, -1.25, 2.0, 8.5]);
        assert_eq!(given.absolute().to_vec(), [2.25, 2.75, 2.0, 1.5]);
    }
}
