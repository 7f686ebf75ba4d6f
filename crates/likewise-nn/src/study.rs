//! A study: one recipe beside its baselines, under one protocol, with intervals.

mod believe;
mod draw;
mod few_labels;
mod results;
mod start;
mod verdict;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use burn::tensor::Device;
use likewise::eval::bootstrap::Bootstrap;
use likewise::eval::ranking::{self, Protocol as Ask};
use likewise::eval::summary::Run;
use likewise::eval::whitening::Spectrum;
use likewise::eval::{calibration::Calibration, collapse::Collapse, leak, nmi, split};
use likewise::neighbor::KnnGraph;
use likewise::{Beliefs, Collection, Graph, Labels, Monitor, Part, matrix};
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

pub use draw::{DrawLog, Measured};
pub use results::{Finding, Results, row_title};
pub use verdict::{Answer, Delivered, Finding as Found, Next, Sureness, Verdict};

use crate::net::{EmbeddingConfig, Model, Weights};
use crate::recipe::Recipe;
use crate::{Error, Images, PixelRows, Result};

/// How the items are divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitKind {
    /// 70 % of each class for fitting, 30 % for testing; the classes are the same.
    Item,
    /// Disjoint classes: 40 % to fit, 20 % to validate, 40 % to test.
    ZeroShot,
    /// As the data say.
    Given,
    /// Nothing is set aside: all labels are fitted. What that is worth is measured by rounds
    /// that keep some labels back, against a gallery of all items (see
    /// [`likewise::eval::few_labels`]).
    Folds,
}

/// What is measured, and how often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Protocol {
    /// How the items are divided.
    pub split: SplitKind,
    /// Labels kept for each class of the training part; `None`: all that are known.
    pub labels_per_class: Option<usize>,
    /// Label draws (1 where no label is hidden: there is nothing to draw).
    pub draws: usize,
    /// Seed of the split, the draws (`seed + draw`) and the training.
    pub seed: u64,
    /// The k of R@k and P@k.
    pub ks: Vec<usize>,
    /// Whether to cluster for NMI.
    pub nmi: bool,
    /// Whether the model that is kept learns from the test part as well, once everything is
    /// measured. Without effect where labels are hidden, and with folds, which fit all anyway.
    #[serde(default)]
    pub refit: bool,
}

impl Protocol {
    /// Whether the model that is kept learns from the test part as well.
    pub fn refits(&self) -> bool {
        self.refit && self.labels_per_class.is_none() && self.split != SplitKind::Folds
    }
}

impl Default for Protocol {
    fn default() -> Self {
        Self {
            split: SplitKind::Item,
            labels_per_class: None,
            draws: 5,
            seed: 0,
            ks: vec![1, 2, 4, 8],
            nmi: true,
            refit: false,
        }
    }
}

/// Share of each class that an item split fits on.
pub const TRAIN_SHARE: f64 = 0.7;

/// Everything a study leaves behind.
#[derive(Debug, Clone)]
pub struct Study {
    /// The numbers: what `metrics.json` holds.
    pub results: Results,
    /// The part of every item.
    pub parts: Vec<Part>,
    /// The fitted model of the first draw.
    pub model: Model,
    /// Rows that were fitted on, in the order of `beliefs`.
    pub train: Vec<usize>,
    /// Beliefs of the first draw about the training items.
    pub beliefs: Beliefs,
    /// Class of each column of `beliefs`.
    pub classes: Vec<String>,
    /// Embeddings of all items by the model that is kept.
    pub embeddings: Array2<f32>,
    /// Embeddings of all items by the model that was measured, where that has since learned
    /// from the test part as well.
    pub measured: Option<Array2<f32>>,
}

/// The work of one study.
pub struct Plan<'a> {
    /// The items; labels are needed for all splits but folds.
    pub collection: &'a Collection,
    /// Features of all items: the view that is used.
    pub features: ArrayView2<'a, f32>,
    /// What the recipe's encoder reads, in the order of the items; `None`: the features are
    /// pixels.
    pub images: Option<&'a dyn Images>,
    /// The recipe.
    pub recipe: &'a Recipe,
    /// The protocol.
    pub protocol: &'a Protocol,
    /// Weights that the recipe's encoder starts from; `None`: random ones.
    pub pretrained: Option<Weights>,
    /// Where unfinished trainings are kept; `None`: nowhere.
    pub checkpoints: Option<PathBuf>,
    /// Where the trainings log every step and epoch, each in a folder of its own, as lines of
    /// JSON and for `TensorBoard`; `None`: nowhere.
    pub events: Option<PathBuf>,
    /// What tells these data from others: files, view, and how images were read. A checkpoint
    /// of other data is not resumed.
    pub data_digest: String,
    /// Where the tensors live.
    pub device: Device,
}

