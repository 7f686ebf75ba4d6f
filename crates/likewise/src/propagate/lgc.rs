//! Learning with local and global consistency: `F = (1 - a) (I - a S)^-1 Y` with
//! `S = D^-1/2 W D^-1/2` and `a = 1 / (1 + mu)`.
//!
//! The reference method of label propagation. **Use it** as a baseline. **Not** where nodes
//! of high degree should weigh as their edges say: the normalisation divides by the degree.
//!
//! **Class mass.** The paper has no class-mass normalisation, and so the default is `mass = "none"`.
//! **Add** `mass = "uniform"` wherever you do not compare with the paper, unless classes are known to be very
//! unequal: with it this is the strongest simple method. In the mean of eleven sets it was right
//! on 1.3 of 100 items more with five labels a class, on no set on fewer beyond chance; where classes are
//! 10 to 1 it gained nothing and lost nothing (`experiments/zhuang2023-table3.toml`).
//!
//! **Sizes that are known** ([`sizes`](Lgc::sizes)) are held in place of the masses: scores of
//! uniform mass, each row brought to sum 1, decided by prices of the classes
//! ([`Poisson`](super::Poisson) decides alike, and its confidence is made alike). Sizes that are
//! [free](Sizes::Free) leave the scores as they are, without any mass. `experiments/beliefs-5.toml` compares
//! it, with sizes that are known and five labels a class, with [`PoissonMbo`](super::PoissonMbo).
//!
//! Solved as `((1 + mu) D - W) H = mu D^1/2 Y`, `F = D^1/2 H`, which is the same system
//! and needs the graph's own weights only. A labeled isolated node gets
//! `mu / (1 + mu)` at its class, as the formula says.
//!
//! Cost: O(iterations x entries x C), memory O(n C).
//!
//! [`LgcSession`](super::LgcSession) follows single changes of labels.
//!
//! Source: Zhou et al. 2003; eq. (10) of Zhuang and Moulin 2023 with the normalised
//! Laplacian. `mu = 1/99` is their `a = 0.99`.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::parts::counted::Counted;
use super::parts::known::{Known, for_each_row};
use super::parts::parameter::{positive, setters};
use super::{Given, Mass, Propagate, Sizes, Spread};
use crate::solve::{ConjugateGradient, Solution, Sparse};
use crate::{Graph, Monitor, Result};

/// Parameters of local and global consistency.
///
/// ```
/// use likewise::propagate::{Lgc, Propagate};
/// use likewise::{Graph, Labels, Monitor};
/// // A path 0-1-2-3 with a weak middle edge.
/// let graph = Graph::new(
///     vec![0, 1, 3, 5, 6],
///     vec![1, 0, 2, 1, 3, 2],
///     vec![1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
/// )?;
/// let labels = Labels::parse(["cat", "", "", "dog"]);
/// let beliefs = Lgc::new().propagate(&graph, &labels, &Monitor::silent())?;
/// assert_eq!(beliefs.pseudo_label, [Some(0), Some(0), Some(1), Some(1)]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lgc {
    mu: f64,
    mass: Mass,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sizes: Option<Sizes>,
    tolerance: f64,
    max_iterations: usize,
}

impl Default for Lgc {
    fn default() -> Self {
        let solver = ConjugateGradient::default();
        Self {
            mu: 1.0 / 99.0,
            mass: Mass::None,
            sizes: None,
            tolerance: solver.tolerance,
            max_iterations: solver.max_iterations,
        }
    }
}

impl Lgc {
    /// `mu = 1/99`, no class-mass normalisation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Weight of the labels against the smoothness, above 0: `a = 1 / (1 + mu)`.
    #[must_use]
    pub fn mu(mut self, mu: f64) -> Self {
        self.mu = mu;
        self
    }

    /// What is known of the sizes of the classes, which are held in place of the masses.
    #[must_use]
    pub fn sizes(mut self, sizes: Sizes) -> Self {
        self.sizes = Some(sizes);
        self
    }

    pub(super) fn own_mu(&self) -> f64 {
        self.mu
    }

    /// Fails on a parameter out of range.
    pub(super) fn check(&self) -> Result<()> {
        positive("mu", self.mu)
    }

    /// How scores become beliefs. Fails where the sizes that are known do not suit the labels.
    pub(super) fn counted(&self, known: &Known) -> Result<Counted> {
        Counted::new(known, self.mass, self.sizes.as_ref())
    }

    pub(super) fn own_sizes(&self) -> Option<&Sizes> {
        self.sizes.as_ref()
    }

    setters!(mass solver);
}

impl Propagate for Lgc {
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
        given.check::<Self>()?;
        self.check()?;
        let solver = self.solver();
        let known = Known::new(given.graph, given.labels, monitor)?;
        let counted = self.counted(&known)?;
        let mut solution = solve(&known, self.mu, &solver, monitor)?;
        let scores = std::mem::take(&mut solution.x);
        let convergence = known.convergence(&[&solution], monitor);
        Ok(counted.beliefs(&known, scores, convergence).into())
    }
}

