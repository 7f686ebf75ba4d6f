//! Checkpoints: a learning that was killed goes on after its last saved round.

use std::collections::BTreeMap;
use std::io::ErrorKind::{AlreadyExists, NotADirectory, NotFound};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use likewise::Monitor;
use likewise::arrays::{Arrays, Values};
use likewise::learn::{Evidence, Learning};
use likewise_nn::Model;
use serde::{Deserialize, Serialize};

use super::models::{Models, Rounds};
use super::selection::Score;
use super::trained::{Epoch, Trained};
use crate::{Error, ErrorKind, Result};

/// Saving more often costs more than repeating the rounds since the last time.
const INTERVAL: Duration = Duration::from_secs(5);

/// The checkpoint of one learning: one file, replaced as a whole, so whatever the moment
/// of a kill it is either the last or the one before.
///
/// A safetensors file: the arrays of the models that may still be asked for, what else the
/// learner needs to go on, and as metadata the log and a digest of it all.
#[derive(Debug, Clone)]
pub(crate) struct Checkpoint {
    path: PathBuf,
    /// What the learning depends on; a checkpoint of anything else is not resumed.
    fingerprint: String,
    interval: Duration,
    last: Instant,
    /// Whether it was said that it cannot be written.
    warned: bool,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    fingerprint: String,
    log: Vec<Epoch>,
    scores: Vec<Option<Score>>,
    /// Epochs whose models it holds; a start may have no arrays of its own.
    kept: Vec<usize>,
}

/// Before the names of what the learner needs to go on.
const LEARNER: &str = "learner/";

impl Checkpoint {
    pub(crate) fn new(path: PathBuf, fingerprint: String) -> Self {
        Self {
            path,
            fingerprint,
            interval: INTERVAL,
            last: Instant::now(),
            warned: false,
        }
    }

    /// Saves, if the last time is long enough ago or the learning is over. Where that fails
    /// it goes on: an older checkpoint stays, and only time is at stake.
    pub(super) fn save(
        &mut self,
        learning: &dyn Learning<Model = Model>,
        done: &Trained,
        over: bool,
        monitor: &Monitor,
    ) {
        if !over && self.last.elapsed() < self.interval {
            return;
        }
        monitor.start("keeping the training", None);
        let written = self.write(learning, done);
        monitor.end();
        if let Err(e) = written
            && !self.warned
        {
            monitor.warn(format!("{e}; the work goes on without it"));
            self.warned = true;
        }
        self.last = Instant::now();
    }

    fn write(&self, learning: &dyn Learning<Model = Model>, done: &Trained) -> Result<()> {
        let failed = |e: &dyn std::fmt::Display| {
            let at = self.path.display();
            Error::new(
                ErrorKind::Internal,
                format!("cannot write checkpoint {at}: {e}"),
            )
        };
        let mut arrays = Arrays::default();
        for (epoch, model) in done.models.iter().filter(|(epoch, _)| *epoch > 0) {
            arrays.put_all(&format!("{epoch}/"), model.trained());
        }
        arrays.put_all(LEARNER, learning.save()?);
        let state = serde_json::to_string(&Saved {
            fingerprint: self.fingerprint.clone(),
            log: done.log.clone(),
            scores: done.scores.clone(),
            kept: done.models.iter().map(|(epoch, _)| epoch).collect(),
        })
        .map_err(|e| failed(&e))?;
        let digest = digest(&state, &arrays);
        let metadata = BTreeMap::from([("state".to_owned(), state), ("sha256".to_owned(), digest)]);
        let bytes =
            likewise_io::arrays::to_safetensors(&arrays, &metadata).map_err(|e| failed(&e))?;
        if let Some(folder) = self.path.parent() {
            // Not what is above: who moved the folder away does not want a new one.
            match std::fs::create_dir(folder) {
                Err(e) if e.kind() != AlreadyExists => return Err(failed(&e)),
                _ => {}
            }
        }
        likewise_io::atomic::write(&self.path, |file| Ok(file.write_all(&bytes)?))
            .map_err(|e| failed(&e))
    }

