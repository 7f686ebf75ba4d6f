//! Where the classes of unlabeled items come from.

use likewise::ensemble::{FromVotes, Votes};
use likewise::graph::{Fusion, KnnGraph};
use likewise::propagate::{self, Ability, Method};
use likewise_nn::lpf::Lpf;
use serde::{Deserialize, Serialize};

use super::limits::{ROUNDS, at_most};
use super::outside::Refusing;
use crate::{Error, Result};

/// Where the classes of unlabeled items come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum PseudoLabels {
    /// Nowhere: the known labels alone are learned.
    None,
    /// From labels that spread over a graph.
    Propagation(Box<Propagation>),
    /// From affinities that spread over nearest neighbours: triplets for the
    /// losses of pairs and triplets; for the losses of classes, the class whose labeled items
    /// are nearest.
    Affinity(Affinity),
    /// From votes of many classifiers, which the known labels train.
    Votes(Box<Voting>),
    /// From networks and class means that agree: of the items that they are sure of.
    Lpf(Box<Prediction>),
    /// From clusters of the items, which no label is needed for.
    Clusters(Clusters),
    /// Every item is a class of its own. For a loss that looks at images that are augmented: all that
    /// an item is alike with is itself.
    Instances,
    /// Every image is turned by 0, 90, 180 and 270 degrees, and the turn is its class. For a network on
    /// images alone.
    Rotations,
    /// From the hidden labels: what perfect pseudo-labels would give. A bound, not a result.
    Oracle(Oracle),
}

/// What a graph, or neighbourhoods, are built on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum On {
    /// The start (the whitened features), once.
    #[default]
    Start,
    /// The embedding so far, anew before every epoch, the first one on the start; of a network,
    /// the rows before an orthonormal map.
    Embedding,
    /// As `embedding`, but the first one too: on the rows of the network as it begins.
    Model,
}

/// What a confidence weighs in the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// That of a pseudo-label divided by the largest of all; known labels weigh 1.
    #[default]
    Relative,
    /// As it is, also of known labels, which weigh what the spread scores say of them: eq. (27)
    /// of Zhuang & Moulin (CVPR 2023). **Not** for scores that are nearly alike in all classes,
    /// such as those of harmonic propagation: all weights are next to 0 then, and an optimizer
    /// that has learned from labels of weight 1 before hardly moves.
    Plain,
}

/// Pseudo-labels from labels that spread over a graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Propagation {
    /// What the graph is built on.
    pub on: On,
    /// The k-nearest-neighbour graph.
    pub graph: KnnGraph,
    /// How several views become the graph on the start; absent: by ranks. Where one view is used it changes nothing,
    /// and neither does it on the embedding, which is of all views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuse: Option<Fusion>,
    /// How labels spread over it.
    pub spread: Method,
    /// What a confidence weighs.
    pub confidence: Confidence,
    /// Weight of a pseudo-label: its confidence, as `confidence` says, to this power.
    pub confidence_power: f64,
    /// Whether each item also weighs by how rare its class is among labels and pseudo-labels:
    /// Iscen et al. (CVPR 2019), eq. (12)-(13).
    pub class_weights: bool,
    /// Epochs on the known labels alone before pseudo-labels join; below `rounds.epochs`, of
    /// which they are a part.
    pub labeled_epochs: usize,
    /// Which items are refused as of no known class, and weigh nothing; absent: no item is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Refusing>,
}

impl Default for Propagation {
    fn default() -> Self {
        Self {
            on: On::Start,
            graph: KnnGraph::new().k(20),
            fuse: None,
            spread: Method::default(),
            confidence: Confidence::Relative,
            confidence_power: 2.0,
            class_weights: false,
            labeled_epochs: 0,
            outside: None,
        }
    }
}

impl Propagation {
    /// The default, with no more neighbours than make sense among so many items.
    pub(crate) fn among(items: usize) -> Self {
        let mut usual = Self::default();
        let most = most_neighbors(items);
        if usual.graph.n_neighbors() > most {
            usual.graph = usual.graph.k(most);
        }
        usual
    }

