//! The normalised softmax loss.

use serde::{Deserialize, Serialize};

use super::check::above_zero;
use crate::Result;
#[cfg(feature = "networks")]
use {
    super::classes::Classes,
    super::reduce::weighted_mean,
    crate::net::tensor::l2_normalize,
    burn::tensor::{Tensor, activation::log_softmax},
};

/// Normalised softmax: cross-entropy of the classes, with cosines to unit proxies as logits.
///
/// ```text
/// L = - mean_i log softmax_c(f_i.p_c / T) at c = y_i
/// ```
///
/// **When to use it.** As the plain baseline with class labels: stable, no sampler, fast.
///
/// **When not.** Without class labels, or with classes of a few items each and many classes.
///
/// **Cost.** O(n C d) time, O(n C) memory.
///
/// **Source.** Zhai & Wu, BMVC 2019; T = 0.05. They add a layer norm before and batches
/// balanced by class, which belong to the network and the sampler.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NormalizedSoftmax {
    /// Temperature T, above 0.
    pub temperature: f64,
}

impl Default for NormalizedSoftmax {
    fn default() -> Self {
        Self { temperature: 0.05 }
    }
}

impl NormalizedSoftmax {
    pub(crate) fn validate(&self) -> Result<()> {
        above_zero("loss.temperature", self.temperature)
    }
}

#[cfg(feature = "networks")]
impl NormalizedSoftmax {
    /// The loss of a batch, a tensor of one number. `embeddings` `[n, d]` and `proxies`
    /// `[C, d]`, rows of any length.
    pub fn forward(
        &self,
        embeddings: Tensor<2>,
        proxies: Tensor<2>,
        classes: &Classes,
    ) -> Tensor<1> {
        let cosines = to_proxies(embeddings, proxies);
        cross_entropy(cosines.div_scalar(self.temperature), classes)
    }
}

/// Cosines of items and proxies, `[n, C]`.
#[cfg(feature = "networks")]
pub(super) fn to_proxies(embeddings: Tensor<2>, proxies: Tensor<2>) -> Tensor<2> {
    l2_normalize(embeddings).matmul(l2_normalize(proxies).transpose())
}

/// Weighted mean of the cross-entropies of the items.
#[cfg(feature = "networks")]
pub(super) fn cross_entropy(logits: Tensor<2>, classes: &Classes) -> Tensor<1> {
    let (own, weights) = classes.like(&logits);
    let terms = (log_softmax(logits, 1) * own).sum_dim(1).neg();
    weighted_mean(terms, weights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::reference::{batch, classes, near, proxies};

    #[test]
    fn the_worked_value_is_met() {
        let loss = NormalizedSoftmax::default();
        near(loss.forward(batch(), proxies(), &classes()), 0.023_161_14);
    }
}
