//! What the features become before anything learns.

use likewise::matrix::Reading;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The start: what the features become before anything learns, without any label.
///
/// ```text
/// x = sign(x) |x|^power
/// x = x / |x|                        where `unit` is set
/// s = normalise((x - mean) W)        W whitens the `rank` directions that vary most
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StartConfig {
    /// Power of the features' sizes, above 0 to 1. Pooled activations of a network, and counts, have
    /// a few large values that outweigh all others; their roots (.5) share better. Not for
    /// features of both signs around a centre: on the digits it lost up to 3 points of R@1.
    pub power: f64,
    /// Whether rows are brought to unit length before their mean is taken off: where the length of a
    /// row says nothing of what it is about, as of pooled activations and of counts.
    pub unit: bool,
    /// Most directions that are kept (largest variance first), at least 1.
    pub rank: usize,
    /// Shrinkage of the whitening; absent: chosen on the labels at hand, among
    /// infinity (centred features) and 10 to 0.03.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrinkage: Option<f64>,
    /// Whether every column is divided by its standard deviation before; absent: chosen
    /// with the shrinkage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standardize: Option<bool>,
}

impl Default for StartConfig {
    fn default() -> Self {
        Self {
            power: 1.0,
            unit: false,
            rank: 256,
            shrinkage: None,
            standardize: None,
        }
    }
}

impl StartConfig {
    /// How features are read before all else.
    pub fn reading(&self) -> Reading {
        Reading {
            power: self.power,
            unit: self.unit,
        }
    }

    pub(super) fn validate(&self) -> Result<()> {
        if !(self.power > 0.0 && self.power <= 1.0) {
            let rule = "must be above 0 and at most 1";
            return Err(Error::parameter("start.power", self.power, rule));
        }
        if self.rank == 0 {
            return Err(Error::parameter("start.rank", 0, "must be at least 1"));
        }
        if let Some(eps) = self.shrinkage
            && (eps.is_nan() || eps <= 0.0)
        {
            return Err(Error::parameter("start.shrinkage", eps, "must be above 0"));
        }
        Ok(())
    }
}
