//! The extension module of the Python package `likewise`.
//!
//! Thin on purpose: arrays come in as C-contiguous numpy arrays of the right type, settings as JSON, and what
//! people see (estimators, docstrings, conversions) is in `python/likewise`. Each file is a topic.
//! Work runs on a thread of its own without the lock of the interpreter ([`work`]); an error of the
//! library becomes an exception of its kind ([`failure`]).

#![allow(
    clippy::struct_field_names,
    reason = "a class of Python holds the value of the library that it is named after"
)]

mod across;
mod command;
mod failure;
mod graph;
mod images;
mod index;
mod labels;
#[cfg(feature = "networks")]
mod losses;
mod metrics;
mod model;
mod names;
mod neighbors;
mod propagation;
mod study;
mod views;
mod wording;
mod work;

use pyo3::prelude::*;

#[pymodule(name = "_likewise")]
fn extension(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("HAS_NETWORKS", cfg!(feature = "networks"))?;
    m.add(
        "IMAGE_ENDINGS",
        likewise_study::source::IMAGE_ENDINGS.to_vec(),
    )?;
    m.add("VOTERS", likewise::propagate::induction::NEIGHBORS)?;
    m.add_class::<across::Across>()?;
    m.add_class::<across::AcrossRun>()?;
    m.add_class::<graph::Graph>()?;
    m.add_class::<index::Index>()?;
    m.add_class::<model::Model>()?;
    m.add_class::<study::Fitted>()?;
    m.add_function(wrap_pyfunction!(command::command, m)?)?;
    m.add_function(wrap_pyfunction!(labels::label_words, m)?)?;
    #[cfg(feature = "networks")]
    m.add_function(wrap_pyfunction!(losses::loss, m)?)?;
    m.add_function(wrap_pyfunction!(across::fit_across, m)?)?;
    m.add_function(wrap_pyfunction!(graph::scales, m)?)?;
    m.add_function(wrap_pyfunction!(images::describe, m)?)?;
    m.add_function(wrap_pyfunction!(metrics::rank, m)?)?;
    m.add_function(wrap_pyfunction!(metrics::summary, m)?)?;
    m.add_function(wrap_pyfunction!(metrics::nmi, m)?)?;
    m.add_function(wrap_pyfunction!(metrics::collapse, m)?)?;
    m.add_function(wrap_pyfunction!(names::names, m)?)?;
    m.add_function(wrap_pyfunction!(names::explain, m)?)?;
    m.add_function(wrap_pyfunction!(neighbors::vote, m)?)?;
    m.add_function(wrap_pyfunction!(propagation::parameters, m)?)?;
    m.add_function(wrap_pyfunction!(propagation::propagate, m)?)?;
    m.add_function(wrap_pyfunction!(propagation::symmetrize, m)?)?;
    m.add_function(wrap_pyfunction!(study::fit, m)?)?;
    m.add_function(wrap_pyfunction!(views::beside, m)?)?;
    m.add_function(wrap_pyfunction!(views::sees_views, m)?)?;
    Ok(())
}
