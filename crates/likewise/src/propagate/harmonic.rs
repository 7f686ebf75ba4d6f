//! Label propagation with the labels fitted on labeled nodes only: `(L + U) F = U Y`, where
//! `U` is `mu` on labeled nodes and 0 elsewhere.
//!
//! An unlabeled node gets the weighted average of its neighbours. Rows sum to 1 in
//! every component with a label. **Use it** as the base of mixed propagation and as a
//! baseline. **Not** for confidences: at small `mu` the rows differ from the label
//! proportions by about `mu`, so the confidence is close to 0 everywhere.
//!
//! Solved for the deviation `F' = F - 1 pi^T` from the proportions `pi` of the labels in
//! each component: `(L + U) F' = U (Y - 1 pi^T)`. The class signal lies in `F'`, and is
//! three to four digits smaller than `pi`. The scores are `F`.
//!
//! Cost: O(iterations x entries x C), memory O(n C).
//!
//! Source: Zhuang and Moulin 2023, eq. (16). The deviation form is ours.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::parts::known::Known;
use super::parts::parameter::{positive, setters};
use super::{Given, Mass, Propagate, Spread};
use crate::solve::{ConjugateGradient, Solution, Sparse, solve_rows};
use crate::{Monitor, Result};

/// Parameters of label propagation fitted on labeled nodes.
///
/// ```
/// use likewise::propagate::{Harmonic, Propagate};
/// use likewise::{Graph, Labels, Monitor};
/// let graph = Graph::new(
///     vec![0, 1, 3, 5, 6],
///     vec![1, 0, 2, 1, 3, 2],
///     vec![1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
/// )?;
/// let labels = Labels::parse(["cat", "", "", "dog"]);
/// let beliefs = Harmonic::new().propagate(&graph, &labels, &Monitor::silent())?;
/// assert!((beliefs.scores[[1, 0]] - 0.5049505).abs() < 1e-7);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Harmonic {
    pub(super) mu: f64,
    pub(super) mass: Mass,
    tolerance: f64,
    max_iterations: usize,
}

impl Default for Harmonic {
    fn default() -> Self {
        let solver = ConjugateGradient::default();
        Self {
            mu: 1.0 / 99.0,
            mass: Mass::None,
            tolerance: solver.tolerance,
            max_iterations: solver.max_iterations,
        }
    }
}

impl Harmonic {
    /// `mu = 1/99`, no class-mass normalisation.
    pub fn new() -> Self {
        Self::default()
    }

    setters!(mu mass solver);
}

impl Propagate for Harmonic {
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
        given.check::<Self>()?;
        positive("mu", self.mu)?;
        let known = Known::new(given.graph, given.labels, monitor)?;
        monitor.start("label propagation", None);
        let mut solution = deviation(&known, self.mu, &self.solver(), monitor)?;
        monitor.end();
        let convergence = known.convergence(&[&solution], monitor);
        let scores = known.with_proportions(std::mem::take(&mut solution.x));
        Ok(known.beliefs(scores, self.mass, convergence).into())
    }
}

/// Solves `(L + U) F' = U (Y - 1 pi^T)`. The exact solution has no component along the
/// constant, `u^T F' = 0` in each component; rounding and the stopped iteration leave
/// some, which is taken out at the end.
pub(super) fn deviation(
    known: &Known,
    mu: f64,
    solver: &ConjugateGradient,
    monitor: &Monitor,
) -> Result<Solution> {
    let operator = Sparse::new(known.graph, known.diagonal(mu), known.graph.weights());
    let (labeled, rhs) = (known.labeled(), pulls(known, mu));
    let mut solution = solve_rows(operator, solver, &labeled, rhs.view(), None, monitor)?;
    known.center(&mut solution.x);
    Ok(solution)
}

