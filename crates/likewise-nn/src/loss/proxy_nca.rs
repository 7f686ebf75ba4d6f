//! The `ProxyNCA` loss.

use serde::{Deserialize, Serialize};

use super::check::above_zero;
use crate::Result;
#[cfg(feature = "networks")]
use {
    super::classes::Classes,
    super::normalized_softmax::{cross_entropy, to_proxies},
    super::reduce::{log_sum_exp_or_zero, weighted_mean},
    burn::tensor::Tensor,
};

/// `ProxyNCA`: each item is pulled to the proxy of its class against all other proxies.
///
/// ```text
/// softmax:  L = mean_i -log( exp(-g D_iy) / sum_c exp(-g D_ic) )
/// original: the same, the sum without c = y
/// ```
///
/// with squared distances `D = 2 - 2 cos` and scale g.
///
/// **When to use it.** With class labels and many classes of few items; it needs no sampler.
///
/// **When not.** At scale 1, the default of common practice, it hardly separates: use 9 to 32
/// on real data. [`ProxyNcaPlusPlus`](super::ProxyNcaPlusPlus) and
/// [`ProxyAnchor`](super::ProxyAnchor) came after it and are stronger.
///
/// **Cost.** O(n C d) time, O(n C) memory.
///
/// **Source.** Movshovitz-Attias et al., ICCV 2017 (original). The softmax that keeps the own
/// proxy in the sum is what common practice runs, and the default: the original can fall
/// below 0 without bound. With a single class the original's empty sum is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProxyNca {
    /// Scale g, above 0.
    pub scale: f64,
    /// The original sum, without the own proxy.
    pub original: bool,
}

impl Default for ProxyNca {
    fn default() -> Self {
        Self {
            scale: 1.0,
            original: false,
        }
    }
}

impl ProxyNca {
    pub(crate) fn validate(&self) -> Result<()> {
        above_zero("loss.scale", self.scale)
    }
}

#[cfg(feature = "networks")]
impl ProxyNca {
    /// The loss of a batch, a tensor of one number. `embeddings` `[n, d]` and `proxies`
    /// `[C, d]`, rows of any length.
    pub fn forward(
        &self,
        embeddings: Tensor<2>,
        proxies: Tensor<2>,
        classes: &Classes,
    ) -> Tensor<1> {
        let distances = to_proxies(embeddings, proxies)
            .mul_scalar(-2.0)
            .add_scalar(2.0);
        let logits = distances.mul_scalar(-self.scale);
        if !self.original {
            return cross_entropy(logits, classes);
        }
        let (own, weights) = classes.like(&logits);
        let others = own.clone().neg().add_scalar(1.0);
        let against = log_sum_exp_or_zero(logits.clone(), others);
        weighted_mean(against - (logits * own).sum_dim(1), weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::reference::{batch, classes, near, proxies};

    #[test]
    fn the_worked_values_are_met() {
        let loss =
            |scale, original| ProxyNca { scale, original }.forward(batch(), proxies(), &classes());
        near(loss(9.0, true), -9.528_419_29);
        near(loss(1.0, false), 0.453_740_06);
        near(loss(10.0, false), 0.023_161_14);
    }
}
