//! Fits an orthonormal map to a loss, step by step, while the rows before it stand still.

use burn::tensor::{Device, Tensor};
use likewise::linear::{Objective, Stiefel};
use ndarray::Array2;

use crate::loss::{Batch, Losses};
use crate::net::{matrix_tensor, to_matrix, value_of};
use crate::{Error, Result};

/// An orthonormal map on its way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Map {
    pub(super) l: Array2<f64>,
    /// The first step that the next search tries.
    pub(super) step: Option<f64>,
}

/// The loss of a batch by the map alone.
struct OfMap<'a> {
    rows: Tensor<2>,
    loss: &'a Losses,
    /// The batch, and what a miner chose of it.
    batch: (&'a Batch, Option<&'a Batch>),
    proxies: Vec<Tensor<2>>,
    device: Device,
}

impl Map {
    pub(super) fn tensor(&self, device: &Device) -> Tensor<2> {
        matrix_tensor(&self.single(), device)
    }

    pub(super) fn single(&self) -> Array2<f32> {
        self.l.mapv(|v| v as f32)
    }

    /// Lowers the loss of a batch of unit rows; gives what it was before.
    pub(super) fn fit(
        &mut self,
        solver: &Stiefel,
        rows: Tensor<2>,
        (loss, batch): (&Losses, (&Batch, Option<&Batch>)),
        proxies: Vec<Tensor<2>>,
        device: &Device,
    ) -> Result<f64> {
        let mut objective = OfMap {
            rows: rows.detach(),
            loss,
            batch,
            proxies: proxies.into_iter().map(Tensor::detach).collect(),
            device: device.clone(),
        };
        let before = objective.cost(&self.l)?;
        if !before.is_finite() {
            return Ok(before);
        }
        let found = solver
            .minimize(self.l.clone(), self.step, &mut objective)
            .map_err(|e| Error::new(e.kind(), format!("the orthonormal map: {e}")))?;
        self.l = found.l;
        self.step = found.step;
        Ok(before)
    }
}

impl OfMap<'_> {
    fn loss(&self, map: Tensor<2>) -> likewise::Result<Tensor<1>> {
        let mapped = self.rows.clone().matmul(map);
        self.loss.forward(mapped, self.batch, self.proxies.clone())
    }

    fn point(&self, l: &Array2<f64>) -> Tensor<2> {
        matrix_tensor(&l.mapv(|v| v as f32), &self.device)
    }
}

impl Objective for OfMap<'_> {
    fn cost(&mut self, l: &Array2<f64>) -> likewise::Result<f64> {
        Ok(value_of(&self.loss(self.point(l))?))
    }

    fn gradient(&mut self, l: &Array2<f64>) -> likewise::Result<Array2<f64>> {
        let map = self.point(l).require_grad();
        let gradients = self.loss(map.clone())?.backward();
        Ok(match map.grad(&gradients) {
            Some(gradient) => to_matrix(gradient).mapv(f64::from),
            // A loss that nothing enters does not depend on the map.
            None => Array2::zeros(l.dim()),
        })
    }
}
