//! Information-theoretic metric learning: the metric nearest to a given one that keeps alike
//! pairs near and unlike ones apart.
//!
//! ```text
//! minimise  D(M, M0) + gamma sum_c w_c D(xi_c, xi0_c)       D: log-determinant divergence
//!     with  d_M^2 <= xi_c  of alike pairs, xi0 = u;   d_M^2 >= xi_c  of unlike ones, xi0 = l
//!
//! one pair at a time, alike ones first, with v = x_a - x_b, s = 1 (alike) or -1 (unlike):
//!     p = v M v^T        g = gamma w / (gamma w + 1)
//!     alpha = min(lambda, s g (1/p - 1/xi))       lambda -= alpha
//!     beta = s alpha / (1 - s alpha p)            xi = 1 / (1/xi + s alpha / (gamma w))
//!     M += beta (M v^T)(M v^T)^T
//! until sum |change of lambda| <= tolerance (|lambda| + |lambda before|) over a sweep
//! ```
//!
//! `u` and `l` are squared distances: the 5th and 95th percentile of those of all rows, unless
//! given. A small `gamma` lets bounds give way and stays near `M0`.
//!
//! **Use it** with few pairs, which need not name classes, and where features are near what is
//! wanted. **Not** with many contradictory pairs, nor with features of very different units:
//! scale them first, as the prior is the Euclidean metric of what it is given. In hundreds of
//! dimensions [`Gmml`](super::Gmml) is far faster.
//!
//! Cost: O(pairs d^2) a sweep, and some 10 to 500 sweeps; memory O(d^2 + m d) for `m` rows in pairs.
//!
//! Source: Davis, Kulis, Jain, Sra and Dhillon, "Information-theoretic metric learning", ICML 2007,
//! algorithm 1. The code of the library metric-learn takes percentiles of distances and compares
//! them with squared ones; we take them of squared ones. The authors' code stops after 100,000
//! projections, we after 1000 sweeps. Ours: weights (a pair of weight 2 is two pairs, whose common
//! bound gives way half as easily), and percentiles of at most 10,000 distances, of rows that
//! differ.

use ndarray::{Array1, Array2, ArrayView2, Axis, Slice};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::constraints::{Constraints, Link};
use super::spd::{self, Cholesky, add_cross, cross, shrink, symmetrize, usual_shrinkage};
use super::whitening::Spectrum;
use crate::learn::{Evidence, Fit, Need};
use crate::matrix::check_finite;
use crate::model::Model;
use crate::solve::vectorised;
use crate::{Error, Monitor, Pairs, Result, seed};

/// Distances that percentiles are taken of.
const SAMPLE: usize = 10_000;
/// Columns from which pairs are projected by blocks of so many: the metric no longer fits where it
/// is read fastest.
const MANY: usize = 128;
const BLOCK: usize = 48;
/// A pair that is nearer than this, squared, has come together: there is no ratio to correct.
const NEAR: f64 = 1e-12;

/// Which squared distances are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Bounds {
    /// Percentiles (from 0 to 100) of the squared distances of rows.
    Percentiles {
        /// The most that an alike pair should have.
        alike: f64,
        /// The least that an unlike pair should have.
        unlike: f64,
    },
    /// These squared distances, above 0.
    Squared {
        /// The most that an alike pair should have.
        alike: f64,
        /// The least that an unlike pair should have.
        unlike: f64,
    },
}

impl Bounds {
    /// These percentiles, from 0 to 100.
    pub fn percentiles(alike: f64, unlike: f64) -> Self {
        Self::Percentiles { alike, unlike }
    }

    /// These squared distances, above 0.
    pub fn squared(alike: f64, unlike: f64) -> Self {
        Self::Squared { alike, unlike }
    }
}

/// The metric that the learned one stays near to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prior {
    /// The Euclidean one.
    #[default]
    Identity,
    /// The inverse of the covariance of all rows, shrunk by a tenth where there are fewer than
    /// two rows a dimension.
    Covariance,
}

