//! A recipe that was compared with others before one was chosen.

use likewise::eval::bootstrap::Estimate;
use serde::{Deserialize, Serialize};

/// A recipe that was tried, and how it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Its name.
    pub recipe: String,
    /// Mean R-precision of the labels that were kept back; absent where nothing could be measured.
    pub r_precision: Option<f64>,
    /// What it gains over the best of those before it; absent for the first.
    pub gain: Option<Estimate>,
    /// Rounds that it was tried in: fewer than others where it was clearly behind.
    #[serde(default)]
    pub rounds: usize,
}
