//! A network on images that come as rows, and the orthonormal map behind it.

use likewise::Monitor;
use likewise::arrays::Arrays;
use likewise::images::{Images, PixelRows};
use ndarray::{Array2, ArrayView2, Axis};

use super::Encoder;
use super::encoder::EncoderConfig;
use super::weights::Weights;
use crate::{Device, Error, Result};
#[cfg(feature = "networks")]
use {
    super::tensor::{l2_normalize, to_matrix},
    burn::tensor::{Tensor, TensorData},
};

/// Pixels embedded at a time: 16 images of 224 x 224 in colour.
const BLOCK: usize = 16 * 3 * 224 * 224;
/// Most images embedded at a time.
const MOST: usize = 128;

/// Name of the map among the tensors.
const MAP: &str = "map";
/// The names of the network as it began start with this.
const START: &str = "start.";

pub(crate) fn no_images() -> Error {
    Error::data("a network reads images, but there are none")
}

/// A trained encoder: images as rows in, unit rows out.
///
/// ```text
/// z = normalise(encoder(x))
/// e = normalise(z L)        where there is a map L with orthonormal columns
/// e = [ sqrt(keep) z0 , sqrt(1 - keep) z ]    where the network as it began is kept
/// ```
///
/// The last form is that of a [`Head`](crate::net::Head): the cosine of two embeddings is the mean of
/// two, of which one has forgotten nothing. It costs two passes.
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
    /// What it keeps of the network as it began.
    pub start: Option<Start>,
}

/// A network as it began.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// Its weights.
    pub weights: Weights,
    /// Its share of the cosine, above 0 and below 1.
    pub keep: f32,
}

impl EncoderConfig {
    /// Columns of an image as a row.
    pub(crate) fn row_dim(&self) -> usize {
        let input = self.input();
        input.channels * input.height * input.width
    }

    /// Images embedded at a time.
    fn block(&self) -> usize {
        (BLOCK / self.row_dim().max(1)).clamp(1, MOST)
    }

    /// Bytes that a [`Deep`] network of this kind takes to embed images, beside the rows that
    /// come of them. For estimates: it is 0 where [`validate`](Self::validate) fails.
    pub fn memory_to_embed(&self) -> u64 {
        let input = self.input();
        let Ok(network) = self.init(0, &Device::flex()) else {
            return 0;
        };
        // As they are read, as the network reads them, and as a tensor.
        let images = 3 * 4 * (self.block() * self.row_dim()) as u64;
        images + network.memory_to_embed([input.height, input.width], self.block())
    }

    /// Bytes that training takes on batches of so many images, over so many epochs. For
    /// estimates: it is 0 where [`validate`](Self::validate) fails.
    pub fn memory_to_train(&self, batch: usize, epochs: usize) -> u64 {
        let Ok(network) = self.init(0, &Device::flex()) else {
            return 0;
        };
        let images = 3 * 4 * (batch * self.row_dim()) as u64;
        // The model of each epoch may be asked for again, and it is kept as it began.
        let models = 4 * (network.n_parameters() * (epochs + 3)) as u64;
        images + models + network.memory_to_train(batch)
    }

