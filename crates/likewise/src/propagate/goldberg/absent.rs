//! In place of the quadratic program in a build without its solver.

use crate::propagate::parts::known::Known;
use crate::{Error, ErrorKind, Result};

fn absent() -> Error {
    let message = "goldberg is not in this build: it needs the cargo feature `exact`";
    Error::new(ErrorKind::Parameter, message)
}

/// The solver is not in this build.
pub(super) fn is_built() -> Result<()> {
    Err(absent())
}

/// Fails.
pub(super) fn solve(_: &Known, _: &[(u32, u32, f64)], _: f64, _: f64) -> Result<(Vec<f64>, usize)> {
    Err(absent())
}
