//! One label draw of a study: start, beliefs, training, selection.

use std::collections::BTreeMap;
use std::path::PathBuf;

use likewise::eval::summary::Run;
use likewise::eval::whitening::Whitening;
use likewise::propagate::Propagate;
use likewise::{Beliefs, Convergence, Label, Labels, Monitor, matrix, seed};
use ndarray::{Array1, Array2, Axis};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::believe::{believed, labeled, members, of_affinities, oracle};
use super::results::label_counts;
use super::start::Start;
use super::{Ground, Whiten};
use crate::net::{Deep, Head, Model, Residual, Weights};
use crate::recipe::{GraphOn, PseudoLabels};
use crate::sample::groups;
use crate::train::{
    Checkpoint, ENOUGH, Epoch, Keep, Models, Rotated, Score, Targets, Task, Trained, Validation,
    Wanted, Why, no_images, train,
};
use crate::{Error, ErrorKind, Recipe, Result};

/// What happened in one draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawLog {
    /// Number of the draw.
    pub draw: usize,
    /// Known labels that were used to fit.
    pub labels: usize,
    /// Labels that only validated: those of the split's validation part, as many a class as
    /// are fitted. 0 means that the fitting labels validated themselves, by leave-one-out and
    /// by folds.
    pub validation_labels: usize,
    /// Shrinkage of the whitening; absent for infinity (centred features).
    pub shrinkage: Option<f64>,
    /// Whether columns were divided by their standard deviation before.
    pub standardized: bool,
    /// Share of right pseudo-labels, spread over the graph of the start, among the training
    /// items that were not labeled but whose class the data tell; absent where there is none.
    pub pseudo_label_accuracy: Option<f64>,
    /// Epoch chosen for the labels-only head; 0 is the start. Absent where none was trained.
    pub labels_only_epoch: Option<usize>,
    /// Epoch chosen for the recipe's head; 0 is the start.
    pub epoch: usize,
    /// Why that epoch.
    pub why: Why,
    /// Validation score by epoch, from which the recipe's epoch was chosen.
    pub validation: Vec<Option<f64>>,
    /// Log of the recipe's final training.
    pub training: Vec<Epoch>,
    /// How the propagation went.
    pub propagation: likewise::Convergence,
}

impl DrawLog {
    pub(super) fn of(
        draw: usize,
        drawn: &Drawn,
        chosen: &Chosen,
        beliefs: Option<&Beliefs>,
        labels_only_epoch: Option<usize>,
    ) -> Self {
        let whiten = drawn.whiten;
        let validation = chosen.curve.iter();
        let accurate = |beliefs| accuracy(beliefs, &drawn.truth, &drawn.known);
        Self {
            draw,
            labels: drawn.known.n_known(),
            validation_labels: drawn.validation.len(),
            shrinkage: whiten.eps.is_finite().then_some(whiten.eps),
            standardized: whiten.standardize,
            pseudo_label_accuracy: beliefs.and_then(accurate),
            labels_only_epoch,
            epoch: chosen.epoch,
            why: chosen.why,
            validation: validation
                .map(|score| score.map(|s| s.precision.value))
                .collect(),
            training: chosen.log.clone(),
            propagation: beliefs.map_or_else(Convergence::default, |b| b.convergence.clone()),
        }
    }
}

/// How a recipe did in one draw.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// At the epoch that was kept.
    pub kept: Run,
    /// As it was trained to the end, where validation kept another epoch.
    pub last: Option<Run>,
    /// What happened.
    pub log: DrawLog,
}

/// A finished draw.
pub(super) struct Draw {
    pub(super) log: DrawLog,
    pub(super) kept: Kept,
}

/// A model, what it learned from, and how to learn it again.
pub(super) struct Kept {
    pub(super) model: Model,
    pub(super) beliefs: Beliefs,
    pub(super) classes: Vec<String>,
    /// Fitted labels of each class.
    pub(super) labels: BTreeMap<String, usize>,
    /// Why it was kept.
    pub(super) why: Why,
    pub(super) epoch: usize,
    whiten: Whiten,
    whitening: Whitening,
}

/// Labels a class that choose the start of the row of all labels.
const ORACLE_ASKS: usize = 50;

/// Most columns of features for which a matrix of `columns x columns` is kept.
const MOST_COLUMNS: usize = 4096;

