//! Affinity propagation with a log-likelihood ratio prior: a metric from what two Gaussians of
//! differences say, that follows affinities spread from the pairs.
//!
//! ```text
//! P = nearest positive matrix to S^-1 - D^-1         S, D: means of differences' squares, + ridge
//! M = (P^-1 + eta H)^-1                              H = X^T (D_W - W) X, scaled
//! ```
//!
//! with the propagated affinity `W` of Liu, He and Chang: 1 and -1 on alike and unlike pairs, spread over
//! the neighbours of all rows. `P` is how much likelier a difference is of an alike than of an
//! unlike pair, both being Gaussian; its eigenvalues are at least a millionth of the largest. `eta` = 0 gives `P`.
//!
//! **Use it** to compare with: printed results are below those of plain features on two of four
//! sets, as few pairs leave `S` next to singular. **Not** in many dimensions; take 100 to 200
//! principal directions first.
//!
//! Cost: the neighbour search (O(n^2 d) up to 300,000 rows), O(n k d) times some 50 iterations, O(n d^2
//! + d^3); memory O(n (d + k)). No n x n matrix, where printed is O(n^3).
//!
//! Source: Dutta and Sekhar, "Affinity propagation based closed-form semi-supervised metric
//! learning", ICANN 2018, as described by Dutta, Harandi and Sekhar, AAAI 2021: the prior, the
//! affinity and a closed form. That nearness to the prior is the log-determinant divergence is our
//! reading. The prior is that of Köstinger et al., "Large scale metric learning from equivalence
//! constraints", CVPR 2012. Ours: the ridge (1e-3 of the mean variance, [`Apllr::paper`] 1e-8), the scale of `H`
//! and the bound of `eta` ([below](#what-is-shared)), weights. In directions in which
//! no alike pair differs, as of few items in many columns, `P` is as large as the inverse of the ridge, and
//! `eta` is lowered to about the ridge: with 1e-8 affinities have next to no part in `M`, and where the largest
//! eigenvalue is that inverse, a millionth of it is more than pairs say of any other direction: `P` then only tells directions in which
//! no alike pair differs from all others. Report both ridges there.
//!
//! # What is shared
//! With `R = (I - gamma Q)^-1` of the graph of neighbours and `W0` as the pairs say, `H` is divided
//! by `(1 - gamma) 1^T R |W0| 1`, which is the sum of all affinities where no pair is unlike. `H` may
//! have negative eigenvalues; `eta` is lowered to .9 of the largest value that leaves `M` positive, and a
//! warning tells to what.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::constraints::{Constraints, mass};
use super::propagated::Propagated;
use super::spd::{self, Cholesky};
use crate::learn::{Evidence, Fit, Need};
use crate::matrix::check_finite;
use crate::model::Model;
use crate::{Error, Monitor, Pairs, Result};

/// Parameters; see [`apllr`](self).
///
/// ```
/// use likewise::{Monitor, Pairs, linear::Apllr};
/// let x = ndarray::array![[0.0, 0.0], [3.0, 0.1], [0.1, 1.0], [3.1, 1.2], [1.0, 0.1_f32]];
/// let mut pairs = Pairs::default();
/// for (a, b, alike) in [(0, 1, true), (2, 3, true), (0, 2, false), (1, 3, false)] {
///     pairs.push(a, b, alike, 1.0);
/// }
/// let m = Apllr::new().k(2).fit_pairs(x.view(), &pairs, &Monitor::silent())?;
/// // Alike pairs differ in the first column, so it counts less.
/// assert!(m[(0, 0)] < m[(1, 1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Apllr {
    k: usize,
    gamma: f64,
    eta: f64,
    ridge: f64,
}

impl Default for Apllr {
    fn default() -> Self {
        Self {
            k: 10,
            gamma: 0.99,
            eta: 1.0,
            ridge: 1e-3,
        }
    }
}

impl Apllr {
    /// 10 neighbours, gamma .99, eta 1, a ridge of 1e-3.
    pub fn new() -> Self {
        Self::default()
    }

