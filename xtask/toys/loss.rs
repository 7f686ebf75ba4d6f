//! A toy loss.

use serde::{Deserialize, Serialize};

use super::check::at_least_zero;
use crate::Result;
#[cfg(feature = "networks")]
use {
    super::cosine::cosines, super::pairs::Pairs, super::reduce::weighted_mean, burn::tensor::Tensor,
};

/// Toy loss: positives to cosine 1, negatives to cosine 0.
///
/// ```text
/// L = mean (1 - s_ij) over positives + push mean s_ij^2 over negatives
/// ```
///
/// **When to use it.** To see what a loss has to say of itself.
///
/// **When not.** To learn.
///
/// **Cost.** O(n^2 d) time, O(n^2) memory.
///
/// **Source.** None.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToyLoss {
    /// What negatives weigh beside positives.
    pub push: f64,
}

impl Default for ToyLoss {
    fn default() -> Self {
        Self { push: 1.0 }
    }
}

impl ToyLoss {
    pub(crate) fn validate(&self) -> Result<()> {
        at_least_zero("loss.push", self.push)
    }
}

#[cfg(feature = "networks")]
impl ToyLoss {
    /// The loss of a batch, a tensor of one number. Rows of any length, `[n, d]`.
    pub fn forward(&self, embeddings: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        let pairs = pairs.like(&embeddings);
        let s = cosines(embeddings, pairs.dims()[0]);
        let apart = weighted_mean(s.clone().square(), pairs.negative.clone());
        let near = weighted_mean(s.neg().add_scalar(1.0), pairs.positive.clone());
        near + apart.mul_scalar(self.push)
    }
}
