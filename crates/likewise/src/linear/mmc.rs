//! Metric learning for clustering: unlike pairs far apart, alike ones near on the whole.
//!
//! ```text
//! maximise  sum w d_M over unlike pairs      with  sum w d_M^2 <= 1 over alike pairs
//!
//! full:      M = B^T B;   diagonal:  M = diag(q^2)
//! minimise   -ln sum w d_M (unlike) + ln(sum w d_M^2 (alike)) / 2,   which no factor of M changes
//! ```
//!
//! over `B = A R^-1` with `S = R R^T` the scatter of alike pairs, so that the second term is that of
//! `|A|^2` alone. The distances of unlike pairs are not squared: otherwise one direction would
//! take all.
//!
//! **Use it** as a baseline, and `diagonal` for a weight a column from few pairs. **Not** first: it
//! is the slowest of the learners from pairs, and its optimum is often of very low rank.
//! [`Gmml`](super::Gmml) takes the same pairs in closed form.
//!
//! Cost: some 50 to 500 evaluations of O(m d^2 + pairs d + d^3), diagonal O(pairs d); memory O(m d +
//! pairs + 20 d^2) for `m` rows in pairs.
//!
//! Source: Xing, Ng, Jordan and Russell, "Distance metric learning, with application to
//! clustering with side-information", NIPS 2002. Theirs is a convex problem in `M`; with as many rows
//! of `B` as columns every local minimum is one of it, so L-BFGS from the Euclidean metric of
//! whitened rows takes the place of their projections, which mostly stop early: on irises those
//! of the library metric-learn reach 48.22 of 48.51. Its diagonal form ends far from the
//! minimum, by a sign in its line search. Ours besides: weights, and the shrinkage of `S`, without
//! which a direction that no alike pair has would win; the recipe of its name shrinks a millionth, or a tenth of few
//! pairs. Both forms are scaled to the sum 1 of
//! alike pairs.

use std::cell::Cell;

use ndarray::{Array1, Array2, ArrayView2, Zip};
use serde::{Deserialize, Serialize};

use super::constraints::{Constraints, Link, mass, squared_distances};
use super::laplacian::Laplacian;
use super::spd::{Cholesky, check_shrinkage, cross, shrink, symmetrize, usual_shrinkage};
use crate::learn::{Evidence, Fit, Need, Size};
use crate::matrix::{check_finite, product_of_many};
use crate::model::Model;
use crate::solve::lbfgs::{Until, minimise};
use crate::{Error, Monitor, Pairs, Result, parallel};

/// Squared distances are at least this, beside their mean: the root has no slope at 0.
const LEAST: f64 = 1e-18;
/// Links of one task.
const TASK: usize = 1024;

/// Parameters of metric learning for clustering; see [`mmc`](self).
///
/// ```
/// use likewise::{Monitor, Pairs, linear::Mmc};
/// let x = ndarray::array![[0.0, 0.0], [3.0, 0.1], [0.1, 1.0], [3.1, 1.2_f32]];
/// let mut pairs = Pairs::default();
/// for (a, b, alike) in [(0, 1, true), (2, 3, true), (0, 2, false), (1, 3, false)] {
///     pairs.push(a, b, alike, 1.0);
/// }
/// let m = Mmc::new().diagonal(true).fit_pairs(x.view(), &pairs, &Monitor::silent())?;
/// // Alike pairs differ in the first column, so it counts less.
/// assert!(m[(0, 0)] < m[(1, 1)] && m[(0, 1)] == 0.0);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mmc {
    diagonal: bool,
    steps: usize,
    shrinkage: Option<f64>,
}

impl Default for Mmc {
    fn default() -> Self {
        Self {
            diagonal: false,
            steps: 500,
            shrinkage: None,
        }
    }
}

impl Mmc {
    /// A full matrix, at most 500 steps, and a shrinkage of a tenth where there are fewer than two
    /// alike pairs a dimension, else next to none.
    pub fn new() -> Self {
        Self::default()
    }

    /// As published: without shrinkage.
    pub fn paper() -> Self {
        Self::default().shrinkage(0.0)
    }

    /// Whether only a weight a column is learned.
    #[must_use]
    pub fn diagonal(mut self, diagonal: bool) -> Self {
        self.diagonal = diagonal;
        self
    }

    /// Most steps, at least 1.
    #[must_use]
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    /// Share of the mean variance of alike pairs in every direction's, from 0 to 1.
    #[must_use]
    pub fn shrinkage(mut self, shrinkage: f64) -> Self {
        self.shrinkage = Some(shrinkage);
        self
    }

