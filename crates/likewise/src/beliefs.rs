//! Beliefs: what propagation holds of every item.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

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
