//! What a study measures, and how the items are divided for it.

use std::collections::HashMap;

use likewise::eval::leak::first_equal;
use likewise::eval::split;
use likewise::{Collection, Labels, Part};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How the items are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitKind {
    /// 70 % of each class for fitting, 30 % for testing; the classes are the same. Where a hundredth of the items
    /// or more are copies of others, copies stand on one side.
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
    /// Fails on what no study within one view can do.
    pub(super) fn check(&self) -> Result<()> {
        if self.draws == 0 {
            return Err(Error::parameter("draws", 0, "must be at least 1"));
        }
        if self.ks.contains(&0) {
            return Err(Error::parameter("ks", 0, "must be at least 1"));
        }
        if let Some(share) = self.label_fraction {
            let rule = "goes with studies across views; say how many labels a class instead";
            return Err(Error::parameter("label_fraction", share, rule));
        }
        Ok(())
    }

    /// The part of every item, of which these are the labels.
    ///
    /// Fails as the split does.
    pub(super) fn parts(&self, items: &Collection, labels: &Labels) -> Result<Vec<Part>> {
        match self.split {
            SplitKind::Item => {
                let mut parts = split::by_item(labels, TRAIN_SHARE, 0.0, self.seed)?;
                together(&mut parts, items, labels);
                Ok(parts)
            }
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
        let hides = self.labels_per_class.is_some() || self.label_fraction.is_some();
        self.refit && !hides && self.split != SplitKind::Folds
    }
}

/// One copy in so many items is too few to be seen in any number, and the split stays that of the labels.
const FEW: usize = 100;

/// Puts labeled items that are the same in every view into the part of the first of them, where there are many:
/// what is fitted of one is known of all.
fn together(parts: &mut [Part], items: &Collection, labels: &Labels) {
    let known = (0..labels.len()).filter(|&i| labels[i].class().is_some());
    let known: Vec<usize> = known.collect();
    let mut rows = vec![Vec::new(); known.len()];
    for view in items.views() {
        let found = first_equal(view.matrix.view(), &known);
        rows.iter_mut()
            .zip(found)
            .for_each(|(row, first)| row.push(first));
    }
    let mut first = HashMap::new();
    let first: Vec<usize> = (known.iter().zip(rows))
        .map(|(&item, row)| *first.entry(row).or_insert(item))
        .collect();
    let copies = known
        .iter()
        .zip(&first)
        .filter(|(item, first)| item != first);
    if copies.count() * FEW < known.len() {
        return;
    }
    for (item, first) in known.into_iter().zip(first) {
        parts[item] = parts[first];
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

#[cfg(test)]
mod tests {
    use likewise::View;
    use ndarray::Array2;

    use super::*;

    #[test]
    fn many_copies_stand_on_one_side_and_a_single_one_changes_nothing() {
        // Each row stands so often, and belongs to one of two classes; so many more are of the first one.
        let items = |copies: usize, more: usize| {
            let first = |i: usize| if i <= more { 0 } else { i / copies };
            let rows = Array2::from_shape_fn((240, 2), |(i, j)| (first(i) * 2 + j + 1) as f32);
            let view = View {
                name: "x".into(),
                matrix: rows,
                present: None,
            };
            let ids = (0..240).map(|i| i.to_string()).collect();
            Collection::new(ids, vec![view]).unwrap()
        };
        let labels =
            |copies: usize| Labels::from_integers((0..240).map(|i| (i / copies % 2) as i64));
        let protocol = Protocol::default();
        let fours = protocol.parts(&items(4, 0), &labels(4)).unwrap();
        assert!(
            fours
                .chunks(4)
                .all(|same| same.iter().all(|part| *part == same[0]))
        );
        assert!(fours.contains(&Part::Train) && fours.contains(&Part::Test));
        let labels = labels(1);
        let drawn = split::by_item(&labels, TRAIN_SHARE, 0.0, protocol.seed).unwrap();
        assert_eq!(protocol.parts(&items(1, 2), &labels).unwrap(), drawn);
    }
}
