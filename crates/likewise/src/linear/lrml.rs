//! Laplacian regularised metric learning: pairs, and a metric that keeps neighbours near, in
//! closed form.
//!
//! ```text
//! minimise  tr(M H0) + gamma_s tr(M S) - gamma_d tr(M D)    with  log det M >= 0
//! M = det(H)^(1/d) H^-1                  H = H0 + ridge tr/d I + gamma_s S - gamma_d D
//!
//! H0 = mean of (x_i - x_j)^T (x_i - x_j) over neighbours: X^T (D - W) X / edges, with W_ij = 1
//!      where one of i and j is among the k nearest of the other
//! S, D = the same mean over alike and over unlike pairs
//! ```
//!
//! The neighbours of all rows, labeled or not, say which directions are noise, and the pairs what
//! is alike. The minimum exists only for a positive `H`: `gamma_d` is lowered to .9 of the largest
//! value that leaves it so, and a warning tells to what.
//!
//! **Use it** with few pairs and many rows without labels, where near rows mostly are alike. **Not**
//! where neighbours are of other classes, which it pulls together: look at the share of right
//! neighbours first.
//!
//! Cost: the neighbour search (O(n^2 d) up to 300,000 rows), O(n k d + n d^2 + d^3); memory
//! O(n k + d^2).
//!
//! Source: Hoi, Liu and Chang, "Semi-supervised distance metric learning for collaborative image
//! retrieval and clustering", ACM TOMM 2010, with `gamma_s = gamma_d = 1` and `k = 20` of Dutta
//! and Sekhar. Printed sums have no scale to compare by; we take means of edges and of pairs. The
//! unnormalised Laplacian as in Dutta, Harandi and Sekhar, AAAI 2021; the source divides each row
//! by the root of its degree. Ours: the bound of `gamma_d`, the ridge, and weights.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::constraints::{Constraints, mass};
use super::laplacian::Laplacian;
use super::nearest::{edges, nearest};
use super::spd::{self, Cholesky};
use super::terms::{Links, PairTerms};
use crate::learn::{Evidence, Fit, Need};
use crate::matrix::check_finite;
use crate::model::Model;
use crate::{Error, Monitor, Pairs, Result};

/// Share of the largest possible `gamma_d` that is taken at most.
const MOST: f64 = 0.9;

/// Parameters of Laplacian regularised metric learning; see [`lrml`](self).
///
/// ```
/// use likewise::{Monitor, Pairs, linear::Lrml};
/// let x = ndarray::array![[0.0, 0.0], [1.0, 0.1], [2.0, 0.0], [0.1, 1.0], [1.0, 1.2_f32]];
/// let mut pairs = Pairs::default();
/// pairs.push(0, 2, true, 1.0);
/// pairs.push(0, 3, false, 1.0);
/// let m = Lrml::new().k(2).fit_pairs(x.view(), &pairs, &Monitor::silent())?;
/// // The alike pair differs in the first column, so it counts less.
/// assert!(m[(0, 0)] < m[(1, 1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lrml {
    k: usize,
    gamma_s: f64,
    gamma_d: f64,
    ridge: Option<f64>,
}

impl Default for Lrml {
    fn default() -> Self {
        Self {
            k: 20,
            gamma_s: 1.0,
            gamma_d: 1.0,
            ridge: None,
        }
    }
}

impl Lrml {
    /// 20 neighbours, both weights 1, and a ridge of a tenth where there are fewer than two rows a
    /// dimension, else 1e-8.
    pub fn new() -> Self {
        Self::default()
    }

    /// Neighbours of a row, at least 1; all others where these are fewer.
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

    /// Share of the mean variance that is added in every direction, at least 0.
    #[must_use]
    pub fn ridge(mut self, ridge: f64) -> Self {
        self.ridge = Some(ridge);
        self
    }

    /// The metric `M` (`d x d`, of determinant 1) from rows (`n x d`), all of which make the
    /// graph, and pairs of them.
    ///
    /// Fails on NaN, on parameters out of range, on pairs that do not [fit](Pairs::check) the rows,
    /// without a pair of different rows, where the rows are all the same, and when cancelled.
    pub fn fit_pairs(
        &self,
        x: ArrayView2<f32>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        Ok(self.linked(x, pairs, monitor)?.0)
    }