/// Parameters of information-theoretic metric learning; see [`itml`](self).
///
/// ```
/// use likewise::{Monitor, Pairs, linear::{Itml, itml::Bounds}};
/// let x = ndarray::array![[0.0, 0.0], [3.0, 0.1], [0.1, 1.0], [3.1, 1.1_f32]];
/// let mut pairs = Pairs::default();
/// pairs.push(0, 1, true, 1.0);
/// pairs.push(0, 2, false, 1.0);
/// let itml = Itml::new().bounds(Bounds::squared(0.5, 4.0));
/// let m = itml.fit_pairs(x.view(), &pairs, &Monitor::silent())?;
/// // The alike pair differs in the first column, so it counts less.
/// assert!(m[(0, 0)] < m[(1, 1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Itml {
    gamma: f64,
    bounds: Bounds,
    prior: Prior,
    tolerance: f64,
    sweeps: usize,
    seed: u64,
}

impl Default for Itml {
    fn default() -> Self {
        Self {
            gamma: 1.0,
            bounds: Bounds::percentiles(5.0, 95.0),
            prior: Prior::Identity,
            tolerance: 1e-3,
            sweeps: 1000,
            seed: 0,
        }
    }
}

impl Itml {
    /// Gamma 1, the 5th and 95th percentile, the Euclidean prior, at most 1000 sweeps: as
    /// published.
    pub fn new() -> Self {
        Self::default()
    }

    /// How much the bounds count against nearness to the prior, above 0.
    #[must_use]
    pub fn gamma(mut self, gamma: f64) -> Self {
        self.gamma = gamma;
        self
    }

