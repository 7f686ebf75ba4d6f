//! Semi-supervised metric learning with affinities that the density of rows is divided out of.
//!
//! ```text
//! minimise  gamma_s tr(M S) - gamma_d tr(M D) + beta tr(M H0) + r (tr M - log det M)
//! M = r H^-1                        H = r I + gamma_s S + beta H0 - gamma_d D
//!
//! a_ij = exp(-|x_i - x_j|^2 / s^2)   of neighbours; s^2: mean squared distance of neighbours
//! rho_i = sum_j a_ij, divided by its mean;         W_ij = a_ij / (rho_i rho_j)
//! H0 = X^T (D_W - W) X / (sum of W over edges);    S, D: means over alike, over unlike pairs
//! ```
//!
//! all of rows divided by the root of their mean squared distance, so that `r` means the same
//! whatever the units are; `M` is for the rows as they came. An edge in a dense region weighs less,
//! since there are many of them; [`Density::Multiplied`] takes `a_ij rho_i rho_j` in place of that. `rho`
//! is .01 at least: two rows far from all others would else outweigh the whole graph.
//!
//! The minimum exists only for a positive `H`: `gamma_d` is lowered to .9 of the largest value that
//! leaves it so, and a warning tells to what.
//!
//! **Use it** as [`Lrml`](super::Lrml), where classes have clusters of very different density. **Not**
//! with few rows, whose density nobody knows.
//!
//! Cost: the neighbour search (O(n^2 d) up to 300,000 rows), O(n k d + n d^2 + d^3); memory
//! O(n k + d^2).
//!
//! Source: Ying, Wen, Shi, Peng, Peng and Qiao, "Manifold preserving: an intrinsic approach for
//! semisupervised distance metric learning", IEEE TNNLS 2017, as described by Dutta, Harandi and
//! Sekhar, AAAI 2021: pairs drawn together and apart, and affinities scaled by the densities around both
//! items. The formulas of the scaling and of the barrier `r` are ours, made from that description.
//! The source goes down along the manifold of positive matrices; with this barrier the minimum it
//! goes to has a closed form, which we take (a test walks there). Ours besides: weights.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::constraints::{Constraints, mass, mean_square};
use super::laplacian::Laplacian;
use super::lrml::capped;
use super::nearest::{edges, nearest};
use super::spd::Cholesky;
use super::terms::{Links, PairTerms};
use crate::learn::{Evidence, Fit, Need};
use crate::matrix::check_finite;
use crate::model::Model;
use crate::neighbor::Neighbors;
use crate::{Error, Monitor, Pairs, Result};

/// Least density of a row, beside the mean one.
const LEAST: f64 = 0.01;

/// What the densities around both rows do to the affinity of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Density {
    /// It is divided by both: edges in dense regions weigh less.
    #[default]
    Divided,
    /// It is multiplied by both: edges in dense regions weigh more.
    Multiplied,
}

/// Parameters; see [`isdml`](self).
///
/// ```
/// use likewise::{Monitor, Pairs, linear::Isdml};
/// let x = ndarray::array![[0.0, 0.0], [1.0, 0.1], [2.0, 0.0], [0.1, 1.0], [1.0, 1.2_f32]];
/// let mut pairs = Pairs::default();
/// pairs.push(0, 2, true, 1.0);
/// pairs.push(0, 3, false, 1.0);
/// let m = Isdml::new().k(2).fit_pairs(x.view(), &pairs, &Monitor::silent())?;
/// // The alike pair differs in the first column, so it counts less.
/// assert!(m[(0, 0)] < m[(1, 1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Isdml {
    k: usize,
    gamma_s: f64,
    gamma_d: f64,
    beta: f64,
    barrier: f64,
    density: Density,
}

impl Default for Isdml {
    fn default() -> Self {
        Self {
            k: 10,
            gamma_s: 1.0,
            gamma_d: 1.0,
            beta: 1.0,
            barrier: 0.1,
            density: Density::Divided,
        }
    }
}

impl Isdml {
    /// 10 neighbours, all weights 1, a barrier of .1, densities divided out.
    pub fn new() -> Self {
        Self::default()
    }

    /// Neighbours of a row, at least 1; all others where these are fewer. 50 for fine classes.
    #[must_use]
    pub fn k(mut self, k: usize) -> Self {
        self.k = k;
        self
    }

    /// Weight of alike pairs, at least 0.
    #[must_use]
    pub fn gamma_s(mut self, gamma_s: f64) -> Self {
        self.gamma_s = gamma_s;
        self
    }

