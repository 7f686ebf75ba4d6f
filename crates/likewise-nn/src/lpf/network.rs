//! The network of one view: an encoder to class scores, and its mirror image back.
//!
//! ```text
//! f = relu(W2 drop(relu(W1 x)))       the feature
//! z = W3 drop(f)                      the logits
//! x' = V3 drop(relu(V2 drop(relu(V1 tanh(z)))))
//! ```

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::activation::{relu, softmax, tanh};
use burn::tensor::{Device, Tensor, TensorData};
use likewise::seed::{self, Rng};
use ndarray::{Array2, ArrayView2, Axis};
use rand::{Rng as _, RngExt};

use crate::net::{matrix_tensor, parameter, to_matrix};

/// Layers of the encoder; the decoder has as many.
const LAYERS: usize = 3;
/// Rows that are predicted at a time.
const BLOCK: usize = 4096;

/// The trained tensors.
#[derive(Module, Debug)]
pub(super) struct Net {
    encoder: Vec<Linear>,
    decoder: Vec<Linear>,
}

/// What a network makes of rows.
pub(super) struct Seen {
    /// `[B, hidden]`.
    pub(super) feature: Tensor<2>,
    /// `[B, C]`.
    pub(super) logits: Tensor<2>,
}

/// What a network says of rows when it is not learning.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    /// `n x hidden`.
    pub(super) feature: Array2<f32>,
    /// `n x C`.
    pub(super) logits: Array2<f32>,
    /// `n x C`, rows of sum 1.
    pub(super) posterior: Array2<f32>,
}

/// The hidden units that stay in a step: factors of 0 or `1 / (1 - dropout)`, for each row.
#[derive(Debug, Clone)]
pub(super) struct Kept([Tensor<2>; 4]);

impl Kept {
    pub(super) fn draw(
        rows: usize,
        hidden: usize,
        dropout: f64,
        rng: &mut Rng,
        device: &Device,
    ) -> Option<Self> {
        if dropout == 0.0 {
            return None;
        }
        let least = (dropout * 65536.0).round() as u32;
        let factor = (65536.0 / f64::from(65536 - least.min(65535))) as f32;
        let mut one = || {
            let mut bytes = vec![0_u8; rows * hidden * 2];
            rng.fill_bytes(&mut bytes);
            let of = |pair: &[u8]| {
                let drawn = u32::from(u16::from_le_bytes([pair[0], pair[1]]));
                if drawn < least { 0.0 } else { factor }
            };
            let values: Vec<f32> = bytes.chunks_exact(2).map(of).collect();
            Tensor::from_data(TensorData::new(values, [rows, hidden]), device)
        };
        Some(Self([one(), one(), one(), one()]))
    }
}

fn kept(x: Tensor<2>, all: Option<&Kept>, layer: usize) -> Tensor<2> {
    match all {
        Some(Kept(factors)) => x * factors[layer].clone(),
        None => x,
    }
}

impl Net {
    /// Random layers: He-uniform before a rectifier, Glorot-uniform before logits and
    /// reconstruction; biases of 0. `view` is the number of the view, which has its own stream.
    pub(super) fn new(
        (columns, hidden, classes): (usize, usize, usize),
        view: usize,
        seed: u64,
        device: &Device,
    ) -> Self {
        let mut rng = seed::stream(seed, &format!("network of view {view}"));
        let mut id = 0;
        let mut layer = |from: usize, to: usize, last: bool| {
            let fans = if last { from + to } else { from };
            let bound = (6.0 / fans as f64).sqrt();
            let values: Vec<f32> = (0..from * to)
                .map(|_| (bound * (2.0 * rng.random::<f64>() - 1.0)) as f32)
                .collect();
            id += 2;
            Linear {
                weight: parameter(
                    id - 1,
                    Tensor::<2>::from_data(TensorData::new(values, [from, to]), device),
                ),
                bias: Some(parameter(id, Tensor::<1>::zeros([to], device))),
            }
        };
        Self {
            encoder: vec![
                layer(columns, hidden, false),
                layer(hidden, hidden, false),
                layer(hidden, classes, true),
            ],
            decoder: vec![
                layer(classes, hidden, false),
                layer(hidden, hidden, false),
                layer(hidden, columns, true),
            ],
        }
    }

