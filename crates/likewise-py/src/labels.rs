//! Labels as numbers of classes.

use std::iter::repeat_n;

use likewise::{Label, Labels};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::failure::exception;
use crate::wording::in_python;

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

/// What words mean that stand for labels, each so many times: the place of their class among the names that follow, -1
/// unknown, -2 outside; and what a person should know of that.
#[pyfunction]
pub(crate) fn label_words(
    words: Vec<String>,
    counts: Vec<usize>,
) -> (Vec<i64>, Vec<String>, Vec<String>) {
    let parsed = Labels::parse(&words);
    let meant = parsed.items().iter().map(|label| match label {
        Label::Known(class) => i64::from(*class),
        Label::Unknown => -1,
        Label::Outside => -2,
    });
    let meant: Vec<i64> = meant.collect();
    let told = words.iter().zip(counts);
    let remarks = Labels::remarks(told.flat_map(|(word, n)| repeat_n(word, n)));
    let remarks = remarks.iter().map(|said| in_python(said, "k")).collect();
    (meant, parsed.classes().to_vec(), remarks)
}
