//! A fit: a study of some data, and the run folder that it leaves.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use likewise::error::Hint;
use likewise::eval::few_labels;
use likewise::learn::Closed;
use likewise::tuple::Tuples;
use likewise::{Collection, Label, Labels, Monitor, Part, View};
use likewise_image::Vocabulary;
use likewise_io::Layout;
use likewise_nn::Model;
use likewise_nn::net::Weights;

use crate::card;
use crate::environment::{Environment, today};
use crate::estimate::Estimate;
use crate::gate::Gate;
use crate::graph::DataShape;
use crate::recipe::{Learner, Recipe, keeps_all, most_neighbors};
use crate::report::{self, About, Map, Rows, Thumbnails};
use crate::run_folder::{
    CHOICE, Config, Encoded, IndexCard, Origin, Record, RunFolder, Work, peak_memory, save,
    suitable, write_index,
};
use crate::source::{self, Labeled, Trained};
use crate::study::{Choice, MOST_TO_CHOOSE_BY, Plan, Protocol, Results, SplitKind, Study, Tried};
use crate::{Error, ErrorKind, Result, usage};

/// Neighbours at which the recall of the run's index is measured.
const INDEX_RECALL_AT: usize = 10;

/// A fit to run, and where its data came from.
pub struct Job {
    /// What to do.
    pub recipe: Recipe,
    /// How it is measured.
    pub protocol: Protocol,
    /// The data, in words.
    pub data: String,
    /// Their digest.
    pub digest: String,
    /// What was taken of them, and how: the same files read in another way are other data.
    pub read_as: String,
    /// How the columns of the table became features, where the data were one.
    pub table: Option<Layout>,
    /// What made the features, where the data were images.
    pub encoder: Vec<Encoded>,
    /// The words of those of points.
    pub words: Vec<Arc<Vocabulary>>,
    /// Pairs or triplets that are given, by the places of their items.
    pub tuples: Option<Tuples>,
    /// The model of an earlier fit of the same data that learning goes on from, and from how many of
    /// the tuples, the first ones.
    pub before: Option<(Model, usize)>,
    /// The recipes that this one was chosen from, if it was.
    pub tried: Vec<Tried>,
    /// Images for a network that is trained, where they come from a folder.
    pub trained: Option<Trained>,
    /// Weights that it starts from.
    pub pretrained: Option<Weights>,
    /// How the map of the report places its items.
    pub map: Map,
    /// What was asked for, as it stands in the record and the report.
    pub command: Vec<String>,
    /// Seconds that the steps before took, by name; those of the fit join them.
    pub seconds: BTreeMap<String, f64>,
}