    /// How so many views become the graph on the start.
    pub(crate) fn fusion(&self, views: usize) -> Fusion {
        if views < 2 || self.no_fusion().is_some() {
            Fusion::Rows
        } else {
            self.fuse.unwrap_or_default()
        }
    }

    /// Why the graph is that of the rows side by side whatever is said, if it is.
    pub(super) fn no_fusion(&self) -> Option<&'static str> {
        if self.on != On::Start {
            Some("the graph on the embedding is of all views in one")
        } else if self.spread.has(Ability::NeedsNeighbors) {
            Some("the method goes by the neighbour lists of the rows side by side")
        } else {
            None
        }
    }

    /// Mixed propagation with what won on real data.
    pub(super) fn mixed(on: On) -> Self {
        Self {
            on,
            ..Self::default()
        }
    }
}

impl From<Propagation> for PseudoLabels {
    fn from(propagation: Propagation) -> Self {
        Self::Propagation(Box::new(propagation))
    }
}

/// Pseudo-labels and triplets from affinities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Affinity {
    /// What the neighbourhoods are built on.
    pub on: On,
    /// Neighbours of an item, at least 2.
    pub k: usize,
    /// How affinities spread.
    pub spread: propagate::Affinity,
    /// Unlabeled items of a partition, drawn at random; with all labeled ones they make its
    /// neighbourhoods.
    pub partition: usize,
    /// Epochs before the next partition.
    pub every: usize,
    /// What a confidence weighs, for the losses of classes.
    pub confidence: Confidence,
    /// Weight of a pseudo-label: its confidence to this power.
    pub confidence_power: f64,
    /// Epochs on the known labels alone before pseudo-labels join.
    pub labeled_epochs: usize,
    /// Which items are refused as of no known class: they weigh nothing, and are in no triplet; absent: no
    /// item is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Refusing>,
}

impl Default for Affinity {
    fn default() -> Self {
        Self {
            on: On::Embedding,
            k: 10,
            spread: propagate::Affinity::new(),
            partition: 9000,
            every: 10,
            confidence: Confidence::Relative,
            confidence_power: 2.0,
            labeled_epochs: 0,
            outside: None,
        }
    }
}

/// Pseudo-labels from votes, and perhaps triplets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Voting {
    /// What the classifiers look at: the coordinates that learning starts from, or the embedding.
    pub on: On,
    /// Who votes, and how sure that is.
    pub votes: Votes,
    /// Whether only items that are taken for reliable are learned.
    pub reliable: bool,
    /// The losses of pairs and triplets, and learners of triplets, take these in place of classes;
    /// absent: they take the classes, as all others do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub triplets: Option<FromVotes>,
    /// What a confidence weighs.
    pub confidence: Confidence,
    /// Weight of a pseudo-label: its confidence, as `confidence` says, to this power.
    pub confidence_power: f64,
    /// Epochs on the known labels alone before pseudo-labels join.
    pub labeled_epochs: usize,
    /// Which items are refused as of no known class: they weigh nothing, and are in no triplet; absent: no
    /// item is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Refusing>,
}

/// Pseudo-labels from networks and class means that agree; they learn from the features as the start
/// reads them, once, before anything else does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prediction {
    /// How they learn and agree. Its fields stand beside the others.
    #[serde(flatten)]
    pub lpf: Lpf,
    /// Weight of a selected item: its confidence to this power. Known labels weigh 1, and what is not
    /// selected weighs nothing.
    pub confidence_power: f64,
    /// Epochs on the known labels alone before pseudo-labels join.
    pub labeled_epochs: usize,
}

/// Pseudo-labels from clusters: k-means of the items, once or again and again.
///
/// Rows are whitened within their first directions and brought to length 1 before; k-means starts
/// anew each time, and leaves no cluster empty. Classes of a new clustering have nothing to do with
/// those of the one before, so that proxies begin anew with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clusters {
    /// What is clustered.
    pub on: On,
    /// Number of clusters, at most the number of items; absent: `per_class` for each class that has a
    /// label or, where fewer than two have one, the square root of the number of items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<usize>,
    /// Clusters for each class that has a label, where their number is not given.
    pub per_class: usize,
    /// Epochs before the next clustering.
    pub every: usize,
    /// Directions of largest variance that are whitened, at most one for ten items; all that vary, where
    /// these are fewer.
    pub dim: usize,
    /// Most iterations of k-means.
    pub iterations: usize,
    /// What known labels do.
    pub labels: InClusters,
}

