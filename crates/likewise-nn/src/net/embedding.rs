//! The last layers of an encoder: pooled features in, embedding out.

use likewise::linear::Affine;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};
#[cfg(feature = "networks")]
use {
    super::head::parameter,
    super::network::uniform,
    super::tensor::matrix_tensor,
    super::weights::{Sink, Source},
    burn::module::Module,
    burn::nn::Linear,
    burn::tensor::activation::relu,
    burn::tensor::module::layer_norm,
    burn::tensor::{Device, Tensor, TensorData},
};

// Optimizers know parameters by their identity; those of networks begin at 1000.
const OUTPUT: u64 = 100;
const OUTPUT_BIAS: u64 = 101;
const HIDDEN: u64 = 102;
const HIDDEN_BIAS: u64 = 103;

/// Added to a variance before its root.
pub(super) const EPSILON: f64 = 1e-5;

/// What stands behind the pooled features.
///
/// | kind | embedding | use it for |
/// |---|---|---|
/// | `none` | the features | frozen networks; another head behind them |
/// | `linear` | `x W + b` | fine-tuning: the usual choice |
/// | `whitened` | `x W + b`, at first the shrunk whitening of the features | fine-tuning with few labels |
/// | `mlp` | `relu(x V + c) W + b` | losses with many classes, self-supervision |
///
/// With `layer_norm` the features have mean 0 and variance 1 in each row first, without a
/// trained scale or shift: proxies and features then learn at one speed. Embeddings are not
/// scaled to length 1; losses and searches do that.
///
/// **When not to use it.** On precomputed features with few labels: [`Head`](crate::net::Head)
/// keeps what they already know.
///
/// **Source.** Zhai & Wu, BMVC 2019 (layer norm without scale, linear head).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum EmbeddingConfig {
    /// The pooled features themselves.
    #[default]
    None,
    /// One matrix.
    Linear {
        /// Dimensions of the embedding.
        dim: usize,
        /// Whether features are normalised first.
        #[serde(default)]
        layer_norm: bool,
    },
    /// One matrix that starts as the shrunk whitening of the pretrained network's features, so
    /// that training goes on from the best that is to be had without labels. Needs weights to
    /// start from, and images whose features by them are at hand.
    Whitened {
        /// Dimensions of the embedding, at most those of the features.
        dim: usize,
    },
    /// Two matrices with rectified units between them.
    Mlp {
        /// Number of rectified units.
        hidden: usize,
        /// Dimensions of the embedding.
        dim: usize,
        /// Whether features are normalised first.
        #[serde(default)]
        layer_norm: bool,
    },
}

impl EmbeddingConfig {
    pub(super) fn validate(self, features: usize) -> Result<()> {
        let (dim, hidden) = match self {
            Self::None => return Ok(()),
            Self::Whitened { dim } if dim > features => {
                let rule = format!("must be at most {features}, the features of the network");
                return Err(Error::parameter("encoder.head.dim", dim, &rule));
            }
            Self::Whitened { dim } | Self::Linear { dim, .. } => (dim, 1),
            Self::Mlp { hidden, dim, .. } => (dim, hidden),
        };
        for (field, value) in [("dim", dim), ("hidden", hidden)] {
            if value == 0 {
                let field = format!("encoder.head.{field}");
                return Err(Error::parameter(&field, 0, "must be at least 1"));
            }
        }
        Ok(())
    }

    /// Dimensions of the embedding of `features`.
    pub(super) fn dim(self, features: usize) -> usize {
        match self {
            Self::None => features,
            Self::Linear { dim, .. } | Self::Whitened { dim } | Self::Mlp { dim, .. } => dim,
        }
    }

    #[cfg(feature = "networks")]
    pub(super) fn init(self, features: usize, seed: u64, device: &Device) -> Option<Embedding> {
        // Rectified units halve the variance, so their layer starts with twice of it.
        let hidden = |units| layer(seed, "head.hidden", [features, units], 6.0, device);
        let output = |from, dim| layer(seed, "head.output", [from, dim], 3.0, device);
        match self {
            Self::None => None,
            Self::Linear { dim, layer_norm } => Some(Embedding {
                hidden: None,
                output: output(features, dim),
                layer_norm,
            }),
            Self::Whitened { dim } => Some(Embedding {
                hidden: None,
                output: output(features, dim),
                layer_norm: false,
            }),
            Self::Mlp {
                hidden: units,
                dim,
                layer_norm,
            } => Some(Embedding {
                hidden: Some(hidden(units)),
                output: output(units, dim),
                layer_norm,
            }),
        }
    }
}

