//! Linear maps: learned on features as they are.

pub mod stiefel;

pub use stiefel::{Geometry, Minimum, Objective, Stiefel};
