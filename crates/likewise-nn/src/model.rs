//! A fitted model: what turns rows or images into embeddings, and opens from its own file.

mod onnx;

use std::collections::BTreeMap;

use likewise::arrays::{Arrays, Values};
use likewise::images::Images;
use likewise::matrix::{Reading, select_rows};
use likewise::model::{self, Model as Closed};
use likewise::{Monitor, Similarity};
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::net::{Deep, EncoderConfig, Head, HeadConfig, Weights, no_images};
use crate::{Device, Error, ErrorKind, Result, networks};

pub use onnx::{Scaled, view_to_onnx};

/// A fitted model, whatever learned it.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// Of a learner in closed form, or the start itself.
    Closed(Closed),
    /// A head on features as they are.
    Head(Head),
    /// A network on images, one a row.
    Network(Deep),
}

/// The kind of a model and what its arrays do not tell: the metadata of its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Kind {
    Closed(model::Kind),
    Gradient(Gradient),
}

/// The kinds that gradients move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Gradient {
    Head {
        #[serde(flatten)]
        reading: Reading,
        head: HeadConfig,
    },
    Network {
        keep: f64,
        encoder: EncoderConfig,
    },
}

/// Under which the kind stands in the metadata of the file.
const KEY: &str = "model";

impl From<Closed> for Model {
    fn from(model: Closed) -> Self {
        Self::Closed(model)
    }
}

impl Model {
    /// Columns that it reads.
    pub fn input_dim(&self) -> usize {
        match self {
            Self::Closed(closed) => closed.input_dim(),
            Self::Head(head) => head.input_dim(),
            Self::Network(deep) => deep.input_dim(),
        }
    }

    /// Columns of an embedding.
    pub fn output_dim(&self) -> usize {
        match self {
            Self::Closed(closed) => closed.output_dim(),
            Self::Head(head) => head.output_dim(),
            Self::Network(deep) => deep.output_dim(),
        }
    }

    /// How its rows compare.
    pub fn similarity(&self) -> Similarity {
        match self {
            Self::Closed(closed) => closed.similarity(),
            Self::Head(_) | Self::Network(_) => Similarity::Cosine,
        }
    }

    /// Embeds rows (`n x input_dim`) into rows (`n x output_dim`) that compare by its
    /// [`similarity`](Self::similarity), in blocks; a network does so on `device`, all others on
    /// the CPU.
    ///
    /// Fails on a wrong number of columns.
    pub fn embed(&self, x: ArrayView2<f32>, device: &Device) -> Result<Array2<f32>> {
        match self {
            Self::Closed(closed) => closed.embed(x),
            Self::Head(head) => head.embed(x),
            Self::Network(deep) => deep.embed(x, device),
        }
    }

    /// Embeds the items at `places` of a collection (`places x output_dim`): by their
    /// `features` (`n x d`), or by their images where it is a network.
    ///
    /// Fails on a wrong number of columns, without the images that a network reads, and when
    /// cancelled.
    pub fn embed_items(
        &self,
        features: ArrayView2<f32>,
        images: Option<&dyn Images>,
        places: &[usize],
        device: &Device,
        monitor: &Monitor,
    ) -> Result<Array2<f32>> {
        match self {
            Self::Network(deep) => {
                let images = images.ok_or_else(no_images)?;
                deep.embed_images(images, places, device, monitor)
            }
            _ => self.embed(select_rows(features, places).view(), device),
        }
    }

    /// The model without what it keeps of the network as it began, which doubles it.
    pub(crate) fn without_start(self) -> Self {
        match self {
            Self::Network(deep) => Self::Network(Deep {
                start: None,
                ..deep
            }),
            _ => self,
        }
    }

    /// The tensors that gradients move.
    pub(crate) fn moved(&self) -> Result<Weights> {
        match self {
            Self::Network(deep) => Ok(deep.weights.clone()),
            Self::Head(_) => Weights::from_arrays(&self.trained()),
            Self::Closed(_) => Err(Error::new(ErrorKind::Internal, "no gradient moves it")),
        }
    }

    /// The arrays that learning changes: with [`with_trained`](Self::with_trained) a model of
    /// the same learning comes back.
    pub fn trained(&self) -> Arrays {
        match self {
            // Its kind may be another than that of the model that learning began as.
            Self::Closed(closed) => {
                let mut arrays = closed.arrays();
                let kind = serde_json::to_vec(&closed.kind()).unwrap_or_default();
                arrays.put(KEY, &[kind.len()], Values::Bytes(kind));
                arrays
            }
            Self::Network(deep) => deep.trained(),
            Self::Head(head) => {
                let mut arrays = Arrays::default();
                for (name, m) in &head.residual {
                    arrays.put_matrix32(name, m);
                }
                arrays
            }
        }
    }

    /// A model like this one with other [`trained`](Self::trained) arrays. Fails where they do
    /// not fit.
    pub fn with_trained(&self, arrays: &Arrays) -> Result<Self> {
        Ok(match self {
            Self::Closed(_) => {
                let kind = serde_json::from_slice(arrays.bytes(KEY)?);
                let kind = kind.map_err(|e| Error::data(format!("its kind is broken: {e}")))?;
                Self::Closed(Closed::from_arrays(kind, arrays)?)
            }
            Self::Network(deep) => Self::Network(deep.clone().with_trained(arrays)?),
            Self::Head(head) => {
                let matrix = |name: &String| Ok((name.clone(), arrays.matrix32(name)?));
                let residual: BTreeMap<_, _> =
                    head.residual.keys().map(matrix).collect::<Result<_>>()?;
                let fits =
                    |(name, m): (&String, &Array2<f32>)| head.residual[name].dim() == m.dim();
                if !residual.iter().all(fits) {
                    return Err(Error::data("its tensors do not fit the head"));
                }
                Self::Head(Head {
                    residual,
                    ..head.clone()
                })
            }
        })
    }

