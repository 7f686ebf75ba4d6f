//! The triplet loss.

use likewise::Triplets;
use serde::{Deserialize, Serialize};

use super::check::above_zero;
use crate::Result;
#[cfg(feature = "networks")]
use {
    super::cosine::{cosines, distances},
    super::listed::Listed,
    super::pairs::Pairs,
    super::reduce::{mean_positive, with_slope},
    burn::tensor::{IndexingUpdateOp, Int, Tensor, TensorData},
};

/// Triplet loss: an anchor must be nearer to its positive than to its negative, by a margin.
///
/// ```text
/// L = mean (d_ap - d_an + margin)_+ over the terms above 0
/// ```
///
/// with Euclidean distances of unit rows (not squared). Of pairs, all valid triplets are
/// taken: `(a, p)` positive and `(a, n)` negative, weight `w_a w_p w_n`; a graded pair, which is both, is no triplet
/// with itself.
///
/// **When to use it.** When only comparisons are known, and as a baseline. Explicit triplets
/// come from a list or a [miner](crate::mine).
///
/// **When not.** On large batches without a miner most triplets are satisfied and the rest
/// are noisy; losses that weigh the hard ones ([`MultiSimilarity`](super::MultiSimilarity),
/// [`NtXent`](super::NtXent)) learn faster.
///
/// **Cost.** Of pairs: O(T) time for T triplets (up to n^3), O(n^2) memory. Of a list:
/// O(n^2 d + T).
///
/// **Source.** Schroff et al., CVPR 2015, with the unsquared distance and the mean over
/// active triplets of common practice; margin 0.05.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Triplet {
    /// Margin, a distance of unit rows.
    pub margin: f64,
}

impl Default for Triplet {
    fn default() -> Self {
        Self { margin: 0.05 }
    }
}

/// Numbers of a block of triplets: small enough for a cache, large enough for threads.
pub(super) const BLOCK: usize = 1 << 20;

impl Triplet {
    pub(crate) fn validate(&self) -> Result<()> {
        above_zero("loss.margin", self.margin)
    }
}

#[cfg(feature = "networks")]
impl Triplet {
    /// The loss over all triplets of a batch, a tensor of one number. Rows of any length,
    /// `[n, d]`.
    pub fn forward(&self, embeddings: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        let pairs = pairs.like(&embeddings);
        let distance = distances(cosines(embeddings, pairs.dims()[0]));
        let at = distance.clone().detach();
        let [m, n] = at.dims();
        let (_, negative) = pairs.of_others();
        let flat = at.clone().reshape([m * n, 1]);
        let flat_negative = negative.clone().reshape([m * n, 1]);
        let mut value = Tensor::<1>::zeros([1], (&at.device(), at.dtype()));
        let mut active = value.clone();
        let mut of_pairs = at.zeros_like().reshape([m * n, 1]);
        let mut slope = at.zeros_like();
        for block in Listed::above_zero(&pairs.positive).blocks(BLOCK / n.max(1)) {
            let (anchors, places, weights) = block.tensors(&at);
            let to_negative = at.clone().select(0, anchors.clone());
            let to_positive = flat.clone().select(0, places.clone());
            let term = (to_positive - to_negative).add_scalar(self.margin);
            let inactive = term.clone().lower_equal_elem(0.0);
            let weight = negative.clone().select(0, anchors.clone()) * weights.clone();
            // A graded pair with itself: the same product is taken off, so that exactly 0 is left.
            let itself = flat_negative.clone().select(0, places.clone()) * weights;
            let place = places.clone().remainder_scalar(n as i64).reshape([-1, 1]);
            let weight = weight.scatter(1, place, itself.neg(), IndexingUpdateOp::Add);
            let weight = weight.mask_fill(inactive, 0.0);
            value = value + (term * weight.clone()).sum();
            active = active + weight.clone().sum();
            let total = weight.clone().sum_dim(1);
            of_pairs = of_pairs.select_assign(0, places, total, IndexingUpdateOp::Add);
            slope = slope.select_assign(0, anchors, weight.neg(), IndexingUpdateOp::Add);
        }
        let active = active.clamp_min(1e-30);
        let slope = (slope + of_pairs.reshape([m, n])) / active.clone().unsqueeze_dim(1);
        with_slope(value / active, slope, distance)
    }

