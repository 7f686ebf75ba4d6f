//! Checkpoints: a training that was killed goes on after its last saved epoch.

use std::collections::{BTreeMap, HashMap};
use std::io::ErrorKind::{AlreadyExists, NotADirectory, NotFound};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use burn::optim::ModuleOptimizer;
use burn::tensor::{Bytes, Device};
use likewise::Monitor;
use ndarray::Array2;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};

use super::map::Map;
use super::state::State;
use super::{Epoch, Models, Score, Task, Trained};
use crate::net::{Deep, Head, Model, Weights};
use crate::{Error, ErrorKind, Result};

/// Saving more often costs more than repeating the epochs since the last time.
const INTERVAL: Duration = Duration::from_secs(5);

/// The checkpoint of one training: one file, replaced as a whole, so whatever the moment
/// of a kill it is either the last or the one before.
///
/// A safetensors file: the tensors of the models that may still be asked for, those of the network where they differ (a moving average is what is kept), the
/// proxies, the orthonormal map, the state of both optimizers, and as metadata the log and a
/// digest of it all.
#[derive(Debug, Clone)]
pub(crate) struct Checkpoint {
    path: PathBuf,
    /// What the training depends on; a checkpoint of anything else is not resumed.
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
    /// Epochs whose models it holds; a start may have no tensors of its own.
    kept: Vec<usize>,
    /// First step of the next search for the orthonormal map.
    map_step: Option<f64>,
}

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

    /// Saves, if the last time is long enough ago or the training is over. Where that fails
    /// the training goes on: an older checkpoint stays, and only time is at stake.
    pub(super) fn save(&mut self, state: &State, done: &Trained, over: bool, monitor: &Monitor) {
        if !over && self.last.elapsed() < self.interval {
            return;
        }
        monitor.start("keeping the training", None);
        let written = self.write(state, done);
        monitor.end();
        if let Err(e) = written
            && !self.warned
        {
            monitor.warn(format!("{e}; the work goes on without it"));
            self.warned = true;
        }
        self.last = Instant::now();
    }

    fn write(&self, state: &State, done: &Trained) -> Result<()> {
        let failed = |e: &dyn std::fmt::Display| {
            let at = self.path.display();
            Error::new(
                ErrorKind::Internal,
                format!("cannot write checkpoint {at}: {e}"),
            )
        };
        let mut blobs = Blobs::default();
        for (epoch, model) in done.models.iter() {
            blobs.put_weights(&format!("{epoch}/"), &tensors(model)?);
        }
        if let (Some(body), Some(_)) = (&state.body, &state.average) {
            blobs.put_weights("network/", &body.weights()?);
        }
        if let Some(proxies) = state.proxy_matrix() {
            let values = proxies.iter().flat_map(|v| v.to_le_bytes()).collect();
            blobs.put("proxies", Dtype::F32, proxies.shape(), values);
        }
        if let Some(map) = &state.map {
            let values = map.l.iter().flat_map(|v| v.to_le_bytes()).collect();
            blobs.put("map", Dtype::F64, map.l.shape(), values);
        }
        for (name, optimizer) in [
            ("net-optimizer", &state.body_optimizer),
            ("proxy-optimizer", &state.proxy_optimizer),
        ] {
            let bytes = optimizer.into_bytes().map_err(|e| failed(&e))?.to_vec();
            blobs.put(name, Dtype::U8, &[bytes.len()], bytes);
        }
        let json = serde_json::to_string(&Saved {
            fingerprint: self.fingerprint.clone(),
            log: done.log.clone(),
            scores: done.scores.clone(),
            kept: done.models.iter().map(|(epoch, _)| epoch).collect(),
            map_step: state.map.as_ref().and_then(|map| map.step),
        })
        .map_err(|e| failed(&e))?;
        let views = (blobs.0.iter())
            .map(|(name, (dtype, shape, bytes))| {
                let view = TensorView::new(*dtype, shape.clone(), bytes);
                Ok((name, view.map_err(|e| failed(&e))?))
            })
            .collect::<Result<Vec<_>>>()?;
        let digest = blobs.digest(&json);
        let metadata = HashMap::from([("state".to_owned(), json), ("sha256".to_owned(), digest)]);
        let bytes = safetensors::serialize(views, Some(metadata)).map_err(|e| failed(&e))?;
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

    /// Sets `state` back to the last saved epoch. `None` where there is no checkpoint of this
    /// very training: it then starts from the beginning.
    ///
    /// Fails on a file that is not as it was written: an interruption never leaves such a one,
    /// so whoever finds it should know.
    pub(super) fn restore(
        &self,
        task: &Task,
        state: &mut State,
        device: &Device,
    ) -> Result<Option<Trained>> {
        let damaged = |what: &dyn std::fmt::Display| {
            Error::data(format!(
                "{}: the checkpoint is damaged: {what}; delete it to start this training anew",
                self.path.display()
            ))
        };
        let bytes = match std::fs::read(&self.path) {
            Err(e) if matches!(e.kind(), NotFound | NotADirectory) => return Ok(None),
            bytes => bytes.map_err(|e| damaged(&e))?,
        };
        let blobs = Blobs::read(&bytes).map_err(|e| damaged(&e))?;
        let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|e| damaged(&e))?;
        let entry = |name: &str| metadata.metadata().as_ref()?.get(name);
        let (Some(json), Some(digest)) = (entry("state"), entry("sha256")) else {
            return Err(damaged(&"it has no log"));
        };
        if blobs.digest(json) != *digest {
            return Err(damaged(&"its content has changed"));
        }
        let saved: Saved = serde_json::from_str(json).map_err(|e| damaged(&e))?;
        let last = saved.log.len().saturating_sub(1);
        if saved.fingerprint != self.fingerprint || last == 0 || last > task.epochs {
            return Ok(None);
        }
        let found = blobs.resume(task, state, saved, device);
        found.map(Some).map_err(|e| damaged(&e))
    }
}

