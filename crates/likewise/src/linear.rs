//! Linear maps: learned on features as they are.

pub mod affine;
pub mod apit;
pub mod apllr;
pub mod behind;
#[cfg(test)]
pub(crate) mod check_values;
mod classed;
pub(crate) mod constraints;
pub mod dca;
pub mod dml_eig;
mod edges;
mod even;
pub mod gmml;
pub mod isdml;
pub mod itml;
pub mod joined;
pub(crate) mod laplacian;
pub mod lda;
pub mod lmnn;
pub mod logistic;
pub mod lrml;
pub mod mmc;
pub mod nca;
pub(crate) mod nearest;
pub mod oasis;
pub mod pca;
pub(crate) mod propagated;
pub mod rca;
pub(crate) mod scatter;
pub mod seraph;
pub mod spd;
pub mod stiefel;
pub mod synthetic;
mod terms;
pub mod whitening;

pub use affine::Affine;
pub use apit::Apit;
pub use apllr::Apllr;
pub use behind::Behind;
pub use dca::Dca;
pub use dml_eig::DmlEig;
pub use even::{even, even_or, is_uneven, uneven};
pub use gmml::Gmml;
pub use isdml::Isdml;
pub use itml::Itml;
pub use joined::Joined;
pub use lda::Lda;
pub use lmnn::Lmnn;
pub use logistic::Logistic;
pub use lrml::Lrml;
pub use mmc::Mmc;
pub use nca::Nca;
pub use oasis::Oasis;
pub use pca::Pca;
pub use rca::Rca;
pub use seraph::Seraph;
pub use stiefel::{Geometry, Minimum, Objective, Stiefel};
pub use synthetic::Synthetic;
pub use terms::{Linked, Links, PairTerms, directions, roots};

use crate::{Error, Result};

/// Fails unless each of `n` rows has a class and a finite weight of at least 0.
pub(crate) fn check_weighted(n: usize, classes: &[u32], weights: &[f32]) -> Result<()> {
    for (what, found) in [("classes", classes.len()), ("weights", weights.len())] {
        if found != n {
            let message = format!("{n} rows need as many {what}, but there are {found}");
            return Err(Error::data(message));
        }
    }
    match weights.iter().find(|w| !(0.0..f32::INFINITY).contains(*w)) {
        None => Ok(()),
        Some(&wrong) => {
            let rule = "must be finite and at least 0";
            Err(Error::parameter("weight", wrong, rule))
        }
    }
}