/// Which whitening the head starts from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Whiten {
    eps: f64,
    standardize: bool,
    /// Power of the features before.
    power: f64,
}

/// What all draws of a study share.
pub(crate) struct Ground<'a> {
    plan: &'a Plan<'a>,
    recipe: &'a Recipe,
    labels: Cow<'a, Labels>,
    /// What the recipe's encoder reads, if there is one.
    images: Option<Box<dyn Images + 'a>>,
    train: Vec<usize>,
    /// Items of known class in the split's validation part.
    validation: Vec<usize>,
    /// Whether the classes that ask have no label to fit on.
    disjoint: bool,
    /// Items that would ask, but have nothing to find.
    lone: usize,
    /// The items that ask or are searched, their features and labels: no other row needs to
    /// be embedded to measure.
    tested_items: Vec<usize>,
    tested: Array2<f32>,
    tested_labels: Labels,
    /// Rows of `tested`.
    queries: Vec<usize>,
    gallery: Vec<usize>,
    /// By the power of the features: of these as they are, and with standardized columns.
    spectra: Vec<(f64, [Spectrum; 2])>,
    /// Graphs on the start, its rank and their settings: draws and recipes that agree on
    /// these share the graph.
    graphs: Vec<((Whiten, usize, KnnGraph), Graph)>,
}

impl<'p> Plan<'p> {
    /// Runs the study.
    ///
    /// Fails without labels, with a split that leaves nothing to fit or to ask, on NaN, on
    /// a parameter out of its range, and when cancelled.
    ///
    /// Cost: one exact graph of the training items, and per draw two propagations and
    /// trainings (times the folds + 1 where the split has no validation part).
    pub fn run(&'p self, monitor: &Monitor) -> Result<Study> {
        match self.protocol.split {
            SplitKind::Folds => self.run_on_all(monitor),
            _ => self.run_on_split(monitor),
        }
    }

    fn run_on_split(&'p self, monitor: &Monitor) -> Result<Study> {
        let (labels, parts) = self.divide()?;
        let mut ground = self.ground(labels, &parts)?;
        let draws = match self.protocol.labels_per_class {
            Some(_) => self.protocol.draws,
            None => self.protocol.draws.min(1),
        };
        let leaks = self.leaks(Some(labels), &parts, monitor)?;
        if let Some(asked) = self.protocol.labels_per_class {
            let fitted = labels.select(&ground.train);
            let most = fitted.by_class().iter().map(Vec::len).max().unwrap_or(0);
            if most < asked {
                monitor.warn(format!(
                    "{asked} labels a class are to be kept, but no class has more than {most} to \
                     fit on: none is hidden, and all draws are the same"
                ));
            }
        }

        let mut rows: BTreeMap<&'static str, Vec<Run>> = BTreeMap::new();
        let raw = matrix::l2_normalize(ground.tested.clone());
        rows.insert("raw", vec![self.ask(&ground, raw.view(), monitor)?]);
        rows.insert("whitened", vec![ground.ask_whitened(monitor)?]);
        let raw_collapse = collapse(&ground, raw.view())?;
        drop(raw);
        let mut logs = Vec::new();
        let mut first = None;
        for draw in 0..draws {
            let done = ground.draw(draw, &mut rows, monitor)?;
            logs.push(done.log);
            first.get_or_insert(done.kept);
        }
        if self.protocol.labels_per_class.is_some() {
            // Where no label is hidden, the recipe has seen them all already.
            rows.insert("all_labels", vec![ground.all_labels(monitor)?]);
        }

        let mut kept = first.ok_or_else(|| Error::parameter("draws", 0, "must be at least 1"))?;
        let learned = {
            let embedded = ground.embed_tested(&kept, monitor)?;
            collapse(&ground, embedded.view())?
        };
        let (fitted, disjoint, lone) = (kept.labels.clone(), ground.disjoint, ground.lone);
        let mut measured = None;
        if self.protocol.refits() {
            measured = Some(self.embed_all(&kept.model, &ground, monitor)?);
            ground = self.ground_on(Cow::Borrowed(labels), Places::all(labels))?;
            kept = ground.refit(&kept, monitor)?;
        }
        let calibration = calibration(&kept.beliefs, &labels.select(&ground.train), &kept.classes)?;
        let by_class = by_class(&rows["recipe"], labels);
        let numbers = results::Rows {
            labels: fitted.clone(),
            weakest: results::weakest(&by_class, labels.classes()),
            disjoint,
            lone,
            unlabeled: labels.len() - fitted.values().sum::<usize>(),
            delivered: logs.first().map_or(Delivered::Learned, Delivered::of),
            ..results::Rows::default()
        };
        let meters = results::Meters {
            raw: raw_collapse,
            learned,
            calibration,
            leaks,
            parts: count(&parts),
        };
        let results = Results::of_runs(self, &rows, &self.bootstrap(), numbers, logs, meters)?;
        let mut study = self.finish(results, parts, kept, ground, monitor)?;
        study.measured = measured;
        Ok(study)
    }

