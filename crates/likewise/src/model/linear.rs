//! A linear map of features, and unit rows behind it.

use ndarray::Array2;

use crate::Result;
use crate::linear::Affine;
use crate::matrix::{Reading, l2_normalize};

/// A linear map of features, and unit rows behind it.
///
/// ```text
/// x = the features as they are read
/// z = normalise((x - mean) A)
/// ```
///
/// Whitened features are one, and so is every Mahalanobis metric: with `M = A A^T` distances
/// of `x A` are those of the metric; here rows have length 1, as all searches expect, so that
/// cosines are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// How features are read.
    pub reading: Reading,
    /// Centre and map.
    pub map: Affine,
}

impl Linear {
    pub(super) fn rows(&self, x: Array2<f32>) -> Result<Array2<f32>> {
        let read = self.reading.rows(x);
        Ok(l2_normalize(self.map.transform(read.view())?))
    }
}
