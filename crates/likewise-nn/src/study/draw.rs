//! One label draw of a study: start, beliefs, training, selection.

use std::collections::BTreeMap;

use likewise::eval::summary::Run;
use likewise::eval::whitening::{Spectrum, Whitening};
use likewise::propagate::Propagate;
use likewise::{Beliefs, Graph, Label, Labels, Monitor, matrix, seed};
use ndarray::Array2;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::{Ground, Whiten};
use crate::net::Head;
use crate::recipe::GraphOn;
use crate::train::{Checkpoint, Epoch, Score, Targets, Task, Trained, Validation, train};
use crate::{Error, Result};

/// Shrinkages that are tried, the mildest first: ties go to it.
const SHRINKAGES: [f64; 7] = [f64::INFINITY, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03];

/// An epoch on the labels alone goes through them this often: a handful of labels makes
/// one batch, and one step an epoch would teach nothing.
const LABELED_PASSES: usize = 10;

/// What happened in one draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawLog {
    /// Number of the draw.
    pub draw: usize,
    /// Known labels that were used to fit.
    pub labels: usize,
    /// Labels that only validated: those of the split's validation part. 0 means that the
    /// fitting labels validated themselves, by leave-one-out and by folds.
    pub validation_labels: usize,
    /// Shrinkage of the whitening; absent for infinity (centred features).
    pub shrinkage: Option<f64>,
    /// Whether columns were divided by their standard deviation before.
    pub standardized: bool,
    /// Share of right pseudo-labels among the training items that were not labeled but
    /// whose class the data tell; absent where there is none.
    pub pseudo_label_accuracy: Option<f64>,
    /// Epoch chosen for the labels-only head; 0 is the start.
    pub labels_only_epoch: usize,
    /// Epoch chosen for the recipe's head; 0 is the start.
    pub epoch: usize,
    /// Validation score by epoch, from which the recipe's epoch was chosen.
    pub validation: Vec<Option<f64>>,
    /// Log of the recipe's final training.
    pub training: Vec<Epoch>,
    /// How the propagation went.
    pub propagation: likewise::Convergence,
}

/// A finished draw.
pub(super) struct Draw {
    pub(super) log: DrawLog,
    pub(super) head: Head,
    pub(super) beliefs: Beliefs,
    pub(super) classes: Vec<String>,
}

/// Where a training takes its targets from.
#[derive(Clone, Copy, PartialEq)]
enum Source {
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

/// What the trainings of one draw share.
struct Start<'a> {
    whitening: Whitening,
    /// Unit rows of the start, of the training items.
    rows: Array2<f32>,
    graph: &'a Graph,
    /// Unit rows and labels of the validation part, if there is one.
    validation: Option<(Array2<f32>, Validation)>,
    name: String,
    seed: u64,
}

/// A head and how it was chosen.
struct Chosen {
    head: Head,
    epoch: usize,
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
        let seed = plan.protocol.seed.wrapping_add(draw as u64);
        let truth = self.labels.select(&self.train);
        let (known, _) = self.known(&truth, seed).compact();
        if known.n_classes() < 2 {
            return Err(Error::data(format!(
                "the training part has labels of {} class(es); similarity needs at least 2",
                known.n_classes()
            )));
        }
        let whiten = self.whiten(&known)?;
        self.build_graph(whiten, monitor)?;
        let whitened = self.spectrum(whiten).whitening(whiten.eps)?;
        let whitened = whitened.transform(self.tested.view())?;
        let run = plan.ask(self, matrix::l2_normalize(whitened).view(), monitor)?;
        rows.entry("whitened").or_default().push(run);

