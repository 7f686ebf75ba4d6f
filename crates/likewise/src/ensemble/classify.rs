//! What a classifier is: it learns from the labels of some rows, and says the class of any.

use ndarray::{Array2, ArrayView2};

use super::metric::Metric;
use crate::matrix::select_rows;
use crate::{Error, Labels, Monitor, Result};

/// Most members of a classifier that is several.
const MEMBERS: usize = 1_000_000;

/// What a classifier learns from: the rows of one view, and the labels of some of them.
#[derive(Clone, Copy)]
pub struct Lesson<'a> {
    /// Features (`n x d`) of all rows, labeled or not.
    pub rows: ArrayView2<'a, f32>,
    /// A label for each.
    pub labels: &'a Labels,
}

impl Lesson<'_> {
    /// The labeled rows, and their classes.
    pub(super) fn labeled(&self) -> (Array2<f32>, Vec<u32>) {
        let known = |i: usize| Some((i, self.labels[i].class()?));
        let (rows, classes): (Vec<usize>, Vec<u32>) =
            (0..self.labels.len()).filter_map(known).unzip();
        (select_rows(self.rows, &rows), classes)
    }
}

/// Fails on more members than anybody waits for: no list has room for the largest numbers.
pub(super) fn at_most_members(field: &str, value: usize) -> Result<()> {
    if value > MEMBERS {
        let rule = format!("must be at most {MEMBERS}");
        return Err(Error::parameter(field, value, &rule));
    }
    Ok(())
}

/// A kind of classifier, with its parameters.
pub trait Classify {
    /// Fails on a parameter out of its range.
    fn validate(&self) -> Result<()>;

    /// Learns. The lesson has labels of two classes, and finite rows.
    ///
    /// Fails on rows that it cannot learn from, and when cancelled.
    fn fit(&self, lesson: &Lesson, seed: u64, monitor: &Monitor) -> Result<Box<dyn Classifier>>;
}

/// A classifier that has learned.
pub trait Classifier: Send + Sync {
    /// The class of each row (`n x d`).
    fn classes(&self, rows: ArrayView2<f32>) -> Result<Vec<u32>>;

    /// What it compares rows by, if that is a distance.
    fn metric(&self) -> Option<&Metric> {
        None
    }
}
