//! What is believed of each item: what the fit says, or the labels that were given since.

use std::collections::HashMap;
use std::sync::Arc;

use likewise_io::items::ItemRow;
use rayon::prelude::*;

use super::following::{Believed, Following};
use super::items::Items;
use super::labeled::Labeled;
use super::shown::Shown;
use crate::journal::{Entry, Journal, What};

/// Judges between a fit and the labels that were given since.
pub(super) struct Judge {
    items: Arc<Items>,
    /// The classes of the run, by which the next two count.
    origin: Vec<String>,
    /// What the labels of the run alone say, and whose they are.
    base: Believed,
    had_label: Vec<bool>,
    /// What the fit believed.
    fitted: Believed,
    /// From the confidence of the labels that spread to that of the fit.
    scale: Scale,
}

impl Judge {
    /// Of the items of a run, their labels in it, and what these alone say.
    pub(super) fn new(items: Arc<Items>, own: &Labeled, spread: Option<&Following>) -> Self {
        let origin = own.classes().to_vec();
        let nothing = || Believed {
            class: vec![None; items.rows.len()],
            confidence: vec![0.0; items.rows.len()],
        };
        let base = spread.map_or_else(nothing, Following::believed);
        let fitted = fitted(&items, &origin);
        let labels = own.labels().iter();
        Self {
            scale: Scale::between(&base, &fitted),
            had_label: labels.map(|label| label.class().is_some()).collect(),
            origin,
            base,
            fitted,
            items,
        }
    }

    /// How sure labels that spread are, on the scale of what is shown.
    pub(super) fn sure(&self, confidence: f32) -> f32 {
        self.scale.of(confidence)
    }

    /// What the classes of the run are among those of now; none for one that is gone.
    ///
    /// A fit that learned from the journal has its newer names. Where one of these is taken back since, the class
    /// goes on under its older name.
    fn of_origin(&self, labeled: &Labeled, journal: &Journal) -> Vec<Option<u32>> {
        let all: Vec<&Entry> = journal
            .entries()
            .iter()
            .filter(|entry| renames(entry))
            .collect();
        let standing: Vec<&Entry> = journal.standing().filter(|entry| renames(entry)).collect();
        let each = self.origin.iter().map(|class| {
            let now = labeled.class(self.onward(&standing, class, class));
            let older = || self.onward(&standing, class, self.backward(&all, class));
            now.or_else(|| labeled.class(older()))
        });
        each.collect()
    }

    /// The name that a class of the run has after these changes, if it had `name` before them.
    fn onward<'a>(&self, changes: &[&'a Entry], class: &str, mut name: &'a str) -> &'a str {
        for entry in changes {
            let (What::RenameClass { from, to } | What::MergeClass { from, into: to }) =
                &entry.what
            else {
                continue;
            };
            if name == from && !self.is_other(entry, class) {
                name = to;
            }
        }
        name
    }

    /// The name that a class of the run had before all changes of its name that the fit knew.
    fn backward<'a>(&self, changes: &[&'a Entry], class: &'a str) -> &'a str {
        let mut name = class;
        for entry in changes.iter().rev() {
            if let What::RenameClass { from, to } = &entry.what
                && name == to
                && !self.is_other(entry, class)
            {
                name = from;
            }
        }
        name
    }

    /// Whether an entry changed the labels of another class of the run than this.
    fn is_other(&self, entry: &Entry, class: &str) -> bool {
        let own = entry
            .items
            .iter()
            .filter_map(|change| self.items.row(&change.id));
        let mut own = own.filter_map(|row| self.items.rows[row as usize].label.as_deref());
        let first = own.next();
        first.is_some_and(|first| first != class) && own.all(|label| label != class)
    }

    /// What is to be shown by the labels as they are now, and what spread of them.
    pub(super) fn judged(
        &self,
        mut shown: Shown,
        spread: Option<&Following>,
        journal: &Journal,
    ) -> Shown {
        let by_label = spread.map(Following::pseudo_label);
        let own = |row: usize| by_label.and_then(|class| class[row]);
        let of_origin = self.of_origin(shown.labeled(), journal);
        let translated = |class: Option<u32>| class.and_then(|class| of_origin[class as usize]);
        let is_gone = |row: usize| {
            let fitted = self.fitted.class[row];
            fitted.is_some() && translated(fitted).is_none()
        };
        let labels = shown.labeled().labels();
        let is_new = |row: usize| {
            own(row) != translated(self.base.class[row])
                || labels[row].class().is_some() != self.had_label[row]
        };
        let by_labels: Vec<usize> = (0..self.items.rows.len())
            .into_par_iter()
            .filter(|&row| spread.is_none() || is_new(row) || is_gone(row))
            .collect();
        // Of few rows, so that not all of them need it.
        let confidence = match spread {
            Some(session) => session.confidence_of(&by_labels),
            None => vec![0.0; by_labels.len()],
        };
        let by_fit = |row: usize| {
            (
                translated(self.fitted.class[row]),
                self.fitted.confidence[row],
            )
        };
        shown.set_all(by_fit);
        for (row, confidence) in by_labels.into_iter().zip(confidence) {
            let sure = self.sure(confidence);
            // What has a label, or has lost one, is what the labels say.
            let is_sure = confidence >= 1.0 || self.had_label[row] || sure >= by_fit(row).1;
            if is_sure || is_gone(row) || spread.is_none() {
                shown.set(row, own(row), sure);
            }
        }
        shown
    }
}

/// Whether an entry gives a class another name, be it that of another class.
fn renames(entry: &Entry) -> bool {
    matches!(
        entry.what,
        What::RenameClass { .. } | What::MergeClass { .. }
    )
}

/// Brings the confidence of labels that spread to the scale of the fit: the share of items that have less of the
/// one has less of the other. Else what one label moves would look doubtful beside what none has moved.
struct Scale {
    /// Confidences of items without a label, ascending; both of the same items.
    from: Vec<f32>,
    to: Vec<f32>,
}

impl Scale {
    fn between(base: &Believed, fitted: &Believed) -> Self {
        let open = |&row: &usize| base.confidence[row] < 1.0 && fitted.class[row].is_some();
        let open: Vec<usize> = (0..base.class.len()).filter(open).collect();
        let sorted = |of: &Believed| {
            let mut all: Vec<f32> = open.iter().map(|&row| of.confidence[row]).collect();
            all.sort_unstable_by(f32::total_cmp);
            all
        };
        Self {
            from: sorted(base),
            to: sorted(fitted),
        }
    }

    /// Nothing at all and a label stay what they are.
    fn of(&self, confidence: f32) -> f32 {
        if confidence <= 0.0 || confidence >= 1.0 {
            return confidence;
        }
        let below = self.from.partition_point(|&known| known < confidence);
        let place = below.min(self.to.len().saturating_sub(1));
        self.to.get(place).copied().unwrap_or(confidence)
    }
}

/// What the fit believed, by the classes of the run.
fn fitted(items: &Items, origin: &[String]) -> Believed {
    let places: HashMap<&str, u32> = origin.iter().map(String::as_str).zip(0..).collect();
    let class = |item: &ItemRow| places.get(item.pseudo_label.as_deref()?).copied();
    Believed {
        class: items.rows.iter().map(class).collect(),
        confidence: (items.rows.iter())
            .map(|item| item.confidence.unwrap_or(0.0))
            .collect(),
    }
}
