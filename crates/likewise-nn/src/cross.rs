//! Search across modalities by networks: learned by gradients, left behind as plain matrices.
//!
//! | learner | gives | asks for | module |
//! |---|---|---|---|
//! | [`Acmr`] | numbers | labels and pairs | [`acmr`] |
//! | [`DeepGrowBit`] | bits | labels, no pairs | [`growbit`] |
//!
//! [`Learner`] is the list of them and of those of [`likewise::cross`].
//!
//! What they give is a [`likewise::cross::Model`], one [`Network`](likewise::cross::Network) a modality,
//! which encodes, is saved and opened without this crate.

#[cfg(not(feature = "networks"))]
mod absent;
pub mod acmr;
#[cfg(feature = "networks")]
mod adversary;
pub mod growbit;
#[cfg(feature = "networks")]
mod growing;
#[cfg(feature = "networks")]
mod layers;
mod learner;
#[cfg(feature = "networks")]
mod parts;

pub use acmr::{Acmr, Variant};
pub use growbit::{DeepGrowBit, Grown};
pub use learner::{Deep, Learner};
