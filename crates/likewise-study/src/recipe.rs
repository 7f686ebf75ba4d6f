//! Recipes: all choices of a run, in one value that can be written down.
//!
//! ```text
//! start  ->  pseudo-labels  ->  learner  ->  rounds
//! ```

mod build;
mod learner;
mod limits;
mod outside;
mod preset;
mod printed;
mod pseudo_labels;
mod rounds;
mod start;
mod written;

use likewise::cross;
use likewise::learn::{Closed, Fit as _, Need, Reads};
use likewise::linear::Behind;
use likewise_nn::net::EncoderConfig;
use serde::{Deserialize, Serialize};

pub use self::learner::{
    GradientConfig, Learner, Linear, Mlp, ModelConfig, NetworkConfig, Orthogonal, Pretraining,
};
pub use self::outside::{Refusing, Unlike};
pub(crate) use self::preset::Preset;
pub use self::preset::Traits;
pub use self::pseudo_labels::{
    Affinity, Clusters, Confidence, InClusters, On, Oracle, Prediction, Propagation, PseudoLabels,
    Voting,
};
pub(crate) use self::pseudo_labels::{TURNS, most_neighbors};
pub use self::rounds::{Keep, RoundsConfig};
pub use self::start::StartConfig;
pub(crate) use self::start::{PLAIN_SHRINKAGE, ROOT, keeps_all};
pub(crate) use self::written::in_list;
use crate::{Error, Result, usage};

/// All choices of a run.
///
/// What a recipe leaves out is as in `mixed-lp`, with the settings that won on real data; `mixed-lp-paper` is the
/// same method with the printed values. Every source of pseudo-labels goes with every learner, and with every loss
/// of one by gradients.
///
/// ```
/// use likewise_study::Recipe;
/// let recipe = Recipe::named("mixed-lp")?;
/// assert!(recipe.validate().is_ok());
/// assert!(Recipe::named("nosuch").is_err());
/// # Ok::<(), likewise_study::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recipe {
    /// Name of the recipe.
    pub name: String,
    /// What the features become before anything learns.
    pub start: StartConfig,
    /// Where the classes of unlabeled items come from.
    pub pseudo_labels: PseudoLabels,
    /// What learns.
    pub learner: Learner,
    /// How many rounds it learns, and which one is kept.
    pub rounds: RoundsConfig,
}

impl Recipe {
    /// Whether the recipe learns from the hidden labels: what it measures is then a bound, not a
    /// result, and tables must say so.
    pub fn is_bound(&self) -> bool {
        matches!(self.pseudo_labels, PseudoLabels::Oracle(_)) && self.learns_from_classes()
    }

    /// Whether several views are seen apart, each by its columns and as it is; else they stand side
    /// by side, of length 1 each.
    pub fn sees_views(&self) -> bool {
        matches!(&self.learner, Learner::Closed(learner) if learner.sees_views())
            && self.start.as_given
    }

    /// The encoder that is trained on images, if there is one.
    pub fn encoder(&self) -> Option<&EncoderConfig> {
        Some(&self.learner.network()?.encoder)
    }

    /// As [`encoder`](Self::encoder), to be changed.
    pub fn encoder_mut(&mut self) -> Option<&mut EncoderConfig> {
        match &mut self.learner.gradient_mut()?.model {
            ModelConfig::Network(network) => Some(&mut network.encoder),
            _ => None,
        }
    }

    /// The same for images that are read in another way than usual, where a network reads them: by the side of
    /// its square, and whether the whole image is squeezed into it.
    ///
    /// Fails on a side beside one of its own, and on one that the network cannot read.
    pub fn see_images(&mut self, side: Option<usize>, squeeze: bool) -> Result<()> {
        let Some(encoder) = self.encoder_mut() else {
            return Ok(());
        };
        encoder.squeeze |= squeeze;
        if let (Some(asked), Some(own)) = (side, encoder.side)
            && asked != own
        {
            return Err(usage(format!(
                "side {asked}, but {own} is the side of the recipe's encoder; give one of them"
            )));
        }
        encoder.side = side.or(encoder.side);
        self.validate()
    }

