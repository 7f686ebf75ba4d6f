//! Recipes: all choices of a run, in one value that can be written down.

mod head;
mod limits;
mod preset;
mod written;

use likewise::graph::KnnGraph;
use likewise::propagate::{Affinity, Method, Mixed};
use likewise_nn::loss::{ConfidenceProxy, Loss, NormalizedSoftmax};
use likewise_nn::mine::Mine;
use likewise_nn::net::{EmbeddingConfig, EncoderConfig};
use likewise_nn::sample::Sampler;
use likewise_nn::train::{Optimizer, TrainConfig};
use serde::{Deserialize, Deserializer, Serialize};

pub(crate) use self::head::Learner;
pub use self::head::{HeadConfig, Residual};
use crate::{Error, Result};

/// What the graph is built on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GraphOn {
    /// The start of the head (the whitened features), once.
    #[default]
    Feature,
    /// The embedding so far, anew before every epoch; of an encoder, the rows before an
    /// orthonormal map.
    Embedding,
}

/// Where the classes of unlabeled items come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PseudoLabels {
    /// Nowhere: the known labels alone are learned.
    None,
    /// From labels that spread over a graph, by `propagation`.
    #[default]
    Propagation,
    /// From affinities that spread over nearest neighbours, by `affinity`: triplets for the
    /// losses of pairs and triplets; for the losses of classes, the class whose labeled items
    /// are nearest.
    Affinity,
    /// From the hidden labels: what perfect pseudo-labels would give. A bound, not a result.
    Oracle,
}

/// Pseudo-labels from affinities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AffinityLabels {
    /// Neighbours of an item, at least 2.
    pub k: usize,
    /// How affinities spread.
    pub spread: Affinity,
    /// Unlabeled items of a partition, drawn at random; with all labeled ones they make its
    /// neighbourhoods.
    pub partition: usize,
    /// Epochs before the next partition.
    pub every: usize,
}

impl Default for AffinityLabels {
    fn default() -> Self {
        Self {
            k: 10,
            spread: Affinity::new(),
            partition: 9000,
            every: 10,
        }
    }
}

/// Training of an encoder on the labels alone, before a recipe's own.
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

/// All choices of a run.
///
/// `Recipe::default()` is `mixed-lp` with the settings that won on real data;
/// [`Recipe::paper`] is the same method with the printed values. Every source of
/// pseudo-labels goes with every loss, head and encoder.
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
    /// Where the classes of unlabeled items come from.
    pub pseudo_labels: PseudoLabels,
    /// What the graph, or the neighbourhoods, are built on.
    pub graph_on: GraphOn,
    /// The k-nearest-neighbour graph.
    pub graph: KnnGraph,
    /// How labels spread over it.
    pub propagation: Method,
    /// Pseudo-labels from affinities.
    pub affinity: AffinityLabels,
    /// Shrinkage of the whitened start; absent: chosen on the labels at hand, among
    /// infinity (centred features) and 10 to 0.03.
    pub whitening: Option<f64>,
    /// Whether every column is divided by its standard deviation before; absent: chosen
    /// with the shrinkage.
    pub standardize: Option<bool>,
    /// The head.
    pub head: HeadConfig,
    /// An encoder that is trained on images, one a row of `channels x height x width` pixels
    /// of 0 to 255; absent: the head stands on the features as they are. With one, `head`
    /// matters only where it is an orthonormal map, which then stands behind the encoder, and
    /// by its `keep`, where the encoder begins as a whitening of its features.
    pub encoder: Option<EncoderConfig>,
    /// How the encoder learns from the labels before all else; absent: not at all. The first
    /// graph on the embedding is then that of the network it gives.
    pub pretraining: Option<Pretraining>,
    /// The loss.
    #[serde(deserialize_with = "loss_or_its_fields")]
    pub loss: Loss,
    /// How batches are drawn.
    pub sampler: Sampler,
    /// Which pairs or triplets of a batch the loss looks at; absent: all. Not for the losses
    /// of classes.
    pub miner: Option<Mine>,
    /// The training loop.
    pub train: TrainConfig,
}

/// Recipes of the first version had one loss, which had no name.
fn loss_or_its_fields<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Loss, D::Error> {
    let mut fields = serde_json::Map::deserialize(from)?;
    let unnamed = || Loss::ConfidenceProxy(ConfidenceProxy::default());
    fields
        .entry("name")
        .or_insert_with(|| unnamed().name().into());
    serde_json::from_value(fields.into()).map_err(serde::de::Error::custom)
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            name: "mixed-lp".into(),
            pseudo_labels: PseudoLabels::default(),
            graph_on: GraphOn::Feature,
            graph: KnnGraph::new().k(20),
            propagation: Method::Mixed(Mixed::default()),
            affinity: AffinityLabels::default(),
            whitening: None,
            standardize: None,
            head: HeadConfig::default(),
            encoder: None,
            pretraining: None,
            loss: Loss::ConfidenceProxy(ConfidenceProxy::default()),
            sampler: Sampler::default(),
            miner: None,
            train: TrainConfig::default(),
        }
    }
}

