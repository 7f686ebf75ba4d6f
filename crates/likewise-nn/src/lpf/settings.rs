//! The choices of label prediction.

use serde::{Deserialize, Serialize};

use super::centers::CenterRule;
use super::checker::Check;
use super::outside::Outside;
use super::rows::Scale;
use crate::{Error, Result};

/// Most units of a layer, items of a batch, epochs of a stage and iterations: beyond, a setting is
/// a slip of the pen.
const MOST: usize = 1 << 20;

/// The settings of label prediction; see [`lpf`](crate::lpf) for what they do.
///
/// `Lpf::new()` is what was measured to work; [`Lpf::paper`] has the printed values where there are
/// some.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lpf {
    /// Units of each of the two hidden layers of an encoder, and of its decoder.
    pub hidden: usize,
    /// Share of hidden units that are left out of a step, 0 to below 1.
    pub dropout: f64,
    /// What the features become before all else.
    pub scale: Scale,
    /// How much each loss counts.
    pub losses: LossWeights,
    /// Whether the entropy counts nothing at first, and all it should from the middle of the first
    /// stage on: at full weight from the beginning it commits a random network to wrong classes.
    pub entropy_ramp: bool,
    /// Columns beyond which the reconstruction counts less, `reconstruction_columns / columns`,
    /// since it sums over columns; 0: never.
    pub reconstruction_columns: usize,
    /// Labeled rows of a step.
    pub labeled_batch: usize,
    /// Unlabeled rows of a step.
    pub unlabeled_batch: usize,
    /// Share of the last step that is kept, 0 to below 1.
    pub momentum: f64,
    /// Largest length of the gradient of a network; 0: no limit.
    pub clip: f64,
    /// How the centres of the classes move.
    pub centers: CenterRule,
    /// Learning before the first selection.
    pub first: FirstStage,
    /// Learning after each selection.
    pub tuning: Tuning,
    /// Whether the first stage looks at unlabeled rows too.
    pub unlabeled_from_start: bool,
    /// Share of the labeled items of each class that are kept back, to say which view is best; 0 to
    /// below 1. At least one of each class with two or more.
    pub validation: f64,
    /// Confidence that a selected item must exceed.
    pub threshold: f64,
    /// What must hold for an item to be selected.
    pub check: Check,
    /// Whether the means of the classes take selected items in.
    pub update_means: bool,
    /// Most selections.
    pub iterations: usize,
    /// Learning stops where a selection differs in size from the last by at most this share of the
    /// unlabeled items.
    pub tolerance: f64,
    /// Most selected items of a class, the most confident ones; none: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_class: Option<usize>,
    /// Which items are refused as of no known class; none: no item is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
}

/// How much each loss counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossWeights {
    /// Cross-entropy of labeled rows.
    pub cross_entropy: f64,
    /// Squared distance of labeled rows from the centre of their class.
    pub center: f64,
    /// Entropy of unlabeled rows.
    pub entropy: f64,
    /// Squared error of the reconstruction of all rows.
    pub reconstruction: f64,
}

impl Default for LossWeights {
    fn default() -> Self {
        Self {
            cross_entropy: 1.0,
            center: 0.5,
            entropy: 0.1,
            reconstruction: 0.01,
        }
    }
}

/// Learning before the first selection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FirstStage {
    /// Most epochs, each one pass over the unlabeled rows.
    pub epochs: usize,
    /// Step size in the first half of the epochs.
    pub rate: f64,
    /// Step size in the second half.
    pub last_rate: f64,
    /// Epochs of the second half without a better accuracy on the labels that were kept back, after
    /// which learning stops and the best weights come back; 0: all epochs, and the last weights.
    pub patience: usize,
}

impl Default for FirstStage {
    fn default() -> Self {
        Self {
            epochs: 100,
            rate: 1e-2,
            last_rate: 1e-3,
            patience: 0,
        }
    }
}

/// Learning after each selection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tuning {
    /// Epochs.
    pub epochs: usize,
    /// Step size.
    pub rate: f64,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            epochs: 5,
            rate: 1e-3,
        }
    }
}

impl Default for Lpf {
    fn default() -> Self {
        Self {
            hidden: 250,
            dropout: 0.2,
            scale: Scale::default(),
            losses: LossWeights::default(),
            entropy_ramp: true,
            reconstruction_columns: 256,
            labeled_batch: 32,
            unlabeled_batch: 64,
            momentum: 0.9,
            clip: 5.0,
            centers: CenterRule::default(),
            first: FirstStage::default(),
            tuning: Tuning::default(),
            unlabeled_from_start: true,
            validation: 0.2,
            threshold: 0.9,
            check: Check::default(),
            update_means: false,
            iterations: 10,
            tolerance: 0.001,
            max_per_class: None,
            outside: None,
        }
    }
}

