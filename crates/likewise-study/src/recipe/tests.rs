//! What a recipe may say: the tests of each of its modules, and what they share.

mod idle;
mod learner;
mod presets;
mod pseudo_labels;
mod start;
mod written;

use super::*;

pub(super) fn gradient(recipe: &Recipe) -> &GradientConfig {
    recipe.learner.gradient().unwrap()
}
