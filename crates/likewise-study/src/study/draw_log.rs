//! What happened in one draw.

use serde::{Deserialize, Serialize};

use super::rounds::{Epoch, Why};
use super::selection::Selection;

/// What happened in one draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawLog {
    /// Number of the draw.
    pub draw: usize,
    /// Known labels that were used to fit.
    pub labels: usize,
    /// Labels that only validated: those of the split's validation part, as many a class as
    /// are fitted. 0 means that the fitting labels validated themselves, by leave-one-out and
    /// by folds.
    pub validation_labels: usize,
    /// Shrinkage of the whitening; absent for infinity (centred features).
    pub shrinkage: Option<f64>,
    /// Whether columns were divided by their standard deviation before.
    pub standardized: bool,
    /// Share of right pseudo-labels, spread over the graph of the start, among the training
    /// items that were not labeled but whose class the data tell; absent where there is none.
    pub pseudo_label_accuracy: Option<f64>,
    /// Epoch chosen for the labels-only head; 0 is the start. Absent where none was trained.
    pub labels_only_epoch: Option<usize>,
    /// Epoch chosen for the recipe's head; 0 is the start.
    pub epoch: usize,
    /// Why that epoch.
    pub why: Why,
    /// Validation score by epoch, from which the recipe's epoch was chosen.
    pub validation: Vec<Option<f64>>,
    /// Log of the recipe's final training.
    pub training: Vec<Epoch>,
    /// How the propagation went.
    pub propagation: likewise::Convergence,
    /// What label prediction selected, one selection after the other; none of another source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selections: Vec<Selection>,
}
