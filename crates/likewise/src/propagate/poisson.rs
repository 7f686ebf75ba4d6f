//! Poisson learning: labels are sources and sinks of a flow over the graph.
//!
//! `L u = b` with `b_i = y_i - m` on labeled nodes, `m` the mean of the one-hot labels of the component,
//! and 0 elsewhere; in each component `sum_i d_i u_i = 0`. The class of an item is that of its highest
//! score, or what [`Sizes`] allow.
//!
//! **Use it** with one or two labels a class, where harmonic scores are flat, and with
//! [`Sizes`] that are known. **Not** where labels are many: it lost to [`Lgc`](super::Lgc) with
//! class mass there on half of the sets. Nor to compare scores between components, each of which has
//! its own zero.
//!
//! Confidence: how peaked the scores are, those below 0 as 0. Where sizes are held, times the score of the
//! class over the largest: an item that is in its class for the sizes alone is less sure. The scores
//! are those without the prices of the classes, which are free up to a constant.
//!
//! Cost: O(iterations x entries x C), and where sizes are known some O(n C) more; memory O(n C). A
//! [`PoissonSession`](super::PoissonSession) follows single changes of labels.
//!
//! Source: Calder, Cook, Thorpe and Slepcev, ICML 2020. Differences: solved to 1e-10 by conjugate
//! gradients; a graph that falls apart is solved part by part; sizes are held by prices that are
//! added to the scores for the decision, which is the assignment problem itself, where the authors' program multiplies
//! them by factors.

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use super::parts::counted::decided;
use super::parts::decide::Bounds;
use super::parts::known::{Known, for_each_row};
use super::parts::parameter::setters;
use super::parts::sizes::Sizes;
use super::{Given, Propagate, Spread};
use crate::solve::{ConjugateGradient, Solution, Sparse, solve_rows};
use crate::{Error, Graph, Monitor, Result};

/// Parameters of Poisson learning.
///
/// ```
/// use likewise::propagate::{Poisson, Propagate, Sizes};
/// use likewise::{Graph, Labels, Monitor};
/// // A path 0-1-2-3-4: three items of one class, two of the other.
/// let graph = Graph::new(vec![0, 1, 3, 5, 7, 8], vec![1, 0, 2, 1, 3, 2, 4, 3], vec![1.0; 8])?;
/// let labels = Labels::parse(["cat", "", "", "", "dog"]);
/// let poisson = Poisson::new().sizes(Sizes::Known(vec![3.0, 2.0]));
/// let beliefs = poisson.propagate(&graph, &labels, &Monitor::silent())?;
/// assert_eq!(beliefs.pseudo_label, [0, 0, 0, 1, 1].map(Some));
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Poisson {
    pub(super) sizes: Sizes,
    tolerance: f64,
    max_iterations: usize,
}

impl Default for Poisson {
    fn default() -> Self {
        let solver = ConjugateGradient::default();
        Self {
            sizes: Sizes::Free,
            tolerance: solver.tolerance,
            max_iterations: solver.max_iterations,
        }
    }
}

impl Poisson {
    /// The highest score decides.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is known of the sizes of the classes; nothing is estimated here.
    #[must_use]
    pub fn sizes(mut self, sizes: Sizes) -> Self {
        self.sizes = sizes;
        self
    }

    setters!(solver);

    /// Fails on sizes that are to be estimated, and on numbers that are no sizes.
    pub(super) fn check(&self) -> Result<()> {
        if self.sizes == Sizes::Estimated {
            let rule = "poisson estimates no sizes; take poisson-mbo, or say them";
            return Err(Error::parameter("sizes", "estimated", rule));
        }
        self.sizes.check()
    }

    /// What each class may have; fails where sizes do not suit the labels.
    pub(super) fn bounds(&self, known: &Known) -> Result<Option<Bounds>> {
        self.sizes.bounds(known, known.open().len())
    }
}

impl Propagate for Poisson {
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
        given.check::<Self>()?;
        self.check()?;
        let known = Known::new(given.graph, given.labels, monitor)?;
        let bounds = self.bounds(&known)?;
        let mut solution = solve(&known, &self.solver(), monitor)?;
        let scores = std::mem::take(&mut solution.x);
        let convergence = known.convergence(&[&solution], monitor);
        Ok(decided(&known, scores, bounds.as_ref(), convergence).into())
    }
}

/// The solution, whose `x` is `u` (`n x C`); zeros where no label reaches.
pub(super) fn solve(
    known: &Known,
    solver: &ConjugateGradient,
    monitor: &Monitor,
) -> Result<Solution> {
    let operator = Sparse::new(known.graph, known.diagonal(0.0), known.graph.weights());
    let sources = sources(known);
    monitor.start("Poisson learning", None);
    let labeled = known.labeled();
    let mut solution = solve_rows(operator, solver, &labeled, sources.view(), None, monitor)?;
    monitor.end();
    center(known.graph, &mut solution.x);
    Ok(solution)
}

/// Subtracts the mean of every component, by the degrees of its nodes.
pub(super) fn center(graph: &Graph, x: &mut Array2<f64>) {
    let parts = graph.n_components();
    let mut sum = Array2::<f64>::zeros((parts, x.ncols()));
    let mut whole = vec![0.0; parts];
    for (i, (&degree, &part)) in graph.degrees().iter().zip(graph.component()).enumerate() {
        let part = part as usize;
        whole[part] += degree;
        sum.row_mut(part).scaled_add(degree, &x.row(i));
    }
    for (mut row, whole) in sum.axis_iter_mut(Axis(0)).zip(&whole) {
        if *whole > 0.0 {
            row /= *whole;
        }
    }
    for_each_row(x, |i, mut row| {
        row -= &sum.row(graph.component()[i] as usize);
    });
}

