//! Linear maps: learned on features as they are.

pub mod affine;
pub mod logistic;
pub mod rca;
pub mod stiefel;
pub mod whitening;

pub use affine::Affine;
pub use logistic::Logistic;
pub use rca::Rca;
pub use stiefel::{Geometry, Minimum, Objective, Stiefel};
