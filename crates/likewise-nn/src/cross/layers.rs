//! Layers that gradients move, and that become plain matrices.

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Tensor, TensorData};
use likewise::cross::Network;
use likewise::seed;
use ndarray::{Array1, Array2};
use rand::RngExt;

use crate::net::{matrix_tensor, parameter, to_matrix};

/// A chain of linear layers.
#[derive(Module, Debug)]
pub(super) struct Layers {
    pub(super) each: Vec<Linear>,
}

/// What stands between the layers of a chain.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Between {
    /// Nothing.
    Nothing,
    /// `tanh`, and behind the last one too.
    Tanh,
    /// A rectifier.
    Rectifier,
}

impl Layers {
    /// Random layers of these widths: He-uniform before a rectifier, else Glorot-uniform; biases of 0.
    /// Their identities begin above `id`.
    pub(super) fn new(
        widths: &[usize],
        between: Between,
        (id, seed, name): (u64, u64, &str),
        device: &Device,
    ) -> Self {
        let mut rng = seed::stream(seed, name);
        let last = widths.len().saturating_sub(2);
        let each = widths.windows(2).enumerate().map(|(l, pair)| {
            let (from, to) = (pair[0], pair[1]);
            let fans = if between == Between::Rectifier && l < last {
                from
            } else {
                from + to
            };
            let bound = (6.0 / fans as f64).sqrt();
            let values: Vec<f32> = (0..from * to)
                .map(|_| (bound * (2.0 * rng.random::<f64>() - 1.0)) as f32)
                .collect();
            let id = id + 2 * l as u64;
            Linear {
                weight: parameter(
                    id + 1,
                    Tensor::<2>::from_data(TensorData::new(values, [from, to]), device),
                ),
                bias: Some(parameter(id + 2, Tensor::<1>::zeros([to], device))),
            }
        });
        Self {
            each: each.collect(),
        }
    }

    /// The layers of a network, with identities above `id`.
    pub(super) fn of(network: &Network, id: u64, device: &Device) -> Self {
        let each = network
            .layers
            .iter()
            .enumerate()
            .map(|(l, (weight, bias))| {
                let id = id + 2 * l as u64;
                let weight = matrix_tensor(&weight.mapv(|v| v as f32), device);
                let bias: Vec<f32> = bias.iter().map(|&v| v as f32).collect();
                let n = bias.len();
                Linear {
                    weight: parameter(id + 1, weight),
                    bias: Some(parameter(
                        id + 2,
                        Tensor::<1>::from_data(TensorData::new(bias, [n]), device),
                    )),
                }
            });
        Self {
            each: each.collect(),
        }
    }

    /// The result of a batch; `drop` has factors of the units behind each rectifier.
    pub(super) fn forward(
        &self,
        mut x: Tensor<2>,
        between: Between,
        drop: Option<&[Tensor<2>]>,
    ) -> Tensor<2> {
        let last = self.each.len().saturating_sub(1);
        for (l, layer) in self.each.iter().enumerate() {
            x = layer.forward(x);
            x = match between {
                Between::Nothing => x,
                Between::Tanh => x.tanh(),
                Between::Rectifier if l == last => x,
                Between::Rectifier => {
                    let x = burn::tensor::activation::relu(x);
                    match drop {
                        Some(factors) => x * factors[l].clone(),
                        None => x,
                    }
                }
            };
        }
        x
    }

    /// As plain matrices, of rows less `mean`.
    pub(super) fn network(&self, mean: Array1<f64>) -> Network {
        let plain = |layer: &Linear| {
            let weight: Array2<f64> = to_matrix(layer.weight.val().detach()).mapv(f64::from);
            let bias = layer
                .bias
                .as_ref()
                .map(|b| to_matrix(b.val().detach().unsqueeze::<2>()));
            let bias = bias.map_or_else(
                || Array1::zeros(weight.ncols()),
                |b| b.row(0).mapv(f64::from),
            );
            (weight, bias)
        };
        Network {
            mean,
            layers: self.each.iter().map(plain).collect(),
        }
    }
}
