//! Label propagation for deep semi-supervised learning: diffusion of class-balanced labels, and
//! weights for training on the result.
//!
//! `Z = (I - alpha S)^-1 Y` with `S = D^-1/2 W D^-1/2` and `1 / n_c` at the labeled items of
//! class `c`, so that each class sends out the same amount. Pseudo-label: the largest
//! score. Confidence: `omega_i / max omega` with the `omega` of
//! [`confidence`](super::parts::confidence), and 1 on labeled items.
//!
//! **Use it** as the labeling step of a network trained on pseudo-labels, with
//! [`class_weights`] in its loss. **Not** for confidences to compare between runs: they
//! are relative to the surest item of this one.
//!
//! Cost: O(iterations x entries x C), memory O(n C).
//!
//! Source: Iscen, Tolias, Avrithis and Chum, CVPR 2019: eq. (10) for the diffusion, (11) for
//! the weights, (12)-(13) for the class weights; the balanced right-hand side and the
//! stopping rule (1e-6, at most 20 iterations, [`Iscen::paper`]) are those of its published
//! experiments. Differences: the default solves to 1e-10; items that no label reaches have
//! confidence 0; only classes with a label in the component of an item can win.

use serde::{Deserialize, Serialize};

use super::parts::confidence::confidence;
use super::parts::diffusion::diffuse;
use super::parts::known::Known;
use super::parts::parameter::setters;
use super::{Given, Propagate, Spread};
use crate::solve::ConjugateGradient;
use crate::{Beliefs, Monitor, Result};

/// Parameters of label propagation for deep semi-supervised learning.
///
/// ```
/// use likewise::propagate::{Iscen, Propagate, iscen::class_weights};
/// use likewise::{Graph, Labels, Monitor};
/// let graph = Graph::new(
///     vec![0, 1, 3, 5, 6],
///     vec![1, 0, 2, 1, 3, 2],
///     vec![1.0, 1.0, 0.5, 0.5, 1.0, 1.0],
/// )?;
/// let labels = Labels::parse(["cat", "", "", "dog"]);
/// let beliefs = Iscen::new().propagate(&graph, &labels, &Monitor::silent())?;
/// assert_eq!(beliefs.pseudo_label, [Some(0), Some(0), Some(1), Some(1)]);
/// assert_eq!(class_weights(&beliefs), [1.0, 1.0]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Iscen {
    alpha: f64,
    tolerance: f64,
    max_iterations: usize,
}

impl Default for Iscen {
    fn default() -> Self {
        let solver = ConjugateGradient::default();
        Self {
            alpha: 0.99,
            tolerance: solver.tolerance,
            max_iterations: solver.max_iterations,
        }
    }
}

impl Iscen {
    /// `alpha = 0.99`, solved until it has converged.
    pub fn new() -> Self {
        Self::default()
    }

    /// As published: to 1e-6, at most 20 iterations. On large graphs these are too few;
    /// the report then says that the solver did not converge.
    pub fn paper() -> Self {
        Self {
            tolerance: 1e-6,
            max_iterations: 20,
            ..Self::default()
        }
    }

    setters!(alpha solver);
}

impl Propagate for Iscen {
    fn spread(&self, given: &Given, monitor: &Monitor) -> Result<Spread> {
        given.check::<Self>()?;
        let stage = "diffusion of labels";
        let mut beliefs = balanced(given, self.alpha, &self.solver(), stage, monitor)?;
        let (_, kept) = given.labels.compact();
        let kept: Vec<usize> = kept.into_iter().map(|class| class as usize).collect();
        let all = confidence(beliefs.scores.select(ndarray::Axis(1), &kept).view());
        let most = all.into_iter().fold(0.0, f32::max);
        let unlabeled = beliefs.confidence.iter_mut().zip(&beliefs.labeled);
        for (omega, _) in unlabeled.filter(|(_, labeled)| !**labeled) {
            if most > 0.0 {
                *omega /= most;
            }
        }
        Ok(beliefs.into())
    }
}

/// Beliefs from class-balanced labels; confidences are not divided by the largest.
pub(super) fn balanced(
    given: &Given,
    alpha: f64,
    solver: &ConjugateGradient,
    stage: &str,
    monitor: &Monitor,
) -> Result<Beliefs> {
    let known = Known::new(given.graph, given.labels, monitor)?;
    let mut y = known.one_hot(|_| 1.0);
    for mut column in y.columns_mut() {
        column /= column.sum();
    }
    monitor.start(stage, None);
    let mut solution = diffuse(given.graph, alpha, y, solver, monitor)?;
    monitor.end();
    let z = std::mem::take(&mut solution.x);
    let convergence = known.convergence(&[&solution], monitor);
    Ok(known.beliefs_of(z, None, convergence))
}