impl Job {
    /// Runs the study and fills the folder: the artifacts first, `run.json` last.
    ///
    /// Fails as the study does, and where the folder cannot be written; trainings that were
    /// kept stay for another try ([`Hint::Resume`]).
    pub fn run<'a>(
        &mut self,
        collection: &'a Collection,
        view: &View,
        work: Work,
        thumbnails: Option<Thumbnails<'a>>,
        second: Option<&Results>,
        at: &Environment,
    ) -> Result<(Study, IndexCard)> {
        let origin = Origin {
            data_sha256: self.digest.clone(),
            read_as: self.read_as.clone(),
        };
        work.note(&self.config(view), &origin)?;
        let clock = Instant::now();
        let mut study = match self.plan(collection, view, Some(&work), at).run(at.monitor) {
            Ok(study) => study,
            Err(e) => {
                let again = matches!(e.kind(), ErrorKind::Data | ErrorKind::Parameter);
                return Err(if work.give_up(again) {
                    e.hint(Hint::Resume)
                } else {
                    e
                });
            }
        };
        study.results.tried.clone_from(&self.tried);
        self.seconds
            .insert("study".into(), clock.elapsed().as_secs_f64());
        match self.write(&study, collection, view, &work, thumbnails, second, at) {
            Ok(card) => {
                work.finish(at.monitor)?;
                Ok((study, card))
            }
            Err(e) => Err(if work.give_up(false) {
                e.hint(Hint::Resume)
            } else {
                e
            }),
        }
    }

    /// Fills the folder with a study that was run before, as [`run`](Self::run) does.
    ///
    /// Fails where the folder cannot be written.
    pub fn keep(
        &mut self,
        study: &Study,
        collection: &Collection,
        view: &View,
        work: Work,
        at: &Environment,
    ) -> Result<IndexCard> {
        let origin = Origin {
            data_sha256: self.digest.clone(),
            read_as: self.read_as.clone(),
        };
        work.note(&self.config(view), &origin)?;
        let card = self.write(study, collection, view, &work, None, None, at)?;
        work.finish(at.monitor)?;
        Ok(card)
    }

    fn origin(&self) -> card::Origin<'_> {
        card::Origin {
            recipe: &self.recipe,
            data: &self.data,
            sha256: &self.digest,
            seed: self.protocol.seed,
        }
    }

    fn config(&self, view: &View) -> Config {
        Config {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            view: view.name.clone(),
            dimensions: view.matrix.ncols(),
            table: self.table.clone(),
            encoder: self.encoder.clone(),
            recipe: self.recipe.clone(),
            protocol: self.protocol.clone(),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what a run is made of")]
    fn write<'a>(
        &mut self,
        study: &Study,
        collection: &'a Collection,
        view: &View,
        work: &Work,
        thumbnails: Option<Thumbnails<'a>>,
        second: Option<&Results>,
        at: &Environment,
    ) -> Result<IndexCard> {
        let clock = Instant::now();
        save(work, study, collection, &view.name)?;
        work.write_words(&self.words)?;
        let card = write_index(
            &work.file("index"),
            (study.embeddings.view(), Some(&work.file("embeddings.npy"))),
            suitable(collection.len(), study.model.similarity().metric()),
            INDEX_RECALL_AT.min(collection.len()),
            self.protocol.seed,
            at.monitor,
        )?;
        let name = Path::new(&self.data).file_name();
        let name = name.map_or_else(|| self.data.clone(), |name| name.display().to_string());
        let page = report::html(
            study,
            collection,
            view.matrix.view(),
            thumbnails,
            About {
                data: &name,
                date: &today(),
                command: &self.command.join(" "),
                map: self.map,
            },
            second,
        )?;
        work.write("report.html", page.as_bytes())?;
        work.write(
            "README.md",
            card::text(&self.origin(), &study.model, &study.results).as_bytes(),
        )?;
        self.seconds
            .insert("write".into(), clock.elapsed().as_secs_f64());
        work.write_json(
            "run.json",
            &Record {
                version: env!("CARGO_PKG_VERSION").into(),
                arguments: self.command.clone(),
                seed: self.protocol.seed,
                data: self.data.clone(),
                data_sha256: self.digest.clone(),
                items: collection.len(),
                added: 0,
                seconds: self.seconds.clone(),
                stages: at.stages.seconds(),
                peak_memory_bytes: peak_memory(),
                threads: rayon::current_num_threads(),
                read_as: self.read_as.clone(),
                views: vec![],
                parts: work.parts()?,
            },
        )?;
        Ok(card)
    }

    /// Whether a finished run is what this job would make.
    ///
    /// Fails where it is not whole.
    pub fn is_done(&self, run: &RunFolder, view: &View) -> Result<bool> {
        run.check()?;
        let record = run.record()?;
        Ok(run.config()? == self.config(view)
            && record.data_sha256 == self.digest
            && record.read_as == self.read_as)
    }

    /// The study alone, with checkpoints where `work` keeps them.
    pub fn plan<'a>(
        &'a self,
        collection: &'a Collection,
        view: &'a View,
        work: Option<&Work>,
        at: &Environment,
    ) -> Plan<'a> {
        Plan {
            collection,
            features: view.matrix.view(),
            tuples: self.tuples.as_ref(),
            before: self
                .before
                .as_ref()
                .map(|(model, learned)| (model, *learned)),
            recipe: &self.recipe,
            chosen: !self.tried.is_empty(),
            protocol: &self.protocol,
            images: self.trained.as_ref().map(|images| images as _),
            pretrained: self.pretrained.clone(),
            checkpoints: work.map(Work::checkpoints),
            events: work.map(Work::events),
            data_digest: format!(
                "{}; {}; likewise {}",
                self.digest,
                self.read_as,
                env!("CARGO_PKG_VERSION")
            ),
            device: at.device.clone(),
        }
    }
}

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
                "draws go with labels per class and a test part: without them there is one set of \
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
const DRAWS: usize = 5;

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

/// Share of the items that a class-disjoint split fits.
const NEW_CLASSES_FIT: f64 = 0.4;

/// Classes of data of which nothing is known yet, and labels of each.
const USUAL: Labeled = Labeled {
    classes: 20,
    known: 400,
};

