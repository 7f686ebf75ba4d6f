//! Kernel logistic regression: the encoder that learns to give codes that others chose.
//!
//! ```text
//! k(a, b) = exp(-|a - b|^2 / s2)       s2: mean squared distance of all rows, with themselves too
//! min_w  sum_i weight_i log(1 + exp(-t_i K_i w)) + C w^T K0 w
//! ```
//!
//! for each bit on its own, with `K` the similarities of rows to anchors, `K0` those of anchors
//! to anchors, and `t_i = +-1` the bit that row `i` should get. There is no bias.
//!
//! All bits share `K`, and those whose targets are the same, or all opposite, are solved once.
//! With `K^T K / 4 + 2 C K0 = R R^T`, no curvature exceeds that of `R^T w`, so the descent
//! ([`solve::lbfgs`](crate::solve)) takes place there and needs few steps.
//!
//! **Use it** as the second stage of [`Gsph`](super::Gsph), [`Seph`](super::Seph) and
//! [`Lcmf`](super::Lcmf). **Not** on columns of very different units: the kernel then sees the
//! largest; scale them first.
//!
//! Cost: O(n a d + n a^2 + a^3) for `a` anchors, and O(n a) for each bit and step; memory O(n a).
//!
//! Source: Lin, Ding, Hu and Wang, "Semantics-preserving hashing for cross-view retrieval", CVPR
//! 2015, section 3.3; anchors by k-means or at random, and 500 of them, as there.

use std::collections::HashMap;

use ndarray::{Array1, Array2, ArrayView1, Axis};
use rand::seq::index;
use serde::{Deserialize, Serialize};

use super::parts::{check_positive, kernel_of_many, mean, scaled, square, transposed};
use super::{Encoder, Kernel};
use crate::eval::kmeans::KMeans;
use crate::linear::spd::{Cholesky, cross};
use crate::solve::lbfgs::{self, Until};
use crate::solve::vectorised;
use crate::{Error, ErrorKind, Monitor, Result, parallel, seed};

/// Rows whose similarities stay in the cache between the two products of a step.
const ROWS: usize = 128;

/// Where similarities are measured from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Anchors {
    /// Rows, drawn without replacement.
    #[default]
    Random,
    /// Centres of k-means; of fewer than two rows an anchor half as many as there are rows.
    Means,
}

/// Parameters of kernel logistic regression; see [`klr`](self).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KernelLogistic {
    anchors: usize,
    how: Anchors,
    ridge: f64,
    max_iterations: usize,
    tolerance: f64,
}

impl Default for KernelLogistic {
    fn default() -> Self {
        Self {
            anchors: 500,
            how: Anchors::default(),
            ridge: 0.01,
            max_iterations: 500,
            tolerance: 1e-4,
        }
    }
}

impl KernelLogistic {
    /// 500 random anchors, C = .01, at most 500 steps, tolerance 1e-4.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of anchors; all rows where there are fewer.
    #[must_use]
    pub fn anchors(mut self, anchors: usize) -> Self {
        self.anchors = anchors;
        self
    }

    /// Where the anchors come from.
    #[must_use]
    pub fn how(mut self, how: Anchors) -> Self {
        self.how = how;
        self
    }

    /// `C`, above 0.
    #[must_use]
    pub fn ridge(mut self, ridge: f64) -> Self {
        self.ridge = ridge;
        self
    }