    /// What is minimised, as terms of pairs.
    pub(super) fn terms(&self) -> PairTerms {
        PairTerms::Distances {
            alike: self.gamma_s,
            unlike: self.gamma_d,
            near: 1.0,
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
        check_finite(x, "Laplacian regularised metric learning")?;
        let constraints = Constraints::of(x, pairs, monitor)?;
        let edges = edges(&nearest(x, self.k, monitor)?);
        let laplacian = Laplacian::of(x.nrows(), edges.iter().map(|edge| (edge.0, edge.1)));
        let near = laplacian.scatter(x, &vec![1.0; edges.len()]) / edges.len() as f64;
        let links = edges.iter().map(|edge| (edge.0, edge.1, 1.0)).collect();
        let metric = self.learn(near, x.nrows(), &constraints, monitor)?;
        Ok((metric, links))
    }

    /// Checks every parameter.
    pub fn validate(&self) -> Result<()> {
        if self.k == 0 {
            return Err(Error::parameter("lrml.k", 0, "must be at least 1"));
        }
        for (field, value) in [
            ("lrml.gamma_s", self.gamma_s),
            ("lrml.gamma_d", self.gamma_d),
            ("lrml.ridge", self.ridge.unwrap_or_default()),
        ] {
            if !(0.0..f64::INFINITY).contains(&value) {
                return Err(Error::parameter(
                    field,
                    value,
                    "must be finite and at least 0",
                ));
            }
        }
        Ok(())
    }

    /// From the scatter of neighbours among `n` rows.
    fn learn(
        &self,
        near: Array2<f64>,
        n: usize,
        constraints: &Constraints,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        let d = near.nrows();
        if constraints.alike.is_empty() && constraints.unlike.is_empty() {
            return Err(Error::data(
                "Laplacian regularised metric learning needs pairs of different rows, and there \
                 are none; give some",
            ));
        }
        let alike = constraints.alike_scatter() / mass(&constraints.alike).max(f64::MIN_POSITIVE);
        let unlike =
            constraints.unlike_scatter() / mass(&constraints.unlike).max(f64::MIN_POSITIVE);
        let mut together = near + alike * self.gamma_s;
        let few = n < 2 * d;
        let ridge = self.ridge.unwrap_or(if few { 0.1 } else { 1e-8 });
        let ridge = ridge * together.diag().sum() / d as f64;
        together.diag_mut().mapv_inplace(|v| v + ridge);
        let (gamma_d, most) = capped(&together, &unlike, self.gamma_d)?;
        if gamma_d < self.gamma_d {
            monitor.warn(format!(
                "lrml.gamma_d = {}: {gamma_d:.3e} was taken, as no metric is the best from {most:.3e} on",
                self.gamma_d
            ));
        }
        let whole = Cholesky::of_metric(&(together - unlike * gamma_d), "what is near", REMEDY)?;
        // The logarithm of the determinant is a sum over dimensions: no power of d overflows.
        let scale = (whole.log_determinant() / d as f64).exp();
        Ok(whole.inverse() * scale)
    }
}

impl Fit for Lrml {
    fn needs(&self) -> &'static [Need] {
        &[Need::Compared]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<()> {
        Lrml::validate(self)
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        evidence.metric_of_pairs(seed, monitor, |x, pairs| self.fit_pairs(x, pairs, monitor))
    }
}

const REMEDY: &str = "give a ridge above 0";

/// `wanted`, or .9 of the least factor at which `together - factor apart` is no longer positive,
/// where that is less; and that factor.
///
/// Fails unless `together` is positive.
pub(crate) fn capped(
    together: &Array2<f64>,
    apart: &Array2<f64>,
    wanted: f64,
) -> Result<(f64, f64)> {
    let root = Cholesky::of_metric(together, "what is near", REMEDY)?;
    let values = spd::eigenvalues(&root.whitened(apart))?;
    let largest = values.last().copied().unwrap_or_default();
    if largest <= 0.0 {
        return Ok((wanted, f64::INFINITY));
    }
    Ok((wanted.min(MOST / largest), largest.recip()))
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use super::*;
    use crate::Event;
    use crate::linear::check_values::{iris, iris_pairs, relative_error};
    use crate::reference::in_one_and_two_threads;
    use crate::seed;
    use ndarray::array;
    use proptest::prelude::*;
    use rand::RngExt;
    use std::sync::{Arc, Mutex};

    /// Scatter of neighbours of the irises, k = 6.
    fn near() -> Array2<f64> {
        array![
            [
                0.052737704918,
                0.00840983606557,
                0.0104262295082,
                -0.00190163934426
            ],
            [
                0.00840983606557,
                0.059393442623,
                -0.000868852459017,
                0.00539344262295
            ],
            [
                0.0104262295082,
                -0.000868852459016,
                0.0539508196721,
                0.00731147540984
            ],
            [
                -0.00190163934426,
                0.00539344262295,
                0.00731147540984,
                0.035262295082
            ],
        ]
    }

    fn expected() -> Array2<f64> {
        array![
            [
                0.387272724631,
                -0.182965264302,
                -0.236248204107,
                0.0313018156744
            ],
            [
                -0.182965264302,
                2.07298277051,
                -1.26403221979,
                -2.38776512359
            ],
            [
                -0.236248204107,
                -1.26403221979,
                1.84041247722,
                1.33756244599
            ],
            [
                0.0313018156744,
                -2.38776512359,
                1.33756244599,
                4.69538140958
            ],
        ]
    }

    #[test]
    fn the_check_values_of_irises() {
        let (x, _) = iris();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = heard.clone();
        let monitor = Monitor::new(move |event| {
            if let Event::Warning(said) = event {
                ear.lock().unwrap().push(said.clone());
            }
        });
        let constraints = Constraints::of(x.view(), &iris_pairs(), &monitor).unwrap();
        let m = Lrml::new()
            .learn(near(), 150, &constraints, &monitor)
            .unwrap();
        assert!(relative_error(&m, &expected()) < 1e-7);
        let said = heard.lock().unwrap().concat();
        assert!(said.contains("2.719e-2 was taken"), "{said}");
        let determinant: f64 = spd::eigenvalues(&m).unwrap().iter().map(|v| v.ln()).sum();
        assert!(determinant.abs() < 1e-9);
    }

    #[test]
    fn the_graph_of_irises() {
        // In millimetres the distances are whole numbers: ties go to the smaller index. The
        // check values broke ties by rounding, so a few of the 610 edges are others.
        let x = iris().0.mapv(|v| (10.0 * v).round() as f32);
        let edges = edges(&nearest(x.view(), 6, &Monitor::silent()).unwrap());
        assert!(edges.len().abs_diff(610) < 10, "{}", edges.len());
        let m = Lrml::new()
            .k(6)
            .fit_pairs(x.view(), &iris_pairs(), &Monitor::silent());
        let error = relative_error(&m.unwrap(), &expected());
        assert!(error < 0.1, "{error}");
    }

    fn random(n: usize, d: usize, number: u64) -> (Array2<f32>, Pairs) {
        let mut rng = seed::stream(number, "lrml");
        let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..1.0));
        let mut pairs = Pairs::default();
        for p in 0..n as u32 {
            let b = (p + rng.random_range(1..n as u32)) % n as u32;
            pairs.push(p, b, p % 2 == 0, rng.random_range(0.5_f32..2.0));
        }
        (x, pairs)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_metric_of_determinant_1_is_better(
            n in 6_usize..20, d in 1_usize..6, k in 1_usize..8, number in any::<u64>(),
        ) {
            let (x, pairs) = random(n, d, number);
            // A small weight of unlike pairs, so that nothing is lowered.
            let lrml = Lrml::new().k(k).gamma_d(1e-4).ridge(1e-2);
            let m = lrml.fit_pairs(x.view(), &pairs, &Monitor::silent()).unwrap();
            // The objective, pair by pair.
            let x = x.mapv(f64::from);
            let square = |m: &Array2<f64>, a: usize, b: usize| {
                let delta = &x.row(a) - &x.row(b);
                delta.dot(&m.dot(&delta))
            };
            let by_distance = |i: usize| {
                let mut others: Vec<usize> = (0..n).filter(|&j| j != i).collect();
                let eye = Array2::<f64>::eye(d);
                others.sort_by(|&p, &q| square(&eye, i, p).total_cmp(&square(&eye, i, q)));
                others.truncate(k);
                others
            };
            let near: Vec<Vec<usize>> = (0..n).map(by_distance).collect();
            let linked = |i: usize, j: usize| near[i].contains(&j) || near[j].contains(&i);
            let edges: Vec<(usize, usize)> = (0..n)
                .flat_map(|i| (0..i).map(move |j| (i, j)))
                .filter(|&(i, j)| linked(i, j))
                .collect();
            let ends = |alike: bool| -> Vec<(usize, usize, f64)> {
                let kind = pairs.iter().filter(|p| p.2 == alike);
                kind.map(|p| (p.0 as usize, p.1 as usize, f64::from(p.3))).collect()
            };
            let (alike, unlike) = (ends(true), ends(false));
            let mean = |m: &Array2<f64>, links: &[(usize, usize, f64)]| {
                let mass: f64 = links.iter().map(|l| l.2).sum();
                links.iter().map(|l| l.2 * square(m, l.0, l.1)).sum::<f64>() / mass
            };
            let edges: Vec<_> = edges.into_iter().map(|(a, b)| (a, b, 1.0)).collect();
            let eye = Array2::<f64>::eye(d);
            let trace: f64 = mean(&eye, &edges) + mean(&eye, &alike);
            let value = |m: &Array2<f64>| {
                let ridge = 1e-2 * trace / d as f64 * m.diag().sum();
                mean(m, &edges) + mean(m, &alike) + ridge - 1e-4 * mean(m, &unlike)
            };
            let best = value(&m);
            let mut rng = seed::stream(number, "others");
            for _ in 0..5 {
                let step = Array2::from_shape_fn((d, d), |_| rng.random_range(-0.1..0.1));
                let l = spd::factor(&m).unwrap().dot(&(Array2::<f64>::eye(d) + step));
                let other = l.t().dot(&l);
                let det: f64 = spd::eigenvalues(&other).unwrap().iter().map(|v| v.ln()).sum();
                let other = other * (-det / d as f64).exp();
                prop_assert!(value(&other) >= best * (1.0 - 1e-5));
            }
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
        let fit = |pairs| {
            Lrml::new()
                .fit_pairs(x.view(), pairs, &Monitor::silent())
                .unwrap()
        };
        assert!(relative_error(&fit(&once), &fit(&twice)) < 1e-9);
    }