impl Lpf {
    /// What was measured to work.
    pub fn new() -> Self {
        Self::default()
    }

    /// As printed: the entropy counts 1 from the beginning, up to 200 epochs with early stopping,
    /// steps of 1e-4 after a selection, and an end only where two selections are of one size.
    ///
    /// **Not** for results: on the digits what it selects is less precise, does not grow, and the weaker
    /// network learns nothing from it.
    pub fn paper() -> Self {
        Self {
            losses: LossWeights {
                entropy: 1.0,
                ..LossWeights::default()
            },
            entropy_ramp: false,
            reconstruction_columns: 0,
            first: FirstStage {
                epochs: 200,
                patience: 40,
                ..FirstStage::default()
            },
            tuning: Tuning {
                epochs: 10,
                rate: 1e-4,
            },
            tolerance: 0.0,
            ..Self::default()
        }
    }

    /// Units of a hidden layer.
    #[must_use]
    pub fn hidden(mut self, units: usize) -> Self {
        self.hidden = units;
        self
    }

    /// Epochs before the first selection.
    #[must_use]
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.first.epochs = epochs;
        self
    }

    /// Epochs after each selection.
    #[must_use]
    pub fn tuning_epochs(mut self, epochs: usize) -> Self {
        self.tuning.epochs = epochs;
        self
    }

    /// Most selections.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// Confidence that a selected item must exceed.
    #[must_use]
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.threshold = threshold;
        self
    }

    /// What must hold for an item to be selected.
    #[must_use]
    pub fn check(mut self, check: Check) -> Self {
        self.check = check;
        self
    }

    /// How the centres of the classes move.
    #[must_use]
    pub fn centers(mut self, rule: CenterRule) -> Self {
        self.centers = rule;
        self
    }

    /// How much each loss counts.
    #[must_use]
    pub fn losses(mut self, losses: LossWeights) -> Self {
        self.losses = losses;
        self
    }

    /// Which items are refused as of no known class.
    #[must_use]
    pub fn outside(mut self, outside: Outside) -> Self {
        self.outside = Some(outside);
        self
    }

    /// Fails on a setting out of its range, or that would change nothing.
    pub fn validate(&self) -> Result<()> {
        let fails = |field: &str, value: String, rule: &str| -> Result<()> {
            Err(Error::parameter(field, value, rule))
        };
        for (field, value, least) in [
            ("hidden", self.hidden, 1),
            ("labeled_batch", self.labeled_batch, 1),
            ("unlabeled_batch", self.unlabeled_batch, 1),
            ("first.epochs", self.first.epochs, 1),
            ("first.patience", self.first.patience, 0),
            ("tuning.epochs", self.tuning.epochs, 1),
            ("iterations", self.iterations, 1),
            ("max_per_class", self.max_per_class.unwrap_or(1), 1),
        ] {
            if !(least..=MOST).contains(&value) {
                let rule = format!("must be {least} to {MOST}");
                return fails(field, value.to_string(), &rule);
            }
        }
        for (field, value) in [
            ("dropout", self.dropout),
            ("momentum", self.momentum),
            ("validation", self.validation),
            ("threshold", self.threshold),
            ("tolerance", self.tolerance),
        ] {
            if !(0.0..1.0).contains(&value) {
                return fails(field, value.to_string(), "must be at least 0 and below 1");
            }
        }
        for (field, value) in [
            ("first.rate", self.first.rate),
            ("first.last_rate", self.first.last_rate),
            ("tuning.rate", self.tuning.rate),
            ("losses.cross_entropy", self.losses.cross_entropy),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return fails(field, value.to_string(), "must be above 0");
            }
        }
        for (field, value) in [
            ("losses.center", self.losses.center),
            ("losses.entropy", self.losses.entropy),
            ("losses.reconstruction", self.losses.reconstruction),
            ("clip", self.clip),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return fails(field, value.to_string(), "must be 0 or above");
            }
        }
        if self.first.patience > 0 && self.validation == 0.0 {
            let rule = "needs labels that are kept back; set validation above 0";
            return fails("first.patience", self.first.patience.to_string(), rule);
        }
        if self.first.patience >= self.first.epochs.div_ceil(2) && self.first.patience > 0 {
            let rule = "has no effect unless it is below half of first.epochs; leave it out";
            return fails("first.patience", self.first.patience.to_string(), rule);
        }
        self.check_idle()?;
        if let Some(outside) = &self.outside {
            outside.validate()?;
            if self.validation == 0.0 {
                let rule = "must be above 0 with outside, which measures by labels kept back";
                return fails("validation", "0".to_owned(), rule);
            }
        }
        self.centers.validate()
    }

    /// Fails on a setting that another one leaves without effect.
    fn check_idle(&self) -> Result<()> {
        let fails = |field: &str, value: String, rule: &str| -> Result<()> {
            Err(Error::parameter(field, value, rule))
        };
        if self.losses.center == 0.0 && self.centers != CenterRule::default() {
            let rule = "has no effect with losses.center = 0; leave it out";
            return fails("centers", self.centers.name().to_owned(), rule);
        }
        let usual = Self::default();
        if self.entropy_ramp != usual.entropy_ramp {
            let off = if self.losses.entropy == 0.0 {
                Some("losses.entropy = 0")
            } else if !self.unlabeled_from_start {
                // Without unlabeled rows the first stage, where it joins, has no entropy.
                Some("unlabeled_from_start = false")
            } else {
                None
            };
            if let Some(off) = off {
                let rule = format!("has no effect with {off}; leave it out");
                return fails("entropy_ramp", self.entropy_ramp.to_string(), &rule);
            }
        }
        if self.losses.reconstruction == 0.0
            && self.reconstruction_columns != usual.reconstruction_columns
        {
            let rule = "has no effect with losses.reconstruction = 0; leave it out";
            let value = self.reconstruction_columns.to_string();
            return fails("reconstruction_columns", value, rule);
        }
        if self.iterations == 1 {
            let rule = "has no effect with iterations = 1; leave it out";
            if self.tuning != usual.tuning {
                return fails("tuning", format!("{} epochs", self.tuning.epochs), rule);
            }
            if self.update_means {
                return fails("update_means", "true".to_owned(), rule);
            }
            if self.tolerance.to_bits() != usual.tolerance.to_bits() {
                return fails("tolerance", self.tolerance.to_string(), rule);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_their_file_and_wrong_ones_are_named() {
        for lpf in [Lpf::new(), Lpf::paper()] {
            lpf.validate().unwrap();
            let text = serde_json::to_string(&lpf).unwrap();
            assert_eq!(serde_json::from_str::<Lpf>(&text).unwrap(), lpf);
        }
        for (text, field) in [
            (r#"{"hidden": 0}"#, "hidden"),
            (r#"{"dropout": 1}"#, "dropout"),
            (r#"{"threshold": 1}"#, "threshold"),
            (r#"{"iterations": 0}"#, "iterations"),
            (r#"{"max_per_class": 0}"#, "max_per_class"),
            (r#"{"first": {"rate": 0}}"#, "first.rate"),
            (
                r#"{"first": {"epochs": 10, "patience": 5}}"#,
                "first.patience",
            ),
            (
                r#"{"validation": 0, "first": {"patience": 5}}"#,
                "first.patience",
            ),
            (r#"{"losses": {"entropy": -1}}"#, "losses.entropy"),
            (
                r#"{"losses": {"cross_entropy": 0}}"#,
                "losses.cross_entropy",
            ),
            (
                r#"{"centers": {"name": "wen", "alpha": 0}}"#,
                "centers.alpha",
            ),
            (
                r#"{"losses": {"center": 0}, "centers": {"name": "wen"}}"#,
                "centers",
            ),
            (r#"{"iterations": 1, "tuning": {"epochs": 2}}"#, "tuning"),
            (r#"{"outside": {}, "validation": 0}"#, "validation"),
            (r#"{"outside": {"quantile": 0}}"#, "outside.quantile"),
            (r#"{"iterations": 1, "update_means": true}"#, "update_means"),
            (r#"{"iterations": 1, "tolerance": 0.1}"#, "tolerance"),
            (
                r#"{"entropy_ramp": false, "losses": {"entropy": 0}}"#,
                "entropy_ramp",
            ),
            (
                r#"{"entropy_ramp": false, "unlabeled_from_start": false}"#,
                "entropy_ramp",
            ),
            (
                r#"{"reconstruction_columns": 0, "losses": {"reconstruction": 0}}"#,
                "reconstruction_columns",
            ),
        ] {
            let lpf: Lpf = serde_json::from_str(text).unwrap();
            let said = lpf.validate().unwrap_err().to_string();
            assert!(said.starts_with(&format!("{field} =")), "{said}");
        }
        // What is as usual may stand beside what makes it idle.
        for text in [
            r#"{"iterations": 1, "tolerance": 0.001}"#,
            r#"{"losses": {"entropy": 0, "reconstruction": 0}, "unlabeled_from_start": false}"#,
        ] {
            serde_json::from_str::<Lpf>(text)
                .unwrap()
                .validate()
                .unwrap();
        }
        assert!(serde_json::from_str::<Lpf>(r#"{"hiden": 3}"#).is_err());
    }
}