/// Where a training takes its targets from.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Source {
    /// The known labels alone.
    Labels,
    /// Beliefs of propagation: the recipe.
    Beliefs,
}

impl Source {
    fn name(self) -> &'static str {
        match self {
            Source::Labels => "labels-only",
            Source::Beliefs => "recipe",
        }
    }
}

/// A draw of labels, and what it chooses.
pub(super) struct Drawn {
    pub(super) seed: u64,
    /// The labels of the training items; those of them that are shown.
    pub(super) truth: Labels,
    pub(super) known: Labels,
    pub(super) whiten: Whiten,
    /// Items that validate.
    pub(super) validation: Vec<usize>,
}

/// A model and how it was chosen.
pub(super) struct Chosen {
    pub(super) model: Model,
    /// That after the last epoch, where another one was chosen.
    last: Option<Model>,
    pub(super) epoch: usize,
    why: Why,
    /// The scores that the choice was made by.
    curve: Vec<Option<Score>>,
    log: Vec<Epoch>,
}

impl Ground<'_> {
    /// Runs draw number `draw` and adds its runs to `rows`.
    pub(super) fn draw(
        &mut self,
        draw: usize,
        rows: &mut BTreeMap<&'static str, Vec<Run>>,
        monitor: &Monitor,
    ) -> Result<Draw> {
        let plan = self.plan;
        let drawn = self.drawn(draw as u64)?;
        let idle = self.recipe.idle(self.plan.features.ncols());
        if let Some(why) = idle.filter(|_| draw == 0) {
            monitor.warn(why);
        }
        let known = &drawn.known;
        self.build_graph(drawn.whiten, monitor)?;

        let name = format!("draw-{draw}");
        let start = self.start(drawn.whiten, name, drawn.seed, &drawn.validation)?;
        let method = &self.recipe.propagation;
        let beliefs = method.propagate(start.graph()?, known, monitor)?;
        let labels_only = self.choose(&start, Source::Labels, known, None, monitor)?;
        let recipe = self.choose(&start, Source::Beliefs, known, Some(&beliefs), monitor)?;
        for (name, chosen) in [("labels_only", &labels_only), ("recipe", &recipe)] {
            let embedded = self.embed_tested_by(&chosen.model, &start.whitening, monitor)?;
            let run = plan.ask(self, embedded.view(), monitor)?;
            rows.entry(name).or_default().push(run);
        }
        let log = DrawLog::of(
            draw,
            &drawn,
            &recipe,
            Some(&beliefs),
            Some(labels_only.epoch),
        );
        let kept = self.kept(recipe, beliefs, &drawn)?;
        Ok(Draw { log, kept })
    }

    pub(super) fn kept(&self, chosen: Chosen, beliefs: Beliefs, drawn: &Drawn) -> Result<Kept> {
        Ok(Kept {
            epoch: chosen.epoch,
            why: chosen.why,
            ..self.kept_as(chosen.model, beliefs, drawn)?
        })
    }

    pub(super) fn kept_as(&self, model: Model, beliefs: Beliefs, of: &Drawn) -> Result<Kept> {
        Ok(Kept {
            model,
            classes: of.known.classes().to_vec(),
            labels: label_counts(&of.known),
            beliefs,
            whiten: of.whiten,
            whitening: self.whitening(of.whiten)?,
            why: Why::Last,
            epoch: 0,
        })
    }

    /// Learns on all items of this ground what was measured on a part of them: as many
    /// epochs, from the same kind of start.
    pub(super) fn refit(&mut self, measured: &Kept, monitor: &Monitor) -> Result<Kept> {
        let seed = self.plan.protocol.seed;
        let (known, _) = self.labels.compact();
        self.build_graph(measured.whiten, monitor)?;
        let start = self.start(measured.whiten, "refit".into(), seed, &[])?;
        let method = &self.recipe.propagation;
        let beliefs = method.propagate(start.graph()?, &known, monitor)?;
        let model = match self.as_they_are() {
            Some(raw) if measured.why == Why::RawFeatures => raw,
            _ => {
                let source = Source::Beliefs;
                let first = self.targets(&start, source, &known, Some(&beliefs), monitor)?;
                let (job, wanted) = (("final", source), Wanted::Epoch(measured.epoch));
                let trained = self.train(&start, job, &known, first, None, wanted, monitor)?;
                model_at(&trained, measured.epoch)?
            }
        };
        Ok(Kept {
            model,
            why: measured.why,
            epoch: measured.epoch,
            beliefs,
            classes: known.classes().to_vec(),
            labels: label_counts(&known),
            whiten: measured.whiten,
            whitening: start.whitening,
        })
    }

    /// The recipe alone in draw number `draw`: how it did, and its log.
    pub(super) fn measure(&mut self, draw: u64, monitor: &Monitor) -> Result<Measured> {
        let drawn = self.drawn(draw)?;
        if let Some(why) = self.recipe.idle(self.plan.features.ncols()) {
            monitor.warn(why);
        }
        if self.spreads() {
            self.build_graph(drawn.whiten, monitor)?;
        }
        let name = format!("draw-{draw}");
        let start = self.start(drawn.whiten, name, drawn.seed, &drawn.validation)?;
        let method = &self.recipe.propagation;
        let beliefs = match start.graph {
            Some(graph) if self.spreads() => {
                Some(method.propagate(graph, &drawn.known, monitor)?)
            }
            _ => None,
        };
        let beliefs = beliefs.as_ref();
        let chosen = self.choose(&start, Source::Beliefs, &drawn.known, beliefs, monitor)?;
        let ask = |model: &Model| -> Result<Run> {
            let embedded = self.embed_tested_by(model, &start.whitening, monitor)?;
            self.plan.ask(self, embedded.view(), monitor)
        };
        Ok(Measured {
            kept: ask(&chosen.model)?,
            last: chosen.last.as_ref().map(ask).transpose()?,
            log: DrawLog::of(draw as usize, &drawn, &chosen, beliefs, None),
        })
    }

    fn drawn(&self, draw: u64) -> Result<Drawn> {
        let seed = self.plan.protocol.seed.wrapping_add(draw);
        let truth = self.labels.select(&self.train);
        let (known, _) = self.known(&truth, seed).compact();
        if known.n_classes() < 2 {
            return Err(Error::data(format!(
                "the training part has labels of {} class(es); similarity needs at least 2",
                known.n_classes()
            )));
        }
        let validation = self.validating(seed);
        let whiten = self.whiten(&known, &validation, ENOUGH)?;
        Ok(Drawn {
            seed,
            truth,
            known,
            whiten,
            validation,
        })
    }

    /// The items of the validation part whose labels may be seen: as many a class as are
    /// fitted, since who has few labels has few for validation too.
    fn validating(&self, seed: u64) -> Vec<usize> {
        let Some(m) = self.plan.protocol.labels_per_class else {
            return self.validation.clone();
        };
        let labels = self.labels.select(&self.validation).draw(m, seed);
        let places = self.validation.iter().enumerate();
        let shown = places.filter(|(place, _)| labels[*place].class().is_some());
        shown.map(|(_, &item)| item).collect()
    }

    /// How the whitened features do, by a shrinkage that no label chooses.
    pub(super) fn ask_whitened(&self, monitor: &Monitor) -> Result<Run> {
        let whitened = self.whitened_rows()?;
        self.plan.ask(self, whitened.view(), monitor)
    }

    /// How the model does that all labels of the training part give: what labels are worth.
    ///
    /// Without a validation part it runs all epochs: folds over every label would cost
    /// more than the rest of the study.
    pub(super) fn all_labels(&mut self, monitor: &Monitor) -> Result<Run> {
        let seed = self.plan.protocol.seed;
        let (all, _) = self.labels.select(&self.train).compact();
        // A part of them is enough for this choice, and all would be asked among all.
        let whiten = self.whiten(&all.draw(ORACLE_ASKS, seed), &self.validation, ENOUGH)?;
        self.build_graph(whiten, monitor)?;
        let validation = self.validation.clone();
        let start = self.start(whiten, "all-labels".into(), seed, &validation)?;
        let targets = Targets {
            passes: 1,
            ..labeled(&all)
        };
        let wanted = match start.validation {
            Some(_) => Wanted::Validated(self.recipe.train.keep),
            None => Wanted::Last,
        };
        let job = ("final", Source::Labels);
        let trained = self.train(&start, job, &all, targets, None, wanted, monitor)?;
        let epoch = match start.validation {
            Some(_) => self.settle(&trained.scores, ENOUGH).0,
            None => trained.scores.len() - 1,
        };
        let model = model_at(&trained, epoch)?;
        let embedded = self.embed_tested_by(&model, &start.whitening, monitor)?;
        self.plan.ask(self, embedded.view(), monitor)
    }

    /// The labels that may be fitted on: all of `truth`, or a draw.
    fn known(&self, truth: &Labels, seed: u64) -> Labels {
        match self.plan.protocol.labels_per_class {
            Some(m) => truth.draw(m, seed),
            None => truth.clone(),
        }
    }

    /// Trains from `source` and chooses the epoch by validation: on the split's validation
    /// part; else by folds over the known labels (train on the others, ask the held-out
    /// ones among the others), after which all labels train together.
    pub(super) fn choose(
        &self,
        start: &Start,
        source: Source,
        known: &Labels,
        beliefs: Option<&Beliefs>,
        monitor: &Monitor,
    ) -> Result<Chosen> {
        let recipe = self.recipe;
        let (mut curves, mut raw) = (Vec::new(), Vec::new());
        if let Some(judge) = &start.validation {
            raw.extend(self.score_raw(&judge.items, &judge.validation)?);
        } else {
            let folds = folds(known, recipe.train.folds, start.seed);
            for (number, held_out) in folds.into_iter().enumerate() {
                let seen = known.masked(|i| held_out.binary_search(&i).is_err());
                let in_gallery = |&i: &usize| seen[i].class().is_some();
                let judge = Validation {
                    queries: held_out,
                    gallery: (0..known.len()).filter(in_gallery).collect(),
                    labels: known.clone(),
                };
                let name = format!("fold-{number}");
                let first = self.targets(start, source, &seen, None, monitor)?;
                let (job, wanted) = ((name.as_str(), source), Wanted::Last);
                let trained =
                    self.train(start, job, &seen, first, Some(&judge), wanted, monitor)?;
                curves.push(trained.scores);
                let (places, judge) = judge.compact();
                let items: Vec<usize> = places.iter().map(|&p| self.train[p]).collect();
                raw.extend(self.score_raw(&items, &judge)?);
            }
        }
        // Folds choose before the last training begins; a validation part along with it.
        let folded: Vec<Option<Score>> = {
            let epochs = curves.iter().map(Vec::len).max().unwrap_or(0);
            let pooled = |epoch: usize| {
                let at = |curve: &Vec<Option<Score>>| curve.get(epoch).copied().flatten();
                let scores: Vec<Score> = curves.iter().filter_map(at).collect();
                Score::pool(&scores)
            };
            (0..epochs).map(pooled).collect()
        };
        let wanted = if folded.is_empty() {
            Wanted::Validated(recipe.train.keep)
        } else {
            match self.settle(&folded, start.enough) {
                (epoch, Why::NoEvidence(_) | Why::Last) if epoch > 0 => Wanted::Last,
                (epoch, _) => Wanted::Epoch(epoch),
            }
        };
        let first = self.targets(start, source, known, beliefs, monitor)?;
        let trained = self.train(
            start,
            ("final", source),
            known,
            first,
            None,
            wanted,
            monitor,
        )?;
        let curve = if folded.is_empty() {
            trained.scores.clone()
        } else {
            folded
        };
        let (epoch, mut why) = self.settle(&curve, start.enough);
        // The training may have ended earlier, or later, than those of the folds.
        let end = trained.scores.len().saturating_sub(1);
        let epoch = match wanted {
            Wanted::Last => end,
            Wanted::Epoch(_) | Wanted::Validated(_) => epoch.min(end),
        };
        let mut model = model_at(&trained, epoch)?;
        let judges = recipe.train.keep == Keep::NearBest && !matches!(why, Why::NoEvidence(_));
        if let (Some(raw), Some(Some(kept))) = (Score::pool(&raw), curve.get(epoch))
            && judges
            && raw.clearly_above(kept)
            && let Some(as_they_are) = self.as_they_are()
        {
            (model, why) = (as_they_are, Why::RawFeatures);
        }
        let end = epoch == end && why != Why::RawFeatures;
        Ok(Chosen {
            model,
            last: trained.models.last().filter(|_| !end).cloned(),
            epoch,
            why,
            curve,
            log: trained.log,
        })
    }

    /// What a training learns first.
    fn targets(
        &self,
        start: &Start,
        source: Source,
        known: &Labels,
        beliefs: Option<&Beliefs>,
        monitor: &Monitor,
    ) -> Result<Targets> {
        match (source, beliefs) {
            (Source::Labels, _) => Ok(labeled(known)),
            (Source::Beliefs, Some(beliefs)) if self.spreads() => {
                Ok(believed(beliefs, known, self.recipe))
            }
            (Source::Beliefs, _) => self.believe(start, known, 1, &Models::default(), monitor),
        }
    }

    /// The epoch to keep, and why.
    ///
    /// Where validation cannot tell, training has run to its end; but a head that gradients
    /// move is as likely to harm classes without labels as to help them, so that for these the
    /// start is kept.
    fn settle(&self, curve: &[Option<Score>], enough: usize) -> (usize, Why) {
        let choice = Score::choose(curve, self.recipe.train.keep, enough);
        let moved = !matches!(self.recipe.head.residual, Residual::Rca(_));
        match choice.why {
            Why::NoEvidence(_) if self.disjoint && moved => (0, choice.why),
            why => (choice.epoch, why),
        }
    }

    /// How the features as they are (read by the recipe's power) do on these items.
    fn score_raw(&self, items: &[usize], judge: &Validation) -> Result<Option<Score>> {
        judge.score(&matrix::l2_normalize(self.features(items)))
    }

    /// The head that learned nothing.
    pub(super) fn start_head(&self, whiten: Whiten) -> Result<Head> {
        Ok(Head {
            config: self.recipe.head,
            start: self.whitening(whiten)?,
            residual: None,
        })
    }

    /// A model that leaves the features as the recipe reads them, but for their length; none
    /// where there are too many columns for a matrix of them.
    pub(super) fn as_they_are(&self) -> Option<Model> {
        let columns = self.plan.features.ncols();
        (columns <= MOST_COLUMNS).then(|| {
            Model::Head(Head {
                config: self.recipe.head,
                start: Whitening {
                    mean: Array1::zeros(columns),
                    matrix: Array2::eye(columns),
                },
                residual: None,
            })
        })
    }

    /// Whether pseudo-labels come from a propagation.
    fn spreads(&self) -> bool {
        self.recipe.pseudo_labels == PseudoLabels::Propagation
    }

    /// What epoch `epoch` learns, where not the labels alone; `models` are those after every
    /// epoch so far.
    fn believe(
        &self,
        start: &Start,
        known: &Labels,
        epoch: usize,
        models: &Models,
        monitor: &Monitor,
    ) -> Result<Targets> {
        let recipe = self.recipe;
        let learned = |model: Option<&Model>| match model {
            Some(model) if recipe.graph_on == GraphOn::Embedding => Some(before_map(model.clone())),
            _ => None,
        };
        match recipe.pseudo_labels {
            PseudoLabels::None => Ok(labeled(known)),
            PseudoLabels::Oracle => Ok(oracle(&self.labels.select(&self.train), known)),
            PseudoLabels::Propagation => {
                let method = &recipe.propagation;
                let beliefs = match learned(models.last()) {
                    Some(model) => {
                        let rows = self.embed(&model, &start.rows, &self.train, monitor)?;
                        let graph = recipe.graph.build(rows.view(), monitor)?;
                        method.propagate(&graph, known, monitor)?
                    }
                    None => method.propagate(start.graph()?, known, monitor)?,
                };
                Ok(believed(&beliefs, known, recipe))
            }
            PseudoLabels::Affinity => {
                let partition = (epoch - 1) / recipe.affinity.every;
                // The model at the end of the last partition, also where training resumed.
                let model = learned(models.at(partition * recipe.affinity.every));
                let places = members(known, partition, &recipe.affinity, start.seed);
                let mut rows = start.rows.select(Axis(0), &places);
                if let Some(model) = model {
                    let items: Vec<usize> = places.iter().map(|&p| self.train[p]).collect();
                    rows = self.embed(&model, &rows, &items, monitor)?;
                }
                of_affinities(rows.view(), &places, known, recipe, monitor)
            }
        }
    }

    /// One training; `first` are its targets as long as the graph stands still.
    #[expect(
        clippy::too_many_arguments,
        reason = "one call of the loop, all parts named"
    )]
    fn train(
        &self,
        start: &Start,
        (name, source): (&str, Source),
        known: &Labels,
        first: Targets,
        judge: Option<&Validation>,
        wanted: Wanted,
        monitor: &Monitor,
    ) -> Result<Trained> {
        let recipe = self.recipe;
        let name = format!("{}-{}-{name}", start.name, source.name());
        // Folds choose an epoch and are gone.
        let log = (self.plan.events.as_ref()).filter(|_| judge.is_none());
        let log = |name: &str| log.map(|folder| folder.join(name));
        let groups = groups(known.classes());
        let taught;
        let mut task = self.task(recipe, start, &groups, wanted);
        if let Some(first) = &recipe.pretraining {
            let first = recipe.of_pretraining(first);
            let name = format!("{name}-pretraining");
            let saved = (self.checkpoint(&name), log(&name));
            taught = pretrain(
                &self.task(&first, start, &groups, Wanted::Last),
                known,
                saved,
                monitor,
            )?;
            task.pretrained = Some(&taught);
        }
        let stale = recipe.pretraining.is_some() && recipe.graph_on == GraphOn::Embedding;
        let mut last = (usize::from(!stale), first.clone());
        let targets = |epoch: usize, models: &Models| -> Result<Targets> {
            if source == Source::Labels {
                return Ok(first.clone());
            }
            if epoch <= recipe.train.labeled_epochs {
                return Ok(labeled(known));
            }
            let changes = match recipe.pseudo_labels {
                PseudoLabels::None | PseudoLabels::Oracle => 1,
                PseudoLabels::Propagation if recipe.graph_on == GraphOn::Feature => 1,
                PseudoLabels::Propagation => epoch,
                PseudoLabels::Affinity => {
                    (epoch - 1) / recipe.affinity.every * recipe.affinity.every + 1
                }
            };
            if last.0 != changes {
                last = (changes, self.believe(start, known, epoch, models, monitor)?);
            }
            Ok(last.1.clone())
        };
        let score = |model: Option<&Model>| -> Result<Option<Score>> {
            // Of the training part, only the rows that ask or are searched.
            let part;
            let (rows, items, validation) = match (judge, &start.validation) {
                (Some(judge), _) => {
                    let (places, validation) = judge.compact();
                    let items = places.iter().map(|&place| self.train[place]).collect();
                    part = (start.rows.select(Axis(0), &places), validation);
                    (&part.0, items, &part.1)
                }
                (None, Some(judge)) => (&judge.rows, judge.items.clone(), &judge.validation),
                (None, None) => return Ok(None),
            };
            match model {
                Some(model) => validation.score(&self.embed(model, rows, &items, monitor)?),
                None => validation.score(rows),
            }
        };
        let saved = (self.checkpoint(&name), log(&name));
        train(&task, targets, score, saved, monitor)
    }

    fn task<'a>(
        &'a self,
        recipe: &'a Recipe,
        start: &'a Start,
        groups: &'a [u32],
        wanted: Wanted,
    ) -> Task<'a> {
        Task {
            recipe,
            whitening: &start.whitening,
            start: start.rows.view(),
            items: &self.train,
            images: self.images.as_deref(),
            rotated: start.rotation.as_ref().map(|map| Rotated {
                features: self.plan.features,
                map,
            }),
            pretrained: self.plan.pretrained.as_ref(),
            classes: groups.len(),
            groups,
            epochs: recipe.train.epochs,
            wanted,
            seed: start.seed,
            device: &self.plan.device,
        }
    }

    fn checkpoint(&self, name: &str) -> Option<Checkpoint> {
        let folder = self.plan.checkpoints.as_ref()?;
        let path = folder.join(format!("{name}.safetensors"));
        Some(Checkpoint::new(path, self.fingerprint(name)))
    }

    /// Embeddings of the items that ask or are searched.
    pub(super) fn embed_tested(&self, kept: &Kept, monitor: &Monitor) -> Result<Array2<f32>> {
        self.embed_tested_by(&kept.model, &kept.whitening, monitor)
    }

    /// The same by any model; `whitening` is that of its start.
    pub(super) fn embed_tested_by(
        &self,
        model: &Model,
        whitening: &Whitening,
        monitor: &Monitor,
    ) -> Result<Array2<f32>> {
        match model {
            Model::Head(head) => head.embed(self.tested.view()),
            Model::Deep(_) => {
                let rows = self.start_rows(whitening, &self.tested_items)?;
                self.embed(model, &rows, &self.tested_items, monitor)
            }
        }
    }

    /// The embedding of items by their unit rows of the start, or their images.
    fn embed(
        &self,
        model: &Model,
        rows: &Array2<f32>,
        items: &[usize],
        monitor: &Monitor,
    ) -> Result<Array2<f32>> {
        match (model, &self.images) {
            (Model::Head(head), _) if matches!(head.config.residual, Residual::Rca(_)) => {
                head.embed(matrix::select_rows(self.plan.features, items).view())
            }
            (Model::Head(head), _) => Ok(head.embed_start(rows.clone())),
            (Model::Deep(deep), Some(images)) => {
                let device = &self.plan.device;
                let learned = deep.learned(images.as_ref(), items, device, monitor)?;
                Ok(match &deep.start {
                    Some(start) => start.join(rows.clone(), learned),
                    None => learned,
                })
            }
            (Model::Deep(_), None) => Err(no_images()),
        }
    }

    fn fingerprint(&self, name: &str) -> String {
        let plan = self.plan;
        let what = (self.recipe, plan.protocol, &plan.data_digest, name);
        serde_json::to_string(&what).unwrap_or_default()
    }
}

