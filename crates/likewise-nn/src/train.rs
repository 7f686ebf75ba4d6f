//! The training loop: network, map and proxies, epoch by epoch, resumable.

mod body;
mod checkpoint;
mod config;
mod gradient;
mod log;
mod map;
mod models;
mod rca;
mod selection;
mod state;
mod targets;

use std::path::PathBuf;

use burn::tensor::{Device, Tensor};
use likewise::Monitor;
use likewise::eval::collapse::{self, Collapse};
use likewise::eval::whitening::Whitening;
use likewise::matrix::select_rows;
use likewise::seed::{self, Rng};
use ndarray::{Array2, ArrayView2, Axis};
use rand::RngExt;
use serde::{Deserialize, Serialize};

pub(crate) use checkpoint::Checkpoint;
pub use config::{Confidence, Keep, Optimizer, Schedule, TrainConfig};
pub(crate) use log::Log;
pub(crate) use models::{Models, Wanted};
pub(crate) use selection::{ENOUGH, Mean, Score, Validation};
pub use selection::{NoEvidence, Why};
pub(crate) use targets::Targets;

use self::state::{Gathered, State};
use self::targets::Draw;
use crate::memory::Memory;
use crate::net::{Deep, EmbeddingConfig, Head, Model, Residual, Weights};
use crate::{Error, ErrorKind, Images, Recipe, Result};

/// One line of the training log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Number of finished epochs; 0 is the untrained start.
    pub epoch: usize,
    /// Mean loss of a step; none before the first epoch.
    pub loss: Option<f64>,
    /// Validation score, where there is a validation.
    pub validation: Option<f64>,
    /// Standard error of the validation score over its queries.
    pub validation_error: Option<f64>,
    /// Effective rank of the learned part of the embedding, on a sample.
    pub effective_rank: f64,
    /// Mean pairwise cosine of the learned part, on a sample.
    pub mean_cosine: f64,
}

/// All that one training needs to know.
pub(crate) struct Task<'a> {
    pub(crate) recipe: &'a Recipe,
    /// The fixed part of a head on features.
    pub(crate) whitening: &'a Whitening,
    /// Unit rows of the start, one per training item.
    pub(crate) start: ArrayView2<'a, f32>,
    /// The training items, by their places among all.
    pub(crate) items: &'a [usize],
    /// What an encoder reads, of all items; none: a head stands on features.
    pub(crate) images: Option<&'a dyn Images>,
    /// What relevant component analysis reads.
    pub(crate) rotated: Option<Rotated<'a>>,
    /// Weights that an encoder starts from.
    pub(crate) pretrained: Option<&'a Weights>,
    pub(crate) classes: usize,
    /// Super-class of each class.
    pub(crate) groups: &'a [u32],
    pub(crate) epochs: usize,
    /// Which model will be asked for.
    pub(crate) wanted: Wanted,
    pub(crate) seed: u64,
    pub(crate) device: &'a Device,
}

/// Features of all items, and their map to the directions of the start as they are, centred
/// but not whitened.
#[derive(Clone, Copy)]
pub(crate) struct Rotated<'a> {
    pub(crate) features: ArrayView2<'a, f32>,
    pub(crate) map: &'a Whitening,
}

/// A finished training: the models that may be asked for, and the log of every epoch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trained {
    pub(crate) models: Models,
    pub(crate) log: Vec<Epoch>,
    pub(crate) scores: Vec<Option<Score>>,
}

/// Items whose embeddings feed the collapse meter: enough for a rank, cheap every epoch.
const METER_SAMPLE: usize = 2048;
/// As many of images: a rank of a hundred shows, and looking at one is dear.
const DEEP_SAMPLE: usize = 256;

pub(crate) fn no_images() -> Error {
    Error::data("a network reads images, but there are none")
}

