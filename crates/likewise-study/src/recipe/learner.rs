//! What learns, as a recipe writes it down.

use likewise::Monitor;
use likewise::learn::{Closed, Fit as _};
use likewise::linear::Stiefel;
use likewise_nn::cross;
use likewise_nn::loss::{ConfidenceProxy, Loss, Losses, NormalizedSoftmax};
use likewise_nn::mine::Mine;
use likewise_nn::net::{self, EmbeddingConfig, EncoderConfig};
use likewise_nn::sample::Sampler;
use likewise_nn::train::{MetricConfig, Optimizer, TrainConfig, Tuning};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_path_to_error::Track;

use crate::{Error, ErrorKind, Result};

/// What learns.
#[derive(Debug, Clone, PartialEq)]
pub enum Learner {
    /// By gradients of a loss: a head on features, or a network on images.
    Gradient(Box<GradientConfig>),
    /// In closed form, from the classes and weights of a round, on the features within the first
    /// `rank` directions of the start, or as the start reads them (`logistic`).
    Closed(Closed),
    /// Across views: an encoder for each of several views, all into one space, so that a query of
    /// one finds items of another. From the classes and weights of the items, and their pairs.
    Cross(cross::Learner),
}

/// What one by gradients is called where its kind is written.
const GRADIENT: &str = "gradient";

/// A learner by gradients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GradientConfig {
    /// What gradients move.
    pub model: ModelConfig,
    /// The loss, or a list of several with their weights (`[[learner.loss]]`).
    pub loss: Losses,
    /// A metric behind the embedding, whose terms of pairs stand in the place of the loss; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<MetricConfig>,
    /// How batches are drawn.
    pub sampler: Sampler,
    /// Which pairs or triplets of a batch the losses of these look at; absent: all. Those of
    /// classes look at the whole batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miner: Option<Mine>,
    /// Batches, steps and step sizes.
    pub train: TrainConfig,
}

impl Default for GradientConfig {
    fn default() -> Self {
        Self {
            model: ModelConfig::default(),
            loss: Loss::ConfidenceProxy(ConfidenceProxy::default()).into(),
            metric: None,
            sampler: Sampler::default(),
            miner: None,
            train: TrainConfig::default(),
        }
    }
}

/// What gradients move. See [`net::HeadConfig`] for the form of a head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ModelConfig {
    /// A head on features: one matrix, as a correction of the start.
    Linear(Linear),
    /// A head on features: two matrices with rectified units between them, as a correction of
    /// the start.
    Mlp(Mlp),
    /// A head on features: a matrix with orthonormal columns, in place of a correction.
    Orthogonal(Orthogonal),
    /// A network on images, one a row of `channels x height x width` pixels of 0 to 255.
    Network(Box<NetworkConfig>),
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self::Mlp(Mlp::default())
    }
}

/// A head of one matrix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Linear {
    /// Share of the start's cosine in the embedding's, 0 (none) to below 1.
    pub keep: f64,
    /// Least dimensions of the learned half: a start of fewer is filled up with zeros, since
    /// ten classes find no room in six dimensions.
    pub width: usize,
}

impl Default for Linear {
    fn default() -> Self {
        let net::HeadConfig { keep, width, .. } = net::HeadConfig::default();
        Self { keep, width }
    }
}

/// A head of two matrices.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mlp {
    /// Number of rectified units.
    pub hidden: usize,
    /// Share of the start's cosine in the embedding's, 0 (none) to below 1.
    pub keep: f64,
    /// Least dimensions of the learned half, as of a linear head.
    pub width: usize,
}

impl Default for Mlp {
    fn default() -> Self {
        let Linear { keep, width } = Linear::default();
        Self {
            hidden: 256,
            keep,
            width,
        }
    }
}

/// A map with orthonormal columns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Orthogonal {
    /// Columns, at most those of the rows before it.
    pub dim: usize,
    /// Share of the start's cosine in the embedding's, 0 (none) to below 1; 0 behind a network.
    pub keep: f64,
    /// How it is fitted at each step.
    pub fit: Stiefel,
}

impl Default for Orthogonal {
    fn default() -> Self {
        Self {
            dim: 64,
            keep: 0.0,
            fit: Stiefel::new(),
        }
    }
}

