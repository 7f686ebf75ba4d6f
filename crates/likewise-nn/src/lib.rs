//! Trained heads for Likewise: from beliefs to an embedding that was measured.
//!
//! A [`Recipe`] says how; a [`study::Plan`] runs it beside its baselines and gives a fitted
//! [`Model`] with honest numbers. [`net`] holds the networks that turn images into features.
//! Built on burn; [`device`] says where they run.

mod device;
pub mod error;
mod images;
pub mod loss;
pub mod memory;
pub mod mine;
pub mod net;
pub mod recipe;
pub mod sample;
pub mod study;
mod train;

pub use burn::tensor::Device;
pub use device::device;
pub use error::{Error, ErrorKind, Result};
pub use images::{Images, PixelRows};
pub use net::{Head, HeadConfig, Model, Residual};
pub use recipe::{AffinityLabels, GraphOn, Pretraining, PseudoLabels, Recipe};
pub use train::{Confidence, Epoch, Keep, NoEvidence, Optimizer, Schedule, TrainConfig, Why};
