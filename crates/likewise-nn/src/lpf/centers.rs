//! The centres of the classes, and how they move.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How the centres of the classes move after a step, by the features `f` of its labeled rows.
///
/// ```text
/// sgd   c_k -= rate factor g_k,   g_k = weight (2 / B) sum_(y_j = k) (c_k - f_j)
/// wen   c_k -= alpha sum_(y_j = k) (c_k - f_j) / (1 + n_k)
/// ```
///
/// The centres of classes without a row in the batch stand still.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase", deny_unknown_fields)]
pub enum CenterRule {
    /// Along the gradient of the center loss, by a multiple of the step size of the network.
    Sgd {
        /// The multiple, above 0.
        #[serde(default = "factor")]
        factor: f64,
        /// Whether the weight of the center loss does not slow the centres.
        #[serde(default)]
        undo_weight: bool,
    },
    /// Wen et al., ECCV 2016: towards the mean of the batch, whatever the step size.
    Wen {
        /// Share of the way, above 0 and at most 1.
        #[serde(default = "alpha")]
        alpha: f64,
    },
}

fn factor() -> f64 {
    5.0
}

fn alpha() -> f64 {
    0.5
}

impl Default for CenterRule {
    fn default() -> Self {
        Self::Sgd {
            factor: factor(),
            undo_weight: false,
        }
    }
}

impl CenterRule {
    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sgd { .. } => "sgd",
            Self::Wen { .. } => "wen",
        }
    }

    pub(super) fn validate(self) -> Result<()> {
        match self {
            Self::Sgd { factor, .. } if !(factor.is_finite() && factor > 0.0) => Err(
                Error::parameter("centers.factor", factor, "must be above 0"),
            ),
            Self::Wen { alpha } if !(alpha > 0.0 && alpha <= 1.0) => {
                let rule = "must be above 0 and at most 1";
                Err(Error::parameter("centers.alpha", alpha, rule))
            }
            _ => Ok(()),
        }
    }

    /// Moves the centres (`C x d`) by the features (`B x d`) of the rows of these classes; `rate` is
    /// the step size of the network, `weight` that of the center loss.
    pub(super) fn step(
        self,
        centers: &mut Array2<f32>,
        features: ArrayView2<f32>,
        class: &[u32],
        rate: f64,
        weight: f64,
    ) {
        let mut sum = Array2::<f32>::zeros(centers.dim());
        let mut count = vec![0_usize; centers.nrows()];
        for (f, &k) in features.rows().into_iter().zip(class) {
            let mut sum = sum.row_mut(k as usize);
            sum += &centers.row(k as usize);
            sum -= &f;
            count[k as usize] += 1;
        }
        for (k, &n) in count.iter().enumerate().filter(|(_, n)| **n > 0) {
            let by = match self {
                Self::Sgd {
                    factor,
                    undo_weight,
                } => {
                    let weight = if undo_weight { 1.0 } else { weight };
                    rate * factor * weight * 2.0 / class.len() as f64
                }
                Self::Wen { alpha } => alpha / (1.0 + n as f64),
            };
            centers.row_mut(k).scaled_add(-(by as f32), &sum.row(k));
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn steps_of_both_rules_by_hand() {
        let f = array![[1.0, 2.0], [3.0, 0.0], [0.0, 1.0], [2.0, 2.0], [-1.0, 1.0]];
        let class = [0, 0, 1, 1, 1];
        let first: Array2<f32> = array![[1.0, 1.0], [0.0, 0.0], [5.0, 5.0]];
        let moved = |rule: CenterRule| {
            let mut centers = first.clone();
            rule.step(&mut centers, f.view(), &class, 0.05, 0.5);
            centers
        };
        let near = |a: &Array2<f32>, b: Array2<f32>| {
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6), "{a}");
        };
        let sgd = |factor, undo_weight| CenterRule::Sgd {
            factor,
            undo_weight,
        };
        near(
            &moved(sgd(1.0, false)),
            array![[1.02, 1.0], [0.01, 0.04], [5.0, 5.0]],
        );
        near(
            &moved(sgd(5.0, false)),
            array![[1.1, 1.0], [0.05, 0.2], [5.0, 5.0]],
        );
        near(
            &moved(sgd(1.0, true)),
            array![[1.04, 1.0], [0.02, 0.08], [5.0, 5.0]],
        );
        near(
            &moved(CenterRule::Wen { alpha: 0.5 }),
            array![[4.0 / 3.0, 1.0], [0.125, 0.5], [5.0, 5.0]],
        );
    }
}
