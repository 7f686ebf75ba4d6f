//! Learning by gradients: heads on features and encoders of images, on burn.
//!
//! [`net`] holds the networks, [`loss`], [`mine`] and [`sample`] what they learn by, and
//! [`train::Gradient`] is the learner that goes round by round. A fitted [`Model`] opens from
//! its own file. Built on burn; [`device`] says where it runs.

mod device;
pub mod loss;
pub mod mine;
pub mod model;
pub mod net;
pub mod sample;
pub mod train;

pub use burn::tensor::Device;
pub use device::device;
pub use likewise::{Error, ErrorKind, Result};
pub use model::Model;
