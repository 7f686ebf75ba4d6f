//! The seat of a learner: evidence in, a model out.
//!
//! ```text
//! evidence  ->  learner  ->  model
//! ```
//!
//! [`Evidence`] is all that is known of the items for one round of learning. A learner in closed
//! form, or in one call, is a [`Fit`]; one that goes on from where it stands, round by round, is
//! a [`Learn`]. Who runs the rounds (`likewise-study`) scores models, keeps the best and decides
//! when to stop: a learner knows nothing of that.

mod closed;

use std::sync::OnceLock;

use ndarray::{Array2, ArrayView2};

pub use closed::Closed;

use crate::arrays::Arrays;
use crate::images::Images;
use crate::linear::Affine;
use crate::matrix::{Reading, l2_normalize, select_rows};
use crate::model::Model;
use crate::{Error, Graph, Monitor, Pairs, Result, Triplets};

/// What a round learns: a class and a weight for every fitted item, and triplets where there
/// are explicit ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Targets {
    /// Label or pseudo-label of each item, any number where the weight is 0.
    pub class: Vec<u32>,
    /// How much each item counts: 1 for a label, at least 0, and 0 as if it were absent.
    pub weight: Vec<f32>,
    /// Whether the label of an item is known.
    pub labeled: Vec<bool>,
    /// How often a round goes through the items; 0: as often as one on known labels alone.
    pub passes: usize,
    /// Losses of pairs and triplets take these in place of classes.
    pub triplets: Option<Triplets>,
}

/// The coordinates that learning starts from; no label was needed to find them.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// How features are read before all else.
    pub reading: Reading,
    /// Whether columns are divided by their standard deviations; absent: where they are
    /// [uneven](crate::linear::is_uneven). For a learner that reads features past the whitening.
    pub standardized: Option<bool>,
    /// Centred and whitened, of the directions that vary most.
    pub whitening: Affine,
    /// The same directions, centred only: for a learner that weighs them itself.
    pub rotation: Affine,
}

impl Start {
    /// Unit rows of whitened features (`n x d`).
    pub fn rows(&self, features: Array2<f32>) -> Result<Array2<f32>> {
        let read = self.reading.rows(features);
        Ok(l2_normalize(self.whitening.transform(read.view())?))
    }

    /// Features (`n x d`) along its directions, centred only.
    pub fn rotated(&self, features: Array2<f32>) -> Result<Array2<f32>> {
        let read = self.reading.rows(features);
        self.rotation.transform(read.view())
    }

    /// The start itself, as a model.
    pub fn model(&self) -> Model {
        Model::linear(self.reading, self.whitening.clone())
    }
}

/// All that is known of the items for one round of learning.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// Features of all items of the collection, one a row.
    pub features: ArrayView2<'a, f32>,
    /// Images of all items of the collection, for a learner that reads them.
    pub images: Option<&'a dyn Images>,
    /// The fitted items, by their places in the collection. What follows is in their order.
    pub items: &'a [usize],
    /// The coordinates that learning starts from.
    pub start: &'a Start,
    /// Unit rows of the start.
    pub rows: ArrayView2<'a, f32>,
    /// The features along the directions of the start, once a learner has asked for them.
    pub rotated: &'a OnceLock<Array2<f32>>,
    /// What is to be learned.
    pub targets: &'a Targets,
    /// Super-class of each class; as many as there are classes.
    pub groups: &'a [u32],
    /// Pairs of fitted items that were given: alike, or unlike.
    pub pairs: Option<&'a Pairs>,
    /// Which items are alike.
    pub graph: Option<&'a Graph>,
}

