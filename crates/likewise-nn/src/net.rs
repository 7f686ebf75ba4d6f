//! Networks.

mod head;
mod saved;

pub(crate) use head::ResidualNet;
pub use head::{Head, HeadConfig, Residual};