/// A network that is trained on images.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkConfig {
    /// The network and its layers.
    pub encoder: EncoderConfig,
    /// How its weights move.
    pub tuning: Tuning,
    /// Share of the start's cosine in the embedding's, where the network begins as a whitening of
    /// its features (`encoder.head` whitened), and only there; absent: 0.3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<f64>,
    /// A map with orthonormal columns behind the network; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map: Option<Orthogonal>,
    /// How it learns from the labels before all else; absent: not at all. The first graph on the
    /// embedding is then that of the network it gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pretraining: Option<Pretraining>,
}

/// Training of a network on the labels alone, before a recipe's own.
///
/// By the recipe's batches, steps and views; its pseudo-labels join later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pretraining {
    /// The loss.
    pub loss: Loss,
    /// Epochs, at least 1; the last one counts.
    pub epochs: usize,
    /// What turns gradients into steps.
    pub optimizer: Optimizer,
    /// Step size.
    pub learning_rate: f64,
}

impl Default for Pretraining {
    fn default() -> Self {
        Self {
            loss: Loss::NormalizedSoftmax(NormalizedSoftmax::default()),
            epochs: 30,
            optimizer: Optimizer::default(),
            learning_rate: 1e-3,
        }
    }
}

impl Default for Learner {
    fn default() -> Self {
        Self::Gradient(Box::default())
    }
}

impl Learner {
    /// All kinds, as they are written.
    pub fn kinds() -> Vec<&'static str> {
        [&[GRADIENT], Closed::NAMES, &cross::Learner::names()].concat()
    }

    /// The one by gradients, if it is.
    pub fn gradient(&self) -> Option<&GradientConfig> {
        match self {
            Self::Gradient(gradient) => Some(gradient),
            Self::Closed(_) | Self::Cross(_) => None,
        }
    }

    /// As [`gradient`](Self::gradient), to be changed.
    pub fn gradient_mut(&mut self) -> Option<&mut GradientConfig> {
        match self {
            Self::Gradient(gradient) => Some(gradient),
            Self::Closed(_) | Self::Cross(_) => None,
        }
    }

    /// The one across views, if it is.
    pub fn cross(&self) -> Option<&cross::Learner> {
        match self {
            Self::Cross(learner) => Some(learner),
            Self::Closed(_) | Self::Gradient(_) => None,
        }
    }

    /// The network that it trains, if there is one.
    pub fn network(&self) -> Option<&NetworkConfig> {
        match &self.gradient()?.model {
            ModelConfig::Network(network) => Some(network),
            _ => None,
        }
    }

    /// The monitor of its training: what is warned of a setting calls it as the recipe does.
    pub(crate) fn monitor(&self, outer: &Monitor) -> Monitor {
        let (kind, path) = match self {
            Self::Closed(learner) => (learner.name(), "learner."),
            Self::Cross(learner) => (learner.name(), "learner."),
            Self::Gradient(gradient) => match &gradient.metric {
                Some(metric) => (metric.learner.name(), "learner.metric."),
                None => return outer.clone(),
            },
        };
        let own = format!("{}.", kind.replace('-', "_"));
        let has_prior = kind == "apit";
        outer.with_warnings(move |said| {
            let said = said.replace(&own, path);
            if has_prior {
                said.replace("itml.", &format!("{path}prior."))
            } else {
                said
            }
        })
    }

    pub(super) fn validate(&self) -> Result<()> {
        match self {
            Self::Closed(learner) => (learner.validate())
                .map_err(|e| in_kernels(learner, e))
                .map_err(|e| of_kind(e, learner.name())),
            Self::Cross(learner) => learner.validate().map_err(|e| of_kind(e, learner.name())),
            Self::Gradient(gradient) => gradient.validate(),
        }
        .map_err(|e| e.under("learner."))
    }
}

/// What is wrong with a parameter, by its path in the file: beside the kind of a learner, and not below it, as
/// the learner itself says it.
fn of_kind(e: Error, kind: &str) -> Error {
    let said = e.to_string();
    let Some((first, rest)) = said.split_once('.') else {
        return e;
    };
    let first = first.replace('_', "-");
    // Both forms of OMKS check what they share in the same words.
    let told = match (kind, first.as_str()) {
        ("explicit-omks", "omks" | "explicit") => rest.to_owned(),
        ("apit", "itml") => format!("prior.{rest}"),
        (kind, first) if kind == first => rest.to_owned(),
        _ => return e,
    };
    if e.kind() == ErrorKind::Parameter {
        told_anew(&e, told)
    } else {
        e
    }
}

