//! The moving parts of a training.

use burn::module::{Module, Param};
use burn::optim::{GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Tensor};
use likewise::linear::stiefel;
use ndarray::Array2;

use super::body::Body;
use super::map::Map;
use super::{Task, gradient};
use crate::Result;
use crate::loss::{Batch, Loss};
use crate::net::{
    Deep, Head, Model, Residual, Start, Weights, matrix_tensor, parameter, to_matrix,
};

/// Identity of the proxies, for their optimizer.
const PROXIES: u64 = 1;

#[derive(Module, Debug)]
pub(super) struct Proxies {
    pub(super) rows: Param<Tensor<2>>,
}

/// Everything that a step changes.
pub(super) struct State {
    pub(super) body: Option<Body>,
    pub(super) map: Option<Map>,
    pub(super) proxies: Option<Proxies>,
    pub(super) body_optimizer: ModuleOptimizer,
    pub(super) proxy_optimizer: ModuleOptimizer,
    /// Moving average of the body's weights.
    pub(super) average: Option<Weights>,
    /// What the model keeps of the network as it begins.
    start: Option<Start>,
    device: Device,
}

impl State {
    pub(super) fn new(task: &Task, proxies: Option<Array2<f32>>, device: &Device) -> Result<Self> {
        let recipe = task.recipe;
        let body = Body::new(task, device)?;
        let map = match recipe.head.residual {
            Residual::Orthogonal { dim } => {
                let rows = task.unit_dim();
                let l = stiefel::random(rows, dim.min(rows), task.seed)?;
                Some(Map { l, step: None })
            }
            Residual::Linear | Residual::Mlp { .. } | Residual::Rca(_) => None,
        };
        let average = match &body {
            Some(body) if recipe.train.average > 0.0 => Some(body.weights()?),
            _ => None,
        };
        let keep = recipe.head.keep as f32;
        let start = match &body {
            Some(body) if keep > 0.0 && task.begins_whitened() => Some(Start {
                weights: body.weights()?,
                keep,
            }),
            _ => None,
        };
        Ok(Self {
            start,
            body,
            map,
            proxies: proxies.map(|rows| Self::proxies(&rows, device)),
            body_optimizer: recipe.train.optimizer.init(recipe.train.weight_decay),
            proxy_optimizer: recipe.train.optimizer.init(0.0),
            average,
            device: device.clone(),
        })
    }

    pub(super) fn proxies(rows: &Array2<f32>, device: &Device) -> Proxies {
        Proxies {
            rows: parameter(PROXIES, matrix_tensor(rows, device)),
        }
    }

    pub(super) fn proxy_rows(&self) -> Option<Tensor<2>> {
        self.proxies.as_ref().map(|proxies| proxies.rows.val())
    }

    /// Unit rows before the map.
    pub(super) fn unit_rows(&self, inputs: Array2<f32>) -> Result<Tensor<2>> {
        match &self.body {
            Some(body) => body.forward(inputs, &self.device),
            None => Ok(matrix_tensor(&inputs, &self.device)),
        }
    }

    /// Fits the map, if there is one, to a batch of unit rows; gives the loss before.
    pub(super) fn fit_map(
        &mut self,
        task: &Task,
        rows: &Tensor<2>,
        (loss, batch): (&Loss, &Batch),
    ) -> Result<Option<f64>> {
        let proxies = self.proxy_rows();
        let Some(map) = &mut self.map else {
            return Ok(None);
        };
        let solver = &task.recipe.train.map;
        map.fit(solver, rows.clone(), (loss, batch), proxies, &self.device)
            .map(Some)
    }

    /// The embedding of unit rows.
    pub(super) fn mapped(&self, rows: Tensor<2>) -> Tensor<2> {
        match &self.map {
            Some(map) => rows.matmul(map.tensor(&self.device)),
            None => rows,
        }
    }

    /// One step along the gradients that were gathered.
    pub(super) fn step(
        &mut self,
        task: &Task,
        epoch: usize,
        gathered: &mut Gathered,
    ) -> Result<()> {
        let train = &task.recipe.train;
        let rate = train.rate(epoch);
        let mut of_body = gathered.body.grads();
        let mut of_proxies = gathered.proxies.grads();
        let mut shrink = 1.0;
        if train.clip > 0.0 {
            let body = self.body.as_ref();
            let squares = body.map_or(0.0, |body| gradient::length(&[(body, &of_body)]).powi(2));
            let proxies = self.proxies.as_ref();
            let more = proxies.map_or(0.0, |p| gradient::length(&[(p, &of_proxies)]).powi(2));
            shrink = (train.clip / (squares + more).sqrt()).min(1.0);
        }
        if let Some(mut body) = self.body.take() {
            let backbone = if epoch <= train.warm_up {
                0.0
            } else {
                train.backbone_factor
            };
            for (ids, factor) in body.groups(backbone) {
                if factor > 0.0 && !ids.is_empty() {
                    let part = gradient::take(&body, &mut of_body, &ids, shrink);
                    body = self.body_optimizer.step(rate * factor, body, part);
                }
            }
            if let Some(average) = self.average.take() {
                let keep = train.average as f32;
                self.average = Some(average.averaged(&body.weights()?, keep));
            }
            self.body = Some(body);
        }
        if let Some(proxies) = self.proxies.take() {
            let ids = [proxies.rows.id];
            let part = gradient::take(&proxies, &mut of_proxies, &ids, shrink);
            let rate = rate * train.proxy_factor;
            self.proxies = Some(self.proxy_optimizer.step(rate, proxies, part));
        }
        Ok(())
    }

    /// The model as it is.
    pub(super) fn model(&self, task: &Task) -> Result<Model> {
        let weights = match (&self.average, &self.body) {
            (Some(average), _) => average.clone(),
            (None, Some(body)) => body.weights()?,
            (None, None) => Weights::default(),
        };
        let map = self.map.as_ref().map(Map::single);
        if let Some(config) = &task.recipe.encoder {
            let config = config.clone();
            return Ok(Model::Deep(Deep {
                config,
                weights,
                map,
                start: self.start.clone(),
            }));
        }
        let mut residual = weights.matrices();
        if let Some(map) = map {
            residual.insert("output.weight".into(), map);
        }
        Ok(Model::Head(Head {
            config: task.recipe.head,
            start: task.whitening.clone(),
            residual: Some(residual),
        }))
    }

    pub(super) fn proxy_matrix(&self) -> Option<Array2<f32>> {
        self.proxy_rows().map(to_matrix)
    }
}

/// Gradients of the batches since the last step.
pub(super) struct Gathered {
    body: GradientsAccumulator<Body>,
    proxies: GradientsAccumulator<Proxies>,
}

impl Gathered {
    pub(super) fn new() -> Self {
        Self {
            body: GradientsAccumulator::new(),
            proxies: GradientsAccumulator::new(),
        }
    }

    /// Adds the gradients of `loss`.
    pub(super) fn add(&mut self, state: &State, loss: &Tensor<1>) {
        let mut gradients = loss.backward();
        if let Some(body) = &state.body {
            let of_body = GradientsParams::from_module(&mut gradients, body);
            self.body.accumulate(body, of_body);
        }
        if let Some(proxies) = &state.proxies {
            let of_proxies = GradientsParams::from_module(&mut gradients, proxies);
            self.proxies.accumulate(proxies, of_proxies);
        }
    }
}