/// What known labels do beside clusters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InClusters {
    /// They judge: which epoch is kept, and how good it is. Nothing is learned from them.
    #[default]
    Judge,
    /// They name: a cluster is of the class that most of the labeled items in it are of (of several, the
    /// first), and labeled items keep their own. A cluster without a label stays a class of its own.
    Name,
}

impl Default for Clusters {
    fn default() -> Self {
        Self {
            on: On::Embedding,
            clusters: None,
            per_class: 3,
            every: 1,
            dim: 256,
            iterations: 20,
            labels: InClusters::Judge,
        }
    }
}

impl Clusters {
    /// Clusters of so many items, of which some are labeled with this number of classes.
    pub(crate) fn count(&self, items: usize, classes: usize) -> usize {
        let usual = if classes < 2 {
            items.isqrt()
        } else {
            self.per_class * classes
        };
        self.clusters.unwrap_or(usual.clamp(1, items.max(1)))
    }

    fn validate(&self) -> Result<()> {
        for (field, value) in [
            ("pseudo_labels.clusters", self.clusters.unwrap_or(2)),
            ("pseudo_labels.per_class", self.per_class),
            ("pseudo_labels.every", self.every),
            ("pseudo_labels.dim", self.dim),
            ("pseudo_labels.iterations", self.iterations),
        ] {
            if value == 0 {
                return Err(Error::parameter(field, 0, "must be at least 1"));
            }
        }
        if self.clusters == Some(1) && self.labels == InClusters::Judge {
            let rule = "must be at least 2: in one cluster all items are alike";
            return Err(Error::parameter("pseudo_labels.clusters", 1, rule));
        }
        at_most("pseudo_labels.every", self.every, ROUNDS)
    }
}

impl Default for Voting {
    fn default() -> Self {
        Self {
            on: On::Start,
            votes: Votes::new(),
            reliable: true,
            triplets: None,
            confidence: Confidence::Relative,
            confidence_power: 1.0,
            labeled_epochs: 0,
            outside: None,
        }
    }
}

impl Default for Prediction {
    fn default() -> Self {
        Self {
            lpf: Lpf::default(),
            confidence_power: 1.0,
            labeled_epochs: 0,
        }
    }
}

impl From<Voting> for PseudoLabels {
    fn from(voting: Voting) -> Self {
        Self::Votes(Box::new(voting))
    }
}

impl From<Lpf> for PseudoLabels {
    fn from(lpf: Lpf) -> Self {
        Self::Lpf(Box::new(Prediction {
            lpf,
            ..Prediction::default()
        }))
    }
}

/// Turns of an image, by 0, 90, 180 and 270 degrees.
pub(crate) const TURNS: usize = 4;

/// Pseudo-labels that are the truth.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Oracle {
    /// Epochs on the known labels alone before the others join.
    pub labeled_epochs: usize,
}

