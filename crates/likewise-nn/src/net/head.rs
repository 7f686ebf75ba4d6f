//! The head: frozen features in, embedding out.

use std::collections::BTreeMap;

use likewise::linear::Affine;
use likewise::matrix::Reading;
use ndarray::{Array2, ArrayView2, Axis};
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};
#[cfg(feature = "networks")]
use {
    super::tensor::{l2_normalize, matrix_tensor, to_matrix},
    burn::module::{Module, Param, ParamId},
    burn::nn::Linear,
    burn::tensor::{Device, Tensor, TensorData, activation::relu},
};

/// Rows embedded at a time: enough for the matrix product, small beside the result.
const BLOCK: usize = 2048;

/// What the trained part of the head is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Residual {
    /// One matrix.
    Linear,
    /// Two matrices with `hidden` rectified units between them.
    Mlp {
        /// Number of hidden units.
        #[serde(default = "hidden")]
        hidden: usize,
    },
    /// In place of a correction: one matrix with orthonormal columns, `h = normalise(s L)`,
    /// which cannot send all items to one point. Set `keep` to 0 for the map alone.
    Orthogonal {
        /// Columns of the matrix, at most the rows of the start.
        #[serde(default = "columns")]
        dim: usize,
    },
}

fn hidden() -> usize {
    256
}

fn columns() -> usize {
    64
}

/// A head that starts as the whitened features and learns a correction to them.
///
/// ```text
/// x = sign(x) |x|^power                1: the features as they are
/// s = normalise((x - mean) A)          fixed: shrunk whitening, no labels needed
/// h = normalise([s, 0] + residual(s))  learned; the last matrix starts at zero, so h = s
/// z = [ sqrt(keep) s , sqrt(1 - keep) h ]
/// ```
///
/// Where it has learned behind a [metric](crate::train::MetricConfig), `normalise(h L)` stands in the
/// place of `h`, with the directions `L` of that metric.
///
/// The cosine of two embeddings is `keep cos(s, s') + (1 - keep) cos(h, h')`: what the
/// features already knew about near neighbours stays in the embedding however wrong the
/// pseudo-labels were.
///
/// **When not to use it.** When the embedding must be as small as possible: it has at least
/// twice the dimensions of the start.
///
/// **Cost.** O(n d r) for the start, O(n r hidden) for the residual.
///
/// **Source.** Ours. Measured on six public tables (5 labels a class, mixed propagation):
/// a head that replaces the features loses up to 13 points of R@1 on single sets; this one
/// lost none, and gained more MAP@R than a linear map in the same number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HeadConfig {
    /// The trained part.
    pub residual: Residual,
    /// Share of the start's cosine in the embedding's, 0 (none) to below 1.
    pub keep: f64,
    /// Least dimensions of the learned half: a start of fewer is filled up with zeros, since
    /// ten classes find no room in six dimensions.
    pub width: usize,
}

impl Default for HeadConfig {
    fn default() -> Self {
        Self {
            residual: Residual::Mlp { hidden: hidden() },
            keep: 0.3,
            width: 64,
        }
    }
}

impl HeadConfig {
    /// Dimensions of the learned half for a start of `rank`.
    pub fn learned_dim(&self, rank: usize) -> usize {
        match self.residual {
            Residual::Orthogonal { dim } => dim.min(rank),
            Residual::Linear | Residual::Mlp { .. } => rank.max(self.width),
        }
    }

    /// Fails on a parameter out of its range.
    pub fn validate(&self) -> Result<()> {
        if !(0.0..1.0).contains(&self.keep) {
            return Err(Error::parameter(
                "keep",
                self.keep,
                "must be at least 0 and below 1",
            ));
        }
        let zero = match self.residual {
            Residual::Mlp { hidden: 0 } => "hidden",
            Residual::Orthogonal { dim: 0 } => "dim",
            _ => return Ok(()),
        };
        Err(Error::parameter(zero, 0, "must be at least 1"))
    }
}

