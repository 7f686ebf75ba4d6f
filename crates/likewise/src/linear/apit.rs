//! Affinity propagation with an information-theoretic prior: the metric of
//! [`Itml`], that follows affinities spread from the pairs.
//!
//! ```text
//! P = metric of information-theoretic metric learning from the pairs
//! M = (P^-1 + eta H)^-1                              H = X^T (D_W - W) X, scaled
//! ```
//!
//! with the propagated affinity `W` as [`apllr`](super::apllr) has it. `eta` = 0 gives `P`, with eigenvalues of at least a
//! millionth of the largest.
//!
//! **Use it** as [`Apllr`](super::Apllr), with few pairs: its prior never is singular. **Not** where
//! [`Itml`] alone is as good, which says nothing of rows without pairs and needs no graph.
//!
//! Cost: that of both; memory O(n (d + k) + d^2).
//!
//! Source: Dutta and Sekhar, "Affinity propagation based closed-form semi-supervised metric
//! learning", ICANN 2018, as described by Dutta, Harandi and Sekhar, AAAI 2021; the prior of Davis
//! et al., ICML 2007. As with [`apllr`](super::apllr#what-is-shared), nearness to the prior by the
//! log-determinant divergence is our reading, and ours are the scale of `H`, the bound of `eta`, and
//! weights.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::constraints::Constraints;
use super::itml::Itml;
use super::propagated::Propagated;
use crate::learn::{Evidence, Fit, Need};
use crate::matrix::check_finite;
use crate::model::Model;
use crate::{Monitor, Pairs, Result};

/// Parameters; see [`apit`](self).
///
/// ```
/// use likewise::{Monitor, Pairs, linear::Apit};
/// let x = ndarray::array![[0.0, 0.0], [3.0, 0.1], [0.1, 1.0], [3.1, 1.2], [1.0, 0.1_f32]];
/// let mut pairs = Pairs::default();
/// for (a, b, alike) in [(0, 1, true), (2, 3, true), (0, 2, false), (1, 3, false)] {
///     pairs.push(a, b, alike, 1.0);
/// }
/// let m = Apit::new().k(2).fit_pairs(x.view(), &pairs, &Monitor::silent())?;
/// // Alike pairs differ in the first column, so it counts less.
/// assert!(m[(0, 0)] < m[(1, 1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Apit {
    k: usize,
    gamma: f64,
    eta: f64,
    prior: Itml,
}

impl Default for Apit {
    fn default() -> Self {
        Self {
            k: 10,
            gamma: 0.99,
            eta: 1.0,
            prior: Itml::new(),
        }
    }
}

impl Apit {
    /// 10 neighbours, gamma .99, eta 1, the prior with its own defaults.
    pub fn new() -> Self {
        Self::default()
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

    /// Parameters of the prior.
    #[must_use]
    pub fn prior(mut self, prior: Itml) -> Self {
        self.prior = prior;
        self
    }

    /// Parameters of the prior that change nothing beside its others, each with the reason.
    pub fn idle_of_prior(&self) -> Vec<(&'static str, &'static str)> {
        self.prior.idle()
    }

    /// The metric `M` (`d x d`) from rows (`n x d`), all of which make the graph, and pairs of them.
    ///
    /// Fails as [`Itml::fit_pairs`] does, and with fewer than two rows.
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
        let prior = self.prior.fit_pairs(x, pairs, monitor)?;
        // The prior has warned of pairs that it left out.
        let constraints = Constraints::of(x, pairs, &monitor.quiet())?;
        self.propagated().follow(&prior, x, &constraints, monitor)
    }

    /// Checks every parameter, those of the prior too.
    pub fn validate(&self) -> Result<()> {
        self.prior.validate()?;
        self.propagated().validate()
    }

    /// Neighbours of a row, the share that is passed on, and the weight of affinities.
    pub(super) fn spreads(&self) -> (usize, f64, f64) {
        (self.k, self.gamma, self.eta)
    }

    fn propagated(&self) -> Propagated {
        Propagated {
            learner: "apit",
            k: self.k,
            gamma: self.gamma,
            eta: self.eta,
        }
    }
}

impl Fit for Apit {
    fn needs(&self) -> &'static [Need] {
        &[Need::Compared]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<()> {
        Apit::validate(self)
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        evidence.metric_of_pairs(seed, monitor, |x, pairs| self.fit_pairs(x, pairs, monitor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::check_values::{iris, iris_pairs, relative_error};
    use crate::linear::spd;
    use crate::reference::in_one_and_two_threads;
    use crate::seed;
    use rand::RngExt;

    fn fit(apit: Apit, x: &Array2<f32>, pairs: &Pairs) -> Array2<f64> {
        apit.fit_pairs(x.view(), pairs, &Monitor::silent()).unwrap()
    }

    #[test]
    fn without_affinities_it_is_the_prior() {
        let x = iris().0.mapv(|v| v as f32);
        let pairs = iris_pairs();
        let prior = Itml::new()
            .fit_pairs(x.view(), &pairs, &Monitor::silent())
            .unwrap();
        let m = fit(Apit::new().eta(0.0), &x, &pairs);
        assert!(relative_error(&m, &prior) < 1e-9);
        // Affinities are added to its inverse, in proportion to eta.
        let added = |eta: f64| {
            let near = fit(Apit::new().eta(eta), &x, &pairs);
            assert!(spd::eigenvalues(&near).unwrap()[0] > 0.0);
            spd::power(&near, -1.0).unwrap() - spd::power(&m, -1.0).unwrap()
        };
        assert!(relative_error(&added(0.02), &(added(0.01) * 2.0)) < 1e-3);
    }

    #[test]
    fn weight_0_threads_and_more_columns_than_rows() {
        let mut rng = seed::stream(7, "apit");
        let x = Array2::from_shape_fn((9, 30), |_| rng.random_range(-1.0_f32..1.0));
        for alike in [true, false] {
            let (mut pairs, mut more) = (Pairs::default(), Pairs::default());
            for p in 0..9 {
                pairs.push(p, (p + 4) % 9, alike, 1.0);
                more.push(p, (p + 4) % 9, alike, 1.0);
                more.push(p, (p + 1) % 9, !alike, 0.0);
            }
            let (one, two) = in_one_and_two_threads(|| fit(Apit::new(), &x, &pairs));
            assert_eq!(one, two);
            assert!(spd::eigenvalues(&one).unwrap()[0] > 0.0);
            assert_eq!(fit(Apit::new(), &x, &more), one);
        }
    }

    #[test]
    fn wrong_input_is_named() {
        let x = iris().0.mapv(|v| v as f32);
        let said = |apit: Apit, pairs: &Pairs| {
            let found = apit.fit_pairs(x.view(), pairs, &Monitor::silent());
            found.unwrap_err().to_string()
        };
        let pairs = iris_pairs();
        assert!(said(Apit::new().prior(Itml::new().gamma(0.0)), &pairs).contains("itml.gamma"));
        assert!(said(Apit::new().gamma(1.0), &pairs).contains("apit.gamma"));
        assert!(said(Apit::new().eta(f64::NAN), &pairs).contains("apit.eta"));
        assert!(said(Apit::new().k(0), &pairs).contains("apit.k"));
        assert!(said(Apit::new(), &Pairs::default()).contains("needs pairs"));
    }
}
