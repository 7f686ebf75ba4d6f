//! What there is to choose from, and what it does.

use likewise::learn::Closed;
use likewise::propagate::Method;
use likewise_nn::loss::Loss;
use likewise_study::{Recipe, topic};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The names of a list: `recipes`, `cross-modal` recipes, `learners`, `methods`, `losses` or `topics`.
#[pyfunction]
pub(crate) fn names(of: &str) -> PyResult<Vec<String>> {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Ok(match of {
        "recipes" | "cross-modal" => {
            let wanted = |name: &String| {
                let recipe = Recipe::named(name);
                recipe.is_ok_and(|recipe| recipe.learner.cross().is_some() == (of == "cross-modal"))
            };
            Recipe::names().into_iter().filter(wanted).collect()
        }
        "learners" => owned(Closed::NAMES),
        "methods" => owned(Method::NAMES),
        "losses" => owned(Loss::NAMES),
        "topics" => topic::names()
            .into_iter()
            .map(|(name, _)| name.to_owned())
            .collect(),
        _ => {
            return Err(PyValueError::new_err(format!(
                "of = \"{of}\": there are recipes, cross-modal, learners, methods, losses and topics"
            )));
        }
    })
}

/// What a method does, when to use it and when not, its cost and its source.
#[pyfunction]
pub(crate) fn explain(name: &str) -> PyResult<String> {
    let explained = topic::explain(name).map_err(|e| crate::failure::exception(&e))?;
    Ok(explained.text)
}
