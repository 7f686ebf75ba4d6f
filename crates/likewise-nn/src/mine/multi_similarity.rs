//! Pairs that are not yet told apart.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::seen::Seen;
use crate::Result;
use crate::loss::at_least_zero;
#[cfg(feature = "networks")]
use {
    crate::loss::Pairs,
    burn::tensor::{Tensor, TensorData},
};

/// Keeps a positive that is less similar than some negative, and a negative that is more
/// similar than some positive, each within eps.
///
/// ```text
/// positive: s_ip - eps < max_n s_in,   negative: s_in + eps > min_p s_ip
/// ```
///
/// **When to use it.** With [`MultiSimilarity`](crate::loss::MultiSimilarity) and other pair
/// losses on large batches. **When not.** On small ones, where few pairs are left.
///
/// **Cost.** O(n^2). **Source.** Wang et al., CVPR 2019; eps = 0.1. An anchor that lacks
/// positives keeps no negatives, and the other way round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MultiSimilarity {
    /// Tolerance eps, a difference of cosines, at least 0.
    pub eps: f64,
}

impl Default for MultiSimilarity {
    fn default() -> Self {
        Self { eps: 0.1 }
    }
}

impl MultiSimilarity {
    pub(super) fn validate(&self) -> Result<()> {
        at_least_zero("mine.eps", self.eps)
    }

    #[cfg(feature = "networks")]
    pub(super) fn mine(&self, seen: &Seen, pairs: &Pairs) -> Pairs {
        let mut keep_positive = Array2::zeros(seen.cosines.dim());
        let mut keep_negative = keep_positive.clone();
        for a in seen.anchors() {
            let hardest_positive = seen.farthest(a, seen.positives(a));
            let hardest_negative = seen.nearest(a, seen.negatives(a));
            let (Some(low), Some(high)) = (hardest_positive, hardest_negative) else {
                continue;
            };
            let cosine = |item| seen.cosines[[a, item]];
            for p in seen.positives(a) {
                keep_positive[[a, p]] = f32::from(u8::from(cosine(p) - self.eps < cosine(high)));
            }
            for n in seen.negatives(a) {
                keep_negative[[a, n]] = f32::from(u8::from(cosine(n) + self.eps > cosine(low)));
            }
        }
        let kept = |weights: &Tensor<2>, keep: Array2<f32>| {
            let data = TensorData::new(keep.into_raw_vec_and_offset().0, weights.dims());
            let keep = Tensor::from_data(data, (&weights.device(), weights.dtype()));
            weights.clone() * keep
        };
        Pairs {
            positive: kept(&pairs.positive, keep_positive),
            negative: kept(&pairs.negative, keep_negative),
            anchors: pairs.anchors.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{self, reference};

    #[test]
    fn the_worked_values_are_met() {
        let seen = Seen::of(&reference::batch(), &reference::pairs()).unwrap();
        for (eps, positives, negatives, value) in [
            (0.1, 1.0, 1.0, 0.073_126_52),
            (0.5, 6.0, 11.0, 0.308_770_66),
        ] {
            let pairs = MultiSimilarity { eps }.mine(&seen, &reference::pairs());
            reference::near(pairs.positive.clone().sum(), positives);
            reference::near(pairs.negative.clone().sum(), negatives);
            let loss = loss::MultiSimilarity::default();
            reference::near(loss.forward(reference::batch(), &pairs), value);
        }
    }
}
