//! The regulariser of the mean similarity.

use serde::{Deserialize, Serialize};

use super::check::cosine;
use crate::Result;
#[cfg(feature = "networks")]
use {super::cosine::cosines, burn::tensor::Tensor};

/// Similarity regulariser: holds the mean cosine of a batch at a value.
///
/// ```text
/// L = (mean of s_ij over all n^2 entries - s0)^2
/// ```
///
/// with the diagonal, whose cosines are 1: a batch of n items that are all at right angles has the
/// mean 1/n. The gradient is the same on every cosine, `2 (mean s - s0) / n^2`: it turns no item
/// against another, but opens or closes all of them together.
///
/// **When to use it.** Beside any other loss, with a small weight: against rows that gather in a
/// narrow cone, or that spread until nothing is alike.
///
/// ```text
/// [[learner.loss]]
/// name = "multi-similarity"
/// [[learner.loss]]
/// name = "similarity-regularizer"
/// weight = 0.1
/// ```
///
/// **When not.** Alone, which is refused: it knows no classes. Nor beside
/// [`Contextual`](super::Contextual), which has it as a part (`gamma`).
///
/// **Cost.** O(n^2 d) time, O(n^2) memory.
///
/// **Source.** Liao, Tsiligkaridis & Kulis, ICML 2023, and its code, where s0 is .25 (.3 at 224
/// pixels). Here an item counts by its weight, and one of explicit triplets as often as they name
/// it. Miners choose nothing here, and the rows of a [memory](crate::train::Memory) are not looked
/// at: both would change the mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimilarityRegularizer {
    /// Mean cosine s0 that it holds.
    pub mean_cosine: f64,
}

impl Default for SimilarityRegularizer {
    fn default() -> Self {
        Self { mean_cosine: 0.25 }
    }
}

impl SimilarityRegularizer {
    pub(crate) fn validate(&self) -> Result<()> {
        cosine("loss.mean_cosine", self.mean_cosine)
    }
}

#[cfg(feature = "networks")]
impl SimilarityRegularizer {
    /// The loss of a batch, a tensor of one number. Rows of any length, `[n, d]`, of which the
    /// first m have these weights `[m]`; the others are not looked at.
    pub fn forward(&self, embeddings: Tensor<2>, weights: Tensor<1>) -> Tensor<1> {
        let [m] = weights.dims();
        let cosines = cosines(embeddings.slice(0..m), m);
        self.of_cosines(cosines, weights)
    }

    /// As [`forward`](Self::forward), of cosines `[m, m]`.
    pub(super) fn of_cosines(&self, cosines: Tensor<2>, weights: Tensor<1>) -> Tensor<1> {
        let weights = weights.detach().cast(cosines.dtype()).unsqueeze_dim::<2>(1);
        let total = weights.clone().sum().square().clamp_min(1e-30);
        let sum = (cosines * weights.clone() * weights.transpose()).sum();
        (sum / total).sub_scalar(self.mean_cosine).square()
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device, TensorData};

    use super::*;
    use crate::loss::reference::near;

    /// Unit rows at these angles.
    fn points(device: &Device) -> Tensor<2> {
        let angles = [0.0_f64, 10.0, 25.0, 70.0, 60.0, 90.0, 100.0, 130.0];
        let rows = angles.map(|a| [a.to_radians().cos(), a.to_radians().sin()]);
        Tensor::from_data(TensorData::from(rows), (device, DType::F64))
    }

    fn ones(n: usize, device: &Device) -> Tensor<1> {
        Tensor::ones([n], (device, DType::F64))
    }

    #[test]
    fn the_worked_values_are_met() {
        let device = Device::flex();
        let held = |mean_cosine| {
            SimilarityRegularizer { mean_cosine }.forward(points(&device), ones(8, &device))
        };
        near(held(0.25), 0.088_681_71);
        near(held(0.3), 0.061_402_24);
    }

    /// `2 (mean s - s0) / n^2` on every cosine.
    #[test]
    fn the_gradient_is_the_same_on_every_cosine() {
        let device = Device::flex().autodiff();
        let unit = points(&device);
        let s = unit.clone().matmul(unit.transpose()).require_grad();
        let loss = SimilarityRegularizer::default().of_cosines(s.clone(), ones(8, &device));
        let slopes = s.grad(&loss.backward()).unwrap();
        let slopes = slopes.try_into_vec_as::<f64>().unwrap();
        // (mean s - .25)^2 = .08868171, and the mean is above.
        let expected = 2.0 * 0.088_681_71_f64.sqrt() / 64.0;
        assert!(slopes.iter().all(|s| (s - expected).abs() < 1e-9));
    }
}
