//! The multi-similarity loss.

use serde::{Deserialize, Serialize};

use super::check::{above_zero, cosine};
use crate::Result;
#[cfg(feature = "networks")]
use {
    super::cosine::cosines,
    super::pairs::Pairs,
    super::reduce::{log_one_plus_sum_exp, weighted_mean},
    burn::tensor::Tensor,
};

/// Multi-similarity loss: soft sums over the positives and over the negatives of each anchor,
/// so that the hardest pairs weigh most.
///
/// ```text
/// L = mean over anchors of 1/a log(1 + sum_p exp(-a (s_ip - l))) + 1/b log(1 + sum_n exp(b (s_in - l)))
/// ```
///
/// **When to use it.** The strongest of the plain pair losses on most retrieval sets; with
/// four or so items a class in a batch, with or without its
/// [miner](crate::mine::MultiSimilarity).
///
/// **When not.** With one item a class in a batch: then nothing pulls.
///
/// **Cost.** O(n^2 d) time, O(n^2) memory.
///
/// **Source.** Wang et al., CVPR 2019. Anchors without a pair count as 0 in the mean, as in
/// common practice; the authors' code skips an anchor that lacks either kind, drops positives
/// with cosine 1 and divides by the batch size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MultiSimilarity {
    /// Scale a of positives, above 0.
    pub positive_scale: f64,
    /// Scale b of negatives, above 0.
    pub negative_scale: f64,
    /// Cosine l from which pairs weigh.
    pub base: f64,
}

impl Default for MultiSimilarity {
    fn default() -> Self {
        Self {
            positive_scale: 2.0,
            negative_scale: 50.0,
            base: 0.5,
        }
    }
}

impl MultiSimilarity {
    pub(crate) fn validate(&self) -> Result<()> {
        above_zero("loss.positive_scale", self.positive_scale)?;
        above_zero("loss.negative_scale", self.negative_scale)?;
        cosine("loss.base", self.base)
    }
}

#[cfg(feature = "networks")]
impl MultiSimilarity {
    /// The loss of a batch, a tensor of one number. Rows of any length, `[n, d]`.
    pub fn forward(&self, embeddings: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        let pairs = pairs.like(&embeddings);
        let above = cosines(embeddings, pairs.dims()[0]).sub_scalar(self.base);
        let (positive, negative) = pairs.of_others();
        let part = |scale: f64, weights| {
            log_one_plus_sum_exp(above.clone().mul_scalar(scale), weights).div_scalar(scale.abs())
        };
        let terms = part(-self.positive_scale, positive) + part(self.negative_scale, negative);
        weighted_mean(terms, pairs.anchor_column())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::reference::{batch, near, pairs};

    #[test]
    fn the_worked_value_is_met() {
        let loss = MultiSimilarity::default();
        near(loss.forward(batch(), &pairs()), 0.308_770_68);
    }
}
