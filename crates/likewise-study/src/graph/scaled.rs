//! Columns that were brought to one scale for a graph, in words.

use std::ops::Range;

use likewise::collection::Columns;
use ndarray::{Array1, ArrayView2};

/// A view whose columns were brought to one scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaled {
    /// Its name.
    pub view: String,
    /// Its columns, among those of all views side by side.
    range: Range<usize>,
    /// The one that varied most, among its own.
    column: usize,
    /// Its share of the variance of all of them.
    share: f64,
}

impl Scaled {
    /// Of the view in `x`, whose columns were multiplied by `scale`: one over the deviation of each that varies.
    pub(super) fn of(view: &Columns, x: ArrayView2<f32>, scale: &Array1<f64>) -> Self {
        let varies = |column: usize| {
            let values = x.column(column);
            values.iter().any(|&value| (value - values[0]).abs() > 0.0)
        };
        let variance = |column: usize| {
            if varies(column) {
                scale[column].powi(-2)
            } else {
                0.0
            }
        };
        let variances: Vec<f64> = (0..scale.len()).map(variance).collect();
        let most = variances
            .iter()
            .enumerate()
            .max_by(|a, b| a.1.total_cmp(b.1));
        let (column, &most) = most.unwrap_or((0, &0.0));
        Self {
            view: view.name.clone(),
            range: view.range.clone(),
            column,
            share: most / variances.iter().sum::<f64>(),
        }
    }

    /// Which column outweighed the others, and what came of it; of `several` views, also which has it. `names` are
    /// those of the columns of all views, where they have some.
    pub(crate) fn in_words(&self, several: bool, names: &[String]) -> String {
        let column = match names.get(self.range.start + self.column) {
            Some(name) => format!("column \"{name}\""),
            None => format!("column {} (the first is 0)", self.column),
        };
        let view = if several {
            format!("view {}: ", self.view)
        } else {
            String::new()
        };
        format!(
            "{view}{column} holds {:.1} % of the variance of {} columns, as where units differ, so all were brought to \
             one scale for the graph",
            100.0 * self.share,
            self.range.len()
        )
    }
}

/// The names of views that were brought to one scale.
pub(crate) fn names_of(scaled: &[Scaled]) -> Vec<String> {
    scaled.iter().map(|scaled| scaled.view.clone()).collect()
}
