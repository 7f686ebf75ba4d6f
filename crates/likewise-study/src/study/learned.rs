//! Learning from all labels at hand, without a measurement.

use likewise::{Beliefs, Monitor};
use likewise_nn::Model;
use ndarray::Array2;

use super::believe::Source;
use super::few_labels::no_beliefs;
use super::plan::Plan;
use super::setup::{FIRST_DRAW, START};
use crate::Result;

/// What was learned from all labels at hand; nobody knows what it is worth.
#[derive(Debug, Clone)]
pub struct Learned {
    /// The fitted model.
    pub model: Model,
    /// Beliefs about all items before anything was learned.
    pub beliefs: Beliefs,
    /// Class of each column of `beliefs`.
    pub classes: Vec<String>,
    /// Embeddings of all items by the model.
    pub embeddings: Array2<f32>,
}

impl<'p> Plan<'p> {
    /// Learns from all labels at hand: the model of [`run`](Self::run) by folds, without the rounds
    /// that say what it is worth, which are five sixths of the work. Where they would show that
    /// learning did harm, `run` delivers the start instead; here what was learned stays.
    ///
    /// Where there are no two classes and no tuples it is the start, as in `run`. Fails as `run` does.
    pub fn learn(&'p self, monitor: &Monitor) -> Result<Learned> {
        self.check()?;
        self.recipe.check_build()?;
        if self.recipe.learner.cross().is_some() {
            return Err(self.recipe.only_across());
        }
        let (drawn, mut ground) = self.all_labels(monitor)?;
        let (known, whiten) = (&drawn.known, drawn.whiten);
        let kept = if known.n_classes() < 2 {
            if self.recipe.reads_graph() {
                ground.build_graph(whiten, monitor)?;
            }
            let setup = ground.setup(whiten, START.into(), drawn.seed, &[])?;
            match ground.learn_unmeasured(&setup, known, monitor)? {
                Some(model) => ground.kept_as(model, no_beliefs(known), &drawn)?,
                None => ground.kept_start(&drawn)?,
            }
        } else {
            ground.build_graph(whiten, monitor)?;
            let setup = ground.setup(whiten, FIRST_DRAW.into(), drawn.seed, &[])?;
            let found = ground.find(&setup, known, monitor)?;
            let chosen = ground.choose(&setup, Source::Beliefs, known, Some(&found), monitor)?;
            ground.kept(chosen, found, &drawn)?
        };
        Ok(Learned {
            embeddings: self.embed_all(&kept.model, &ground, monitor)?,
            model: kept.model,
            beliefs: kept.beliefs,
            classes: kept.classes,
        })
    }
}
