//! Geometric mean metric learning: the metric halfway between two, in closed form.
//!
//! ```text
//! minimise  tr(M S) + tr(M^-1 D)                 S, D: scatter of alike and of unlike pairs
//! M = S^-1 #_t D = S^(-1/2) (S^(1/2) D S^(1/2))^t S^(-1/2)
//!
//! S = sum w (x_a - x_b)^T (x_a - x_b) over alike pairs, + ridge I;  D likewise over unlike ones
//! ```
//!
//! `M` lies on the shortest line, among positive matrices, from `S^-1` (`t` = 0: alike pairs alone,
//! as in [`Rca`](super::Rca)) to `D` (`t` = 1: unlike pairs alone). The minimum is `t` = 1/2, where
//! `M S M = D`.
//!
//! **Use it** for a metric from many pairs at once: nothing to tune but `t`, no iterations, and
//! as good as slower learners in its source. **Not** with a few pairs in many dimensions: the
//! scatters say nothing of most directions, and what is learned there is the shrinkage. Reduce
//! the dimensions first.
//!
//! Cost: O(pairs d + m d^2 + d^3) time for `m` rows in pairs; memory O(m d + d^2).
//!
//! Source: Zadeh, Hosseini and Sra, "Geometric mean metric learning", ICML 2016, eqs. (5), (6)
//! and (13); the ridge is their regularisation with the Euclidean prior. Ours: weights, and
//! `(1 - s) A + s tr(A)/d I` of both scatters, without which few pairs, or a column that does not vary, leave them
//! singular. The recipe of its name shrinks as much as that asks for: a millionth, or a tenth of few pairs.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::constraints::{Constraints, mass};
use super::spd::{self, Cholesky, check_shrinkage, shrink, usual_shrinkage};
use crate::learn::{Evidence, Fit, Need};
use crate::matrix::check_finite;
use crate::model::Model;
use crate::{Error, Monitor, Pairs, Result};

/// Parameters of geometric mean metric learning; see [`gmml`](self).
///
/// ```
/// use likewise::{Monitor, Pairs, linear::Gmml};
/// let x = ndarray::array![[0.0, 0.0], [3.0, 0.1], [0.1, 1.0], [3.1, 1.2_f32]];
/// let mut pairs = Pairs::default();
/// for (a, b, alike) in [(0, 1, true), (2, 3, true), (0, 2, false), (1, 3, false)] {
///     pairs.push(a, b, alike, 1.0);
/// }
/// let m = Gmml::new().fit_pairs(x.view(), &pairs, &Monitor::silent())?;
/// // Alike pairs differ in the first column, so it counts less.
/// assert!(m[(0, 0)] < m[(1, 1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gmml {
    t: f64,
    ridge: f64,
    shrinkage: Option<f64>,
}

impl Default for Gmml {
    fn default() -> Self {
        Self {
            t: 0.5,
            ridge: 0.0,
            shrinkage: None,
        }
    }
}

impl Gmml {
    /// Halfway; each scatter shrunk by a tenth where there are fewer than two of its pairs a
    /// dimension, and else next to not.
    pub fn new() -> Self {
        Self::default()
    }

    /// As published: halfway, without shrinkage.
    pub fn paper() -> Self {
        Self::default().shrinkage(0.0)
    }

    /// Place between alike pairs alone (0) and unlike pairs alone (1).
    #[must_use]
    pub fn t(mut self, t: f64) -> Self {
        self.t = t;
        self
    }

    /// Added to the diagonal of both scatters, at least 0, in the units of the features squared
    /// times the number of pairs.
    #[must_use]
    pub fn ridge(mut self, ridge: f64) -> Self {
        self.ridge = ridge;
        self
    }

    /// Share of the mean variance in every direction's, from 0 to 1.
    #[must_use]
    pub fn shrinkage(mut self, shrinkage: f64) -> Self {
        self.shrinkage = Some(shrinkage);
        self
    }

    /// The metric `M` (`d x d`) from rows (`n x d`) and pairs of them.
    ///
    /// Fails on NaN, on parameters out of range, on pairs that do not [fit](Pairs::check) the rows,
    /// without alike pairs of different rows (or unlike ones, unless `t` is 0), and where they
    /// leave a scatter singular.
    pub fn fit_pairs(
        &self,
        x: ArrayView2<f32>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        self.validate()?;
        check_finite(x, "geometric mean metric learning")?;
        self.learn(&Constraints::of(x, pairs, monitor)?)
    }