    /// Next to no ridge: a prior that is near-singular has eigenvalues as large as its inverse, beside which affinities
    /// have hardly any part, and what is less than a millionth of them is raised to that.
    pub fn paper() -> Self {
        Self::default().ridge(1e-8)
    }

    /// Neighbours of a row, at least 1; all others where these are fewer.
    #[must_use]
    pub fn k(mut self, k: usize) -> Self {
        self.k = k;
        self
    }

    /// Share that is passed on at each step, above 0 and below 1.
    #[must_use]
    pub fn gamma(mut self, gamma: f64) -> Self {
        self.gamma = gamma;
        self
    }

    /// Weight of affinities against nearness to the prior, at least 0; lowered where no minimum
    /// would exist.
    #[must_use]
    pub fn eta(mut self, eta: f64) -> Self {
        self.eta = eta;
        self
    }

    /// Share of the mean variance that is added in every direction before inverses, above 0.
    #[must_use]
    pub fn ridge(mut self, ridge: f64) -> Self {
        self.ridge = ridge;
        self
    }

    /// The metric `M` (`d x d`) from rows (`n x d`), all of which make the graph, and pairs of them.
    ///
    /// Fails on NaN, on parameters out of range, on pairs that do not [fit](Pairs::check) the rows,
    /// without alike and unlike pairs of different rows, where unlike pairs are nowhere farther apart
    /// than alike ones, and when cancelled.
    pub fn fit_pairs(
        &self,
        x: ArrayView2<f32>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        Ok(self.followed(x, pairs, monitor)?.0)
    }