/// What is wrong with a kernel of several, by its place in their list.
fn in_kernels(learner: &Closed, e: Error) -> Error {
    let kernels = match learner {
        Closed::OmksLearner(omks) => &omks.kernels,
        Closed::ExplicitOmksLearner(omks) => &omks.kernels,
        _ => return e,
    };
    let said = e.to_string();
    let wrong = kernels.iter().position(|kernel| kernel.validate().is_err());
    match (said.strip_prefix("kernel."), wrong) {
        (Some(rest), Some(place)) => told_anew(&e, format!("kernels[{place}].{rest}")),
        _ => e,
    }
}

/// The same error of a parameter in other words.
fn told_anew(e: &Error, said: String) -> Error {
    let same = Error::new(ErrorKind::Parameter, said);
    match e.what_to_do() {
        Some(hint) => same.hint(hint),
        None => same,
    }
}

impl GradientConfig {
    /// The head in the form that is computed: that of a network is its map alone.
    pub(crate) fn head(&self) -> net::HeadConfig {
        let mapped = |map: &Orthogonal| net::HeadConfig {
            residual: net::Residual::Orthogonal { dim: map.dim },
            keep: map.keep,
            ..net::HeadConfig::default()
        };
        match &self.model {
            &ModelConfig::Linear(Linear { keep, width }) => net::HeadConfig {
                residual: net::Residual::Linear,
                keep,
                width,
            },
            &ModelConfig::Mlp(Mlp {
                hidden,
                keep,
                width,
            }) => net::HeadConfig {
                residual: net::Residual::Mlp { hidden },
                keep,
                width,
            },
            ModelConfig::Orthogonal(map) => mapped(map),
            ModelConfig::Network(network) => match &network.map {
                Some(map) => mapped(map),
                None => net::HeadConfig {
                    keep: network.kept(),
                    ..net::HeadConfig::default()
                },
            },
        }
    }

    /// What it minimises, in one line.
    pub(crate) fn title(&self) -> String {
        match &self.metric {
            Some(metric) => format!("of {} behind the embedding", metric.learner.name()),
            None => self.loss.title(),
        }
    }

    /// Whether what it minimises has proxies.
    pub(crate) fn has_proxies(&self) -> bool {
        self.metric.is_none() && self.loss.has_proxies()
    }

    /// Whether what it minimises takes explicit pairs or triplets.
    pub(crate) fn compares(&self) -> bool {
        self.metric.is_none() && self.loss.compares()
    }

    /// The orthonormal map, if there is one.
    pub(crate) fn map(&self) -> Option<&Orthogonal> {
        match &self.model {
            ModelConfig::Orthogonal(map) => Some(map),
            ModelConfig::Network(network) => network.map.as_ref(),
            ModelConfig::Linear(_) | ModelConfig::Mlp(_) => None,
        }
    }

    fn validate(&self) -> Result<()> {
        self.check_sizes()?;
        let of_head = self.head().validate();
        of_head.map_err(|e| e.under("model."))?;
        if let ModelConfig::Network(network) = &self.model {
            network.validate().map_err(|e| e.under("model."))?;
        }
        self.loss.validate()?;
        self.sampler.validate()?;
        self.train.validate().map_err(|e| e.under("train."))?;
        if let Some(metric) = &self.metric {
            return self.check_behind(metric);
        }
        // Beside losses of classes, both are for the losses of pairs and triplets in the list.
        let compares = self.loss.compares();
        if let Some(miner) = &self.miner {
            miner.validate()?;
            if !compares {
                let rule = format!(
                    "the loss {} compares with proxies, not in pairs",
                    self.loss.title()
                );
                return Err(Error::parameter("miner", miner.name(), &rule));
            }
        }
        let memory = self.train.memory;
        if memory > 0 && (!compares || self.miner.is_some()) {
            let rule = if compares {
                "must be 0 beside a miner, which looks at the batch alone".into()
            } else {
                format!(
                    "must be 0 for the loss {}, which has proxies",
                    self.loss.title()
                )
            };
            return Err(Error::parameter("train.memory", memory, &rule));
        }
        Ok(())
    }
}

