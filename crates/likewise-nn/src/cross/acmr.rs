//! Adversarial cross-modal retrieval: networks into one space where classes are apart and nobody can tell
//! which modality a row came from.
//!
//! Each modality has a projector, with `tanh` behind every layer, that gives `v` of one and `w` of the
//! other; one linear classifier of labels stands behind both, and one of modalities, which learns to tell them
//! apart while the projectors learn that it cannot (a gradient reversal):
//!
//! ```text
//! L_y   = mean CE(v_i, y_i) + CE(w_i, y_i)
//! L_adv = mean CE(D(v_i), 1) + CE(D(w_i), 0)
//! simple    L = 100 L_y + |V - W|_F + .02 mean_ij max(0, .1 - m_ij |v_i - w_j|^2)      m_ij: other classes
//! triplet   L = 100 L_y + max(0, .1 + 5/2 |V - W|^2 - 1/2 |V - W'|^2) + the same of the other side
//! ```
//!
//! where row i of `W'` is, of the rows of other classes in the batch, the one whose features in the other
//! modality are most like those of row i. The reversal grows from 0 to 1: `2 / (1 + exp(-10 p)) - 1` at a share
//! `p` of the epochs.
//!
//! **Use it** with pairs of which most have a label. **Not** with few labels, unless pseudo-labels fill in: on
//! a tenth of the labels it finds much less than methods in closed form.
//!
//! **Cost.** O(steps batch (d h + h^2)) for layers of h units; 4000 steps at least.
//!
//! **Source.** Wang, Yang, Xu, Hanjalic and Shen, "Adversarial cross-modal retrieval", ACM Multimedia 2017.
//!
//! **Where we differ.** The authors' program never runs the step that goes through the reversal, leaves the
//! classifier of labels as it began, and sums entries where squares are meant
//! ([`Acmr::as_published`]). Here all is learned in one step. The projectors of both modalities have 512 and 100
//! units, where the program has 40 and 100 for texts: which modality is one of texts is not known here. Rows
//! compare by their cosine, as those of all learners beside it; batches are shuffled, and the last one of a pass,
//! which is smaller, is a step too, where the program drops it. These two are so in
//! [`Acmr::as_published`] as well, and of the triplet variant, that it has as many passes as the simple one, and that its rows of
//! other classes are picked on centred features. Weights of pseudo-labels count in `L_y` and `|V - W|`; which rows
//! are apart is asked of all labels alike.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How pairs and classes shape the space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Pairs near, other classes apart.
    #[default]
    Simple,
    /// Pairs nearer than the most similar row of another class.
    Triplet,
}

/// Parameters of adversarial retrieval; see [`acmr`](self).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Acmr {
    /// The loss of the space.
    pub variant: Variant,
    /// Columns of the space.
    pub dim: usize,
    /// Units of the two hidden layers of each modality; of the first layer no more than four a column, unless it goes as
    /// published.
    pub hidden: [[usize; 2]; 2],
    /// Passes over the labeled pairs, unless there are fewer than `least_steps` steps in them.
    pub epochs: usize,
    /// Steps at least.
    pub least_steps: usize,
    /// Pairs of a step.
    pub batch: usize,
    /// Step size of Adam.
    pub rate: f64,
    /// Weight of the classifier of labels.
    pub labels: f64,
    /// Whether the modalities are to be indistinguishable.
    pub adversary: bool,
    /// Whether it goes as the authors' program does.
    pub published: bool,
}

impl Default for Acmr {
    fn default() -> Self {
        Self {
            variant: Variant::default(),
            dim: 40,
            hidden: [[512, 100], [512, 100]],
            epochs: 200,
            least_steps: 4000,
            batch: 64,
            rate: 1e-4,
            labels: 100.0,
            adversary: true,
            published: false,
        }
    }
}

impl Acmr {
    /// The simple variant.
    pub fn new() -> Self {
        Self::default()
    }

    /// As the authors' program goes, for images and texts.
    pub fn as_published() -> Self {
        Self {
            hidden: [[512, 100], [40, 100]],
            least_steps: 1,
            published: true,
            ..Self::default()
        }
    }

    /// Fails on a parameter out of its range.
    pub fn validate(&self) -> Result<()> {
        let hidden = self.hidden.iter().flatten().copied();
        for (field, value) in [
            ("dim", self.dim),
            ("hidden", hidden.min().unwrap_or(0)),
            ("epochs", self.epochs),
            ("least_steps", self.least_steps),
            ("batch", self.batch),
        ] {
            if !(1..=1 << 20).contains(&value) {
                return Err(Error::parameter(field, value, "must be from 1 to 1048576"));
            }
        }
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return Err(Error::parameter("rate", self.rate, "must be above 0"));
        }
        if !(self.labels.is_finite() && self.labels >= 0.0) {
            return Err(Error::parameter(
                "labels",
                self.labels,
                "must be 0 or above",
            ));
        }
        Ok(())
    }
}
