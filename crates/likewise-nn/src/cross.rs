//! Search across modalities by networks: learned by gradients, left behind as plain matrices.
//!
//! | learner | gives | asks for | module |
//! |---|---|---|---|
//! | [`Acmr`] | numbers | labels and pairs | [`acmr`] |
//! | [`DeepGrowBit`] | bits | labels, no pairs | [`growbit`] |
//!
//! What they give is a [`likewise::cross::Model`], one [`Network`](likewise::cross::Network) a modality,
//! which encodes, is saved and opened without this crate.

pub mod acmr;
pub mod growbit;
mod layers;
mod parts;

pub use acmr::{Acmr, Variant};
pub use growbit::{DeepGrowBit, Grown};