/// Named bytes of a safetensors file.
#[derive(Default)]
struct Blobs(BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>);

impl Blobs {
    fn put(&mut self, name: &str, dtype: Dtype, shape: &[usize], bytes: Vec<u8>) {
        let blob = (dtype, shape.to_vec(), bytes);
        self.0.insert(name.to_owned(), blob);
    }

    fn put_weights(&mut self, prefix: &str, weights: &Weights) {
        for (name, shape) in weights.shapes() {
            let values = weights.get(name).map_or(&[][..], |(_, values)| values);
            let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            self.put(&format!("{prefix}{name}"), Dtype::F32, shape, bytes);
        }
    }

    fn read(file: &[u8]) -> std::result::Result<Self, safetensors::SafeTensorError> {
        let file = SafeTensors::deserialize(file)?;
        let mut blobs = Self::default();
        for (name, view) in file.tensors() {
            blobs.put(&name, view.dtype(), view.shape(), view.data().to_vec());
        }
        Ok(blobs)
    }

    /// SHA-256 of `json` and of all names, shapes and bytes.
    fn digest(&self, json: &str) -> String {
        let heads = self.0.iter();
        let heads = heads.map(|(name, (dtype, shape, _))| format!("{name} {dtype:?} {shape:?}\n"));
        let heads: String = std::iter::once(json.to_owned()).chain(heads).collect();
        let values = self.0.values().map(|(_, _, bytes)| bytes.as_slice());
        likewise_io::digest_parts(std::iter::once(heads.as_bytes()).chain(values))
    }

    fn get(&self, name: &str) -> Result<&(Dtype, Vec<usize>, Vec<u8>)> {
        let missing = || Error::data(format!("it has no {name}"));
        self.0.get(name).ok_or_else(missing)
    }

    /// The f32 tensors whose names begin with `prefix`.
    fn weights(&self, prefix: &str) -> Result<Weights> {
        let mut weights = Weights::default();
        for (name, (_, shape, bytes)) in &self.0 {
            if let Some(name) = name.strip_prefix(prefix) {
                let values = bytes.as_chunks::<4>().0.iter().copied();
                let values = values.map(f32::from_le_bytes).collect();
                weights.insert(name, shape.clone(), values)?;
            }
        }
        Ok(weights)
    }