    /// Embeds all items by a model.
    fn embed_all(&self, model: &Model, ground: &Ground, monitor: &Monitor) -> Result<Array2<f32>> {
        match (model, &ground.images) {
            (Model::Deep(deep), Some(images)) => {
                let all: Vec<usize> = (0..self.features.nrows()).collect();
                deep.embed_images(images.as_ref(), &all, &self.device, monitor)
            }
            _ => model.embed(self.features, &self.device),
        }
    }

    /// Embeds all items by the model that is kept.
    fn finish(
        &self,
        results: Results,
        parts: Vec<Part>,
        kept: draw::Kept,
        ground: Ground,
        monitor: &Monitor,
    ) -> Result<Study> {
        let embeddings = self.embed_all(&kept.model, &ground, monitor)?;
        let model = kept.model;
        Ok(Study {
            results,
            parts,
            model,
            train: ground.train,
            beliefs: kept.beliefs,
            classes: kept.classes,
            embeddings,
            measured: None,
        })
    }

    /// The labels and the part of every item, all checked.
    fn divide(&self) -> Result<(&Labels, Vec<Part>)> {
        self.recipe.validate()?;
        let labels = self
            .collection
            .labels
            .as_ref()
            .ok_or_else(|| Error::data("the data hold no labels; this split needs some"))?;
        matrix::check_finite(self.features, "features")?;
        Ok((labels, self.split(labels)?))
    }

    /// What the recipe's encoder reads, if there is one.
    ///
    /// Fails where that are other images than the rows hold, and where an encoder that would
    /// begin as the whitening of its features cannot.
    fn images(&'p self, recipe: &Recipe) -> Result<Option<Box<dyn Images + 'p>>> {
        let Some(encoder) = &recipe.encoder else {
            return Ok(None);
        };
        let columns = self.features.ncols();
        if let EmbeddingConfig::Whitened { .. } = encoder.head {
            let wanted = encoder.name.features();
            let rule = "it goes on from a pretrained network: fit a folder of images with \
                        --encoder FILE";
            if self.pretrained.is_none() || self.images.is_none() || columns != wanted {
                let name = encoder.name();
                return Err(Error::data(format!(
                    "encoder.head is whitened, but the view is not the {wanted} features of \
                     {name} by its own weights; {rule}"
                )));
            }
        }
        if let Some(images) = self.images {
            return Ok(Some(Box::new(images)));
        }
        let input = encoder.input();
        let shape = [input.channels, input.height, input.width];
        let rows = PixelRows::new(self.features, shape).map_err(|e| {
            let name = encoder.name();
            Error::data(format!("the encoder {name} reads {e}"))
        })?;
        Ok(Some(Box::new(rows)))
    }

    fn split(&self, labels: &Labels) -> Result<Vec<Part>> {
        Ok(match self.protocol.split {
            SplitKind::Item => split::by_item(labels, TRAIN_SHARE, 0.0, self.protocol.seed)?,
            SplitKind::ZeroShot => split::zero_shot(labels, self.protocol.seed)?,
            SplitKind::Given => split::given(self.collection)?,
            SplitKind::Folds => vec![Part::Train; labels.len()],
        })
    }

    fn ground(&'p self, labels: &'p Labels, parts: &[Part]) -> Result<Ground<'p>> {
        let places = Places::of(labels, parts);
        if places.train.is_empty() {
            return Err(Error::data("the split leaves nothing to fit on"));
        }
        if places.queries.is_empty() {
            return Err(Error::data(
                "the split leaves no two labeled items of one class to test on; label more \
                 items, or let all labels be fitted and measured by folds",
            ));
        }
        self.ground_on(Cow::Borrowed(labels), places)
    }

