//! What a study measures, and how the items are divided for it.

use likewise::eval::split;
use likewise::{Collection, Labels, Part};
use serde::{Deserialize, Serialize};

use crate::Result;

/// How the items are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitKind {
    /// 70 % of each class for fitting, 30 % for testing; the classes are the same.
    Item,
    /// Disjoint classes: 40 % to fit, 20 % to validate, 40 % to test.
    ZeroShot,
    /// As the data say.
    Given,
    /// Nothing is set aside: all labels are fitted. What that is worth is measured by rounds
    /// that keep some labels back, against a gallery of all items (see
    /// [`likewise::eval::few_labels`]).
    Folds,
}

/// What is measured, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Protocol {
    /// How the items are divided.
    pub split: SplitKind,
    /// Labels kept for each class of the training part; `None`: all that are known.
    pub labels_per_class: Option<usize>,
    /// Share of the labels of the training part that is kept, of each class; for studies across
    /// views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_fraction: Option<f64>,
    /// Label draws (1 where no label is hidden: there is nothing to draw).
    pub draws: usize,
    /// Seed of the split, the draws (`seed + draw`) and the training.
    pub seed: u64,
    /// The k of R@k and P@k.
    pub ks: Vec<usize>,
    /// Whether to cluster for NMI.
    pub nmi: bool,
    /// Whether the model that is kept learns from the test part as well, once everything is
    /// measured. Without effect where labels are hidden, and with folds, which fit all anyway.
    #[serde(default)]
    pub refit: bool,
}

impl Protocol {
    /// The part of every item, of which these are the labels.
    ///
    /// Fails as the split does.
    pub(super) fn parts(&self, items: &Collection, labels: &Labels) -> Result<Vec<Part>> {
        match self.split {
            SplitKind::Item => split::by_item(labels, TRAIN_SHARE, 0.0, self.seed),
            SplitKind::ZeroShot => split::zero_shot(labels, self.seed),
            SplitKind::Given => split::given(items),
            SplitKind::Folds => Ok(vec![Part::Train; labels.len()]),
        }
    }

    /// The items that are fitted before anything is measured: what is learned from no others knows
    /// nothing of a test.
    ///
    /// Fails as the split does.
    pub fn training(&self, items: &Collection) -> Result<Vec<usize>> {
        let none = Labels::unknown(items.len());
        let parts = self.parts(items, items.labels.as_ref().unwrap_or(&none))?;
        let all = 0..items.len();
        Ok(all.filter(|&item| parts[item] == Part::Train).collect())
    }

    /// Whether the model that is kept learns from the test part as well.
    pub fn refits(&self) -> bool {
        self.refit && self.labels_per_class.is_none() && self.split != SplitKind::Folds
    }
}

impl Default for Protocol {
    fn default() -> Self {
        Self {
            split: SplitKind::Item,
            labels_per_class: None,
            label_fraction: None,
            draws: 5,
            seed: 0,
            ks: vec![1, 2, 4, 8],
            nmi: true,
            refit: false,
        }
    }
}

/// Share of each class that an item split fits on.
pub const TRAIN_SHARE: f64 = 0.7;
