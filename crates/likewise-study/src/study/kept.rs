//! A model that is kept, what it learned from, and how to learn it again.

use std::collections::BTreeMap;

use likewise::Beliefs;
use likewise::ensemble::Voted;
use likewise::learn::Start;
use likewise_nn::Model;

use super::ground::Whiten;
use super::rounds::Why;

/// A model, what it learned from, and how to learn it again.
pub(super) struct Kept {
    pub(super) model: Model,
    pub(super) beliefs: Beliefs,
    /// The votes that these come from, if they do.
    pub(super) voted: Option<Voted>,
    pub(super) classes: Vec<String>,
    /// Fitted labels of each class.
    pub(super) labels: BTreeMap<String, usize>,
    /// Why it was kept.
    pub(super) why: Why,
    pub(super) epoch: usize,
    pub(super) whiten: Whiten,
    /// Where its training began.
    pub(super) start: Start,
}
