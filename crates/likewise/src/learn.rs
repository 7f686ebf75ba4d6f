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
mod varying;

use std::borrow::Cow;
use std::sync::OnceLock;

use ndarray::{Array1, Array2, ArrayView2};

pub use closed::Closed;
pub(crate) use varying::Varying;

use crate::arrays::Arrays;
use crate::images::Images;
use crate::linear::Affine;
use crate::linear::whitening::Spectrum;
use crate::matrix::{Reading, l2_normalize, select_rows};
use crate::model::{Bilinear, Form, LearnedMetric, Model};
use crate::tuple::draw::Classes;
use crate::{Columns, Error, Graph, Monitor, Pairs, Result, Tags, Triplets};

/// About as many pairs are drawn from classes.
const PAIRS: usize = 20_000;

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
    /// The round from which on these are the classes, where a source makes others from time to time:
    /// what was learned of each class, such as its proxy, begins anew in it. 0: they never change.
    pub since: usize,
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
    /// Whether these are the features as they are, so that both maps change nothing: the start is
    /// then their Euclidean distance.
    pub as_given: bool,
}

impl Start {
    /// The features of `columns` columns as they are.
    pub fn as_given(columns: usize) -> Self {
        let unchanged = || Affine {
            mean: Array1::zeros(columns),
            matrix: Array2::eye(columns),
        };
        Self {
            reading: Reading::default(),
            standardized: Some(false),
            whitening: unchanged(),
            rotation: unchanged(),
            as_given: true,
        }
    }

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

    /// Features (`n x d`) as a metric is learned on them: as they are, or whitened.
    pub fn coordinates(&self, features: Array2<f32>) -> Result<Array2<f32>> {
        if self.as_given {
            return Ok(features);
        }
        let read = self.reading.rows(features);
        self.whitening.transform(read.view())
    }

    /// The start itself, as a model.
    pub fn model(&self) -> Result<Model> {
        if self.as_given {
            return self.transform(Array2::eye(self.whitening.mean.len()));
        }
        Ok(Model::linear(self.reading, self.whitening.clone()))
    }

    /// The model of a metric `M` (`r x r`) that was learned on its
    /// [`coordinates`](Self::coordinates), as one of the features (`d x d`).
    pub fn metric(&self, m: Array2<f64>) -> Result<Model> {
        let m = if self.as_given {
            m
        } else {
            let of = &self.whitening.matrix;
            of.dot(&m).dot(&of.t())
        };
        self.learned(Form::Mahalanobis(m))
    }

    /// As [`metric`](Self::metric), of a map `L` (`k x r`).
    pub fn transform(&self, l: Array2<f64>) -> Result<Model> {
        let l = if self.as_given {
            l
        } else {
            l.dot(&self.whitening.matrix.t())
        };
        self.learned(Form::Transform(l))
    }

    /// As [`metric`](Self::metric), of a bilinear form `W` (`r x r`).
    pub fn bilinear(&self, w: Array2<f64>) -> Result<Model> {
        let w = if self.as_given {
            w
        } else {
            let of = &self.whitening.matrix;
            of.dot(&w).dot(&of.t())
        };
        let mean = self.whitening.mean.clone();
        Ok(Model::Bilinear(Bilinear::new(self.reading, mean, w)?))
    }

    fn learned(&self, form: Form) -> Result<Model> {
        let mean = self.whitening.mean.clone();
        Ok(Model::Metric(LearnedMetric::new(self.reading, mean, form)?))
    }
}