    /// Which squared distances are asked for.
    #[must_use]
    pub fn bounds(mut self, bounds: Bounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// The metric to stay near to.
    #[must_use]
    pub fn prior(mut self, prior: Prior) -> Self {
        self.prior = prior;
        self
    }

    /// Share by which the multipliers may still change in a sweep when it stops, above 0.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Most times that all pairs are gone through, at least 1.
    #[must_use]
    pub fn sweeps(mut self, sweeps: usize) -> Self {
        self.sweeps = sweeps;
        self
    }

    /// Seed of the sample of distances.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The metric `M` (`d x d`) from rows (`n x d`) and pairs of them.
    ///
    /// Warns where the last sweep still changed much. Fails on NaN, on parameters out of range, on
    /// pairs that do not [fit](Pairs::check) the rows, without a pair of different rows, and when
    /// cancelled.
    pub fn fit_pairs(
        &self,
        x: ArrayView2<f32>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        self.validate()?;
        check_finite(x, "information-theoretic metric learning")?;
        let constraints = Constraints::of(x, pairs, monitor)?;
        let bounds = match self.bounds {
            Bounds::Squared {
                alike: near,
                unlike: far,
            } => (near, far),
            Bounds::Percentiles {
                alike: near,
                unlike: far,
            } => self.percentiles(x, near, far)?,
        };
        let prior = match self.prior {
            Prior::Identity => Array2::eye(x.ncols()),
            Prior::Covariance => inverse_covariance(x)?,
        };
        self.learn(&constraints, prior, bounds, monitor)
    }

    /// Checks every parameter.
    pub fn validate(&self) -> Result<()> {
        for (field, value) in [
            ("itml.gamma", self.gamma),
            ("itml.tolerance", self.tolerance),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::parameter(field, value, "must be finite and above 0"));
            }
        }
        if self.sweeps == 0 {
            return Err(Error::parameter("itml.sweeps", 0, "must be at least 1"));
        }
        let (sound, rule) = match self.bounds {
            Bounds::Percentiles {
                alike: near,
                unlike: far,
            } => (
                0.0 <= near && near <= far && far <= 100.0,
                "percentiles must be from 0 to 100, the first not above the second",
            ),
            Bounds::Squared {
                alike: near,
                unlike: far,
            } => (
                0.0 < near && near <= far && far.is_finite(),
                "must be finite and above 0, the first not above the second",
            ),
        };
        if sound {
            return Ok(());
        }
        let (Bounds::Percentiles {
            alike: near,
            unlike: far,
        }
        | Bounds::Squared {
            alike: near,
            unlike: far,
        }) = self.bounds;
        Err(Error::parameter(
            "itml.bounds",
            format!("({near}, {far})"),
            rule,
        ))
    }

    /// Percentiles of the squared distances of all pairs of rows, or of a sample of them.
    fn percentiles(&self, x: ArrayView2<f32>, near: f64, far: f64) -> Result<(f64, f64)> {
        let n = x.nrows();
        let square = |a: usize, b: usize| {
            let both = x.row(a).into_iter().zip(x.row(b));
            let square = |(&a, &b): (&f32, &f32)| (f64::from(a) - f64::from(b)).powi(2);
            both.map(square).sum::<f64>()
        };
        let mut squares: Vec<f64> = if n * n.saturating_sub(1) / 2 <= SAMPLE {
            let pairs = (0..n).flat_map(|a| (0..a).map(move |b| (a, b)));
            pairs.map(|(a, b)| square(a, b)).collect()
        } else {
            let mut rng = seed::stream(self.seed, "distances of rows");
            let mut draw = || {
                let a = rng.random_range(0..n);
                square(a, (a + rng.random_range(1..n)) % n)
            };
            (0..SAMPLE).map(|_| draw()).collect()
        };
        squares.retain(|&square| square > 0.0);
        if squares.is_empty() {
            return Err(Error::data(
                "all rows are the same: there are no distances to take percentiles of",
            ));
        }
        squares.sort_unstable_by(f64::total_cmp);
        Ok((percentile(&squares, near), percentile(&squares, far)))
    }

    fn learn(
        &self,
        constraints: &Constraints,
        prior: Array2<f64>,
        (near, far): (f64, f64),
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        if constraints.alike.is_empty() && constraints.unlike.is_empty() {
            return Err(Error::data(
                "information-theoretic metric learning needs pairs of different rows, and there \
                 are none; give some",
            ));
        }
        let of_kind = |links: &[Link], sign: f64, bound: f64| -> Vec<Bound> {
            let bound = |link: &Link| Bound {
                a: link.a as usize,
                b: link.b as usize,
                sign,
                gamma: self.gamma * link.weight,
                lambda: 0.0,
                inverse: bound.recip(),
            };
            links.iter().map(bound).collect()
        };
        let mut bounds = of_kind(&constraints.alike, 1.0, near);
        bounds.extend(of_kind(&constraints.unlike, -1.0, far));
        let mut metric = prior.as_standard_layout().into_owned();
        let mut change = f64::INFINITY;
        monitor.start("information-theoretic metric", self.sweeps as u64);
        for done in 1..=self.sweeps {
            let before: f64 = bounds.iter().map(|b| b.lambda * b.lambda).sum();
            let moved = sweep(&mut metric, &constraints.rows, &mut bounds, monitor)?;
            let after: f64 = bounds.iter().map(|b| b.lambda * b.lambda).sum();
            let size = before.sqrt() + after.sqrt();
            change = if size > 0.0 { moved / size } else { 0.0 };
            monitor.step(done as u64)?;
            if change < self.tolerance {
                break;
            }
        }
        monitor.end();
        // A limit of few sweeps is a choice, not a failure to tell of.
        if change >= self.tolerance && self.sweeps >= 100 {
            monitor.warn(format!(
                "the metric still changed by {change:.1e} in sweep {}; lower itml.gamma, or raise \
                 itml.sweeps or itml.tolerance",
                self.sweeps
            ));
        }
        // Rounding alone makes a direction negative; all updates keep them above 0.
        match Cholesky::of(&metric) {
            Some(_) => Ok(metric),
            None => spd::project(&metric),
        }
    }
}

impl Fit for Itml {
    fn needs(&self) -> &'static [Need] {
        &[Need::Compared]
    }

    fn validate(&self) -> Result<()> {
        Itml::validate(self)
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        evidence.metric_of_pairs(seed, monitor, |x, pairs| self.fit_pairs(x, pairs, monitor))
    }
}

/// A pair, and how far its bound has been bent.
struct Bound {
    a: usize,
    b: usize,
    sign: f64,
    gamma: f64,
    lambda: f64,
    /// `1 / xi`.
    inverse: f64,
}

impl Bound {
    /// Bends the bound of a pair at the squared distance `p`: the change of its multiplier, and the
    /// `beta` of the metric's.
    fn bend(&mut self, p: f64) -> Option<(f64, f64)> {
        if p < NEAR {
            return None;
        }
        let part = self.gamma / (self.gamma + 1.0);
        let alpha = (self.sign * part * (p.recip() - self.inverse)).min(self.lambda);
        if alpha == 0.0 {
            return None;
        }
        self.lambda -= alpha;
        self.inverse += self.sign * alpha / self.gamma;
        Some((
            alpha.abs(),
            self.sign * alpha / (1.0 - self.sign * alpha * p),
        ))
    }
}

