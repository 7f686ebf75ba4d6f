//! A toy learner: the start itself, with the directions in another order.
//!
//! **Use it** to see what a learner has to say of itself. **Not** to learn: it
//! looks at no label.
//!
//! Cost: O(d m) time and memory.
//!
//! Source: none.

use ndarray::{Axis, concatenate, s};
use serde::{Deserialize, Serialize};

use super::affine::Affine;
use crate::learn::{Evidence, Fit, Need};
use crate::model::Model;
use crate::{Error, Monitor, Result};

/// Parameters of the toy learner; see [`toy_learner`](self).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToyLearner {
    turn: usize,
}

impl Fit for ToyLearner {
    fn needs(&self) -> &'static [Need] {
        &[Need::Classes]
    }

    fn gives_distance(&self) -> bool {
        false
    }

    fn validate(&self) -> Result<()> {
        if self.turn < 1000 {
            return Ok(());
        }
        let rule = "must be below 1000";
        Err(Error::parameter("toy-learner.turn", self.turn, rule))
    }

    fn fit(&self, evidence: &Evidence, _: u64, _: &Monitor) -> Result<Model> {
        let Affine { mean, matrix } = &evidence.start.whitening;
        let turn = self.turn.min(matrix.ncols());
        let parts = [matrix.slice(s![.., turn..]), matrix.slice(s![.., ..turn])];
        let matrix = concatenate(Axis(1), &parts).map_err(|e| Error::data(e.to_string()))?;
        let mean = mean.clone();
        Ok(Model::linear(evidence.start.reading, Affine { mean, matrix }))
    }
}