    fn matrix64(&self, name: &str) -> Result<Array2<f64>> {
        let (_, shape, bytes) = self.get(name)?;
        let values = bytes.as_chunks::<8>().0.iter().copied();
        let values: Vec<f64> = values.map(f64::from_le_bytes).collect();
        let wrong = || Error::data(format!("{name} is {shape:?}"));
        match shape[..] {
            [rows, columns] => Array2::from_shape_vec((rows, columns), values).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }

    /// Sets `state` to what was saved; nothing is set before everything was read.
    fn resume(
        &self,
        task: &Task,
        state: &mut State,
        saved: Saved,
        device: &Device,
    ) -> Result<Trained> {
        let last = saved.log.len() - 1;
        let mut models = Models::default();
        for &epoch in &saved.kept {
            let model = if epoch == 0 {
                task.start_model()?
            } else {
                let weights = self.weights(&format!("{epoch}/"))?;
                with_tensors(state.model(task)?, weights)?
            };
            models.insert(epoch, model);
        }
        let of_last = (models.iter().last())
            .filter(|(epoch, _)| *epoch == last)
            .ok_or_else(|| Error::data(format!("it has no model of epoch {last}")))?
            .1
            .clone();
        let map = match &state.map {
            None => None,
            Some(_) => Some(Map {
                l: self.matrix64("map")?,
                step: saved.map_step,
            }),
        };
        let average = match &state.average {
            None => None,
            Some(_) => Some(body_tensors(&of_last)?),
        };
        let network = match &average {
            Some(_) => self.weights("network/")?,
            None => body_tensors(&of_last)?,
        };
        let body = match state.body.clone() {
            Some(body) => Some(body.load(network, device)?),
            None => None,
        };
        let rows = || {
            let rows = self.weights("proxies")?.matrices().remove("");
            rows.ok_or_else(|| Error::data("it has no proxies"))
        };
        let proxies = match &state.proxies {
            None => None,
            Some(_) => Some(State::proxies(&rows()?, device)),
        };
        let optimizer = |name: &str, fresh: &ModuleOptimizer| {
            let bytes = Bytes::from_bytes_vec(self.get(name)?.2.clone());
            let read = fresh.clone().from_bytes(bytes);
            read.map_err(|e| Error::data(format!("{name}: {e}")))
        };
        let net_optimizer = optimizer("net-optimizer", &state.body_optimizer)?;
        let proxy_optimizer = optimizer("proxy-optimizer", &state.proxy_optimizer)?;
        state.body_optimizer = net_optimizer;
        state.proxy_optimizer = proxy_optimizer;
        (state.body, state.map, state.proxies, state.average) = (body, map, proxies, average);
        Ok(Trained {
            models,
            log: saved.log,
            scores: saved.scores,
        })
    }
}

/// All tensors of a model that training changes.
fn tensors(model: &Model) -> Result<Weights> {
    match model {
        Model::Deep(deep) => deep.tensors(),
        Model::Head(head) => {
            let mut weights = Weights::default();
            for (name, m) in head.residual.iter().flatten() {
                weights.insert(name, m.shape().to_vec(), m.iter().copied().collect())?;
            }
            Ok(weights)
        }
    }
}

/// Those of them that gradients move.
fn body_tensors(model: &Model) -> Result<Weights> {
    match model {
        Model::Deep(deep) => Ok(deep.weights.clone()),
        Model::Head(_) => tensors(model),
    }
}

/// A model like this one with other tensors.
fn with_tensors(model: Model, weights: Weights) -> Result<Model> {
    match model {
        Model::Deep(deep) => {
            let start = deep.start;
            let loaded = Deep::from_tensors(deep.config, weights)?;
            Ok(Model::Deep(Deep { start, ..loaded }))
        }
        Model::Head(head) => {
            let matrices = weights.matrices();
            let fits = (head.residual.iter().flatten()).all(|(name, m)| {
                let found = matrices.get(name);
                found.is_some_and(|found| found.dim() == m.dim())
            });
            if !fits {
                return Err(Error::data("its tensors do not fit the head"));
            }
            Ok(Model::Head(Head {
                residual: Some(matrices),
                ..head
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use likewise::Event;
    use likewise::eval::whitening::Spectrum;

    use super::super::{Keep, Targets, TrainConfig, Wanted, train};
    use super::*;
    use crate::{HeadConfig, Optimizer, Recipe, Residual, Schedule};

    /// Trains on 60 items of 3 classes, stopping after `stop` epochs.
    fn run(stop: usize, checkpoint: Option<Checkpoint>) -> Result<Trained> {
        run_recipe(&plain(), stop, checkpoint)
    }

    fn plain() -> Recipe {
        Recipe {
            train: TrainConfig {
                batch: 16,
                ..TrainConfig::default()
            },
            ..Recipe::default()
        }
    }

    /// Does something with the task of a small training.
    fn trained_with<T>(recipe: &Recipe, work: impl FnOnce(&Task) -> Result<T>) -> Result<T> {
        let x = Array2::from_shape_fn((60, 5), |(i, j)| {
            (if i % 3 == j { 2.0 } else { 0.0 }) + ((i * 7 + j * 11) % 13) as f32 / 13.0
        });
        let whitening = Spectrum::fit(x.view())?.truncated(1.0, 5)?;
        let start = likewise::matrix::l2_normalize(whitening.transform(x.view())?);
        let task = Task {
            recipe,
            whitening: &whitening,
            start: start.view(),
            items: &[],
            images: None,
            rotated: None,
            pretrained: None,
            classes: 3,
            groups: &[0, 1, 2],
            epochs: 6,
            wanted: Wanted::Validated(Keep::NearBest),
            seed: 11,
            device: &Device::flex(),
        };
        work(&task)
    }

    fn run_recipe(recipe: &Recipe, stop: usize, checkpoint: Option<Checkpoint>) -> Result<Trained> {
        let targets = Targets {
            class: (0..60).map(|i| i % 3).collect(),
            weight: vec![1.0; 60],
            labeled: vec![true; 60],
            passes: 1,
            triplets: None,
        };
        let seen = std::sync::Arc::new(AtomicUsize::new(0));
        let counter = seen.clone();
        let monitor = Monitor::new(move |event| {
            if matches!(event, Event::Step { .. }) {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        });
        let stopper = monitor.clone();
        let targets = |_: usize, _: &Models| {
            if seen.load(Ordering::Relaxed) == stop {
                stopper.cancel();
            }
            Ok(targets.clone())
        };
        let saved = (checkpoint, None);
        trained_with(recipe, |task| {
            train(task, targets, |_| Ok(None), saved, &monitor)
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
        let recipe = plain();
        trained_with(&recipe, |task| {
            let state = State::new(task, None, &Device::flex().autodiff())?;
            checkpoint.save(&state, &Trained::default(), false, &monitor);
            checkpoint.save(&state, &Trained::default(), true, &monitor);
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
        let averaged = Recipe { train, ..plain() };
        let residual = Residual::Orthogonal { dim: 2 };
        let head = HeadConfig {
            residual,
            ..HeadConfig::default()
        };
        let mapped = Recipe { head, ..plain() };
        for (number, recipe) in [averaged, mapped].iter().enumerate() {
            let path = folder.path().join(format!("{number}.safetensors"));
            let whole = run_recipe(recipe, usize::MAX, None).unwrap();
            assert!(run_recipe(recipe, 4, Some(eager(path.clone(), "this"))).is_err());
            let resumed = run_recipe(recipe, usize::MAX, Some(eager(path, "this"))).unwrap();
            assert_eq!(resumed.log, whole.log, "recipe {number}");
            assert_eq!(resumed.models, whole.models);
            assert!(whole.log[6].loss < whole.log[1].loss);
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
}