/// Goes through all pairs once; by how much their multipliers change in all.
fn sweep(
    metric: &mut Array2<f64>,
    rows: &Array2<f64>,
    bounds: &mut [Bound],
    monitor: &Monitor,
) -> Result<f64> {
    let mut moved = 0.0;
    if rows.ncols() < MANY {
        let mut moving = Moving::new(metric, rows);
        for (done, bound) in bounds.iter_mut().enumerate() {
            if done % 4096 == 4095 {
                monitor.check()?;
            }
            moved += moving.project(bound);
        }
        moving.settle();
    } else {
        for bounds in bounds.chunks_mut(BLOCK) {
            monitor.check()?;
            moved += project_block(metric, rows, bounds);
        }
    }
    symmetrize(metric);
    Ok(moved)
}

/// Projects some pairs one after the other. The products of all with the metric are taken at
/// once, and those with its changes since are added; then the changes are made at once.
fn project_block(metric: &mut Array2<f64>, rows: &Array2<f64>, bounds: &mut [Bound]) -> f64 {
    let (d, b) = (rows.ncols(), bounds.len());
    let difference = |j: usize| &rows.row(bounds[j].a) - &rows.row(bounds[j].b);
    let mut v = vec![0.0; b * d];
    let mut columns = Array2::zeros((d, b));
    for (j, v) in v.chunks_exact_mut(d).enumerate() {
        for ((i, v), delta) in v.iter_mut().enumerate().zip(difference(j)) {
            *v = delta;
            columns[(i, j)] = delta;
        }
    }
    let products = cross(metric, &columns).reversed_axes();
    let products = products.as_standard_layout();
    let mut along = Array2::<f64>::zeros((b, d));
    let (mut betas, mut moved) = (Vec::with_capacity(b), 0.0);
    for ((bound, v), product) in bounds
        .iter_mut()
        .zip(v.chunks_exact(d))
        .zip(products.rows())
    {
        let before = along.as_slice_mut().unwrap_or_default();
        let (before, next) = before.split_at_mut(betas.len() * d);
        let next = &mut next[..d];
        for (next, product) in next.iter_mut().zip(product) {
            *next = *product;
        }
        let mut p = 0.0;
        vectorised(
            #[inline(always)]
            || {
                for (u, beta) in before.chunks_exact(d).zip(&betas) {
                    let factor = beta * dot(u, v);
                    for (next, u) in next.iter_mut().zip(u) {
                        *next += factor * u;
                    }
                }
                p = dot(v, next);
            },
        );
        if let Some((change, beta)) = bound.bend(p) {
            moved += change;
            betas.push(beta);
        }
    }
    let along = along.slice_axis(Axis(0), Slice::from(..betas.len()));
    let scaled = &along * &Array1::from(betas).insert_axis(Axis(1));
    add_cross(metric, along, scaled.view());
    moved
}

#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; SUMS];
    let ((a, last_a), (b, last_b)) = (a.as_chunks::<SUMS>(), b.as_chunks::<SUMS>());
    for (a, b) in a.iter().zip(b) {
        for c in 0..SUMS {
            sums[c] += a[c] * b[c];
        }
    }
    let last: f64 = last_a.iter().zip(last_b).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + last
}

/// The metric while it changes. The last change is made only with the next product, so that
/// `M` is read once a pair.
struct Moving<'a> {
    rows: &'a Array2<f64>,
    metric: &'a mut Array2<f64>,
    /// `M v`, of the last pair, and the `beta` that it is still to be added with.
    along: Vec<f64>,
    beta: f64,
    /// `v`, and the next `M v`.
    difference: Vec<f64>,
    product: Vec<f64>,
}

impl<'a> Moving<'a> {
    fn new(metric: &'a mut Array2<f64>, rows: &'a Array2<f64>) -> Self {
        let d = rows.ncols();
        Self {
            rows,
            metric,
            along: vec![0.0; d],
            beta: 0.0,
            difference: vec![0.0; d],
            product: vec![0.0; d],
        }
    }