    /// Checks every parameter.
    pub fn validate(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.t) {
            return Err(Error::parameter("gmml.t", self.t, "must be from 0 to 1"));
        }
        if !(0.0..f64::INFINITY).contains(&self.ridge) {
            let rule = "must be finite and at least 0";
            return Err(Error::parameter("gmml.ridge", self.ridge, rule));
        }
        check_shrinkage("gmml.shrinkage", self.shrinkage)
    }

    fn learn(&self, constraints: &Constraints) -> Result<Array2<f64>> {
        constraints.need("geometric mean metric learning", true, self.t > 0.0)?;
        let alike = self.regular(constraints.alike_scatter(), mass(&constraints.alike));
        let remedy = "give a shrinkage above 0, or more pairs";
        let alike = Cholesky::of_metric(&alike, "what is alike", remedy)?;
        if self.t == 0.0 {
            return Ok(alike.inverse());
        }
        let unlike = self.regular(constraints.unlike_scatter(), mass(&constraints.unlike));
        // With S = R R^T the mean is R^-T (R^T D R)^t R^-1: means move along with the axes.
        let mean = spd::power(&alike.around(&unlike), self.t)?;
        Ok(alike.unwhitened(&mean))
    }

    /// The scatter of so many pairs, shrunk and with the ridge.
    fn regular(&self, mut scatter: Array2<f64>, pairs: f64) -> Array2<f64> {
        let d = scatter.nrows();
        let share = self.shrinkage.unwrap_or_else(|| usual_shrinkage(pairs, d));
        shrink(&mut scatter, share);
        scatter.diag_mut().mapv_inplace(|v| v + self.ridge);
        scatter
    }
}

impl Fit for Gmml {
    fn needs(&self) -> &'static [Need] {
        &[Need::Compared, Need::Alike]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<()> {
        Gmml::validate(self)
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        evidence.metric_of_pairs(seed, monitor, |x, pairs| self.fit_pairs(x, pairs, monitor))
    }
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use super::*;
    use crate::linear::check_values::{iris, iris_pairs, relative_error};
    use crate::reference::in_one_and_two_threads;
    use crate::seed;
    use ndarray::array;
    use proptest::prelude::*;
    use rand::RngExt;

    fn constraints(x: &Array2<f64>, pairs: &Pairs) -> Constraints {
        Constraints::of(x.view(), pairs, &Monitor::silent()).unwrap()
    }

    #[test]
    fn the_check_values_of_irises() {
        let given = constraints(&iris().0, &iris_pairs());
        let inverse = array![
            [
                0.0728034326472,
                -0.0498697398962,
                -0.0469804166964,
                0.0319494048743
            ],
            [
                -0.0498697398962,
                0.163938260479,
                0.0369697982326,
                -0.170146721085
            ],
            [
                -0.0469804166964,
                0.0369697982326,
                0.135225065101,
                -0.194847514627
            ],
            [
                0.0319494048743,
                -0.170146721085,
                -0.194847514627,
                0.673671081781
            ],
        ];
        let quarter = array![
            [
                0.255045302234,
                -0.0722966783511,
                -0.0378450849444,
                0.0190996525103
            ],
            [
                -0.0722966783511,
                0.461277183191,
                -0.0556317753373,
                -0.26650210073
            ],
            [
                -0.0378450849444,
                -0.0556317753373,
                0.525551125721,
                -0.146509486552
            ],
            [
                0.0190996525103,
                -0.26650210073,
                -0.146509486552,
                1.1158301837
            ],
        ];
        let half = array![
            [
                1.34496525073,
                -0.0191152061718,
                0.994889854568,
                0.348338568464
            ],
            [
                -0.0191152061718,
                1.51979812415,
                -0.661645244641,
                -0.552116296527
            ],
            [0.994889854568, -0.661645244641, 4.08803240197, 1.2130477876],
            [0.348338568464, -0.552116296527, 1.2130477876, 2.39099906467],
        ];
        let unlike = given.unlike_scatter();
        for (t, expected) in [(0.0, inverse), (0.25, quarter), (0.5, half), (1.0, unlike)] {
            let found = Gmml::paper().t(t).learn(&given).unwrap();
            assert!(relative_error(&found, &expected) < 1e-8, "{t}");
        }
    }

    #[test]
    fn the_check_values_of_a_ridge() {
        let given = constraints(&iris().0, &iris_pairs());
        let ridge = array![
            [
                1.34450230031,
                -0.0195028931076,
                0.994144601003,
                0.34680404625
            ],
            [
                -0.0195028931076,
                1.51223624326,
                -0.660203719023,
                -0.538326387423
            ],
            [
                0.994144601003,
                -0.660203719023,
                4.07699831591,
                1.21999702013
            ],
            [0.34680404625, -0.538326387423, 1.21999702013, 2.34827791282],
        ];
        let found = Gmml::paper().ridge(0.1).learn(&given).unwrap();
        assert!(relative_error(&found, &ridge) < 1e-8);
        // The default is next to the same as without any.
        let plain = Gmml::paper().learn(&given).unwrap();
        let found = Gmml::new().learn(&given).unwrap();
        assert!(relative_error(&found, &plain) < 1e-3);
    }

