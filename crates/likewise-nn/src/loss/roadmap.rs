//! The ROADMAP loss.

use serde::{Deserialize, Serialize};

use super::check::{above_zero, at_least_zero, cosine};
use super::contrastive::Contrastive;
use crate::{Error, Result};
#[cfg(feature = "networks")]
use {
    super::cosine::cosines,
    super::pairs::Pairs,
    super::smooth_ap::{AveragePrecision, smooth_step},
    burn::tensor::Tensor,
};

/// ROADMAP: an upper bound of one minus average precision that keeps its gradient on badly
/// ranked items, and a contrastive term that makes batches comparable.
///
/// ```text
/// L = a SupAP + b Contrastive(cosine)
/// ```
///
/// `SupAP` is [`SmoothAp`](super::SmoothAp) with other steps for `x = s_ik - s_ij`: for
/// relevant k, 1 if `x >= 0` and else 0, without gradient; for others
///
/// ```text
/// G(x)                      x <= 0
/// start + G(x)              0 < x <= delta
/// rho (x - delta) + offset  x > delta
/// ```
///
/// **When to use it.** To train for the ranking with class labels and four or more items a
/// class in a batch.
///
/// **When not.** On pairs without a ranking (one relevant item at most).
///
/// **Cost.** As `SmoothAp`.
///
/// **Source.** Ramzi et al., `NeurIPS` 2021, current code of the authors: tau 0.01, rho 100,
/// delta 0.05, offset 1.44, start 0.5 (their preset for iNaturalist: start 0, offset 1).
/// Weights 0.5 and 0.5 and margins (0.9, 0.6) from Liao et al., ICML 2023, whose older copy
/// has `rho x + offset`: the flag `legacy`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Roadmap {
    /// Weight a of `SupAP`, at least 0.
    pub ranking: f64,
    /// Weight b of the contrastive term, at least 0.
    pub calibration: f64,
    /// Temperature tau of the sigmoid, above 0.
    pub tau: f64,
    /// Slope rho beyond delta, above 0.
    pub rho: f64,
    /// End delta of the sigmoid, above 0.
    pub delta: f64,
    /// Value at delta; absent: `G(delta) + 0.5`.
    pub offset: Option<f64>,
    /// What is added between 0 and delta.
    pub start: f64,
    /// The older linear part, `rho x + offset`.
    pub legacy: bool,
    /// Margin of positives of the contrastive term, a cosine.
    pub positive_margin: f64,
    /// Margin of negatives of the contrastive term, a cosine.
    pub negative_margin: f64,
}

impl Default for Roadmap {
    fn default() -> Self {
        Self {
            ranking: 0.5,
            calibration: 0.5,
            tau: 0.01,
            rho: 100.0,
            delta: 0.05,
            offset: Some(1.44),
            start: 0.5,
            legacy: false,
            positive_margin: 0.9,
            negative_margin: 0.6,
        }
    }
}

impl Roadmap {
    pub(crate) fn validate(&self) -> Result<()> {
        at_least_zero("loss.ranking", self.ranking)?;
        at_least_zero("loss.calibration", self.calibration)?;
        above_zero("loss.tau", self.tau)?;
        above_zero("loss.rho", self.rho)?;
        above_zero("loss.delta", self.delta)?;
        at_least_zero("loss.offset", self.offset.unwrap_or(0.0))?;
        at_least_zero("loss.start", self.start)?;
        cosine("loss.positive_margin", self.positive_margin)?;
        cosine("loss.negative_margin", self.negative_margin)?;
        if self.ranking == 0.0 && self.calibration == 0.0 {
            let rule = "must be above 0 where calibration is 0; else nothing is learned";
            return Err(Error::parameter("loss.ranking", self.ranking, rule));
        }
        Ok(())
    }

    /// Parameters that change nothing beside the others, and why.
    pub(super) fn idle(&self) -> Vec<(&'static str, &'static str)> {
        let of_ranking = ["tau", "rho", "delta", "offset", "start", "legacy"];
        let of_calibration = ["positive_margin", "negative_margin"];
        if self.ranking == 0.0 {
            let why = "a ranking of 0 leaves its part no weight";
            of_ranking.map(|name| (name, why)).into()
        } else if self.calibration == 0.0 {
            let why = "a calibration of 0 leaves its part no weight";
            of_calibration.map(|name| (name, why)).into()
        } else {
            Vec::new()
        }
    }
}

#[cfg(feature = "networks")]
impl Roadmap {
    /// The loss of a batch, a tensor of one number. Rows of any length, `[n, d]`.
    pub fn forward(&self, embeddings: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        let pairs = pairs.like(&embeddings);
        let cosines = cosines(embeddings, pairs.dims()[0]);
        let margins = Contrastive::cosine(self.positive_margin, self.negative_margin);
        let calibration = margins.of_cosines(cosines.clone(), &pairs);
        self.sup_ap(cosines, &pairs).mul_scalar(self.ranking)
            + calibration.mul_scalar(self.calibration)
    }

    fn sup_ap(&self, cosines: Tensor<2>, pairs: &Pairs) -> Tensor<1> {
        let precision = AveragePrecision {
            relevant: |x: &Tensor<2>| {
                let step = x.clone().greater_equal_elem(0.0).float().cast(x.dtype());
                (step, x.zeros_like())
            },
            other: |x: &Tensor<2>| self.step(x),
            at_zero: 1.0,
            include_self: true,
        };
        precision.missing(cosines, pairs)
    }

    /// The step of items that are not relevant, and its derivative.
    fn step(&self, x: &Tensor<2>) -> (Tensor<2>, Tensor<2>) {
        let (value, slope) = smooth_step(x, self.tau);
        let after = x.clone().greater_elem(0.0).float().cast(x.dtype());
        let value = value + after.mul_scalar(self.start);
        let far = x.clone().greater_elem(self.delta);
        let knee = 1.0 / (1.0 + (-self.delta / self.tau).exp());
        let offset = self.offset.unwrap_or(knee + 0.5);
        let begin = if self.legacy { 0.0 } else { self.delta };
        let line = x.clone().sub_scalar(begin).mul_scalar(self.rho);
        (
            value.mask_where(far.clone(), line.add_scalar(offset)),
            slope.mask_fill(far, self.rho),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::reference::{batch, disordered, near, pairs};

    #[test]
    fn the_worked_values_are_met() {
        let sup_ap = |legacy, embeddings| {
            let loss = Roadmap {
                ranking: 1.0,
                calibration: 0.0,
                legacy,
                ..Roadmap::default()
            };
            loss.forward(embeddings, &pairs())
        };
        near(sup_ap(false, disordered()), 0.311_484_81);
        near(sup_ap(true, disordered()), 0.314_976_61);
        near(sup_ap(false, batch()), 0.000_002_91);
        near(sup_ap(true, batch()), 0.000_002_91);
        near(
            Roadmap::default().forward(disordered(), &pairs()),
            0.392_070_32,
        );
    }

    #[test]
    fn the_knee_of_the_step() {
        let loss = Roadmap {
            offset: None,
            ..Roadmap::default()
        };
        let x = crate::loss::reference::tensor([[0.05 + 1e-12]]);
        let value = loss.step(&x).0.try_into_vec_as::<f64>().unwrap()[0];
        assert!((value - 1.493_31).abs() < 5e-6, "{value}");
    }
}