/// The weights of an encoder that has learned from the labels alone.
fn pretrain(
    task: &Task,
    known: &Labels,
    saved: (Option<Checkpoint>, Option<PathBuf>),
    monitor: &Monitor,
) -> Result<Weights> {
    let targets = labeled(known);
    let trained = train(
        task,
        |_, _| Ok(targets.clone()),
        |_| Ok(None),
        saved,
        monitor,
    )?;
    match trained.models.last() {
        Some(Model::Deep(deep)) => Ok(deep.weights.clone()),
        _ => Err(no_images()),
    }
}

/// The model after this epoch, or the last one where the training ended before.
fn model_at(trained: &Trained, epoch: usize) -> Result<Model> {
    let over = epoch + 1 >= trained.scores.len();
    let model = if over {
        trained.models.last()
    } else {
        trained.models.at(epoch)
    };
    let model = model.cloned();
    model.ok_or_else(|| Error::new(ErrorKind::Internal, "a training without a model"))
}

/// The unit rows of a model before its orthonormal map, where an encoder makes them.
fn before_map(model: Model) -> Model {
    match model {
        Model::Deep(deep) => Model::Deep(Deep { map: None, ..deep }),
        Model::Head(_) => model,
    }
}

/// Divides the known items of each class into folds. A class with a single label stays in
/// training always; there are no folds if no class has two.
fn folds(known: &Labels, folds: usize, seed: u64) -> Vec<Vec<usize>> {
    let by_class = known.by_class();
    let most = by_class.iter().map(Vec::len).max().unwrap_or(0);
    let folds = folds.min(most);
    if folds < 2 {
        return vec![];
    }
    let mut rng = seed::stream(seed, "folds");
    let mut held_out = vec![Vec::new(); folds];
    for mut members in by_class {
        members.shuffle(&mut rng);
        if members.len() > 1 {
            for (position, item) in members.into_iter().enumerate() {
                held_out[position % folds].push(item);
            }
        }
    }
    for fold in &mut held_out {
        fold.sort_unstable();
    }
    held_out
}