    /// Images (`n x row_dim`, pixels of 0 to 255) as the input of the network.
    #[cfg(feature = "networks")]
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
        let learned = self.map.as_ref().map_or(z, Array2::ncols);
        learned + self.start.as_ref().map_or(0, |_| z)
    }

    /// Embeds images as rows (`n x input_dim`) into unit rows (`n x output_dim`).
    ///
    /// Works in blocks on `device`. Fails on a wrong number of columns.
    pub fn embed(&self, x: ArrayView2<f32>, device: &Device) -> Result<Array2<f32>> {
        let input = self.config.input();
        let shape = [input.channels, input.height, input.width];
        let rows = PixelRows::new(x, shape).map_err(|e| {
            let name = self.config.name();
            Error::data(format!("{name} reads {e}"))
        })?;
        let all: Vec<usize> = (0..x.nrows()).collect();
        self.embed_images(&rows, &all, device, &Monitor::silent())
    }

    /// Embeds the images at `items` into unit rows (`items x output_dim`), in that order.
    ///
    /// Works in blocks on `device`. Fails where an image cannot be had, and when cancelled.
    pub fn embed_images(
        &self,
        images: &dyn Images,
        items: &[usize],
        device: &Device,
        monitor: &Monitor,
    ) -> Result<Array2<f32>> {
        let learned = self.learned(images, items, device, monitor)?;
        let Some(start) = &self.start else {
            return Ok(learned);
        };
        let began = self.rows_of(&start.weights, images, items, device, monitor)?;
        Ok(start.join(began, learned))
    }

    /// The part of the embedding that was learned, of the images at `items`: unit rows.
    ///
    /// Fails as [`embed_images`](Self::embed_images).
    pub fn learned(
        &self,
        images: &dyn Images,
        items: &[usize],
        device: &Device,
        monitor: &Monitor,
    ) -> Result<Array2<f32>> {
        let z = self.rows_of(&self.weights, images, items, device, monitor)?;
        Ok(match &self.map {
            Some(map) => likewise::matrix::l2_normalize(z.dot(map)),
            None => z,
        })
    }

    /// Unit rows by the network with these weights.
    #[cfg(feature = "networks")]
    fn rows_of(
        &self,
        weights: &Weights,
        images: &dyn Images,
        items: &[usize],
        device: &Device,
        monitor: &Monitor,
    ) -> Result<Array2<f32>> {
        let encoder = self.encoder(weights, device)?.inference();
        let block = self.config.block();
        let mut out = Array2::zeros((items.len(), self.config.output_dim()));
        for (mut out, items) in out
            .axis_chunks_iter_mut(Axis(0), block)
            .zip(items.chunks(block))
        {
            monitor.check()?;
            let input = self.config.input_of(images.rows(items)?, device)?;
            out.assign(&to_matrix(l2_normalize(encoder.forward(input))));
        }
        Ok(out)
    }

    #[cfg(not(feature = "networks"))]
    fn rows_of(
        &self,
        weights: &Weights,
        _: &dyn Images,
        _: &[usize],
        device: &Device,
        _: &Monitor,
    ) -> Result<Array2<f32>> {
        match self.encoder(weights, device)? {}
    }

    fn encoder(&self, weights: &Weights, device: &Device) -> Result<Encoder> {
        self.config.init(0, device)?.load(weights.clone())
    }

    /// All tensors that training changes, the map among them.
    pub(crate) fn trained(&self) -> Arrays {
        let mut arrays = self.weights.to_arrays();
        if let Some(map) = &self.map {
            arrays.put_matrix32(MAP, map);
        }
        arrays
    }

    /// This network with other trained tensors. Fails where they do not fit.
    pub(crate) fn with_trained(self, arrays: &Arrays) -> Result<Self> {
        let loaded = Self::from_tensors(self.config, Weights::from_arrays(arrays)?)?;
        Ok(Self {
            start: self.start,
            ..loaded
        })
    }

    /// Its arrays: those of the encoder, `map`, and those of the encoder as it began after
    /// `start.`.
    pub fn arrays(&self) -> Arrays {
        let mut arrays = self.trained();
        if let Some(start) = &self.start {
            arrays.put_all(START, start.weights.to_arrays());
        }
        arrays
    }

    /// The network of such arrays; `keep` is the share of what it began as, where that is there.
    ///
    /// Fails on tensors that do not fit `config`.
    pub fn from_arrays(config: EncoderConfig, keep: f64, arrays: &Arrays) -> Result<Self> {
        let began = Weights::from_arrays(&arrays.under(START))?;
        let mut trained = Arrays::default();
        for (name, shape, values) in arrays.iter() {
            if !name.starts_with(START) {
                trained.put(name, shape, values.clone());
            }
        }
        let mut deep = Self::from_tensors(config, Weights::from_arrays(&trained)?)?;
        if began.shapes().next().is_some() {
            deep.encoder(&began, &Device::flex())?;
            deep.start = Some(Start {
                weights: began,
                keep: keep as f32,
            });
        }
        Ok(deep)
    }

    fn from_tensors(config: EncoderConfig, mut weights: Weights) -> Result<Self> {
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
            start: None,
        };
        deep.encoder(&deep.weights, &Device::flex())?;
        Ok(deep)
    }
}

impl Start {
    /// Unit rows of the start beside those that were learned.
    pub fn join(&self, began: Array2<f32>, learned: Array2<f32>) -> Array2<f32> {
        let (kept, new) = (self.keep.sqrt(), (1.0 - self.keep).sqrt());
        ndarray::concatenate![Axis(1), began * kept, learned * new]
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
            start: None,
        }
    }

    #[test]
    fn the_cosine_is_the_mean_of_two() {
        let mut deep = deep();
        deep.map = None;
        let began = deep.config.init(8, &Device::flex()).unwrap().weights();
        let x = Array2::from_shape_fn((3, 784), |(i, j)| ((i * 31 + j * 7) % 256) as f32);
        let cosines = |deep: &Deep| {
            let rows = deep.embed(x.view(), &Device::flex()).unwrap();
            rows.dot(&rows.t())
        };
        let learned = cosines(&deep);
        let old = Deep {
            weights: began.clone(),
            ..deep.clone()
        };
        let expected = cosines(&old) * 0.3 + learned * 0.7;
        deep.start = Some(Start {
            weights: began,
            keep: 0.3,
        });
        assert_eq!(deep.output_dim(), 12);
        let error = cosines(&deep) - expected;
        assert!(error.iter().all(|e| e.abs() < 1e-5), "{error}");
        let again = Deep::from_arrays(deep.config.clone(), 0.3, &deep.arrays()).unwrap();
        assert_eq!(again, deep);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let deep = deep();
        let said = deep
            .embed(Array2::zeros((1, 10)).view(), &Device::flex())
            .unwrap_err()
            .to_string();
        assert!(said.contains("784 columns, but the view has 10"), "{said}");
        let cifar = EncoderConfig::of(Architecture::Cifar);
        assert!(Deep::from_arrays(cifar, 0.3, &deep.arrays()).is_err());
        let mut arrays = deep.arrays();
        arrays.put_matrix32(MAP, &Array2::ones((2, 2)));
        let error = Deep::from_arrays(deep.config.clone(), 0.3, &arrays).unwrap_err();
        assert!(error.to_string().contains("the map is [2, 2]"));
    }
}