/// The solution, whose `x` is `F` (`n x C`).
pub(super) fn solve(
    known: &Known,
    mu: f64,
    solver: &ConjugateGradient,
    monitor: &Monitor,
) -> Result<Solution> {
    let operator = operator(known.graph, &known.graph.divisors(), mu);
    let rhs = pulls(known, mu);
    monitor.start("local and global consistency", None);
    let mut solution = solver.solve_rows(&operator, &known.labeled(), rhs.view(), None, monitor)?;
    monitor.end();
    scale(known.graph, &mut solution);
    Ok(solution)
}

/// `mu D^1/2 Y`, the rows of the labeled nodes.
pub(super) fn pulls(known: &Known, mu: f64) -> Array2<f64> {
    let degrees = known.graph.divisors();
    known.one_hot_rows(|i| mu * degrees[i].sqrt())
}

/// From `D^-1/2 F` to `F`.
pub(super) fn scale(graph: &Graph, solution: &mut Solution) {
    let degrees = graph.divisors();
    for_each_row(&mut solution.x, |i, mut row| row *= degrees[i].sqrt());
}

/// `(1 + mu) D - W`.
pub(super) fn operator<'a>(graph: &'a Graph, degrees: &[f64], mu: f64) -> Sparse<'a, f32> {
    let diagonal = degrees.iter().map(|d| (1.0 + mu) * d).collect();
    Sparse::new(graph, diagonal, graph.weights())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{self, in_one_and_two_threads, path, path_labels};
    use crate::{Beliefs, Labels};
    use proptest::prelude::*;

    fn run(lgc: &Lgc, graph: &Graph, labels: &Labels) -> Beliefs {
        lgc.propagate(graph, labels, &Monitor::silent()).unwrap()
    }

    #[test]
    fn the_path() {
        let scores = run(&Lgc::new(), &path(), &path_labels()).scores;
        let expected = [[0.211_635_78, 0.191_978_67], [0.249_446_86, 0.237_499_9]];
        for (i, row) in expected.into_iter().enumerate() {
            for (c, e) in row.into_iter().enumerate() {
                assert!((scores[[i, c]] - e).abs() < 5e-9);
                assert!((scores[[3 - i, 1 - c]] - e).abs() < 5e-9);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn equals_the_closed_form(
            n in 2_usize..60, density in 0_usize..4, classes in 1_u32..6, seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, density * n, seed);
            let labels = reference::random_labels(n, classes, seed);
            let alpha = 0.99;
            let w = reference::dense(&graph);
            // Rows of isolated nodes are empty, whatever they are divided by.
            let degree: Vec<f64> = (w.rows().into_iter().map(|r| r.sum()))
                .map(|d| if d > 0.0 { d } else { 1.0 })
                .collect();
            let m = Array2::from_shape_fn((n, n), |(i, j)| {
                f64::from(u8::from(i == j)) - alpha * w[[i, j]] / (degree[i] * degree[j]).sqrt()
            });
            let y = reference::one_hot(&labels) * (1.0 - alpha);
            let expected = reference::solve(&m, &y, &vec![true; n]);
            let found = run(&Lgc::new().tolerance(1e-13), &graph, &labels);
            for (a, b) in found.scores.iter().zip(&expected) {
                prop_assert!((a - b).abs() < 1e-8);
            }
            let keep = reference::reached(&graph, &labels);
            for (i, keep) in keep.into_iter().enumerate() {
                prop_assert_eq!(found.pseudo_label[i].is_some(), keep);
                prop_assert!(keep || found.confidence[i] == 0.0);
            }
        }
    }

    #[test]
    fn mass_normalisation_gives_the_columns_their_share() {
        let graph = reference::random_graph(300, 1500, 1);
        let labels = reference::random_labels(300, 3, 1);
        let reached = reference::reached(&graph, &labels);
        let n = reached.iter().filter(|&&r| r).count() as f64;
        let uniform = run(&Lgc::new().mass(Mass::Uniform), &graph, &labels).scores;
        let labeled = run(&Lgc::new().mass(Mass::Labeled), &graph, &labels).scores;
        for c in 0..3 {
            let share = labels.by_class()[c].len() as f64 / labels.n_known() as f64;
            assert!((uniform.column(c).sum() - n / 3.0).abs() < 1e-6);
            assert!((labeled.column(c).sum() - n * share).abs() < 1e-6);
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(1500, 6000, 4);
        let labels = reference::random_labels(1500, 5, 4);
        let (one, two) = in_one_and_two_threads(|| run(&Lgc::new(), &graph, &labels));
        assert_eq!(one, two);
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        let e = Lgc::new()
            .mu(-1.0)
            .propagate(&path(), &path_labels(), &Monitor::silent())
            .unwrap_err();
        assert_eq!(e.to_string(), "mu = -1: must be finite and above 0");
    }
}
