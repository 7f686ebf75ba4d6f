//! Trained heads for Likewise.

pub mod error;
pub mod loss;

pub use error::{Error, ErrorKind, Result};
