//! The normalised temperature-scaled cross-entropy loss.

use serde::{Deserialize, Serialize};

use super::check::above_zero;
use crate::Result;
#[cfg(feature = "networks")]
use {
    super::cosine::cosines,
    super::pairs::Pairs,
    super::reduce::{log_sum_exp, softplus, weighted_mean},
    burn::tensor::Tensor,
};

/// NT-Xent: each positive pair must win a softmax against all negatives of its anchor.
///
/// ```text
/// L = mean over ordered positive pairs of -s_ap/T + log(exp(s_ap/T) + sum_n exp(s_an/T))
/// ```
///
/// Other positives of the anchor are not in the sum. A graded pair is both: it is among its own negatives by the weight
/// that it has there.
///
/// **When to use it.** With large batches or a [memory](crate::train::Memory), and with pairs that
/// come from two augmentations of an item rather than from classes.
///
/// **When not.** With few negatives a batch: a softmax against a handful is soon won.
///
/// **Cost.** O(n^2 d) time, O(n^2) memory.
///
/// **Source.** Sohn, `NeurIPS` 2016; Chen et al., ICML 2020; T = 0.07 of common practice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NtXent {
    /// Temperature T, above 0.
    pub temperature: f64,
}

impl Default for NtXent {
    fn default() -> Self {
        Self { temperature: 0.07 }
    }
}

impl NtXent {
    pub(crate) fn validate(&self) -> Result<()> {
        above_zero("loss.temperature", self.temperature)
    }
}

#[cfg(feature = "networks")]
impl NtXent {
    /// The loss of a batch, a tensor of one number. Rows of any length, `[n, d]`.
    pub fn forward(&self, embeddings: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        let pairs = pairs.like(&embeddings);
        let logits = cosines(embeddings, pairs.dims()[0]).div_scalar(self.temperature);
        let (_, negative) = pairs.of_others();
        let against = log_sum_exp(logits.clone(), negative);
        weighted_mean(softplus(against - logits), pairs.positive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::reference::{batch, near, pairs};

    #[test]
    fn the_worked_values_are_met() {
        near(NtXent::default().forward(batch(), &pairs()), 0.063_489_40);
        let warm = NtXent { temperature: 0.5 };
        near(warm.forward(batch(), &pairs()), 0.931_165_95);
    }
}