impl Recipe {
    /// Whether the recipe learns from the hidden labels: what it measures is then a bound, not a
    /// result, and tables must say so.
    pub fn is_bound(&self) -> bool {
        self.pseudo_labels == PseudoLabels::Oracle
    }

    /// What the recipe cannot do on features of so many columns, if there is something: an
    /// orthonormal map that keeps all directions of the start turns them and changes no cosine.
    pub fn idle(&self, columns: usize) -> Option<String> {
        let Residual::Orthogonal { dim } = self.head.residual else {
            return None;
        };
        let start = columns.min(self.head.rank);
        (self.encoder.is_none() && dim >= start).then(|| {
            format!(
                "head.residual.dim = {dim}, but the start has {start} columns: an orthonormal map \
                 only turns them, so nothing can be learned; set it below {start}"
            )
        })
    }

    /// Checks every choice; an error names the field, its value and the rule.
    pub fn validate(&self) -> Result<()> {
        if let Some(eps) = self.whitening
            && (eps.is_nan() || eps <= 0.0)
        {
            return Err(Error::parameter("whitening", eps, "must be above 0"));
        }
        for (field, value, least) in [
            ("affinity.k", self.affinity.k, 2),
            ("affinity.partition", self.affinity.partition, 1),
            ("affinity.every", self.affinity.every, 1),
        ] {
            if value < least {
                let rule = format!("must be at least {least}");
                return Err(Error::parameter(field, value, &rule));
            }
        }
        let (epochs, labeled) = (self.train.epochs, self.train.labeled_epochs);
        if self.pseudo_labels != PseudoLabels::None && labeled > 0 && epochs <= labeled {
            let rule = format!(
                "must be above train.labeled_epochs = {labeled}, else no pseudo-label is learned"
            );
            return Err(Error::parameter("train.epochs", epochs, &rule));
        }
        self.check_sizes()?;
        self.head.validate()?;
        if let Some(encoder) = &self.encoder {
            encoder.validate()?;
            if let Residual::Closed(learner) = &self.head.residual {
                let rule = "has no gradient, so it does not go behind an encoder that is trained";
                return Err(Error::parameter("head.residual.kind", learner.name(), rule));
            }
            if self.head.power < 1.0 {
                let rule = "must be 1 with an encoder that is trained: it learns its own features";
                return Err(Error::parameter("head.power", self.head.power, rule));
            }
        }
        self.validate_pretraining()?;
        self.loss.validate()?;
        self.sampler.validate()?;
        if let Some(miner) = &self.miner {
            miner.validate()?;
            if self.loss.proxies_per_class() > 0 {
                let rule = format!(
                    "the loss {} compares with proxies, not in pairs",
                    self.loss.name()
                );
                return Err(Error::parameter("miner", format!("{miner:?}"), &rule));
            }
        }
        self.train.validate()
    }

