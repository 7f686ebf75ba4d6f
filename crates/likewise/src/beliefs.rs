//! Beliefs: what propagation holds of every item.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::Labels;

/// The result of a propagation: one row per item.
#[derive(Debug, Clone, PartialEq)]
pub struct Beliefs {
    /// Score per item and class (`n x C`), the solution of the method's equation as it
    /// is: not clamped, rows need not sum to 1.
    pub scores: Array2<f64>,
    /// Class with the highest score (ties: smaller class), where classes with unequal numbers
    /// of labels are put on a par (see [`propagate`](crate::propagate)); `None` where no
    /// label reaches, and for items that are known to be of none of the classes.
    pub pseudo_label: Vec<Option<u32>>,
    /// Confidence in `pseudo_label`, 0 to 1; 0 where no label reaches, 1 on labeled items.
    pub confidence: Vec<f32>,
    /// Whether the item's own label was given.
    pub labeled: Vec<bool>,
    /// How the computation went.
    pub convergence: Convergence,
}

impl Beliefs {
    /// Share of the items of known class whose pseudo-label is right, among those that count (eq. 36 of Zhuang
    /// and Moulin 2023 where all do): an item without a pseudo-label is wrong. `None` where no item counts.
    ///
    /// `known` are the labels that were spread: they name the classes of the pseudo-labels. Those of
    /// `truth`, one label an item, may stand in another order.
    pub fn accuracy(
        &self,
        known: &Labels,
        truth: &Labels,
        counts: impl Fn(usize) -> bool,
    ) -> Option<f64> {
        let (mut right, mut all) = (0_usize, 0_usize);
        for (i, believed) in self.pseudo_label.iter().enumerate() {
            let Some(class) = truth[i].class().filter(|_| counts(i)) else {
                continue;
            };
            all += 1;
            let believed = believed.map(|class| &known.classes()[class as usize]);
            right += usize::from(believed == Some(&truth.classes()[class as usize]));
        }
        (all > 0).then(|| right as f64 / all as f64)
    }
}

/// How a propagation went: for reports and for `--json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// Iterations of the solver, all solves together.
    pub iterations: usize,
    /// Largest relative residual over classes at the end.
    pub residual: f64,
    /// Whether every class met the tolerance.
    pub converged: bool,
    /// Connected components of the graph.
    pub components: usize,
    /// Nodes without any edge.
    pub isolated: usize,
    /// Items in components without any label: their confidence is 0.
    pub unreached: usize,
    /// Mean weight of the negative edges found (mixed propagation only).
    pub mean_negative_weight: Option<f64>,
    /// Share of edges with a negative weight above 0.01 (mixed propagation only).
    pub negative_share: Option<f64>,
    /// Classes whose solve met a direction of negative curvature ([`Lpdr`] only): there the
    /// objective has no minimum, and the scores are a saddle point of it.
    ///
    /// [`Lpdr`]: crate::propagate::Lpdr
    pub negative_curvature: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accuracy_goes_by_the_names_of_classes_and_counts_what_it_is_told_to() {
        let known = Labels::parse(["b", "a", "", "", ""]);
        let truth = Labels::parse(["b", "a", "a", "b", ""]);
        let place = |name: &str| known.classes().iter().position(|class| class == name);
        let of = |name: &str| place(name).map(|class| class as u32);
        let beliefs = Beliefs {
            scores: Array2::zeros((5, 2)),
            pseudo_label: vec![of("b"), of("a"), of("a"), None, of("a")],
            confidence: vec![1.0; 5],
            labeled: vec![true, true, false, false, false],
            convergence: Convergence::default(),
        };
        let among = |counts: &dyn Fn(usize) -> bool| beliefs.accuracy(&known, &truth, counts);
        assert_eq!(among(&|_| true), Some(0.75));
        assert_eq!(among(&|i| i > 1), Some(0.5));
        assert_eq!(among(&|i| i == 4), None);
        let turned = Labels::parse(["a", "b", "b", "a", ""]);
        assert_eq!(beliefs.accuracy(&known, &turned, |i| i < 3), Some(0.0));
        // Here "a" is the second of three classes.
        let more = Labels::parse(["0", "a", "a", "", "b"]);
        assert_eq!(beliefs.accuracy(&known, &more, |_| true), Some(0.5));
    }
}