    /// One projection; by how much the multiplier changes.
    fn project(&mut self, bound: &mut Bound) -> f64 {
        let both = self.rows.row(bound.a).into_iter();
        let both = both.zip(self.rows.row(bound.b));
        for (v, (a, b)) in self.difference.iter_mut().zip(both) {
            *v = a - b;
        }
        let p = self.advance();
        let Some((change, beta)) = bound.bend(p) else {
            return 0.0;
        };
        self.beta = beta;
        std::mem::swap(&mut self.along, &mut self.product);
        change
    }

    /// Makes the change that is left over, writes `M v` and gives `v M v`.
    fn advance(&mut self) -> f64 {
        let metric = self.metric.as_slice_mut().unwrap_or_default();
        let product = &mut self.product;
        let (along, v, beta) = (&self.along, &self.difference, self.beta);
        vectorised(
            #[inline(always)]
            || update_and_multiply(metric, along, beta, v, product),
        );
        self.beta = 0.0;
        v.iter().zip(product).map(|(v, m)| v * *m).sum()
    }

    /// Makes the change that is left over.
    fn settle(&mut self) {
        self.difference.fill(0.0);
        self.advance();
    }
}

/// Sums that run side by side: one would wait for its last addition each time.
const SUMS: usize = 8;

/// `M += beta u u^T`, then `product = M v`.
#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn update_and_multiply(metric: &mut [f64], u: &[f64], beta: f64, v: &[f64], product: &mut [f64]) {
    let d = v.len();
    for ((row, &own), product) in metric.chunks_exact_mut(d).zip(u).zip(product) {
        let factor = beta * own;
        let mut sums = [0.0; SUMS];
        let (rows, last_row) = row.as_chunks_mut::<SUMS>();
        let (us, last_u) = u.as_chunks::<SUMS>();
        let (vs, last_v) = v.as_chunks::<SUMS>();
        if factor == 0.0 {
            for (row, v) in rows.iter().zip(vs) {
                for c in 0..SUMS {
                    sums[c] += row[c] * v[c];
                }
            }
        } else {
            for ((row, u), v) in rows.iter_mut().zip(us).zip(vs) {
                for c in 0..SUMS {
                    row[c] += factor * u[c];
                    sums[c] += row[c] * v[c];
                }
            }
        }
        let mut sum: f64 = sums.iter().sum();
        for ((row, u), v) in last_row.iter_mut().zip(last_u).zip(last_v) {
            *row += factor * u;
            sum += *row * v;
        }
        *product = sum;
    }
}

/// A percentile of ascending values, between two of them in proportion.
fn percentile(ascending: &[f64], percent: f64) -> f64 {
    let place = percent / 100.0 * (ascending.len() - 1) as f64;
    let below = ascending[place.floor() as usize];
    let above = ascending[place.ceil() as usize];
    below + (above - below) * place.fract()
}

