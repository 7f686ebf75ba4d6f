//! What label prediction found.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

/// What label prediction found.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// The predicted class of each selected item; `None` of all others, labeled ones among them.
    pub class: Vec<Option<u32>>,
    /// How sure of it the views are; 0 where there is no class.
    pub confidence: Vec<f32>,
    /// What was selected, one selection after the other; the last one is [`class`](Self::class).
    pub iterations: Vec<Iteration>,
    /// How likely each class is, in the mean of the views that an item has (`n x C`); zeros where
    /// it has none.
    pub scores: Array2<f32>,
    /// The same of each view alone (`n x C` each).
    pub posteriors: Vec<Array2<f32>>,
    /// The second hidden layer of each view (`n x hidden` each); zeros where an item lacks it.
    pub features: Vec<Array2<f32>>,
    /// The logits of each view (`n x C` each); zeros where an item lacks it.
    pub logits: Vec<Array2<f32>>,
    /// How unlike the known classes each item without a label is, the larger the less like, as the last selection
    /// had it; `None` of an item with a label or without a view, and of all where nothing is refused
    /// ([`Outside`](super::Outside)). Scores of two runs do not compare.
    pub unlike: Vec<Option<f64>>,
    /// Why it ended.
    pub end: End,
}

/// A selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Iteration {
    /// The items that were selected, ascending.
    pub items: Vec<usize>,
    /// The class of each of them.
    pub class: Vec<u32>,
    /// Items of each class.
    pub per_class: Vec<usize>,
    /// The view that selected, where one does.
    pub view: Option<usize>,
    /// The accuracy of each view on the labels that were kept back.
    pub accuracy: Vec<f64>,
    /// Items that would have been selected, but look like none of the known classes.
    pub refused: usize,
}

/// Why label prediction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// A selection was as large as the one before.
    Saturated,
    /// That many selections were asked for.
    Iterations,
    /// Nothing was selected.
    Nothing,
}

impl Iteration {
    /// Number of selected items.
    pub fn n(&self) -> usize {
        self.items.len()
    }

    /// Share of the selected items whose class is the true one, among those whose truth is known;
    /// `None` where no truth is.
    pub fn precision(&self, truth: &[Option<u32>]) -> Option<f64> {
        let known = self.items.iter().zip(&self.class);
        let known = known.filter_map(|(&i, class)| Some(truth.get(i).copied()?? == *class));
        let right: Vec<bool> = known.collect();
        let n = right.iter().filter(|right| **right).count();
        (!right.is_empty()).then(|| n as f64 / right.len() as f64)
    }
}