    /// How the beliefs of a run on so many items spread: as the recipe says or, where it spreads no
    /// labels, as in `mixed-lp`.
    pub(crate) fn spreading(&self, items: usize) -> Propagation {
        match self.pseudo_labels.propagation() {
            Some(own) => own.clone(),
            None => Propagation::among(items),
        }
    }

    /// Whether it learns where no item has a label.
    pub fn needs_no_label(&self) -> bool {
        match &self.learner {
            Learner::Cross(_) => false,
            _ => self.looks_at_items_alone() || self.pseudo_labels.needs_no_label(),
        }
    }

    /// Whether classes of items teach it anything: only then is there a row of the labels alone, and one of all
    /// labels. A learner of given pairs or triplets alone, of a graph alone or of nothing has neither.
    pub(crate) fn learns_from_classes(&self) -> bool {
        match &self.learner {
            Learner::Closed(learner) => learner.needs().iter().any(Need::is_met_by_classes),
            Learner::Gradient(_) | Learner::Cross(_) => true,
        }
    }

    /// Whether its learner looks at the items alone, whatever classes a source may give them.
    pub(crate) fn looks_at_items_alone(&self) -> bool {
        let items = |needs: &[Need]| needs.iter().all(Need::is_met_by_items);
        matches!(&self.learner, Learner::Closed(learner) if items(learner.needs()))
    }

    /// Whether it learns from the items alone: labels say how many classes there are at most, and measure what was
    /// learned.
    pub(crate) fn learns_from_items_alone(&self) -> bool {
        match &self.learner {
            Learner::Closed(_) => self.looks_at_items_alone() || self.pseudo_labels.ignore_labels(),
            Learner::Gradient(gradient) => {
                let pretrains = (self.learner.network()).is_some_and(|n| n.pretraining.is_some());
                self.pseudo_labels.ignore_labels() && !pretrains && !gradient.loss.links_labels()
            }
            Learner::Cross(_) => false,
        }
    }

    /// Labels of one class that it takes at least to learn from: two where triplets are drawn of labels.
    pub(crate) fn fewest_labels_of_a_class(&self) -> usize {
        let of_labels =
            self.pseudo_labels == PseudoLabels::None || self.pseudo_labels.makes_triplets();
        match &self.learner {
            Learner::Closed(learner) if learner.needs().contains(&Need::Ranked) && of_labels => 2,
            _ => 1,
        }
    }

    /// Whether its learner reads the graph of the items.
    pub(crate) fn reads_graph(&self) -> bool {
        match &self.learner {
            Learner::Closed(learner) => learner.needs().contains(&Need::Graph),
            Learner::Gradient(_) | Learner::Cross(_) => false,
        }
    }

    /// Sets the neighbours of an item. Fails where the recipe asks for none.
    pub fn set_neighbors(&mut self, k: usize) -> Result<()> {
        match &mut self.pseudo_labels {
            PseudoLabels::Propagation(propagation) => {
                propagation.graph = propagation.graph.clone().k(k);
            }
            PseudoLabels::Affinity(affinity) => affinity.k = k,
            PseudoLabels::None
            | PseudoLabels::Lpf(_)
            | PseudoLabels::Clusters(_)
            | PseudoLabels::Instances
            | PseudoLabels::Rotations
            | PseudoLabels::Oracle(_)
            | PseudoLabels::Votes(_) => {
                let kind = self.pseudo_labels.kind();
                let rule = format!(
                    "the recipe {} has no neighbours (pseudo_labels.kind = \"{kind}\"); leave it out",
                    self.name
                );
                return Err(Error::parameter("k", k, &rule));
            }
        }
        Ok(())
    }

    /// This recipe with no more neighbours than make sense among so many items.
    #[must_use]
    pub fn fitting(mut self, items: usize) -> Self {
        let most = most_neighbors(items);
        match &mut self.pseudo_labels {
            PseudoLabels::Propagation(propagation) if propagation.graph.n_neighbors() > most => {
                propagation.graph = propagation.graph.clone().k(most);
            }
            _ => {}
        }
        self
    }

