//! Rounds of learning, and what they leave.

use likewise::eval::collapse::Collapse;
use likewise_nn::Model;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::models::{Models, Rounds};
use super::selection::Score;
use crate::Result;

/// One line of the training log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Number of finished epochs; 0 is the untrained start.
    pub epoch: usize,
    /// Mean loss of a step; none before the first epoch.
    pub loss: Option<f64>,
    /// Validation score, where there is a validation.
    pub validation: Option<f64>,
    /// Standard error of the validation score over its queries.
    pub validation_error: Option<f64>,
    /// Effective rank of the learned part of the embedding, on a sample.
    pub effective_rank: f64,
    /// Mean pairwise cosine of the learned part, on a sample.
    pub mean_cosine: f64,
}

/// A finished learning: the models that may be asked for, and the log of every epoch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trained {
    pub(crate) models: Models,
    pub(crate) log: Vec<Epoch>,
    pub(crate) scores: Vec<Option<Score>>,
}

impl Trained {
    /// Takes in the model after one more round.
    pub(super) fn record(
        &mut self,
        model: Model,
        loss: Option<f64>,
        validation: Option<Score>,
        learned: &Array2<f32>,
        rounds: &Rounds,
    ) -> Result<()> {
        let epoch = self.log.len();
        let meter = Collapse::measure(learned.view())?;
        self.log.push(Epoch {
            epoch,
            loss,
            validation: validation.map(|s| s.precision.value),
            validation_error: validation.map(|s| s.precision.error),
            effective_rank: meter.effective_rank,
            mean_cosine: meter.mean_cosine,
        });
        self.models.insert(epoch, model);
        self.scores.push(validation);
        self.models.prune(rounds, &self.scores);
        Ok(())
    }

    /// Why learning ends before its last round, if it does.
    pub(super) fn finished(&self, rounds: &Rounds) -> Option<String> {
        let last = self.log.last().filter(|last| last.epoch > 0)?;
        if rounds.collapse > 0.0 && last.effective_rank < rounds.collapse {
            return Some(format!(
                "training stopped after epoch {}: the embedding has collapsed to an effective \
                 rank of {:.2}, below rounds.collapse = {}",
                last.epoch, last.effective_rank, rounds.collapse
            ));
        }
        let scores: Vec<f64> = (self.log.iter())
            .filter_map(|epoch| epoch.validation)
            .collect();
        let warm = last.epoch > rounds.warm_up;
        if rounds.patience > 0 && warm && scores.len() == self.log.len() {
            let better = |best, e| if scores[e] > scores[best] { e } else { best };
            let best = (rounds.warm_up + 1..scores.len()).fold(0, better);
            if last.epoch - best.max(rounds.warm_up) >= rounds.patience {
                return Some(format!(
                    "training stopped after epoch {}: validation was best after epoch {best}",
                    last.epoch
                ));
            }
        }
        None
    }
}
