//! Nearest neighbours of all items.
//!
//! [`exact()`] compares every item with every other in tiles, [`Ivf`] looks where the
//! neighbours are likely, [`hamming()`] compares binary codes.
//! [`KnnGraph`](crate::graph::KnnGraph) turns the lists into the graph that propagation
//! works on.

mod bound;
mod candidate;
pub mod exact;
pub mod hamming;
pub mod ivf;
mod neighbors;
mod panel;
mod rows;
mod sample;
mod sixteen;
mod update;

pub use candidate::Partial;
pub use exact::{Exact, ExactSearch, Precision, exact};
pub use hamming::hamming;
pub use ivf::{ApproximateSearch, Ivf};
pub use neighbors::Neighbors;
pub use rows::{Rows, block};

pub use crate::distance::Metric;
