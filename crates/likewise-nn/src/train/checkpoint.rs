//! Checkpoints: a training that was killed goes on after its last saved epoch.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use burn::optim::{AdamWConfig, ModuleOptimizer};
use burn::tensor::{Bytes, Device};
use ndarray::Array2;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};

use super::{Epoch, Proxies, Score, Task, Trained, matrix_tensor};
use crate::net::{Head, ResidualNet, parameter};
use crate::{Error, ErrorKind, Result};

/// Saving more often costs more than repeating the epochs since the last time.
const INTERVAL: Duration = Duration::from_secs(5);

/// Identity of the proxies, for their optimizer.
const PROXIES: u64 = 1;

/// The checkpoint of one training: one file, replaced as a whole, so whatever the moment
/// of a kill it is either the last or the one before.
///
/// A safetensors file: the matrices of the head after every epoch (validation chooses among
/// them), the proxies, the state of both optimizers, and the log as metadata.
#[derive(Debug, Clone)]
pub(crate) struct Checkpoint {
    path: PathBuf,
    /// What the training depends on; a checkpoint of anything else is not resumed.
    fingerprint: String,
    interval: Duration,
    last: Instant,
}

#[derive(Serialize, Deserialize)]
struct State {
    fingerprint: String,
    log: Vec<Epoch>,
    scores: Vec<Option<Score>>,
}

/// The moving parts of the training loop.
pub(super) struct Loop {
    pub(super) net: ResidualNet,
    pub(super) proxies: Proxies,
    pub(super) net_optimizer: ModuleOptimizer,
    pub(super) proxy_optimizer: ModuleOptimizer,
}