    /// Weight of unlike pairs, at least 0; lowered where no minimum would exist.
    #[must_use]
    pub fn gamma_d(mut self, gamma_d: f64) -> Self {
        self.gamma_d = gamma_d;
        self
    }

    /// Weight of neighbours, at least 0.
    #[must_use]
    pub fn beta(mut self, beta: f64) -> Self {
        self.beta = beta;
        self
    }

    /// How much the metric is held near the Euclidean one, above 0: `r` of the formulas.
    #[must_use]
    pub fn barrier(mut self, barrier: f64) -> Self {
        self.barrier = barrier;
        self
    }

    /// What densities do to affinities.
    #[must_use]
    pub fn density(mut self, density: Density) -> Self {
        self.density = density;
        self
    }

    /// The metric `M` (`d x d`) from rows (`n x d`), all of which make the graph, and pairs of them.
    ///
    /// Fails on NaN, on parameters out of range, on pairs that do not [fit](Pairs::check) the rows,
    /// without a pair of different rows, and when cancelled.
    pub fn fit_pairs(
        &self,
        x: ArrayView2<f32>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        Ok(self.linked(x, pairs, monitor)?.0)
    }

    /// What is minimised, as terms of pairs.
    pub(super) fn pair_terms(&self) -> PairTerms {
        PairTerms::Distances {
            alike: self.gamma_s,
            unlike: self.gamma_d,
            near: self.beta,
        }
    }