impl PseudoLabels {
    /// The kind, as it is written.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Propagation(_) => "propagation",
            Self::Affinity(_) => "affinity",
            Self::Votes(_) => "votes",
            Self::Lpf(_) => "lpf",
            Self::Clusters(_) => "clusters",
            Self::Instances => "instances",
            Self::Rotations => "rotations",
            Self::Oracle(_) => "oracle",
        }
    }

    /// The propagation, where there is one.
    pub fn propagation(&self) -> Option<&Propagation> {
        match self {
            Self::Propagation(propagation) => Some(propagation),
            _ => None,
        }
    }

    /// As [`propagation`](Self::propagation), to be changed.
    pub fn propagation_mut(&mut self) -> Option<&mut Propagation> {
        match self {
            Self::Propagation(propagation) => Some(propagation),
            _ => None,
        }
    }

    /// Which items are refused as of no known class by their features. Label prediction refuses by itself, and
    /// what is of no label is of no known class anyway.
    pub(crate) fn outside(&self) -> Option<&Refusing> {
        match self {
            Self::Propagation(propagation) => propagation.outside.as_ref(),
            Self::Affinity(affinity) => affinity.outside.as_ref(),
            Self::Votes(voting) => voting.outside.as_ref(),
            Self::None
            | Self::Lpf(_)
            | Self::Clusters(_)
            | Self::Instances
            | Self::Rotations
            | Self::Oracle(_) => None,
        }
    }

    /// Whether an epoch learns triplets, where what learns takes any.
    pub(crate) fn makes_triplets(&self) -> bool {
        match self {
            Self::Affinity(_) => true,
            Self::Votes(voting) => voting.triplets.is_some(),
            Self::None
            | Self::Propagation(_)
            | Self::Lpf(_)
            | Self::Clusters(_)
            | Self::Instances
            | Self::Rotations
            | Self::Oracle(_) => false,
        }
    }

    /// Whether it gives classes where no item has a label.
    pub(crate) fn needs_no_label(&self) -> bool {
        match self {
            Self::Clusters(_) | Self::Instances | Self::Rotations => true,
            Self::None
            | Self::Propagation(_)
            | Self::Affinity(_)
            | Self::Votes(_)
            | Self::Lpf(_)
            | Self::Oracle(_) => false,
        }
    }

    /// Whether other items learn by what the labels say of them.
    pub(crate) fn spreads(&self) -> bool {
        *self != Self::None && !self.ignore_labels()
    }

    /// Whether it is the same whatever the labels are, but for how many classes they name: of these many clusters
    /// are found where their number is not given.
    pub(crate) fn ignore_labels(&self) -> bool {
        match self {
            Self::Clusters(clusters) => clusters.labels == InClusters::Judge,
            _ => self.needs_no_label(),
        }
    }

    /// Classes that it makes itself of so many items, where these are not those of the labels: those of
    /// the labels first, if it keeps them, of which there are `classes`.
    pub(crate) fn own_classes(&self, items: usize, classes: usize) -> Option<usize> {
        match self {
            Self::Clusters(how) => {
                let clusters = how.count(items, classes);
                Some(match how.labels {
                    InClusters::Judge => clusters,
                    InClusters::Name => classes + clusters,
                })
            }
            Self::Instances => Some(items),
            Self::Rotations => Some(TURNS),
            Self::None
            | Self::Propagation(_)
            | Self::Affinity(_)
            | Self::Votes(_)
            | Self::Lpf(_)
            | Self::Oracle(_) => None,
        }
    }

    /// Epochs of each partition of what is learned, where there are such.
    pub(crate) fn every(&self) -> Option<usize> {
        match self {
            Self::Affinity(affinity) => Some(affinity.every),
            Self::Clusters(clusters) => Some(clusters.every),
            Self::None
            | Self::Propagation(_)
            | Self::Votes(_)
            | Self::Lpf(_)
            | Self::Instances
            | Self::Rotations
            | Self::Oracle(_) => None,
        }
    }

    /// What the graph or the neighbourhoods are built on; nothing where there are none.
    pub fn on(&self) -> Option<On> {
        match self {
            Self::Propagation(propagation) => Some(propagation.on),
            Self::Affinity(affinity) => Some(affinity.on),
            Self::Votes(voting) => Some(voting.on),
            Self::Clusters(clusters) => Some(clusters.on),
            Self::None | Self::Lpf(_) | Self::Instances | Self::Rotations | Self::Oracle(_) => None,
        }
    }

    /// Epochs on the known labels alone before pseudo-labels join.
    pub fn labeled_epochs(&self) -> usize {
        match self {
            Self::None | Self::Clusters(_) | Self::Instances | Self::Rotations => 0,
            Self::Propagation(propagation) => propagation.labeled_epochs,
            Self::Affinity(affinity) => affinity.labeled_epochs,
            Self::Votes(voting) => voting.labeled_epochs,
            Self::Lpf(prediction) => prediction.labeled_epochs,
            Self::Oracle(oracle) => oracle.labeled_epochs,
        }
    }

    /// Whether all epochs learn from the same pseudo-labels.
    pub(crate) fn stands_still(&self) -> bool {
        match self {
            Self::None | Self::Lpf(_) | Self::Instances | Self::Rotations | Self::Oracle(_) => true,
            Self::Propagation(propagation) => propagation.on == On::Start,
            Self::Votes(voting) => voting.on == On::Start,
            Self::Clusters(clusters) => clusters.on == On::Start,
            // Each partition holds other items.
            Self::Affinity(_) => false,
        }
    }

    /// The first epoch that learns from the same pseudo-labels as epoch `epoch`.
    pub(crate) fn since(&self, epoch: usize) -> usize {
        match self.every() {
            _ if self.stands_still() => 1,
            Some(every) => (epoch - 1) / every * every + 1,
            None => epoch,
        }
    }

    pub(super) fn validate(&self, epochs: usize) -> Result<()> {
        let labeled = self.labeled_epochs();
        at_most("pseudo_labels.labeled_epochs", labeled, ROUNDS)?;
        if labeled > 0 && epochs <= labeled {
            let rule = format!(
                "must be above pseudo_labels.labeled_epochs = {labeled}, else no pseudo-label is \
                 learned"
            );
            return Err(Error::parameter("rounds.epochs", epochs, &rule));
        }
        if let Some(outside) = self.outside() {
            let checked = outside.validate();
            checked.map_err(|e| e.under("pseudo_labels."))?;
        }
        let (power, confidence) = match self {
            Self::Propagation(propagation) => {
                let of_graph = propagation.graph.validate();
                of_graph.map_err(|e| e.under("pseudo_labels.graph."))?;
                if propagation.fuse == Some(Fusion::Weighted) {
                    let rule = "goes by the labels, and the graph of a fit is one for all draws of them; \
                                take ranks, mean, agreement or rows";
                    return Err(Error::parameter("pseudo_labels.fuse", "weighted", rule));
                }
                (propagation.confidence_power, Some(propagation.confidence))
            }
            Self::Affinity(affinity) => {
                affinity.validate()?;
                (affinity.confidence_power, None)
            }
            Self::Votes(voting) => {
                voting.validate()?;
                (voting.confidence_power, Some(voting.confidence))
            }
            Self::Lpf(prediction) => {
                let checked = prediction.lpf.validate();
                checked.map_err(|e| e.under("pseudo_labels."))?;
                (prediction.confidence_power, None)
            }
            Self::Clusters(clusters) => return clusters.validate(),
            Self::None | Self::Instances | Self::Rotations | Self::Oracle(_) => return Ok(()),
        };
        if let (0.0, Some(confidence @ Confidence::Plain)) = (power, confidence) {
            let rule = "has no effect with a confidence_power of 0; leave it out";
            let confidence = format!("{confidence:?}").to_lowercase();
            return Err(Error::parameter(
                "pseudo_labels.confidence",
                confidence,
                rule,
            ));
        }
        if power.is_finite() && power >= 0.0 {
            return Ok(());
        }
        let rule = "must be 0 or above";
        Err(Error::parameter(
            "pseudo_labels.confidence_power",
            power,
            rule,
        ))
    }
}

