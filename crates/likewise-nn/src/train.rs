//! The training loop: head and proxies, epoch by epoch, resumable.

mod checkpoint;
mod selection;

use burn::module::{Module, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use likewise::eval::collapse::Collapse;
use likewise::eval::whitening::Whitening;
use likewise::{Monitor, seed};

use ndarray::{Array2, ArrayView2, Axis};
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

pub(crate) use checkpoint::Checkpoint;
use checkpoint::Loop;
pub(crate) use selection::{Score, Validation};

use crate::loss::{Classes, ConfidenceProxy};
use crate::net::{Head, HeadConfig, ResidualNet};
use crate::{Error, ErrorKind, Result};

/// Settings of the training loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// Most epochs; validation may choose an earlier one.
    pub epochs: usize,
    /// Epochs on the labeled items alone before pseudo-labels join.
    pub labeled_epochs: usize,
    /// Items a step.
    pub batch: usize,
    /// Most steps an epoch; 0 means that an epoch goes through all items. Large
    /// collections are learned as well from a part of them, and validation, which looks
    /// after every epoch, gets a finer choice.
    pub steps: usize,
    /// Step size of `AdamW` for the head.
    pub learning_rate: f64,
    /// Step size of the proxies, as a multiple of `learning_rate`.
    pub proxy_factor: f64,
    /// Decoupled weight decay of the head; it pulls the residual to zero.
    pub weight_decay: f64,
    /// Weight of a pseudo-label = (confidence / largest confidence) to this power.
    pub confidence_power: f64,
    /// Folds of the cross-validation over the known labels, used where the split has no
    /// validation part. 0 or 1: none, all epochs are run.
    pub folds: usize,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            epochs: 10,
            labeled_epochs: 0,
            batch: 64,
            steps: 200,
            learning_rate: 1e-3,
            proxy_factor: 10.0,
            weight_decay: 1e-4,
            confidence_power: 2.0,
            folds: 3,
        }
    }
}

impl TrainConfig {
    pub(crate) fn validate(&self) -> Result<()> {
        let positive = |field: &str, value: f64| {
            if value.is_finite() && value > 0.0 {
                Ok(())
            } else {
                Err(Error::parameter(field, value, "must be above 0"))
            }
        };
        positive("train.learning_rate", self.learning_rate)?;
        positive("train.proxy_factor", self.proxy_factor)?;
        positive("train.batch", self.batch as f64)?;
        for (field, value) in [
            ("train.weight_decay", self.weight_decay),
            ("train.confidence_power", self.confidence_power),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::parameter(field, value, "must be 0 or above"));
            }
        }
        Ok(())
    }
}

/// What an epoch learns: a class and a weight for every item (0 = absent).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Targets {
    pub(crate) class: Vec<u32>,
    pub(crate) weight: Vec<f32>,
    /// How often an epoch goes through the items.
    pub(crate) passes: usize,
}

/// One line of the training log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Number of finished epochs; 0 is the untrained start.
    pub epoch: usize,
    /// Mean loss an item of weight 1; none before the first epoch.
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
    pub(crate) head: &'a HeadConfig,
    pub(crate) train: &'a TrainConfig,
    pub(crate) loss: &'a ConfidenceProxy,
    /// The fixed part of the head.
    pub(crate) whitening: &'a Whitening,
    /// Unit rows of the start, one per training item.
    pub(crate) start: ArrayView2<'a, f32>,
    pub(crate) classes: usize,
    pub(crate) epochs: usize,
    pub(crate) seed: u64,
    pub(crate) device: &'a Device,
}

/// A finished training: the head after every epoch, and the log.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trained {
    pub(crate) heads: Vec<Head>,
    pub(crate) log: Vec<Epoch>,
    pub(crate) scores: Vec<Option<Score>>,
}

#[derive(Module, Debug)]
pub(crate) struct Proxies {
    pub(crate) rows: Param<Tensor<2>>,
}

/// Items whose embeddings feed the collapse meter: enough for a rank, cheap every epoch.
const METER_SAMPLE: usize = 2048;