    /// Sets `learning` back to the last saved round; `start` is the model before the first.
    /// `None` where there is no checkpoint of this very learning: it then starts from the
    /// beginning.
    ///
    /// Fails on a file that is not as it was written: an interruption never leaves such a one,
    /// so whoever finds it should know.
    pub(super) fn restore(
        &self,
        rounds: &Rounds,
        start: &Model,
        learning: &mut dyn Learning<Model = Model>,
        evidence: &Evidence,
    ) -> Result<Option<Trained>> {
        let damaged = |what: &dyn std::fmt::Display| {
            Error::data(format!(
                "{}: the checkpoint is damaged: {what}; delete it to start this training anew",
                self.path.display()
            ))
            .placed()
        };
        let is_none = |e: std::io::Error| matches!(e.kind(), NotFound | NotADirectory);
        if std::fs::metadata(&self.path).is_err_and(is_none) {
            return Ok(None);
        }
        let most = likewise_io::memory::allowed(None);
        let bytes = likewise_io::read_file(&self.path, most).map_err(|e| damaged(&e))?;
        let (arrays, metadata) =
            likewise_io::arrays::from_safetensors(&bytes).map_err(|e| damaged(&e))?;
        let (Some(state), Some(sum)) = (metadata.get("state"), metadata.get("sha256")) else {
            return Err(damaged(&"it has no log"));
        };
        if digest(state, &arrays) != *sum {
            return Err(damaged(&"its content has changed"));
        }
        let saved: Saved = serde_json::from_str(state).map_err(|e| damaged(&e))?;
        let last = saved.log.len().saturating_sub(1);
        if saved.fingerprint != self.fingerprint || last == 0 || last > rounds.epochs {
            return Ok(None);
        }
        let found = resumed(saved, &arrays, start, learning, evidence);
        found.map(Some).map_err(|e| damaged(&e))
    }
}

fn resumed(
    saved: Saved,
    arrays: &Arrays,
    start: &Model,
    learning: &mut dyn Learning<Model = Model>,
    evidence: &Evidence,
) -> Result<Trained> {
    let fresh = learning.model(evidence)?;
    let mut models = Models::default();
    for &epoch in &saved.kept {
        let model = match epoch {
            0 => start.clone(),
            _ => fresh.with_trained(&arrays.under(&format!("{epoch}/")))?,
        };
        models.insert(epoch, model);
    }
    let last = saved.log.len() - 1;
    let of_last = models
        .at(last)
        .ok_or_else(|| Error::data(format!("it has no model of epoch {last}")))?;
    learning.resume(&arrays.under(LEARNER), of_last)?;
    Ok(Trained {
        models,
        log: saved.log,
        scores: saved.scores,
    })
}

