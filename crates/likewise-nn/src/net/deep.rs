//! A network on images that come as rows, and the orthonormal map behind it.

use burn::tensor::{Device, Tensor, TensorData};
use ndarray::{Array2, ArrayView2, Axis};

use super::encoder::{Encoder, EncoderConfig};
use super::tensor::to_matrix;
use super::weights::Weights;
use crate::loss::l2_normalize;
use crate::{Error, Result};

/// Rows embedded at a time.
const BLOCK: usize = 64;

/// Name of the map among the tensors.
const MAP: &str = "map";

/// A trained encoder: images as rows in, unit rows out.
///
/// ```text
/// z = normalise(encoder(x))
/// e = normalise(z L)        where there is a map L with orthonormal columns
/// ```
///
/// A row holds an image as `channels x height x width` pixels of 0 to 255.
///
/// **Source.** Dutta, Harandi and Sekhar, AAAI 2021, for the map behind the unit rows. They
/// rank by distances of `z L` as it is; here embeddings have length 1, as all searches expect.
#[derive(Debug, Clone, PartialEq)]
pub struct Deep {
    /// The network.
    pub config: EncoderConfig,
    /// Its weights.
    pub weights: Weights,
    /// The orthonormal map.
    pub map: Option<Array2<f32>>,
}

impl EncoderConfig {
    /// Columns of an image as a row.
    pub(crate) fn row_dim(&self) -> usize {
        let input = self.input();
        input.channels * input.height * input.width
    }

    /// Images (`n x row_dim`, pixels of 0 to 255) as the input of the network.
    pub(crate) fn input_of(&self, rows: Array2<f32>, device: &Device) -> Result<Tensor<4>> {
        let input = self.input();
        let shape = (rows.nrows(), input.channels, input.height, input.width);
        let pixels = (rows.into_shape_with_order(shape)).map_err(|e| Error::data(e.to_string()))?;
        let pixels = input.preprocess.apply(pixels)?;
        let shape = [shape.0, shape.1, shape.2, shape.3];
        let values: Vec<f32> = pixels.into_iter().collect();
        Ok(Tensor::from_data(TensorData::new(values, shape), device))
    }
}

impl Deep {
    /// Columns that it reads.
    pub fn input_dim(&self) -> usize {
        self.config.row_dim()
    }

    /// Columns of an embedding.
    pub fn output_dim(&self) -> usize {
        let z = self.config.output_dim();
        self.map.as_ref().map_or(z, Array2::ncols)
    }

    /// Embeds images as rows (`n x input_dim`) into unit rows (`n x output_dim`).
    ///
    /// Works in blocks on the CPU. Fails on a wrong number of columns.
    pub fn embed(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        if x.ncols() != self.input_dim() {
            let input = self.config.input();
            return Err(Error::data(format!(
                "{} reads images of {} x {} x {}, {} columns, the data have {}",
                self.config.name(),
                input.channels,
                input.height,
                input.width,
                self.input_dim(),
                x.ncols()
            )));
        }
        let device = Device::flex();
        let encoder = self.encoder(&device)?.inference();
        let mut out = Array2::zeros((x.nrows(), self.output_dim()));
        for (mut out, x) in
            (out.axis_chunks_iter_mut(Axis(0), BLOCK)).zip(x.axis_chunks_iter(Axis(0), BLOCK))
        {
            let input = self.config.input_of(x.to_owned(), &device)?;
            let z = to_matrix(l2_normalize(encoder.forward(input)));
            out.assign(&match &self.map {
                Some(map) => likewise::matrix::l2_normalize(z.dot(map)),
                None => z,
            });
        }
        Ok(out)
    }

    fn encoder(&self, device: &Device) -> Result<Encoder> {
        self.config.init(0, device)?.load(self.weights.clone())
    }