impl GradientConfig {
    /// Fails on what does not go with a metric behind the embedding.
    fn check_behind(&self, metric: &MetricConfig) -> Result<()> {
        let name = metric.learner.name();
        let of_metric = metric.validate().map_err(|e| of_kind(e, name));
        of_metric.map_err(|e| e.under("metric."))?;
        if self.map().is_some() {
            let rule =
                "stands behind the embedding, where an orthonormal map is; take another model";
            return Err(Error::parameter("metric.kind", name, rule));
        }
        let rule = format!("has no effect beside the metric of {name}; leave it out");
        if let Some(miner) = &self.miner {
            return Err(Error::parameter("miner", miner.name(), &rule));
        }
        match self.train.memory {
            0 => Ok(()),
            rows => Err(Error::parameter("train.memory", rows, &rule)),
        }
    }
}

impl NetworkConfig {
    /// Whether it begins as a whitening of its features.
    pub(crate) fn is_whitened(&self) -> bool {
        matches!(self.encoder.head, EmbeddingConfig::Whitened { .. })
    }

    /// The share of the start's cosine in the embedding's.
    fn kept(&self) -> f64 {
        if !self.is_whitened() {
            return 0.0;
        }
        let usual = net::HeadConfig::default().keep;
        self.keep.unwrap_or(usual)
    }

    fn validate(&self) -> Result<()> {
        self.encoder.validate()?;
        self.tuning.validate().map_err(|e| e.under("tuning."))?;
        if let Some(keep) = self.keep
            && (self.map.is_some() || !self.is_whitened())
        {
            let rule = "goes with encoder.head.kind = \"whitened\" and without a map; leave it out";
            return Err(Error::parameter("keep", keep, rule));
        }
        if let Some(map) = &self.map
            && map.keep > 0.0
        {
            let rule = "must be 0 behind a network, which has no start to keep";
            return Err(Error::parameter("map.keep", map.keep, rule));
        }
        let Some(first) = &self.pretraining else {
            return Ok(());
        };
        if self.is_whitened() {
            let rule = "needs another encoder.head than whitened, which begins anew";
            return Err(Error::parameter("pretraining", first.loss.name(), rule));
        }
        if first.epochs == 0 {
            let rule = "must be at least 1";
            return Err(Error::parameter("pretraining.epochs", 0, rule));
        }
        let steps = TrainConfig {
            optimizer: first.optimizer,
            learning_rate: first.learning_rate,
            ..TrainConfig::default()
        };
        Losses::from(first.loss.clone()).validate()?;
        steps.validate().map_err(|e| e.under("pretraining."))
    }
}

/// A learner by gradients as it is written: its kind, and its settings beside it.
#[derive(Serialize)]
struct Written<'a> {
    kind: &'static str,
    #[serde(flatten)]
    gradient: &'a GradientConfig,
}

impl Serialize for Learner {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Closed(learner) => learner.serialize(to),
            Self::Cross(learner) => learner.serialize(to),
            Self::Gradient(gradient) => Written {
                kind: GRADIENT,
                gradient,
            }
            .serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Learner {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let mut fields = serde_json::Map::deserialize(from)?;
        let kind = match fields.get("kind").and_then(serde_json::Value::as_str) {
            Some(kind) if Self::kinds().contains(&kind) => kind.to_owned(),
            other => {
                let kinds = Self::kinds().join(", ");
                let said = other.map_or("learner has no kind".to_owned(), |kind| {
                    format!("learner.kind = {kind}")
                });
                let message = format!("{said}: there are: {kinds}");
                return Err(serde::de::Error::custom(message));
            }
        };
        if cross::Learner::names().contains(&kind.as_str()) {
            let read = serde_json::from_value(fields.into()).map(Self::Cross);
            return read.map_err(|e| serde::de::Error::custom(format!("learner: {e}")));
        }
        fields.remove("kind");
        // A value of the wrong kind is told by the path to it.
        let mut track = Track::new();
        let fields = serde_json::Value::from(fields);
        let from = serde_path_to_error::Deserializer::new(fields, &mut track);
        let read = if kind == GRADIENT {
            GradientConfig::deserialize(from).map(|own| Self::Gradient(Box::new(own)))
        } else {
            let unknown = || Err(serde::de::Error::custom("no such learner"));
            Closed::read(&kind, from).map_or_else(unknown, |read| read.map(Self::Closed))
        };
        read.map_err(|e| {
            let place = match track.path() {
                path if path.iter().next().is_none() => "learner".to_owned(),
                path => format!("learner.{path}"),
            };
            serde::de::Error::custom(format!("{place}: {e}"))
        })
    }
}
