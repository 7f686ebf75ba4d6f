//! Ranking: the rows of a collection by how near they are to a query along its manifold.

pub mod emr;
mod learner;

pub use emr::{Emr, Landmarks};
