//! Linear maps: learned on features as they are.

pub mod rca;
pub mod stiefel;

pub use rca::Rca;
pub use stiefel::{Geometry, Minimum, Objective, Stiefel};
