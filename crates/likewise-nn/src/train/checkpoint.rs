//! Checkpoints: a training that was killed goes on after its last finished epoch.

use std::path::PathBuf;

use burn::module::Module;
use burn::optim::{AdamWConfig, ModuleOptimizer};
use burn::store::ModuleRecord;
use burn::tensor::Bytes;
use serde::{Deserialize, Serialize};

use super::{Epoch, Proxies, Score, Task, Trained};
use crate::net::{Head, ResidualNet};
use crate::{Error, ErrorKind, Result};

/// The folder of one training's checkpoints.
///
/// After every epoch: the network and proxies of that epoch (kept: they are also the
/// candidates that validation chooses from), the optimizers (the last only), and last of
/// all `state.json`, which names the epoch. Each file is replaced as a whole, so whatever
/// the moment of a kill, `state.json` names files that are complete.
#[derive(Debug, Clone)]
pub(crate) struct Checkpoints {
    folder: PathBuf,
    /// What the training depends on; a checkpoint of anything else is not resumed.
    fingerprint: String,
}

#[derive(Serialize, Deserialize)]
struct State {
    fingerprint: String,
    log: Vec<Epoch>,
    scores: Vec<Option<Score>>,
}

pub(crate) struct Saved<'a> {
    at: &'a Checkpoints,
    state: State,
}

impl Checkpoints {
    pub(crate) fn new(folder: PathBuf, fingerprint: String) -> Self {
        Self {
            folder,
            fingerprint,
        }
    }

    fn file(&self, what: &str, epoch: usize) -> PathBuf {
        self.folder.join(format!("{what}-{epoch}.bpk"))
    }

    pub(super) fn save(
        &self,
        net: &ResidualNet,
        proxies: &Proxies,
        net_optimizer: &ModuleOptimizer,
        proxy_optimizer: &ModuleOptimizer,
        done: &Trained,
    ) -> Result<()> {
        let epoch = done.log.len() - 1;
        std::fs::create_dir_all(&self.folder).map_err(|e| self.failed(&e))?;
        let parts = [
            ("net", net.clone().into_record().into_bytes()),
            ("proxies", proxies.clone().into_record().into_bytes()),
            ("net-optimizer", net_optimizer.into_bytes()),
            ("proxy-optimizer", proxy_optimizer.into_bytes()),
        ];
        for (what, bytes) in parts {
            let bytes = bytes.map_err(|e| self.failed(&e))?;
            likewise_io::atomic::write_bytes(&self.file(what, epoch), &bytes)
                .map_err(|e| self.failed(&e))?;
        }
        let state = State {
            fingerprint: self.fingerprint.clone(),
            log: done.log.clone(),
            scores: done.scores.clone(),
        };
        let json = serde_json::to_vec(&state).map_err(|e| self.failed(&e))?;
        likewise_io::atomic::write_bytes(&self.folder.join("state.json"), &json)
            .map_err(|e| self.failed(&e))?;
        for what in ["proxies", "net-optimizer", "proxy-optimizer"] {
            if epoch > 1 {
                // Only the last ones are needed; failing to tidy up harms nothing.
                let _ = std::fs::remove_file(self.file(what, epoch - 1));
            }
        }
        Ok(())
    }

    fn failed(&self, e: &dyn std::fmt::Display) -> Error {
        Error::new(
            ErrorKind::Internal,
            format!("cannot write a checkpoint in {}: {e}", self.folder.display()),
        )
    }

    /// The last complete checkpoint of this very training, if there is one.
    pub(super) fn load(&self) -> Option<Saved<'_>> {
        let json = std::fs::read(self.folder.join("state.json")).ok()?;
        let state: State = serde_json::from_slice(&json).ok()?;
        (state.fingerprint == self.fingerprint).then_some(Saved { at: self, state })
    }
}

impl Saved<'_> {
    /// Everything as it was after the saved epoch; `None` if any file is unusable, in which
    /// case the training starts over.
    #[expect(clippy::type_complexity, reason = "the state of the loop, taken apart at once")]
    pub(super) fn restore(
        self,
        task: &Task,
        net: &ResidualNet,
        proxies: &Proxies,
        adam: &impl Fn() -> AdamWConfig,
        decay: f32,
    ) -> Option<(ResidualNet, Proxies, ModuleOptimizer, ModuleOptimizer, Trained)> {
        let read = |what: &str, epoch: usize| {
            std::fs::read(self.at.file(what, epoch))
                .ok()
                .map(Bytes::from_bytes_vec)
        };
        let load_net = |epoch: usize| {
            let record = ModuleRecord::from_bytes(read("net", epoch)?).ok()?;
            net.clone().try_load_record(record).ok()
        };
        let last = self.state.log.len().checked_sub(1)?;
        if last > task.epochs {
            return None;
        }
        // Epoch 0 is the untrained network, which the seed gives again.
        let mut nets = vec![net.clone()];
        for epoch in 1..=last {
            nets.push(load_net(epoch)?);
        }
        let record = ModuleRecord::from_bytes(read("proxies", last)?).ok()?;
        let proxies = proxies.clone().try_load_record(record).ok()?;
        let net_optimizer = adam()
            .with_weight_decay(decay)
            .init()
            .from_bytes(read("net-optimizer", last)?)
            .ok()?;
        let proxy_optimizer = adam()
            .with_weight_decay(0.0)
            .init()
            .from_bytes(read("proxy-optimizer", last)?)
            .ok()?;
        let heads = nets
            .iter()
            .map(|net| Head::from_net(*task.head, task.whitening.clone(), net))
            .collect();
        let done = Trained {
            heads,
            log: self.state.log,
            scores: self.state.scores,
        };
        Some((nets.pop()?, proxies, net_optimizer, proxy_optimizer, done))
    }
}
