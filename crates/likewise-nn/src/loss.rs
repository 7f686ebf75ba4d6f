//! Losses: plain functions on tensors, one per file.

mod confidence_proxy;

pub(crate) use confidence_proxy::l2_normalize;

pub use confidence_proxy::ConfidenceProxy;