impl Task<'_> {
    /// Columns of the unit rows before an orthonormal map.
    pub(crate) fn unit_dim(&self) -> usize {
        match &self.recipe.encoder {
            Some(encoder) => encoder.output_dim(),
            None => match self.recipe.head.residual {
                Residual::Orthogonal { .. } => self.start.ncols(),
                Residual::Linear | Residual::Mlp { .. } | Residual::Rca(_) => {
                    self.recipe.head.learned_dim(self.start.ncols())
                }
            },
        }
    }

    /// The start itself, as a model: where an encoder begins as it, or was taught before, that;
    /// also where it is all that there will be.
    fn start_model(&self) -> Result<Model> {
        let taught = self.recipe.pretraining.is_some();
        let only = self.recipe.encoder.is_some() && self.epochs == 0;
        if self.begins_whitened() || taught || only {
            let device = self.device.clone().autodiff();
            let model = State::new(self, None, &device)?.model(self)?;
            return Ok(match model {
                // Beside itself it would be the same, twice as long.
                Model::Deep(deep) => Model::Deep(Deep {
                    start: None,
                    ..deep
                }),
                Model::Head(_) => model,
            });
        }
        Ok(Model::Head(Head {
            config: self.recipe.head,
            start: self.whitening.clone(),
            residual: None,
        }))
    }

    /// Whether an encoder begins as the start.
    pub(crate) fn begins_whitened(&self) -> bool {
        let head = self.recipe.encoder.as_ref().map(|encoder| encoder.head);
        let mapped = matches!(self.recipe.head.residual, Residual::Orthogonal { .. });
        matches!(head, Some(EmbeddingConfig::Whitened { .. }))
            && self.pretrained.is_some()
            && !mapped
    }

    /// What the network reads of some training items; random views of images if `vary`.
    fn inputs(&self, items: &[usize], vary: Option<&mut Rng>) -> Result<Array2<f32>> {
        let Some(images) = self.images else {
            return Ok(self.start.select(Axis(0), items));
        };
        let places: Vec<usize> = items.iter().map(|&item| self.items[item]).collect();
        match vary {
            Some(rng) => images.views(&places, rng),
            None => images.rows(&places),
        }
    }
}

/// Trains a model.
///
/// `targets(epoch, models)` gives what epoch `epoch` (from 1) learns; it may look at the
/// model before it, and at that before the current partition. `score` judges a model. Random steps depend on the
/// task's seed and the epoch alone, so a resumed training repeats an undisturbed one. `log` is
/// the folder of an event log.
pub(crate) fn train(
    task: &Task,
    mut targets: impl FnMut(usize, &Models) -> Result<Targets>,
    score: impl Fn(Option<&Model>) -> Result<Option<Score>>,
    (mut checkpoint, log): (Option<Checkpoint>, Option<PathBuf>),
    monitor: &Monitor,
) -> Result<Trained> {
    if let Residual::Rca(rca) = task.recipe.head.residual {
        return rca::train(task, rca, targets, score, log, monitor);
    }
    let device = task.device.clone().autodiff();
    // A network that labels have taught knows better neighbours than the features do.
    let mut began = Models::default();
    if task.recipe.pretraining.is_some() {
        began.insert(0, task.start_model()?);
    }
    let mut current = targets(1, &began)?;
    drop(began);
    let proxies = first_proxies(task, &current);
    let mut state = State::new(task, proxies, &device)?;
    let restored = match &checkpoint {
        Some(saved) => saved.restore(task, &mut state, &device)?,
        None => None,
    };
    let mut done = restored.unwrap_or_default();
    let mut log = open_log(log, done.log.len(), monitor);
    if done.log.is_empty() {
        record(
            task,
            task.start_model()?,
            None,
            (&score, monitor),
            &mut done,
        )?;
        note(&mut log, &done, monitor);
    }
    monitor.start("training", task.epochs as u64);
    for epoch in done.log.len()..=task.epochs {
        if let Some(why) = finished(task, &done) {
            monitor.warn(why);
            break;
        }
        if epoch > 1 {
            current = targets(epoch, &done.models)?;
        }
        let loss = learn(task, &mut state, &current, epoch, (&mut log, monitor))?;
        let model = state.model(task)?;
        record(task, model, loss, (&score, monitor), &mut done)?;
        note(&mut log, &done, monitor);
        if let Some(checkpoint) = &mut checkpoint {
            checkpoint.save(&state, &done, epoch == task.epochs, monitor);
        }
        monitor.step(epoch as u64)?;
    }
    monitor.end();
    Ok(done)
}

