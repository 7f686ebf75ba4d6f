//! The angular loss.

use likewise::Triplets;
use serde::{Deserialize, Serialize};

use super::check::angle;
use crate::Result;
#[cfg(feature = "networks")]
use {
    super::pairs::Pairs,
    super::reduce::{softplus, weighted_mean},
    super::triplet::{column, indices},
    crate::net::tensor::l2_normalize,
    burn::tensor::Tensor,
};

/// Angular loss: the angle at the negative, in the triangle with anchor and positive, is kept
/// below a bound.
///
/// ```text
/// batch:    mean over positive pairs of log(1 + sum_n exp(4t (a.n + p.n) - 2(1+t) a.p))
/// triplets: mean of log(1 + exp(|a - p|^2 - 4t |n - (a+p)/2|^2)),   t = tan^2(alpha)
/// ```
///
/// A graded pair is both: in a batch it is among its own negatives by the weight that it has there.
///
/// **When to use it.** When scales differ between classes: an angle has no scale. The triplet
/// form is the loss of affinity triplets, on the rows of an orthogonal map.
///
/// **When not.** For absolute similarities, such as a threshold on them: only triangles are
/// compared.
///
/// **Cost.** Batch: two products of n x n matrices, O(n^2) memory. Triplets: O(T d).
///
/// **Source.** Wang et al., ICCV 2017 (batch form); Dutta, Harandi and Sekhar, AAAI 2021, eq. 3 (triplet
/// form). Rows are of unit length in the batch form; the original leaves them as they are and
/// adds an L2 term; common practice scales anchors and positives
/// only, which is the same on rows that are unit already. The sum over negatives is a product of exponentials, so no n^3 tensor is
/// built; that limits alpha to 60 degrees (the papers use 35 to 55).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Angular {
    /// Angle in degrees.
    pub alpha: f64,
    /// Triplet form: rows are scaled to unit length first. Off for rows that were unit before
    /// an orthogonal map.
    pub normalize: bool,
    /// Triplet form: the sum over triplets, as printed, in place of the mean.
    pub sum: bool,
}

impl Default for Angular {
    fn default() -> Self {
        Self {
            alpha: 40.0,
            normalize: true,
            sum: false,
        }
    }
}

impl Angular {
    pub(crate) fn validate(&self) -> Result<()> {
        angle("loss.alpha", self.alpha)
    }

    fn squared_tangent(&self) -> f64 {
        self.alpha.to_radians().tan().powi(2)
    }
}

#[cfg(feature = "networks")]
impl Angular {
    /// The loss over all positive pairs of a batch, a tensor of one number. Rows of any
    /// length, `[n, d]`.
    pub fn forward(&self, embeddings: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        let pairs = pairs.like(&embeddings);
        let t = self.squared_tangent();
        let unit = l2_normalize(embeddings);
        let cosines = unit.clone().matmul(unit.transpose());
        let (_, negative) = pairs.of_others();
        let of_anchors = 0..pairs.dims()[0];
        // exp(4t (a.n + p.n)) is a product; the 1 that is taken off each cosine comes back
        // below.
        let part = cosines.clone().sub_scalar(1.0).mul_scalar(4.0 * t).exp();
        let weighted = part.clone().slice(of_anchors.clone()) * negative;
        let sums = weighted.matmul(part.transpose());
        let own = cosines.slice(of_anchors);
        let own = own.mul_scalar(-2.0 * (1.0 + t)).add_scalar(8.0 * t).exp();
        weighted_mean((sums * own).log1p(), pairs.positive)
    }

    /// The loss over listed triplets of a batch, `[n, d]`.
    ///
    /// Indices must be below n, as [`Triplets::check`] finds.
    pub fn forward_triplets(&self, embeddings: Tensor<2>, triplets: &Triplets) -> Tensor<1> {
        let rows = if self.normalize {
            l2_normalize(embeddings)
        } else {
            embeddings
        };
        let of = |items: &[u32]| {
            let items = indices(items.iter().map(|&i| i64::from(i)), &rows);
            rows.clone().select(0, items)
        };
        let (a, p) = (of(&triplets.anchors), of(&triplets.positives));
        let middle = (a.clone() + p.clone()).mul_scalar(0.5);
        let base = (a - p).square().sum_dim(1);
        let height = (of(&triplets.negatives) - middle).square().sum_dim(1);
        let terms = softplus(base - height.mul_scalar(4.0 * self.squared_tangent()));
        let weights = column(&triplets.weights, &rows);
        if self.sum {
            (terms * weights).sum()
        } else {
            weighted_mean(terms, weights)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::reference::{batch, near, pairs};

    #[test]
    fn the_worked_values_are_met() {
        near(Angular::default().forward(batch(), &pairs()), 1.160_177_20);
    }

    #[test]
    fn the_worked_triplets_are_met() {
        // The map is the first two axes: rows are unit before it and not after.
        let mapped = l2_normalize(batch()).slice([0..6, 0..2]);
        let one = |alpha, (a, p, n)| {
            let mut triplets = Triplets::default();
            triplets.push(a, p, n, 1.0);
            let loss = Angular {
                alpha,
                normalize: false,
                ..Angular::default()
            };
            loss.forward_triplets(mapped.clone(), &triplets)
        };
        near(one(40.0, (0, 1, 2)), 0.025_783_41);
        near(one(45.0, (0, 4, 1)), 0.772_427_82);
    }
}