impl Evidence<'_> {
    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.groups.len()
    }

    /// Features of the fitted items along the directions of the start, centred only. Computed
    /// once for all rounds.
    pub fn rotated(&self) -> Result<ArrayView2<'_, f32>> {
        if let Some(rows) = self.rotated.get() {
            return Ok(rows.view());
        }
        let fitted = select_rows(self.features, self.items);
        let rows = self.start.rotated(fitted)?;
        Ok(self.rotated.get_or_init(|| rows).view())
    }

    /// The given pairs, where some of them are alike.
    pub fn alike_pairs(&self) -> Option<&Pairs> {
        self.pairs
            .filter(|pairs| pairs.iter().any(|(_, _, alike, w)| alike && w > 0.0))
    }

    /// Fails where a learner `needs` what is not there.
    pub fn check(&self, needs: &[Need]) -> Result<()> {
        let classes = self.targets.weight.iter().any(|&w| w > 0.0);
        for need in needs {
            let (there, what) = match need {
                Need::Classes => (classes, "items of a known class"),
                Need::Alike => (
                    classes || self.alike_pairs().is_some(),
                    "items of a known class, or alike pairs",
                ),
                Need::Pairs => (self.pairs.is_some_and(|p| !p.is_empty()), "pairs"),
                Need::Triplets => (self.targets.triplets.is_some(), "triplets"),
                Need::Graph => (self.graph.is_some(), "a graph of the items"),
                Need::Images => (self.images.is_some(), "images"),
            };
            if !there {
                let message = format!("the learner needs {what}, and there are none");
                return Err(Error::data(message));
            }
        }
        Ok(())
    }
}

/// Something that a learner cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A class for some of the items.
    Classes,
    /// Items known to be alike: by their class, or as given pairs.
    Alike,
    /// Given pairs, alike or unlike.
    Pairs,
    /// Explicit triplets.
    Triplets,
    /// A graph of all fitted items.
    Graph,
    /// The images themselves.
    Images,
}

/// A learner in closed form, or in one call.
pub trait Fit {
    /// What it cannot do without.
    fn needs(&self) -> &'static [Need];

    /// Fails on a parameter out of its range.
    fn validate(&self) -> Result<()>;

    /// The model that the evidence gives.
    ///
    /// Fails on evidence that it cannot use, and when cancelled.
    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model>;
}

/// What a round has done.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Round {
    /// Mean loss of its steps, where there is a loss.
    pub loss: Option<f64>,
}

/// What a learning begins as.
#[derive(Debug, Clone, PartialEq)]
pub enum First<M> {
    /// The [`Start`], and no model of its own.
    Start,
    /// A model of its own that gives the rows of the [`Start`].
    LikeStart(M),
    /// A model that gives other rows: a network that has learned before.
    Own(M),
}

/// A learner that goes on from where it stands, round by round.
pub trait Learn {
    /// What it gives.
    type Model;

    /// What it cannot do without.
    fn needs(&self) -> &'static [Need];

    /// What a learning from this evidence and seed begins as.
    fn first(&self, evidence: &Evidence, seed: u64) -> Result<First<Self::Model>>;

    /// Starts; random steps depend on `seed` and the number of the round alone, so that a
    /// learning that is resumed repeats an undisturbed one.
    fn begin<'a>(
        &'a self,
        evidence: &Evidence,
        seed: u64,
    ) -> Result<Box<dyn Learning<Model = Self::Model> + 'a>>;
}

/// A learning on its way.
pub trait Learning {
    /// What it gives.
    type Model;

    /// Learns round number `round` (from 1).
    ///
    /// Fails where the numbers get out of hand, and when cancelled.
    fn round(&mut self, round: usize, evidence: &Evidence, monitor: &Monitor) -> Result<Round>;

    /// The model as it stands.
    fn model(&self, evidence: &Evidence) -> Result<Self::Model>;

    /// Everything that the next round depends on and the model alone does not tell.
    fn save(&self) -> Result<Arrays>;

    /// Goes back to where [`save`](Self::save) was called, when `model` was the model.
    ///
    /// Fails on arrays of another learner, and then has changed nothing.
    fn resume(&mut self, saved: &Arrays, model: &Self::Model) -> Result<()>;
}
