//! Losses and networks, as other crates see them.

mod encoders;
mod loss;
#[cfg(feature = "vulkan")]
mod vulkan;