        let start = self.start(whiten, format!("draw-{draw}"), seed)?;
        let method = &plan.recipe.propagation;
        let beliefs = method.propagate(start.graph, &known, monitor)?;
        let labels_only = self.choose(&start, Source::Labels, &known, None, monitor)?;
        let recipe = self.choose(&start, Source::Beliefs, &known, Some(&beliefs), monitor)?;
        for (name, chosen) in [("labels_only", &labels_only), ("recipe", &recipe)] {
            let embedded = chosen.head.embed(self.tested.view())?;
            let run = plan.ask(self, embedded.view(), monitor)?;
            rows.entry(name).or_default().push(run);
        }
        let log = DrawLog {
            draw,
            labels: known.n_known(),
            validation_labels: self.validation.len(),
            shrinkage: whiten.eps.is_finite().then_some(whiten.eps),
            standardized: whiten.standardize,
            pseudo_label_accuracy: accuracy(&beliefs, &truth, &known),
            labels_only_epoch: labels_only.epoch,
            epoch: recipe.epoch,
            validation: recipe
                .curve
                .iter()
                .map(|s| s.map(|s| s.precision.value))
                .collect(),
            training: recipe.log,
            propagation: beliefs.convergence.clone(),
        };
        Ok(Draw {
            log,
            head: recipe.head,
            beliefs,
            classes: known.classes().to_vec(),
        })
    }

    /// The head that all labels of the training part give: what labels are worth.
    ///
    /// Without a validation part it runs all epochs: folds over every label would cost
    /// more than the rest of the study.
    pub(super) fn all_labels(&mut self, monitor: &Monitor) -> Result<Head> {
        let seed = self.plan.protocol.seed;
        let (all, _) = self.labels.select(&self.train).compact();
        let whiten = self.whiten(&self.known(&all, seed))?;
        self.build_graph(whiten, monitor)?;
        let start = self.start(whiten, "all-labels".into(), seed)?;
        let targets = Targets {
            passes: 1,
            ..labeled(&all)
        };
        let trained = self.train(
            &start,
            "final",
            Source::Labels,
            &all,
            targets,
            None,
            monitor,
        )?;
        let epoch = match start.validation {
            Some(_) => Score::choose(&trained.scores),
            None => trained.heads.len() - 1,
        };
        Ok(self.head_of(&start, &trained, epoch))
    }

    /// The labels that may be fitted on: all of `truth`, or a draw.
    fn known(&self, truth: &Labels, seed: u64) -> Labels {
        match self.plan.protocol.labels_per_class {
            Some(m) => truth.draw(m, seed),
            None => truth.clone(),
        }
    }

    fn spectrum(&self, whiten: Whiten) -> &Spectrum {
        &self.spectra[usize::from(whiten.standardize)]
    }

    /// The whitening that does best on the labels that may be seen.
    fn whiten(&self, known: &Labels) -> Result<Whiten> {
        let recipe = self.plan.recipe;
        let (rows, labels) = if self.validation.is_empty() {
            let is_known = |&i: &usize| known[i].class().is_some();
            let rows: Vec<usize> = (0..known.len()).filter(is_known).collect();
            let labels = known.select(&rows);
            (rows.iter().map(|&i| self.train[i]).collect(), labels)
        } else {
            let labels = self.labels.select(&self.validation);
            (self.validation.clone(), labels)
        };
        let features = matrix::select_rows(self.plan.features, &rows);
        let judge = Validation::within((0..rows.len()).collect(), &labels);
        let mut best = None;
        for standardize in [false, true] {
            for eps in SHRINKAGES {
                let whiten = Whiten {
                    eps: recipe.whitening.unwrap_or(eps),
                    standardize: recipe.standardize.unwrap_or(standardize),
                };
                let map = self.spectrum(whiten).whitening(whiten.eps)?;
                let whitened = matrix::l2_normalize(map.transform(features.view())?);
                let value = judge.score(&whitened)?.map_or(0.0, |s| s.precision.value);
                if best.is_none_or(|(highest, _)| value > highest) {
                    best = Some((value, whiten));
                }
            }
        }
        best.map(|(_, whiten)| whiten)
            .ok_or_else(|| Error::data("no whitening to choose from"))
    }

    fn whitening(&self, whiten: Whiten) -> Result<Whitening> {
        let rank = self.plan.recipe.head.rank.min(self.plan.features.ncols());
        Ok(self.spectrum(whiten).truncated(whiten.eps, rank)?)
    }

    fn start_rows(&self, whitening: &Whitening, rows: &[usize]) -> Result<Array2<f32>> {
        let features = matrix::select_rows(self.plan.features, rows);
        Ok(matrix::l2_normalize(whitening.transform(features.view())?))
    }

    fn build_graph(&mut self, whiten: Whiten, monitor: &Monitor) -> Result<()> {
        if !self.graphs.iter().any(|(built, _)| *built == whiten) {
            let rows = self.start_rows(&self.whitening(whiten)?, &self.train)?;
            let graph = self.plan.recipe.graph.build(rows.view(), monitor)?;
            self.graphs.push((whiten, graph));
        }
        Ok(())
    }

    fn start(&self, whiten: Whiten, name: String, seed: u64) -> Result<Start<'_>> {
        let whitening = self.whitening(whiten)?;
        let graph = self.graphs.iter().find(|(built, _)| *built == whiten);
        let (_, graph) = graph.ok_or_else(|| Error::data("no graph on this start"))?;
        let validation = if self.validation.is_empty() {
            None
        } else {
            let rows = self.start_rows(&whitening, &self.validation)?;
            let labels = self.labels.select(&self.validation);
            let judge = Validation::within((0..labels.len()).collect(), &labels);
            Some((rows, judge))
        };
        Ok(Start {
            rows: self.start_rows(&whitening, &self.train)?,
            graph,
            whitening,
            validation,
            name,
            seed,
        })
    }

    /// Trains from `source` and chooses the epoch by validation: on the split's validation
    /// part; else by folds over the known labels (train on the others, ask the held-out
    /// ones among the others), after which all labels train together.
    fn choose(
        &self,
        start: &Start,
        source: Source,
        known: &Labels,
        beliefs: Option<&Beliefs>,
        monitor: &Monitor,
    ) -> Result<Chosen> {
        let recipe = self.plan.recipe;
        let targets = |known: &Labels, beliefs: Option<&Beliefs>| -> Result<Targets> {
            match (source, beliefs) {
                (Source::Labels, _) => Ok(labeled(known)),
                (Source::Beliefs, Some(beliefs)) => Ok(self.believed(beliefs, known)),
                (Source::Beliefs, None) => {
                    let beliefs = recipe.propagation.propagate(start.graph, known, monitor)?;
                    Ok(self.believed(&beliefs, known))
                }
            }
        };
        let mut curves = Vec::new();
        if start.validation.is_none() {
            let folds = folds(known, recipe.train.folds, start.seed);
            for (number, held_out) in folds.into_iter().enumerate() {
                let seen = known.masked(|i| held_out.binary_search(&i).is_err());
                let in_gallery = |&i: &usize| seen[i].class().is_some();
                let judge = Validation {
                    queries: held_out,
                    gallery: (0..known.len()).filter(in_gallery).collect(),
                    labels: known.clone(),
                };
                let name = format!("{}-fold-{number}", source.name());
                let first = targets(&seen, None)?;
                let judge = Some(&judge);
                curves.push(
                    self.train(start, &name, source, &seen, first, judge, monitor)?
                        .scores,
                );
            }
        }
        let name = format!("{}-final", source.name());
        let first = targets(known, beliefs)?;
        let trained = self.train(start, &name, source, known, first, None, monitor)?;
        let curve = if curves.is_empty() {
            trained.scores.clone()
        } else {
            let pooled = |epoch: usize| {
                let scores: Vec<Score> = curves.iter().filter_map(|c| c[epoch]).collect();
                Score::pool(&scores)
            };
            (0..trained.scores.len()).map(pooled).collect()
        };
        let epoch = Score::choose(&curve);
        Ok(Chosen {
            head: self.head_of(start, &trained, epoch),
            epoch,
            curve,
            log: trained.log,
        })
    }

    fn head_of(&self, start: &Start, trained: &Trained, epoch: usize) -> Head {
        match epoch {
            0 => Head {
                config: self.plan.recipe.head,
                start: start.whitening.clone(),
                residual: None,
            },
            _ => trained.heads[epoch].clone(),
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
        name: &str,
        source: Source,
        known: &Labels,
        first: Targets,
        judge: Option<&Validation>,
        monitor: &Monitor,
    ) -> Result<Trained> {
        let recipe = self.plan.recipe;
        let name = format!("{}-{name}", start.name);
        let task = Task {
            head: &recipe.head,
            train: &recipe.train,
            loss: &recipe.loss,
            whitening: &start.whitening,
            start: start.rows.view(),
            classes: known.n_classes(),
            epochs: recipe.train.epochs,
            seed: start.seed,
            device: &self.plan.device,
        };
        let checkpoint = self.plan.checkpoints.as_ref().map(|folder| {
            let path = folder.join(format!("{name}.safetensors"));
            Checkpoint::new(path, self.fingerprint(&name))
        });
        let targets = |epoch: usize, head: Option<&Head>| -> Result<Targets> {
            match (source, recipe.graph_on, head) {
                (Source::Beliefs, _, _) if epoch <= recipe.train.labeled_epochs => {
                    Ok(labeled(known))
                }
                (Source::Beliefs, GraphOn::Embedding, Some(head)) => {
                    let embedded = head.embed_start(start.rows.clone());
                    let graph = recipe.graph.build(embedded.view(), monitor)?;
                    let beliefs = recipe.propagation.propagate(&graph, known, monitor)?;
                    Ok(self.believed(&beliefs, known))
                }
                _ => Ok(first.clone()),
            }
        };
        let score = |head: Option<&Head>| -> Result<Option<Score>> {
            let embed = |rows: &Array2<f32>| match head {
                Some(head) => head.embed_start(rows.clone()),
                None => rows.clone(),
            };
            match (judge, &start.validation) {
                (Some(judge), _) => judge.score_rows(&start.rows, embed),
                (None, Some((rows, judge))) => judge.score(&embed(rows)),
                (None, None) => Ok(None),
            }
        };
        train(&task, targets, score, checkpoint, monitor)
    }

    fn fingerprint(&self, name: &str) -> String {
        let plan = self.plan;
        let what = (plan.recipe, plan.protocol, &plan.data_digest, name);
        serde_json::to_string(&what).unwrap_or_default()
    }

    /// Pseudo-labels weighted by their confidence relative to the largest; known labels
    /// weigh 1, items that no label reaches nothing.
    fn believed(&self, beliefs: &Beliefs, known: &Labels) -> Targets {
        let power = self.plan.recipe.train.confidence_power as f32;
        let largest = (0..known.len())
            .filter(|&i| !beliefs.labeled[i])
            .map(|i| beliefs.confidence[i])
            .fold(0.0_f32, f32::max);
        let weight = |i: usize| match (known[i], beliefs.pseudo_label[i]) {
            (Label::Known(_), _) => 1.0,
            (_, Some(_)) if largest > 0.0 => (beliefs.confidence[i] / largest).powf(power),
            _ => 0.0,
        };
        let classes = beliefs.pseudo_label.iter();
        Targets {
            class: classes.map(|label| label.unwrap_or(0)).collect(),
            weight: (0..known.len()).map(weight).collect(),
            passes: 1,
        }
    }
}

/// The known labels, and nothing else.
fn labeled(known: &Labels) -> Targets {
    let classes = known.items().iter().map(|label| label.class());
    let weights = classes.clone().map(|c| f32::from(u8::from(c.is_some())));
    Targets {
        weight: weights.collect(),
        class: classes.map(Option::unwrap_or_default).collect(),
        passes: LABELED_PASSES,
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