impl Voting {
    fn validate(&self) -> Result<()> {
        let of_votes = self.votes.validate();
        of_votes.map_err(|e| e.under("pseudo_labels."))?;
        let Some(triplets) = &self.triplets else {
            return Ok(());
        };
        let of_triplets = triplets.validate();
        of_triplets.map_err(|e| e.under("pseudo_labels."))?;
        if self.votes.has_metric() {
            return Ok(());
        }
        let rule = "triplets need a classifier that compares by a metric, such as euclid or rca";
        Err(Error::parameter(
            "pseudo_labels.votes.classifiers",
            "none by a metric",
            rule,
        ))
    }
}

impl Affinity {
    fn validate(&self) -> Result<()> {
        for (field, value, least) in [
            ("pseudo_labels.k", self.k, 2),
            ("pseudo_labels.partition", self.partition, 1),
            ("pseudo_labels.every", self.every, 1),
        ] {
            if value < least {
                let rule = format!("must be at least {least}");
                return Err(Error::parameter(field, value, &rule));
            }
        }
        at_most("pseudo_labels.every", self.every, ROUNDS)
    }
}
/// The most neighbours that make sense among so many items: twenty of sixty would be everybody.
pub(crate) fn most_neighbors(items: usize) -> usize {
    (items / 10).max(1)
}
