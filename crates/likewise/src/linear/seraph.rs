//! SERAPH: pairs as likely as can be, and all other pairs as decided as can be.
//!
//! ```text
//! p(y | a, b) = 1 / (1 + exp(y (d_M^2(a, b) - eta)))             y = 1: alike, -1: unlike
//! maximise  sum w ln p(y) over pairs  +  mu sum over other pairs of sum_y p ln p  -  lambda tr M
//!
//! M <- nearest positive matrix to M + step G,    step = .1 d / (|G| sqrt(t)), halved until no worse
//! G = sum c (x_a - x_b)(x_a - x_b)^T - lambda I
//! c = P - 1 (alike), P (unlike), -mu (eta - d^2) P (1 - P) (other),   P = p(1 | a, b)
//! ```
//!
//! `mu` is `entropy` times the number of pairs over that of other pairs, from `M = d/(d+1) I`.
//!
//! `eta` presumes squared distances of about 1. Where they are far larger, every `P` is 0 or 1, `G`
//! is 0 and `M` stays what it was: [`scaled`](Seraph::scaled), the default, first divides rows by the
//! root of twice their mean squared distance, and gives `M` for the rows as they came.
//!
//! **Use it** for few pairs and few columns, where rows without labels form clusters. **Not** for
//! many rows or columns: the objective is not concave, and every step looks at all pairs.
//!
//! Cost: O(p d + n d^2 + d^3) a step for `p` pairs, all of the rows up to a million; memory O(n d + p).
//! Of more pairs, a million are drawn, and count for all. Up to 200 steps, with some trials each.
//!
//! Source: Niu, Dai, Yamada and Sugiyama, "Information-theoretic semi-supervised metric learning
//! via entropy regularization", Neural Computation 2014; the solver is that of the authors' demo, but
//! that it ends where no halving helps, in place of a longer step. The demo takes `entropy` 100. Ours: the
//! scale, the sample, weights.

use ndarray::{Array2, ArrayView2};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::constraints::{Constraints, Link, mass, mean_square, squared_distances};
use super::laplacian::Laplacian;
use super::spd::{self, Eigen};
use super::terms::PairTerms;
use crate::learn::{Evidence, Fit, Need, Size};
use crate::matrix::{check_finite, product_of_many};
use crate::model::Model;
use crate::{Error, Monitor, Pairs, Result, parallel, seed};

/// Most pairs without a label.
const OTHERS: usize = 1_000_000;
/// Pairs of one task.
const TASK: usize = 4096;
/// Halvings of a step after which no step is short enough.
const HALVINGS: usize = 20;

/// Parameters of SERAPH; see [`seraph`](self).
///
/// ```
/// use likewise::{Monitor, Pairs, linear::Seraph};
/// let x = ndarray::array![[0.0, 0.0], [3.0, 0.1], [0.1, 1.0], [3.1, 1.2], [1.0, 0.1_f32]];
/// let mut pairs = Pairs::default();
/// pairs.push(0, 1, true, 1.0);
/// pairs.push(0, 2, false, 1.0);
/// let m = Seraph::new().fit_pairs(x.view(), &pairs, &Monitor::silent())?;
/// // The alike pair differs in the first column, so it counts less.
/// assert!(m[(0, 0)] < m[(1, 1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Seraph {
    eta: f64,
    entropy: f64,
    lambda: f64,
    scaled: bool,
    steps: usize,
    tolerance: f64,
    seed: u64,
}

impl Default for Seraph {
    fn default() -> Self {
        Self {
            eta: 1.0,
            entropy: 1.0,
            lambda: 0.0,
            scaled: true,
            steps: 200,
            tolerance: 1e-3,
            seed: 0,
        }
    }
}

impl Seraph {
    /// Eta 1, entropy 1, lambda 0, scaled, at most 200 steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// As published: rows are not scaled.
    pub fn paper() -> Self {
        Self::default().scaled(false)
    }

