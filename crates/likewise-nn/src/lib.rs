//! Learning by gradients: heads on features and encoders of images, on burn.
//!
//! [`net`] holds the networks, [`loss`], [`mine`] and [`sample`] what they learn by, and
//! [`train::Gradient`] is the learner that goes round by round. A fitted [`Model`] opens from
//! its own file. [`lpf`] predicts labels, [`cross`] searches across modalities. Built on burn;
//! [`device`] says where it runs.
//!
//! Without the feature `networks` there is no burn: all configurations are read and checked as
//! ever, heads that were fitted embed, and what would compute by burn fails as [`networks`] does.

// Configurations are read in every build; what only networks use of them stays where it is.
#![cfg_attr(not(feature = "networks"), allow(dead_code, unused_imports))]

#[cfg(all(test, not(feature = "networks")))]
compile_error!("the tests of likewise-nn need its feature `networks`");

pub mod cross;
mod device;
pub mod loss;
pub mod lpf;
pub mod mine;
pub mod model;
pub mod net;
mod onnx;
pub mod sample;
pub mod topic;
pub mod train;

pub use device::{Device, device, networks};
pub use likewise::{Error, ErrorKind, Result};
pub use model::Model;
