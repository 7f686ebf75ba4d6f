//! The `likewise` command inside the package.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs a command line, whose first word is the name of the program, and gives its exit code.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, line: Vec<OsString>) -> u8 {
    py.detach(|| likewise_cli::main(line))
}