/// What a fit of data of this shape will cost; `labeled`, where that is known.
pub fn estimate(
    shape: &DataShape,
    recipe: &Recipe,
    asked: &Asked,
    labeled: Option<Labeled>,
) -> Estimate {
    let (n, d) = (shape.items, shape.columns);
    let fitted = (n * NEW_CLASSES_FIT) as usize;
    let all = asked.split == Some(SplitKind::ZeroShot) && keeps_all(fitted, d as usize);
    let rank = recipe.start.directions(d as usize, all) as f64;
    let draws = match (asked.labels_per_class, asked.split) {
        (Some(_), split) if split != Some(SplitKind::Folds) => {
            asked.draws.map_or(DRAWS, NonZeroUsize::get) as f64
        }
        // Five rounds that keep labels back, and one fit of all with the recipe alone.
        _ => 5.5,
    };
    let k = recipe.spreading(shape.items as usize).graph.n_neighbors() as f64;
    let labeled = labeled.unwrap_or(USUAL);
    let classes = labeled.classes as f64;
    let per_class = (asked.labels_per_class).map_or(f64::INFINITY, |m| m.get() as f64);
    let known = (labeled.known as f64).min(per_class * classes).min(n);
    let trainings = 2.0 * draws * (recipe.rounds.folds as f64 + 1.0);
    let tested = 0.3 * n;
    training(shape, recipe)
        .resident(CODE + 8.0 * n * d + 8.0 * n * rank)
        .graph(n, rank, k)
        .stage(8.0 * n * d, 4.0 * n * d * d)
        .propagation(n, k, classes)
        .stage(0.0, trainings * learning(recipe, n, d, rank, classes))
        .stage(0.0, draws * choosing_a_start(recipe, known, d))
        .stage(0.0, draws * 3.0 * 4.0 * tested * tested * 2.0 * rank)
        .evaluation(tested, tested, d.max(2.0 * rank), classes, true)
}

/// Pages of the program that learning and measuring read in beside those of any other work, bytes.
const CODE: f64 = 24e6;

/// Operations of the choice of a start by so many labels: each shrinkage that is tried whitens the
/// labeled items, in double precision, and asks them among each other.
fn choosing_a_start(recipe: &Recipe, known: f64, d: f64) -> f64 {
    let tried = match (recipe.start.as_given, recipe.start.shrinkage) {
        (true, _) => 0.0,
        (false, Some(_)) => 3.0,
        (false, None) => 15.0,
    };
    tried * known * (12.0 * d * d + known * (3.0 * d + 150.0))
}

/// Operations of one learning from `n` items.
fn learning(recipe: &Recipe, n: f64, d: f64, rank: f64, classes: f64) -> f64 {
    let round = match &recipe.learner {
        Learner::Gradient(gradient) => {
            let train = &gradient.train;
            let batches = (n / train.batch as f64).ceil().min(match train.steps {
                0 => f64::INFINITY,
                steps => steps as f64,
            });
            // Six products of hidden x rank a row and step, at a fifth of the speed of large ones.
            batches * 30.0 * train.batch as f64 * rank * 256.0
        }
        // Some hundred passes over at most so many rows.
        Learner::Closed(Closed::Logistic(_)) => 200.0 * 4.0 * n.min(20_000.0) * d * classes,
        // A covariance and its decomposition.
        Learner::Closed(_) => 2.0 * n * rank * rank + 30.0 * rank.powi(3),
        // Similarities to the anchors, and some hundred products with 64 bits.
        Learner::Cross(_) => 4.0 * n * 500.0 * (d + 500.0 + 100.0 * 64.0),
    };
    recipe.rounds.epochs as f64 * round
}

/// The same where the recipe is chosen first among `candidates`, each learned in five rounds from
/// some of the items.
#[must_use]
pub fn with_choice(
    estimate: Estimate,
    shape: &DataShape,
    candidates: &[Recipe],
    labeled: Option<Labeled>,
) -> Estimate {
    let (n, d) = (shape.items.min(MOST_TO_CHOOSE_BY as f64), shape.columns);
    let labeled = labeled.unwrap_or(USUAL);
    let (classes, known) = (labeled.classes as f64, (labeled.known as f64).min(n));
    let spread = Estimate::new().graph(n, d.min(256.0), 20.0);
    let spread = spread.propagation(n, 20.0, classes);
    let each = candidates.iter().map(|recipe| {
        let trainings = recipe.rounds.folds as f64 + 1.0;
        let rank = recipe.start.directions(d as usize, false) as f64;
        let learned = trainings * learning(recipe, n, d, rank, classes);
        let spreads = recipe.pseudo_labels.propagation().is_some();
        let spread = if spreads { spread.flops() } else { 0.0 };
        ROUNDS * (choosing_a_start(recipe, known, d) + learned + spread)
    });
    // What is fitted is another part in each round, and is looked at anew.
    let looked_at = ROUNDS * 4.0 * Estimate::new().variances(n, d).flops();
    estimate.stage(0.0, each.sum::<f64>() + looked_at)
}