    /// The loss over listed triplets of a batch of unit or other rows, `[n, d]`.
    ///
    /// Indices must be below n, as [`Triplets::check`] finds.
    pub fn forward_triplets(&self, embeddings: Tensor<2>, triplets: &Triplets) -> Tensor<1> {
        let n = embeddings.dims()[0];
        let distance = distances(cosines(embeddings, n)).reshape([n * n, 1]);
        let to = |others: &[u32]| {
            let pairs = triplets.anchors.iter().zip(others);
            let places = pairs.map(|(&a, &o)| i64::from(a) * n as i64 + i64::from(o));
            distance.clone().select(0, indices(places, &distance))
        };
        let term = (to(&triplets.positives) - to(&triplets.negatives)).add_scalar(self.margin);
        mean_positive(term, column(&triplets.weights, &distance))
    }
}

/// Indices as a tensor, on the device of `like`.
#[cfg(feature = "networks")]
pub(super) fn indices(values: impl Iterator<Item = i64>, like: &Tensor<2>) -> Tensor<1, Int> {
    let values: Vec<i64> = values.collect();
    let shape = [values.len()];
    Tensor::from_data(TensorData::new(values, shape), &like.device())
}

/// Weights as a column, on the device and in the number type of `like`.
#[cfg(feature = "networks")]
pub(super) fn column(values: &[f32], like: &Tensor<2>) -> Tensor<2> {
    let data = TensorData::new(values.to_vec(), [values.len(), 1]);
    Tensor::from_data(data, (&like.device(), like.dtype()))
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, Device};

    use super::*;
    use crate::loss::reference::{X, Y, batch, near, pairs, tensor};

    /// How alike two items are, where that is a grade.
    const GRADES: [[f64; 6]; 6] = {
        let mut grades = [[0.0; 6]; 6];
        let (mut i, some) = (0, [0.5, 0.25, 0.0, 1.0, 0.75, 0.0]);
        while i < 36 {
            let (a, b) = (i / 6, i % 6);
            grades[a][b] = some[(a + b + a * b) % 6];
            i += 1;
        }
        grades
    };

    fn graded() -> Pairs {
        let grades = ndarray::arr2(&GRADES).mapv(|grade| grade as f32);
        Pairs::from_relation(grades.view(), &[1.0; 6], (&Device::flex(), DType::F64)).unwrap()
    }

    /// Tells of each ordered pair its cosine, its grade, and cosine and weight of the other negatives of its anchor.
    fn of_graded(mut each: impl FnMut(f64, f64, &[(f64, f64)])) {
        let cosine = |a: usize, b: usize| {
            let dot = |a: usize, b: usize| (0..3).map(|k| X[a][k] * X[b][k]).sum::<f64>();
            dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
        };
        for (a, p) in (0..36)
            .map(|place| (place / 6, place % 6))
            .filter(|(a, p)| a != p)
        {
            let others = (0..6).filter(|&n| n != a && n != p);
            let others: Vec<_> = others.map(|n| (cosine(a, n), 1.0 - GRADES[a][n])).collect();
            each(cosine(a, p), GRADES[a][p], &others);
        }
    }

    #[test]
    fn the_worked_values_are_met() {
        near(Triplet::default().forward(batch(), &pairs()), 0.0);
        let wide = Triplet { margin: 0.5 };
        near(wide.forward(batch(), &pairs()), 0.133_891_62);
        let mut all = Triplets::default();
        let class = |i: u32| Y[i as usize];
        for a in 0..6 {
            for p in (0..6).filter(|&p| p != a && class(p) == class(a)) {
                for n in (0..6).filter(|&n| class(n) != class(a)) {
                    all.push(a, p, n, 1.0);
                }
            }
        }
        assert_eq!(all.len(), 24);
        near(wide.forward_triplets(batch(), &all), 0.133_891_62);
    }

    #[test]
    fn a_graded_pair_is_no_triplet_with_itself() {
        let (mut value, mut active) = (0.0, 0.0);
        let distance = |a: f64| (2.0 - 2.0 * a).sqrt();
        of_graded(|near, grade, others| {
            for &(apart, weight) in others {
                let term = distance(near) - distance(apart) + 0.5;
                if term > 0.0 {
                    value += grade * weight * term;
                    active += grade * weight;
                }
            }
        });
        let wide = Triplet { margin: 0.5 };
        near(wide.forward(batch(), &graded()), value / active);
        // Where no other triplet is active, nothing is left.
        let apart = tensor([[1.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.0, 1.0, 0.0]]);
        let third = 1.0 / 3.0;
        let grades = ndarray::arr2(&[[0.0, third, 0.0], [third, 0.0, 0.0], [0.0; 3]]);
        let options = (&Device::flex(), DType::F64);
        let pairs = Pairs::from_relation(grades.view(), &[1.0, 0.7, 0.9], options).unwrap();
        near(Triplet::default().forward(apart, &pairs), 0.0);
    }
}