    /// The bytes of its file: a safetensors file whose metadata name the kind of the model and
    /// its settings, so that it [opens](Self::open) by itself.
    pub fn to_safetensors(&self) -> Result<Vec<u8>> {
        let (kind, arrays) = match self {
            Self::Closed(closed) => (Kind::Closed(closed.kind()), closed.arrays()),
            Self::Head(head) => {
                let kind = Gradient::Head {
                    reading: head.reading,
                    head: head.config,
                };
                (Kind::Gradient(kind), head.arrays())
            }
            Self::Network(deep) => {
                let kind = Gradient::Network {
                    keep: deep
                        .start
                        .as_ref()
                        .map_or(0.0, |start| f64::from(start.keep)),
                    encoder: deep.config.clone(),
                };
                (Kind::Gradient(kind), deep.arrays())
            }
        };
        let failed = |e: &dyn std::fmt::Display| {
            Error::new(ErrorKind::Internal, format!("cannot write the model: {e}"))
        };
        let kind = serde_json::to_string(&kind).map_err(|e| failed(&e))?;
        let metadata = BTreeMap::from([(KEY.to_owned(), kind)]);
        likewise_io::arrays::to_safetensors(&arrays, &metadata).map_err(|e| failed(&e))
    }

    /// The model of such bytes.
    ///
    /// Fails on broken bytes, without the kind, on arrays that do not fit each other, and on a
    /// network in a build without them.
    pub fn open(bytes: &[u8]) -> Result<Self> {
        let broken = |e: &dyn std::fmt::Display| Error::data(format!("broken model file: {e}"));
        let (arrays, metadata) =
            likewise_io::arrays::from_safetensors(bytes).map_err(|e| broken(&e))?;
        let kind = metadata
            .get(KEY)
            .ok_or_else(|| broken(&"it does not say what kind of model it holds; fit it anew"))?;
        let kind: Kind = serde_json::from_str(kind).map_err(|e| broken(&e))?;
        if let Kind::Gradient(Gradient::Network { .. }) = kind {
            networks("the model of this run")?;
        }
        let model = match kind {
            Kind::Closed(kind) => Closed::from_arrays(kind, &arrays).map(Self::Closed),
            Kind::Gradient(Gradient::Head { reading, head }) => {
                Head::from_arrays(head, reading, &arrays).map(Self::Head)
            }
            Kind::Gradient(Gradient::Network { keep, encoder }) => {
                Deep::from_arrays(encoder, keep, &arrays).map(Self::Network)
            }
        };
        model.map_err(|e| broken(&e))
    }
}

#[cfg(test)]
mod tests {
    use likewise::linear::Affine;
    use ndarray::array;

    use super::*;
    use crate::net::{Architecture, EmbeddingConfig};

    fn affine() -> Affine {
        Affine {
            mean: array![0.5, -1.0, 0.0],
            matrix: array![[1.0, 0.0], [0.5, 2.0], [0.0, -1.0]],
        }
    }

    fn roots() -> Reading {
        Reading {
            power: 0.5,
            unit: true,
        }
    }

    fn head() -> Model {
        let part = |name: &str, m: Array2<f32>| (name.to_owned(), m);
        Model::Head(Head {
            config: HeadConfig {
                width: 3,
                ..HeadConfig::default()
            },
            reading: roots(),
            start: affine(),
            residual: BTreeMap::from([
                part("input.weight", array![[1.0, -1.0, 0.5], [0.0, 2.0, 1.0]]),
                part("input.bias", array![[0.1, 0.0, -0.1]]),
                part(
                    "output.weight",
                    array![[0.3, 0.0, 1.0], [0.0, 0.2, 0.0], [-0.4, 0.1, 0.5]],
                ),
            ]),
        })
    }

    fn network() -> Model {
        let config = EncoderConfig {
            head: EmbeddingConfig::Linear {
                dim: 6,
                layer_norm: false,
            },
            ..EncoderConfig::of(Architecture::Mnist)
        };
        let weights = config.init(3, &Device::flex()).unwrap().weights();
        let map = likewise::linear::stiefel::random(6, 4, 1).unwrap();
        Model::Network(Deep {
            config,
            weights,
            map: Some(map.mapv(|v| v as f32)),
            start: None,
        })
    }

    #[test]
    fn every_kind_opens_from_its_own_file_and_broken_files_are_refused() {
        for model in [Closed::linear(roots(), affine()).into(), head(), network()] {
            let bytes = model.to_safetensors().unwrap();
            assert_eq!(Model::open(&bytes).unwrap(), model);
            for end in [0, 7, 20, bytes.len() - 1] {
                assert!(Model::open(&bytes[..end]).is_err());
            }
            let again = model.with_trained(&model.trained()).unwrap();
            assert_eq!(again, model);
        }
        let bare = BTreeMap::new();
        let bytes = likewise_io::arrays::to_safetensors(&head().trained(), &bare).unwrap();
        let message = Model::open(&bytes).unwrap_err().to_string();
        assert!(message.contains("what kind of model"), "{message}");
    }

    #[test]
    fn matrices_that_do_not_fit_each_other_are_refused() {
        let Model::Head(mut wrong) = head() else {
            panic!("a head");
        };
        wrong
            .residual
            .insert("output.weight".into(), array![[0.0_f32]]);
        let arrays = wrong.arrays();
        let wrong = Model::Head(wrong);
        let message = Model::open(&wrong.to_safetensors().unwrap()).unwrap_err();
        assert!(message.to_string().contains("do not fit"), "{message}");
        let residual = arrays.under("residual.");
        assert!(head().with_trained(&residual).is_err());
    }
}