/// Rounds of a choice.
const ROUNDS: f64 = 5.0;

/// The features in memory and, where a network is trained on images, what that takes beside them.
fn training(shape: &DataShape, recipe: &Recipe) -> Estimate {
    let read = shape.read();
    let (Some(config), true) = (recipe.encoder(), shape.making > 0.0) else {
        return read;
    };
    let gradient = recipe.learner.gradient();
    let batch = gradient.map_or(1, |gradient| gradient.train.batch);
    let step = config.memory_to_train(batch, recipe.rounds.epochs);
    // Images are kept in bytes, higher or wider than the square that is cut out of them.
    let input = config.input();
    let kept = 2.0 * 3.0 * shape.items * (input.height * input.width) as f64;
    let network = step.max(config.memory_to_embed()) as f64;
    read.resident(kept.min(Trained::ROOM as f64))
        .stage(shape.decoding + network, 0.0)
}

/// What the labels at hand choose, with `k` neighbours where that is asked for. What was compared is kept among
/// the `checkpoints`, and not done again.
///
/// Fails where `k` is not below the number of items, and as the fits of the candidates do.
pub fn choose(
    collection: &Collection,
    view: &View,
    protocol: &Protocol,
    k: Option<usize>,
    checkpoints: Option<PathBuf>,
    at: &Environment,
) -> Result<Choice> {
    // Recipes are compared on a part of the items, and with no more neighbours than suit it.
    if let Some(k) = k.filter(|k| !(1..collection.len()).contains(k)) {
        let most = collection.len().saturating_sub(1);
        let rule = format!("k = {k} must be from 1 to {most}, the number of other items");
        return Err(usage(rule));
    }
    let (device, recipe) = (at.device.clone(), Recipe::default());
    let plan = Plan {
        checkpoints: checkpoints.clone(),
        ..Plan::of(collection, view.matrix.view(), &recipe, protocol, device)
    };
    let chosen = plan.choose_recipe(k, at.monitor);
    chosen.map_err(|e| {
        let kept = checkpoints.is_some_and(|folder| folder.join(CHOICE).exists());
        if kept && e.kind() == ErrorKind::Cancelled {
            e.hint(Hint::Resume)
        } else {
            e
        }
    })
}

/// Twenty neighbours of sixty items would be everybody: says so, and takes a tenth.
pub fn limit_neighbors(recipe: &mut Recipe, items: f64, monitor: &Monitor) {
    if let Some(propagation) = recipe.pseudo_labels.propagation_mut() {
        let k = propagation.graph.n_neighbors();
        let k = fewer_neighbors(k, items, monitor);
        propagation.graph = propagation.graph.clone().k(k);
    }
}

/// As many neighbours of an item, or a tenth of the items where that is less, which is said.
pub fn fewer_neighbors(k: usize, items: f64, monitor: &Monitor) -> usize {
    let most = most_neighbors(items as usize);
    if k <= most || items <= 0.0 {
        return k;
    }
    monitor.warn(format!(
        "{k} neighbours are many for {items} items, of which they would be no near ones; using {most}"
    ));
    most
}

/// The rows of a view as pictures, where they can only be square ones.
pub fn pictures(view: &View) -> Option<Thumbnails<'_>> {
    square(view).map(|side| {
        Thumbnails::Rows(Rows {
            pixels: view.matrix.view(),
            width: side,
            height: side,
        })
    })
}

/// Side of the picture that a row of pixels is, grey or in three colours, where it can only be
/// a square one.
fn square(view: &View) -> Option<usize> {
    let columns = view.matrix.ncols();
    let side = [columns, columns / 3].map(usize::isqrt);
    let fits = side.into_iter().find(|side| {
        let area = side * side;
        area == columns || 3 * area == columns
    });
    fits.filter(|_| view.name == "pixels")
}
