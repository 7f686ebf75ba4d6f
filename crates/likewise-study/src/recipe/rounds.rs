//! How many rounds a learner goes through, and which one is kept.

use serde::{Deserialize, Serialize};

use super::limits::{ROUNDS, at_most};
use crate::{Error, Result};

/// Which epoch is kept, where validation can tell epochs apart; else all of them run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// The last one within one standard error of the best; the untrained start where nothing is
    /// better than it by more than that. For few labels, whose highest point is an accident.
    #[default]
    NearBest,
    /// The one with the highest score, the first of several, and never the start, as papers
    /// print it.
    Best,
    /// The last one, whatever validation says: what was trained, as it was trained.
    Last,
}

/// The rounds: epochs of gradients, or fits of a learner in closed form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoundsConfig {
    /// Most epochs; validation may choose an earlier one. 0: the learner stays as it begins.
    pub epochs: usize,
    /// Which epoch is kept.
    pub keep: Keep,
    /// Folds of the cross-validation over the known labels, used where the split has no
    /// validation part and an epoch is chosen. 0 or 1: none, all epochs are run.
    pub folds: usize,
    /// Epochs without a better validation score after which training stops; 0: never.
    pub patience: usize,
    /// Effective rank of the embedding below which training stops as collapsed; 0: never.
    pub collapse: f64,
}

impl Default for RoundsConfig {
    fn default() -> Self {
        Self {
            epochs: 10,
            keep: Keep::NearBest,
            folds: 3,
            patience: 0,
            collapse: 0.0,
        }
    }
}

impl RoundsConfig {
    pub(super) fn validate(&self) -> Result<()> {
        at_most("rounds.epochs", self.epochs, ROUNDS)?;
        at_most("rounds.folds", self.folds, ROUNDS)?;
        if self.collapse.is_finite() && self.collapse >= 0.0 {
            return Ok(());
        }
        let rule = "must be 0 or above";
        Err(Error::parameter("rounds.collapse", self.collapse, rule))
    }
}
