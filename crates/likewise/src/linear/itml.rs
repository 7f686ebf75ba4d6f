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

mod sweep;
#[cfg(test)]
mod tests;

use ndarray::{Array2, ArrayView2};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use self::sweep::{Bound, sweep};
use super::constraints::{Constraints, Link};
use super::spd::{self, Cholesky, shrink, symmetrize, usual_shrinkage};
use super::whitening::Spectrum;
use crate::learn::{Evidence, Fit, Need, Size};
use crate::matrix::check_finite;
use crate::model::Model;
use crate::{Error, Monitor, Pairs, Result, seed};

/// Distances that percentiles are taken of.
const SAMPLE: usize = 10_000;
/// Pairs whose squared distance is below this share of `u` have come together.
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

    /// Parameters that change nothing beside the others, each with the reason.
    pub fn idle(&self) -> Vec<(&'static str, &'static str)> {
        match self.bounds {
            Bounds::Percentiles { .. } => Vec::new(),
            Bounds::Squared { .. } => {
                vec![(
                    "seed",
                    "squared distances are the bounds, so none are drawn",
                )]
            }
        }
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
        // By the inverse of the covariance distances have no unit, and only the bounds have that of the rows.
        let least = match self.prior {
            Prior::Identity => NEAR * near,
            Prior::Covariance => NEAR * near.min(1.0),
        };
        let of_kind = |links: &[Link], sign: f64, bound: f64| -> Vec<Bound> {
            let bound = |link: &Link| Bound {
                a: link.a as usize,
                b: link.b as usize,
                sign,
                gamma: self.gamma * link.weight,
                lambda: 0.0,
                inverse: bound.recip(),
                least,
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

    fn gives_distance(&self) -> bool {
        true
    }

    /// As many sweeps as are allowed; each pair changes the whole metric.
    fn operations(&self, of: &Size) -> f64 {
        self.sweeps as f64 * of.pairs() * 20.0 * of.columns * of.columns
    }

    fn validate(&self) -> Result<()> {
        Itml::validate(self)
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        evidence.metric_of_pairs(seed, monitor, |x, pairs| self.fit_pairs(x, pairs, monitor))
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