    /// The metric `M` (`d x d`), of which alike pairs have squared distances of sum 1 (of the
    /// shrunk scatter), from rows (`n x d`) and pairs of them.
    ///
    /// Fails on NaN, on parameters out of range, on pairs that do not [fit](Pairs::check) the rows,
    /// without alike and unlike pairs of different rows, where alike pairs do not vary in some
    /// direction and the shrinkage is 0, and when cancelled.
    pub fn fit_pairs(
        &self,
        x: ArrayView2<f32>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        self.validate()?;
        check_finite(x, "metric learning for clustering")?;
        self.learn(&Constraints::of(x, pairs, monitor)?, monitor)
    }

    /// Checks every parameter.
    pub fn validate(&self) -> Result<()> {
        if self.steps == 0 {
            return Err(Error::parameter("mmc.steps", 0, "must be at least 1"));
        }
        check_shrinkage("mmc.shrinkage", self.shrinkage)
    }

    fn learn(&self, constraints: &Constraints, monitor: &Monitor) -> Result<Array2<f64>> {
        constraints.need("metric learning for clustering", true, true)?;
        let d = constraints.d();
        let mut alike = constraints.alike_scatter();
        let usual = || usual_shrinkage(mass(&constraints.alike), d);
        shrink(&mut alike, self.shrinkage.unwrap_or_else(usual));
        let done = Cell::new(0);
        let tick = || {
            done.set(done.get() + 1);
            monitor.step(done.get())
        };
        monitor.start("metric for clustering", None);
        let learned = if self.diagonal {
            self.weights(constraints, &alike.diag().to_owned(), tick)
        } else {
            self.full(constraints, &alike, tick)
        }?;
        monitor.end();
        Ok(learned)
    }

    fn until(&self) -> Until {
        Until {
            steps: self.steps,
            gradient: 1e-7,
        }
    }

    fn full(
        &self,
        constraints: &Constraints,
        alike: &Array2<f64>,
        tick: impl Fn() -> Result<()>,
    ) -> Result<Array2<f64>> {
        let d = constraints.d();
        let remedy = "give a shrinkage above 0, or more pairs";
        let root = Cholesky::of_metric(alike, "what is alike", remedy)?;
        let whitened = root.lower_solve(constraints.rows.t().to_owned());
        let whitened = whitened.t().as_standard_layout().into_owned();
        let links = &constraints.unlike;
        let ends = links.iter().map(|link| (link.a, link.b));
        let laplacian = Laplacian::of(whitened.nrows(), ends);
        let start = (Array2::eye(d) / (d as f64).sqrt()).into_iter().collect();
        let found = minimise(start, self.until(), |a: &[f64]| {
            tick()?;
            let a = square(a, d);
            let mapped = product_of_many(&whitened, &a);
            let squares = squared_distances(&mapped, links);
            let (sum, slopes) = far(&squares, links);
            let size: f64 = a.iter().map(|v| v * v).sum();
            let pull = cross(&laplacian.times(mapped.view(), &slopes), &whitened);
            let gradient = &a / size - pull / sum;
            Ok((size.ln() / 2.0 - sum.ln(), gradient.into_iter().collect()))
        })?;
        let a = square(&found, d);
        let size: f64 = a.iter().map(|v| v * v).sum();
        let mut inner = cross(&a, &a) / size;
        symmetrize(&mut inner);
        Ok(root.unwhitened(&inner))
    }

    /// The diagonal form, from the diagonal of the scatter of alike pairs.
    fn weights(
        &self,
        constraints: &Constraints,
        alike: &Array1<f64>,
        tick: impl Fn() -> Result<()>,
    ) -> Result<Array2<f64>> {
        let d = constraints.d();
        if alike.iter().any(|&v| v <= 0.0) {
            return Err(Error::data(
                "alike pairs do not vary in some of the columns; give a shrinkage above 0",
            ));
        }
        let scale = alike.mapv(|v| v.sqrt().recip());
        let rows = &constraints.rows * &scale;
        let links = &constraints.unlike;
        let start = vec![(d as f64).sqrt().recip(); d];
        let found = minimise(start, self.until(), |q: &[f64]| {
            tick()?;
            let mapped = &rows * &Array1::from(q.to_vec());
            let (sum, slopes) = far(&squared_distances(&mapped, links), links);
            let size: f64 = q.iter().map(|v| v * v).sum();
            let pull = column_squares(&rows, links, &slopes);
            let both = q.iter().zip(&pull);
            let gradient = both.map(|(q, pull)| q / size - q * pull / sum).collect();
            Ok((size.ln() / 2.0 - sum.ln(), gradient))
        })?;
        let size: f64 = found.iter().map(|v| v * v).sum();
        let weights = Array1::from(found).mapv(|q| q * q / size) * &scale * &scale;
        Ok(Array2::from_diag(&weights))
    }
}