    /// Squared distance at which a pair is as likely alike as not, above 0.
    #[must_use]
    pub fn eta(mut self, eta: f64) -> Self {
        self.eta = eta;
        self
    }

    /// What all other pairs count together, beside the labeled ones, at least 0.
    #[must_use]
    pub fn entropy(mut self, entropy: f64) -> Self {
        self.entropy = entropy;
        self
    }

    /// Weight of the trace, at least 0: the larger, the fewer directions.
    #[must_use]
    pub fn lambda(mut self, lambda: f64) -> Self {
        self.lambda = lambda;
        self
    }

    /// Whether rows are first divided by the root of twice their mean squared distance.
    #[must_use]
    pub fn scaled(mut self, scaled: bool) -> Self {
        self.scaled = scaled;
        self
    }

    /// Most steps, at least 1.
    #[must_use]
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    /// Change of the metric (Frobenius' norm, of scaled rows) at which it stops, above 0.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Seed of the sample of other pairs.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The metric `M` (`d x d`) from rows (`n x d`), all of which count, and pairs of them.
    ///
    /// Fails on NaN, on parameters out of range, on pairs that do not [fit](Pairs::check) the rows,
    /// without a pair of different rows, and when cancelled.
    pub fn fit_pairs(
        &self,
        x: ArrayView2<f32>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        check_finite(x, "SERAPH")?;
        self.learn(x, pairs, monitor)
    }

    /// What is maximised, as terms of pairs to be minimised.
    pub(super) fn terms(&self) -> PairTerms {
        PairTerms::Likelihood {
            eta: self.eta,
            entropy: self.entropy,
        }
    }

    /// Checks every parameter.
    pub fn validate(&self) -> Result<()> {
        let above = [
            ("seraph.eta", self.eta),
            ("seraph.tolerance", self.tolerance),
        ];
        for (field, value) in above {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::parameter(field, value, "must be finite and above 0"));
            }
        }
        let least = [
            ("seraph.entropy", self.entropy),
            ("seraph.lambda", self.lambda),
        ];
        for (field, value) in least {
            if !(0.0..f64::INFINITY).contains(&value) {
                let rule = "must be finite and at least 0";
                return Err(Error::parameter(field, value, rule));
            }
        }
        if self.steps == 0 {
            return Err(Error::parameter("seraph.steps", 0, "must be at least 1"));
        }
        Ok(())
    }

    fn learn<T: Copy + Into<f64> + Sync>(
        &self,
        x: ArrayView2<T>,
        pairs: &Pairs,
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        self.validate()?;
        let constraints = Constraints::of(x, pairs, monitor)?;
        if constraints.rows.is_empty() {
            return Err(Error::data(
                "SERAPH needs pairs of different rows, and there are none; give some",
            ));
        }
        let mut rows = x.mapv(Into::into);
        let scale = if self.scaled {
            2.0 * mean_square(x)
        } else {
            1.0
        };
        rows /= scale.sqrt();
        let problem = self.problem(rows, &constraints);
        Ok(self.ascend(&problem, monitor)?.matrix / scale)
    }

    fn problem(&self, rows: Array2<f64>, constraints: &Constraints) -> Problem {
        let said = constraints.alike.iter().chain(&constraints.unlike);
        let mut links: Vec<Link> = said.map(|link| constraints.in_all(link)).collect();
        let mut labeled: Vec<(u32, u32)> =
            links.iter().map(|l| (l.a.min(l.b), l.a.max(l.b))).collect();
        labeled.sort_unstable();
        labeled.dedup();
        let pairs = mass(&links);
        let (others, count) = others(rows.nrows(), &labeled, self.seed);
        // A sample stands for all.
        let weight = count / others.len().max(1) as f64;
        let mu = if count > 0.0 {
            self.entropy * pairs / count
        } else {
            0.0
        };
        if mu > 0.0 {
            links.extend(others.into_iter().map(|(a, b)| Link { a, b, weight }));
        }
        let ends = links.iter().map(|link| (link.a, link.b));
        Problem {
            laplacian: Laplacian::of(rows.nrows(), ends),
            alike: constraints.alike.len(),
            labeled: constraints.alike.len() + constraints.unlike.len(),
            eta: self.eta,
            lambda: self.lambda,
            mu,
            rows,
            links,
        }
    }

    fn ascend(&self, problem: &Problem, monitor: &Monitor) -> Result<Point> {
        let d = problem.rows.ncols();
        let start = Array2::eye(d) * (d as f64 / (d as f64 + 1.0));
        let mut at = problem.at(&start)?;
        monitor.start("SERAPH", self.steps as u64);
        for t in 1..=self.steps {
            let slope = problem.gradient(&at);
            let size = norm(&slope);
            if size <= 0.0 {
                break;
            }
            let mut step = 0.1 * d as f64 / (size * (t as f64).sqrt());
            let mut next = None;
            for _ in 0..HALVINGS {
                let tried = problem.at(&(&at.matrix + &(&slope * step)))?;
                if tried.value >= at.value {
                    next = Some(tried);
                    break;
                }
                step /= 2.0;
                monitor.check()?;
            }
            let Some(next) = next else { break };
            let change = norm(&(&next.matrix - &at.matrix));
            at = next;
            monitor.step(t as u64)?;
            if change < self.tolerance {
                break;
            }
        }
        monitor.end();
        Ok(at)
    }
}

