//! Which items are refused as of no known class, by their features.

use likewise::advise::outside::lof;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Which items are refused as of no known class, by what they look like beside the labeled ones.
///
/// What labeled items score by the others of them says what is too much. The networks of `lpf` have
/// an `outside` of their own, which also asks whether they agree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Refusing {
    /// What says how unlike the classes an item is.
    pub by: Unlike,
    /// Share of items of known classes that are accepted, above 0 and below 1.
    pub quantile: f64,
}

/// How unlike all known classes an item is; see [`outside`](likewise::advise::outside).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Unlike {
    /// The distance from the nearest class by the covariance of all.
    Mahalanobis {
        /// Less the distance from all items.
        #[serde(default)]
        relative: bool,
    },
    /// The local outlier factor among labeled items.
    Lof {
        /// Neighbours, at least 1.
        #[serde(default = "neighbors")]
        k: usize,
    },
}

fn neighbors() -> usize {
    lof::NEIGHBORS
}

impl Default for Refusing {
    fn default() -> Self {
        Self {
            by: Unlike::Mahalanobis { relative: false },
            quantile: 0.95,
        }
    }
}

impl Refusing {
    pub(super) fn validate(&self) -> Result<()> {
        if !(self.quantile > 0.0 && self.quantile < 1.0) {
            let rule = "must be above 0 and below 1";
            return Err(Error::parameter("outside.quantile", self.quantile, rule));
        }
        match self.by {
            Unlike::Lof { k: 0 } => Err(Error::parameter("outside.by.k", 0, "must be at least 1")),
            _ => Ok(()),
        }
    }
}