impl Fit for Mmc {
    fn needs(&self) -> &'static [Need] {
        &[Need::Compared, Need::Alike]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    /// Some two hundred evaluations.
    fn operations(&self, of: &Size) -> f64 {
        let (m, d) = (of.labeled.min(2.0 * of.pairs()), of.columns);
        let evaluation = 4.0 * m * d * d + 30.0 * of.pairs() * d + 4.0 * d.powi(3);
        self.steps.min(200) as f64 * 4.0 * evaluation
    }

    fn validate(&self) -> Result<()> {
        Mmc::validate(self)
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        evidence.metric_of_pairs(seed, monitor, |x, pairs| self.fit_pairs(x, pairs, monitor))
    }
}

fn square(values: &[f64], d: usize) -> Array2<f64> {
    Array2::from_shape_fn((d, d), |(i, j)| values[i * d + j])
}

/// The sum of `w d`, and `w / d` of each link.
fn far(squares: &[f64], links: &[Link]) -> (f64, Vec<f64>) {
    let mean = squares.iter().sum::<f64>() / squares.len() as f64;
    let least = (LEAST * mean).max(f64::MIN_POSITIVE);
    let distances = squares.iter().map(|square| (square + least).sqrt());
    let both = distances.zip(links);
    let (mut sum, mut slopes) = (0.0, Vec::with_capacity(links.len()));
    for (distance, link) in both {
        sum += link.weight * distance;
        slopes.push(link.weight / distance);
    }
    (sum, slopes)
}

