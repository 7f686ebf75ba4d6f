//! What an export left.

use serde::Serialize;

/// What an export left.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Name of the target.
    pub target: &'static str,
    /// The file or folder, or the address without its password.
    pub to: String,
    /// Items that the target must hold; none where it is a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<usize>,
    /// How many of them were written now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<usize>,
    /// How many the target was found to hold afterwards; none where it cannot be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<usize>,
    /// Numbers, or bits, of a vector.
    pub dimensions: usize,
    /// How vectors compare.
    pub compared: &'static str,
    /// How often its index finds what comparing with every item finds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall: Option<Recall>,
    /// Lines that use it.
    pub usage: Vec<String>,
}

/// The share of true neighbours that a target finds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Recall {
    /// Neighbours a query.
    pub k: usize,
    /// Items that asked.
    pub queries: usize,
    /// The share, 0 to 1.
    pub value: f64,
}

/// Lines of code.
pub(super) fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}
