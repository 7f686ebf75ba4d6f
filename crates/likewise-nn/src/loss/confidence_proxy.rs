//! The confidence-weighted proxy loss.

use serde::{Deserialize, Serialize};

use super::check::{above_zero, cosine};
use crate::Result;
#[cfg(feature = "networks")]
use {
    super::classes::Classes, super::normalized_softmax::to_proxies, super::reduce::softplus,
    burn::tensor::Tensor,
};

/// Confidence-weighted proxy loss: every item is pulled to the proxy of its (pseudo-)label
/// and pushed from all others, weighted by the confidence in that label.
///
/// ```text
/// L = 1/C sum_i w_i [ softplus(-e (z_i.p_y - b)) + sum_{c != y} softplus(e (z_i.p_c + b)) ]
/// ```
///
/// with unit rows `z` and `p`, scale `e` and margin `b`.
///
/// **When to use it.** Pseudo-labels of mixed quality: a doubtful one moves little, and a
/// weight of 0 is the same as absence. Within a class, variance survives: an item only has
/// to be nearer to its own proxy than to the others.
///
/// **When not.** Without class labels (pairs only); with so many classes that `batch x C`
/// no longer fits.
///
/// **Cost.** O(batch x C x d) time, O(batch x C) memory.
///
/// **Source.** Zhuang & Moulin, CVPR 2023, eqs. 26-29. Eq. 29 prints `c != y_i`; `y_i` is
/// unknown for unlabeled items, so the pseudo-label is meant. The plain sum over the batch
/// divided by C is kept as printed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConfidenceProxy {
    /// Scale e, above 0.
    pub scale: f64,
    /// Margin b, a cosine.
    pub margin: f64,
}

impl Default for ConfidenceProxy {
    fn default() -> Self {
        Self {
            scale: 32.0,
            margin: 0.1,
        }
    }
}

impl ConfidenceProxy {
    pub(crate) fn validate(&self) -> Result<()> {
        above_zero("loss.scale", self.scale)?;
        cosine("loss.margin", self.margin)
    }
}

#[cfg(feature = "networks")]
impl ConfidenceProxy {
    /// The loss of a batch, a tensor of one number. `embeddings` `[n, d]` and `proxies`
    /// `[C, d]`, rows of any length; no gradient flows through the weights.
    pub fn forward(
        &self,
        embeddings: Tensor<2>,
        proxies: Tensor<2>,
        classes: &Classes,
    ) -> Tensor<1> {
        let cosines = to_proxies(embeddings, proxies);
        let (own, weights) = classes.like(&cosines);
        let part =
            |argument: Tensor<2>| softplus(argument.add_scalar(self.margin).mul_scalar(self.scale));
        let pull = part(cosines.clone().neg()) * own.clone();
        let push = part(cosines) * own.neg().add_scalar(1.0);
        ((pull + push) * weights)
            .sum()
            .div_scalar(classes.dims()[1] as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{DType, Device, TensorData};

    use crate::loss::reference::{batch, proxies};

    #[test]
    fn the_worked_value_is_met() {
        let weights = [
            0.641_003_75,
            0.270_153_30,
            0.418_328_13,
            0.016_461_37,
            1.0,
            0.0,
        ];
        let options = (&Device::flex(), DType::F64);
        let mut classes = Classes::new(&[0, 0, 1, 0, 2, 0], 3, &[1.0; 6], options).unwrap();
        classes.weights = Tensor::from_data(TensorData::from(weights), options);
        let loss = ConfidenceProxy::default().forward(batch(), proxies(), &classes);
        let loss = loss.try_into_vec_as::<f64>().unwrap()[0];
        // The weights themselves are printed with eight digits.
        assert!((loss - 16.332_305_42).abs() < 2e-7, "{loss}");
    }
}
