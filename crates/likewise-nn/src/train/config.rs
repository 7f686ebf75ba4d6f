//! Settings of the training loop.

use serde::{Deserialize, Serialize};

use super::proxy_start::ProxyStart;
use crate::loss::Relation;
use crate::{Error, Result};
#[cfg(feature = "networks")]
use burn::optim::{
    AdamConfig, AdamWConfig, ModuleOptimizer, SgdConfig, decay::WeightDecayConfig,
    momentum::MomentumConfig,
};

/// What turns gradients into steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase", deny_unknown_fields)]
pub enum Optimizer {
    /// Adam with decoupled weight decay.
    AdamW {
        /// What is added to the root of a step's divisor, above 0. Large values (authors of
        /// losses with proxies print .01 and 1) make it more like plain descent.
        #[serde(default = "epsilon")]
        epsilon: f64,
    },
    /// Adam with weight decay as a part of the gradient, as it was first published: decay is then
    /// divided by the size of the gradients too.
    Adam {
        /// As of `adamw`.
        #[serde(default = "epsilon")]
        epsilon: f64,
    },
    /// Stochastic gradient descent.
    Sgd {
        /// Share of the last step that is kept, 0 to below 1.
        momentum: f64,
    },
}

fn epsilon() -> f64 {
    1e-8
}

impl Default for Optimizer {
    fn default() -> Self {
        Self::AdamW { epsilon: epsilon() }
    }
}

#[cfg(feature = "networks")]
impl Optimizer {
    pub(crate) fn init(self, decay: f64) -> ModuleOptimizer {
        match self {
            Self::AdamW { epsilon } => {
                let config = AdamWConfig::new().with_epsilon(epsilon as f32);
                config.with_weight_decay(decay as f32).init()
            }
            Self::Adam { epsilon } => {
                let mut config = AdamConfig::new().with_epsilon(epsilon as f32);
                if decay > 0.0 {
                    config = config.with_weight_decay(Some(WeightDecayConfig::new(decay as f32)));
                }
                config.init()
            }
            Self::Sgd { momentum } => {
                let mut config = SgdConfig::new();
                if momentum > 0.0 {
                    let plain = MomentumConfig::new()
                        .with_momentum(momentum)
                        .with_dampening(0.0);
                    config = config.with_momentum(Some(plain));
                }
                if decay > 0.0 {
                    config = config.with_weight_decay(Some(WeightDecayConfig::new(decay as f32)));
                }
                config.init()
            }
        }
    }
}

/// How the learning rate changes from epoch to epoch.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase", deny_unknown_fields)]
pub enum Schedule {
    /// Not at all.
    #[default]
    Constant,
    /// Multiplied by `factor` after every `every` epochs.
    Step {
        /// Epochs between two changes, at least 1.
        every: usize,
        /// Factor, above 0 and at most 1.
        factor: f64,
    },
    /// Along half a cosine from 1 to 0.
    Cosine,
}

impl Schedule {
    /// Factor on the learning rate in epoch `epoch` (from 1) of `epochs`.
    pub fn factor(self, epoch: usize, epochs: usize) -> f64 {
        let done = epoch.saturating_sub(1);
        match self {
            Self::Constant => 1.0,
            Self::Step { every, factor } => factor.powi((done / every.max(1)) as i32),
            Self::Cosine => {
                let share = done as f64 / epochs.max(1) as f64;
                0.5 * (1.0 + (std::f64::consts::PI * share).cos())
            }
        }
    }
}

/// Batches, steps and step sizes of a learning by gradients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// Items a step; triplets a step where there are explicit ones.
    pub batch: usize,
    /// Most steps an epoch; 0 means that an epoch goes through all items. Large
    /// collections are learned as well from a part of them, and validation, which looks
    /// after every epoch, gets a finer choice.
    pub steps: usize,
    /// How often an epoch on known labels alone goes through them, at least 1: a handful of
    /// labels makes one batch, and one step an epoch teaches little. Papers go through once.
    pub labeled_passes: usize,
    /// What turns gradients into steps.
    pub optimizer: Optimizer,
    /// Step size.
    pub learning_rate: f64,
    /// How the step size changes.
    pub schedule: Schedule,
    /// Step size of the proxies, as a multiple of `learning_rate`.
    pub proxy_factor: f64,
    /// Where proxies begin; absent: at the means of their classes where these are at hand, else in
    /// random directions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_start: Option<ProxyStart>,
    /// Weight decay of the proxies, in the way of the optimizer; absent: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_decay: Option<f64>,
    /// Weight decay of head and encoder, decoupled but for `adam` and `sgd`; it pulls a residual to
    /// zero.
    pub weight_decay: f64,
    /// Largest length of the gradient of all parameters together; 0: no limit.
    pub clip: f64,
    /// Batches whose gradients are added up to one step, at least 1.
    pub accumulate: usize,
    /// Share of the old that a moving average of the weights keeps at a step, 0 (no average)
    /// to below 1. The average is what is judged and kept.
    pub average: f64,
    /// Rows of past batches that pair losses see as further positives and negatives.
    pub memory: usize,
    /// By what items are alike that have several labels each; nothing else goes by it.
    #[serde(skip_serializing_if = "Relation::is_usual")]
    pub relation: Relation,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            batch: 64,
            steps: 200,
            labeled_passes: 10,
            optimizer: Optimizer::default(),
            learning_rate: 1e-3,
            schedule: Schedule::Constant,
            proxy_factor: 10.0,
            proxy_start: None,
            proxy_decay: None,
            weight_decay: 1e-4,
            clip: 0.0,
            accumulate: 1,
            average: 0.0,
            memory: 0,
            relation: Relation::default(),
        }
    }
}

