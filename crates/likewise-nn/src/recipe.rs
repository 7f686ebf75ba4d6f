//! Recipes: all choices of a run, in one value that can be written down.

use likewise::neighbor::KnnGraph;
use likewise::propagate::{Method, Mixed};
use serde::{Deserialize, Serialize};

use crate::loss::ConfidenceProxy;
use crate::net::{HeadConfig, Residual};
use crate::train::TrainConfig;
use crate::{Error, Result};

/// What the graph is built on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GraphOn {
    /// The start of the head (the whitened features), once.
    #[default]
    Feature,
    /// The embedding so far, anew before every epoch.
    Embedding,
}

/// All choices of a run.
///
/// `Recipe::default()` is `mixed-lp` with the settings that won on real data;
/// [`Recipe::paper`] is the same method with the printed values.
///
/// ```
/// use likewise_nn::Recipe;
/// let recipe = Recipe::named("mixed-lp")?;
/// assert!(recipe.validate().is_ok());
/// assert!(Recipe::named("nosuch").is_err());
/// # Ok::<(), likewise_nn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Recipe {
    /// Name of the recipe.
    pub name: String,
    /// What the graph is built on.
    pub graph_on: GraphOn,
    /// The k-nearest-neighbour graph.
    pub graph: KnnGraph,
    /// How labels spread over it.
    pub propagation: Method,
    /// Shrinkage of the whitened start; absent: chosen on the labels at hand, among
    /// infinity (centred features) and 10 to 0.03.
    pub whitening: Option<f64>,
    /// Whether every column is divided by its standard deviation before; absent: chosen
    /// with the shrinkage.
    pub standardize: Option<bool>,
    /// The head.
    pub head: HeadConfig,
    /// The loss.
    pub loss: ConfidenceProxy,
    /// The training loop.
    pub train: TrainConfig,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            name: "mixed-lp".into(),
            graph_on: GraphOn::Feature,
            graph: KnnGraph::new().k(20),
            propagation: Method::default(),
            whitening: None,
            standardize: None,
            head: HeadConfig::default(),
            loss: ConfidenceProxy::default(),
            train: TrainConfig::default(),
        }
    }
}

/// Names of the recipes that [`Recipe::named`] knows.
pub const RECIPES: [&str; 2] = ["mixed-lp", "mixed-lp-paper"];

impl Recipe {
    /// The recipe of this name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "mixed-lp" => Ok(Self::default()),
            "mixed-lp-paper" => Ok(Self::paper()),
            _ => Err(Error::parameter(
                "recipe",
                name,
                &format!("there are: {}", RECIPES.join(", ")),
            )),
        }
    }

    /// The printed values of Zhuang & Moulin (CVPR 2023, 4.1): k 50, gamma 3, lambda 4,
    /// beta 1, scale 32, margin 0.1, learning rate 1e-4, batch 32, 5 epochs on the labels
    /// alone and 20 more, graph anew each epoch.
    ///
    /// The printed chain gives no negative edges (the scale of F is too small for the
    /// softmax), which `likewise explain mixed` tells more of. The backbone of the paper is
    /// a network; here a linear head stands on frozen features.
    pub fn paper() -> Self {
        Self {
            name: "mixed-lp-paper".into(),
            graph_on: GraphOn::Embedding,
            graph: KnnGraph::new(),
            propagation: Method::Mixed(Mixed::paper()),
            head: HeadConfig {
                residual: Residual::Linear,
                keep: 0.0,
                rank: 64,
                width: 64,
            },
            train: TrainConfig {
                epochs: 25,
                labeled_epochs: 5,
                batch: 32,
                steps: 0,
                learning_rate: 1e-4,
                proxy_factor: 100.0,
                confidence_power: 1.0,
                ..TrainConfig::default()
            },
            ..Self::default()
        }
    }

    /// Checks every choice; an error names the field, its value and the rule.
    pub fn validate(&self) -> Result<()> {
        if let Some(eps) = self.whitening
            && (eps.is_nan() || eps <= 0.0)
        {
            return Err(Error::parameter("whitening", eps, "must be above 0"));
        }
        self.head.validate()?;
        self.loss.validate()?;
        self.train.validate()
    }
}