    fn validate_pretraining(&self) -> Result<()> {
        let Some(first) = &self.pretraining else {
            return Ok(());
        };
        let wrong = |rule| Err(Error::parameter("pretraining", first.loss.name(), rule));
        match self.encoder.as_ref().map(|encoder| encoder.head) {
            None => return wrong("needs an encoder, which is what it trains"),
            Some(EmbeddingConfig::Whitened { .. }) => {
                return wrong("needs another encoder.head than whitened, which begins anew");
            }
            Some(_) => {}
        }
        if first.epochs == 0 {
            let rule = "must be at least 1";
            return Err(Error::parameter("pretraining.epochs", 0, rule));
        }
        self.of_pretraining(first).validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_valid_recipe_that_survives_its_file() {
        for name in Recipe::names() {
            let recipe = Recipe::named(&name).unwrap();
            assert_eq!(recipe.name, name);
            recipe.validate().unwrap();
            let text = toml::to_string(&recipe).unwrap();
            assert_eq!(Recipe::from_toml(&text).unwrap(), recipe, "{text}");
        }
    }

    #[test]
    fn a_file_changes_what_it_says_and_nothing_else() {
        let text = r#"
            base = "affinity-triplet"
            loss = { name = "triplet", margin = 0.2 }
            head = { keep = 0.25 }
            propagation = { method = "lgc" }
        "#;
        let recipe = Recipe::from_toml(text).unwrap();
        let base = Recipe::affinity_triplet();
        assert_eq!(
            recipe.head,
            HeadConfig {
                keep: 0.25,
                ..base.head
            }
        );
        assert_eq!(recipe.pseudo_labels, PseudoLabels::Affinity);
        assert_eq!(
            (recipe.loss.name(), recipe.propagation.name()),
            ("triplet", "lgc")
        );
        let encoder = "encoder = { name = 'mnist', head = { kind = 'linear', dim = 32 } }";
        let recipe = Recipe::from_toml(encoder).unwrap();
        assert_eq!(recipe.encoder.unwrap().output_dim(), 32);
        let said = |text: &str| Recipe::from_toml(text).unwrap_err().to_string();
        assert!(said("base = 'nosuch'").contains("there are: mixed-lp"));
        assert!(said("loss = { name = 'triplet', marginn = 1 }").contains("marginn"));
        assert!(said("sampler = { name = 'per-class', per_class = 1 }").contains("per_class"));
    }

    #[test]
    fn a_kind_alone_stands_for_its_table() {
        let read = |text: &str| Recipe::from_toml(text).unwrap();
        let short = "base = 'affinity-triplet'\npseudo_labels = 'lgc'\nloss = 'triplet'\n\
                     miner = 'semihard'\nhead = 'mlp'\nsampler = 'per-class'\n\
                     train = { schedule = 'constant' }";
        let long = "base = 'affinity-triplet'\npseudo_labels = 'propagation'\n\
                    propagation = { method = 'lgc' }\nloss = { name = 'triplet' }\n\
                    miner = { name = 'semihard' }\nhead = { residual = { kind = 'mlp' } }\n\
                    sampler = { name = 'per-class', per_class = 4 }\n\
                    train = { schedule = { name = 'constant' } }";
        assert_eq!(read(short), read(long));
        for head in ["linear", "mlp", "orthogonal", "rca"] {
            read(&format!("base = 'mixed-lp-paper'\nhead = '{head}'"));
        }
        let tuned = read("encoder = 'lite0'").encoder.unwrap();
        assert_eq!(Some(tuned), read("encoder = { name = 'lite0' }").encoder);
        for method in Method::NAMES {
            let recipe = read(&format!("pseudo_labels = '{method}'"));
            assert_eq!(recipe.pseudo_labels, PseudoLabels::Propagation);
            assert_eq!(recipe.propagation.name(), *method);
        }
        // The kind that is there already keeps its other settings.
        assert_eq!(
            read("base = 'mixed-lp-paper'\npseudo_labels = 'mixed'"),
            read("base = 'mixed-lp-paper'")
        );
        let tuned = "pseudo_labels = 'lgc'\npropagation = { mu = 0.5 }";
        let whole = "propagation = { method = 'lgc', mu = 0.5 }";
        assert_eq!(read(tuned), read(whole));
        let said = |text: &str| Recipe::from_toml(text).unwrap_err().to_string();
        assert!(said("pseudo_labels = 'nosuch'").contains("there are: none, "));
        assert!(said("loss = 'nosuch'").contains("nosuch"));
        let two = "pseudo_labels = 'lgc'\npropagation = ";
        assert!(said(&format!("{two}'mixed'")).contains("contradicts"));
        assert!(said(&format!("{two}{{ method = 'mixed' }}")).contains("contradicts"));
    }

    #[test]
    fn fields_that_a_kind_does_not_have_are_refused_also_where_it_has_none() {
        for (text, field) in [
            (
                "train = { optimizer = { name = 'adamw', epsilon = 1.0 } }",
                "train.optimizer.epsilon",
            ),
            (
                "sampler = { name = 'plain', per_class = 8 }",
                "sampler.per_class",
            ),
            (
                "train = { schedule = { name = 'cosine', every = 3 } }",
                "train.schedule.every",
            ),
            (
                "head = { residual = { kind = 'linear', hidden = 12 } }",
                "head.residual.hidden",
            ),
            (
                "encoder = { name = 'mnist', head = { kind = 'none', dim = 64 } }",
                "encoder.head.dim",
            ),
        ] {
            let said = Recipe::from_toml(text).unwrap_err().to_string();
            assert!(said.starts_with(&format!("{field}: unknown")), "{said}");
        }
        let said = Recipe::from_toml("train = { optimizer = { name = 'adamw', epsilon = 1 } }");
        let said = said.unwrap_err().to_string();
        assert!(said.ends_with("the settings of adamw are: none"), "{said}");
    }

    #[test]
    fn fields_without_an_effect_are_refused_unless_they_are_shared() {
        let tuned = "encoder = { name = 'mnist', head = { kind = 'linear', dim = 8 } }";
        for (text, field) in [
            ("affinity = { k = 5 }", "affinity"),
            (
                "base = 'triplet'\ntrain = { labeled_epochs = 2 }",
                "train.labeled_epochs",
            ),
            ("base = 'triplet'\ngraph_on = 'embedding'", "graph_on"),
            (
                "pseudo_labels = 'oracle'\ntrain = { confidence_power = 1 }",
                "train.confidence_power",
            ),
            ("train = { augment = true }", "train.augment"),
            ("train = { map = { max_iterations = 0 } }", "train.map"),
            ("train = { memory = 64 }", "train.memory"),
            ("base = 'affinity-triplet'\nminer = 'semihard'", "miner"),
            ("base = 'mixed-rca'\nloss = 'triplet'", "loss"),
            (&format!("{tuned}\nhead = {{ width = 32 }}"), "head.width"),
            (&format!("{tuned}\nhead = {{ keep = 0.5 }}"), "head.keep"),
            (
                &format!("{tuned}\nhead = {{ residual = {{ hidden = 32 }} }}"),
                "head.residual",
            ),
        ] {
            let said = Recipe::from_toml(text).unwrap_err().to_string();
            let expected = format!("{field}: has no effect");
            assert!(said.starts_with(&expected), "{text}: {said}");
        }
        let miner = Recipe::from_toml("miner = 'semihard'").unwrap_err();
        assert!(miner.to_string().starts_with("miner"), "{miner}");
        // A map that goes away is a change, and what stays as it was is none.
        let text = format!("base = 'affinity-triplet'\n{tuned}\nhead = 'linear'");
        assert!(Recipe::from_toml(&text).is_ok());
        assert!(Recipe::from_toml("affinity = { k = 10 }").is_ok());
        let shared = toml::toml! { affinity = { k = 5 } };
        let recipe = Recipe::default().with_shared(shared).unwrap();
        assert_eq!(recipe.affinity.k, 5);
    }

    #[test]
    fn pseudo_labels_that_would_come_after_the_last_epoch_are_refused() {
        let said = |text: &str| Recipe::from_toml(text).unwrap_err().to_string();
        let short = "base = 'mixed-lp-paper'\ntrain = { epochs = 5 }";
        assert!(said(short).starts_with("train.epochs = 5: must be above"));
        // As a command does that takes the epochs alone.
        let mut paper = Recipe::paper();
        paper.train.epochs = 4;
        assert!(paper.validate().is_err());
        paper.train.epochs = 6;
        assert!(paper.validate().is_ok());
        let labels = "base = 'mixed-lp-paper'\npseudo_labels = 'none'\ntrain = { epochs = 4 }";
        assert!(Recipe::from_toml(labels).is_ok());
    }

    #[test]
    fn labels_go_along_mutual_neighbours_where_the_method_asks_for_them() {
        let symmetrize = |text: &str| {
            let recipe = Recipe::from_toml(text).unwrap();
            let json = serde_json::to_value(&recipe.graph).unwrap();
            json["symmetrize"].as_str().unwrap().to_owned()
        };
        for text in [
            "base = 'dssml'",
            "pseudo_labels = 'dssml'",
            "propagation = 'dssml'",
            "base = 'contextual'\npseudo_labels = 'dssml'\ngraph = { k = 7 }",
        ] {
            assert_eq!(symmetrize(text), "mutual", "{text}");
        }
        assert_eq!(symmetrize("pseudo_labels = 'lgc'"), "sum");
        let own = "pseudo_labels = 'dssml'\ngraph = { symmetrize = 'sum' }";
        assert_eq!(symmetrize(own), "sum");
    }

    #[test]
    fn a_map_that_could_only_turn_the_start_is_told_of() {
        let recipe = Recipe::affinity_triplet();
        assert!(recipe.idle(64).unwrap().contains("only turns"));
        assert!(recipe.idle(65).is_none());
        assert!(Recipe::default().idle(10).is_none());
    }

    #[test]
    fn a_file_gives_its_name_unless_it_says_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Recipe::read(&path)
        };
        assert_eq!(read("base = 'triplet'").unwrap().name, "mine");
        assert_eq!(read("name = 'other'").unwrap().name, "other");
        let said = read("loss = 3").unwrap_err().to_string();
        assert!(said.contains("mine.toml: "), "{said}");
        let missing = Recipe::read(&folder.path().join("no.toml")).unwrap_err();
        assert!(missing.to_string().contains("no.toml"));
    }

    #[test]
    fn recipes_of_the_first_version_are_read() {
        let old = r#"{"name": "mixed-lp", "loss": {"scale": 16.0, "margin": 0.2}}"#;
        let recipe: Recipe = serde_json::from_str(old).unwrap();
        assert_eq!(recipe.loss.name(), "confidence-proxy");
    }
}