    /// What the recipe cannot do on so many directions of the start, if there is something: an
    /// orthonormal map that keeps them all turns them and changes no cosine.
    pub fn idle(&self, start: usize) -> Option<String> {
        let ModelConfig::Orthogonal(Orthogonal { dim, .. }) = self.learner.gradient()?.model else {
            return None;
        };
        (dim >= start).then(|| {
            format!(
                "learner.model.dim = {dim}, but the start has {start} columns: an orthonormal map \
                 only turns them, so nothing can be learned; set it below {start}"
            )
        })
    }

    /// Settings that change nothing beside the others, and why.
    pub(crate) fn idle_settings(&self) -> Vec<(String, &'static str)> {
        let mut idle = self.idle_of_learner();
        if self.rounds.epochs == 0 && self.learner.network().is_none() {
            let why = "with rounds.epochs = 0 nothing is learned";
            let of_learner: &[_] = match &self.learner {
                Learner::Closed(_) | Learner::Cross(_) => &["learner"],
                Learner::Gradient(_) => &[
                    "learner.loss",
                    "learner.sampler",
                    "learner.miner",
                    "learner.train",
                ],
            };
            let of_rounds = ["rounds.keep", "rounds.folds"];
            idle.extend(of_learner.iter().chain(&of_rounds).map(|path| (*path, why)));
        }
        if self.rounds.keep == Keep::Last {
            let why = "with rounds.keep = \"last\" no epoch is chosen";
            idle.push(("rounds.folds", why));
        }
        // How labels spread says the beliefs of a run, and is the graph of a learner that reads one.
        let spreads_or_none = matches!(
            self.pseudo_labels,
            PseudoLabels::None | PseudoLabels::Propagation(_)
        );
        if self.looks_at_items_alone() && !spreads_or_none {
            let why = "the learner looks at the items alone, and learns no class";
            idle.push(("pseudo_labels", why));
        }
        if let PseudoLabels::Clusters(clusters) = &self.pseudo_labels {
            if clusters.on == On::Start {
                let why = "the start is clustered once";
                idle.push(("pseudo_labels.every", why));
            }
            if clusters.clusters.is_some() {
                let why = "the number of clusters is given";
                idle.push(("pseudo_labels.per_class", why));
            }
        }
        let mut idle: Vec<(String, &str)> =
            (idle.into_iter().map(|(path, why)| (path.to_owned(), why))).collect();
        // Of epochs on the labels alone it makes triplets of their classes.
        let given = self.takes_made_triplets() && self.pseudo_labels.labeled_epochs() == 0;
        idle.extend(self.idle_parameters(given));
        if let Some(propagation) = self.pseudo_labels.propagation() {
            let why = propagation.no_fusion();
            idle.extend(why.map(|why| ("pseudo_labels.fuse".to_owned(), why)));
            // A recipe searches for negative edges; none are given.
            let of_spread = |(name, why)| (format!("pseudo_labels.spread.{name}"), why);
            idle.extend(propagation.spread.idle(false).into_iter().map(of_spread));
        }
        idle
    }

    /// Whether a learner in closed form takes the triplets that the pseudo-labels make.
    fn takes_made_triplets(&self) -> bool {
        let ranks = |learner: &Closed| learner.needs().contains(&Need::Ranked);
        matches!(&self.learner, Learner::Closed(learner) if ranks(learner))
            && self.pseudo_labels.makes_triplets()
    }

    /// Parameters of a learner that change nothing beside its others, or where the triplets are `given`.
    fn idle_parameters(&self, given: bool) -> Vec<(String, &'static str)> {
        let (path, idle) = match &self.learner {
            Learner::Closed(Closed::Oasis(oasis)) => ("learner", oasis.idle(given)),
            Learner::Closed(Closed::OmksLearner(omks)) => ("learner", omks.idle(given)),
            Learner::Closed(Closed::ExplicitOmksLearner(omks)) => ("learner", omks.idle(given)),
            Learner::Closed(Closed::Itml(itml)) => ("learner", itml.idle()),
            Learner::Closed(Closed::Apit(apit)) => ("learner.prior", apit.idle_of_prior()),
            Learner::Gradient(gradient) => match gradient.metric.map(|metric| metric.learner) {
                Some(Behind::Apit(apit)) => ("learner.metric.prior", apit.idle_of_prior()),
                Some(_) => return Vec::new(),
                None => {
                    let idle = gradient.loss.idle().into_iter();
                    return idle
                        .map(|(name, why)| (format!("learner.loss.{name}"), why))
                        .collect();
                }
            },
            _ => return Vec::new(),
        };
        let idle = idle.into_iter();
        idle.map(|(name, why)| (format!("{path}.{name}"), why))
            .collect()
    }