// Optimizers know parameters by their identity. With fixed ones, the state of an optimizer
// fits the network that another process builds.
const OUTPUT: u64 = 1;
const INPUT: u64 = 2;
const INPUT_BIAS: u64 = 3;

/// Name of the directions of a metric behind the head.
pub(crate) const DIRECTIONS: &str = "map";

/// A trained parameter of this identity.
#[cfg(feature = "networks")]
pub(crate) fn parameter<const D: usize>(id: u64, value: Tensor<D>) -> Param<Tensor<D>> {
    Param::initialized(ParamId::from(id), value.require_grad())
}

/// The trained tensors of a head; see [`HeadConfig`].
#[cfg(feature = "networks")]
#[derive(Module, Debug)]
pub(crate) struct ResidualNet {
    input: Option<Linear>,
    output: Linear,
}

#[cfg(feature = "networks")]
impl ResidualNet {
    /// Random hidden units from `rng`, zero output: the residual of everything is zero.
    pub(crate) fn new(
        config: &HeadConfig,
        rank: usize,
        rng: &mut likewise::seed::Rng,
        device: &Device,
    ) -> Self {
        let zeros = |from: usize| Linear {
            weight: parameter(
                OUTPUT,
                Tensor::zeros([from, config.learned_dim(rank)], device),
            ),
            bias: None,
        };
        match config.residual {
            Residual::Linear | Residual::Orthogonal { .. } => Self {
                input: None,
                output: zeros(rank),
            },
            Residual::Mlp { hidden } => {
                // Drawn here, not by burn, so that one seed means one network on every device.
                let bound = (6.0 / rank as f64).sqrt();
                let weights = (0..rank * hidden)
                    .map(|_| (bound * (2.0 * rng.random::<f64>() - 1.0)) as f32)
                    .collect();
                let weight = Tensor::from_data(TensorData::new(weights, [rank, hidden]), device);
                let bias = Tensor::zeros([hidden], device);
                Self {
                    input: Some(Linear {
                        weight: parameter(INPUT, weight),
                        bias: Some(parameter(INPUT_BIAS, bias)),
                    }),
                    output: zeros(hidden),
                }
            }
        }
    }

    /// `[batch, rank]` unit rows in, `[batch, learned_dim]` unit rows out.
    pub(crate) fn forward(&self, start: Tensor<2>) -> Tensor<2> {
        // Entries of a unit row are about 1/sqrt(rank); layers like inputs of about 1.
        let scaled = start.clone().mul_scalar((start.dims()[1] as f64).sqrt());
        let inner = match &self.input {
            Some(layer) => relu(layer.forward(scaled)),
            None => scaled,
        };
        let moved = self.output.forward(inner);
        let [batch, rank] = start.dims();
        let room = moved.dims()[1] - rank;
        let start = if room == 0 {
            start
        } else {
            let device = start.device();
            Tensor::cat(vec![start, Tensor::zeros([batch, room], &device)], 1)
        };
        l2_normalize(start + moved)
    }

    pub(crate) fn tensors(&self) -> BTreeMap<String, Array2<f32>> {
        let mut tensors = BTreeMap::new();
        let mut put = |name: &str, t| drop(tensors.insert(name.to_owned(), to_matrix(t)));
        put("output.weight", self.output.weight.val());
        if let Some(input) = &self.input {
            put("input.weight", input.weight.val());
            if let Some(bias) = &input.bias {
                put("input.bias", bias.val().unsqueeze::<2>());
            }
        }
        tensors
    }

    /// This network with other values; `None` where one is missing.
    ///
    /// Parameters keep their identity, which the optimizers know them by.
    pub(crate) fn with_tensors(
        &self,
        tensors: &BTreeMap<String, Array2<f32>>,
        device: &Device,
    ) -> Option<Self> {
        let get = |name: &str| {
            let matrix = tensors.get(name)?;
            Some(matrix_tensor(matrix, device))
        };
        let mut net = self.clone();
        let weight = get("output.weight")?;
        net.output.weight = net.output.weight.map(|_| weight.require_grad());
        if let Some(mut input) = net.input.take() {
            let weight = get("input.weight")?;
            input.weight = input.weight.map(|_| weight.require_grad());
            if let Some(bias) = input.bias.take() {
                let value = get("input.bias")?.squeeze_dim::<1>(0);
                input.bias = Some(bias.map(|_| value.require_grad()));
            }
            net.input = Some(input);
        }
        Some(net)
    }
}

