//! What a recipe needs of the build.

use super::{PseudoLabels, Recipe};
use crate::Result;

impl Recipe {
    /// Fails on a recipe by networks in a build without them. Such a recipe can be read,
    /// checked and explained all the same.
    pub fn check_build(&self) -> Result<()> {
        if self.learner.gradient().is_some() {
            likewise_nn::networks("a recipe by gradients")?;
        }
        if let Some(learner) = self.learner.cross().filter(|learner| learner.is_deep()) {
            likewise_nn::networks(learner.name())?;
        }
        match self.pseudo_labels {
            PseudoLabels::Lpf(_) => likewise_nn::networks("label prediction"),
            _ => Ok(()),
        }
    }
}
