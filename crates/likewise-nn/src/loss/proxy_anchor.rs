//! The Proxy-Anchor loss.

use serde::{Deserialize, Serialize};

use super::check::{above_zero, cosine};
use crate::Result;
#[cfg(feature = "networks")]
use {
    super::classes::Classes, super::normalized_softmax::to_proxies,
    super::reduce::log_one_plus_sum_exp, burn::tensor::Tensor,
};

/// Proxy-Anchor: every proxy pulls the items of its class and pushes all others, the hardest
/// most.
///
/// ```text
/// L = 1/|P+| sum_{c in P+} log(1 + sum_{y_i = c} exp(-a (cos_ic - d)))
///   + 1/C sum_c log(1 + sum_{y_i != c} exp(a (cos_ic + d)))
/// ```
///
/// P+ are the proxies with an item in the batch. Of items with several labels, the classes of an item
/// are all of its labels: `y_i = c` reads "c is among them", and the loss stays as it is printed.
///
/// **When to use it.** The usual first choice with class labels: fast to converge, no miner,
/// items of a batch weigh against each other as in pair losses.
///
/// **When not.** Without class labels; with noisy ones, since the hardest item of a class may
/// be a wrong label ([`ConfidenceProxy`](super::ConfidenceProxy) has no such coupling).
///
/// **Cost.** O(n C d) time, O(n C) memory.
///
/// **Source.** Kim et al., CVPR 2020; a = 32, d = 0.1. Sums of exponentials are taken in the
/// logarithm, so they cannot overflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProxyAnchor {
    /// Scale a, above 0.
    pub scale: f64,
    /// Margin d, a cosine.
    pub margin: f64,
}

impl Default for ProxyAnchor {
    fn default() -> Self {
        Self {
            scale: 32.0,
            margin: 0.1,
        }
    }
}

impl ProxyAnchor {
    pub(crate) fn validate(&self) -> Result<()> {
        above_zero("loss.scale", self.scale)?;
        cosine("loss.margin", self.margin)
    }
}

#[cfg(feature = "networks")]
impl ProxyAnchor {
    /// The loss of a batch, a tensor of one number. `embeddings` `[n, d]` and `proxies`
    /// `[C, d]`, rows of any length.
    pub fn forward(
        &self,
        embeddings: Tensor<2>,
        proxies: Tensor<2>,
        classes: &Classes,
    ) -> Tensor<1> {
        let cosines = to_proxies(embeddings, proxies).transpose();
        let (own, weights) = classes.like(&cosines);
        let inside = (own.clone() * weights.clone()).transpose();
        let outside = (own.neg().add_scalar(1.0) * weights).transpose();
        let met = inside.clone().sum_dim(1).greater_elem(0.0);
        let met = met.float().cast(cosines.dtype()).sum().clamp_min(1.0);
        let pulled = cosines.clone().sub_scalar(self.margin);
        let pull = log_one_plus_sum_exp(pulled.mul_scalar(-self.scale), inside);
        let pushed = cosines.add_scalar(self.margin);
        let push = log_one_plus_sum_exp(pushed.mul_scalar(self.scale), outside);
        pull.sum() / met + push.mean()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Classes;
    use crate::loss::reference::{batch, classes, near, proxies, tensor};
    use likewise::Tags;

    #[test]
    fn the_worked_value_is_met() {
        let loss = ProxyAnchor::default();
        near(loss.forward(batch(), proxies(), &classes()), 18.882_562_16);
    }

    /// Two items on two axes, proxies on three; the first item has two labels. Cosines are 0 and 1.
    #[test]
    fn all_labels_of_an_item_pull() {
        let loss = ProxyAnchor {
            scale: 2.0,
            margin: 0.1,
        };
        let tags = Tags::read([vec!["a", "b"], vec!["b"]]).unwrap();
        let items = tensor([[1.0, 0.0], [0.0, 1.0]]);
        let proxies = tensor([[1.0, 0.0], [0.0, 1.0]]);
        let options = (&items.device(), items.dtype());
        let own = Classes::several(&[0, 1], &tags, &[1.0, 1.0], options).unwrap();
        let pull = |cosines: &[f64]| {
            let sum: f64 = cosines.iter().map(|cos| (-2.0 * (cos - 0.1)).exp()).sum();
            (1.0 + sum).ln()
        };
        // Proxy a: item 0 pulls, item 1 is pushed. Proxy b: both pull.
        let push = (1.0 + (2.0_f64 * (0.0 + 0.1)).exp()).ln();
        let expected = f64::midpoint(pull(&[1.0]), pull(&[0.0, 1.0])) + push / 2.0;
        near(loss.forward(items, proxies, &own), expected);
    }
}
