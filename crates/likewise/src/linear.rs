//! Linear maps: learned on features as they are.

pub mod affine;
mod even;
pub mod lda;
pub mod logistic;
pub mod rca;
pub mod stiefel;
pub mod whitening;

pub use affine::Affine;
pub use even::{even, is_uneven};
pub use lda::Lda;
pub use logistic::Logistic;
pub use rca::Rca;
pub use stiefel::{Geometry, Minimum, Objective, Stiefel};

use crate::{Error, Result};

/// Fails unless each of `n` rows has a class and a finite weight of at least 0.
fn check_weighted(n: usize, classes: &[u32], weights: &[f32]) -> Result<()> {
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
