//! Search across modalities: a picture finds its texts, a text its pictures.
//!
//! Each learner here gives one [`Encoder`] a modality, all of which lead into one space: of real
//! numbers, compared by cosine, or of bits, compared by the number that differ
//! ([`code`](crate::code)).
//!
//! | learner | gives | asks for | module |
//! |---|---|---|---|
//! | [`Cca`] | numbers | pairs, no labels | [`cca`] |
//! | [`ClusterCca`], [`MeanCca`] | numbers | labels, no pairs | [`cluster_cca`] |
//! | [`Gssl`] | numbers | some labels, and pairs | [`gssl`] |
//! | [`Scm`] | bits | labels | [`scm`] |
//! | [`Gsph`] | bits | labels, no pairs | [`gsph`] |
//! | [`Seph`] | bits | labels | [`seph`] |
//! | [`Lcmf`] | bits | labels, and pairs where there are some | [`lcmf`] |
//! | [`Smfh`] | bits | labels and pairs | [`smfh`] |
//! | [`GrowBit`] | bits | labels, no pairs | [`growbit`] |
//!
//! [`Learner`] is the list of them, [`NamedModel`] what is kept of one.
//!
//! How good a search is, [`eval::map50`](crate::eval::map50) says.

mod canonical;
pub mod cca;
#[cfg(test)]
mod check_values;
pub mod cluster_cca;
mod encoder;
pub mod growbit;
pub mod gsph;
pub mod gssl;
pub mod klr;
pub mod lcmf;
mod learner;
mod named;
mod nearby;
mod network;
mod parts;
pub mod scm;
pub mod seph;
pub mod smfh;
mod views;

pub use cca::{Cca, Correlated, Ridge};
pub use cluster_cca::{ClusterCca, MeanCca};
pub use encoder::{Embedding, Encoder, Kernel, Kind, Model, unified};
pub use growbit::GrowBit;
pub use gsph::Gsph;
pub use gssl::Gssl;
pub use klr::{Anchors, KernelLogistic};
pub use lcmf::Lcmf;
pub use learner::{Learner, Need, OrthogonalScm};
pub use named::{NamedKind, NamedModel, NamedView};
pub use network::Network;
pub use scm::Scm;
pub use seph::Seph;
pub use smfh::Smfh;
pub use views::Views;

use crate::code::Codes;

/// What a hashing learner found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hashed {
    /// An encoder for each modality.
    pub model: Model,
    /// For each modality, the codes that were learned for rows of the training data, which its
    /// encoder imitates; none where the encoders are learned directly.
    pub learned: Vec<Learned>,
}

/// Codes that were learned for rows of one modality.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    /// Rows of the training data, ascending.
    pub rows: Vec<usize>,
    /// The code of each of them.
    pub codes: Codes,
}
