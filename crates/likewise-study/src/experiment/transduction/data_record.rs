//! A data set as it was when its cells were made.

use serde::{Deserialize, Serialize};

use super::definition::Data;

/// A data set as it was when its cells were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DataRecord {
    pub(super) definition: Data,
    pub(super) sha256: String,
    pub(super) labels_per_class: usize,
    pub(super) k: usize,
    pub(super) gamma: f64,
    pub(super) seed: u64,
    pub(super) items: usize,
    pub(super) classes: usize,
    pub(super) smallest: usize,
    pub(super) largest: usize,
}