/// Trains a head.
///
/// `targets(epoch, head)` gives what epoch `epoch` (from 1) learns; it may look at the
/// head so far (`None`: the start). `score` judges a head. Random steps depend on the
/// task's seed and the epoch alone, so a resumed training repeats an undisturbed one.
pub(crate) fn train(
    task: &Task,
    mut targets: impl FnMut(usize, Option<&Head>) -> Result<Targets>,
    score: impl Fn(Option<&Head>) -> Result<Option<Score>>,
    mut checkpoint: Option<Checkpoint>,
    monitor: &Monitor,
) -> Result<Trained> {
    let device = task.device.clone().autodiff();
    let rank = task.start.ncols();
    let mut rng = seed::stream(task.seed, "head");
    let net = ResidualNet::new(task.head, rank, &mut rng, &device);
    let mut current = targets(1, None)?;
    let proxies = first_proxies(task, &current);
    let mut state = Loop::new(net, proxies, task.train.weight_decay, &device);
    let mut done = checkpoint
        .as_ref()
        .and_then(|saved| saved.restore(task, &mut state, &device))
        .unwrap_or_default();
    if done.log.is_empty() {
        record(task, &state.net, None, &score, &mut done)?;
    }
    monitor.start("training", task.epochs as u64);
    for epoch in done.log.len()..=task.epochs {
        if epoch > 1 {
            current = targets(epoch, done.heads.last())?;
        }
        let mut items: Vec<usize> = (0..current.weight.len())
            .filter(|&i| current.weight[i] > 0.0)
            .collect();
        let mut rng = seed::stream(task.seed, &format!("epoch {epoch}"));
        let (mut loss_sum, mut weight_sum) = (0.0, 0.0);
        let mut steps = 0;
        'epoch: for _ in 0..current.passes {
            items.shuffle(&mut rng);
            for batch in items.chunks(task.train.batch) {
                if task.train.steps > 0 && steps == task.train.steps {
                    break 'epoch;
                }
                steps += 1;
                let weights: Vec<f32> = batch.iter().map(|&i| current.weight[i]).collect();
                let labels: Vec<u32> = batch.iter().map(|&i| current.class[i]).collect();
                weight_sum += weights.iter().map(|&w| f64::from(w)).sum::<f64>();
                let loss = task.loss.forward(
                    state
                        .net
                        .forward(matrix_tensor(&task.start.select(Axis(0), batch), &device)),
                    state.proxies.rows.val(),
                    &Classes::new(&labels, task.classes, &weights, &device)?,
                );
                let value = loss
                    .clone()
                    .try_into_vec_as::<f32>()
                    .map_or(f64::NAN, |v| f64::from(v[0]));
                if !value.is_finite() {
                    return Err(Error::new(
                        ErrorKind::Internal,
                        format!(
                            "the loss became {value} in epoch {epoch}, in the batch that begins \
                             with training item {}; lower train.learning_rate ({})",
                            batch[0], task.train.learning_rate
                        ),
                    ));
                }
                loss_sum += value * task.classes as f64;
                let mut gradients = loss.backward();
                let of_net = GradientsParams::from_module(&mut gradients, &state.net);
                let of_proxies = GradientsParams::from_module(&mut gradients, &state.proxies);
                let rate = task.train.learning_rate;
                state.net = state.net_optimizer.step(rate, state.net, of_net);
                let rate = rate * task.train.proxy_factor;
                state.proxies = state.proxy_optimizer.step(rate, state.proxies, of_proxies);
            }
            monitor.check()?;
        }
        let loss = (weight_sum > 0.0).then(|| loss_sum / weight_sum);
        record(task, &state.net, loss, &score, &mut done)?;
        if let Some(checkpoint) = &mut checkpoint {
            checkpoint.save(&state, &done, epoch == task.epochs)?;
        }
        monitor.step(epoch as u64)?;
    }
    monitor.end();
    Ok(done)
}

fn record(
    task: &Task,
    net: &ResidualNet,
    loss: Option<f64>,
    score: &impl Fn(Option<&Head>) -> Result<Option<Score>>,
    done: &mut Trained,
) -> Result<()> {
    let epoch = done.log.len();
    let head = Head::from_net(*task.head, task.whitening.clone(), net);
    let validation = score((epoch > 0).then_some(&head))?;
    let sample = task.start.nrows().min(METER_SAMPLE);
    let sample = task.start.slice(ndarray::s![..sample, ..]).to_owned();
    let meter = Collapse::measure(head.learned(sample).view())?;
    done.log.push(Epoch {
        epoch,
        loss,
        validation: validation.map(|s| s.precision.value),
        validation_error: validation.map(|s| s.precision.error),
        effective_rank: meter.effective_rank,
        mean_cosine: meter.mean_cosine,
    });
    done.heads.push(head);
    done.scores.push(validation);
    Ok(())
}

/// Proxies start as the weighted mean of their class; a class without items starts in a
/// random direction, since a proxy of length 0 has no gradient.
///
/// Dimensions beyond the start's get a little noise: zeros on both sides of a product would
/// stay zeros for ever.
fn first_proxies(task: &Task, targets: &Targets) -> Array2<f32> {
    let rank = task.start.ncols();
    let mut means = Array2::<f32>::zeros((task.classes, rank));
    for (i, row) in task.start.rows().into_iter().enumerate() {
        if targets.weight[i] > 0.0 {
            let mut mean = means.row_mut(targets.class[i] as usize);
            mean.scaled_add(targets.weight[i], &row);
        }
    }
    let mut rng = seed::stream(task.seed, "proxies");
    for mut mean in means.rows_mut() {
        if mean.iter().all(|&v| v == 0.0) {
            mean.mapv_inplace(|_| rng.random::<f32>() - 0.5);
        }
    }
    let means = likewise::matrix::l2_normalize(means);
    let room = task.head.learned_dim(rank) - rank;
    let noise = Array2::from_shape_fn((task.classes, room), |_| rng.random::<f32>() - 0.5);
    let noise = likewise::matrix::l2_normalize(noise) * 0.3;
    likewise::matrix::l2_normalize(ndarray::concatenate![Axis(1), means, noise])
}

pub(crate) fn to_matrix(t: Tensor<2>) -> Array2<f32> {
    let [rows, columns] = t.dims();
    let values = t
        .try_into_vec_as::<f32>()
        .expect("a float tensor reads as f32");
    Array2::from_shape_vec((rows, columns), values)
        .expect("a tensor has as many values as its shape says")
}

pub(crate) fn matrix_tensor(x: &Array2<f32>, device: &Device) -> Tensor<2> {
    let shape = [x.nrows(), x.ncols()];
    Tensor::from_data(TensorData::new(x.iter().copied().collect(), shape), device)
}
