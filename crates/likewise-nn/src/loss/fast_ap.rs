//! The `FastAP` loss.

use serde::{Deserialize, Serialize};

use super::check::count;
use crate::Result;
#[cfg(feature = "networks")]
use {
    super::cosine::{cosines, squared_distances},
    super::pairs::Pairs,
    super::reduce::weighted_mean,
    burn::tensor::{IndexingUpdateOp, Int, Tensor},
};

/// `FastAP`: average precision of each anchor's ranking, from histograms of distances.
///
/// ```text
/// AP_i = 1/|P_i| sum_l h+_l H+_l / H_l,   L = mean (1 - AP_i)
/// ```
///
/// Squared distances fall into bins with centres `4 l / L`; each counts in the two bins around
/// it, in proportion. `h+` counts positives, `H` all, summed from the nearest bin on. Anchors
/// without positives are skipped.
///
/// **When to use it.** To train for the ranking itself with large batches: linear in the
/// pairs, where [`SmoothAp`](super::SmoothAp) looks at every positive beside every item.
///
/// **When not.** With small batches: a bin holds too few items to say much.
///
/// **Cost.** O(n^2 d) time, O(n^2) memory whatever the number of bins.
///
/// **Source.** Cakir et al., CVPR 2019; L = 10.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FastAp {
    /// Number L of steps between bins.
    pub bins: usize,
}

impl Default for FastAp {
    fn default() -> Self {
        Self { bins: 10 }
    }
}

impl FastAp {
    pub(crate) fn validate(&self) -> Result<()> {
        count("loss.bins", self.bins, 1..=10_000)
    }
}

#[cfg(feature = "networks")]
impl FastAp {
    /// The loss of a batch, a tensor of one number. Rows of any length, `[n, d]`.
    pub fn forward(&self, embeddings: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        let pairs = pairs.like(&embeddings);
        let [m, _] = pairs.dims();
        let (positive, negative) = pairs.of_others();
        let steps = squared_distances(cosines(embeddings, m)).clamp_max(4.0);
        let steps = steps.mul_scalar(self.bins as f64 / 4.0);
        let below = steps.clone().detach().floor();
        let below = below.clamp(0.0, self.bins as f64 - 1.0);
        let part = steps - below.clone();
        let below = below.int();
        let inside = self.histogram(positive.clone(), &part, &below);
        let all = self.histogram(positive.clone() + negative, &part, &below);
        let ranked = all.cumsum(1).clamp_min(1e-30);
        let gained = (inside.clone() * inside.cumsum(1) / ranked).sum_dim(1);
        let relevant = positive.sum_dim(1);
        let lone = relevant.clone().lower_equal_elem(0.0);
        let precision = gained / relevant.mask_fill(lone.clone(), 1.0);
        let weights = pairs.anchor_column().mask_fill(lone, 0.0);
        weighted_mean(precision.neg().add_scalar(1.0), weights)
    }

    /// Soft counts, `[m, bins + 1]`: a pair that lies `part` of the way between two bins.
    fn histogram(&self, weights: Tensor<2>, part: &Tensor<2>, below: &Tensor<2, Int>) -> Tensor<2> {
        let [m, _] = weights.dims();
        let above = weights.clone() * part.clone();
        Tensor::zeros([m, self.bins + 1], (&part.device(), part.dtype()))
            .scatter(
                1,
                below.clone(),
                weights - above.clone(),
                IndexingUpdateOp::Add,
            )
            .scatter(1, below.clone().add_scalar(1), above, IndexingUpdateOp::Add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::reference::{batch, near, pairs};

    #[test]
    fn the_worked_value_is_met() {
        near(FastAp::default().forward(batch(), &pairs()), 0.075_879_89);
    }
}
