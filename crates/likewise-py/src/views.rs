//! Several views of the same items.

use std::collections::BTreeMap;

use likewise::matrix::check_finite;
use likewise::{Collection, Error, ErrorKind, Result, View};
use likewise_io::Layout;
use likewise_study::Recipe;
use ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::work::{How, guarded, run};

/// Ids of items that have none: the numbers of their rows.
pub(crate) fn ids(rows: usize) -> Vec<String> {
    (0..rows).map(|row| row.to_string()).collect()
}

/// Views by name, as arrays of Python hold them.
pub(crate) fn named<'a>(
    views: &'a [(String, PyReadonlyArray2<'_, f32>)],
) -> Vec<(String, ArrayView2<'a, f32>)> {
    let each = views.iter();
    each.map(|(name, x)| (name.clone(), x.as_array())).collect()
}

/// The items of several views as one, as the command reads them: each view of rows of length 1, or `apart`, as it is.
pub(crate) fn side_by_side(views: &[(String, ArrayView2<f32>)], apart: bool) -> Result<Collection> {
    let rows = views.first().map_or(0, |(_, x)| x.nrows());
    let names: Vec<&str> = views.iter().map(|(name, _)| name.as_str()).collect();
    let views = views.iter().map(|(name, x)| view(name, *x));
    let collection = Collection::new(ids(rows), views.collect::<Result<_>>()?)?;
    if apart {
        collection.beside(&names)
    } else {
        collection.joined(&names)
    }
}

/// A view of its own rows.
pub(crate) fn view(name: &str, x: ArrayView2<f32>) -> Result<View> {
    check_finite(x, &format!("X['{name}']"))?;
    Ok(View {
        name: name.to_owned(),
        matrix: x.to_owned(),
        present: None,
    })
}

/// The table that columns with names, by view, are from then on, as those of a file are: the one view, or of `several` the one
/// that tables have.
pub(crate) fn table_of(columns: &BTreeMap<String, Vec<String>>, several: bool) -> Option<Layout> {
    let names = if several {
        columns.get("features")
    } else {
        columns.values().next()
    };
    let layout = |names: &Vec<String>| Layout {
        beside_vectors: several,
        ..Layout::of_numbers(names.iter().map(String::as_str))
    };
    names.map(layout)
}

/// What a model of several views reads of other items.
#[pyfunction]
pub(crate) fn beside<'py>(
    py: Python<'py>,
    views: Vec<(String, PyReadonlyArray2<'py, f32>)>,
    apart: bool,
    how: How,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let views = named(&views);
    let rows = run(py, &how, |_| {
        Ok(side_by_side(&views, apart)?.into_view(None)?.matrix)
    })?;
    Ok(rows.into_pyarray(py))
}

/// Whether a recipe, as JSON, sees several views apart, each as it is.
#[pyfunction]
pub(crate) fn sees_views(recipe: &str) -> PyResult<bool> {
    guarded(|| {
        let recipe: Result<Recipe, _> = serde_json::from_str(recipe);
        let recipe = recipe.map_err(|e| Error::new(ErrorKind::Data, format!("a recipe: {e}")))?;
        Ok(recipe.sees_views())
    })
}
