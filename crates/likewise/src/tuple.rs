//! Tuples: which items a model should bring together, and which it should keep apart.
//!
//! [`Pairs`] say of two items whether they are alike; [`Triplets`] compare.
//!
//! | made by | positives and negatives from | gives |
//! |---|---|---|
//! | [`FromLabels`] | random items of the same and of other classes | pairs, triplets |
//! | [`FromBeliefs`] | the same of pseudo-labels, weighted by confidence | pairs, triplets |
//! | [`Affinity`] | neighbours sorted by propagated affinity | triplets |
//! | [`Manifold`] | where manifold and Euclidean neighbours differ; no labels | triplets |
//! | `Pairs::from` | triplets | pairs |
//! | [`Chunklets`] | alike pairs | sets of items of one class |

pub mod affinity;
pub mod beliefs;
pub mod chunklet;
mod draw;
pub mod labels;
pub mod manifold;
mod pairs;
mod triplets;

pub use affinity::Affinity;
pub use beliefs::FromBeliefs;
pub use chunklet::Chunklets;
pub use labels::FromLabels;
pub use manifold::Manifold;
pub use pairs::Pairs;
pub use triplets::Triplets;

use crate::neighbor::Neighbors;
use crate::{Labels, Monitor, Result};

/// A method that finds triplets among neighbours.
pub trait Mine {
    /// Triplets of items, from the neighbours of all items and what labels there are.
    ///
    /// Fails on broken lists, if labels and lists differ in length, on a parameter out of its
    /// range, and when cancelled. An item that gives no triplet is passed over.
    fn mine(&self, neighbors: &Neighbors, labels: &Labels, monitor: &Monitor) -> Result<Triplets>;
}