    fn idle_of_learner(&self) -> Vec<(&'static str, &'static str)> {
        let mut idle = Vec::new();
        let Some(gradient) = self.learner.gradient() else {
            if self.pseudo_labels.stands_still() {
                let why = "the learner is fitted in one go";
                idle.extend(["rounds.patience", "rounds.collapse"].map(|path| (path, why)));
            }
            if self.takes_made_triplets() {
                let why =
                    "the learner takes the triplets of the pseudo-labels, which have no confidence";
                idle.push(("pseudo_labels.confidence", why));
                idle.push(("pseudo_labels.confidence_power", why));
                idle.push(("pseudo_labels.reliable", why));
            }
            return idle;
        };
        if gradient.loss.nce().is_some() {
            let why = "no gradient moves the memory of the loss: learner.loss.momentum does";
            idle.extend(
                ["learner.train.proxy_factor", "learner.train.proxy_decay"].map(|path| (path, why)),
            );
        }
        if gradient.metric.is_some() {
            let why = "the terms of learner.metric stand in its place";
            idle.push(("learner.loss", why));
        }
        let proxies = gradient.has_proxies();
        if !proxies {
            let why = if gradient.metric.is_some() {
                "a metric has no proxies"
            } else {
                "the loss has no proxies"
            };
            let of_proxies = [
                "learner.train.proxy_factor",
                "learner.train.proxy_start",
                "learner.train.proxy_decay",
            ];
            idle.extend(of_proxies.map(|path| (path, why)));
        }
        if gradient.compares() && self.pseudo_labels.makes_triplets() {
            if !proxies {
                let why =
                    "the loss compares the triplets of the pseudo-labels, which have no confidence";
                idle.push(("pseudo_labels.confidence", why));
                idle.push(("pseudo_labels.confidence_power", why));
                idle.push(("pseudo_labels.reliable", why));
            }
            // The pretraining of a network draws its batches by it.
            if self.learner.network().is_none() {
                let why = "batches hold the triplets of the pseudo-labels";
                idle.push(("learner.sampler", why));
            }
        }
        if !proxies && matches!(gradient.model, ModelConfig::Orthogonal(_)) {
            let why = "an orthonormal map goes by steps of its own, learner.model.fit";
            let steps = [
                "learner.train.optimizer",
                "learner.train.learning_rate",
                "learner.train.schedule",
                "learner.train.weight_decay",
                "learner.train.clip",
                "learner.train.accumulate",
                "learner.train.average",
            ];
            idle.extend(steps.map(|path| (path, why)));
        }
        idle
    }

    /// Sets the most epochs. Fails where all after the first would be the same again.
    pub fn set_epochs(&mut self, epochs: usize) -> Result<()> {
        self.rounds.epochs = epochs;
        self.check_epochs()
    }

    /// Fails on more than one fit of a learner in closed form to what stays the same.
    fn check_epochs(&self) -> Result<()> {
        if self.learner.cross().is_some() {
            return self.validate_across();
        }
        let Learner::Closed(learner) = &self.learner else {
            return Ok(());
        };
        let goes_on = learner.rounds(0).is_some();
        if self.rounds.epochs <= 1 || goes_on || !self.pseudo_labels.stands_still() {
            return Ok(());
        }
        let rule = format!(
            "must be 0 or 1: {} is fitted in one go, and what it learns from stays the same \
             (pseudo_labels.on = \"embedding\" spreads labels anew after each fit)",
            learner.name()
        );
        Err(Error::parameter("rounds.epochs", self.rounds.epochs, &rule))
    }

    /// Checks every choice; an error names the field, its value and the rule.
    pub fn validate(&self) -> Result<()> {
        self.start.validate()?;
        self.rounds.validate()?;
        self.pseudo_labels.validate(self.rounds.epochs)?;
        self.learner.validate()?;
        self.validate_together()
    }