impl Fit for Seraph {
    fn needs(&self) -> &'static [Need] {
        &[Need::Compared]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    /// Each step, of which some are tried again, asks all pairs of rows how sure they are.
    fn operations(&self, of: &Size) -> f64 {
        let others = (of.items * of.items / 2.0).min(OTHERS as f64);
        let a_pair = 4.0 * of.columns + 3000.0;
        3.0 * self.steps as f64 * (others + of.pairs()) * a_pair
    }

    fn memory(&self, of: &Size) -> f64 {
        let others = (of.items * of.items / 2.0).min(OTHERS as f64);
        40.0 * (others + of.pairs()) + 8.0 * of.items * of.columns
    }

    fn validate(&self) -> Result<()> {
        Seraph::validate(self)
    }

    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        evidence.metric_of_pairs(seed, monitor, |x, pairs| self.fit_pairs(x, pairs, monitor))
    }
}

/// What is maximised: links are alike ones, then unlike ones, then the others.
struct Problem {
    rows: Array2<f64>,
    links: Vec<Link>,
    laplacian: Laplacian,
    alike: usize,
    labeled: usize,
    eta: f64,
    lambda: f64,
    mu: f64,
}

/// A metric, its value, and the slope of the value along each link's squared distance.
struct Point {
    matrix: Array2<f64>,
    value: f64,
    slopes: Vec<f64>,
}

impl Problem {
    /// At the nearest positive matrix.
    fn at(&self, matrix: &Array2<f64>) -> Result<Point> {
        let eigen: Eigen = spd::eigen(matrix)?;
        let roots = eigen.values.mapv(|v| v.max(0.0).sqrt());
        let map = (&eigen.vectors * &roots).reversed_axes();
        let map = map.as_standard_layout().into_owned();
        let squares = squared_distances(&product_of_many(&self.rows, &map), &self.links);
        let mut slopes = vec![0.0; squares.len()];
        let tasks = slopes.chunks_mut(TASK).zip(squares.chunks(TASK));
        let parts = parallel::map(tasks.enumerate(), |(task, (slopes, squares))| {
            let mut sum = 0.0;
            for (place, (slope, &square)) in slopes.iter_mut().zip(squares).enumerate() {
                let link = task * TASK + place;
                let (value, own) = self.term(link, square);
                let weight = self.links[link].weight;
                sum += weight * value;
                *slope = weight * own;
            }
            sum
        });
        let matrix = eigen.matrix(|v| v.max(0.0));
        let trace = matrix.diag().sum();
        Ok(Point {
            value: parts.iter().sum::<f64>() - self.lambda * trace,
            matrix,
            slopes,
        })
    }

