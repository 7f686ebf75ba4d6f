//! Any propagation method as one value: for recipes and the command line.

use serde::{Deserialize, Serialize};

use super::{Harmonic, Lgc, Mixed, Propagate};
use crate::{Beliefs, Graph, Labels, Monitor, Result};

/// A propagation method with its parameters.
///
/// ```
/// use likewise::propagate::Method;
/// assert!(Method::named("lgc").is_some());
/// assert!(Method::named("nosuch").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "lowercase")]
pub enum Method {
    /// Local and global consistency.
    Lgc(Lgc),
    /// Harmonic propagation, fitted on labeled nodes only.
    Harmonic(Harmonic),
    /// Mixed propagation with negative edges.
    Mixed(Mixed),
}

impl Default for Method {
    fn default() -> Self {
        Self::Mixed(Mixed::default())
    }
}

impl Method {
    /// Names of all methods.
    pub const NAMES: [&'static str; 3] = ["lgc", "harmonic", "mixed"];

    /// The method of this name with its default parameters.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "lgc" => Self::Lgc(Lgc::default()),
            "harmonic" => Self::Harmonic(Harmonic::default()),
            "mixed" => Self::Mixed(Mixed::default()),
            _ => return None,
        })
    }

    /// The name of this method.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Lgc(_) => "lgc",
            Self::Harmonic(_) => "harmonic",
            Self::Mixed(_) => "mixed",
        }
    }
}

impl Propagate for Method {
    fn propagate(&self, graph: &Graph, labels: &Labels, monitor: &Monitor) -> Result<Beliefs> {
        match self {
            Self::Lgc(m) => m.propagate(graph, labels, monitor),
            Self::Harmonic(m) => m.propagate(graph, labels, monitor),
            Self::Mixed(m) => m.propagate(graph, labels, monitor),
        }
    }
}
