//! What the methods share: checked labels, parameters, class-mass normalisation, diffusion,
//! negative edges, confidence.

pub mod confidence;
pub(crate) mod counted;
pub(crate) mod decide;
pub mod diffusion;
pub(crate) mod heat;
pub(crate) mod known;
pub mod mass;
pub mod negative;
pub(crate) mod parameter;
pub(crate) mod regroup;
pub(crate) mod scaling;
pub mod sizes;
pub(crate) mod stability;