#[cfg(feature = "networks")]
fn layer(seed: u64, name: &str, shape: [usize; 2], variance: f64, device: &Device) -> Linear {
    let bound = (variance / shape[0] as f64).sqrt();
    let (weight, bias) = match name {
        "head.output" => (OUTPUT, OUTPUT_BIAS),
        _ => (HIDDEN, HIDDEN_BIAS),
    };
    Linear {
        weight: parameter(weight, uniform(seed, name, bound, shape, device)),
        bias: Some(parameter(bias, Tensor::zeros([shape[1]], device))),
    }
}

/// The layers of an [`EmbeddingConfig`].
#[cfg(feature = "networks")]
#[derive(Module, Debug)]
pub(super) struct Embedding {
    pub(super) hidden: Option<Linear>,
    pub(super) output: Linear,
    pub(super) layer_norm: bool,
}

#[cfg(feature = "networks")]
impl Embedding {
    /// `[batch, features]` to `[batch, dim]`.
    pub(super) fn forward(&self, mut x: Tensor<2>) -> Tensor<2> {
        if self.layer_norm {
            let ones = Tensor::ones([x.dims()[1]], &x.device());
            x = layer_norm(x, ones, None, EPSILON);
        }
        if let Some(hidden) = &self.hidden {
            x = relu(hidden.forward(x));
        }
        self.output.forward(x)
    }

    /// The layers under their names, first to last.
    pub(super) fn layers(&self) -> impl Iterator<Item = (&'static str, &Linear)> {
        let hidden = self.hidden.iter().map(|layer| ("hidden", layer));
        hidden.chain([("output", &self.output)])
    }

    /// These layers with the last one as `whitening` of what it reads: `(x - mean) A`.
    /// Directions that `whitening` lacks get zeros.
    pub(super) fn whitened(mut self, whitening: &Affine) -> Self {
        let like = self.output.weight.val();
        let (device, [features, dim]) = (like.device(), like.dims());
        let map = Array2::from_shape_fn((features, dim), |(i, j)| {
            let value = whitening.matrix.get((i, j));
            value.copied().unwrap_or_default() as f32
        });
        let mean = whitening.mean.dot(&whitening.matrix);
        let bias = (0..dim).map(|j| -mean.get(j).copied().unwrap_or_default() as f32);
        let bias = Tensor::<1>::from_data(TensorData::new(bias.collect(), [dim]), &device);
        let weight = matrix_tensor(&map, &device);
        let fill = |new: Tensor<2>, old: &Tensor<2>| new.set_require_grad(old.is_require_grad());
        let layer = &mut self.output;
        layer.weight = layer.weight.clone().map(|old| fill(weight, &old));
        layer.bias = (layer.bias.take())
            .map(|old| old.map(|old| bias.set_require_grad(old.is_require_grad())));
        self
    }

    pub(super) fn save(&self, sink: &mut Sink) {
        for (name, layer) in self.layers() {
            // As PyTorch has it: a row an output.
            sink.put(format!("{name}.weight"), layer.weight.val().transpose());
            if let Some(bias) = &layer.bias {
                sink.put(format!("{name}.bias"), bias.val());
            }
        }
    }

    pub(super) fn load(mut self, source: &mut Source) -> Self {
        let hidden = self.hidden.iter_mut().map(|layer| ("hidden", layer));
        for (name, layer) in hidden.chain([("output", &mut self.output)]) {
            let like = layer.weight.val();
            let trained = like.is_require_grad();
            let value = source.take(&format!("{name}.weight"), like.clone().transpose());
            // Laid out anew: a transposed view would multiply in another order.
            let value = Tensor::from_data(value.transpose().to_data(), &like.device());
            let value = value.set_require_grad(trained);
            layer.weight = layer.weight.clone().map(|_| value);
            if let Some(bias) = &mut layer.bias {
                source.fill(&format!("{name}.bias"), bias);
            }
        }
        self
    }
}
