//! Losses and networks, as other crates see them.

mod encoders;
mod loss;
mod lpf;
#[cfg(feature = "vulkan")]
mod vulkan;