    fn ground_on(&'p self, labels: Cow<'p, Labels>, at: Places) -> Result<Ground<'p>> {
        let mut tested: Vec<usize> = at.queries.iter().chain(&at.gallery).copied().collect();
        tested.sort_unstable();
        tested.dedup();
        let rows = |items: &[usize]| -> Vec<usize> {
            let row = |item: &usize| tested.binary_search(item).ok();
            items.iter().filter_map(row).collect()
        };
        let (queries, gallery) = (rows(&at.queries), rows(&at.gallery));
        let mut fitted = vec![false; labels.n_classes()];
        for class in at.train.iter().filter_map(|&i| labels[i].class()) {
            fitted[class as usize] = true;
        }
        let asks = |&i: &usize| labels[i].class().is_some_and(|c| fitted[c as usize]);
        let disjoint = !at.queries.is_empty() && !at.queries.iter().any(asks);
        let mut ground = Ground {
            plan: self,
            recipe: self.recipe,
            images: self.images(self.recipe)?,
            train: at.train,
            validation: at.validation,
            lone: at.lone,
            disjoint,
            tested: matrix::select_rows(self.features, &tested),
            tested_labels: labels.select(&tested),
            tested_items: tested,
            labels,
            queries,
            gallery,
            spectra: Vec::new(),
            graphs: Vec::new(),
        };
        ground.analyse()?;
        Ok(ground)
    }

    fn leaks(
        &self,
        labels: Option<&Labels>,
        parts: &[Part],
        monitor: &Monitor,
    ) -> Result<Vec<Finding>> {
        let options = leak::Options {
            class_disjoint: self.protocol.split == SplitKind::ZeroShot,
            ..leak::Options::default()
        };
        let report = leak::check(self.features, parts, labels, None, options, monitor)?;
        let mut findings = results::findings(&report, self.collection);
        let outsized = matrix::outsized(self.features);
        if let Some(&first) = outsized.first() {
            let id = self.collection.ids()[first].clone();
            findings.push(Finding {
                what: "items over 1,000 times as long as others (check them; mean and whitening \
                       leave them out)",
                count: outsized.len(),
                examples: vec![(id.clone(), id)],
            });
        }
        for finding in &findings {
            monitor.warn(finding.to_string());
        }
        Ok(findings)
    }

    /// The metrics of embeddings of the tested items.
    fn ask(&self, ground: &Ground, tested: ArrayView2<f32>, monitor: &Monitor) -> Result<Run> {
        let labels = &ground.tested_labels;
        let ask = Ask::new(tested, labels, &ground.queries, &ground.gallery);
        Ok(Run {
            ranking: ranking::evaluate(&ask, &self.protocol.ks, monitor)?,
            nmi: if self.protocol.nmi {
                Some(nmi::evaluate(&ask, self.protocol.seed, monitor)?)
            } else {
                None
            },
        })
    }

    fn bootstrap(&self) -> Bootstrap {
        Bootstrap::new().seed(self.protocol.seed)
    }
}

/// The items of each part that are of use there.
struct Places {
    train: Vec<usize>,
    validation: Vec<usize>,
    queries: Vec<usize>,
    gallery: Vec<usize>,
    /// Items of known class that would ask, but have no other one of it to find.
    lone: usize,
}

impl Places {
    /// Queries are of known class, and have another item of it to find.
    fn of(labels: &Labels, parts: &[Part]) -> Self {
        let of =
            |part: Part| -> Vec<usize> { (0..parts.len()).filter(|&i| parts[i] == part).collect() };
        let known = |&i: &usize| labels[i].class().is_some();
        let (mut queries, mut gallery) = split::roles(parts);
        // Items known to be none of the classes do not ask, but are wrong answers.
        gallery.retain(|&i| labels[i] != likewise::Label::Unknown);
        let mut answers = vec![0_usize; labels.n_classes()];
        for class in gallery.iter().filter_map(|&i| labels[i].class()) {
            answers[class as usize] += 1;
        }
        queries.retain(known);
        let asking = queries.len();
        queries.retain(|&i| {
            let own = usize::from(gallery.binary_search(&i).is_ok());
            (labels[i].class()).is_some_and(|class| answers[class as usize] > own)
        });
        let mut validation = of(Part::Validation);
        validation.retain(known);
        Self {
            train: of(Part::Train),
            validation,
            lone: asking - queries.len(),
            queries,
            gallery,
        }
    }

