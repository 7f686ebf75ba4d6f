//! A small network as plain matrices: what learning by gradients leaves behind.

use ndarray::{Array1, Array2};

use crate::arrays::{Arrays, Values};
use crate::matrix::product;
use crate::{Error, Result};

/// What stands behind the layers of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// `tanh` behind every layer.
    Tanh,
    /// `max(0, .)` behind every layer but the last.
    Rectified,
}

/// Layers `x -> unit(x W + b)`, one after the other, of rows less a mean. The units are those of the
/// [`Encoder`](super::Encoder) that holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Subtracted from every row, `d`.
    pub mean: Array1<f64>,
    /// `W` and `b` of each layer: `d x h` and `h`, then `h x ...`.
    pub layers: Vec<(Array2<f64>, Array1<f64>)>,
}

impl Network {
    /// Columns that it gives.
    pub fn output_dim(&self) -> usize {
        self.layers.last().map_or(0, |(_, bias)| bias.len())
    }

    /// Its weights transposed, once for many blocks of rows.
    pub(super) fn transposed(&self) -> Vec<Array2<f64>> {
        let each = self.layers.iter();
        each.map(|(w, _)| w.t().as_standard_layout().into_owned())
            .collect()
    }

    /// Of rows less the mean.
    pub(super) fn forward(
        &self,
        mut rows: Array2<f64>,
        transposed: &[Array2<f64>],
        unit: Unit,
    ) -> Array2<f64> {
        let last = self.layers.len().saturating_sub(1);
        for (l, ((_, bias), w)) in self.layers.iter().zip(transposed).enumerate() {
            rows = product(&rows, w) + bias;
            match unit {
                Unit::Tanh => rows.mapv_inplace(f64::tanh),
                Unit::Rectified if l < last => rows.mapv_inplace(|v| v.max(0.0)),
                Unit::Rectified => {}
            }
        }
        rows
    }

    /// Its arrays: `mean`, and `weight.N` and `bias.N` of layer N, from 0.
    pub(super) fn arrays(&self) -> Arrays {
        let mut arrays = Arrays::default();
        let mut vector = |name: String, v: &Array1<f64>| {
            arrays.put(name, &[v.len()], Values::F64(v.to_vec()));
        };
        vector("mean".into(), &self.mean);
        for (l, (_, bias)) in self.layers.iter().enumerate() {
            vector(format!("bias.{l}"), bias);
        }
        for (l, (weight, _)) in self.layers.iter().enumerate() {
            arrays.put_matrix(format!("weight.{l}"), weight);
        }
        arrays
    }

    /// The network of such arrays. Fails where they do not fit each other.
    pub(super) fn from_arrays(arrays: &Arrays) -> Result<Self> {
        let mean = arrays.vector64("mean")?;
        let weights = arrays.under("weight.");
        let mut layers = Vec::new();
        let mut columns = mean.len();
        for l in 0..weights.iter().count() {
            let weight = weights.matrix64(&l.to_string())?;
            let bias = arrays.vector64(&format!("bias.{l}"))?;
            if weight.dim() != (columns, bias.len()) || weight.is_empty() {
                let message = format!("layer {l} of a network does not fit the one before");
                return Err(Error::data(message));
            }
            columns = bias.len();
            layers.push((weight, bias));
        }
        if layers.is_empty() {
            return Err(Error::data("a network without layers"));
        }
        Ok(Self { mean, layers })
    }
}
