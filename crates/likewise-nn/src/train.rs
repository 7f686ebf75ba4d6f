//! Learning by gradients: a head on features, or an encoder of images, round by round.

mod body;
mod config;
mod descent;
mod gradient;
mod learner;
mod map;
mod memory;
mod state;
mod steps;

pub use config::{Optimizer, Schedule, TrainConfig, Tuning};
pub use learner::Gradient;
pub use memory::Memory;