    #[test]
    fn degenerate_inputs() {
        let (x, pairs) = random(8, 40, 2);
        let fit = |x: &Array2<f32>, pairs: &Pairs| {
            Lrml::new().fit_pairs(x.view(), pairs, &Monitor::silent())
        };
        let (one, two) = in_one_and_two_threads(|| fit(&x, &pairs).unwrap());
        assert_eq!(one, two);
        assert!(spd::eigenvalues(&one).unwrap()[0] > 0.0);
        for alike in [true, false] {
            let mut kind = pairs.clone();
            kind.alike.fill(alike);
            assert!(fit(&x, &kind).unwrap().iter().all(|v| v.is_finite()));
        }
        let said = |found: Result<Array2<f64>>| found.unwrap_err().to_string();
        assert!(said(fit(&x, &Pairs::default())).contains("needs pairs"));
        let same = Array2::<f32>::ones((8, 3));
        assert!(said(fit(&same, &pairs)).contains("needs pairs"));
        let with = |lrml: Lrml| said(lrml.fit_pairs(x.view(), &pairs, &Monitor::silent()));
        assert!(with(Lrml::new().k(0)).contains("lrml.k"));
        assert!(with(Lrml::new().gamma_d(-1.0)).contains("lrml.gamma_d"));
        assert!(with(Lrml::new().ridge(0.0)).contains("ridge above 0"));
    }
}
