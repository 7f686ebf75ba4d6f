//! A learned Mahalanobis metric.

use ndarray::{Array1, Array2};

use crate::arrays::{Arrays, Values};
use crate::linear::{Affine, spd};
use crate::matrix::Reading;
use crate::{Error, Result};

/// A learned metric: items are compared by `d^2(a, b) = (a - b)^T M (a - b)`, with `M = L^T L`.
///
/// ```text
/// x = the features as they are read
/// z = (x - mean) L^T              compared by their Euclidean distance
/// ```
///
/// The mean changes no distance; it keeps single precision from being spent on what all items
/// share.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedMetric {
    /// How features are read.
    pub reading: Reading,
    /// Taken off the features, `d`.
    pub mean: Array1<f64>,
    /// What was learned.
    pub form: Form,
    /// `L^T`, `d x r`.
    transposed: Array2<f64>,
}

/// What a metric learner learns.
#[derive(Debug, Clone, PartialEq)]
pub enum Form {
    /// The matrix `M`, `d x d`.
    Mahalanobis(Array2<f64>),
    /// The map `L`, `r x d`.
    Transform(Array2<f64>),
}

impl LearnedMetric {
    /// The metric of this form. O(d^3) for a matrix `M`, which is factored.
    ///
    /// Fails on a matrix `M` that is not square, on numbers that are not finite, where no direction is
    /// left, and where the mean does not fit.
    pub fn new(reading: Reading, mean: Array1<f64>, form: Form) -> Result<Self> {
        let (Form::Mahalanobis(matrix) | Form::Transform(matrix)) = &form;
        let too_large =
            || Error::data("a metric is not finite: the features are too large; scale them");
        if !matrix.iter().all(|v| v.is_finite()) {
            return Err(too_large());
        }
        let is_positive = matrix.diag().sum() > 0.0;
        let transposed = match &form {
            Form::Mahalanobis(m) if m.is_square() => spd::factor(m)?.reversed_axes(),
            Form::Mahalanobis(m) => {
                let message = format!("a Mahalanobis matrix is square, not {:?}", m.dim());
                return Err(Error::data(message));
            }
            Form::Transform(l) => l.t().to_owned(),
        };
        if transposed.nrows() == mean.len() && transposed.is_empty() {
            // Some eigenvalue is above 0 then, and was lost: it is more than a number holds.
            return Err(if is_positive {
                too_large()
            } else {
                Error::data("a metric without a direction takes all items for the same")
            });
        }
        if transposed.nrows() != mean.len() {
            let message = format!(
                "a metric of {} columns does not fit a mean of {}",
                transposed.nrows(),
                mean.len()
            );
            return Err(Error::data(message));
        }
        Ok(Self {
            reading,
            mean,
            form,
            transposed: transposed.as_standard_layout().into_owned(),
        })
    }

    pub(super) fn output_dim(&self) -> usize {
        self.transposed.ncols()
    }

    /// The map from features, as they are read, to rows: the mean and `L^T`, `d x r`.
    pub fn map(&self) -> Affine {
        Affine {
            mean: self.mean.clone(),
            matrix: self.transposed.clone(),
        }
    }

    pub(super) fn rows(&self, x: Array2<f32>) -> Result<Array2<f32>> {
        self.map().transform(self.reading.rows(x).view())
    }

    /// `mean` (`d`), unless it is 0, and `mahalanobis` (`d x d`) or `transform` (`r x d`).
    pub(super) fn put(&self, arrays: &mut Arrays) {
        put_mean(arrays, &self.mean);
        match &self.form {
            Form::Mahalanobis(m) => arrays.put_matrix("mahalanobis", m),
            Form::Transform(l) => arrays.put_matrix("transform", l),
        }
    }

    pub(super) fn of(reading: Reading, arrays: &Arrays) -> Result<Self> {
        let form = if arrays.get("mahalanobis").is_ok() {
            Form::Mahalanobis(arrays.matrix64("mahalanobis")?)
        } else {
            Form::Transform(arrays.matrix64("transform")?)
        };
        let (Form::Mahalanobis(matrix) | Form::Transform(matrix)) = &form;
        let mean = mean_of(arrays, matrix.ncols())?;
        Self::new(reading, mean, form)
    }
}

/// The mean, unless it is 0.
pub(super) fn put_mean(arrays: &mut Arrays, mean: &Array1<f64>) {
    if mean.iter().any(|&m| m != 0.0) {
        arrays.put("mean", &[mean.len()], Values::F64(mean.to_vec()));
    }
}

/// The mean of so many columns; 0 where there is none.
pub(super) fn mean_of(arrays: &Arrays, columns: usize) -> Result<Array1<f64>> {
    match arrays.get("mean") {
        Ok(_) => arrays.vector64("mean"),
        Err(_) => Ok(Array1::zeros(columns)),
    }
}
