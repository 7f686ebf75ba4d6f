//! The Smooth-AP loss, and the average precision that it shares with ROADMAP.

use serde::{Deserialize, Serialize};

use super::check::above_zero;
use crate::Result;
#[cfg(feature = "networks")]
use {
    super::cosine::cosines,
    super::listed::Listed,
    super::pairs::Pairs,
    super::reduce::with_slope,
    super::triplet::BLOCK,
    burn::tensor::{IndexingUpdateOp, Tensor, activation::sigmoid},
};

/// Smooth-AP: average precision of each anchor's ranking, with sigmoids in place of
/// comparisons.
///
/// ```text
/// R(i, j, X) = 1 + sum_{k in X, k != j} G(s_ik - s_ij),   G(x) = 1 / (1 + exp(-x / tau))
/// AP_i = mean over relevant j of R(i, j, relevant) / R(i, j, all),   L = 1 - mean AP_i
/// ```
///
/// The anchor itself is one of its relevant items, as in the authors' code.
///
/// **When to use it.** To train for the ranking itself, with four or more items a class in a
/// batch.
///
/// **When not.** From a bad start: beyond `|x| > 50 tau` no gradient is left, so badly ranked
/// items do not move. [`Roadmap`](super::Roadmap) mends that.
///
/// **Cost.** O(P n) time for P positive pairs (up to n^3), O(n^2) memory: blocks of pairs.
///
/// **Source.** Brown et al., ECCV 2020; tau = 0.01. Unlike their code it needs no equal class
/// counts. Their clip of the exponent at 50 changes less than 1e-21 and is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmoothAp {
    /// Temperature tau of the sigmoid, in cosine, above 0.
    pub tau: f64,
    /// The anchor is one of its relevant items; else anchors without positives are skipped.
    pub include_self: bool,
}

impl Default for SmoothAp {
    fn default() -> Self {
        Self {
            tau: 0.01,
            include_self: true,
        }
    }
}

impl SmoothAp {
    pub(crate) fn validate(&self) -> Result<()> {
        above_zero("loss.tau", self.tau)
    }
}

#[cfg(feature = "networks")]
impl SmoothAp {
    /// The loss of a batch, a tensor of one number. Rows of any length, `[n, d]`.
    pub fn forward(&self, embeddings: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        let pairs = pairs.like(&embeddings);
        let cosines = cosines(embeddings, pairs.dims()[0]);
        let step = |x: &Tensor<2>| smooth_step(x, self.tau);
        let precision = AveragePrecision {
            relevant: step,
            other: step,
            at_zero: 0.5,
            include_self: self.include_self,
        };
        precision.missing(cosines, &pairs)
    }
}

/// The sigmoid G and its derivative.
#[cfg(feature = "networks")]
pub(super) fn smooth_step(x: &Tensor<2>, tau: f64) -> (Tensor<2>, Tensor<2>) {
    let value = sigmoid(x.clone().div_scalar(tau));
    let slope = value.clone() * value.clone().neg().add_scalar(1.0);
    (value, slope.div_scalar(tau))
}

/// Average precision with a surrogate for each kind of comparison: value and derivative.
pub(super) struct AveragePrecision<R, O> {
    /// For relevant items.
    pub(super) relevant: R,
    /// For all others.
    pub(super) other: O,
    /// Value of `relevant` at 0; that of `other` is 0.5.
    pub(super) at_zero: f64,
    pub(super) include_self: bool,
}

#[cfg(feature = "networks")]
impl<R, O> AveragePrecision<R, O>
where
    R: Fn(&Tensor<2>) -> (Tensor<2>, Tensor<2>),
    O: Fn(&Tensor<2>) -> (Tensor<2>, Tensor<2>),
{
    /// One minus the mean over anchors.
    pub(super) fn missing(&self, cosines: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        let at = cosines.clone().detach();
        let [m, n] = at.dims();
        let options = (&at.device(), at.dtype());
        let (mut relevant, other) = pairs.of_others();
        let weights = pairs.anchor_column();
        if self.include_self {
            let present = weights.clone().greater_elem(0.0).float().cast(at.dtype());
            let itself = Tensor::<2>::eye(n, &at.device()).cast(at.dtype());
            relevant = relevant + itself.slice(0..m) * present;
        }
        // The share of each relevant pair in the whole mean.
        let total = relevant.clone().sum_dim(1);
        let lone = total.clone().lower_equal_elem(0.0);
        let weights = weights.mask_fill(lone.clone(), 0.0);
        let anchors = weights.clone().sum().clamp_min(1e-30).unsqueeze_dim(1);
        let share = weights.clone() / total.mask_fill(lone, 1.0) / anchors.clone();
        let share = (relevant.clone() * share).reshape([m * n, 1]);
        let (flat_relevant, flat_other) = (
            relevant.clone().reshape([m * n, 1]),
            other.clone().reshape([m * n, 1]),
        );
        let flat = at.clone().reshape([m * n, 1]);
        let mut missing = (weights / anchors).sum();
        let mut of_pairs = Tensor::<2>::zeros([m * n, 1], options);
        let mut slope = Tensor::<2>::zeros([m, n], options);
        for block in Listed::above_zero(&relevant).blocks(BLOCK / n.max(1)) {
            let (rows, places, _) = block.tensors(&at);
            let of = |matrix: &Tensor<2>| matrix.clone().select(0, rows.clone());
            let here = |matrix: &Tensor<2>| matrix.clone().select(0, places.clone());
            let x = of(&at) - here(&flat);
            let (before, before_slope) = (self.relevant)(&x);
            let (ahead, ahead_slope) = (self.other)(&x);
            let (among, against) = (of(&relevant), of(&other));
            let counted = |step: Tensor<2>, of: &Tensor<2>| (step * of.clone()).sum_dim(1);
            // The pair itself is not counted: its comparison is that with 0.
            let right = counted(before, &among) - here(&flat_relevant).mul_scalar(self.at_zero);
            let right = right.add_scalar(1.0);
            let wrong = counted(ahead, &against) - here(&flat_other).mul_scalar(0.5);
            let rank = right.clone() + wrong.clone();
            let share = here(&share);
            missing = missing - (share.clone() * right.clone() / rank.clone()).sum();
            let factor = share / rank.square();
            let by_right = factor.clone() * wrong.neg();
            let by_wrong = factor * right;
            let by_x = by_right * among * before_slope + by_wrong * against * ahead_slope;
            let total = by_x.clone().sum_dim(1).neg();
            of_pairs = of_pairs.select_assign(0, places.clone(), total, IndexingUpdateOp::Add);
            slope = slope.select_assign(0, rows.clone(), by_x, IndexingUpdateOp::Add);
        }
        with_slope(missing, slope + of_pairs.reshape([m, n]), cosines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::reference::{batch, disordered, near, pairs};

    #[test]
    fn the_worked_values_are_met() {
        let loss = |tau, include_self| SmoothAp { tau, include_self };
        near(SmoothAp::default().forward(batch(), &pairs()), 0.000_002_91);
        near(loss(0.1, true).forward(batch(), &pairs()), 0.046_073_08);
        near(loss(0.1, false).forward(batch(), &pairs()), 0.104_116_43);
        near(
            loss(0.01, true).forward(disordered(), &pairs()),
            0.188_801_51,
        );
    }
}