    /// As [`fit_pairs`](Self::fit_pairs), with the weight of affinities that was taken.
    pub(super) fn followed(
        &self,
        x: ArrayView2<f32>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<(Array2<f64>, f64)> {
        self.validate()?;
        check_finite(x, "affinity propagation metric learning")?;
        let constraints = Constraints::of(x, pairs, monitor)?;
        let prior = self.prior(&constraints)?;
        self.propagated().follow(&prior, x, &constraints, monitor)
    }

    /// Checks every parameter.
    pub fn validate(&self) -> Result<()> {
        if !(self.ridge > 0.0 && self.ridge.is_finite()) {
            let rule = "must be finite and above 0";
            return Err(Error::parameter("apllr.ridge", self.ridge, rule));
        }
        self.propagated().validate()
    }

    /// Neighbours of a row, the share that is passed on, and the weight of affinities.
    pub(super) fn spreads(&self) -> (usize, f64, f64) {
        (self.k, self.gamma, self.eta)
    }

    fn propagated(&self) -> Propagated {
        Propagated {
            learner: "apllr",
            k: self.k,
            gamma: self.gamma,
            eta: self.eta,
        }
    }

    /// `P`, without a floor.
    fn prior(&self, constraints: &Constraints) -> Result<Array2<f64>> {
        constraints.need("affinity propagation metric learning", true, true)?;
        let inverse = |scatter: Array2<f64>, pairs: f64| {
            let mut mean = scatter / pairs;
            let ridge = self.ridge * mean.diag().sum() / mean.nrows() as f64;
            mean.diag_mut().mapv_inplace(|v| v + ridge);
            let remedy = "raise ridge";
            Ok::<_, Error>(Cholesky::of_metric(&mean, "what pairs say", remedy)?.inverse())
        };
        let alike = inverse(constraints.alike_scatter(), mass(&constraints.alike))?;
        let unlike = inverse(constraints.unlike_scatter(), mass(&constraints.unlike))?;
        spd::project(&(alike - unlike))
    }
}

impl Fit for Apllr {
    fn needs(&self) -> &'static [Need] {
        &[Need::Compared, Need::Alike]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<()> {
        Apllr::validate(self)
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        evidence.metric_of_pairs(seed, monitor, |x, pairs| self.fit_pairs(x, pairs, monitor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::check_values::{iris, iris_pairs, relative_error};
    use crate::reference::in_one_and_two_threads;
    use crate::seed;
    use rand::RngExt;

    fn irises() -> Array2<f32> {
        iris().0.mapv(|v| v as f32)
    }

    fn fit(apllr: Apllr, x: &Array2<f32>, pairs: &Pairs) -> Array2<f64> {
        apllr
            .fit_pairs(x.view(), pairs, &Monitor::silent())
            .unwrap()
    }

    #[test]
    fn without_affinities_it_is_the_prior() {
        let (x, pairs) = (irises(), iris_pairs());
        let m = fit(Apllr::paper().eta(0.0), &x, &pairs);
        let given = Constraints::of(x.view(), &pairs, &Monitor::silent()).unwrap();
        let inverse = |scatter: Array2<f64>| spd::power(&(scatter / 60.0), -1.0).unwrap();
        let ratio = inverse(given.alike_scatter()) - inverse(given.unlike_scatter());
        let largest = spd::eigen(&ratio).unwrap().largest();
        let floored = spd::eigen(&ratio)
            .unwrap()
            .matrix(|v| v.max(1e-6 * largest));
        assert!(relative_error(&m, &floored) < 1e-5);
        // Affinities are added to its inverse, in proportion to eta.
        let added = |eta: f64| {
            let near = fit(Apllr::paper().eta(eta), &x, &pairs);
            assert!(spd::eigenvalues(&near).unwrap()[0] > 0.0);
            spd::power(&near, -1.0).unwrap() - spd::power(&m, -1.0).unwrap()
        };
        assert!(relative_error(&added(0.02), &(added(0.01) * 2.0)) < 1e-3);
    }

    #[test]
    fn weights_threads_and_more_columns_than_rows() {
        let mut rng = seed::stream(7, "apllr");
        let x = Array2::from_shape_fn((9, 30), |_| rng.random_range(-1.0_f32..1.0));
        let (mut once, mut twice) = (Pairs::default(), Pairs::default());
        for p in 0..9 {
            once.push(p, (p + 4) % 9, p % 3 != 0, 1.0);
            once.push(p, (p + 1) % 9, p % 3 != 0, 0.0);
            twice.push(p, (p + 4) % 9, p % 3 != 0, 0.5);
            twice.push((p + 4) % 9, p, p % 3 != 0, 0.5);
        }
        let m = fit(Apllr::new(), &x, &once);
        assert!(m.iter().all(|v| v.is_finite()));
        assert!(spd::eigenvalues(&m).unwrap()[0] > 0.0);
        assert!(relative_error(&fit(Apllr::new(), &x, &twice), &m) < 1e-6);
        let (one, two) = in_one_and_two_threads(|| fit(Apllr::new(), &x, &once));
        assert_eq!(one, two);
    }

    #[test]
    fn wrong_input_is_named() {
        let (x, mut pairs) = (irises(), iris_pairs());
        let said = |apllr: Apllr, pairs: &Pairs| {
            let found = apllr.fit_pairs(x.view(), pairs, &Monitor::silent());
            found.unwrap_err().to_string()
        };
        assert!(said(Apllr::new().ridge(0.0), &pairs).contains("apllr.ridge"));
        assert!(said(Apllr::new().gamma(1.0), &pairs).contains("apllr.gamma"));
        assert!(said(Apllr::new().eta(-1.0), &pairs).contains("apllr.eta"));
        assert!(said(Apllr::new().k(0), &pairs).contains("apllr.k"));
        // Alike is unlike, and the other way round.
        for alike in &mut pairs.alike {
            *alike = !*alike;
        }
        let mut apart = Pairs::default();
        apart.push(0, 100, true, 1.0);
        assert!(said(Apllr::new(), &apart).contains("unlike pairs"));
        apart.push(0, 100, false, 1.0);
        assert!(said(Apllr::new(), &apart).contains("nowhere farther apart"));
        assert!(
            Apllr::new()
                .fit_pairs(x.view(), &pairs, &Monitor::silent())
                .is_ok()
        );
    }
}
