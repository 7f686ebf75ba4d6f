//! The learner behind the start, as a recipe writes it down.

use likewise::learn::{Closed, Fit as _};
use likewise_nn::net;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, Result};

/// What learns.
#[derive(Debug, Clone, PartialEq)]
pub enum Residual {
    /// A head: one matrix.
    Linear,
    /// A head: two matrices with `hidden` rectified units between them.
    Mlp {
        /// Number of hidden units.
        hidden: usize,
    },
    /// A head of one matrix with orthonormal columns, in place of a correction.
    Orthogonal {
        /// Columns of the matrix, at most the rows of the start.
        dim: usize,
    },
    /// No head: a learner in closed form, from the classes and weights of an epoch, on the
    /// features within the first `rank` directions of the start. It has no loss: of the
    /// training, only its epochs matter, and the power of confidence.
    Closed(Closed),
}

/// A head as it is written down. Learners in closed form write themselves, by the same tag.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum Written {
    Linear,
    Mlp {
        #[serde(default = "hidden")]
        hidden: usize,
    },
    Orthogonal {
        #[serde(default = "columns")]
        dim: usize,
    },
}

impl Serialize for Residual {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match *self {
            Self::Linear => Written::Linear.serialize(to),
            Self::Mlp { hidden } => Written::Mlp { hidden }.serialize(to),
            Self::Orthogonal { dim } => Written::Orthogonal { dim }.serialize(to),
            Self::Closed(ref learner) => learner.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Residual {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(from)?;
        let kind = value["kind"].as_str().unwrap_or_default();
        let read = if Closed::NAMES.contains(&kind) {
            serde_json::from_value(value).map(Self::Closed)
        } else {
            serde_json::from_value(value).map(|written| match written {
                Written::Linear => Self::Linear,
                Written::Mlp { hidden } => Self::Mlp { hidden },
                Written::Orthogonal { dim } => Self::Orthogonal { dim },
            })
        };
        read.map_err(|e| {
            let closed = Closed::NAMES.join(", ");
            let of_kind = if e.to_string().contains("unknown variant") {
                format!("; learners in closed form are: {closed}")
            } else {
                String::new()
            };
            serde::de::Error::custom(format!("{e}{of_kind}"))
        })
    }
}

fn hidden() -> usize {
    256
}

fn columns() -> usize {
    64
}

/// The start and the learner behind it; see [`net::HeadConfig`] for the form of a head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HeadConfig {
    /// What learns.
    pub residual: Residual,
    /// Share of the start's cosine in the embedding's, 0 (none) to below 1.
    pub keep: f64,
    /// Most directions of the start that are kept (largest variance first), at least 1.
    pub rank: usize,
    /// Power of the features' sizes, above 0 to 1. Pooled activations of a network, and counts, have
    /// a few large values that outweigh all others; their roots (.5) share better. Not for
    /// features of both signs around a centre: on the digits it lost up to 3 points of R@1.
    pub power: f64,
    /// Least dimensions of the learned half: a start of fewer is filled up with zeros, since
    /// ten classes find no room in six dimensions.
    pub width: usize,
}

impl Default for HeadConfig {
    fn default() -> Self {
        Self {
            residual: Residual::Mlp { hidden: hidden() },
            keep: 0.3,
            rank: 256,
            power: 1.0,
            width: 64,
        }
    }
}

/// A learner that a recipe names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Learner {
    /// By gradients, with this head.
    Gradient(net::HeadConfig),
    /// In closed form.
    Closed(Closed),
}

impl HeadConfig {
    /// The learner that it names.
    pub(crate) fn learner(&self) -> Learner {
        let residual = match &self.residual {
            Residual::Linear => net::Residual::Linear,
            &Residual::Mlp { hidden } => net::Residual::Mlp { hidden },
            &Residual::Orthogonal { dim } => net::Residual::Orthogonal { dim },
            Residual::Closed(learner) => return Learner::Closed(learner.clone()),
        };
        Learner::Gradient(net::HeadConfig {
            residual,
            keep: self.keep,
            width: self.width,
        })
    }

    pub(crate) fn validate(&self) -> Result<()> {
        if !(self.power > 0.0 && self.power <= 1.0) {
            let rule = "must be above 0 and at most 1";
            return Err(Error::parameter("head.power", self.power, rule));
        }
        if self.rank == 0 {
            return Err(Error::parameter("head.rank", 0, "must be at least 1"));
        }
        if !(0.0..1.0).contains(&self.keep) {
            let rule = "must be at least 0 and below 1";
            return Err(Error::parameter("head.keep", self.keep, rule));
        }
        match self.learner() {
            Learner::Gradient(head) => head.validate(),
            Learner::Closed(learner) => learner.validate(),
        }
    }
}
