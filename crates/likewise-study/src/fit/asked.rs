//! How a fit is measured: what was asked, and what the data suggest.

use std::num::NonZeroUsize;

use likewise::eval::few_labels;
use likewise::{Collection, Label, Labels, Part};

use crate::gate::Gate;
use crate::source;
use crate::study::{Protocol, SplitKind};
use crate::{Error, ErrorKind, Result, usage};

/// What was asked of the protocol.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked {
    /// How items are divided; `None`: as the data suggest.
    pub split: Option<SplitKind>,
    /// Labels kept for each class.
    pub labels_per_class: Option<NonZeroUsize>,
    /// Label draws.
    pub draws: Option<NonZeroUsize>,
    /// Seed of every random step.
    pub seed: u64,
}

impl Asked {
    /// Fails on gates of which the split that was asked for cannot measure the metric: what is
    /// known before the data are.
    pub fn check_gates(&self, gates: &[Gate]) -> Result<()> {
        self.split.map_or(Ok(()), |split| measurable(split, gates))
    }

    /// How the study of these data goes.
    ///
    /// Labels are set aside for a test only where that is asked for, or where most items are
    /// labeled and a class can spare some. Fails without labels where the split needs them,
    /// where there is nothing to draw, and on gates that will not be measured.
    pub fn protocol(&self, collection: &Collection, gates: &[Gate]) -> Result<Protocol> {
        let labels_per_class = self.labels_per_class.map(NonZeroUsize::get);
        let labels = collection.labels.as_ref();
        let plenty = labels.is_some_and(|labels| {
            let known = labels.n_known();
            let classes = labels.n_classes();
            classes > 1 && 2 * known >= labels.len() && known >= PLENTY * classes
        });
        // Their classes are too many to be measured in turn.
        let several = labels.is_some_and(|labels| labels.tags().is_some());
        let mut refit = false;
        let split = match self.split {
            Some(split) => split,
            None if tests(collection) => SplitKind::Given,
            None if labels_per_class.is_some() => SplitKind::Item,
            None if several || plenty && collection.split.is_none() => {
                refit = true;
                SplitKind::Item
            }
            None => SplitKind::Folds,
        };
        if split != SplitKind::Folds {
            source::labels(collection)?;
        }
        if self.draws.is_some() && (split == SplitKind::Folds || labels_per_class.is_none()) {
            return Err(usage(
                "draws go with `labels_per_class` and a test part: without them there is one set of \
                 labels, and nothing to draw",
            ));
        }
        measurable(split, gates)?;
        if split == SplitKind::Folds
            && let Some(gate) = gates.first()
        {
            let shown = labels.map(|labels| match labels_per_class {
                Some(m) => labels.draw(m, self.seed),
                None => labels.clone(),
            });
            let answers = |shown: &Labels| {
                let labeled = shown
                    .by_class()
                    .iter()
                    .filter(|class| !class.is_empty())
                    .count();
                labeled > 1 && !few_labels::rounds(shown, self.seed).is_empty()
            };
            if !shown.as_ref().is_some_and(answers) {
                return Err(Error::new(
                    ErrorKind::Quality,
                    format!(
                        "quality gate missed: {} could not be measured, which takes two classes, and \
                         three labels of one of them; nothing was fitted: label more, or leave the \
                         gate out",
                        gate.metric()
                    ),
                ));
            }
        }
        Ok(Protocol {
            split,
            labels_per_class,
            draws: self.draws.map_or(DRAWS, NonZeroUsize::get),
            seed: self.seed,
            refit,
            ..Protocol::default()
        })
    }
}

/// Fails on gates that a split cannot answer.
fn measurable(split: SplitKind, gates: &[Gate]) -> Result<()> {
    let cannot = |gate: &&Gate| split == SplitKind::Folds && gate.metric() != "r_precision";
    match gates.iter().find(cannot) {
        None => Ok(()),
        Some(gate) => Err(usage(format!(
            "gate {}: with a handful of labels only r_precision can be measured; for others \
             choose the split item",
            gate.metric()
        ))),
    }
}

/// Label draws, unless another number is asked for.
pub(super) const DRAWS: usize = 5;

/// Labels a class of which some can be spared for a test.
const PLENTY: usize = 20;

/// Whether the split of the data leaves labeled items to test on.
fn tests(collection: &Collection) -> bool {
    let (Some(parts), Some(labels)) = (&collection.split, &collection.labels) else {
        return false;
    };
    let asks = |&(part, label): &(&Part, &Label)| {
        matches!(part, Part::Test | Part::Query) && label.class().is_some()
    };
    parts.iter().zip(labels.items()).any(|at| asks(&at))
}