/// The sum over links of `slope (x_a - x_b)^2`, of each column.
fn column_squares(rows: &Array2<f64>, links: &[Link], slopes: &[f64]) -> Array1<f64> {
    let d = rows.ncols();
    let tasks = links.chunks(TASK).zip(slopes.chunks(TASK));
    let parts = parallel::map(tasks, |(links, slopes)| {
        let mut sum = Array1::<f64>::zeros(d);
        for (link, &slope) in links.iter().zip(slopes) {
            Zip::from(&mut sum)
                .and(rows.row(link.a as usize))
                .and(rows.row(link.b as usize))
                .for_each(|sum, a, b| *sum += slope * (a - b) * (a - b));
        }
        sum
    });
    parts.iter().fold(Array1::zeros(d), |sum, part| sum + part)
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use super::*;
    use crate::linear::check_values::{iris, iris_pairs, relative_error};
    use crate::linear::spd;
    use crate::reference::in_one_and_two_threads;
    use crate::seed;
    use ndarray::array;
    use proptest::prelude::*;
    use rand::RngExt;

    fn constraints(x: &Array2<f64>, pairs: &Pairs) -> Constraints {
        Constraints::of(x.view(), pairs, &Monitor::silent()).unwrap()
    }

    fn learn(mmc: Mmc, given: &Constraints) -> Array2<f64> {
        mmc.learn(given, &Monitor::silent()).unwrap()
    }

    /// The sum of distances of unlike pairs, and of squared ones of alike pairs.
    fn sums(m: &Array2<f64>, given: &Constraints) -> (f64, f64) {
        let square = |link: &Link| {
            let delta = &given.rows.row(link.a as usize) - &given.rows.row(link.b as usize);
            delta.dot(&m.dot(&delta)).max(0.0)
        };
        let far = given
            .unlike
            .iter()
            .map(|l| l.weight * square(l).sqrt())
            .sum();
        (far, given.alike.iter().map(|l| l.weight * square(l)).sum())
    }

    fn ratio(m: &Array2<f64>, given: &Constraints) -> f64 {
        let (far, near) = sums(m, given);
        far / near.sqrt()
    }

    #[test]
    fn the_check_values_of_irises() {
        let given = constraints(&iris().0, &iris_pairs());
        let m = learn(Mmc::paper(), &given);
        let found = ratio(&m, &given);
        assert!(found >= 48.510_772_14 * (1.0 - 1e-6), "{found}");
        let expected = array![
            [6.3040009e-05, -0.0018536482, 0.00075814565, 0.0032848578],
            [-0.0018536482, 0.054505255, -0.022292753, -0.096588991],
            [0.00075814565, -0.022292753, 0.0091177784, 0.039505081],
            [0.0032848578, -0.096588991, 0.039505081, 0.17116576],
        ];
        assert!(relative_error(&m, &expected) < 1e-3, "{m}");
        assert!((sums(&m, &given).1 - 1.0).abs() < 1e-9);

        let m = learn(Mmc::paper().diagonal(true), &given);
        // Printed is the minimum of `w s - ln sum d`, where `w s` is a half.
        let (far, near) = sums(&(&m / 2.0), &given);
        assert!((near - far.ln() - -2.738_791_054_04).abs() < 1e-6);
        let weights = m.diag().mapv(|v| v / 2.0);
        assert!((weights[2] - 0.023_320_896).abs() < 1e-6, "{weights}");
        assert!([0, 1, 3].iter().all(|&j| weights[j] < 1e-6), "{weights}");
    }

    fn random(n: usize, d: usize, number: u64) -> (Array2<f64>, Pairs) {
        let mut rng = seed::stream(number, "mmc");
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
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn nothing_near_or_far_is_better(
            n in 6_usize..14, d in 1_usize..6, diagonal in any::<bool>(), number in any::<u64>(),
        ) {
            let (x, pairs) = random(n, d, number);
            let given = constraints(&x, &pairs);
            let m = learn(Mmc::new().shrinkage(0.05).diagonal(diagonal), &given);
            let values = spd::eigenvalues(&m).unwrap();
            prop_assert!(values[0] >= -1e-12 * values[d - 1]);
            let mut alike = given.alike_scatter();
            shrink(&mut alike, 0.05);
            let near = |m: &Array2<f64>| m.dot(&alike).diag().sum();
            let ratio = |m: &Array2<f64>| sums(m, &given).0 / near(m).sqrt();
            let best = ratio(&m);
            // The objective is concave in M on the bound: no line to another metric may rise.
            let mut rng = seed::stream(number, "others");
            for _ in 0..10 {
                let l = Array2::from_shape_fn((d, d), |(i, j)| {
                    if diagonal && i != j { 0.0 } else { rng.random_range(-1.0..1.0) }
                });
                let other = l.t().dot(&l);
                let other = &other / near(&other);
                for share in [1e-3, 0.1, 1.0] {
                    let mixed = &m * (1.0 - share) + &other * share;
                    prop_assert!(ratio(&mixed) <= best * (1.0 + 1e-5));
                }
            }
        }
    }

    #[test]
    fn weights_are_multiplicities_and_0_is_absence() {
        let (x, _) = random(8, 3, 1);
        let (mut once, mut twice) = (Pairs::default(), Pairs::default());
        for p in 0..8 {
            let weight = 1 + p % 2;
            once.push(p, (p + 3) % 8, p % 4 < 2, weight as f32);
            once.push(p, (p + 1) % 8, p % 4 < 2, 0.0);
            for _ in 0..weight {
                twice.push(p, (p + 3) % 8, p % 4 < 2, 1.0);
            }
        }
        for diagonal in [false, true] {
            let mmc = Mmc::new().shrinkage(0.1).diagonal(diagonal);
            let (once, twice) = (constraints(&x, &once), constraints(&x, &twice));
            assert!(relative_error(&learn(mmc, &once), &learn(mmc, &twice)) < 1e-4);
        }
    }

    #[test]
    fn degenerate_inputs() {
        let (x, mut pairs) = random(6, 30, 2);
        let mut x = x.mapv(|v| v as f32);
        x.column_mut(4).fill(1.0);
        let fit = |mmc: Mmc, pairs: &Pairs| mmc.fit_pairs(x.view(), pairs, &Monitor::silent());
        for diagonal in [false, true] {
            let mmc = Mmc::new().diagonal(diagonal).steps(40);
            let (one, two) = in_one_and_two_threads(|| fit(mmc, &pairs).unwrap());
            assert_eq!(one, two);
            assert!(one.iter().all(|v| v.is_finite()));
            let said = fit(mmc.shrinkage(0.0), &pairs).unwrap_err().to_string();
            assert!(said.contains("shrinkage above 0"), "{said}");
        }
        let mut both = Pairs::default();
        both.push(0, 1, true, 1.0);
        both.push(0, 1, false, 1.0);
        assert!(
            fit(Mmc::new(), &both)
                .unwrap()
                .iter()
                .all(|v| v.is_finite())
        );
        let said = |mmc: Mmc, pairs: &Pairs| fit(mmc, pairs).unwrap_err().to_string();
        assert!(said(Mmc::new().steps(0), &pairs).contains("mmc.steps"));
        assert!(said(Mmc::new().shrinkage(-1.0), &pairs).contains("mmc.shrinkage"));
        pairs.alike.fill(true);
        assert!(said(Mmc::new(), &pairs).contains("unlike pairs"));
        let monitor = Monitor::silent();
        monitor.cancel();
        assert!(Mmc::new().fit_pairs(x.view(), &both, &monitor).is_err());
    }
}
