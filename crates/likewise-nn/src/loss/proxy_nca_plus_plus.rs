//! The `ProxyNCA`++ loss.

use serde::{Deserialize, Serialize};

use super::check::above_zero;
use super::proxy_nca::ProxyNca;
use crate::Result;
#[cfg(feature = "networks")]
use {super::classes::Classes, burn::tensor::Tensor};

/// `ProxyNCA++`: [`ProxyNca`] with the own proxy in the sum and a low temperature.
///
/// ```text
/// L = mean_i -log softmax_c(-D_ic / T) at c = y_i,   D = 2 - 2 cos
/// ```
///
/// **When to use it.** With class labels; the paper pairs it with global max pooling, a layer
/// norm without scale, batches of 8 classes x 4 and a high learning rate of the proxies.
///
/// **When not.** Without those companions it is [`NormalizedSoftmax`](super::NormalizedSoftmax)
/// at `2 T`.
///
/// **Cost.** O(n C d) time, O(n C) memory.
///
/// **Source.** Teh et al., ECCV 2020; T = 1/9.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProxyNcaPlusPlus {
    /// Temperature T, above 0.
    pub temperature: f64,
}

impl Default for ProxyNcaPlusPlus {
    fn default() -> Self {
        Self {
            temperature: 1.0 / 9.0,
        }
    }
}

impl ProxyNcaPlusPlus {
    pub(crate) fn validate(&self) -> Result<()> {
        above_zero("loss.temperature", self.temperature)
    }
}

#[cfg(feature = "networks")]
impl ProxyNcaPlusPlus {
    /// The loss of a batch, a tensor of one number. `embeddings` `[n, d]` and `proxies`
    /// `[C, d]`, rows of any length.
    pub fn forward(
        &self,
        embeddings: Tensor<2>,
        proxies: Tensor<2>,
        classes: &Classes,
    ) -> Tensor<1> {
        let softmax = ProxyNca {
            scale: 1.0 / self.temperature,
            original: false,
        };
        softmax.forward(embeddings, proxies, classes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::reference::{batch, classes, near, proxies};

    #[test]
    fn the_worked_value_is_met() {
        let loss = ProxyNcaPlusPlus::default();
        near(loss.forward(batch(), proxies(), &classes()), 0.027_678_39);
    }
}