    /// The identities of its parameters.
    pub(super) fn ids() -> Vec<burn::module::ParamId> {
        (1..=4 * LAYERS as u64).map(Into::into).collect()
    }

    pub(super) fn encode(&self, x: Tensor<2>, factors: Option<&Kept>) -> Seen {
        let [first, second, last] = [0, 1, 2].map(|l| &self.encoder[l]);
        let h = kept(relu(first.forward(x)), factors, 0);
        let feature = relu(second.forward(h));
        let logits = last.forward(kept(feature.clone(), factors, 1));
        Seen { feature, logits }
    }

    pub(super) fn decode(&self, logits: Tensor<2>, factors: Option<&Kept>) -> Tensor<2> {
        let [first, second, last] = [0, 1, 2].map(|l| &self.decoder[l]);
        let h = kept(relu(first.forward(tanh(logits))), factors, 2);
        last.forward(kept(relu(second.forward(h)), factors, 3))
    }

    /// What it says of rows, all units in place.
    pub(super) fn say(&self, rows: ArrayView2<f32>, device: &Device) -> Said {
        let columns = |layer: usize| self.encoder[layer].weight.dims()[1];
        let empty = |columns: usize| Array2::zeros((rows.nrows(), columns));
        let mut said = Said {
            feature: empty(columns(1)),
            logits: empty(columns(2)),
            posterior: empty(columns(2)),
        };
        for (b, block) in rows.axis_chunks_iter(Axis(0), BLOCK).enumerate() {
            let seen = self.encode(matrix_tensor(&block.to_owned(), device), None);
            let at = ndarray::s![b * BLOCK..b * BLOCK + block.nrows(), ..];
            let posterior = softmax(seen.logits.clone(), 1);
            for (to, from) in [
                (&mut said.feature, seen.feature),
                (&mut said.logits, seen.logits),
                (&mut said.posterior, posterior),
            ] {
                to.slice_mut(at).assign(&to_matrix(from.detach()));
            }
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn a_network_of_one_seed_is_the_same_and_says_probabilities() {
        let device = Device::flex().autodiff();
        let net = |view, seed| Net::new((2, 5, 3), view, seed, &device);
        let x = array![[1.0, -1.0], [0.5, 2.0], [0.0, 0.0]];
        let said = net(0, 1).say(x.view(), &device);
        assert_eq!(said, net(0, 1).say(x.view(), &device));
        assert!(said != net(1, 1).say(x.view(), &device));
        assert!(said != net(0, 2).say(x.view(), &device));
        for row in said.posterior.rows() {
            assert!((row.sum() - 1.0).abs() < 1e-6);
        }
        // Biases are 0, and a row of zeros goes through as zeros.
        assert!(said.logits.row(2).iter().all(|&z| z == 0.0));
        assert!(said.feature.iter().all(|&f| f >= 0.0));
    }

    #[test]
    fn units_that_stay_keep_the_mean() {
        let device = Device::flex();
        let mut rng = seed::stream(1, "test");
        assert!(Kept::draw(2, 3, 0.0, &mut rng, &device).is_none());
        let Kept(factors) = Kept::draw(100, 100, 0.2, &mut rng, &device).unwrap();
        for factor in factors {
            let drawn = to_matrix(factor);
            let zeros = drawn.iter().filter(|v| **v == 0.0).count();
            assert!((1800..2200).contains(&zeros), "{zeros}");
            assert!(drawn.iter().all(|&v| v == 0.0 || (v - 1.25).abs() < 1e-4));
        }
    }
}