/// `U (Y - 1 pi^T)`, the rows of the labeled nodes.
pub(super) fn pulls(known: &Known, mu: f64) -> Array2<f64> {
    let mut rhs = known.one_hot_rows(|_| mu);
    for (mut row, &i) in rhs.rows_mut().into_iter().zip(&known.labeled()) {
        row.scaled_add(-mu, &known.proportions(i));
    }
    rhs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{self, in_one_and_two_threads, path, path_labels};
    use crate::{Beliefs, Graph, Label, Labels};
    use proptest::prelude::*;

    fn run(harmonic: &Harmonic, graph: &Graph, labels: &Labels) -> Beliefs {
        harmonic
            .propagate(graph, labels, &Monitor::silent())
            .unwrap()
    }

    #[test]
    fn the_path() {
        let beliefs = run(&Harmonic::new(), &path(), &path_labels());
        let first = [0.509_900_99, 0.504_950_5, 0.495_049_5, 0.490_099_01];
        for (i, expected) in first.into_iter().enumerate() {
            assert!((beliefs.scores[[i, 0]] - expected).abs() < 1e-8);
            assert!((beliefs.scores[[3 - i, 1]] - expected).abs() < 1e-8);
        }
        assert_eq!(beliefs.labeled, [true, false, false, true]);
        assert!(beliefs.convergence.converged && beliefs.convergence.iterations > 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn equals_a_dense_solve_and_has_its_properties(
            n in 2_usize..60, density in 0_usize..4, classes in 1_u32..6, seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, density * n, seed);
            let labels = reference::random_labels(n, classes, seed);
            let mu = 1.0 / 99.0;
            let f = run(&Harmonic::new().tolerance(1e-13), &graph, &labels).scores;
            let w = reference::dense(&graph);
            let y = reference::one_hot(&labels);
            let keep = reference::reached(&graph, &labels);
            let m = reference::system(&w, &labels, mu);
            // (i) the reduced system is solvable.
            let expected = reference::solve(&m, &(&y * mu), &keep);
            for (a, b) in f.iter().zip(&expected) {
                prop_assert!((a - b).abs() < 1e-8);
            }
            for i in 0..n {
                // (ii) no score is negative; (iii) reached rows sum to 1.
                prop_assert!(f.row(i).iter().all(|&s| s >= -1e-10));
                let sum = if keep[i] { 1.0 } else { 0.0 };
                prop_assert!((f.row(i).sum() - sum).abs() < 1e-10);
                // (vi) each node balances its neighbours and its label.
                let u = if labels[i].class().is_some() { mu } else { 0.0 };
                let left = (w.row(i).sum() + u) * &f.row(i);
                let right = w.row(i).dot(&f) + u * &y.row(i);
                for (a, b) in left.iter().zip(&right) {
                    prop_assert!((a - b).abs() < 1e-9);
                }
            }
            // (iv) the mean over the labeled nodes of a component is its label proportions.
            for part in 0..graph.n_components() as u32 {
                let nodes = (0..n).filter(|&i| graph.component()[i] == part);
                let labeled: Vec<usize> = nodes.filter(|&i| labels[i].class().is_some()).collect();
                for c in 0..labels.n_classes() {
                    let fitted: f64 = labeled.iter().map(|&i| f[[i, c]]).sum();
                    let given: f64 = labeled.iter().map(|&i| y[[i, c]]).sum();
                    prop_assert!((fitted - given).abs() < 1e-10);
                }
            }
        }
    }

    #[test]
    fn a_vanishing_mu_gives_the_label_proportions_and_the_same_pseudo_labels() {
        let graph = reference::random_graph(100, 800, 3);
        assert_eq!(graph.n_components(), 1);
        let labels = reference::random_labels(100, 3, 3);
        let counts: Vec<f64> = labels.by_class().iter().map(|m| m.len() as f64).collect();
        let total: f64 = counts.iter().sum();
        let far = |mu: f64| {
            let f = run(&Harmonic::new().mu(mu), &graph, &labels).scores;
            (f.indexed_iter()).fold(0.0_f64, |far, ((_, c), s)| {
                far.max((s - counts[c] / total).abs())
            })
        };
        // (v) the deviation is of order mu.
        assert!(far(1e-3) < 1e-3 && far(1e-6) < 1e-6 && far(1e-6) > 0.0);
        let pseudo = |mu| run(&Harmonic::new().mu(mu), &graph, &labels).pseudo_label;
        assert_eq!(pseudo(1e-6), pseudo(1e-9));
    }

    #[test]
    fn components_without_a_label_and_isolated_nodes() {
        // 0-1 labeled, 2-3 not, 4 isolated and labeled, 5 isolated, 6-7 with an outside label.
        let graph = Graph::new(
            vec![0, 1, 2, 3, 4, 4, 4, 5, 6],
            vec![1, 0, 3, 2, 7, 6],
            vec![1.0; 6],
        )
        .unwrap();
        let labels = Labels::new(
            vec!["a".into(), "b".into()],
            [
                Label::Known(1),
                Label::Unknown,
                Label::Unknown,
                Label::Unknown,
                Label::Known(0),
            ]
            .into_iter()
            .chain([Label::Unknown, Label::Outside, Label::Unknown])
            .collect(),
        )
        .unwrap();
        for mass in [Mass::None, Mass::Uniform, Mass::Labeled] {
            let beliefs = run(&Harmonic::new().mass(mass), &graph, &labels);
            let expected = [Some(1), Some(1), None, None, Some(0), None, None, None];
            assert_eq!(beliefs.pseudo_label, expected);
            assert_eq!(beliefs.confidence, [1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
            let report = &beliefs.convergence;
            assert_eq!(
                (report.components, report.isolated, report.unreached),
                (5, 2, 5)
            );
            for i in [2, 3, 5, 6, 7] {
                assert_eq!(beliefs.scores.row(i).to_vec(), [0.0, 0.0]);
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(1500, 6000, 4);
        let labels = reference::random_labels(1500, 5, 4);
        let (one, two) = in_one_and_two_threads(|| run(&Harmonic::new(), &graph, &labels));
        assert_eq!(one, two);
    }

    #[test]
    fn too_few_iterations_warn_and_are_flagged() {
        let graph = reference::random_graph(500, 2000, 5);
        let labels = reference::random_labels(500, 5, 5);
        let warnings = std::sync::Arc::new(std::sync::Mutex::new(0));
        let counter = warnings.clone();
        let monitor = Monitor::new(move |event: &crate::Event| {
            if matches!(event, crate::Event::Warning(w) if w.contains("residual above 1e-4")) {
                *counter.lock().unwrap() += 1;
            }
        });
        let beliefs = Harmonic::new()
            .max_iterations(2)
            .propagate(&graph, &labels, &monitor)
            .unwrap();
        assert!(!beliefs.convergence.converged);
        assert_eq!(*warnings.lock().unwrap(), 1);
    }
}
