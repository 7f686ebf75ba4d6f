//! Checkpoints: a training that was killed goes on after its last saved epoch.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use burn::optim::ModuleOptimizer;
use burn::tensor::{Bytes, Device};
use ndarray::Array2;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};

use super::map::Map;
use super::state::State;
use super::{Epoch, Score, Task, Trained};
use crate::net::{Deep, Head, Model, Weights};
use crate::{Error, ErrorKind, Result};

/// Saving more often costs more than repeating the epochs since the last time.
const INTERVAL: Duration = Duration::from_secs(5);

/// The checkpoint of one training: one file, replaced as a whole, so whatever the moment
/// of a kill it is either the last or the one before.
///
/// A safetensors file: the tensors of the model after every epoch (validation chooses among
/// them), those of the network where they differ (a moving average is what is kept), the
/// proxies, the orthonormal map, the state of both optimizers, and the log as metadata.
#[derive(Debug, Clone)]
pub(crate) struct Checkpoint {
    path: PathBuf,
    /// What the training depends on; a checkpoint of anything else is not resumed.
    fingerprint: String,
    interval: Duration,
    last: Instant,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    fingerprint: String,
    log: Vec<Epoch>,
    scores: Vec<Option<Score>>,
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
        }
    }

    /// Saves, if the last time is long enough ago or the training is over.
    pub(super) fn save(&mut self, state: &State, done: &Trained, over: bool) -> Result<()> {
        if !over && self.last.elapsed() < self.interval {
            return Ok(());
        }
        let failed = |e: &dyn std::fmt::Display| {
            let at = self.path.display();
            Error::new(
                ErrorKind::Internal,
                format!("cannot write checkpoint {at}: {e}"),
            )
        };
        let mut blobs = Blobs::default();
        for (epoch, model) in done.models.iter().enumerate() {
            blobs.weights(&format!("{epoch}/"), &tensors(model)?);
        }
        if let (Some(body), Some(_)) = (&state.body, &state.average) {
            blobs.weights("network/", &body.weights()?);
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
            map_step: state.map.as_ref().and_then(|map| map.step),
        })
        .map_err(|e| failed(&e))?;
        let views = (blobs.0.iter())
            .map(|(name, (dtype, shape, bytes))| {
                let view = TensorView::new(*dtype, shape.clone(), bytes);
                Ok((name, view.map_err(|e| failed(&e))?))
            })
            .collect::<Result<Vec<_>>>()?;
        let metadata = HashMap::from([("state".to_owned(), json)]);
        let bytes = safetensors::serialize(views, Some(metadata)).map_err(|e| failed(&e))?;
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| failed(&e))?;
        }
        likewise_io::atomic::write(&self.path, |file| Ok(file.write_all(&bytes)?))
            .map_err(|e| failed(&e))?;
        self.last = Instant::now();
        Ok(())
    }

    /// Sets `state` back to the last saved epoch. `None` where there is no usable
    /// checkpoint of this very training: it then starts from the beginning.
    pub(super) fn restore(
        &self,
        task: &Task,
        state: &mut State,
        device: &Device,
    ) -> Option<Trained> {
        let bytes = std::fs::read(&self.path).ok()?;
        let (_, metadata) = SafeTensors::read_metadata(&bytes).ok()?;
        let saved: Saved =
            serde_json::from_str(metadata.metadata().as_ref()?.get("state")?).ok()?;
        let last = saved.log.len().checked_sub(1).filter(|&last| last > 0)?;
        let complete = saved.fingerprint == self.fingerprint && last <= task.epochs;
        if !complete || saved.scores.len() != saved.log.len() {
            return None;
        }
        let file = SafeTensors::deserialize(&bytes).ok()?;
        let mut models = vec![task.start_model()];
        for epoch in 1..=last {
            let weights = weights(&file, &format!("{epoch}/"))?;
            models.push(with_tensors(state.model(task).ok()?, weights)?);
        }
        let map = match &state.map {
            None => None,
            Some(_) => Some(Map {
                l: matrix64(&file, "map")?,
                step: saved.map_step,
            }),
        };
        let average = match &state.average {
            None => None,
            Some(_) => Some(body_tensors(&models[last]).ok()?),
        };
        let network = match &average {
            Some(_) => weights(&file, "network/")?,
            None => body_tensors(&models[last]).ok()?,
        };
        let body = match state.body.clone() {
            Some(body) => Some(body.load(network, device).ok()?),
            None => None,
        };
        let proxies = match &state.proxies {
            None => None,
            Some(_) => Some(State::proxies(&matrix32(&file, "proxies")?, device)),
        };
        let optimizer = |name: &str, fresh: &ModuleOptimizer| {
            let bytes = file.tensor(name).ok()?.data().to_vec();
            fresh.clone().from_bytes(Bytes::from_bytes_vec(bytes)).ok()
        };
        let net_optimizer = optimizer("net-optimizer", &state.body_optimizer)?;
        let proxy_optimizer = optimizer("proxy-optimizer", &state.proxy_optimizer)?;
        // Nothing is set before everything was read.
        state.body_optimizer = net_optimizer;
        state.proxy_optimizer = proxy_optimizer;
        (state.body, state.map, state.proxies, state.average) = (body, map, proxies, average);
        Some(Trained {
            models,
            log: saved.log,
            scores: saved.scores,
        })
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

    fn weights(&mut self, prefix: &str, weights: &Weights) {
        for (name, shape) in weights.shapes() {
            let values = weights.get(name).map_or(&[][..], |(_, values)| values);
            let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            self.put(&format!("{prefix}{name}"), Dtype::F32, shape, bytes);
        }
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
fn with_tensors(model: Model, weights: Weights) -> Option<Model> {
    match model {
        Model::Deep(deep) => Some(Model::Deep(Deep::from_tensors(deep.config, weights).ok()?)),
        Model::Head(head) => {
            let matrices = weights.matrices();
            let expected = head.residual.as_ref()?;
            let fits = expected.iter().all(|(name, m)| {
                let found = matrices.get(name);
                found.is_some_and(|found| found.dim() == m.dim())
            });
            fits.then_some(Model::Head(Head {
                residual: Some(matrices),
                ..head
            }))
        }
    }
}

/// The f32 tensors whose names begin with `prefix`.
fn weights(file: &SafeTensors, prefix: &str) -> Option<Weights> {
    let mut weights = Weights::default();
    for (name, view) in file.tensors() {
        if let Some(name) = name.strip_prefix(prefix) {
            let values = view.data().as_chunks::<4>().0.iter().copied();
            let values = values.map(f32::from_le_bytes).collect();
            weights.insert(name, view.shape().to_vec(), values).ok()?;
        }
    }
    Some(weights)
}

fn matrix32(file: &SafeTensors, name: &str) -> Option<Array2<f32>> {
    weights(file, name)?.matrices().remove("")
}

fn matrix64(file: &SafeTensors, name: &str) -> Option<Array2<f64>> {
    let view = file.tensor(name).ok()?;
    let &[rows, columns] = view.shape() else {
        return None;
    };
    let values = view.data().as_chunks::<8>().0.iter().copied();
    Array2::from_shape_vec((rows, columns), values.map(f64::from_le_bytes).collect()).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use likewise::eval::whitening::Spectrum;
    use likewise::{Event, Monitor};

    use super::super::{Targets, TrainConfig, train};
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

    fn run_recipe(recipe: &Recipe, stop: usize, checkpoint: Option<Checkpoint>) -> Result<Trained> {
        let x = Array2::from_shape_fn((60, 5), |(i, j)| {
            (if i % 3 == j { 2.0 } else { 0.0 }) + ((i * 7 + j * 11) % 13) as f32 / 13.0
        });
        let whitening = Spectrum::fit(x.view())?.truncated(1.0, 5)?;
        let start = likewise::matrix::l2_normalize(whitening.transform(x.view())?);
        let task = Task {
            recipe,
            whitening: &whitening,
            start: start.view(),
            inputs: start.view(),
            pretrained: None,
            classes: 3,
            groups: &[0, 1, 2],
            epochs: 6,
            seed: 11,
            device: &Device::flex(),
        };
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
        let targets = |_: usize, _: &[Model]| {
            if seen.load(Ordering::Relaxed) == stop {
                stopper.cancel();
            }
            Ok(targets.clone())
        };
        train(&task, targets, |_| Ok(None), checkpoint, &monitor)
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
    fn a_checkpoint_of_something_else_or_a_broken_one_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("training.safetensors");
        let whole = run(usize::MAX, Some(eager(path.clone(), "this"))).unwrap();
        let other = run(usize::MAX, Some(eager(path.clone(), "other"))).unwrap();
        assert_eq!(other.models, whole.models);
        let bytes = std::fs::read(&path).unwrap();
        for end in [0, 9, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..end]).unwrap();
            let fresh = run(usize::MAX, Some(eager(path.clone(), "other"))).unwrap();
            assert_eq!(fresh.models, whole.models);
        }
    }
}
