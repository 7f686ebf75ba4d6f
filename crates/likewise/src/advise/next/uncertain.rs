//! Uncertainty: the items between two classes, those with the smallest margin first.
//!
//! The worth of an item is `1 - (p(first class) - p(second class))`, and 1 where no label reaches it. The
//! neighbours of what is in the batch come only after all others: they are likely unsure for the same reason. Where no
//! item is unsure, this is [`coverage`](super::coverage).
//!
//! **Use it** to see where classes meet, or with many labels. **Not** with few: it asks for odd items
//! and for those at the border of two classes, and on most sets gains nothing on labels drawn at random.
//!
//! Cost: O(n C) to begin, O(k) an item; memory O(n).
//!
//! Source: margin sampling, Scheffer, Decomain and Wrobel 2001.

use super::pool::{Chooser, Pool};
use crate::{Graph, Monitor, Result};

/// More than any worth.
const BEHIND: f64 = 2.0;

/// Margins, less what lies beside the batch.
#[derive(Debug, Clone)]
pub(super) struct Uncertain<'a> {
    graph: &'a Graph,
    worth: Vec<f64>,
    behind: Vec<bool>,
}

impl<'a> Uncertain<'a> {
    pub(super) fn of(pool: &Pool<'a>) -> Self {
        Self {
            graph: pool.graph,
            worth: pool.unsure(),
            behind: vec![false; pool.graph.n()],
        }
    }
}

impl Chooser for Uncertain<'_> {
    fn worth(&self) -> &[f64] {
        &self.worth
    }

    fn take(&mut self, item: usize, _: &Monitor) -> Result<()> {
        for &near in self.graph.row(item).0 {
            let near = near as usize;
            if !std::mem::replace(&mut self.behind[near], true) {
                self.worth[near] -= BEHIND;
            }
        }
        Ok(())
    }
}
