//! The moving parts of a training.

use burn::module::{Module, Param, ParamId};
use burn::optim::{GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::tensor::{Bytes, Device, Tensor};
use likewise::Monitor;
use likewise::arrays::{Arrays, Values};
use likewise::learn::Evidence;
use likewise::linear::stiefel;
use ndarray::{Array2, Axis};

use super::behind::Fitted;
use super::body::Body;
use super::gradient;
use super::learner::Gradient;
use super::map::Map;
use crate::loss::Batch;
use crate::model::Model;
use crate::net::{
    DIRECTIONS, Deep, Head, Residual, Start, Weights, matrix_tensor, parameter, to_matrix,
};
use crate::{Error, ErrorKind, Result};

/// Identity of the first proxies, for their optimizer; others count on from it.
const PROXIES: u64 = 1;

/// The proxies of each loss that has some.
#[derive(Module, Debug)]
struct Proxies {
    rows: Vec<Param<Tensor<2>>>,
}

impl Proxies {
    fn new(rows: &[Array2<f32>], device: &Device) -> Option<Self> {
        let parameters = (PROXIES..)
            .zip(rows)
            .map(|(id, rows)| parameter(id, matrix_tensor(rows, device)));
        (!rows.is_empty()).then(|| Self {
            rows: parameters.collect(),
        })
    }
}

/// Under which name the proxies of a loss are saved, by its place among those that have some.
fn saved_as(place: usize) -> String {
    match place {
        0 => "proxies".into(),
        _ => format!("proxies-{}", place + 1),
    }
}

/// Everything that a step changes.
pub(super) struct State {
    body: Option<Body>,
    map: Option<Map>,
    /// The metric behind the rows, where there is one.
    pub(super) metric: Option<Fitted>,
    proxies: Option<Proxies>,
    body_optimizer: ModuleOptimizer,
    proxy_optimizer: ModuleOptimizer,
    /// Moving average of the body's weights.
    average: Option<Weights>,
    /// What the model keeps of the network as it begins.
    start: Option<Start>,
    /// What an estimate of a softmax divides by, once it is known.
    pub(super) constant: Option<f64>,
    device: Device,
}

impl State {
    pub(super) fn new(
        how: &Gradient,
        evidence: &Evidence,
        proxies: &[Array2<f32>],
        seed: u64,
    ) -> Result<Self> {
        let device = &how.device.clone().autodiff();
        let body = Body::new(how, evidence, seed, device)?;
        let map = match how.head.residual {
            Residual::Orthogonal { dim } => {
                let rows = how.unit_dim(evidence.rows.ncols());
                let l = stiefel::random(rows, dim.min(rows), seed)?;
                Some(Map { l, step: None })
            }
            Residual::Linear | Residual::Mlp { .. } => None,
        };
        let columns = how.unit_dim(evidence.rows.ncols());
        let metric = how.metric.map(|config| Fitted::new(config, columns));
        let average = match &body {
            Some(body) if how.train.average > 0.0 => Some(body.weights()?),
            _ => None,
        };
        let keep = how.head.keep as f32;
        let start = match &body {
            Some(body) if keep > 0.0 && how.begins_whitened() => Some(Start {
                weights: body.weights()?,
                keep,
            }),
            _ => None,
        };
        Ok(Self {
            start,
            body,
            map,
            metric,
            proxies: Proxies::new(proxies, device),
            body_optimizer: how.train.optimizer.init(how.train.weight_decay),
            proxy_optimizer: Self::of_proxies(how),
            average,
            constant: None,
            device: device.clone(),
        })
    }

    /// Begins with other proxies anew, and forgets how the old ones moved.
    pub(super) fn renew(&mut self, how: &Gradient, proxies: &[Array2<f32>]) {
        self.proxies = Proxies::new(proxies, &self.device);
        self.proxy_optimizer = Self::of_proxies(how);
    }

    fn of_proxies(how: &Gradient) -> ModuleOptimizer {
        let decay = how.train.proxy_decay.unwrap_or(0.0);
        how.train.optimizer.init(decay)
    }

    /// Puts other rows in the place of the proxies, which no gradient moves.
    pub(super) fn remembered(&mut self, rows: Array2<f32>) {
        self.proxies = Proxies::new(&[rows], &self.device);
    }

    /// Proxies of each loss that has some.
    pub(super) fn proxy_rows(&self) -> Vec<Tensor<2>> {
        let all = self.proxies.iter().flat_map(|proxies| &proxies.rows);
        all.map(Param::val).collect()
    }

    /// Where the tensors live.
    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    /// Unit rows of some fitted items as they are now, before a map or a metric.
    pub(super) fn embedded(
        &self,
        how: &Gradient,
        evidence: &Evidence,
        items: &[usize],
        monitor: &Monitor,
    ) -> Result<Array2<f32>> {
        let none = || Error::new(ErrorKind::Internal, "nothing stands before the metric");
        let body = self.body.as_ref().map(Body::still).ok_or_else(none)?;
        let mut out = Array2::zeros((items.len(), how.unit_dim(evidence.rows.ncols())));
        let blocks = items.chunks(how.train.batch.max(1));
        for (mut out, items) in
            (out.axis_chunks_iter_mut(Axis(0), how.train.batch.max(1))).zip(blocks)
        {
            monitor.check()?;
            let rows = body.forward(how.inputs(evidence, items, None)?, &self.device)?;
            out.assign(&to_matrix(rows));
        }
        Ok(out)
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
        how: &Gradient,
        rows: &Tensor<2>,
        batch: (&Batch, Option<&Batch>),
    ) -> Result<Option<f64>> {
        let proxies = self.proxy_rows();
        let Some(map) = &mut self.map else {
            return Ok(None);
        };
        let solver = &how.map;
        map.fit(
            solver,
            rows.clone(),
            (how.loss, batch),
            proxies,
            &self.device,
        )
        .map(Some)
    }

    /// Whether gradients move anything.
    pub(super) fn moves(&self) -> bool {
        self.body.is_some() || self.proxies.is_some()
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
        how: &Gradient,
        epoch: usize,
        gathered: &mut Gathered,
    ) -> Result<()> {
        let (train, tuning) = (how.train, how.tuning);
        let rate = train.rate(epoch, how.epochs);
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
            let backbone = if epoch <= tuning.warm_up {
                0.0
            } else {
                tuning.backbone_factor
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
            let ids: Vec<ParamId> = proxies.rows.iter().map(|rows| rows.id).collect();
            let part = gradient::take(&proxies, &mut of_proxies, &ids, shrink);
            let rate = rate * train.proxy_factor;
            self.proxies = Some(self.proxy_optimizer.step(rate, proxies, part));
        }
        Ok(())
    }

    /// The model as it is.
    pub(super) fn model(&self, how: &Gradient, evidence: &Evidence) -> Result<Model> {
        let weights = match (&self.average, &self.body) {
            (Some(average), _) => average.clone(),
            (None, Some(body)) => body.weights()?,
            (None, None) => Weights::default(),
        };
        let map = match &self.metric {
            Some(fitted) => Some(fitted.directions()),
            None => self.map.as_ref().map(Map::single),
        };
        if let Some(config) = how.encoder {
            return Ok(Model::Network(Deep {
                config: config.clone(),
                weights,
                map,
                start: self.start.clone(),
            }));
        }
        let mut residual = weights.matrices();
        if let Some(map) = map {
            let name = match self.metric {
                Some(_) => DIRECTIONS,
                None => "output.weight",
            };
            residual.insert(name.into(), map);
        }
        Ok(Model::Head(Head {
            config: *how.head,
            reading: evidence.start.reading,
            start: evidence.start.whitening.clone(),
            residual,
        }))
    }

    /// What the model does not tell: the network where it keeps a moving average, the proxies,
    /// the map in full precision, and the state of both optimizers.
    pub(super) fn save(&self) -> Result<Arrays> {
        let mut arrays = Arrays::default();
        if let (Some(body), Some(_)) = (&self.body, &self.average) {
            arrays.put_all("network/", body.weights()?.to_arrays());
        }
        for (place, proxies) in self.proxy_rows().into_iter().enumerate() {
            arrays.put_matrix32(saved_as(place), &to_matrix(proxies));
        }
        if let Some(map) = &self.map {
            arrays.put_matrix("map", &map.l);
            let step: Vec<f64> = map.step.into_iter().collect();
            arrays.put("map-step", &[step.len()], Values::F64(step));
        }
        if let Some(constant) = self.constant {
            arrays.put("constant", &[1], Values::F64(vec![constant]));
        }
        if let Some(fitted) = &self.metric {
            fitted.save(&mut arrays);
        }
        for (name, optimizer) in [
            ("net-optimizer", &self.body_optimizer),
            ("proxy-optimizer", &self.proxy_optimizer),
        ] {
            let failed = |e| Error::new(ErrorKind::Internal, format!("{name}: {e}"));
            let bytes = optimizer.into_bytes().map_err(failed)?.to_vec();
            arrays.put(name, &[bytes.len()], Values::Bytes(bytes));
        }
        Ok(arrays)
    }

    /// Back to what was saved beside `model`; nothing is set before everything was read.
    pub(super) fn resume(&mut self, saved: &Arrays, model: &Model) -> Result<()> {
        let map = match &self.map {
            None => None,
            Some(_) => Some(Map {
                l: saved.matrix64("map")?,
                step: saved.vector64("map-step")?.first().copied(),
            }),
        };
        let metric = match &self.metric {
            None => None,
            Some(fitted) => Some(fitted.resumed(saved)?),
        };
        let average = match &self.average {
            None => None,
            Some(_) => Some(model.moved()?),
        };
        let network = match &average {
            Some(_) => Weights::from_arrays(&saved.under("network/"))?,
            None => model.moved()?,
        };
        let body = match self.body.clone() {
            Some(body) => Some(body.load(network, &self.device)?),
            None => None,
        };
        let proxies = (0..self.proxy_rows().len()).map(|place| saved.matrix32(&saved_as(place)));
        let proxies = Proxies::new(
            &proxies.collect::<likewise::Result<Vec<_>>>()?,
            &self.device,
        );
        let optimizer = |name: &str, fresh: &ModuleOptimizer| {
            let bytes = Bytes::from_bytes_vec(saved.bytes(name)?.to_vec());
            let read = fresh.clone().from_bytes(bytes);
            read.map_err(|e| Error::data(format!("{name}: {e}")))
        };
        let net_optimizer = optimizer("net-optimizer", &self.body_optimizer)?;
        let proxy_optimizer = optimizer("proxy-optimizer", &self.proxy_optimizer)?;
        self.constant = saved
            .vector64("constant")
            .ok()
            .and_then(|v| v.first().copied());
        self.body_optimizer = net_optimizer;
        self.proxy_optimizer = proxy_optimizer;
        (self.body, self.map, self.proxies, self.average) = (body, map, proxies, average);
        self.metric = metric;
        Ok(())
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
