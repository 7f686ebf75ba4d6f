//! The center loss.

use serde::{Deserialize, Serialize};

use crate::Result;
#[cfg(feature = "networks")]
use {super::classes::Classes, super::reduce::weighted_mean, burn::tensor::Tensor};

/// Center loss: every item is pulled to the centre of its class.
///
/// ```text
/// L = 1/2 mean_i |x_i - c_{y_i}|^2
/// ```
///
/// on rows as they come: lengths count, nothing is normalised.
///
/// **When to use it.** Beside a loss that separates classes, with a small weight: it makes
/// them compact.
///
/// **When not.** Alone: all rows and centres in one point is its minimum.
///
/// **Cost.** O(n (C + d)) memory, O(n C d) time.
///
/// **Source.** Wen et al., ECCV 2016, who sum over the batch where we take the mean, and move
/// centres by a rule of their own; here they are learned like any proxy. A soft target is the
/// mean of its centres.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Center {}

impl Center {
    #[allow(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "as the other losses"
    )]
    pub(crate) fn validate(&self) -> Result<()> {
        Ok(())
    }
}

#[cfg(feature = "networks")]
impl Center {
    /// The loss of a batch, a tensor of one number. `embeddings` `[n, d]` and centres
    /// `[C, d]`.
    pub fn forward(
        &self,
        embeddings: Tensor<2>,
        centers: Tensor<2>,
        classes: &Classes,
    ) -> Tensor<1> {
        let (own, weights) = classes.like(&embeddings);
        let away = embeddings - own.matmul(centers);
        weighted_mean(away.square().sum_dim(1).mul_scalar(0.5), weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::reference::{batch, classes, near, proxies};

    #[test]
    fn the_mean_of_half_the_squares() {
        // By hand: squared distances .01, .06, .02, .45, .05, .19.
        let loss = Center {}.forward(batch(), proxies(), &classes());
        near(loss, 0.5 * (0.01 + 0.06 + 0.01 + 0.45 + 0.05 + 0.19) / 6.0);
    }
}