impl Loop {
    pub(super) fn new(net: ResidualNet, proxies: Array2<f32>, decay: f64, device: &Device) -> Self {
        let adam = |decay: f64| {
            let config = AdamWConfig::new().with_epsilon(1e-8);
            config.with_weight_decay(decay as f32).init()
        };
        Self {
            net,
            proxies: Proxies {
                rows: parameter(PROXIES, matrix_tensor(&proxies, device)),
            },
            net_optimizer: adam(decay),
            proxy_optimizer: adam(0.0),
        }
    }
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
    pub(super) fn save(&mut self, state: &Loop, done: &Trained, over: bool) -> Result<()> {
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
        let mut blobs: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)> = BTreeMap::new();
        let mut put = |name: String, m: &Array2<f32>| {
            let bytes = m.iter().flat_map(|v| v.to_le_bytes()).collect();
            blobs.insert(name, (Dtype::F32, m.shape().to_vec(), bytes));
        };
        for (epoch, head) in done.heads.iter().enumerate() {
            for (name, matrix) in head.residual.iter().flatten() {
                put(format!("{epoch}/{name}"), matrix);
            }
        }
        put(
            "proxies".into(),
            &super::to_matrix(state.proxies.rows.val()),
        );
        for (name, optimizer) in [
            ("net-optimizer", &state.net_optimizer),
            ("proxy-optimizer", &state.proxy_optimizer),
        ] {
            let bytes = optimizer.into_bytes().map_err(|e| failed(&e))?.to_vec();
            blobs.insert(name.into(), (Dtype::U8, vec![bytes.len()], bytes));
        }
        let json = serde_json::to_string(&State {
            fingerprint: self.fingerprint.clone(),
            log: done.log.clone(),
            scores: done.scores.clone(),
        })
        .map_err(|e| failed(&e))?;
        let views = blobs
            .iter()
            .map(|(name, (dtype, shape, bytes))| {
                Ok((
                    name,
                    TensorView::new(*dtype, shape.clone(), bytes).map_err(|e| failed(&e))?,
                ))
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
        state: &mut Loop,
        device: &Device,
    ) -> Option<Trained> {
        let bytes = std::fs::read(&self.path).ok()?;
        let (_, metadata) = SafeTensors::read_metadata(&bytes).ok()?;
        let saved: State =
            serde_json::from_str(metadata.metadata().as_ref()?.get("state")?).ok()?;
        let last = saved.log.len().checked_sub(1)?;
        let complete = saved.fingerprint == self.fingerprint && last <= task.epochs;
        if !complete || saved.scores.len() != saved.log.len() {
            return None;
        }
        let tensors = SafeTensors::deserialize(&bytes).ok()?;
        let matrix = |name: &str| -> Option<Array2<f32>> {
            let view = tensors.tensor(name).ok()?;
            let &[rows, columns] = view.shape() else {
                return None;
            };
            let values = view.data().chunks_exact(4);
            let values = values.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            Array2::from_shape_vec((rows, columns), values.collect()).ok()
        };
        let fresh = Head::from_net(*task.head, task.whitening.clone(), &state.net);
        let mut heads = Vec::new();
        for epoch in 0..=last {
            let mut head = fresh.clone();
            for (name, part) in head.residual.iter_mut().flatten() {
                *part = matrix(&format!("{epoch}/{name}"))?;
            }
            heads.push(head);
        }
        let net = state
            .net
            .with_tensors(heads[last].residual.as_ref()?, device)?;
        let optimizer = |name: &str, fresh: &ModuleOptimizer| {
            let bytes = tensors.tensor(name).ok()?.data().to_vec();
            fresh.clone().from_bytes(Bytes::from_bytes_vec(bytes)).ok()
        };
        let proxies = matrix_tensor(&matrix("proxies")?, device);
        *state = Loop {
            proxies: Proxies {
                rows: parameter(PROXIES, proxies),
            },
            net_optimizer: optimizer("net-optimizer", &state.net_optimizer)?,
            proxy_optimizer: optimizer("proxy-optimizer", &state.proxy_optimizer)?,
            net,
        };
        Some(Trained {
            heads,
            log: saved.log,
            scores: saved.scores,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use likewise::eval::whitening::Spectrum;
    use likewise::{Event, Monitor};

    use super::super::{Targets, TrainConfig, train};
    use super::*;
    use crate::loss::ConfidenceProxy;
    use crate::net::HeadConfig;

    /// Trains on 60 items of 3 classes, stopping after `stop` epochs.
    fn run(stop: usize, checkpoint: Option<Checkpoint>) -> Result<Trained> {
        let x = Array2::from_shape_fn((60, 5), |(i, j)| {
            (if i % 3 == j { 2.0 } else { 0.0 }) + ((i * 7 + j * 11) % 13) as f32 / 13.0
        });
        let whitening = Spectrum::fit(x.view())?.truncated(1.0, 5)?;
        let start = likewise::matrix::l2_normalize(whitening.transform(x.view())?);
        let train_config = TrainConfig {
            batch: 16,
            ..TrainConfig::default()
        };
        let task = Task {
            head: &HeadConfig::default(),
            train: &train_config,
            loss: &ConfidenceProxy::default(),
            whitening: &whitening,
            start: start.view(),
            classes: 3,
            epochs: 6,
            seed: 11,
            device: &Device::flex(),
        };
        let targets = Targets {
            class: (0..60).map(|i| i % 3).collect(),
            weight: vec![1.0; 60],
            passes: 1,
        };
        let seen = std::sync::Arc::new(AtomicUsize::new(0));
        let counter = seen.clone();
        let monitor = Monitor::new(move |event| {
            if matches!(event, Event::Step { .. }) {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        });
        let stopper = monitor.clone();
        let targets = |_: usize, _: Option<&Head>| {
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
        assert_eq!(resumed.heads, whole.heads);
        // A finished training is not repeated, and gives the same.
        let again = run(usize::MAX, Some(eager(path, "this"))).unwrap();
        assert_eq!(again.heads, whole.heads);
    }

    #[test]
    fn a_checkpoint_of_something_else_or_a_broken_one_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("training.safetensors");
        let whole = run(usize::MAX, Some(eager(path.clone(), "this"))).unwrap();
        let other = run(usize::MAX, Some(eager(path.clone(), "other"))).unwrap();
        assert_eq!(other.heads, whole.heads);
        let bytes = std::fs::read(&path).unwrap();
        for end in [0, 9, bytes.len() / 2, bytes.len() - 1] {
            std::fs::write(&path, &bytes[..end]).unwrap();
            let fresh = run(usize::MAX, Some(eager(path.clone(), "other"))).unwrap();
            assert_eq!(fresh.heads, whole.heads);
        }
    }
}