    /// Most steps of a bit; reaching it is no error.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = max_iterations;
        self
    }

    /// A bit is done when its gradient, in the space where no curvature exceeds 1, is shorter
    /// than this times the root of the number of rows.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        for (field, value) in [
            ("anchors", self.anchors),
            ("max_iterations", self.max_iterations),
        ] {
            if value == 0 {
                let field = format!("kernel.{field}");
                return Err(Error::parameter(&field, value, "must be at least 1"));
            }
        }
        check_positive("kernel.ridge", self.ridge)?;
        check_positive("kernel.tolerance", self.tolerance)
    }

    /// The encoder of rows (`n x d`, less `centre`) that gives each the signs of its targets
    /// (`n x bits`, 1 and -1) as well as it can. `weight` counts rows, and is above 0.
    pub(super) fn fit(
        &self,
        x: &Array2<f64>,
        weight: &[f64],
        center: &Array1<f64>,
        targets: &Array2<f64>,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Encoder> {
        let s2 = width(x, weight);
        let anchors = self.choose(x, seed, monitor)?;
        let weights = self.solve(x, weight, &anchors, s2, targets, monitor)?;
        Ok(Encoder::KernelBits(Kernel {
            mean: center.clone(),
            anchors,
            s2,
            weights,
        }))
    }

    fn choose(&self, x: &Array2<f64>, seed: u64, monitor: &Monitor) -> Result<Array2<f64>> {
        let n = x.nrows();
        if self.how == Anchors::Means && n > 1 {
            let k = self.anchors.min(n / 2);
            let kmeans = KMeans::new(k).n_init(1).max_iterations(100).seed(seed);
            let found = kmeans.fit(x.mapv(|v| v as f32).view(), &monitor.quiet())?;
            return Ok(found.centroids.mapv(f64::from));
        }
        let mut rng = seed::stream(seed, "anchors");
        let mut rows = index::sample(&mut rng, n, self.anchors.min(n)).into_vec();
        rows.sort_unstable();
        Ok(x.select(Axis(0), &rows))
    }

    /// `W`, `anchors x bits`.
    fn solve(
        &self,
        x: &Array2<f64>,
        weight: &[f64],
        anchors: &Array2<f64>,
        s2: f64,
        targets: &Array2<f64>,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        monitor.check()?;
        let similar = kernel_of_many(x, anchors, s2);
        let between = kernel_of_many(anchors, anchors, s2);
        let root = self.root(&similar, weight, &between)?;
        // Psi = K R^-T, and the penalty in its terms.
        let features = transposed(&root.lower_solve(transposed(&similar)));
        drop(similar);
        let half = root.lower_solve(between);
        let penalty = root.lower_solve(transposed(&half)) * self.ridge;
        let (unique, which) = unique(targets);
        let mass: f64 = weight.iter().sum();
        let until = Until {
            steps: self.max_iterations,
            gradient: self.tolerance * mass.sqrt(),
        };
        monitor.start("bits of the encoder", unique.len() as u64);
        let done = std::sync::atomic::AtomicU64::new(0);
        let solved = parallel::try_map(unique.iter(), |&bit| {
            let target = targets.column(bit).to_vec();
            let start = vec![0.0; features.ncols()];
            let found = lbfgs::minimise(start, until, |u| {
                monitor.check()?;
                Ok(objective(u, &features, weight, &target, &penalty))
            })?;
            monitor.step(done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1)?;
            Ok(found)
        })?;
        monitor.end();
        let mut columns = Array2::zeros((features.ncols(), unique.len()));
        for (mut column, solved) in columns.columns_mut().into_iter().zip(solved) {
            column.assign(&ArrayView1::from(&solved));
        }
        let weights = root.upper_solve(columns);
        Ok(Array2::from_shape_fn(
            (anchors.nrows(), which.len()),
            |(a, k)| {
                let (column, sign) = which[k];
                sign * weights[(a, column)]
            },
        ))
    }

    /// The factor of the largest curvature. Anchors that lie together make it singular, which a
    /// little on the diagonal mends: it only turns the path of the descent, not its end.
    fn root(
        &self,
        similar: &Array2<f64>,
        weight: &[f64],
        between: &Array2<f64>,
    ) -> Result<Cholesky> {
        let mut curvature = cross(similar, &scaled(similar, weight)) / 4.0;
        curvature.scaled_add(2.0 * self.ridge, between);
        let trace = curvature.diag().sum() / curvature.nrows() as f64;
        let mut jitter = 1e-12 * trace;
        while jitter < trace {
            let mut tried = curvature.clone();
            tried.diag_mut().mapv_inplace(|v| v + jitter);
            if let Some(root) = Cholesky::of(&tried) {
                return Ok(root);
            }
            jitter *= 100.0;
        }
        Err(Error::new(
            ErrorKind::Internal,
            "the curvature of kernel logistic regression has no Cholesky factor",
        ))
    }
}

/// The mean squared distance of all rows, each with itself too; 1 where all are the same.
fn width(x: &Array2<f64>, weight: &[f64]) -> f64 {
    let center = mean(x, weight);
    let around = scaled(
        &(x - &center),
        &weight.iter().map(|w| w.sqrt()).collect::<Vec<_>>(),
    );
    let s2 = 2.0 * square(&around) / weight.iter().sum::<f64>();
    if s2 > 0.0 { s2 } else { 1.0 }
}

