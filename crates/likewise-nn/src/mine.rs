//! Miners: which pairs or triplets of a batch a loss looks at.
//!
//! | miner | gives | when |
//! |---|---|---|
//! | [`All`] | triplets | small batches, explicit lists |
//! | [`Hard`] | triplets | clean labels, late in training |
//! | [`Semihard`] | triplets | the safe choice for the triplet loss |
//! | [`DistanceWeighted`] | triplets | negatives of every distance |
//! | [`MultiSimilarity`] | pairs | beside the loss of that name |
//!
//! Mining has no gradient. [`of_batch`] brings triplets of a whole collection into a batch.

mod all;
mod distance_weighted;
mod hard;
mod multi_similarity;
mod seen;
mod semihard;

use serde::{Deserialize, Serialize};

pub use all::{All, of_batch};
pub use distance_weighted::DistanceWeighted;
pub use hard::Hard;
pub use multi_similarity::MultiSimilarity;
use seen::Seen;
pub use semihard::Semihard;

use crate::Result;
#[cfg(feature = "networks")]
use {crate::loss::Batch, burn::tensor::Tensor};

/// A miner with its parameters.
///
/// ```
/// use likewise_nn::mine::Mine;
/// let miner: Mine = serde_json::from_str(r#"{"name": "multi-similarity", "eps": 0.2}"#)?;
/// assert!(miner.validate().is_ok());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum Mine {
    /// Every triplet.
    All(All),
    /// The hardest positive and negative of each anchor.
    Hard(Hard),
    /// Negatives a little farther than the positive.
    Semihard(Semihard),
    /// Negatives drawn evenly over distances.
    DistanceWeighted(DistanceWeighted),
    /// Pairs that are not yet told apart.
    MultiSimilarity(MultiSimilarity),
}

impl Mine {
    /// All miners with their default parameters.
    pub fn all() -> Vec<Self> {
        vec![
            Self::All(All::default()),
            Self::Hard(Hard::default()),
            Self::Semihard(Semihard::default()),
            Self::DistanceWeighted(DistanceWeighted::default()),
            Self::MultiSimilarity(MultiSimilarity::default()),
        ]
    }

    /// The name, as it is written.
    pub fn name(&self) -> &'static str {
        match self {
            Self::All(_) => "all",
            Self::Hard(_) => "hard",
            Self::Semihard(_) => "semihard",
            Self::DistanceWeighted(_) => "distance-weighted",
            Self::MultiSimilarity(_) => "multi-similarity",
        }
    }

    /// Checks the parameters; an error names the field, its value and the rule.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::All(_) | Self::Hard(_) | Self::DistanceWeighted(_) => Ok(()),
            Self::Semihard(miner) => miner.validate(),
            Self::MultiSimilarity(miner) => miner.validate(),
        }
    }

    /// The batch with its pairs mined: fewer pairs, or triplets of them.
    ///
    /// `embeddings` `[n, d]`, rows of any length. The same seed gives the same choice. Fails
    /// if pairs and embeddings do not agree in number, and if there would be too many
    /// triplets.
    #[cfg(feature = "networks")]
    pub fn mine(&self, embeddings: &Tensor<2>, batch: Batch, seed: u64) -> Result<Batch> {
        let seen = Seen::of(embeddings, &batch.pairs)?;
        let triplets = match self {
            Self::All(miner) => miner.mine(&seen)?,
            Self::Hard(miner) => miner.mine(&seen),
            Self::Semihard(miner) => miner.mine(&seen),
            Self::DistanceWeighted(miner) => miner.mine(&seen, embeddings.dims()[1], seed),
            Self::MultiSimilarity(miner) => {
                let pairs = miner.mine(&seen, &batch.pairs);
                return Ok(Batch { pairs, ..batch });
            }
        };
        Ok(Batch {
            triplets: Some(triplets),
            ..batch
        })
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use likewise::Triplets;

    use super::*;
    use crate::loss::{Pairs, reference};

    #[test]
    fn every_miner_keeps_tuples_that_agree_with_the_pairs_and_repeats_itself() {
        for miner in Mine::all() {
            let mine = |seed| {
                let batch = Batch::from(reference::pairs());
                miner.mine(&reference::disordered(), batch, seed).unwrap()
            };
            let (once, again) = (mine(1), mine(1));
            assert_eq!(once.triplets, again.triplets, "{miner:?}");
            for (a, p, n, weight) in once.triplets.iter().flat_map(Triplets::iter) {
                let class = |item: u32| reference::Y[item as usize];
                assert!(
                    a != p && class(a) == class(p) && class(a) != class(n),
                    "{miner:?}"
                );
                assert!((weight - 1.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn items_of_weight_zero_are_never_mined() {
        let mut weights = [1.0; 6];
        weights[2] = 0.0;
        for miner in Mine::all() {
            let pairs = Pairs::from_classes(&reference::Y, &weights, &Device::flex()).unwrap();
            let mined = miner.mine(&reference::batch(), pairs.into(), 1).unwrap();
            let mut triplets = mined.triplets.iter().flat_map(Triplets::iter);
            assert!(
                triplets.all(|(a, p, n, _)| a != 2 && p != 2 && n != 2),
                "{miner:?}"
            );
            let left = mined.pairs.positive.slice([2..3, 0..6]).sum();
            assert_eq!(left.try_into_vec_as::<f32>().unwrap(), [0.0]);
        }
    }

    #[test]
    fn names_are_those_of_the_table() {
        let name = |miner: &Mine| serde_json::to_value(miner).unwrap()["name"].clone();
        let names: Vec<_> = Mine::all().iter().map(name).collect();
        assert_eq!(
            names,
            [
                "all",
                "hard",
                "semihard",
                "distance-weighted",
                "multi-similarity"
            ]
        );
        assert!(Mine::all().iter().all(|miner| miner.validate().is_ok()));
    }

    #[test]
    fn batches_that_do_not_fit_are_refused() {
        let embeddings = reference::batch().slice(0..5);
        let answer = Mine::Hard(Hard {}).mine(&embeddings, reference::pairs().into(), 0);
        let said = answer.unwrap_err().to_string();
        assert!(said.contains("5 embeddings, but pairs of 6"), "{said}");
    }
}
