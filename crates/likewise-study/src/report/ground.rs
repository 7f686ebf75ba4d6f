//! What the sections of a report look at.

use likewise::{Collection, Labels};
use ndarray::ArrayView2;

use crate::study::{Results, Study};

/// What the sections look at.
pub(super) struct Ground<'a> {
    pub(super) study: &'a Study,
    pub(super) results: &'a Results,
    pub(super) collection: &'a Collection,
    /// Labels, and where nothing was set aside for a test, classes that spread to the other
    /// items.
    pub(super) labels: &'a Labels,
    /// Whose class is only believed; empty where nobody's is.
    pub(super) believed: Vec<bool>,
    /// The highest confidence of those.
    pub(super) surest: f32,
    pub(super) features: ArrayView2<'a, f32>,
    /// Items of known class that ask, that are searched, and both together, ascending.
    pub(super) queries: Vec<usize>,
    pub(super) gallery: Vec<usize>,
    pub(super) tested: Vec<usize>,
}

impl Ground<'_> {
    /// Whether two items are of one class, or share a tag.
    pub(super) fn same_class(&self, a: usize, b: usize) -> bool {
        match (
            self.labels[a].class(),
            self.labels[b].class(),
            self.labels.tags(),
        ) {
            (Some(a), Some(b), Some(tags)) => tags.shared(a as usize, b as usize) > 0,
            (a, b, _) => a.is_some() && a == b,
        }
    }

    /// Embeddings as they were measured, before the model learned from the test part too.
    pub(super) fn embeddings(&self) -> ArrayView2<'_, f32> {
        let study = self.study;
        study.measured.as_ref().unwrap_or(&study.embeddings).view()
    }

    pub(super) fn is_believed(&self, item: usize) -> bool {
        self.believed.get(item).is_some_and(|believed| *believed)
    }

    /// How sure the class of an item is that was only believed, 0 to 1 of the surest.
    pub(super) fn sure(&self, item: usize) -> Option<f32> {
        if !self.is_believed(item) {
            return None;
        }
        let confidence = self.study.beliefs.confidence.get(item)?;
        (self.surest > 0.0).then(|| confidence / self.surest)
    }

    /// An item in words: its id, its class, and whether that is only believed.
    pub(super) fn told(&self, item: usize) -> String {
        let (id, class) = (&self.collection.ids()[item], self.class_name(item));
        match (class, self.is_believed(item)) {
            ("", _) => id.clone(),
            (class, true) => format!("{id} · {class}? (believed)"),
            (class, false) => format!("{id} · {class}"),
        }
    }

    pub(super) fn class_name(&self, item: usize) -> &str {
        let class = self.labels[item].class();
        class.map_or("", |class| &self.labels.classes()[class as usize])
    }
}

/// A share, in words.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
