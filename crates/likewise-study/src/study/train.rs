//! One training of a draw: the learner, its rounds, what they learn, and by what they are judged.

use std::path::PathBuf;
use std::sync::OnceLock;

use likewise::learn::{Evidence, Fit as _, Targets};
use likewise::{Labels, Monitor};
use likewise_nn::Model;
use likewise_nn::net::Weights;
use likewise_nn::sample::groups;
use ndarray::Axis;

use super::believe::{Source, labeled};
use super::embed::no_images;
use super::ground::Ground;
use super::learner::Refits;
use super::rounds::{Checkpoint, Models, Score, Traces, Trained, Validation, Wanted, run};
use super::setup::Setup;
use crate::recipe::{GraphOn, Learner, PseudoLabels, Recipe};
use crate::{Error, Result};

/// One training of a draw.
pub(super) struct Training<'a> {
    pub(super) setup: &'a Setup<'a>,
    /// Of all trainings of this source, this one.
    pub(super) name: &'a str,
    pub(super) source: Source,
    pub(super) known: &'a Labels,
    /// What it learns as long as the graph stands still.
    pub(super) first: Targets,
    /// Who judges, in place of the setup's validation.
    pub(super) judge: Option<&'a Validation>,
    pub(super) wanted: Wanted,
}

impl Ground<'_> {
    pub(super) fn train(&self, training: &Training, monitor: &Monitor) -> Result<Trained> {
        let (recipe, setup, known) = (self.recipe, training.setup, training.known);
        let source = training.source;
        let name = format!("{}-{}-{}", setup.name, source.name(), training.name);
        // The trainings of folds choose an epoch, and nobody reads their logs.
        let logs = training.judge.is_none();
        let groups = groups(known.classes());
        let labels_alone = labeled(known);
        let rotated = OnceLock::new();
        let evidence = Evidence {
            features: self.plan.features,
            images: self.images.as_deref(),
            items: &self.train,
            start: &setup.start,
            rows: setup.rows.view(),
            rotated: &rotated,
            targets: &labels_alone,
            groups: &groups,
            graph: setup.graph,
        };
        let stale = recipe.pretraining.is_some() && recipe.graph_on == GraphOn::Embedding;
        let mut last = (usize::from(!stale), training.first.clone());
        let targets = |epoch: usize, models: &Models| -> Result<Targets> {
            if source == Source::Labels {
                return Ok(training.first.clone());
            }
            if epoch <= recipe.train.labeled_epochs {
                return Ok(labels_alone.clone());
            }
            let changes = self.believed_since(epoch);
            if last.0 != changes {
                last = (changes, self.believe(setup, known, epoch, models, monitor)?);
            }
            Ok(last.1.clone())
        };
        let score = |model: Option<&Model>| self.score(training, model, monitor);
        let traces = self.traces(&name, logs);
        let rounds = recipe.rounds(training.wanted, setup.seed, &self.plan.device);
        match recipe.head.learner() {
            Learner::Closed(closed) => {
                closed.validate()?;
                let learner = Refits(&closed);
                run(&rounds, &learner, evidence, targets, score, traces, monitor)
            }
            Learner::Gradient(head) => {
                let taught = match &recipe.pretraining {
                    Some(_) => Some(self.pretrain(evidence, setup, &name, logs, monitor)?),
                    None => None,
                };
                let weights = taught.as_ref().or(self.plan.pretrained.as_ref());
                let learner = recipe.gradient(&head, weights, taught.is_some(), &self.plan.device);
                run(&rounds, &learner, evidence, targets, score, traces, monitor)
            }
        }
    }

    /// The first epoch that learned from the same beliefs as epoch `epoch`.
    fn believed_since(&self, epoch: usize) -> usize {
        let recipe = self.recipe;
        match recipe.pseudo_labels {
            PseudoLabels::None | PseudoLabels::Oracle => 1,
            PseudoLabels::Propagation if recipe.graph_on == GraphOn::Feature => 1,
            PseudoLabels::Propagation => epoch,
            PseudoLabels::Affinity => {
                (epoch - 1) / recipe.affinity.every * recipe.affinity.every + 1
            }
        }
    }

    /// How good a model is, or the start itself; `None` where nobody judges.
    fn score(
        &self,
        training: &Training,
        model: Option<&Model>,
        monitor: &Monitor,
    ) -> Result<Option<Score>> {
        let setup = training.setup;
        // Of the training part, only the rows that are queries or gallery.
        let part;
        let (rows, items, validation) = match (training.judge, &setup.validation) {
            (Some(judge), _) => {
                let (places, validation) = judge.compact();
                let items = places.iter().map(|&place| self.train[place]).collect();
                part = (setup.rows.select(Axis(0), &places), validation);
                (&part.0, items, &part.1)
            }
            (None, Some(judge)) => (&judge.rows, judge.items.clone(), &judge.validation),
            (None, None) => return Ok(None),
        };
        match model {
            Some(model) => validation.score(&self.embed(model, rows, &items, monitor)?),
            None => validation.score(rows),
        }
    }

    /// The weights of an encoder that has learned from the labels alone.
    fn pretrain(
        &self,
        evidence: Evidence,
        setup: &Setup,
        name: &str,
        logs: bool,
        monitor: &Monitor,
    ) -> Result<Weights> {
        let (head, recipe) = self.recipe.pretrained()?;
        let traces = self.traces(&format!("{name}-pretraining"), logs);
        let device = &self.plan.device;
        let learner = recipe.gradient(&head, self.plan.pretrained.as_ref(), false, device);
        let rounds = recipe.rounds(Wanted::Last, setup.seed, device);
        let targets = evidence.targets.clone();
        let trained = run(
            &rounds,
            &learner,
            evidence,
            |_, _| Ok(targets.clone()),
            |_| Ok(None),
            traces,
            monitor,
        )?;
        match trained.models.last() {
            Some(Model::Network(network)) => Ok(network.weights.clone()),
            _ => Err(no_images()),
        }
    }

    fn traces(&self, name: &str, logs: bool) -> Traces {
        let plan = self.plan;
        let folder = |folder: &PathBuf| folder.join(name);
        Traces {
            checkpoint: plan.checkpoints.as_ref().map(|at| {
                let path = at.join(format!("{name}.safetensors"));
                Checkpoint::new(path, self.fingerprint(name))
            }),
            log: plan.events.as_ref().filter(|_| logs).map(folder),
        }
    }

    fn fingerprint(&self, name: &str) -> String {
        let plan = self.plan;
        let what = (self.recipe, plan.protocol, &plan.data_digest, name);
        serde_json::to_string(&what).unwrap_or_default()
    }
}

impl Recipe {
    /// The pretraining as a recipe of its own, and its head.
    fn pretrained(&self) -> Result<(likewise_nn::net::HeadConfig, Self)> {
        let first = self.pretraining.as_ref();
        let first = first.ok_or_else(|| Error::data("the recipe has no pretraining"))?;
        let recipe = self.of_pretraining(first);
        match recipe.head.learner() {
            Learner::Gradient(head) => Ok((head, recipe)),
            Learner::Closed(_) => Err(Error::data("pretraining has no head")),
        }
    }
}
