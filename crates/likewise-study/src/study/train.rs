//! One training of a draw: the learner, its rounds, what they learn, and by what they are judged.

use std::path::PathBuf;
use std::sync::OnceLock;

use likewise::learn::{Evidence, Fit as _, Targets};
use likewise::tuple::FromLabels;
use likewise::{Embedding, Labels, Monitor, Pairs};
use likewise_nn::Model;
use likewise_nn::net::Weights;
use likewise_nn::sample::groups;
use likewise_nn::train::TrainConfig;
use ndarray::{Array2, Axis};

use super::believe::{Source, labeled};
use super::embed::no_images;
use super::ground::Ground;
use super::learner::Refits;
use super::rounds::{Checkpoint, Models, Score, Traces, Trained, Validation, Wanted, run};
use super::setup::Setup;
use super::turned::Turned;
use crate::recipe::{
    GradientConfig, Learner, ModelConfig, NetworkConfig, On, PseudoLabels, Recipe, RoundsConfig,
    TURNS,
};
use crate::{Error, Result};

/// Most links of a labeled item to others of its class, and to others.
const LINKS: usize = 100;

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
        let monitor = &recipe.learner.monitor(monitor);
        let source = training.source;
        let name = format!("{}-{}-{}", setup.name, source.name(), training.name);
        // The trainings of folds choose an epoch, and nobody reads their logs.
        let logs = training.judge.is_none();
        let of_labels = groups(known.classes());
        let groups = self.groups(source, known, &of_labels);
        let labels_alone = labeled(known);
        let given = self.given(source, known, training.judge)?;
        let links = self.links(source, known, setup.seed, monitor)?;
        let rotated = OnceLock::new();
        let evidence = Evidence {
            features: self.plan.features,
            views: self.plan.collection.columns(),
            images: self.images.as_deref(),
            items: &self.train,
            start: &setup.start,
            rows: setup.rows.view(),
            rotated: &rotated,
            scaled: &self.scaled,
            targets: &labels_alone,
            groups: &groups,
            tags: known.tags(),
            pairs: given.pairs().or(links.as_ref()),
            graph: setup.graph,
            before: self.before(training).map(|model| (model, given.learned())),
        };
        // What learns from the labels first does so from the items as they are.
        let of_items = evidence;
        let turns = self.turns(source)?;
        let (turned_items, turned_rows);
        let evidence = match &turns {
            None => evidence,
            Some(images) => {
                turned_items = Turned::items(&self.train);
                turned_rows = each(&setup.rows);
                Evidence {
                    images: Some(images),
                    items: &turned_items,
                    rows: turned_rows.view(),
                    targets: &training.first,
                    graph: None,
                    ..evidence
                }
            }
        };
        let pretraining = recipe
            .learner
            .network()
            .and_then(|n| n.pretraining.as_ref());
        let stale = match recipe.pseudo_labels.on() {
            Some(On::Model) => true,
            Some(On::Embedding) => pretraining.is_some(),
            Some(On::Start) | None => false,
        };
        let mut last = (usize::from(!stale), training.first.clone());
        let targets = |epoch: usize, models: &Models| -> Result<Targets> {
            if source == Source::Labels {
                return Ok(training.first.clone());
            }
            if epoch <= recipe.pseudo_labels.labeled_epochs() {
                return Ok(given.within(labels_alone.clone()));
            }
            let changes = recipe.pseudo_labels.since(epoch);
            if last.0 != changes {
                last = (changes, self.believe(setup, known, epoch, models, monitor)?);
            }
            Ok(given.within(last.1.clone()))
        };
        let score = |model: Option<&Model>| self.score(training, model, monitor);
        let traces = self.traces(&name, logs);
        let warm_up = source.warm_up(recipe);
        let rounds = recipe.rounds(training.wanted, warm_up, setup.seed, &self.plan.device);
        match &recipe.learner {
            Learner::Cross(_) => Err(recipe.only_across()),
            Learner::Closed(closed) => {
                closed.validate()?;
                let learner = Refits {
                    learner: closed,
                    last: &self.last_fit,
                };
                run(&rounds, &learner, evidence, targets, score, traces, monitor)
            }
            Learner::Gradient(gradient) => {
                let taught = match pretraining {
                    Some(_) => {
                        let evidence = Evidence {
                            groups: &of_labels,
                            ..of_items
                        };
                        Some(self.pretrain(evidence, setup, &name, logs, monitor)?)
                    }
                    None => None,
                };
                let weights = taught.as_ref().or(self.plan.pretrained.as_ref());
                let (head, device) = (gradient.head(), &self.plan.device);
                let learner = recipe.gradient(gradient, &head, weights, taught.is_some(), device);
                run(&rounds, &learner, evidence, targets, score, traces, monitor)
            }
        }
    }

    /// The super-classes of what is learned: those of the labels, or of the classes that the source makes.
    fn groups(&self, source: Source, known: &Labels, of_labels: &[u32]) -> Vec<u32> {
        let pseudo_labels = &self.recipe.pseudo_labels;
        let own = pseudo_labels.own_classes(self.train.len(), known.n_classes());
        match own.filter(|_| source == Source::Beliefs) {
            Some(classes) => own_groups(of_labels, classes),
            None => of_labels.to_vec(),
        }
    }

    /// Pairs of labeled items, alike and unlike, where the loss links them.
    fn links(
        &self,
        source: Source,
        known: &Labels,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Option<Pairs>> {
        let gradient = self.recipe.learner.gradient();
        let links = gradient.is_some_and(|gradient| gradient.loss.links_labels());
        if !links || source == Source::Labels {
            return Ok(None);
        }
        let pairs = FromLabels::new().per_item(LINKS).seed(seed);
        Ok(Some(pairs.pairs(known, monitor)?))
    }

    /// The images in four turns, where a source learns these.
    fn turns(&self, source: Source) -> Result<Option<Turned<'_>>> {
        if self.recipe.pseudo_labels != PseudoLabels::Rotations || source == Source::Labels {
            return Ok(None);
        }
        let encoder = self.recipe.encoder().ok_or_else(no_images)?;
        let images = self.images.as_deref().ok_or_else(no_images)?;
        let input = encoder.input();
        Ok(Some(Turned::new(images, input.channels, input.height)))
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
        let start;
        let model = match model {
            Some(model) => model,
            None if setup.start.as_given => {
                start = setup.start.model()?.into();
                &start
            }
            None => return validation.score(&rows.clone().into()),
        };
        let rows = self.embed(model, rows, &items, monitor)?;
        validation.score(&Embedding::new(rows, &model.similarity()))
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
        let (gradient, recipe) = self.recipe.pretrained()?;
        let traces = self.traces(&format!("{name}-pretraining"), logs);
        let device = &self.plan.device;
        let (head, weights) = (gradient.head(), self.plan.pretrained.as_ref());
        let learner = recipe.gradient(&gradient, &head, weights, false, device);
        let rounds = recipe.rounds(Wanted::Last, 0, setup.seed, device);
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

/// Every row as often as it has turns.
fn each(rows: &Array2<f32>) -> Array2<f32> {
    let of: Vec<usize> = (0..rows.nrows()).flat_map(|row| [row; TURNS]).collect();
    rows.select(Axis(0), &of)
}

/// Super-classes of so many classes that a source makes: the first ones are of labels, the others each
/// their own.
fn own_groups(of_labels: &[u32], classes: usize) -> Vec<u32> {
    let mut groups: Vec<u32> = of_labels.iter().copied().take(classes).collect();
    let next = groups.iter().max().map_or(0, |last| last + 1);
    groups.extend((next..).take(classes - groups.len()));
    groups
}

impl Recipe {
    /// The pretraining as a recipe of its own, and its learner.
    fn pretrained(&self) -> Result<(GradientConfig, Self)> {
        let none = || Error::data("the recipe has no pretraining");
        let network = self.learner.network().ok_or_else(none)?;
        let first = network.pretraining.as_ref().ok_or_else(none)?;
        let own = self.learner.gradient().ok_or_else(none)?;
        let supervised = Self::supervised(first.loss.clone());
        let usual = supervised.learner.gradient().ok_or_else(none)?;
        let gradient = GradientConfig {
            model: ModelConfig::Network(Box::new(NetworkConfig {
                encoder: network.encoder.clone(),
                tuning: network.tuning,
                ..NetworkConfig::default()
            })),
            train: TrainConfig {
                optimizer: first.optimizer,
                learning_rate: first.learning_rate,
                ..own.train.clone()
            },
            ..usual.clone()
        };
        let recipe = Self {
            learner: Learner::Gradient(Box::new(gradient.clone())),
            rounds: RoundsConfig {
                epochs: first.epochs,
                ..self.rounds.clone()
            },
            pseudo_labels: PseudoLabels::None,
            ..supervised
        };
        Ok((gradient, recipe))
    }
}
