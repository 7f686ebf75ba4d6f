//! What the neighbours of new items say of them.

use likewise::distance::Metric;
use likewise::propagate::induction::{Neighbor, shares};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

/// Shares of the classes among the neighbours of each row (`m x classes`), as new items are added to a run. What
/// unsure ones leave goes to none, so that a row may sum to less than 1. `ids` of -1 are no neighbours.
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
    let believed = |item: usize| {
        let class = usize::try_from(*classes.get(item)?).ok()?;
        let known = class < n_classes;
        known.then_some((class, *confidence.get(item)?))
    };
    let mut votes = Array2::<f64>::zeros((ids.nrows(), n_classes));
    let rows = ids.rows().into_iter().zip(similarities.rows());
    for ((ids, similarities), mut row) in rows.zip(votes.rows_mut()) {
        let near = ids.iter().zip(similarities).filter_map(|(&item, &cosine)| {
            let item = usize::try_from(item).ok()?;
            Some(Neighbor {
                similarity: cosine,
                believed: believed(item),
            })
        });
        for (class, share) in shares(near, Metric::Cosine) {
            row[class] = share;
        }
    }
    votes.into_pyarray(py)
}
