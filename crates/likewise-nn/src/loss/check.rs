//! Ranges of parameters, each with its message.

use std::ops::RangeInclusive;

use crate::{Error, Result};

fn must(holds: bool, field: &str, value: f64, rule: &str) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::parameter(field, value, rule))
}

pub(crate) fn above_zero(field: &str, value: f64) -> Result<()> {
    must(
        value.is_finite() && value > 0.0,
        field,
        value,
        "must be above 0",
    )
}

pub(crate) fn at_least_zero(field: &str, value: f64) -> Result<()> {
    must(
        value.is_finite() && value >= 0.0,
        field,
        value,
        "must be at least 0",
    )
}

pub(crate) fn cosine(field: &str, value: f64) -> Result<()> {
    let rule = "must be a cosine, -1 to 1";
    must((-1.0..=1.0).contains(&value), field, value, rule)
}

pub(crate) fn cosine_or_distance(field: &str, value: f64, is_cosine: bool) -> Result<()> {
    if is_cosine {
        return cosine(field, value);
    }
    let rule = "must be a distance of unit rows, 0 to 2";
    must((0.0..=2.0).contains(&value), field, value, rule)
}

pub(crate) fn share(field: &str, value: f64) -> Result<()> {
    must((0.0..=1.0).contains(&value), field, value, "must be 0 to 1")
}

pub(crate) fn count(field: &str, value: usize, range: RangeInclusive<usize>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    let rule = format!("must be {} to {}", range.start(), range.end());
    Err(Error::parameter(field, value, &rule))
}

/// An angle whose squared tangent keeps products of exponentials within f32.
pub(crate) fn angle(field: &str, value: f64) -> Result<()> {
    let rule = "must be an angle above 0 and up to 60 degrees";
    must(value > 0.0 && value <= 60.0, field, value, rule)
}