/// All that is known of the items for one round of learning.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// Features of all items of the collection, one a row.
    pub features: ArrayView2<'a, f32>,
    /// The views that stand side by side in the features, where they are of several.
    pub views: &'a [Columns],
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
    /// The directions of scaled columns, once a learner has asked for them.
    pub scaled: &'a OnceLock<Affine>,
    /// What is to be learned.
    pub targets: &'a Targets,
    /// Super-class of each class; as many as there are classes.
    pub groups: &'a [u32],
    /// The tags of each class, where items have several labels and a class is a set of them. A learner
    /// that does not know of these sees sets that share nothing.
    pub tags: Option<&'a Tags>,
    /// Pairs of fitted items that were given: alike, or unlike.
    pub pairs: Option<&'a Pairs>,
    /// Which items are alike.
    pub graph: Option<&'a Graph>,
    /// A model that has learned before, and from how many of the triplets, the first ones: a learner
    /// that goes on from it learns the others alone. It is there only where that gives what all of
    /// them would give.
    pub before: Option<(&'a Model, usize)>,
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

    /// The directions of the columns of the fitted items, as `reading` reads them, each by its standard deviation, as many
    /// as the start has. Found once, for all that learns from these items by one recipe.
    pub(crate) fn scaled_directions(&self, reading: Reading) -> Result<&Affine> {
        if let Some(directions) = self.scaled.get() {
            return Ok(directions);
        }
        let rows = reading.rows(select_rows(self.features, self.items));
        let (spectrum, _) = Spectrum::fit_sound(rows.view(), true)?;
        let directions = spectrum.truncated(f64::INFINITY, self.start.rotation.matrix.ncols())?;
        Ok(self.scaled.get_or_init(|| directions))
    }

    /// The fitted items as a metric is learned on them: [`Start::coordinates`].
    pub fn coordinates(&self) -> Result<Array2<f32>> {
        self.start
            .coordinates(select_rows(self.features, self.items))
    }

    /// The pairs to learn from: those that were given; else of each item of a class some that are
    /// alike and some that are not, about 20,000 in all (of 100 items every pair), which count by the
    /// weights of both.
    ///
    /// Fails when cancelled.
    pub fn compared(&self, seed: u64, monitor: &Monitor) -> Result<Cow<'_, Pairs>> {
        if let Some(pairs) = self.pairs.filter(|pairs| !pairs.is_empty()) {
            return Ok(Cow::Borrowed(pairs));
        }
        let targets = self.targets;
        let of = |item: usize| {
            let weight = targets.weight[item];
            (weight > 0.0).then_some((targets.class[item], weight))
        };
        let counted = targets.weight.iter().filter(|&&w| w > 0.0).count();
        let per_item = (PAIRS / 2 / counted.max(1)).max(1);
        let classes = Classes::new(targets.weight.len(), of);
        Ok(Cow::Owned(classes.pairs(per_item, seed, monitor)?))
    }

    /// The [`coordinates`](Self::coordinates) that vary, and a warning of others.
    pub(crate) fn varying(&self, monitor: &Monitor) -> Result<Varying<'static>> {
        Ok(Varying::of(self.coordinates()?, monitor))
    }

    /// The model of a metric `M` that `learn` finds on the [`coordinates`](Self::coordinates) of the
    /// fitted items that vary, by the pairs that are [`compared`](Self::compared).
    pub(crate) fn metric_of_pairs(
        &self,
        seed: u64,
        monitor: &Monitor,
        learn: impl FnOnce(ArrayView2<f32>, &Pairs) -> Result<Array2<f64>>,
    ) -> Result<Model> {
        let pairs = self.compared(seed, monitor)?;
        let varying = self.varying(monitor)?;
        let learned = learn(varying.rows(), &pairs)?;
        self.start.metric(varying.metric(learned))
    }

    /// The model of a map `L` that `learn` finds on the [`coordinates`](Self::coordinates) that vary, by the
    /// class and the weight of each.
    pub(crate) fn map_of_classes(
        &self,
        monitor: &Monitor,
        learn: impl FnOnce(ArrayView2<f32>, &[u32], &[f32]) -> Result<Array2<f64>>,
    ) -> Result<Model> {
        let varying = self.varying(monitor)?;
        let Targets { class, weight, .. } = self.targets;
        let learned = learn(varying.rows(), class, weight)?;
        self.start.transform(varying.map(learned))
    }

    /// The given pairs, where some of them are alike.
    pub fn alike_pairs(&self) -> Option<&Pairs> {
        self.pairs
            .filter(|pairs| pairs.iter().any(|(_, _, alike, w)| alike && w > 0.0))
    }

    /// Fails where its parts are of different items, and where one names an item that there is not: learners take
    /// both for granted.
    fn check_sizes(&self) -> Result<()> {
        let (items, all) = (self.items.len(), self.features.nrows());
        let targets = self.targets;
        let counted = [
            ("classes", targets.class.len()),
            ("weights", targets.weight.len()),
            ("known labels", targets.labeled.len()),
            ("rows of the start", self.rows.nrows()),
            ("nodes of the graph", self.graph.map_or(items, Graph::n)),
        ];
        if let Some((what, count)) = counted.iter().find(|(_, count)| *count != items) {
            let message = format!("{count} {what}, but {items} items are fitted");
            return Err(Error::data(message));
        }
        let beyond = |what: &str, number: usize, most: usize| {
            Err(Error::data(format!("{what} {number}: there are {most}")))
        };
        // With images these are numbers of images, of which an item may have several.
        let beyond_all = |item: &&usize| self.images.is_none() && **item >= all;
        if let Some(&item) = self.items.iter().find(beyond_all) {
            return beyond("item", item, all);
        }
        let classes = self.classes();
        let counts = targets.class.iter().zip(&targets.weight);
        let unknown = |&(class, weight): &(&u32, &f32)| *weight > 0.0 && *class as usize >= classes;
        if let Some((&class, _)) = counts.into_iter().find(unknown) {
            return beyond("class", class as usize, classes);
        }
        let pairs = self.pairs.into_iter().flat_map(Pairs::iter);
        let pairs = pairs.flat_map(|(a, b, ..)| [a, b]);
        let triplets = targets.triplets.iter().flat_map(Triplets::iter);
        let triplets = triplets.flat_map(|(a, p, n, _)| [a, p, n]);
        match pairs.chain(triplets).find(|&place| place as usize >= items) {
            Some(place) => beyond("fitted item", place as usize, items),
            None => Ok(()),
        }
    }

    /// Fails where a learner `needs` what is not there, and where the parts of the evidence do not fit together.
    pub fn check(&self, needs: &[Need]) -> Result<()> {
        self.check_sizes()?;
        let classes = self.targets.weight.iter().any(|&w| w > 0.0);
        for need in needs {
            let (there, what) = match need {
                Need::Classes => (classes, "items of a known class"),
                Need::Alike => (
                    classes || self.alike_pairs().is_some(),
                    "items of a known class, or alike pairs",
                ),
                Need::Compared => (
                    classes || self.pairs.is_some_and(|p| !p.is_empty()),
                    "items of a known class, or pairs",
                ),
                Need::Pairs => (self.pairs.is_some_and(|p| !p.is_empty()), "pairs"),
                Need::Ranked => (
                    classes || self.targets.triplets.is_some(),
                    "items of a known class, or triplets",
                ),
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
    /// Items known to be alike or unlike: by their classes, or as given pairs.
    Compared,
    /// Given pairs, alike or unlike.
    Pairs,
    /// Items known to be more alike than others: by their classes, or as given triplets.
    Ranked,
    /// Explicit triplets.
    Triplets,
    /// A graph of all fitted items.
    Graph,
    /// The images themselves.
    Images,
}

impl Need {
    /// Whether classes of items give it.
    pub fn is_met_by_classes(&self) -> bool {
        match self {
            Self::Classes | Self::Alike | Self::Compared | Self::Ranked => true,
            Self::Pairs | Self::Triplets | Self::Graph | Self::Images => false,
        }
    }

    /// Whether the items give it themselves, so that no person has to say anything.
    pub fn is_met_by_items(&self) -> bool {
        match self {
            Self::Graph | Self::Images => true,
            Self::Classes
            | Self::Alike
            | Self::Compared
            | Self::Pairs
            | Self::Ranked
            | Self::Triplets => false,
        }
    }
}

/// What of a [`Start`] a learner looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Maybe all of it.
    All,
    /// Its centred directions; what they are whitened by does not matter.
    Directions,
    /// How features are read and scaled, and nothing else.
    Features,
}

impl Size {
    /// Pairs that are made of classes, about.
    pub(crate) fn pairs(&self) -> f64 {
        (PAIRS as f64).min(self.labeled * self.labeled)
    }
}

/// How large a fit is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    /// Items that are fitted.
    pub items: f64,
    /// Those that have a class, which somebody has said or that is believed.
    pub labeled: f64,
    /// Views, of which some learners see each apart.
    pub views: f64,
    /// Columns of their features.
    pub columns: f64,
    /// Directions of the [`Start`].
    pub directions: f64,
    /// Classes.
    pub classes: f64,
}