/// How the weights of an encoder move, beside those of the layers behind it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tuning {
    /// Step size of the encoder below its head, as a multiple of `learning_rate`; 0 freezes it.
    pub backbone_factor: f64,
    /// First epochs in which the encoder below its head stands still.
    pub warm_up: usize,
    /// Whether images are moved and mirrored at random.
    pub augment: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            backbone_factor: 1.0,
            warm_up: 0,
            augment: false,
        }
    }
}

impl Tuning {
    /// Fails on a parameter out of its range.
    pub fn validate(&self) -> Result<()> {
        let factor = self.backbone_factor;
        if factor.is_finite() && factor >= 0.0 {
            return Ok(());
        }
        let rule = "must be 0 or above";
        Err(Error::parameter("backbone_factor", factor, rule))
    }
}

impl TrainConfig {
    /// The learning rate of an epoch (from 1) of `epochs`.
    pub(super) fn rate(&self, epoch: usize, epochs: usize) -> f64 {
        self.learning_rate * self.schedule.factor(epoch, epochs)
    }

    /// Fails on a parameter out of its range.
    pub fn validate(&self) -> Result<()> {
        let check = |field: &str, value: f64, holds: bool, rule: &str| {
            if value.is_finite() && holds {
                return Ok(());
            }
            Err(Error::parameter(field, value, rule))
        };
        for (field, value) in [
            ("learning_rate", self.learning_rate),
            ("proxy_factor", self.proxy_factor),
            ("batch", self.batch as f64),
            ("accumulate", self.accumulate as f64),
            ("labeled_passes", self.labeled_passes as f64),
        ] {
            check(field, value, value > 0.0, "must be above 0")?;
        }
        for (field, value) in [
            ("weight_decay", self.weight_decay),
            ("proxy_decay", self.proxy_decay.unwrap_or(0.0)),
            ("clip", self.clip),
        ] {
            check(field, value, value >= 0.0, "must be 0 or above")?;
        }
        let share = "must be at least 0 and below 1";
        let inside = |value: f64| (0.0..1.0).contains(&value);
        check("average", self.average, inside(self.average), share)?;
        match self.optimizer {
            Optimizer::AdamW { epsilon } | Optimizer::Adam { epsilon } => {
                check(
                    "optimizer.epsilon",
                    epsilon,
                    epsilon > 0.0,
                    "must be above 0",
                )?;
            }
            Optimizer::Sgd { momentum } => {
                check("optimizer.momentum", momentum, inside(momentum), share)?;
            }
        }
        if let Some(start) = self.proxy_start {
            start.validate()?;
        }
        if let Schedule::Step { every, factor } = self.schedule {
            let rule = "must be at least 1";
            check("schedule.every", every as f64, every > 0, rule)?;
            let rule = "must be above 0 and at most 1";
            check(
                "schedule.factor",
                factor,
                factor > 0.0 && factor <= 1.0,
                rule,
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_by_hand() {
        let step = Schedule::Step {
            every: 2,
            factor: 0.5,
        };
        let factors: Vec<f64> = (1..=5).map(|epoch| step.factor(epoch, 5)).collect();
        assert_eq!(factors, [1.0, 1.0, 0.5, 0.5, 0.25]);
        for (schedule, epoch, expected) in [
            (Schedule::Constant, 7, 1.0),
            (Schedule::Cosine, 1, 1.0),
            (Schedule::Cosine, 5, 0.5),
        ] {
            assert!((schedule.factor(epoch, 8) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let named = |json: &str, field: &str| {
            let config: TrainConfig = serde_json::from_str(json).unwrap();
            let said = config.validate().unwrap_err().to_string();
            assert!(said.contains(field), "{said}");
        };
        named(r#"{"batch": 0}"#, "batch");
        named(r#"{"accumulate": 0}"#, "accumulate");
        named(r#"{"clip": -1}"#, "clip");
        named(r#"{"average": 1}"#, "average");
        named(
            r#"{"optimizer": {"name": "sgd", "momentum": 1}}"#,
            "optimizer.momentum",
        );
        named(
            r#"{"schedule": {"name": "step", "every": 0, "factor": 0.5}}"#,
            "schedule.every",
        );
        for name in ["adamw", "adam"] {
            named(
                &format!(r#"{{"optimizer": {{"name": "{name}", "epsilon": 0}}}}"#),
                "optimizer.epsilon",
            );
        }
        named(r#"{"proxy_decay": -1}"#, "proxy_decay");
        named(
            r#"{"proxy_start": {"name": "normal", "scale": 0}}"#,
            "proxy_start.scale",
        );
        assert!(TrainConfig::default().validate().is_ok());
        let broken = Tuning {
            backbone_factor: -1.0,
            ..Tuning::default()
        };
        assert!(broken.validate().is_err() && Tuning::default().validate().is_ok());
    }
}
