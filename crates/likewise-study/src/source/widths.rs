//! Whether views have the columns that a fit saw in their places.

use likewise::Collection;

use crate::{Error, Result};

/// Fails where views that take the places of those of a fit, in this order, have other columns than it saw there.
pub(super) fn check(of: &Collection, names: &[&str], fitted: &[(String, usize)]) -> Result<()> {
    if fitted.is_empty() {
        return Ok(());
    }
    let were: Vec<&str> = fitted.iter().map(|(name, _)| name.as_str()).collect();
    if names.len() != fitted.len() {
        let were = match were.as_slice() {
            [one] => format!("one view ({one})"),
            _ => format!("{} views ({})", were.len(), were.join(", ")),
        };
        return Err(Error::data(format!(
            "the run was fitted on {were}, and {} are given ({})",
            names.len(),
            names.join(", ")
        )));
    }
    for (view, (place, width)) in names.iter().zip(fitted) {
        if view != place && fitted.iter().any(|(name, _)| name == view) {
            return Err(Error::data(format!(
                "the view {view} is named in the place of {place}, and the run was fitted on both; \
                 name {view} in its own place: {}",
                were.join(", ")
            )));
        }
        let own = of.view(Some(view))?.matrix.ncols();
        if own != *width {
            let stands = if view == place {
                String::new()
            } else {
                format!(", in the place of {place},")
            };
            return Err(Error::data(format!(
                "the view {view}{stands} has {own} columns, and the run was fitted on {width} of {place}"
            )));
        }
    }
    Ok(())
}