fn accuracy(beliefs: &Beliefs, truth: &Labels, known: &Labels) -> Option<f64> {
    let (mut right, mut all) = (0_usize, 0_usize);
    for i in 0..truth.len() {
        if let (Some(class), Label::Unknown) = (truth[i].class(), known[i]) {
            all += 1;
            let guess = beliefs.pseudo_label[i].map(|c| &known.classes()[c as usize]);
            right += usize::from(guess == Some(&truth.classes()[class as usize]));
        }
    }
    (all > 0).then(|| right as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_hold_every_label_out_once_and_never_a_whole_class() {
        let known = Labels::from_integers([0, 0, 0, 1, 1, 2, -1, 0]);
        let folds = folds(&known, 3, 5);
        let mut all: Vec<usize> = folds.concat();
        all.sort_unstable();
        assert_eq!(
            all,
            [0, 1, 2, 3, 4, 7],
            "the lone label of class 2 stays in"
        );
        for fold in &folds {
            let seen = known.masked(|i| !fold.contains(&i));
            assert!(seen.by_class().iter().all(|members| !members.is_empty()));
        }
    }

    #[test]
    fn one_label_a_class_gives_no_folds() {
        assert!(folds(&Labels::from_integers([0, 1, 2]), 3, 0).is_empty());
        assert!(folds(&Labels::from_integers([0, 0]), 1, 0).is_empty());
    }
}
