//! The items that may be asked for, and what chooses among them.

use ndarray::ArrayView2;
use serde::Serialize;

use crate::advise::shares::{first_two, margin};
use crate::matrix::lengths;
use crate::{Error, Graph, Label, Labels, Monitor, Result};

/// Cosine from which two items are nearly the same.
const NEARLY: f64 = 0.995;
/// How [unsure](Pool::unsure) an item is at least where that says anything.
pub(super) const UNSURE: f64 = 0.001;

/// The items, and what is known of them.
#[derive(Debug, Clone, Copy)]
pub struct Pool<'a> {
    /// The graph of the items, n nodes.
    pub graph: &'a Graph,
    /// Their labels; those that are hidden from the advice must be unknown here.
    pub labels: &'a Labels,
    /// The [shares](crate::advise::shares::shares) of the classes in what is believed of each item
    /// (`n x C`; no columns where no class is known).
    pub shares: ArrayView2<'a, f64>,
    /// Which items may be asked for; labeled ones are not, whatever stands here.
    pub askable: &'a [bool],
    /// Rows of the items (`n x d`), whose cosine tells copies; without them none are looked for.
    pub rows: Option<ArrayView2<'a, f32>>,
}

/// An item to be labeled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Suggestion {
    /// The item.
    pub item: usize,
    /// The class that is believed, and its share; none where no label reaches.
    pub believed: Option<(u32, f64)>,
    /// The class that is believed next, if any.
    pub runner_up: Option<(u32, f64)>,
    /// Neighbours on the graph that have no label.
    pub stands_for: usize,
    /// What the strategy gives for it; only comparable within one batch.
    pub worth: f64,
}

/// What chooses item by item.
pub(crate) trait Chooser {
    /// What each item is worth at the moment; larger is better.
    fn worth(&self) -> &[f64];

    /// Takes an item into the batch. Fails when cancelled.
    fn take(&mut self, item: usize, monitor: &Monitor) -> Result<()>;
}

impl Pool<'_> {
    /// Whether what is believed of an item that may be asked for is unsure. Where it is of none, as with labels of
    /// one class, all strategies ask for what stands for many others.
    pub fn is_unsure(&self) -> bool {
        let unsure = self.unsure();
        let is_open = |&item: &usize| self.askable[item] && self.labels[item] == Label::Unknown;
        (0..unsure.len())
            .filter(is_open)
            .any(|item| unsure[item] > UNSURE)
    }

    /// How unsure what is believed of each item is: 0 where all that reaches it is of one class, 1 between two
    /// classes, and where no label reaches it.
    pub(super) fn unsure(&self) -> Vec<f64> {
        let rows = self.shares.rows().into_iter();
        rows.map(|row| 1.0 - margin(row)).collect()
    }

    pub(super) fn check(&self) -> Result<()> {
        let n = self.graph.n();
        let rows = self.rows.map_or(n, |rows| rows.nrows());
        for (what, size) in [
            ("labels", self.labels.len()),
            ("rows of shares", self.shares.nrows()),
            ("marks of what may be asked for", self.askable.len()),
            ("rows of features", rows),
        ] {
            if size != n {
                return Err(Error::data(format!(
                    "what to label next: {size} {what} for a graph of {n} nodes; give one an item"
                )));
            }
        }
        if self.shares.ncols() != self.labels.n_classes() {
            return Err(Error::data(format!(
                "what to label next: shares of {} classes for labels of {}; give one column a class",
                self.shares.ncols(),
                self.labels.n_classes()
            )));
        }
        if self.shares.iter().any(|share| !share.is_finite()) {
            return Err(Error::data(
                "what to label next: a share is not a finite number",
            ));
        }
        Ok(())
    }

    pub(super) fn suggestion(&self, item: usize, worth: f64) -> Suggestion {
        let [believed, runner_up] = first_two(self.shares.row(item));
        let (neighbors, _) = self.graph.row(item);
        let open = |&&j: &&u32| self.labels[j as usize] == Label::Unknown;
        Suggestion {
            item,
            believed,
            runner_up,
            stands_for: neighbors.iter().filter(open).count(),
            worth,
        }
    }
}

/// Tells items that are nearly the same.
pub(super) struct Copies<'a> {
    rows: Option<(ArrayView2<'a, f32>, Vec<f64>)>,
}

impl<'a> Copies<'a> {
    pub(super) fn of(pool: &Pool<'a>) -> Self {
        Self {
            rows: pool.rows.map(|rows| (rows, lengths(rows))),
        }
    }

    pub(super) fn are(&self, a: usize, b: usize) -> bool {
        let Some((rows, lengths)) = &self.rows else {
            return false;
        };
        let both = rows.row(a).into_iter().zip(rows.row(b));
        let product: f64 = both.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        let length = lengths[a] * lengths[b];
        length > 0.0 && product >= NEARLY * length
    }
}
