//! Labels as numbers of classes.

use likewise::{Label, Labels};
use numpy::PyReadonlyArray1;
use pyo3::PyResult;

use crate::failure::exception;

/// What Python gives for labels: the class of each item, -1 where nothing is known and -2 where it is
/// none of them, and the names of the classes.
pub(crate) type Given<'py> = (PyReadonlyArray1<'py, i64>, Vec<String>);

pub(crate) fn labels(given: &Given<'_>) -> PyResult<Labels> {
    let (codes, classes) = given;
    let label = |&code: &i64| match code {
        -1 => Label::Unknown,
        -2 => Label::Outside,
        class => Label::Known(u32::try_from(class).unwrap_or(u32::MAX)),
    };
    let items = codes.as_array().iter().map(label).collect();
    Labels::new(classes.clone(), items).map_err(|e| exception(&e))
}

/// Classes as numbers again: -1 for none.
pub(crate) fn codes(of: &[Option<u32>]) -> Vec<i64> {
    of.iter().map(|class| class.map_or(-1, i64::from)).collect()
}
