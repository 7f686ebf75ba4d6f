//! Selection of columns: which features to keep, by the structure of the rows or by their classes.
//!
//! | | looks at | gives |
//! |---|---|---|
//! | [`Mcfs`] | the groups that rows fall into; no labels | columns that together tell groups apart |
//! | [`LaplacianScore`] | neighbours; no labels | columns that are alike among neighbours, each by itself |
//! | [`Dlsr`] | classes | columns that a regression on classes needs |
//! | [`Cfs`] | classes | few columns that know the class and not each other |
//!
//! To project on principal directions instead see [`whitening`](crate::linear::whitening).

pub mod cfs;
pub mod dlsr;
mod embedding;
pub mod laplacian_score;
pub mod lars;
pub mod mcfs;

pub use cfs::Cfs;
pub use dlsr::Dlsr;
pub use laplacian_score::LaplacianScore;
pub use mcfs::Mcfs;

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::learn::Evidence;
use crate::model::Model;
use crate::{Error, Monitor, Result};

/// The columns that were chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Selected {
    /// A number for every column; what it means, and whether more is better, says the method.
    pub scores: Vec<f64>,
    /// The chosen columns, the best first.
    pub chosen: Vec<usize>,
}

impl Selected {
    /// The chosen columns of some rows, the best first. Fails on another number of columns.
    ///
    /// ```
    /// use likewise::select::Selected;
    /// let own = Selected { scores: vec![0.1, 0.2, 0.9], chosen: vec![2, 1] };
    /// let x = ndarray::array![[1.0, 2.0, 3.0_f32]];
    /// assert_eq!(own.columns(x.view())?, ndarray::array![[3.0, 2.0]]);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn columns(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        let columns = x.ncols();
        if columns != self.scores.len() || self.chosen.iter().any(|&j| j >= columns) {
            return Err(Error::data(format!(
                "columns were chosen of {}, but there are {columns}",
                self.scores.len()
            )));
        }
        Ok(x.select(Axis(1), &self.chosen))
    }
}

impl Selected {
    /// The model that compares the chosen columns of the coordinates of some evidence, the best first,
    /// by their Euclidean distance.
    fn model(&self, evidence: &Evidence) -> Result<Model> {
        let (k, d) = (self.chosen.len(), self.scores.len());
        let mut l = Array2::zeros((k, d));
        for (i, &j) in self.chosen.iter().enumerate() {
            l[(i, j)] = 1.0;
        }
        evidence.start.transform(l)
    }
}

/// Warns where more columns are asked for than there are, so that nothing is chosen.
fn warn_of_few(method: &str, wanted: usize, there: usize, monitor: &Monitor) {
    if wanted > there {
        monitor.warn(format!(
            "{method}: {wanted} columns are asked for and there are {there}, so all are kept"
        ));
    }
}

/// The columns in the order of their scores, the largest first, ties by number.
fn descending(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&i, &j| scores[j].total_cmp(&scores[i]));
    order
}

/// The rows of some weight; fails unless they are of two classes, and where numbers differ.
fn labeled(x: ArrayView2<f32>, classes: &[u32], weights: &[f32], what: &str) -> Result<Vec<usize>> {
    crate::linear::check_weighted(x.nrows(), classes, weights)?;
    let kept: Vec<usize> = (0..x.nrows()).filter(|&i| weights[i] > 0.0).collect();
    if x.ncols() > 0 && kept.iter().any(|&i| classes[i] != classes[kept[0]]) {
        return Ok(kept);
    }
    Err(Error::data(format!(
        "{what} needs columns and labeled rows of two classes"
    )))
}