/// The first of all columns that are the same or opposite, and for each column which of these it
/// is and with what sign.
fn unique(targets: &Array2<f64>) -> (Vec<usize>, Vec<(usize, f64)>) {
    let mut known: HashMap<Vec<bool>, usize> = HashMap::new();
    let mut first = Vec::new();
    let which = (targets.columns().into_iter().enumerate())
        .map(|(k, column)| {
            // The first row decides the sign.
            let lead = column[0];
            let same: Vec<bool> = column.iter().map(|&t| (t > 0.0) == (lead > 0.0)).collect();
            let place = *known.entry(same).or_insert_with(|| {
                first.push(k);
                first.len() - 1
            });
            (place, lead * targets[(0, first[place])])
        })
        .collect();
    (first, which)
}

/// Value and gradient, block of rows by block.
fn objective(
    u: &[f64],
    features: &Array2<f64>,
    weight: &[f64],
    target: &[f64],
    penalty: &Array2<f64>,
) -> (f64, Vec<f64>) {
    let point = ArrayView1::from(u);
    let pull = penalty.dot(&point);
    let mut value = pull.dot(&point);
    let mut gradient = (pull * 2.0).to_vec();
    let mut slopes = [0.0; ROWS];
    for (block, rows) in features.axis_chunks_iter(Axis(0), ROWS).enumerate() {
        let Some(rows) = rows.to_slice() else {
            unreachable!("features are row by row in memory")
        };
        let own = block * ROWS..(block * ROWS + ROWS).min(weight.len());
        let slopes = &mut slopes[..own.len()];
        vectorised(|| {
            for (slope, row) in slopes.iter_mut().zip(rows.chunks_exact(u.len())) {
                *slope = dot(row, u);
            }
        });
        for ((z, &w), &t) in slopes
            .iter_mut()
            .zip(&weight[own.clone()])
            .zip(&target[own])
        {
            let margin = t * *z;
            // log(1 + exp(-m)), without overflow on either side.
            let e = (-margin.abs()).exp();
            value += w * (e.ln_1p() + (-margin).max(0.0));
            let off = if margin >= 0.0 { e } else { 1.0 } / (1.0 + e);
            *z = -w * t * off;
        }
        vectorised(|| {
            for (&slope, row) in slopes.iter().zip(rows.chunks_exact(u.len())) {
                for (g, v) in gradient.iter_mut().zip(row) {
                    *g += slope * v;
                }
            }
        });
    }
    (value, gradient)
}

