//! What the neighbours of new items say of them.

use ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// Shares of the classes among the neighbours of each row (`m x classes`): each votes for its class
/// with the cube of its cosine times its confidence, as new items are added to a run. What unsure
/// ones leave goes to none, so that a row may sum to less than 1. `ids` of -1 are no neighbours.
#[pyfunction]
pub(crate) fn vote<'py>(
    py: Python<'py>,
    ids: PyReadonlyArray2<'py, i64>,
    similarities: PyReadonlyArray2<'py, f32>,
    classes: PyReadonlyArray1<'py, i64>,
    confidence: PyReadonlyArray1<'py, f32>,
    n_classes: usize,
) -> Bound<'py, PyArray2<f64>> {
    let (ids, similarities) = (ids.as_array(), similarities.as_array());
    let (classes, confidence) = (classes.as_array(), confidence.as_array());
    let mut votes = Array2::<f64>::zeros((ids.nrows(), n_classes));
    for ((ids, similarities), mut row) in ids
        .rows()
        .into_iter()
        .zip(similarities.rows())
        .zip(votes.rows_mut())
    {
        let mut sum = 0.0;
        for (&item, &cosine) in ids.iter().zip(similarities) {
            let Ok(item) = usize::try_from(item) else {
                continue;
            };
            let weight = f64::from(cosine.max(0.0)).powi(3);
            sum += weight;
            if let (Some(&class), Some(&sure)) = (classes.get(item), confidence.get(item))
                && let Ok(class) = usize::try_from(class)
                && class < n_classes
            {
                row[class] += weight * f64::from(sure);
            }
        }
        if sum > 0.0 {
            row /= sum;
        }
    }
    votes.into_pyarray(py)
}
