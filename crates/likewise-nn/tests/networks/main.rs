//! Losses and networks, as other crates see them.

#[cfg(any(feature = "vulkan", feature = "cuda"))]
mod card;
mod encoders;
mod loss;
mod lpf;