/// With sums in sixteen lanes, which vector instructions hold.
#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    let mut lanes = [0.0; 16];
    for (a, b) in a.iter().zip(b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use ndarray::{array, s};
    use proptest::prelude::*;

    use super::super::check_values::{Rows, read};
    use super::super::parts::tests::{SplitMix, close};
    use super::*;
    use crate::reference::in_one_and_two_threads;

    fn exact() -> KernelLogistic {
        KernelLogistic::new().tolerance(1e-12).max_iterations(5000)
    }

    #[test]
    fn published_values() {
        #[derive(Deserialize)]
        struct Case {
            #[serde(rename = "X")]
            x: Rows,
            t: Vec<f64>,
            s2: f64,
            w: Vec<f64>,
            objective: f64,
            scores: Vec<f64>,
        }
        let case: Case = read(include_str!("check_values/klr.json"));
        let column = |values: Vec<f64>| Array1::from(values).insert_axis(Axis(1));
        let x = case.x.0;
        let s2 = width(&x, &[1.0; 8]);
        assert!((s2 - case.s2).abs() < 1e-12, "{s2}");
        let targets = column(case.t);
        let anchors = x.slice(s![..3, ..]).to_owned();
        let w = exact()
            .solve(&x, &[1.0; 8], &anchors, s2, &targets, &Monitor::silent())
            .unwrap();
        assert!(close(&w, &column(case.w), 1e-8), "{w}");
        let scores = kernel_of_many(&x, &anchors, s2).dot(&w);
        assert!(close(&scores, &column(case.scores), 1e-8), "{scores}");
        let between = kernel_of_many(&anchors, &anchors, s2);
        let margins = &targets * &scores;
        let loss: f64 = margins.iter().map(|m| (-m).exp().ln_1p()).sum();
        let whole = loss + 0.01 * w.column(0).dot(&between.dot(&w.column(0)));
        assert!((whole - case.objective).abs() < 1e-8);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn the_gradient_is_that_of_finite_differences(seed in 0_u64..999, n in 1_usize..300) {
            let mut rng = SplitMix(seed);
            let features = rng.bells((n, 5));
            let half = rng.bells((5, 5));
            let penalty = half.dot(&half.t());
            let weight: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
            let target: Vec<f64> = (0..n).map(|_| (rng.uniform() - 0.5).signum()).collect();
            let u: Vec<f64> = (0..5).map(|_| rng.bell()).collect();
            let at = |u: &[f64]| objective(u, &features, &weight, &target, &penalty);
            let (_, gradient) = at(&u);
            for k in 0..5 {
                let moved = |by: f64| {
                    let mut u = u.clone();
                    u[k] += by;
                    at(&u).0
                };
                let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                prop_assert!((slope - gradient[k]).abs() < 1e-5 * (1.0 + slope.abs()));
            }
        }

        #[test]
        fn the_width_is_the_mean_over_all_pairs(seed in 0_u64..999, n in 2_usize..20) {
            let mut rng = SplitMix(seed);
            let x = rng.bells((n, 3));
            let weight: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
            let mass: f64 = weight.iter().sum();
            let mut naive = 0.0;
            for i in 0..n {
                for j in 0..n {
                    let distance = (&x.row(i) - &x.row(j)).mapv(|v| v * v).sum();
                    naive += weight[i] * weight[j] * distance / (mass * mass);
                }
            }
            prop_assert!((width(&x, &weight) - naive).abs() < 1e-9);
        }
    }

    #[test]
    fn columns_that_are_the_same_or_opposite_are_solved_once() {
        let targets = array![
            [1.0, -1.0, 1.0, -1.0, 1.0],
            [-1.0, 1.0, 1.0, 1.0, -1.0],
            [1.0, -1.0, 1.0, 1.0, 1.0]
        ];
        let (first, which) = unique(&targets);
        assert_eq!(first, [0, 2, 3]);
        let expected = [(0, 1.0), (0, -1.0), (1, 1.0), (2, 1.0), (0, 1.0)];
        for (a, b) in which.iter().zip(expected) {
            assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-12);
        }
    }

    #[test]
    fn weights_are_multiplicities_and_opposite_bits_opposite() {
        let mut rng = SplitMix(1);
        let x = rng.bells((9, 3));
        let rows: Vec<usize> = (0..9).flat_map(|i| vec![i; 1 + i % 3]).collect();
        let weight: Vec<f64> = (0..9).map(|i| f64::from(1 + i % 3)).collect();
        let targets = Array2::from_shape_fn(
            (9, 3),
            |(i, k)| {
                if k == 2 || i % 2 == k { 1.0 } else { -1.0 }
            },
        );
        let anchors = x.slice(s![..4, ..]).to_owned();
        let many = (x.select(Axis(0), &rows), targets.select(Axis(0), &rows));
        let run = || {
            let solve = |x: &Array2<f64>, weight: &[f64], targets: &Array2<f64>| {
                let s2 = width(x, weight);
                exact()
                    .solve(x, weight, &anchors, s2, targets, &Monitor::silent())
                    .unwrap()
            };
            (
                solve(&x, &weight, &targets),
                solve(&many.0, &vec![1.0; rows.len()], &many.1),
            )
        };
        let (one, two) = in_one_and_two_threads(run);
        assert_eq!(one, two);
        assert!(close(&one.0, &one.1, 1e-7), "{} {}", one.0, one.1);
        assert!(close(
            &one.0.slice(s![.., ..1]).to_owned(),
            &-&one.0.slice(s![.., 1..2]),
            1e-12
        ));
    }

    #[test]
    fn anchors_and_degenerate_rows() {
        let mut rng = SplitMix(2);
        let (x, ones) = (rng.bells((30, 3)), [1.0; 30]);
        let mean = Array1::zeros(3);
        let fit = |klr: KernelLogistic, x: &Array2<f64>| {
            let targets =
                Array2::from_shape_fn((30, 2), |(i, k)| if (i + k) % 2 == 0 { 1.0 } else { -1.0 });
            match klr
                .fit(x, &ones, &mean, &targets, 3, &Monitor::silent())
                .unwrap()
            {
                Encoder::KernelBits(kernel) => kernel,
                _ => unreachable!("a kernel"),
            }
        };
        assert_eq!(
            fit(KernelLogistic::new().anchors(7), &x).anchors.dim(),
            (7, 3)
        );
        assert_eq!(fit(KernelLogistic::new(), &x).anchors, x);
        let means = KernelLogistic::new().how(Anchors::Means);
        assert_eq!(fit(means, &x).anchors.dim(), (15, 3));
        let same = fit(KernelLogistic::new(), &Array2::ones((30, 3)));
        assert!(same.weights.iter().all(|w| w.is_finite()) && same.s2 > 0.0);
        assert!(KernelLogistic::new().anchors(0).validate().is_err());
        assert!(KernelLogistic::new().ridge(0.0).validate().is_err());
    }
}