    /// Settings of the start that the learner does not read, by the labels alone: they would only move the
    /// baseline.
    fn validate_start(&self) -> Result<()> {
        let Learner::Closed(closed) = &self.learner else {
            return Ok(());
        };
        let directions = match closed.reads() {
            Reads::All => return Ok(()),
            Reads::Directions => true,
            Reads::Features => false,
        };
        if self.pseudo_labels != PseudoLabels::None || self.rounds.epochs == 0 {
            return Ok(());
        }
        // Features as they are have no settings.
        if self.start.as_given {
            return Ok(());
        }
        let (start, default) = (&self.start, StartConfig::default());
        let name = closed.name();
        let rule = format!("has no effect on {name} without pseudo-labels; leave it out");
        if let Some(eps) = start.shrinkage {
            return Err(Error::parameter("start.shrinkage", eps, &rule));
        }
        if !directions && start.rank != default.rank {
            return Err(Error::parameter("start.rank", start.rank, &rule));
        }
        // The mean is taken off as a whole.
        if !directions && start.center < default.center {
            return Err(Error::parameter("start.center", start.center, &rule));
        }
        Ok(())
    }

    /// What a learner across views asks of the other stages, if it is one.
    fn validate_across(&self) -> Result<()> {
        let Some(learner) = self.learner.cross() else {
            return Ok(());
        };
        let name = learner.name();
        let rounds = RoundsConfig {
            epochs: 1,
            keep: Keep::Last,
            ..RoundsConfig::default()
        };
        if self.rounds != rounds {
            let rule = format!(
                "{name} is fitted in one go, and that fit is kept: leave out what differs from \
                 epochs = 1 and keep = \"last\""
            );
            return Err(Error::parameter("rounds.epochs", self.rounds.epochs, &rule));
        }
        let start = StartConfig {
            standardize: self.start.standardize,
            ..StartConfig::default()
        };
        if self.start != start {
            return Err(Error::data(format!(
                "start: {name} reads each view less its mean; all that can be set is \
                 start.standardize"
            )));
        }
        let stands = self.pseudo_labels.labeled_epochs() == 0;
        let known_before = self.pseudo_labels.on().is_none_or(|on| on == On::Start);
        let kind = self.pseudo_labels.kind();
        match &self.pseudo_labels {
            PseudoLabels::None => Ok(()),
            PseudoLabels::Clusters(clusters) if clusters.labels == InClusters::Judge => {
                let rule = format!(
                    "must be \"name\" beside {name}, which learns the classes of the labels"
                );
                Err(Error::parameter("pseudo_labels.labels", "judge", &rule))
            }
            PseudoLabels::Instances | PseudoLabels::Rotations => {
                let rule = format!(
                    "gives no class of the labels, and {name} learns these; take another source"
                );
                Err(Error::parameter("pseudo_labels.kind", kind, &rule))
            }
            _ if learner.need() == cross::Need::Pairs => {
                let rule = format!("has no effect: {name} looks at no label; leave it out");
                Err(Error::parameter("pseudo_labels.kind", kind, &rule))
            }
            _ if stands && known_before => Ok(()),
            _ => {
                let rule = format!(
                    "{name} is fitted in one go, to classes that are known before: take \
                     on = \"start\" where a source looks at something, without labeled_epochs"
                );
                Err(Error::parameter("pseudo_labels.kind", kind, &rule))
            }
        }
    }

    /// What a recipe across views says of a study within one.
    pub(crate) fn only_across(&self) -> Error {
        usage(format!(
            "{} searches from one view to another, so it needs two views by name, each for itself",
            self.name
        ))
    }

