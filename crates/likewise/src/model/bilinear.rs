//! A learned bilinear form.

use ndarray::{Array1, Array2};

use super::learned_metric::{mean_of, put_mean};
use crate::arrays::Arrays;
use crate::matrix::{Reading, less_mean};
use crate::{Error, Result};

/// A learned similarity `(q - mean)^T W (x - mean)`, which is no distance and need not be symmetric.
///
/// The rows of items are their features less the mean; a query is multiplied by `W`.
#[derive(Debug, Clone, PartialEq)]
pub struct Bilinear {
    /// How features are read.
    pub reading: Reading,
    /// Taken off the features, `d`.
    pub mean: Array1<f64>,
    /// `W`, `d x d`.
    pub matrix: Array2<f64>,
}

impl Bilinear {
    /// Fails where the mean and the matrix do not fit each other.
    pub fn new(reading: Reading, mean: Array1<f64>, matrix: Array2<f64>) -> Result<Self> {
        if !matrix.is_square() || matrix.nrows() != mean.len() || mean.is_empty() {
            let message = format!(
                "a bilinear form of {:?} does not fit a mean of {}",
                matrix.dim(),
                mean.len()
            );
            return Err(Error::data(message));
        }
        Ok(Self {
            reading,
            mean,
            matrix,
        })
    }

    pub(super) fn rows(&self, x: Array2<f32>) -> Array2<f32> {
        let read = self.reading.rows(x);
        less_mean(read.view(), &self.mean).mapv(|v| v as f32)
    }

    /// `mean` (`d`), unless it is 0, and `bilinear` (`d x d`).
    pub(super) fn put(&self, arrays: &mut Arrays) {
        put_mean(arrays, &self.mean);
        arrays.put_matrix("bilinear", &self.matrix);
    }

    pub(super) fn of(reading: Reading, arrays: &Arrays) -> Result<Self> {
        let matrix = arrays.matrix64("bilinear")?;
        Self::new(reading, mean_of(arrays, matrix.ncols())?, matrix)
    }
}
