//! What is believed of each item: what the fit says, or the labels that were given since.

use std::collections::HashMap;
use std::sync::Arc;

use likewise::Label;
use likewise_io::items::ItemRow;
use rayon::prelude::*;

use super::following::{Believed, Following};
use super::identity::Classes;
use super::items::Items;
use super::labeled::Labeled;
use super::shown::Shown;

/// Judges between a fit and the labels that were given since.
pub(super) struct Judge {
    items: Arc<Items>,
    /// The classes of the run, by which those below count.
    origin: Vec<String>,
    /// Their numbers among all that ever were, when the fit was made; none yet of those that it got from added items.
    numbers: Vec<Option<usize>>,
    /// Whether the fit believed anything of items without a label: by one class alone it does not.
    believes: bool,
    /// The labels of the run, and what these alone say.
    own: Vec<Label>,
    base: Believed,
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
        Self {
            scale: Scale::between(&base, &fitted),
            own: own.labels().to_vec(),
            numbers: vec![None; origin.len()],
            believes: believes(own, &fitted),
            origin,
            base,
            fitted,
            items,
        }
    }

    /// What the classes of the fit are that were not among any classes before.
    pub(super) fn meet(&mut self, classes: &Classes) {
        for (number, name) in self.numbers.iter_mut().zip(&self.origin) {
            *number = number.or_else(|| classes.number(name));
        }
    }

    /// How sure labels that spread are, on the scale of what is shown.
    pub(super) fn sure(&self, confidence: f32) -> f32 {
        self.scale.of(confidence)
    }

    /// What is to be shown by the labels as they are now, what spread of them, and what classes they are.
    pub(super) fn judged(
        &self,
        mut shown: Shown,
        spread: Option<&Following>,
        classes: &mut Classes,
    ) -> Shown {
        let now = shown.labeled();
        let places = classes.places(&self.origin, &self.numbers, now);
        let order = now
            .classes()
            .iter()
            .map(|name| classes.number_or_new(name))
            .collect();
        shown.set_order(order);
        let by_label = spread.map(Following::pseudo_label);
        let own = |row: usize| by_label.and_then(|class| class[row]);
        let translated = |class: Option<u32>| class.and_then(|class| places[class as usize]);
        let is_gone = |row: usize| {
            let fitted = self.fitted.class[row];
            fitted.is_some() && translated(fitted).is_none()
        };
        let labels = shown.labeled().labels();
        let had_label = |row: usize| self.own[row].class().is_some();
        // A run that nobody has labeled since shows what all other verbs show.
        let nothing_else =
            !self.believes && labels != self.own && shown.labeled().has_two_classes();
        let is_new = |row: usize| {
            own(row) != translated(self.base.class[row])
                || labels[row].class().is_some() != had_label(row)
        };
        let by_labels: Vec<usize> = (0..self.items.rows.len())
            .into_par_iter()
            .filter(|&row| spread.is_none() || nothing_else || is_new(row) || is_gone(row))
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
            let is_sure = confidence >= 1.0 || had_label(row) || sure >= by_fit(row).1;
            if is_sure || is_gone(row) || spread.is_none() {
                shown.set(row, own(row), sure);
            }
        }
        shown
    }
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

/// Whether a fit believed anything of an item that has no label.
fn believes(own: &Labeled, fitted: &Believed) -> bool {
    let mut open = own.labels().iter().zip(&fitted.class);
    open.any(|(label, class)| *label == Label::Unknown && class.is_some())
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