    /// What one stage asks of another.
    fn validate_together(&self) -> Result<()> {
        self.validate_start()?;
        self.validate_across()?;
        let network = self.learner.network();
        if network.is_some() && self.start.power < 1.0 {
            let rule = "must be 1 with a network that is trained: it learns its own features";
            return Err(Error::parameter("start.power", self.start.power, rule));
        }
        if network.is_some() && self.start.unit {
            let rule = "must be false with a network that is trained: it learns its own features";
            return Err(Error::parameter("start.unit", self.start.unit, rule));
        }
        if self.pseudo_labels.on() == Some(On::Model)
            && network.is_none_or(NetworkConfig::is_whitened)
        {
            let rule = "needs a network that begins as anything but the start; take \
                        \"embedding\", which is the same then";
            return Err(Error::parameter("pseudo_labels.on", "\"model\"", rule));
        }
        self.validate_triplets_of_votes()?;
        self.validate_own_classes()?;
        let Some(gradient) = self.learner.gradient() else {
            return Ok(());
        };
        if !gradient.compares() || !self.pseudo_labels.makes_triplets() {
            return Ok(());
        }
        let rule = format!(
            "has no effect beside the triplets of pseudo_labels.kind = \"{}\"; leave it out",
            self.pseudo_labels.kind()
        );
        let rule = rule.as_str();
        if let Some(miner) = &gradient.miner {
            return Err(Error::parameter("learner.miner", miner.name(), rule));
        }
        match gradient.train.memory {
            0 => Ok(()),
            rows => Err(Error::parameter("learner.train.memory", rows, rule)),
        }
    }

    /// What items as classes and turns as classes ask of the learner, and a loss that looks at the whole
    /// set.
    fn validate_own_classes(&self) -> Result<()> {
        let kind = self.pseudo_labels.kind();
        let network = self.learner.network();
        match &self.pseudo_labels {
            PseudoLabels::Rotations => {
                let Some(encoder) = network.map(|network| &network.encoder) else {
                    let rule = "turns images, and needs a network that is trained on them \
                                (learner.model.kind = \"network\"); features have no turns";
                    return Err(Error::parameter("pseudo_labels.kind", kind, rule));
                };
                let input = encoder.input();
                if input.height != input.width {
                    let rule = format!(
                        "turns square images, but {} reads {} x {} pixels",
                        encoder.name(),
                        input.height,
                        input.width
                    );
                    return Err(Error::parameter("pseudo_labels.kind", kind, &rule));
                }
            }
            PseudoLabels::Instances => {
                let rule = match &self.learner {
                    Learner::Closed(learner) => Some(format!(
                        "gives {} nothing to learn: no two items are alike",
                        learner.name()
                    )),
                    Learner::Gradient(gradient) if !gradient.loss.has_proxies() => {
                        let augments = network.is_some_and(|network| network.tuning.augment);
                        (!augments).then(|| {
                            format!(
                                "gives {} no two items that are alike: it needs images that are augmented \
                                 (learner.model.tuning.augment), or a loss of classes",
                                gradient.loss.title()
                            )
                        })
                    }
                    _ => None,
                };
                if let Some(rule) = rule {
                    return Err(Error::parameter("pseudo_labels.kind", kind, &rule));
                }
            }
            _ => {}
        }
        let Some(gradient) = self.learner.gradient() else {
            return Ok(());
        };
        let mapped = gradient.map().is_some() && network.is_none();
        if gradient.loss.links_labels() && mapped {
            let rule = "links are learned by gradients, and an orthonormal map alone goes by steps of \
                        its own; take another learner.model.kind, or leave it out";
            return Err(Error::parameter("learner.loss.lambda", "above 0", rule));
        }
        Ok(())
    }

    /// Triplets that were asked for must be learned from.
    fn validate_triplets_of_votes(&self) -> Result<()> {
        let PseudoLabels::Votes(voting) = &self.pseudo_labels else {
            return Ok(());
        };
        let (name, takes) = match &self.learner {
            Learner::Gradient(gradient) => (gradient.title(), gradient.compares()),
            Learner::Closed(learner) => {
                let takes = learner.needs().contains(&Need::Ranked);
                (learner.name().to_owned(), takes)
            }
            Learner::Cross(learner) => (learner.name().to_owned(), false),
        };
        if takes || voting.triplets.is_none() {
            return Ok(());
        }
        let rule = format!("has no effect on {name}, which learns from classes; leave it out");
        Err(Error::parameter("pseudo_labels.triplets", "true", &rule))
    }
}

#[cfg(test)]
mod tests;
