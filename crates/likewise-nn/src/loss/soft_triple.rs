//! The `SoftTriple` loss.

use serde::{Deserialize, Serialize};

use super::check::{above_zero, at_least_zero, count};
use crate::Result;
#[cfg(feature = "networks")]
use {
    super::classes::Classes,
    super::normalized_softmax::{cross_entropy, to_proxies},
    crate::net::tensor::l2_normalize,
    burn::tensor::{Tensor, activation::softmax},
};

/// `SoftTriple`: normalised softmax with several centres a class, an item close to any of
/// them.
///
/// ```text
/// S_ic = sum_k softmax_k(s_ick / g) s_ick
/// L    = mean cross-entropy of la (S_ic - delta [c = y_i]) + tau R
/// R    = sum_c sum_{k<k'} sqrt(2 + 1e-5 - 2 w_ck.w_ck') / (C K (K-1))
/// ```
///
/// R draws the centres of a class together, so a class gets no more than it needs.
///
/// **When to use it.** When classes have several modes (views, colours).
///
/// **When not.** With few items a class: K centres are then mostly unseen.
///
/// **Cost.** O(n C K d) time, O(n C K + C K^2) memory.
///
/// **Source.** Qian et al., ICCV 2019; la = 20, g = 0.1, delta = 0.01, tau = 0.2, K = 10.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SoftTriple {
    /// Centres a class, K.
    pub centers: usize,
    /// Scale la of the logits, above 0.
    pub scale: f64,
    /// Temperature g of the choice among centres, above 0.
    pub gamma: f64,
    /// Margin delta of the own class, at least 0.
    pub margin: f64,
    /// Weight tau of R, at least 0.
    pub tau: f64,
}

impl Default for SoftTriple {
    fn default() -> Self {
        Self {
            centers: 10,
            scale: 20.0,
            gamma: 0.1,
            margin: 0.01,
            tau: 0.2,
        }
    }
}

impl SoftTriple {
    pub(crate) fn validate(&self) -> Result<()> {
        count("loss.centers", self.centers, 1..=1000)?;
        above_zero("loss.scale", self.scale)?;
        above_zero("loss.gamma", self.gamma)?;
        at_least_zero("loss.margin", self.margin)?;
        at_least_zero("loss.tau", self.tau)
    }

    /// Parameters that change nothing beside the others, and why.
    pub(super) fn idle(&self) -> Vec<(&'static str, &'static str)> {
        let why = "one center a class leaves no choice, and none to draw together";
        let of_several = ["gamma", "tau"].map(|name| (name, why));
        of_several
            .into_iter()
            .filter(|_| self.centers == 1)
            .collect()
    }
}

#[cfg(feature = "networks")]
impl SoftTriple {
    /// The loss of a batch, a tensor of one number. `embeddings` `[n, d]` and `proxies`
    /// `[C K, d]`, the centres of a class one after another; rows of any length.
    pub fn forward(
        &self,
        embeddings: Tensor<2>,
        proxies: Tensor<2>,
        classes: &Classes,
    ) -> Tensor<1> {
        let [n, c] = classes.dims();
        let to_centers = to_proxies(embeddings, proxies.clone());
        let to_centers = to_centers.reshape([n, c, self.centers]);
        let share = softmax(to_centers.clone().div_scalar(self.gamma), 2);
        let of_class: Tensor<2> = (share * to_centers).sum_dim(2).squeeze_dim(2);
        let (own, _) = classes.like(&of_class);
        let logits = (of_class - own.mul_scalar(self.margin)).mul_scalar(self.scale);
        let loss = cross_entropy(logits, classes);
        if self.centers == 1 || self.tau == 0.0 {
            return loss;
        }
        loss + self.spread(proxies, c).mul_scalar(self.tau)
    }

    /// R: how far the centres of a class lie apart.
    fn spread(&self, proxies: Tensor<2>, classes: usize) -> Tensor<1> {
        let [_, d] = proxies.dims();
        let k = self.centers;
        let centers = l2_normalize(proxies).reshape([classes, k, d]);
        let cosines = centers.clone().matmul(centers.transpose());
        let apart = cosines.mul_scalar(-2.0).add_scalar(2.0 + 1e-5);
        let apart = apart.clamp_min(1e-5).sqrt();
        let itself = Tensor::<2>::eye(k, &apart.device()).cast(apart.dtype());
        let others = itself.neg().add_scalar(1.0).unsqueeze_dim::<3>(0);
        let pairs = 2 * classes * k * (k - 1);
        (apart * others).sum().div_scalar(pairs as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::reference::{batch, classes, near, tensor};

    #[test]
    fn the_worked_values_are_met() {
        let centers = tensor([
            [1.0, 0.2, 0.0],
            [0.8, 0.5, 0.3],
            [0.0, 1.0, 0.3],
            [0.4, 0.9, 0.0],
            [0.1, 0.0, 1.0],
            [0.5, -0.2, 0.6],
        ]);
        let loss = |tau| {
            let loss = SoftTriple {
                centers: 2,
                tau,
                ..SoftTriple::default()
            };
            loss.forward(batch(), centers.clone(), &classes())
        };
        near(loss(0.0), 0.007_827_04);
        near(loss(0.2), 0.060_969_76);
    }
}
