//! The contrastive loss.

use serde::{Deserialize, Serialize};

use super::check::cosine_or_distance;
use crate::Result;
#[cfg(feature = "networks")]
use {
    super::cosine::{cosines, distances},
    super::pairs::Pairs,
    super::reduce::mean_positive,
    burn::tensor::Tensor,
};

/// What the margins of [`Contrastive`] are measured in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Euclidean distance of unit rows, 0 to 2.
    #[default]
    Euclidean,
    /// Cosine, -1 to 1.
    Cosine,
}

/// Contrastive loss: positives are pulled within one margin, negatives pushed beyond another.
///
/// ```text
/// Euclidean: mean (d_ij - p)_+ over positives + mean (q - d_ij)_+ over negatives
/// cosine:    mean (p - s_ij)_+ over positives + mean (s_ij - q)_+ over negatives
/// ```
///
/// Each mean runs over the terms above 0 only, so the pairs that are far enough already do
/// not drown the others.
///
/// **When to use it.** As the first baseline, and as the term that keeps similarities on an
/// absolute scale beside a ranking loss ([`Roadmap`](super::Roadmap),
/// [`Contextual`](super::Contextual)). It needs pairs only, no classes.
///
/// **When not.** Where classes differ much in spread: one margin holds for all of them.
///
/// **Cost.** O(n^2 d) time, O(n^2) memory.
///
/// **Source.** Hadsell et al., CVPR 2006; margins 0 and 1 of common practice, (0.9, 0.6) and
/// (0.75, 0.6) for cosines from Liao et al., ICML 2023.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Contrastive {
    /// What the margins are measured in.
    pub measure: Measure,
    /// Margin p of positives.
    pub positive_margin: f64,
    /// Margin q of negatives.
    pub negative_margin: f64,
}

impl Default for Contrastive {
    fn default() -> Self {
        Self {
            measure: Measure::Euclidean,
            positive_margin: 0.0,
            negative_margin: 1.0,
        }
    }
}

impl Contrastive {
    /// The cosine form with these margins.
    pub fn cosine(positive_margin: f64, negative_margin: f64) -> Self {
        Self {
            measure: Measure::Cosine,
            positive_margin,
            negative_margin,
        }
    }

    pub(crate) fn validate(&self) -> Result<()> {
        let cosine = self.measure == Measure::Cosine;
        cosine_or_distance("loss.positive_margin", self.positive_margin, cosine)?;
        cosine_or_distance("loss.negative_margin", self.negative_margin, cosine)
    }
}

#[cfg(feature = "networks")]
impl Contrastive {
    /// The loss of a batch, a tensor of one number. Rows of any length, `[n, d]`.
    pub fn forward(&self, embeddings: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        let pairs = pairs.like(&embeddings);
        self.of_cosines(cosines(embeddings, pairs.dims()[0]), &pairs)
    }

    /// The loss of a matrix of cosines.
    pub(crate) fn of_cosines(&self, cosines: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        let (near, apart) = match self.measure {
            Measure::Euclidean => {
                let distance = distances(cosines);
                (
                    distance.clone().sub_scalar(self.positive_margin),
                    distance.neg().add_scalar(self.negative_margin),
                )
            }
            Measure::Cosine => (
                cosines.clone().neg().add_scalar(self.positive_margin),
                cosines.sub_scalar(self.negative_margin),
            ),
        };
        mean_positive(near, pairs.positive.clone()) + mean_positive(apart, pairs.negative.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::reference::{batch, near, pairs};

    #[test]
    fn the_worked_values_are_met() {
        let loss = |loss: Contrastive| loss.forward(batch(), &pairs());
        near(loss(Contrastive::default()), 0.657_817_96);
        near(loss(Contrastive::cosine(0.9, 0.6)), 0.145_936_91);
        near(loss(Contrastive::cosine(0.75, 0.6)), 0.068_386_28);
        near(loss(Contrastive::cosine(0.75, 0.3)), 0.253_528_05);
    }
}