    /// All tensors, the map among them.
    pub(crate) fn tensors(&self) -> Result<Weights> {
        let mut tensors = self.weights.clone();
        if let Some(map) = &self.map {
            tensors.insert(MAP, map.shape().to_vec(), map.iter().copied().collect())?;
        }
        Ok(tensors)
    }

    /// The bytes of a safetensors file: the tensors of the encoder, and `map`.
    pub fn to_safetensors(&self) -> Result<Vec<u8>> {
        self.tensors()?.to_safetensors()
    }

    /// Whether such bytes hold a network.
    pub(super) fn is_in(bytes: &[u8]) -> bool {
        Weights::from_safetensors(bytes).is_ok_and(|weights| {
            weights
                .shapes()
                .any(|(name, _)| name.starts_with("backbone."))
        })
    }

    /// The network of such bytes.
    ///
    /// Fails on broken bytes, and on tensors that do not fit `config`.
    pub fn from_safetensors(config: EncoderConfig, bytes: &[u8]) -> Result<Self> {
        Self::from_tensors(config, Weights::from_safetensors(bytes)?)
    }

    pub(crate) fn from_tensors(config: EncoderConfig, mut weights: Weights) -> Result<Self> {
        let map = match weights.remove(MAP) {
            None => None,
            Some((shape, values)) => {
                let wrong = || Error::data(format!("the map is {shape:?}, which does not fit"));
                let &[rows, columns] = shape.as_slice() else {
                    return Err(wrong());
                };
                if rows != config.output_dim() || columns == 0 {
                    return Err(wrong());
                }
                Some(Array2::from_shape_vec((rows, columns), values).map_err(|_| wrong())?)
            }
        };
        let deep = Self {
            config,
            weights,
            map,
        };
        deep.encoder(&Device::flex())?;
        Ok(deep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Architecture, EmbeddingConfig};

    fn deep() -> Deep {
        let config = EncoderConfig {
            head: EmbeddingConfig::Linear {
                dim: 6,
                layer_norm: false,
            },
            ..EncoderConfig::of(Architecture::Mnist)
        };
        let weights = config.init(3, &Device::flex()).unwrap().weights();
        let map = likewise::linear::stiefel::random(6, 4, 1).unwrap();
        Deep {
            config,
            weights,
            map: Some(map.mapv(|v| v as f32)),
        }
    }

    #[test]
    fn a_saved_network_is_the_same_network() {
        let deep = deep();
        let bytes = deep.to_safetensors().unwrap();
        assert!(Deep::is_in(&bytes));
        let again = Deep::from_safetensors(deep.config.clone(), &bytes).unwrap();
        assert_eq!(again, deep);
        let x = Array2::from_shape_fn((3, 784), |(i, j)| ((i * 31 + j * 7) % 256) as f32);
        let embedded = deep.embed(x.view()).unwrap();
        assert_eq!(embedded, again.embed(x.view()).unwrap());
        assert_eq!(embedded.dim(), (3, 4));
        assert!(
            embedded
                .rows()
                .into_iter()
                .all(|row| (row.dot(&row) - 1.0).abs() < 1e-5)
        );
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let deep = deep();
        let said = deep
            .embed(Array2::zeros((1, 10)).view())
            .unwrap_err()
            .to_string();
        assert!(said.contains("784 columns, the data have 10"), "{said}");
        let bytes = deep.to_safetensors().unwrap();
        assert!(Deep::from_safetensors(deep.config.clone(), &bytes[..bytes.len() - 3]).is_err());
        let cifar = EncoderConfig::of(Architecture::Cifar);
        assert!(Deep::from_safetensors(cifar, &bytes).is_err());
        let mut tensors = deep.tensors().unwrap();
        tensors.insert(MAP, vec![2, 2], vec![1.0; 4]).unwrap();
        let error = Deep::from_tensors(deep.config.clone(), tensors).unwrap_err();
        assert!(error.to_string().contains("the map is [2, 2]"));
    }
}
