//! How many neighbours of an item a graph looks at.

use std::path::Path;

use likewise::Monitor;
use likewise::graph::KnnGraph;

use crate::fit::fewer_neighbors;
use crate::{Error, Result};

/// Neighbours of an item where nobody says how many: those of the default graph, as in a fit.
pub const NEIGHBORS: usize = KnnGraph::NEIGHBORS;

/// Neighbours of each of so many items of `data`, before anything is made of them: what was asked for, which
/// must be there, else the usual number, or fewer of few items, as in a fit.
///
/// Fails where there are not so many others.
pub fn neighbors(
    asked: Option<usize>,
    items: f64,
    data: &Path,
    monitor: &Monitor,
) -> Result<usize> {
    if let Some(k) = asked {
        check_neighbors(k, items, data)?;
        return Ok(k);
    }
    let k = fewer_neighbors(NEIGHBORS, items, &monitor.quiet());
    if k < NEIGHBORS {
        // As the help says: nothing to be warned of.
        monitor.note(format!("{k} neighbours an item, a tenth of {items} items"));
    }
    Ok(k)
}

/// Fails where there are no `k` other items.
pub fn check_neighbors(k: usize, items: f64, data: &Path) -> Result<()> {
    if (k as f64) < items {
        return Ok(());
    }
    let rule = format!("an item has at most {} neighbours", (items - 1.0).max(0.0));
    Err(Error::parameter("k", k, &rule).within(data.display()))
}
