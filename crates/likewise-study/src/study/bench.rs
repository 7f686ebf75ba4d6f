//! One split, on which many recipes are measured.

use likewise::eval::summary::Run;
use likewise::{Monitor, matrix};

use super::draw::Measured;
use super::ground::Ground;
use super::plan::Plan;
use crate::Result;
use crate::recipe::Recipe;

/// One split of a collection, on which recipes are measured one by one, without the rows of a
/// [`Study`](super::Study) that stand beside a single recipe.
///
/// Recipes share the spectrum of the features and the graphs that they agree on.
pub struct Bench<'p>(Ground<'p>);

impl<'p> Plan<'p> {
    /// The bench of this plan; its recipe is the first one.
    pub fn bench(&'p self) -> Result<Bench<'p>> {
        let (labels, parts) = self.divide()?;
        Ok(Bench(self.ground(labels, &parts)?))
    }
}

impl<'p> Bench<'p> {
    /// How the features do as they are.
    pub fn raw(&self, monitor: &Monitor) -> Result<Run> {
        let raw = matrix::l2_normalize(self.0.tested.clone());
        self.0.plan.ask(&self.0, &raw.into(), monitor)
    }

    /// How the whitened features do, with a shrinkage that no label chooses.
    ///
    /// As the plan's recipe reads them, whichever ran last.
    pub fn whitened(&mut self, monitor: &Monitor) -> Result<Run> {
        self.choose(self.0.plan.recipe)?;
        self.0.ask_whitened(monitor)
    }

    /// How a recipe does in draw number `draw`, and what happened.
    pub fn run(&mut self, recipe: &'p Recipe, draw: u64, monitor: &Monitor) -> Result<Measured> {
        recipe.validate()?;
        self.0.plan.check_several(recipe)?;
        self.choose(recipe)?;
        self.0.measure(draw, monitor)
    }

    fn choose(&mut self, recipe: &'p Recipe) -> Result<()> {
        self.0.images = self.0.plan.images(recipe)?;
        self.0.read_as(recipe)
    }

    /// Items to fit on, to validate, to ask and to search.
    pub fn sizes(&self) -> [usize; 4] {
        let ground = &self.0;
        let parts = [
            &ground.train,
            &ground.validation,
            &ground.queries,
            &ground.gallery,
        ];
        parts.map(Vec::len)
    }
}