/// SHA-256 of `state` and of all names, shapes and values.
fn digest(state: &str, arrays: &Arrays) -> String {
    let mut heads = state.to_owned();
    for (name, shape, values) in arrays.iter() {
        let kind = match values {
            Values::F32(_) => "f32",
            Values::F64(_) => "f64",
            Values::Bytes(_) => "bytes",
        };
        heads.extend([name, " ", kind, &format!(" {shape:?}\n")]);
    }
    // One array at a time: a network is large.
    let values = arrays.iter().map(|(_, _, values)| values.to_le_bytes());
    likewise_io::digest_parts(std::iter::once(heads.into_bytes()).chain(values))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use likewise::Event;
    use likewise::learn::{Learn, Start, Targets};
    use likewise::linear::Behind;
    use likewise::linear::whitening::Spectrum;
    use likewise::matrix::Reading;
    use likewise_nn::Device;
    use likewise_nn::loss::{ConfidenceProxy, Loss, Losses, Weighted};
    use likewise_nn::net::{HeadConfig, Residual};
    use likewise_nn::sample::Sampler;
    use likewise_nn::train::{Gradient, MetricConfig, Optimizer, Schedule, TrainConfig, Tuning};
    use ndarray::Array2;

    use super::super::{Traces, Wanted, run as run_rounds};
    use super::*;
    use crate::recipe::Keep;

    /// What a small training depends on.
    #[derive(Clone)]
    struct Choices {
        head: HeadConfig,
        loss: Losses,
        metric: Option<MetricConfig>,
        train: TrainConfig,
    }

    fn plain() -> Choices {
        Choices {
            head: HeadConfig::default(),
            loss: Loss::ConfidenceProxy(ConfidenceProxy::default()).into(),
            metric: None,
            train: TrainConfig {
                batch: 16,
                ..TrainConfig::default()
            },
        }
    }

    /// Trains on 60 items of 3 classes, stopping after `stop` epochs.
    fn run(stop: usize, checkpoint: Option<Checkpoint>) -> Result<Trained> {
        run_with(&plain(), stop, checkpoint)
    }

    /// Does something with a small learning.
    fn learning_with<T>(
        choices: &Choices,
        work: impl FnOnce(&Gradient, &Evidence) -> Result<T>,
    ) -> Result<T> {
        let x = Array2::from_shape_fn((60, 5), |(i, j)| {
            (if i % 3 == j { 2.0 } else { 0.0 }) + ((i * 7 + j * 11) % 13) as f32 / 13.0
        });
        let spectrum = Spectrum::fit(x.view())?;
        let start = Start {
            reading: Reading::default(),
            standardized: None,
            whitening: spectrum.truncated(1.0, 5)?,
            rotation: spectrum.truncated(f64::INFINITY, 5)?,
            as_given: false,
        };
        let rows = start.rows(x.clone())?;
        let items: Vec<usize> = (0..60).collect();
        let targets = Targets {
            class: (0..60).map(|i| i % 3).collect(),
            // A metric learns of items without a class too.
            weight: (0..60)
                .map(|i| f32::from(u8::from(choices.metric.is_none() || i < 24)))
                .collect(),
            labeled: vec![true; 60],
            passes: 1,
            triplets: None,
            since: 0,
        };
        let gradient = Gradient {
            head: &choices.head,
            encoder: None,
            tuning: Tuning::default(),
            map: likewise::linear::Stiefel::new(),
            epochs: 10,
            loss: &choices.loss,
            metric: choices.metric.as_ref(),
            sampler: &Sampler::Plain,
            miner: None,
            train: &choices.train,
            pretrained: None,
            taught: false,
            device: &Device::flex(),
        };
        let evidence = Evidence {
            features: x.view(),
            views: &[],
            images: None,
            items: &items,
            start: &start,
            rows: rows.view(),
            rotated: &std::sync::OnceLock::new(),
            scaled: &std::sync::OnceLock::new(),
            targets: &targets,
            groups: &[0, 1, 2],
            tags: None,
            pairs: None,
            graph: None,
            before: None,
        };
        work(&gradient, &evidence)
    }

    fn run_with(choices: &Choices, stop: usize, checkpoint: Option<Checkpoint>) -> Result<Trained> {
        let monitor = Monitor::silent();
        let stopper = monitor.clone();
        learning_with(choices, |gradient, evidence| {
            let targets = |epoch: usize, _: &Models| {
                if epoch > stop {
                    stopper.cancel();
                }
                Ok(evidence.targets.clone())
            };
            let rounds = Rounds {
                name: "training",
                epochs: 6,
                patience: 0,
                collapse: 0.0,
                warm_up: 0,
                wanted: Wanted::Validated(Keep::NearBest),
                every: None,
                seed: 11,
                device: gradient.device,
            };
            let traces = Traces {
                checkpoint,
                log: None,
            };
            let score = |_: Option<&Model>| Ok(None);
            run_rounds(
                &rounds, gradient, *evidence, targets, score, traces, &monitor,
            )
        })
    }

    fn eager(path: PathBuf, fingerprint: &str) -> Checkpoint {
        Checkpoint {
            interval: Duration::ZERO,
            ..Checkpoint::new(path, fingerprint.into())
        }
    }

    #[test]
    fn an_interrupted_training_goes_on_as_if_nothing_had_happened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/training.safetensors");
        let whole = run(usize::MAX, None).unwrap();
        let cut = run(3, Some(eager(path.clone(), "this"))).unwrap_err();
        assert_eq!(cut.kind(), ErrorKind::Cancelled);
        assert!(path.exists());
        let resumed = run(usize::MAX, Some(eager(path.clone(), "this"))).unwrap();
        assert_eq!(resumed.log, whole.log);
        assert_eq!(resumed.models, whole.models);
        // A finished training is not repeated, and gives the same.
        let again = run(usize::MAX, Some(eager(path, "this"))).unwrap();
        assert_eq!(again.models, whole.models);
    }

    #[test]
    fn a_checkpoint_that_cannot_be_written_is_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("no-folder");
        std::fs::write(&file, "").unwrap();
        let mut checkpoint = eager(file.join("training.safetensors"), "this");
        let warned = std::sync::Arc::new(AtomicUsize::new(0));
        let counter = warned.clone();
        let monitor = Monitor::new(move |event| {
            if let Event::Warning(text) = event {
                assert!(text.contains("cannot write checkpoint"), "{text}");
                counter.fetch_add(1, Ordering::Relaxed);
            }
        });
        learning_with(&plain(), |gradient, evidence| {
            let learning = gradient.begin(evidence, 1)?;
            checkpoint.save(learning.as_ref(), &Trained::default(), false, &monitor);
            checkpoint.save(learning.as_ref(), &Trained::default(), true, &monitor);
            Ok(())
        })
        .unwrap();
        assert_eq!(warned.load(Ordering::Relaxed), 1, "said once");
        assert!(
            run(usize::MAX, Some(checkpoint)).is_ok(),
            "and training ends well"
        );
    }

    #[test]
    fn every_moving_part_is_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let train = TrainConfig {
            average: 0.9,
            accumulate: 3,
            clip: 0.5,
            optimizer: Optimizer::Sgd { momentum: 0.9 },
            schedule: Schedule::Cosine,
            ..plain().train
        };
        let averaged = Choices { train, ..plain() };
        let residual = Residual::Orthogonal { dim: 2 };
        let head = HeadConfig {
            residual,
            ..HeadConfig::default()
        };
        let mapped = Choices { head, ..plain() };
        // Two losses with proxies of their own, one of them with several a class.
        let terms = [
            ("proxy-anchor", 1.0),
            ("multi-similarity", 0.5),
            ("soft-triple", 2.0),
            ("similarity-regularizer", 0.1),
        ];
        let terms = terms.map(|(name, weight)| Weighted {
            loss: Loss::named(name).unwrap(),
            weight,
        });
        let loss = Losses::new(terms.to_vec()).unwrap();
        let several = Choices {
            loss: loss.clone(),
            ..plain()
        };
        let train = TrainConfig {
            memory: 40,
            ..plain().train
        };
        let mapped_by_several = Choices {
            head,
            loss,
            train,
            ..plain()
        };
        // A metric that is fitted anew after the second epoch and the fourth, on a part of the others.
        let behind = |name: &str| Choices {
            metric: Some(MetricConfig {
                every: 2,
                partition: 20,
                dim: 3,
                ..Behind::named(name).unwrap().into()
            }),
            ..plain()
        };
        let mut all = vec![averaged, mapped, several, mapped_by_several];
        all.extend(["lrml", "seraph", "isdml", "apllr", "apit"].map(behind));
        for (number, choices) in all.iter().enumerate() {
            let path = folder.path().join(format!("{number}.safetensors"));
            let whole = run_with(choices, usize::MAX, None).unwrap();
            assert!(run_with(choices, 4, Some(eager(path.clone(), "this"))).is_err());
            let resumed = run_with(choices, usize::MAX, Some(eager(path, "this"))).unwrap();
            assert_eq!(resumed.log, whole.log, "choices {number}");
            assert_eq!(resumed.models, whole.models);
            // What a metric leaves to be gone down begins anew with it.
            if choices.metric.is_none() {
                assert!(whole.log[6].loss < whole.log[1].loss);
            }
        }
    }

    #[test]
    fn a_checkpoint_of_something_else_is_not_used_and_a_damaged_one_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("training.safetensors");
        let whole = run(usize::MAX, Some(eager(path.clone(), "this"))).unwrap();
        let other = run(usize::MAX, Some(eager(path.clone(), "other"))).unwrap();
        assert_eq!(other.models, whole.models);
        let bytes = std::fs::read(&path).unwrap();
        let flipped = |at: usize| {
            let mut bytes = bytes.clone();
            bytes[at] ^= 4;
            bytes
        };
        let cuts = [0, 9, bytes.len() / 2, bytes.len() - 1].map(|end| bytes[..end].to_vec());
        let flips = [3, 40, bytes.len() / 2, bytes.len() - 1].map(flipped);
        for damaged in cuts.into_iter().chain(flips) {
            std::fs::write(&path, &damaged).unwrap();
            let error = run(usize::MAX, Some(eager(path.clone(), "other"))).unwrap_err();
            assert!(error.to_string().contains("is damaged"), "{error}");
            assert!(error.to_string().contains("delete it"), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_its_place_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("training.safetensors");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if !made.is_ok_and(|status| status.success()) {
            println!("there is no mkfifo here");
            return;
        }
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || tell.send(run(usize::MAX, Some(eager(path, "this"))).map(drop)));
        let told = told.recv_timeout(Duration::from_mins(1)).unwrap();
        let said = told.unwrap_err().to_string();
        assert!(said.contains("a pipe, not a regular file"), "{said}");
    }
}