    /// As [`fit_pairs`](Self::fit_pairs), with the edges of the graph.
    pub(super) fn linked(
        &self,
        x: ArrayView2<f32>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<(Array2<f64>, Links)> {
        self.validate()?;
        check_finite(x, "semi-supervised metric learning")?;
        let constraints = Constraints::of(x, pairs, monitor)?;
        let neighbors = nearest(x, self.k, monitor)?;
        let links = self.links(x.nrows(), &neighbors);
        let near = near(x, &links);
        let metric = self.learn(near, mean_square(x), &constraints, monitor)?;
        Ok((metric, links))
    }

    /// Checks every parameter.
    pub fn validate(&self) -> Result<()> {
        if self.k == 0 {
            return Err(Error::parameter("isdml.k", 0, "must be at least 1"));
        }
        for (field, value) in [
            ("isdml.gamma_s", self.gamma_s),
            ("isdml.gamma_d", self.gamma_d),
            ("isdml.beta", self.beta),
        ] {
            if !(0.0..f64::INFINITY).contains(&value) {
                let rule = "must be finite and at least 0";
                return Err(Error::parameter(field, value, rule));
            }
        }
        if !(self.barrier > 0.0 && self.barrier.is_finite()) {
            let rule = "must be finite and above 0";
            return Err(Error::parameter("isdml.barrier", self.barrier, rule));
        }
        Ok(())
    }

    /// `W` of the edges among `n` rows.
    fn links(&self, n: usize, neighbors: &Neighbors) -> Vec<(u32, u32, f64)> {
        let edges = edges(neighbors);
        let squares = neighbors
            .similarities
            .iter()
            .map(|&s| f64::from(-s).max(0.0));
        let width = squares.sum::<f64>() / neighbors.similarities.len() as f64;
        let affinity = |square: f64| {
            // All neighbours are copies: all are as near as can be.
            if width > 0.0 {
                (-square / width).exp()
            } else {
                1.0
            }
        };
        let mut weights: Vec<f64> = edges.iter().map(|edge| affinity(edge.2)).collect();
        let mut density = vec![0.0; n];
        for (edge, weight) in edges.iter().zip(&weights) {
            density[edge.0 as usize] += weight;
            density[edge.1 as usize] += weight;
        }
        let mean = density.iter().sum::<f64>() / density.len() as f64;
        for (edge, weight) in edges.iter().zip(&mut weights) {
            let both = [edge.0, edge.1].map(|row| (density[row as usize] / mean).max(LEAST));
            match self.density {
                Density::Divided => *weight /= both[0] * both[1],
                Density::Multiplied => *weight *= both[0] * both[1],
            }
        }
        let weighted = edges.iter().zip(weights);
        weighted
            .map(|(edge, weight)| (edge.0, edge.1, weight))
            .collect()
    }

    /// From `H0` and the mean squared distance of two rows.
    fn learn(
        &self,
        near: Array2<f64>,
        scale: f64,
        constraints: &Constraints,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        let (together, apart) = self.terms(near, scale, constraints)?;
        let (gamma_d, most) = capped(&together, &apart, self.gamma_d)?;
        if gamma_d < self.gamma_d {
            monitor.warn(format!(
                "isdml.gamma_d = {}: {gamma_d:.3e} was taken, as no metric is the best from {most:.3e} on",
                self.gamma_d
            ));
        }
        let remedy = "raise barrier";
        let whole = Cholesky::of_metric(&(together - apart * gamma_d), "what is near", remedy)?;
        Ok(whole.inverse() * (self.barrier / scale))
    }

    /// `r I + gamma_s S + beta H0`, and `D`, of scaled rows.
    fn terms(
        &self,
        near: Array2<f64>,
        scale: f64,
        constraints: &Constraints,
    ) -> Result<(Array2<f64>, Array2<f64>)> {
        if constraints.alike.is_empty() && constraints.unlike.is_empty() {
            return Err(Error::data(
                "semi-supervised metric learning needs pairs of different rows, and there are \
                 none; give some",
            ));
        }
        let alike = constraints.alike_scatter() / mass(&constraints.alike).max(f64::MIN_POSITIVE);
        let apart = constraints.unlike_scatter() / mass(&constraints.unlike).max(f64::MIN_POSITIVE);
        let mut together = (near * self.beta + alike * self.gamma_s) / scale;
        together.diag_mut().mapv_inplace(|v| v + self.barrier);
        Ok((together, apart / scale))
    }
}

/// `H0` of the rows as they came.
fn near<T: Copy + Into<f64> + Sync>(x: ArrayView2<T>, links: &[(u32, u32, f64)]) -> Array2<f64> {
    let weights: Vec<f64> = links.iter().map(|link| link.2).collect();
    let sum: f64 = weights.iter().sum();
    let ends = links.iter().map(|link| (link.0, link.1));
    Laplacian::of(x.nrows(), ends).scatter(x, &weights) / sum
}

impl Fit for Isdml {
    fn needs(&self) -> &'static [Need] {
        &[Need::Compared]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<()> {
        Isdml::validate(self)
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        evidence.metric_of_pairs(seed, monitor, |x, pairs| self.fit_pairs(x, pairs, monitor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::check_values::relative_error;
    use crate::linear::spd;
    use crate::reference::in_one_and_two_threads;
    use crate::seed;
    use ndarray::array;
    use proptest::prelude::*;
    use rand::RngExt;

    fn random(n: usize, d: usize, number: u64) -> (Array2<f32>, Pairs) {
        let mut rng = seed::stream(number, "isdml");
        let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..1.0));
        let mut pairs = Pairs::default();
        for p in 0..n as u32 {
            let b = (p + rng.random_range(1..n as u32)) % n as u32;
            pairs.push(p, b, p % 2 == 0, rng.random_range(0.5_f32..2.0));
        }
        (x, pairs)
    }

    fn fit(isdml: Isdml, x: &Array2<f32>, pairs: &Pairs) -> Array2<f64> {
        isdml
            .fit_pairs(x.view(), pairs, &Monitor::silent())
            .unwrap()
    }

    #[test]
    fn a_graph_by_hand() {
        // Three rows in a line: 0 and 1 are nearest to each other, 2 to 1.
        let x = array![[0.0_f32], [1.0], [3.0]];
        let neighbors = nearest(x.view(), 1, &Monitor::silent()).unwrap();
        // Squared distances 1, 1 and 4: their mean is 2.
        let (a, b) = ((-0.5_f64).exp(), (-2.0_f64).exp());
        let mean = 2.0 * (a + b) / 3.0;
        let rho = [a, a + b, b].map(|r| r / mean);
        let edges = [a / (rho[0] * rho[1]), b / (rho[1] * rho[2])];
        let expected = (edges[0] + 4.0 * edges[1]) / (edges[0] + edges[1]);
        let found = near(x.view(), &Isdml::new().links(x.nrows(), &neighbors));
        assert!((found[(0, 0)] - expected).abs() < 1e-12);
        let edges = [a * rho[0] * rho[1], b * rho[1] * rho[2]];
        let expected = (edges[0] + 4.0 * edges[1]) / (edges[0] + edges[1]);
        let multiplied = Isdml::new().density(Density::Multiplied);
        let found = near(x.view(), &multiplied.links(x.nrows(), &neighbors));
        assert!((found[(0, 0)] - expected).abs() < 1e-12);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn going_down_along_the_manifold_ends_there(
            n in 6_usize..16, d in 1_usize..5, number in any::<u64>(),
        ) {
            let (x, pairs) = random(n, d, number);
            let isdml = Isdml::new().k(3).gamma_d(0.05).barrier(0.3);
            let neighbors = nearest(x.view(), 3, &Monitor::silent()).unwrap();
            let constraints = Constraints::of(x.view(), &pairs, &Monitor::silent()).unwrap();
            let near = near(x.view(), &isdml.links(x.nrows(), &neighbors));
            let scale = mean_square(x.view());
            let m = isdml.learn(near.clone(), scale, &constraints, &Monitor::silent()).unwrap();
            let (together, apart) = isdml.terms(near, scale, &constraints).unwrap();
            let h = together - apart * 0.05;
            let value = |m: &Array2<f64>| {
                let logs: f64 = spd::eigenvalues(m).unwrap().iter().map(|v| v.ln()).sum();
                h.dot(m).diag().sum() - 0.3 * logs
            };
            // M <- M^(1/2) exp(-step M^(1/2) (H - r M^-1) M^(1/2)) M^(1/2), the step halved until
            // the value falls.
            let mut at = Array2::<f64>::eye(d);
            for _ in 0..300 {
                let root = spd::power(&at, 0.5).unwrap();
                let slope = root.dot(&h).dot(&root) - Array2::<f64>::eye(d) * 0.3;
                let size = slope.iter().map(|v| v * v).sum::<f64>().sqrt();
                if size < 1e-7 {
                    break;
                }
                let mut step = 1.0 / size.min(1.0);
                for _ in 0..40 {
                    let moved = spd::eigen(&slope).unwrap().matrix(|v| (-step * v).exp());
                    let next = root.dot(&moved).dot(&root);
                    if value(&next) < value(&at) - 1e-4 * step * size * size {
                        at = next;
                        break;
                    }
                    step /= 2.0;
                }
            }
            prop_assert!(relative_error(&(at / scale), &m) < 1e-4);
        }
    }

    #[test]
    fn weights_are_multiplicities_and_0_is_absence() {
        let (x, _) = random(9, 3, 1);
        let (mut once, mut twice) = (Pairs::default(), Pairs::default());
        for p in 0..9 {
            let weight = 1 + p % 2;
            once.push(p, (p + 4) % 9, p % 3 != 0, weight as f32);
            once.push(p, (p + 1) % 9, p % 3 != 0, 0.0);
            for _ in 0..weight {
                twice.push(p, (p + 4) % 9, p % 3 != 0, 1.0);
            }
        }
        let (once, twice) = (fit(Isdml::new(), &x, &once), fit(Isdml::new(), &x, &twice));
        assert!(relative_error(&once, &twice) < 1e-9);
    }

    #[test]
    fn units_do_not_matter_and_threads_neither() {
        let (x, pairs) = random(40, 6, 2);
        let m = fit(Isdml::new(), &x, &pairs);
        let other = fit(Isdml::new(), &(&x * 64.0), &pairs) * 4096.0;
        assert!(relative_error(&other, &m) < 1e-6);
        let (one, two) = in_one_and_two_threads(|| fit(Isdml::new(), &x, &pairs));
        assert_eq!(one, two);
        assert!(spd::eigenvalues(&one).unwrap()[0] > 0.0);
    }

    #[test]
    fn degenerate_inputs() {
        let (x, pairs) = random(8, 40, 3);
        assert!(fit(Isdml::new(), &x, &pairs).iter().all(|v| v.is_finite()));
        for alike in [true, false] {
            let mut kind = pairs.clone();
            kind.alike.fill(alike);
            assert!(fit(Isdml::new(), &x, &kind).iter().all(|v| v.is_finite()));
        }
        // Copies, and a row that is far from all.
        let far = array![[0.0_f32], [0.0], [0.0], [1.0], [1.0], [1e6]];
        let mut pairs = Pairs::default();
        pairs.push(0, 3, true, 1.0);
        pairs.push(0, 5, false, 1.0);
        for k in [1, 5] {
            assert!(
                fit(Isdml::new().k(k), &far, &pairs)
                    .iter()
                    .all(|v| v.is_finite())
            );
        }
        let said = |isdml: Isdml, pairs: &Pairs| {
            let found = isdml.fit_pairs(far.view(), pairs, &Monitor::silent());
            found.unwrap_err().to_string()
        };
        assert!(said(Isdml::new(), &Pairs::default()).contains("needs pairs"));
        assert!(said(Isdml::new().k(0), &pairs).contains("isdml.k"));
        assert!(said(Isdml::new().beta(-1.0), &pairs).contains("isdml.beta"));
        assert!(said(Isdml::new().barrier(0.0), &pairs).contains("isdml.barrier"));
    }
}