    /// The term of a link of weight 1, and its slope along the squared distance.
    fn term(&self, link: usize, square: f64) -> (f64, f64) {
        let a = self.eta - square;
        // ln p(1) and ln p(-1); neither overflows.
        let (yes, no) = (-softplus(-a), -softplus(a));
        let (p, q) = (yes.exp(), no.exp());
        if link < self.alike {
            (yes, -q)
        } else if link < self.labeled {
            (no, p)
        } else {
            (self.mu * (p * yes + q * no), -self.mu * a * p * q)
        }
    }

    fn gradient(&self, at: &Point) -> Array2<f64> {
        let mut slope = self.laplacian.scatter(self.rows.view(), &at.slopes);
        slope.diag_mut().mapv_inplace(|v| v - self.lambda);
        slope
    }
}

/// `ln(1 + exp(a))`.
fn softplus(a: f64) -> f64 {
    a.max(0.0) + (-a.abs()).exp().ln_1p()
}

fn norm(a: &Array2<f64>) -> f64 {
    a.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The pairs of `n` rows that are not among the `labeled` ones (sorted, each once): all of
/// them or a sample, and how many there are.
fn others(n: usize, labeled: &[(u32, u32)], seed: u64) -> (Vec<(u32, u32)>, f64) {
    let count = n * n.saturating_sub(1) / 2 - labeled.len();
    let is_other = |pair: &(u32, u32)| labeled.binary_search(pair).is_err();
    let pairs = if count <= OTHERS {
        let all = (0..n as u32).flat_map(|a| (a + 1..n as u32).map(move |b| (a, b)));
        all.filter(is_other).collect()
    } else {
        let mut rng = seed::stream(seed, "pairs without a label");
        let draw = std::iter::repeat_with(|| {
            let a = rng.random_range(0..n);
            let b = (a + rng.random_range(1..n)) % n;
            (a.min(b) as u32, a.max(b) as u32)
        });
        draw.filter(is_other).take(OTHERS).collect()
    };
    (pairs, count as f64)
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use super::*;
    use crate::linear::check_values::{iris, relative_error, standardized};
    use crate::reference::in_one_and_two_threads;
    use ndarray::array;
    use proptest::prelude::*;

    /// The irises with unit variances; all pairs of the first four of each class.
    fn check() -> (Array2<f64>, Pairs) {
        let labeled: Vec<u32> = (0..12).map(|p| p / 4 * 50 + p % 4).collect();
        let mut pairs = Pairs::default();
        for (p, &a) in labeled.iter().enumerate() {
            for &b in &labeled[..p] {
                pairs.push(a, b, a / 50 == b / 50, 1.0);
            }
        }
        (standardized(&iris().0), pairs)
    }

    fn problem(seraph: Seraph, x: &Array2<f64>, pairs: &Pairs) -> Problem {
        let constraints = Constraints::of(x.view(), pairs, &Monitor::silent()).unwrap();
        seraph.problem(x.clone(), &constraints)
    }

    #[test]
    fn the_check_values_of_irises() {
        let (x, pairs) = check();
        let at_start = problem(Seraph::paper(), &x, &pairs);
        assert!((at_start.mu - 0.00594112881447).abs() < 1e-12);
        let point = at_start.at(&(Array2::eye(4) * 0.8)).unwrap();
        assert!((point.value - -47.5646181549).abs() < 1e-9 * 47.0);
        let expected = array![
            [
                -6.15181997262,
                -8.59241238764,
                -1.27755953709,
                -0.530863391622
            ],
            [
                -8.59241238764,
                -9.82184256242,
                -3.82325971205,
                -3.15743001126
            ],
            [-1.27755953709, -3.82325971205, 2.45738144977, 2.97678414434],
            [
                -0.530863391622,
                -3.15743001126,
                2.97678414434,
                3.67011881347
            ],
        ];
        assert!(relative_error(&at_start.gradient(&point), &expected) < 1e-9);
        let free = array![
            [0.0426109, -0.0528424, -0.0680967, 0.176307],
            [-0.0528424, 0.332802, -0.692851, -0.920727],
            [-0.0680967, -0.692851, 2.36943, 1.7601],
            [0.176307, -0.920727, 1.7601, 2.57378],
        ];
        let held = array![
            [0.000767943, -0.0127824, 0.0347582, 0.0388937],
            [-0.0127824, 0.212762, -0.578549, -0.647383],
            [0.0347582, -0.578549, 1.57321, 1.76039],
            [0.0388937, -0.647383, 1.76039, 1.96983],
        ];
        for (lambda, end, metric) in [(0.0, -25.843772, free), (1.0, -30.696449, held)] {
            let seraph = Seraph::paper().lambda(lambda);
            let problem = problem(seraph, &x, &pairs);
            let found = seraph.ascend(&problem, &Monitor::silent()).unwrap();
            assert!(found.value > end * 1.01, "{lambda}: {}", found.value);
            // Six digits are printed.
            let off = relative_error(&found.matrix, &metric);
            assert!(off < 1e-4, "{lambda}: {off}");
            let there = problem.at(&metric).unwrap().value;
            assert!((there / end - 1.0).abs() < 1e-6, "{lambda}: {there}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn value_and_gradient_are_those_of_all_pairs(
            n in 3_usize..9, d in 1_usize..5, number in any::<u64>(),
        ) {
            let mut rng = seed::stream(number, "seraph");
            let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0..1.0));
            let mut pairs = Pairs::default();
            for p in 0..n as u32 {
                let b = (p + rng.random_range(1..n as u32)) % n as u32;
                pairs.push(p, b, rng.random(), rng.random_range(0..4) as f32 / 2.0);
            }
            let seraph = Seraph::paper().lambda(0.3).entropy(5.0);
            let problem = problem(seraph, &x, &pairs);
            let l = Array2::from_shape_fn((d, d), |_| rng.random_range(-1.0..1.0));
            let m = l.t().dot(&l) + Array2::<f64>::eye(d) * 0.1;
            let value = |m: &Array2<f64>| {
                let (mut sum, mut said, mut count, mut decided) = (0.0, 0.0, 0.0, 0.0);
                for a in 0..n as u32 {
                    for b in 0..a {
                        let delta = &x.row(a as usize) - &x.row(b as usize);
                        let square = delta.dot(&m.dot(&delta));
                        let p = |y: f64| 1.0 / (1.0 + (y * (square - 1.0)).exp());
                        let same = |q: &(u32, u32, bool, f32)| {
                            q.3 > 0.0 && [(a, b), (b, a)].contains(&(q.0, q.1))
                        };
                        if pairs.iter().any(|q| same(&q)) {
                            for q in pairs.iter().filter(same) {
                                let y = if q.2 { 1.0 } else { -1.0 };
                                sum += f64::from(q.3) * p(y).ln();
                                said += f64::from(q.3);
                            }
                        } else {
                            count += 1.0;
                            decided += p(1.0) * p(1.0).ln() + p(-1.0) * p(-1.0).ln();
                        }
                    }
                }
                let mu = if count > 0.0 { 5.0 * said / count } else { 0.0 };
                sum + mu * decided - 0.3 * m.diag().sum()
            };
            let point = problem.at(&m).unwrap();
            prop_assert!((point.value - value(&m)).abs() < 1e-9);
            let slope = problem.gradient(&point);
            let h = 1e-5;
            for i in 0..d {
                for j in 0..d {
                    let mut along = Array2::<f64>::zeros((d, d));
                    along[(i, j)] += h / 2.0;
                    along[(j, i)] += h / 2.0;
                    let rise = (value(&(&m + &along)) - value(&(&m - &along))) / (2.0 * h);
                    prop_assert!((rise - slope[(i, j)]).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn weights_are_multiplicities_and_0_is_absence() {
        let (x, pairs) = check();
        let (mut once, mut twice) = (Pairs::default(), Pairs::default());
        for (p, (a, b, alike, _)) in pairs.iter().enumerate() {
            let weight = 1 + p % 2;
            once.push(a, b, alike, weight as f32);
            once.push(a + 20, b, alike, 0.0);
            for _ in 0..weight {
                twice.push(a, b, alike, 1.0);
            }
        }
        let learn = |pairs: &Pairs| {
            let seraph = Seraph::new().steps(5);
            seraph.learn(x.view(), pairs, &Monitor::silent()).unwrap()
        };
        assert!(relative_error(&learn(&once), &learn(&twice)) < 1e-6);
    }

    #[test]
    fn units_do_not_matter_unless_as_published() {
        let (x, pairs) = check();
        let learn = |x: &Array2<f64>, seraph: Seraph| {
            seraph.learn(x.view(), &pairs, &Monitor::silent()).unwrap()
        };
        let m = learn(&x, Seraph::new().steps(20));
        let other = learn(&(&x * 1e3), Seraph::new().steps(20)) * 1e6;
        assert!(relative_error(&other, &m) < 1e-6);
        assert!(spd::eigenvalues(&m).unwrap()[0] > -1e-9);
        // Every pair is decided far too early: nothing is learned.
        let stuck = learn(&(&x * 1e4), Seraph::paper().entropy(0.0).steps(1));
        assert!(stuck.iter().all(|v| v.is_finite()));
    }

    #[test]
    fn many_pairs_are_sampled_and_counted() {
        let (few, count) = others(5, &[(0, 1), (2, 4)], 0);
        assert_eq!((few.len(), count.to_bits()), (8, 8.0_f64.to_bits()));
        let (many, count) = others(2000, &[(0, 1)], 0);
        assert_eq!(
            (many.len(), count.to_bits()),
            (OTHERS, 1_998_999.0_f64.to_bits())
        );
        assert!(many.iter().all(|p| p.0 < p.1 && p.1 < 2000 && *p != (0, 1)));
        assert!(others(2, &[(0, 1)], 0).0.is_empty());
    }

    #[test]
    fn degenerate_inputs() {
        let mut rng = seed::stream(5, "seraph");
        let x = Array2::from_shape_fn((6, 30), |_| rng.random_range(-1.0_f32..1.0));
        let mut pairs = Pairs::default();
        let fit =
            |seraph: Seraph, pairs: &Pairs| seraph.fit_pairs(x.view(), pairs, &Monitor::silent());
        let said = |seraph: Seraph, pairs: &Pairs| fit(seraph, pairs).unwrap_err().to_string();
        assert!(said(Seraph::new(), &pairs).contains("needs pairs"));
        pairs.push(0, 1, true, 1.0);
        pairs.push(0, 1, false, 1.0);
        let (one, two) = in_one_and_two_threads(|| fit(Seraph::new().steps(9), &pairs).unwrap());
        assert_eq!(one, two);
        assert!(one.iter().all(|v| v.is_finite()));
        assert!(said(Seraph::new().eta(0.0), &pairs).contains("seraph.eta"));
        assert!(said(Seraph::new().entropy(-1.0), &pairs).contains("seraph.entropy"));
        assert!(said(Seraph::new().steps(0), &pairs).contains("seraph.steps"));
        let monitor = Monitor::silent();
        monitor.cancel();
        assert!(Seraph::new().fit_pairs(x.view(), &pairs, &monitor).is_err());
    }
}