fn inverse_covariance(x: ArrayView2<f32>) -> Result<Array2<f64>> {
    let spectrum = Spectrum::fit(x)?;
    let mut covariance = spectrum.symmetric(&spectrum.variances, 0.0);
    shrink(
        &mut covariance,
        usual_shrinkage(x.nrows() as f64, x.ncols()),
    );
    symmetrize(&mut covariance);
    let remedy = "take the prior identity";
    Ok(Cholesky::of_metric(&covariance, "the covariance", remedy)?.inverse())
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use super::*;
    use crate::linear::check_values::{iris, iris_pairs, relative_error};
    use crate::reference::in_one_and_two_threads;
    use ndarray::array;
    use proptest::prelude::*;

    fn learn(itml: Itml, pairs: &Pairs) -> Array2<f64> {
        let constraints = Constraints::of(iris().0.view(), pairs, &Monitor::silent()).unwrap();
        itml.learn(
            &constraints,
            Array2::eye(4),
            (0.2, 28.193),
            &Monitor::silent(),
        )
        .unwrap()
    }

    #[test]
    fn the_check_values_of_irises() {
        let once = array![
            [
                0.267290008943,
                -1.42629815931,
                0.767507359945,
                1.82500184235
            ],
            [-1.42629815931, 18.6558378558, -12.382670095, -25.0768864503],
            [0.767507359945, -12.382670095, 8.61068961433, 16.6648051044],
            [1.82500184235, -25.0768864503, 16.6648051044, 34.3150026595],
        ];
        let ten_times = array![
            [
                0.199291044963,
                -0.982949321386,
                0.408446568111,
                1.24969823062
            ],
            [
                -0.982949321386,
                6.86619918941,
                -3.32173344739,
                -9.01552907122
            ],
            [0.408446568111, -3.32173344739, 1.78695384632, 4.29578606756],
            [1.24969823062, -9.01552907122, 4.29578606756, 12.3146655468],
        ];
        let at_the_end = array![
            [
                0.102600941909,
                -0.110833902805,
                -0.0417582239082,
                0.0370519880707
            ],
            [
                -0.110833902805,
                0.817653551981,
                -0.288137116482,
                -1.07543499108
            ],
            [
                -0.0417582239082,
                -0.288137116482,
                0.309161122539,
                0.308864554255
            ],
            [
                0.0370519880707,
                -1.07543499108,
                0.308864554255,
                2.05861333572
            ],
        ];
        let pairs = iris_pairs();
        for (sweeps, expected) in [(1, once), (10, ten_times), (1000, at_the_end)] {
            let found = learn(Itml::new().sweeps(sweeps), &pairs);
            assert!(relative_error(&found, &expected) < 1e-7, "{sweeps}");
        }
    }

    #[test]
    fn percentiles_of_irises() {
        let x = iris().0.mapv(|v| v as f32);
        let (near, far) = Itml::new().percentiles(x.view(), 5.0, 95.0).unwrap();
        // Of all 11,175 pairs .2 and 28.193; a sample of 10,000 of them is near.
        assert!(
            (near - 0.2).abs() < 0.03 && (far - 28.193).abs() < 0.6,
            "{near} {far}"
        );
        assert!((percentile(&[1.0, 2.0, 4.0], 75.0) - 3.0).abs() < 1e-15);
        let few = array![[0.0_f32], [0.0], [2.0]];
        let found = Itml::new().percentiles(few.view(), 0.0, 100.0).unwrap();
        assert_eq!(found, (4.0, 4.0));
    }

    /// Projections by their formulas, a matrix at a time.
    fn naive(itml: Itml, x: &Array2<f64>, pairs: &Pairs, bounds: (f64, f64)) -> Array2<f64> {
        let mut m = Array2::<f64>::eye(x.ncols());
        let mut all: Vec<_> = pairs.iter().filter(|p| p.3 > 0.0).collect();
        all.sort_by_key(|pair| !pair.2);
        let mut lambda = vec![0.0_f64; all.len()];
        let start = |p: &(u32, u32, bool, f32)| if p.2 { bounds.0 } else { bounds.1 };
        let mut xi: Vec<f64> = all.iter().map(start).collect();
        for _ in 0..itml.sweeps {
            for (c, &(a, b, alike, w)) in all.iter().enumerate() {
                let gamma = itml.gamma * f64::from(w);
                let v = &x.row(a as usize) - &x.row(b as usize);
                let mv = m.dot(&v);
                let p = v.dot(&mv);
                let s = if alike { 1.0 } else { -1.0 };
                let alpha = lambda[c].min(s * gamma / (gamma + 1.0) * (1.0 / p - 1.0 / xi[c]));
                lambda[c] -= alpha;
                let beta = s * alpha / (1.0 - s * alpha * p);
                xi[c] = 1.0 / (1.0 / xi[c] + s * alpha / gamma);
                for ((i, j), m) in m.indexed_iter_mut() {
                    *m += beta * mv[i] * mv[j];
                }
            }
        }
        m
    }

    proptest! {
        #[test]
        fn equals_the_formulas_and_is_positive(
            d in prop_oneof![1_usize..20, MANY..MANY + 9], number in any::<u64>(),
            gamma in 0.1_f64..10.0,
        ) {
            let mut rng = seed::stream(number, "itml");
            let x = Array2::from_shape_fn((9, d), |_| rng.random_range(-1.0..1.0));
            let mut pairs = Pairs::default();
            for _ in 0..60 {
                let a = rng.random_range(0..9_u32);
                let b = (a + rng.random_range(1..9)) % 9;
                pairs.push(a, b, rng.random(), rng.random_range(0..4) as f32 / 2.0);
            }
            let constraints = Constraints::of(x.view(), &pairs, &Monitor::silent()).unwrap();
            let itml = Itml::new().gamma(gamma).sweeps(4).tolerance(1e-300);
            prop_assume!(!constraints.rows.is_empty());
            let prior = Array2::eye(d);
            let found = itml.learn(&constraints, prior, (0.1, 2.0), &Monitor::silent()).unwrap();
            prop_assert!(relative_error(&found, &naive(itml, &x, &pairs, (0.1, 2.0))) < 1e-8);
            prop_assert!(spd::eigenvalues(&found).unwrap()[0] >= 0.0);
        }
    }

    #[test]
    fn weights_are_multiplicities_and_0_is_absence() {
        let mut twice = Pairs::default();
        let mut weighted = Pairs::default();
        for (p, (a, b, alike, _)) in iris_pairs().iter().enumerate() {
            twice.push(a, b, alike, 1.0);
            if p % 3 == 0 {
                twice.push(a, b, alike, 1.0);
            }
            weighted.push(a, b, alike, if p % 3 == 0 { 2.0 } else { 1.0 });
            if b != (a + 70) % 150 {
                weighted.push(b, (a + 70) % 150, alike, 0.0);
            }
        }
        // The two go different ways to the same end.
        let itml = Itml::new().sweeps(30_000).tolerance(1e-7);
        let error = relative_error(&learn(itml, &weighted), &learn(itml, &twice));
        assert!(error < 1e-3, "{error}");
    }

    #[test]
    fn one_kind_of_pairs_more_columns_than_rows_and_priors() {
        let mut rng = seed::stream(3, "itml");
        let x = Array2::from_shape_fn((6, 30), |_| rng.random_range(-1.0_f32..1.0));
        for alike in [true, false] {
            let mut pairs = Pairs::default();
            pairs.push(0, 1, alike, 1.0);
            pairs.push(2, 3, alike, 1.0);
            for prior in [Prior::Identity, Prior::Covariance] {
                let itml = Itml::new().prior(prior);
                let m = itml
                    .fit_pairs(x.view(), &pairs, &Monitor::silent())
                    .unwrap();
                assert!(spd::eigenvalues(&m).unwrap()[0] > 0.0);
            }
        }
        // Pairs that contradict each other.
        let mut pairs = Pairs::default();
        pairs.push(0, 1, true, 1.0);
        pairs.push(0, 1, false, 1.0);
        let m = Itml::new()
            .fit_pairs(x.view(), &pairs, &Monitor::silent())
            .unwrap();
        assert!(m.iter().all(|v| v.is_finite()));
        // A constant column.
        let flat = Array2::from_shape_fn((6, 2), |(i, j)| if j == 0 { i as f32 } else { 1.0 });
        let m = Itml::new()
            .fit_pairs(flat.view(), &pairs, &Monitor::silent())
            .unwrap();
        assert!(m.iter().all(|v| v.is_finite()));
    }

    #[test]
    fn the_number_of_threads_changes_nothing_and_it_can_be_stopped() {
        let x = iris().0.mapv(|v| v as f32);
        let fit = |monitor: &Monitor| Itml::new().fit_pairs(x.view(), &iris_pairs(), monitor);
        let (one, two) = in_one_and_two_threads(|| fit(&Monitor::silent()).unwrap());
        assert_eq!(one, two);
        let monitor = Monitor::silent();
        monitor.cancel();
        assert_eq!(
            fit(&monitor).unwrap_err().kind(),
            crate::ErrorKind::Cancelled
        );
    }

    #[test]
    fn wrong_input_is_named() {
        let x = array![[0.0_f32, 1.0], [1.0, 0.0], [1.0, 0.0]];
        let mut pairs = Pairs::default();
        let said = |itml: Itml, pairs: &Pairs| {
            let found = itml.fit_pairs(x.view(), pairs, &Monitor::silent());
            found.unwrap_err().to_string()
        };
        assert!(said(Itml::new(), &pairs).contains("needs pairs"));
        pairs.push(1, 2, true, 1.0);
        assert!(said(Itml::new(), &pairs).contains("needs pairs"));
        assert!(said(Itml::new().gamma(0.0), &pairs).contains("itml.gamma"));
        assert!(said(Itml::new().sweeps(0), &pairs).contains("itml.sweeps"));
        let squared = Itml::new().bounds(Bounds::squared(2.0, 1.0));
        assert!(said(squared, &pairs).contains("itml.bounds = (2, 1)"));
        let percentiles = Itml::new().bounds(Bounds::percentiles(5.0, 101.0));
        assert!(said(percentiles, &pairs).contains("0 to 100"));
    }
}
