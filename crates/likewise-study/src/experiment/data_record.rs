//! A data set as it was when its cells were made.

use serde::{Deserialize, Serialize};

use super::definition::Data;

/// A data set as it was when its cells were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DataRecord {
    pub(crate) definition: Data,
    pub(crate) sha256: String,
    pub(crate) labels_per_class: usize,
    pub(crate) k: usize,
    pub(crate) gamma: f64,
    pub(crate) seed: u64,
    pub(crate) items: usize,
    pub(crate) classes: usize,
    pub(crate) smallest: usize,
    pub(crate) largest: usize,
}
