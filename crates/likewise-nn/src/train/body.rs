//! The trained part of a network: what gradients move.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use likewise::learn::Evidence;
use ndarray::Array2;

use super::learner::Gradient;
use crate::net::tensor::l2_normalize;
use crate::net::{EmbeddingConfig, Encoder, Group, Residual, ResidualNet, Weights};
use crate::{Result, net};

/// What gradients move, but for an orthonormal map.
#[derive(Module, Debug)]
pub(super) enum Body {
    /// A residual on unit rows.
    Residual(ResidualNet),
    /// An encoder of images.
    Encoder(Encoder),
}

impl Body {
    /// The body as it begins; none where only an orthonormal map is trained.
    pub(super) fn new(
        how: &Gradient,
        evidence: &Evidence,
        seed: u64,
        device: &Device,
    ) -> Result<Option<Self>> {
        if let Some(config) = how.encoder {
            let encoder = config.init(seed, device)?;
            let encoder = match how.pretrained {
                Some(weights) => {
                    let encoder = encoder.load(weights.clone())?;
                    match config.head {
                        EmbeddingConfig::Whitened { .. } => {
                            encoder.whitened(&evidence.start.whitening)
                        }
                        _ => encoder,
                    }
                }
                None => encoder,
            };
            return Ok(Some(Self::Encoder(encoder.frozen_layers())));
        }
        if matches!(how.head.residual, Residual::Orthogonal { .. }) {
            return Ok(None);
        }
        let mut rng = likewise::seed::stream(seed, "head");
        let rank = evidence.rows.ncols();
        let net = ResidualNet::new(how.head, rank, &mut rng, device);
        Ok(Some(Self::Residual(net)))
    }

    /// The same function for evaluation only.
    pub(super) fn still(&self) -> Self {
        match self {
            Self::Residual(net) => Self::Residual(net.clone()),
            Self::Encoder(encoder) => Self::Encoder(encoder.inference()),
        }
    }

    /// Unit rows of a batch of inputs.
    pub(super) fn forward(&self, inputs: Array2<f32>, device: &Device) -> Result<Tensor<2>> {
        Ok(match self {
            Self::Residual(net) => net.forward(net::matrix_tensor(&inputs, device)),
            Self::Encoder(encoder) => {
                let pixels = encoder.config().input_of(inputs, device)?;
                l2_normalize(encoder.forward(pixels))
            }
        })
    }

    /// All tensors by name.
    pub(super) fn weights(&self) -> Result<Weights> {
        match self {
            Self::Encoder(encoder) => Ok(encoder.weights()),
            Self::Residual(net) => {
                let mut weights = Weights::default();
                for (name, matrix) in net.tensors() {
                    weights.insert(&name, matrix.shape().to_vec(), matrix.into_iter().collect())?;
                }
                Ok(weights)
            }
        }
    }

    /// This body with other values. Parameters keep the identity that optimizers know them
    /// by. Fails on tensors that are missing or do not fit.
    pub(super) fn load(self, weights: Weights, device: &Device) -> Result<Self> {
        match self {
            Self::Encoder(encoder) => Ok(Self::Encoder(encoder.load(weights)?)),
            Self::Residual(net) => {
                let tensors = weights.matrices();
                let loaded = net.with_tensors(&tensors, device);
                let missing = || crate::Error::data("the weights do not fit the head");
                Ok(Self::Residual(loaded.ok_or_else(missing)?))
            }
        }
    }

    /// Parameters with the factor on their step size in an epoch.
    pub(super) fn groups(&self, backbone: f64) -> Vec<(Vec<burn::module::ParamId>, f64)> {
        match self {
            Self::Residual(net) => vec![(burn::module::list_param_ids(net), 1.0)],
            Self::Encoder(encoder) => vec![
                (encoder.parameters(Group::Head), 1.0),
                (encoder.parameters(Group::Backbone), backbone),
            ],
        }
    }
}