/// `y_i - m` of the labeled nodes (`labeled x C`).
pub(super) fn sources(known: &Known) -> Array2<f64> {
    let mut rows = known.one_hot_rows(|_| 1.0);
    for (mut row, i) in rows.rows_mut().into_iter().zip(known.labeled()) {
        row -= &known.proportions(i);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use crate::reference::{self, in_one_and_two_threads, path, path_labels};
    use proptest::prelude::*;

    #[test]
    fn the_path() {
        // Sources of 1/2 at the ends of 0-1-2-3: the flow is 1/2 along every edge of weight w, so
        // that scores fall by 1/(2w) from node to node.
        let beliefs = Poisson::new().propagate(&path(), &path_labels(), &Monitor::silent());
        let scores = beliefs.unwrap().scores;
        for (i, next) in [(0, 1), (1, 2), (2, 3)] {
            let w = f64::from(path().weight(i, next).unwrap());
            assert!((scores[[i, 0]] - scores[[next, 0]] - 0.5 / w).abs() < 1e-9);
            assert!((scores[[i, 0]] + scores[[i, 1]]).abs() < 1e-9);
        }
        let degrees = path().degrees();
        let sum: f64 = (0..4).map(|i| degrees[i] * scores[[i, 0]]).sum();
        assert!(sum.abs() < 1e-9);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn the_flow_of_every_node_is_its_source(
            n in 2_usize..60, density in 0_usize..4, classes in 1_u32..6, seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, density * n, seed);
            let labels = reference::random_labels(n, classes, seed);
            let found = Poisson::new().tolerance(1e-13)
                .propagate(&graph, &labels, &Monitor::silent()).unwrap();
            let w = reference::dense(&graph);
            let (y, of) = (reference::one_hot(&labels), graph.component());
            for i in 0..n {
                for c in 0..labels.n_classes() {
                    let flow: f64 = (0..n)
                        .map(|j| w[[i, j]] * (found.scores[[i, c]] - found.scores[[j, c]])).sum();
                    let peers: Vec<usize> = (0..n)
                        .filter(|&j| of[j] == of[i] && labels[j].class().is_some()).collect();
                    let mean = peers.iter().map(|&j| y[[j, c]]).sum::<f64>()
                        / peers.len().max(1) as f64;
                    let source = if labels[i].class().is_some() { y[[i, c]] - mean } else { 0.0 };
                    prop_assert!((flow - source).abs() < 1e-6, "{flow} {source}");
                }
            }
            let reached = reference::reached(&graph, &labels);
            for (i, reached) in reached.into_iter().enumerate() {
                prop_assert_eq!(found.pseudo_label[i].is_some(), reached);
            }
        }
    }

    #[test]
    fn sizes_are_held_and_wrong_ones_are_refused() {
        let graph = reference::random_graph(300, 1500, 1);
        let labels = reference::random_labels(300, 3, 1);
        let run = |sizes: Sizes| {
            let poisson = Poisson::new().sizes(sizes);
            poisson.propagate(&graph, &labels, &Monitor::silent())
        };
        let of = |found: &crate::Beliefs| {
            let mut sizes = vec![0; 3];
            for class in found.pseudo_label.iter().flatten() {
                sizes[*class as usize] += 1;
            }
            sizes
        };
        let wanted = [150, 100, 50];
        let found = of(&run(Sizes::Known(vec![3.0, 2.0, 1.0])).unwrap());
        for (found, wanted) in found.into_iter().zip(wanted) {
            assert!(
                (found - i64::from(wanted)).abs() <= 8,
                "{found} for {wanted}"
            );
        }
        assert!(run(Sizes::Free).is_ok() && run(Sizes::Labeled).is_ok());
        let said = |sizes| run(sizes).unwrap_err().to_string();
        assert!(said(Sizes::Known(vec![1.0])).contains("1 sizes of classes for 3"));
        assert!(said(Sizes::Known(vec![1.0, 0.0, 1.0])).contains("given as 0"));
        assert!(said(Sizes::Known(vec![1.0, -1.0, 1.0])).contains("sizes.known"));
        assert!(said(Sizes::Within(0.5)).contains("sizes.within"));
        assert!(said(Sizes::Estimated).contains("poisson-mbo"));
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(1500, 6000, 4);
        let labels = reference::random_labels(1500, 5, 4);
        let (one, two) = in_one_and_two_threads(|| {
            let poisson = Poisson::new().sizes(Sizes::Balanced);
            poisson
                .propagate(&graph, &labels, &Monitor::silent())
                .unwrap()
        });
        assert_eq!(one, two);
    }

    #[test]
    fn a_part_of_one_class_takes_it() {
        let pair = Graph::new(vec![0, 1, 2, 3, 4], vec![1, 0, 3, 2], vec![1.0; 4]).unwrap();
        let labels = Labels::parse(["a", "", "b", ""]);
        let found = Poisson::new()
            .propagate(&pair, &labels, &Monitor::silent())
            .unwrap();
        assert_eq!(found.pseudo_label, [0, 0, 1, 1].map(Some));
    }
}