/// One epoch; gives the mean loss of its steps.
fn learn(
    task: &Task,
    state: &mut State,
    targets: &Targets,
    epoch: usize,
    (log, monitor): (&mut Option<Log>, &Monitor),
) -> Result<Option<f64>> {
    let (recipe, train) = (task.recipe, &task.recipe.train);
    let mut rng = seed::stream(task.seed, &format!("epoch {epoch}"));
    let tuples = recipe.loss.proxies_per_class() == 0;
    let draw = Draw {
        sampler: &recipe.sampler,
        tuples,
        groups: task.groups,
        batch: train.batch,
        steps: train.steps,
        labeled_passes: train.labeled_passes,
        views: train.augment && task.images.is_some(),
    };
    let steps = targets.steps(&draw, &mut rng);
    let mut gathered = Gathered::new();
    // Empty at the start of each epoch, so that a resumed training repeats an undisturbed one.
    let mut memory = Memory::new(train.memory);
    let remembers = train.memory > 0 && tuples && recipe.miner.is_none();
    let mut sum = 0.0;
    for (number, step) in steps.iter().enumerate() {
        monitor.check()?;
        let inputs = task.inputs(&step.items, train.augment.then_some(&mut rng))?;
        let rows = state.unit_rows(inputs)?;
        let device = rows.device();
        let mut batch = targets.batch(step, task.classes, &device)?;
        if let (Some(miner), None) = (&recipe.miner, &batch.triplets) {
            let seed = task.seed.wrapping_add((epoch << 32 | number) as u64);
            batch = miner.mine(&state.mapped(rows.clone()), batch, seed)?;
        }
        let before = state.fit_map(task, &rows, (&recipe.loss, &batch))?;
        let mut embedded = state.mapped(rows);
        if remembers && batch.triplets.is_none() {
            let (class, weight) = targets.of(step);
            let newest = embedded.clone();
            let pairs;
            (embedded, pairs) = memory.extend(embedded, &class, &weight)?;
            memory.push(newest, &class, &weight)?;
            batch = pairs.into();
        }
        let loss = recipe.loss.forward(embedded, &batch, state.proxy_rows())?;
        let value = before.unwrap_or_else(|| value_of(&loss));
        check(value, task, epoch, step.items[0])?;
        sum += value;
        if let Some(log) = log {
            log.step(
                epoch,
                [
                    ("step/loss", value),
                    ("step/learning_rate", train.rate(epoch)),
                ],
            );
        }
        if state.body.is_some() || state.proxies.is_some() {
            gathered.add(state, &loss.div_scalar(train.accumulate as f64));
            if (number + 1) % train.accumulate == 0 || number + 1 == steps.len() {
                state.step(task, epoch, &mut gathered)?;
            }
        }
    }
    Ok((!steps.is_empty()).then(|| sum / steps.len() as f64))
}

/// The log of a training in this folder; a warning where it cannot be written.
fn open_log(folder: Option<PathBuf>, epochs: usize, monitor: &Monitor) -> Option<Log> {
    let log = Log::open(folder?, epochs);
    log.inspect_err(|e| monitor.warn(format!("{e}; the work goes on without it")))
        .ok()
}

/// Writes the last epoch into the log. Where that fails the training goes on without one.
fn note(log: &mut Option<Log>, done: &Trained, monitor: &Monitor) {
    if let (Some(open), Some(last)) = (log.as_mut(), done.log.last())
        && let Err(e) = open.epoch(last)
    {
        monitor.warn(format!("{e}; the work goes on without it"));
        *log = None;
    }
}

/// Fails where the loss is no number.
fn check(value: f64, task: &Task, epoch: usize, item: usize) -> Result<()> {
    if value.is_finite() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Internal,
        format!(
            "the loss became {value} in epoch {epoch}, in the batch that begins with training \
             item {item}; lower train.learning_rate ({})",
            task.recipe.train.learning_rate
        ),
    ))
}

/// Why a training ends before its last epoch, if it does.
fn finished(task: &Task, done: &Trained) -> Option<String> {
    let train = &task.recipe.train;
    let last = done.log.last().filter(|last| last.epoch > 0)?;
    if train.collapse > 0.0 && last.effective_rank < train.collapse {
        return Some(format!(
            "training stopped after epoch {}: the embedding has collapsed to an effective rank \
             of {:.2}, below train.collapse = {}",
            last.epoch, last.effective_rank, train.collapse
        ));
    }
    let scores: Vec<f64> = done
        .log
        .iter()
        .filter_map(|epoch| epoch.validation)
        .collect();
    if train.patience > 0 && scores.len() == done.log.len() {
        let best =
            (0..scores.len()).fold(0, |best, e| if scores[e] > scores[best] { e } else { best });
        if last.epoch - best >= train.patience {
            return Some(format!(
                "training stopped after epoch {}: validation was best after epoch {best}",
                last.epoch
            ));
        }
    }
    None
}

