//! Networks.

mod head;
mod saved;

pub use head::{Head, HeadConfig, Residual};
pub(crate) use head::{ResidualNet, parameter};