    fn random(n: usize, d: usize, number: u64) -> (Array2<f64>, Pairs) {
        let mut rng = seed::stream(number, "gmml");
        let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0..1.0));
        let mut pairs = Pairs::default();
        for p in 0..3 * n as u32 {
            let a = p % n as u32;
            let b = (a + rng.random_range(1..n as u32)) % n as u32;
            pairs.push(a, b, p % 2 == 0, rng.random_range(0.5_f32..2.0));
        }
        (x, pairs)
    }

    proptest! {
        #[test]
        fn halfway_is_where_the_two_terms_balance(
            n in 8_usize..16, d in 1_usize..6, share in 0.0_f64..1.0, number in any::<u64>(),
        ) {
            let (x, pairs) = random(n, d, number);
            let given = constraints(&x, &pairs);
            let gmml = Gmml::new().shrinkage(share);
            let m = gmml.learn(&given).unwrap();
            let alike = gmml.regular(given.alike_scatter(), 0.0);
            let unlike = gmml.regular(given.unlike_scatter(), 0.0);
            prop_assert!(relative_error(&m.dot(&alike).dot(&m), &unlike) < 1e-7);
            prop_assert!(spd::eigenvalues(&m).unwrap()[0] > 0.0);
            // At any place, by the formula as it is written.
            let root = spd::power(&alike, 0.5).unwrap();
            let back = spd::power(&alike, -0.5).unwrap();
            let inner = spd::power(&root.dot(&unlike).dot(&root), 0.3).unwrap();
            let found = gmml.t(0.3).learn(&given).unwrap();
            prop_assert!(relative_error(&found, &back.dot(&inner).dot(&back)) < 1e-6);
        }
    }

    #[test]
    fn weights_are_multiplicities_and_0_is_absence() {
        let (x, _) = random(8, 3, 1);
        let (mut once, mut twice) = (Pairs::default(), Pairs::default());
        for p in 0..8 {
            let alike = p % 3 != 0;
            once.push(p, (p + 3) % 8, alike, 2.0);
            once.push(p, (p + 1) % 8, alike, 0.0);
            twice.push(p, (p + 3) % 8, alike, 1.0);
            twice.push((p + 3) % 8, p, alike, 1.0);
        }
        let learn = |pairs| Gmml::new().learn(&constraints(&x, pairs)).unwrap();
        assert!(relative_error(&learn(&once), &learn(&twice)) < 1e-10);
    }

    #[test]
    fn few_pairs_constant_columns_and_contradictions_are_no_trouble() {
        let (x, pairs) = random(6, 40, 2);
        let x = x.mapv(|v| v as f32);
        let fit = |x: &Array2<f32>, gmml: Gmml, pairs: &Pairs| {
            gmml.fit_pairs(x.view(), pairs, &Monitor::silent())
        };
        let m = fit(&x, Gmml::new(), &pairs).unwrap();
        assert!(spd::eigenvalues(&m).unwrap()[0] > 0.0);
        let mut flat = x.clone();
        flat.column_mut(3).fill(1.0);
        assert!(fit(&flat, Gmml::new(), &pairs).is_ok());
        let said = fit(&x, Gmml::paper(), &pairs).unwrap_err().to_string();
        assert!(said.contains("shrinkage above 0"), "{said}");
        let mut both = Pairs::default();
        both.push(0, 1, true, 1.0);
        both.push(0, 1, false, 1.0);
        let m = fit(&x, Gmml::new(), &both).unwrap();
        assert!(m.iter().all(|v| v.is_finite()));
        let (one, two) = in_one_and_two_threads(|| fit(&x, Gmml::new(), &pairs).unwrap());
        assert_eq!(one, two);
    }

    #[test]
    fn wrong_input_is_named() {
        let (x, mut pairs) = random(6, 3, 3);
        let x = x.mapv(|v| v as f32);
        let said = |gmml: Gmml, pairs: &Pairs| {
            let found = gmml.fit_pairs(x.view(), pairs, &Monitor::silent());
            found.unwrap_err().to_string()
        };
        assert!(said(Gmml::new().t(1.5), &pairs).contains("gmml.t"));
        assert!(said(Gmml::new().ridge(-1.0), &pairs).contains("gmml.ridge"));
        assert!(said(Gmml::new().shrinkage(f64::NAN), &pairs).contains("gmml.shrinkage"));
        pairs.alike.fill(true);
        assert!(said(Gmml::new(), &pairs).contains("unlike pairs"));
        assert!(
            Gmml::new()
                .t(0.0)
                .fit_pairs(x.view(), &pairs, &Monitor::silent())
                .is_ok()
        );
        pairs.alike.fill(false);
        assert!(said(Gmml::new(), &pairs).contains("alike pairs"));
    }
}
