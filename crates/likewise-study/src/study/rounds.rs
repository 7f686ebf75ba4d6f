//! The one loop of learning: what is believed, a round, how good it is, what is kept.
//!
//! ```text
//! for round in 1..=rounds:
//!     learn(what is believed of the items by the models so far)
//!     score(model); keep; stop?
//! ```
//!
//! An epoch of gradients and a fit in closed form are each a round. The loop owns validation,
//! patience, the stop at a collapse, the event log and the checkpoint; a learner knows nothing
//! of them.

mod checkpoint;
mod log;
mod models;
mod selection;
mod trained;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use likewise::Monitor;
use likewise::eval::collapse;
use likewise::learn::{Evidence, First, Learn, Targets};
use likewise_nn::Model;
use ndarray::{Array2, Axis};

pub(crate) use self::checkpoint::Checkpoint;
use self::log::Log;
pub(crate) use self::models::{Models, Rounds, Wanted};
pub(crate) use self::selection::{ENOUGH, Mean, Rule, Score, Validation};
pub use self::selection::{NoEvidence, Why};
pub use self::trained::Epoch;
pub(crate) use self::trained::Trained;
use crate::Result;

/// Where the rounds leave their traces.
#[derive(Default)]
pub(crate) struct Traces {
    pub(crate) checkpoint: Option<Checkpoint>,
    /// Folder of the event log.
    pub(crate) log: Option<PathBuf>,
}

/// Items whose embeddings feed the collapse meter: enough for a rank, cheap every epoch.
const METER_SAMPLE: usize = 2048;
/// As many of images: a rank of a hundred shows, and looking at one is dear.
const NETWORK_SAMPLE: usize = 256;

/// Learns round by round.
///
/// `targets(round, models)` gives what round `round` (from 1) learns; it may look at the model
/// before it, and at that before the current partition. `score` judges a model, or the start
/// itself (`None`). `first` has the labels alone as its targets.
pub(crate) fn run(
    rounds: &Rounds,
    learner: &dyn Learn<Model = Model>,
    first: Evidence,
    mut targets: impl FnMut(usize, &Models) -> Result<Targets>,
    score: impl Fn(Option<&Model>) -> Result<Option<Score>>,
    traces: Traces,
    monitor: &Monitor,
) -> Result<Trained> {
    // A network that labels have taught knows better neighbours than the features do.
    let begun = learner.first(&first, rounds.seed)?;
    let start = match &begun {
        First::Start => first.start.model()?.into(),
        First::LikeStart(model) | First::Own(model) => model.clone(),
    };
    let mut current = targets(1, &Models::of_start(start.clone()))?;
    let evidence = Evidence {
        targets: &current,
        ..first
    };
    evidence.check(learner.needs())?;
    let mut learning = learner.begin(&evidence, rounds.seed)?;
    let mut done = match &traces.checkpoint {
        Some(saved) => saved.restore(rounds, &start, learning.as_mut(), &evidence)?,
        None => None,
    }
    .unwrap_or_default();
    let Traces {
        mut checkpoint,
        log,
    } = traces;
    let log = Notes::open(log, done.log.len(), monitor);
    let values = log.clone();
    let noting = monitor.with_values(move |step| values.step(step));
    if done.log.is_empty() {
        let (validation, learned) = match &begun {
            First::Own(model) => {
                let learned = learned(model, &evidence, rounds, monitor)?;
                (score(Some(model))?, learned)
            }
            // Its rows are known already.
            First::Start | First::LikeStart(_) => {
                (score(None)?, sampled_start(&evidence, rounds.seed))
            }
        };
        done.record(start, None, validation, &learned, rounds)?;
        log.epoch(&done, monitor);
    }
    drop(begun);
    monitor.start(rounds.name, rounds.epochs as u64);
    for epoch in done.log.len()..=rounds.epochs {
        if let Some(why) = done.finished(rounds) {
            monitor.warn(why);
            break;
        }
        if epoch > 1 {
            current = targets(epoch, &done.models)?;
        }
        let evidence = Evidence {
            targets: &current,
            ..first
        };
        let round = learning.round(epoch, &evidence, &noting)?;
        let model = learning.model(&evidence)?;
        let validation = score(Some(&model))?;
        let learned = learned(&model, &evidence, rounds, monitor)?;
        done.record(model, round.loss, validation, &learned, rounds)?;
        log.epoch(&done, monitor);
        if let Some(checkpoint) = &mut checkpoint {
            checkpoint.save(learning.as_ref(), &done, epoch == rounds.epochs, monitor);
        }
        monitor.step(epoch as u64)?;
    }
    monitor.end();
    Ok(done)
}

/// Places of the items that the collapse meter looks at. Data are often sorted by class: the
/// first rows would be one class's.
fn sampled(evidence: &Evidence, most: usize, seed: u64) -> Vec<usize> {
    collapse::sample(evidence.rows.nrows(), most, seed)
}

fn sampled_start(evidence: &Evidence, seed: u64) -> Array2<f32> {
    let sample = sampled(evidence, METER_SAMPLE, seed);
    evidence.rows.select(Axis(0), &sample)
}

/// The part of the embedding that was learned, of a sample of the fitted items.
fn learned(
    model: &Model,
    evidence: &Evidence,
    rounds: &Rounds,
    monitor: &Monitor,
) -> Result<Array2<f32>> {
    let items_of = |most: usize| -> Vec<usize> {
        let sample = sampled(evidence, most, rounds.seed);
        sample.iter().map(|&place| evidence.items[place]).collect()
    };
    match (model, evidence.images) {
        (Model::Head(head), _) => Ok(head.learned(sampled_start(evidence, rounds.seed))),
        (Model::Network(network), Some(images)) => {
            let items = items_of(NETWORK_SAMPLE.min(METER_SAMPLE));
            network.learned(images, &items, rounds.device, monitor)
        }
        (model, images) => {
            let items = items_of(METER_SAMPLE);
            model.embed_items(evidence.features, images, &items, rounds.device, monitor)
        }
    }
}

/// The event log of a learning, if there is one. Where it cannot be written, learning goes on
/// without it.
#[derive(Clone)]
struct Notes(Arc<Mutex<Option<Log>>>);

impl Notes {
    /// The log in this folder, up to round `epochs`.
    fn open(folder: Option<PathBuf>, epochs: usize, monitor: &Monitor) -> Self {
        let log = folder.and_then(|folder| {
            let log = Log::open(folder, epochs);
            log.inspect_err(|e| monitor.warn(format!("{e}; the work goes on without it")))
                .ok()
        });
        Self(Arc::new(Mutex::new(log)))
    }

    fn step(&self, values: &[(&'static str, f64)]) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = log.as_mut() {
            log.step(values);
        }
    }

    fn epoch(&self, done: &Trained, monitor: &Monitor) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(open), Some(last)) = (log.as_mut(), done.log.last())
            && let Err(e) = open.epoch(last)
        {
            monitor.warn(format!("{e}; the work goes on without it"));
            *log = None;
        }
    }
}