/// A learner in closed form, or in one call.
pub trait Fit {
    /// What it cannot do without.
    fn needs(&self) -> &'static [Need];

    /// Whether of features as they are it makes a distance, a [`Model::Metric`]: a nearest neighbour by
    /// what was learned asks for one.
    fn gives_distance(&self) -> bool;

    /// What of the start it looks at: a setting of the rest would change nothing.
    fn reads(&self) -> Reads {
        Reads::All
    }

    /// Operations of one fit, about: where nothing else is said, those of a covariance along the
    /// directions of the start and of its decomposition.
    fn operations(&self, of: &Size) -> f64 {
        let along = of.directions;
        2.0 * of.items * along * along + 30.0 * along.powi(3)
    }

    /// Bytes that one fit takes besides the rows, about.
    fn memory(&self, of: &Size) -> f64 {
        16.0 * of.directions * of.directions
    }

    /// Whether it sees several views apart, each by its columns and as it is. All others see them
    /// side by side, of length 1 each.
    fn sees_views(&self) -> bool {
        false
    }

    /// Whether it goes on from a model that has learned [before](Evidence::before).
    fn goes_on(&self) -> bool {
        false
    }

    /// Fails on a parameter out of its range.
    fn validate(&self) -> Result<()>;

    /// The model that the evidence gives.
    ///
    /// Fails on evidence that it cannot use, and when cancelled.
    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model>;

    /// A learning that goes on from where it stands, round by round; `None`, as here: every round is a
    /// [`fit`](Self::fit) anew. One by rounds is asked for its model after each, so that validation may keep an
    /// earlier one; its `fit` is for who wants all of them at once. Nothing is looked at before the first round.
    fn rounds<'a>(&'a self, _seed: u64) -> Option<Box<dyn Learning<Model = Model> + 'a>> {
        None
    }
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