fn record(
    task: &Task,
    model: Model,
    loss: Option<f64>,
    (score, monitor): (&impl Fn(Option<&Model>) -> Result<Option<Score>>, &Monitor),
    done: &mut Trained,
) -> Result<()> {
    let epoch = done.log.len();
    let validation = score((epoch > 0).then_some(&model))?;
    // Data are often sorted by class: the first rows would be one class's.
    let drawn = |most: usize| collapse::sample(task.start.nrows(), most, task.seed);
    let sample = drawn(METER_SAMPLE);
    let items_of = |rows: &[usize]| -> Vec<usize> { rows.iter().map(|&r| task.items[r]).collect() };
    let start = || task.start.select(Axis(0), &sample);
    let learned = match (&model, task.images) {
        (Model::Head(head), _) => match task.rotated {
            Some(rotated) if epoch > 0 => {
                head.embed(select_rows(rotated.features, &items_of(&sample)).view())?
            }
            _ => head.learned(start()),
        },
        // The start is known already.
        (Model::Deep(_), _) if epoch == 0 && task.begins_whitened() => start(),
        (Model::Deep(deep), Some(images)) => {
            let items = items_of(&drawn(DEEP_SAMPLE.min(METER_SAMPLE)));
            deep.learned(images, &items, task.device, monitor)?
        }
        (Model::Deep(_), None) => return Err(no_images()),
    };
    let meter = Collapse::measure(learned.view())?;
    done.log.push(Epoch {
        epoch,
        loss,
        validation: validation.map(|s| s.precision.value),
        validation_error: validation.map(|s| s.precision.error),
        effective_rank: meter.effective_rank,
        mean_cosine: meter.mean_cosine,
    });
    done.models.insert(epoch, model);
    done.scores.push(validation);
    done.models.prune(task.wanted, task.recipe, &done.scores);
    Ok(())
}

/// Proxies start as the weighted mean of their class; a class without items starts in a
/// random direction, since a proxy of length 0 has no gradient. Further proxies of a class,
/// and those behind an encoder or a map, which move all rows at once, start at random.
///
/// Dimensions beyond the start's get a little noise: zeros on both sides of a product would
/// stay zeros for ever.
fn first_proxies(task: &Task, targets: &Targets) -> Option<Array2<f32>> {
    let each = task.recipe.loss.proxies_per_class();
    if each == 0 {
        return None;
    }
    let mut rng = seed::stream(task.seed, "proxies");
    let mut noise = |rows: usize, columns: usize| {
        let noise = Array2::from_shape_fn((rows, columns), |_| rng.random::<f32>() - 0.5);
        likewise::matrix::l2_normalize(noise)
    };
    let mapped = matches!(task.recipe.head.residual, Residual::Orthogonal { .. });
    if mapped || task.recipe.encoder.is_some() && !task.begins_whitened() {
        let columns = match task.recipe.head.residual {
            Residual::Orthogonal { dim } => dim.min(task.unit_dim()),
            Residual::Linear | Residual::Mlp { .. } | Residual::Rca(_) => task.unit_dim(),
        };
        return Some(noise(task.classes * each, columns));
    }
    let rank = task.start.ncols();
    let mut means = Array2::<f32>::zeros((task.classes, rank));
    for (i, row) in task.start.rows().into_iter().enumerate() {
        if targets.weight[i] > 0.0 {
            let mut mean = means.row_mut(targets.class[i] as usize);
            mean.scaled_add(targets.weight[i], &row);
        }
    }
    for mut mean in means.rows_mut() {
        if mean.iter().all(|&v| v == 0.0) {
            mean.assign(&noise(1, rank).row(0));
        }
    }
    let means = likewise::matrix::l2_normalize(means);
    let room = match task.recipe.encoder {
        Some(_) => task.unit_dim() - rank,
        None => task.recipe.head.learned_dim(rank) - rank,
    };
    let around = noise(task.classes, room) * 0.3;
    let means = likewise::matrix::l2_normalize(ndarray::concatenate![Axis(1), means, around]);
    if each == 1 {
        return Some(means);
    }
    let classes: Vec<usize> = (0..task.classes * each).map(|p| p / each).collect();
    let spread = noise(classes.len(), means.ncols()) * 0.3;
    let around = means.select(Axis(0), &classes) + spread;
    Some(likewise::matrix::l2_normalize(around))
}

/// The one number of a tensor.
pub(crate) fn value_of(t: &Tensor<1>) -> f64 {
    let values = t.clone().try_into_vec_as::<f32>();
    values.map_or(f64::NAN, |v| f64::from(v[0]))
}