/// Weight of each class in a loss: `(n / C) / n_c`, with `n` the items that have a pseudo-label and
/// `n_c` those whose is `c`, labeled ones included. 0 for a class that nothing belongs to.
pub fn class_weights(beliefs: &Beliefs) -> Vec<f64> {
    let classes = beliefs.scores.ncols();
    let mut counts = vec![0.0; classes];
    for &class in beliefs.pseudo_label.iter().flatten() {
        counts[class as usize] += 1.0;
    }
    let even = counts.iter().sum::<f64>() / classes.max(1) as f64;
    (counts.into_iter())
        .map(|count: f64| if count > 0.0 { even / count } else { 0.0 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::propagate::Lgc;
    use crate::reference::{self, in_one_and_two_threads, path, path_labels};
    use crate::{Graph, Label, Labels};
    use proptest::prelude::*;

    fn run(iscen: &Iscen, graph: &Graph, labels: &Labels) -> Beliefs {
        iscen.propagate(graph, labels, &Monitor::silent()).unwrap()
    }

    #[test]
    fn the_path() {
        let scores = run(&Iscen::new(), &path(), &path_labels()).scores;
        // (1 - alpha) times these are the check values of local and global consistency.
        let expected = [[21.163_578, 19.197_867], [24.944_686, 23.749_99]];
        for (i, row) in expected.into_iter().enumerate() {
            for (c, e) in row.into_iter().enumerate() {
                assert!((scores[[i, c]] - e).abs() < 1e-5);
                assert!((scores[[3 - i, 1 - c]] - e).abs() < 1e-5);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn is_consistency_with_each_class_divided_by_its_labels(
            n in 2_usize..60, density in 0_usize..4, classes in 1_u32..6, seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, density * n, seed);
            let labels = reference::random_labels(n, classes, seed);
            let found = run(&Iscen::new().tolerance(1e-13), &graph, &labels);
            let lgc = Lgc::new().tolerance(1e-13);
            let lgc = lgc.propagate(&graph, &labels, &Monitor::silent()).unwrap();
            let counts: Vec<f64> = labels.by_class().iter().map(|m| m.len() as f64).collect();
            for ((i, c), z) in found.scores.indexed_iter() {
                let expected = lgc.scores[[i, c]] / 0.01 / counts[c].max(1.0);
                prop_assert!((z - expected).abs() < 1e-6 * (1.0 + expected));
            }
            // The largest weight of all rows is 1, and the order is that of the confidence.
            let kept: Vec<usize> = (0..counts.len()).filter(|&c| counts[c] > 0.0).collect();
            let own = confidence(found.scores.select(ndarray::Axis(1), &kept).view());
            let most = own.iter().copied().fold(0.0, f32::max);
            for i in 0..n {
                let expected = match (labels[i], found.pseudo_label[i]) {
                    (Label::Known(_), _) => 1.0,
                    (_, None) => 0.0,
                    _ => if most > 0.0 { own[i] / most } else { 0.0 },
                };
                prop_assert!((found.confidence[i] - expected).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn the_published_stopping_rule_is_reported_when_it_is_too_short() {
        let graph = reference::random_graph(800, 1000, 3);
        let labels = reference::random_labels(800, 3, 3);
        let paper = run(&Iscen::paper(), &graph, &labels);
        assert!(!paper.convergence.converged && paper.convergence.iterations == 20);
        assert!(run(&Iscen::new(), &graph, &labels).convergence.converged);
    }

    #[test]
    fn weights_of_classes() {
        let mut beliefs = run(&Iscen::new(), &path(), &path_labels());
        beliefs.pseudo_label = vec![Some(0), Some(0), Some(0), Some(1)];
        assert_eq!(class_weights(&beliefs), [2.0 / 3.0, 2.0]);
        beliefs.pseudo_label = vec![Some(0), None, None, Some(0)];
        // Items that belong to no class change nothing.
        assert_eq!(class_weights(&beliefs), [0.5, 0.0]);
    }

    #[test]
    fn one_class_unlabeled_items_and_an_unlabeled_class() {
        let names = vec!["a".into(), "b".into()];
        let items = vec![
            Label::Unknown,
            Label::Known(1),
            Label::Outside,
            Label::Unknown,
        ];
        let labels = Labels::new(names, items).unwrap();
        let beliefs = run(&Iscen::new(), &path(), &labels);
        assert_eq!(beliefs.pseudo_label, [Some(1), Some(1), None, Some(1)]);
        assert_eq!(beliefs.confidence, [1.0, 1.0, 0.0, 1.0]);
        let silent = Monitor::silent();
        let e = Iscen::new().propagate(&path(), &Labels::unknown(4), &silent);
        assert!(e.unwrap_err().to_string().contains("no item has"));
        let e = Iscen::new().alpha(1.0).propagate(&path(), &labels, &silent);
        assert!(e.unwrap_err().to_string().starts_with("alpha = 1"));
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(1500, 6000, 4);
        let labels = reference::random_labels(1500, 5, 4);
        let (one, two) = in_one_and_two_threads(|| run(&Iscen::new(), &graph, &labels));
        assert_eq!(one, two);
    }

    #[test]
    fn parameters_survive_json() {
        let json = serde_json::to_string(&Iscen::paper()).unwrap();
        assert_eq!(
            serde_json::from_str::<Iscen>(&json).unwrap(),
            Iscen::paper()
        );
        assert_eq!(serde_json::from_str::<Iscen>("{}").unwrap(), Iscen::new());
        assert!(serde_json::from_str::<Iscen>("{\"mu\": 1}").is_err());
    }
}
