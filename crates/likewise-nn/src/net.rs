//! Networks.

mod head;

pub(crate) use head::ResidualNet;
pub use head::{Head, HeadConfig, Residual};