/// A fitted head: plain matrices, ready to embed and to save.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// Its choices.
    pub config: HeadConfig,
    /// How features are read before all else.
    pub reading: Reading,
    /// The fixed start.
    pub start: Affine,
    /// The trained matrices, by name.
    pub residual: BTreeMap<String, Array2<f32>>,
}

impl Head {
    /// Dimensions of a feature row that this head reads.
    pub fn input_dim(&self) -> usize {
        self.start.matrix.nrows()
    }

    /// Dimensions of an embedding row that this head gives.
    pub fn output_dim(&self) -> usize {
        let rank = self.start.matrix.ncols();
        let learned = match self.residual.get(DIRECTIONS) {
            Some(map) => map.ncols(),
            None => self.config.learned_dim(rank),
        };
        if self.config.keep > 0.0 {
            rank + learned
        } else {
            learned
        }
    }

    /// Embeds feature rows (`n x input_dim`) into unit rows (`n x output_dim`).
    ///
    /// Works in blocks, so memory beyond the result stays small. Fails on a wrong number
    /// of columns.
    pub fn embed(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        if x.ncols() != self.input_dim() {
            return Err(Error::data(format!(
                "the model reads {} columns, the data have {}; use the view it was fitted on",
                self.input_dim(),
                x.ncols()
            )));
        }
        let mut out = Array2::zeros((x.nrows(), self.output_dim()));
        out.axis_chunks_iter_mut(Axis(0), BLOCK)
            .into_par_iter()
            .zip(x.axis_chunks_iter(Axis(0), BLOCK).into_par_iter())
            .try_for_each(|(mut out, x)| -> Result<()> {
                let read = self.reading.rows(x.to_owned());
                let start = self.start.transform(read.view())?;
                let start = likewise::matrix::l2_normalize(start);
                out.assign(&self.embed_start(start));
                Ok(())
            })?;
        Ok(out)
    }

    /// As [`embed`](Self::embed), from unit rows of the start.
    pub fn embed_start(&self, start: Array2<f32>) -> Array2<f32> {
        let keep = self.config.keep as f32;
        if keep == 0.0 {
            return self.learned(start);
        }
        let kept = &start * keep.sqrt();
        let learned = self.learned(start) * (1.0 - keep).sqrt();
        ndarray::concatenate![Axis(1), kept, learned]
    }

    /// The learned half of the embedding alone, from unit rows of the start.
    pub fn learned(&self, start: Array2<f32>) -> Array2<f32> {
        let rows = self.before_directions(start);
        match self.residual.get(DIRECTIONS) {
            Some(map) => likewise::matrix::l2_normalize(rows.dot(map)),
            None => rows,
        }
    }

    /// `h`.
    fn before_directions(&self, start: Array2<f32>) -> Array2<f32> {
        let residual = &self.residual;
        let scale = (start.ncols() as f32).sqrt();
        let mut inner = &start * scale;
        if let Some(weight) = residual.get("input.weight") {
            inner = inner.dot(weight);
            if let Some(bias) = residual.get("input.bias") {
                inner += bias;
            }
            inner.mapv_inplace(|v| v.max(0.0));
        }
        match residual.get("output.weight") {
            Some(map) if matches!(self.config.residual, Residual::Orthogonal { .. }) => {
                likewise::matrix::l2_normalize(start.dot(map))
            }
            Some(weight) => {
                let mut moved = inner.dot(weight);
                let mut kept = moved.slice_mut(ndarray::s![.., ..start.ncols()]);
                kept += &start;
                likewise::matrix::l2_normalize(moved)
            }
            None => start,
        }
    }
}