    /// Everything is fitted, and everything is searched.
    fn all(labels: &Labels) -> Self {
        Self {
            train: (0..labels.len()).collect(),
            validation: vec![],
            queries: vec![],
            gallery: (0..labels.len()).collect(),
            lone: 0,
        }
    }
}

/// One split of a collection, on which recipes are measured one by one, without the rows of a
/// [`Study`] that stand beside a single recipe.
///
/// Recipes share the spectrum of the features and the graphs that they agree on.
pub struct Bench<'p>(Ground<'p>);

impl<'p> Plan<'p> {
    /// The bench of this plan; its recipe is the first one.
    pub fn bench(&'p self) -> Result<Bench<'p>> {
        let (labels, parts) = self.divide()?;
        Ok(Bench(self.ground(labels, &parts)?))
    }
}

impl<'p> Bench<'p> {
    /// How the features do as they are.
    pub fn raw(&self, monitor: &Monitor) -> Result<Run> {
        let raw = matrix::l2_normalize(self.0.tested.clone());
        self.0.plan.ask(&self.0, raw.view(), monitor)
    }

    /// How the whitened features do, with a shrinkage that no label chooses.
    ///
    /// As the plan's recipe reads them, whichever ran last.
    pub fn whitened(&mut self, monitor: &Monitor) -> Result<Run> {
        self.choose(self.0.plan.recipe)?;
        self.0.ask_whitened(monitor)
    }

    /// How a recipe does in draw number `draw`, and what happened.
    pub fn run(&mut self, recipe: &'p Recipe, draw: u64, monitor: &Monitor) -> Result<Measured> {
        recipe.validate()?;
        self.choose(recipe)?;
        self.0.measure(draw, monitor)
    }

    fn choose(&mut self, recipe: &'p Recipe) -> Result<()> {
        self.0.images = self.0.plan.images(recipe)?;
        self.0.recipe = recipe;
        self.0.analyse()
    }

    /// Items to fit on, to validate, to ask and to search.
    pub fn sizes(&self) -> [usize; 4] {
        let ground = &self.0;
        let parts = [
            &ground.train,
            &ground.validation,
            &ground.queries,
            &ground.gallery,
        ];
        parts.map(Vec::len)
    }
}

/// Items that the collapse meter looks at.
const METER_SAMPLE: usize = 4096;

/// The collapse meter on the items that are searched, or on some of them drawn at random.
fn collapse(ground: &Ground, tested: ArrayView2<f32>) -> Result<Collapse> {
    let gallery = &ground.gallery;
    let drawn =
        likewise::eval::collapse::sample(gallery.len(), METER_SAMPLE, ground.plan.protocol.seed);
    let rows: Vec<usize> = drawn.into_iter().map(|place| gallery[place]).collect();
    let tested = matrix::select_rows(tested, &rows);
    Ok(Collapse::measure(tested.view())?)
}

/// Accuracy by confidence of the unlabeled training items whose class is known to us.
fn calibration(beliefs: &Beliefs, truth: &Labels, classes: &[String]) -> Result<Calibration> {
    let column: BTreeMap<&str, u32> = (0..)
        .zip(classes)
        .map(|(c, name)| (name.as_str(), c))
        .collect();
    let items = truth.items().iter().map(|label| match label {
        likewise::Label::Known(class) => column
            .get(truth.classes()[*class as usize].as_str())
            .map_or(likewise::Label::Unknown, |&c| likewise::Label::Known(c)),
        other => *other,
    });
    let truth = Labels::new(classes.to_vec(), items.collect())?;
    Ok(Calibration::measure(beliefs, &truth)?)
}

/// Sum and number of the queries' MAP@R by class, over all runs.
fn by_class(runs: &[Run], labels: &Labels) -> Vec<(f64, usize)> {
    let mut by_class = vec![(0.0, 0_usize); labels.n_classes()];
    for run in runs {
        let values = run.ranking.values(ranking::Measure::MapAtR);
        for (&query, value) in run.ranking.queries.iter().zip(values.unwrap_or_default()) {
            if let Some(class) = labels[query].class() {
                let (sum, n) = &mut by_class[class as usize];
                *sum += value;
                *n += 1;
            }
        }
    }
    by_class
}

fn count(parts: &[Part]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for part in parts {
        *counts.entry(part.name().to_owned()).or_default() += 1;
    }
    counts
}
