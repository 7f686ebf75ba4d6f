//! Encoders and models: what a cross-modal learner leaves behind.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::network::{Network, Unit};
use super::parts::kernel;
use crate::arrays::{Arrays, Values};
use crate::code::Codes;
use crate::linear::Affine;
use crate::matrix::{check_finite, less_mean, product};
use crate::{Error, Result, parallel};

/// Rows that are encoded at a time.
const BLOCK: usize = 512;

/// From the rows of one modality into the space of all.
#[derive(Debug, Clone, PartialEq)]
pub enum Encoder {
    /// `(x - mean) W`, compared by cosine.
    Real(Affine),
    /// A bit for each column of `(x - mean) W - offset`: 1 where it is at least 0.
    Bits {
        /// Mean and `W`.
        map: Affine,
        /// One number a bit.
        offset: Array1<f64>,
    },
    /// A bit for each column of `k(x - mean, anchors) W`: 1 where it is at least 0.
    KernelBits(Kernel),
    /// What a network with `tanh` units gives, compared by cosine.
    Network(Network),
    /// A bit for each column that a network with rectified units gives: 1 where it is at least 0.
    NetworkBits(Network),
}

/// Similarities to anchors, weighted: `exp(-|x - mean - anchor|^2 / s2) W`.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// Subtracted from every row, `d`.
    pub mean: Array1<f64>,
    /// Centred rows, `anchors x d`.
    pub anchors: Array2<f64>,
    /// The squared distance at which a similarity is 1/e.
    pub s2: f64,
    /// `W`, `anchors x bits`.
    pub weights: Array2<f64>,
}

/// Rows in the space of all modalities.
#[derive(Debug, Clone, PartialEq)]
pub enum Embedding {
    /// Numbers, a row each.
    Real(Array2<f32>),
    /// Bits.
    Bits(Codes),
}

/// The kind of an [`Encoder`], which its arrays do not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// [`Encoder::Real`].
    Real,
    /// [`Encoder::Bits`].
    Bits,
    /// [`Encoder::KernelBits`].
    KernelBits,
    /// [`Encoder::Network`].
    Network,
    /// [`Encoder::NetworkBits`].
    NetworkBits,
}

impl Encoder {
    /// Columns that it reads.
    pub fn input_dim(&self) -> usize {
        match self {
            Self::Real(map) | Self::Bits { map, .. } => map.mean.len(),
            Self::KernelBits(kernel) => kernel.mean.len(),
            Self::Network(network) | Self::NetworkBits(network) => network.mean.len(),
        }
    }

    /// Columns or bits that it gives.
    pub fn output_dim(&self) -> usize {
        match self {
            Self::Real(map) | Self::Bits { map, .. } => map.matrix.ncols(),
            Self::KernelBits(kernel) => kernel.weights.ncols(),
            Self::Network(network) | Self::NetworkBits(network) => network.output_dim(),
        }
    }

    /// The rows in the space of all: numbers or bits. O(n d output), with a kernel
    /// O(n anchors (d + output)).
    ///
    /// Fails on a wrong number of columns and on NaN.
    pub fn encode(&self, x: ArrayView2<f32>) -> Result<Embedding> {
        let values = self.values(x)?;
        match self {
            Self::Real(_) | Self::Network(_) => Ok(Embedding::Real(values.mapv(|v| v as f32))),
            _ => Ok(Embedding::Bits(Codes::from_signs64(values.view())?)),
        }
    }

    /// The numbers whose signs are the bits (`n x output`): a query for
    /// [`nearest_to_real`](crate::code::nearest_to_real). Those of a real encoder are what it
    /// gives.
    ///
    /// Fails as [`encode`](Self::encode).
    pub fn scores(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        Ok(self.values(x)?.mapv(|v| v as f32))
    }

    fn values(&self, x: ArrayView2<f32>) -> Result<Array2<f64>> {
        if x.ncols() != self.input_dim() {
            return Err(Error::data(format!(
                "the encoder reads {} columns, these rows have {}; give rows of its modality",
                self.input_dim(),
                x.ncols()
            )));
        }
        check_finite(x, "rows to encode")?;
        let mut out = Array2::zeros((x.nrows(), self.output_dim()));
        let of = |m: &Array2<f64>| m.t().as_standard_layout().into_owned();
        let transposed = match self {
            Self::Real(map) | Self::Bits { map, .. } => vec![of(&map.matrix)],
            Self::KernelBits(kernel) => vec![of(&kernel.weights)],
            Self::Network(network) | Self::NetworkBits(network) => network.transposed(),
        };
        let outs = out.axis_chunks_iter_mut(Axis(0), BLOCK);
        let blocks = outs.zip(x.axis_chunks_iter(Axis(0), BLOCK));
        parallel::each(blocks, |(mut out, x)| {
            let block = match self {
                Self::Real(map) => product(&less_mean(x, &map.mean), &transposed[0]),
                Self::Bits { map, offset } => {
                    product(&less_mean(x, &map.mean), &transposed[0]) - offset
                }
                Self::KernelBits(k) => {
                    let rows = less_mean(x, &k.mean);
                    product(&kernel(&rows, &k.anchors, k.s2), &transposed[0])
                }
                Self::Network(network) => {
                    let rows = less_mean(x, &network.mean);
                    network.forward(rows, &transposed, Unit::Tanh)
                }
                Self::NetworkBits(network) => {
                    let rows = less_mean(x, &network.mean);
                    network.forward(rows, &transposed, Unit::Rectified)
                }
            };
            out.assign(&block);
        });
        Ok(out)
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Real(_) => Kind::Real,
            Self::Bits { .. } => Kind::Bits,
            Self::KernelBits(_) => Kind::KernelBits,
            Self::Network(_) => Kind::Network,
            Self::NetworkBits(_) => Kind::NetworkBits,
        }
    }

    /// Its arrays: `mean` (`d`); `matrix` (`d x output`) and, of bits, `offset` (`output`), or of a
    /// kernel `anchors` (`anchors x d`), `s2` (1) and `weights` (`anchors x output`); or, of a network,
    /// `weight.N` and `bias.N` of each layer, from 0.
    pub fn arrays(&self) -> Arrays {
        let mut arrays = Arrays::default();
        let mut vector = |name: &str, values: &Array1<f64>| {
            arrays.put(name, &[values.len()], Values::F64(values.to_vec()));
        };
        match self {
            Self::Real(map) => {
                vector("mean", &map.mean);
                arrays.put_matrix("matrix", &map.matrix);
            }
            Self::Bits { map, offset } => {
                vector("mean", &map.mean);
                vector("offset", offset);
                arrays.put_matrix("matrix", &map.matrix);
            }
            Self::KernelBits(kernel) => {
                vector("mean", &kernel.mean);
                vector("s2", &Array1::from_elem(1, kernel.s2));
                arrays.put_matrix("anchors", &kernel.anchors);
                arrays.put_matrix("weights", &kernel.weights);
            }
            Self::Network(network) | Self::NetworkBits(network) => return network.arrays(),
        }
        arrays
    }

    /// The encoder of such a kind and arrays. Fails where they do not fit each other.
    pub fn from_arrays(kind: Kind, arrays: &Arrays) -> Result<Self> {
        match kind {
            Kind::Network => {
                return Network::from_arrays(arrays).map(Self::Network);
            }
            Kind::NetworkBits => {
                return Network::from_arrays(arrays).map(Self::NetworkBits);
            }
            Kind::Real | Kind::Bits | Kind::KernelBits => {}
        }
        let mean = arrays.vector64("mean")?;
        let misfit = || Error::data(format!("the arrays of a {kind:?} encoder do not fit"));
        if kind == Kind::KernelBits {
            let kernel = Kernel {
                anchors: arrays.matrix64("anchors")?,
                weights: arrays.matrix64("weights")?,
                s2: arrays.vector64("s2")?.get(0).copied().unwrap_or_default(),
                mean,
            };
            let fits = kernel.anchors.ncols() == kernel.mean.len()
                && kernel.anchors.nrows() == kernel.weights.nrows()
                && kernel.s2 > 0.0
                && kernel.s2.is_finite()
                && !kernel.weights.is_empty();
            return fits.then_some(Self::KernelBits(kernel)).ok_or_else(misfit);
        }
        let matrix = arrays.matrix64("matrix")?;
        if matrix.nrows() != mean.len() || matrix.is_empty() {
            return Err(misfit());
        }
        let map = Affine { mean, matrix };
        if kind == Kind::Real {
            return Ok(Self::Real(map));
        }
        let offset = arrays.vector64("offset")?;
        let fits = offset.len() == map.matrix.ncols();
        fits.then_some(Self::Bits { map, offset })
            .ok_or_else(misfit)
    }
}

/// One encoder for each modality, all into one space.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// By modality.
    pub encoders: Vec<Encoder>,
}

impl Model {
    /// The rows of modality `t` in the space of all.
    ///
    /// Fails without such a modality, and as [`Encoder::encode`].
    pub fn encode(&self, t: usize, x: ArrayView2<f32>) -> Result<Embedding> {
        self.encoder(t)?.encode(x)
    }

    /// The encoder of modality `t`. Fails where there is none.
    pub fn encoder(&self, t: usize) -> Result<&Encoder> {
        self.encoders.get(t).ok_or_else(|| {
            let n = self.encoders.len();
            Error::data(format!("modality {t} of a model of {n}; they count from 0"))
        })
    }

    /// The kinds of the encoders.
    pub fn kinds(&self) -> Vec<Kind> {
        self.encoders.iter().map(Encoder::kind).collect()
    }

    /// The arrays of all encoders, those of modality 0 under `0.`, and so on.
    pub fn arrays(&self) -> Arrays {
        let mut all = Arrays::default();
        for (t, encoder) in self.encoders.iter().enumerate() {
            all.put_all(&format!("{t}."), encoder.arrays());
        }
        all
    }

    /// The model of such kinds and arrays. Fails where they do not fit each other.
    pub fn from_arrays(kinds: &[Kind], arrays: &Arrays) -> Result<Self> {
        let one = |(t, &kind)| {
            let encoder = Encoder::from_arrays(kind, &arrays.under(&format!("{t}.")));
            encoder.map_err(|e| e.within(format!("modality {t}")))
        };
        let encoders: Vec<Encoder> = kinds.iter().enumerate().map(one).collect::<Result<_>>()?;
        let mut widths = encoders.iter().map(Encoder::output_dim);
        let first = widths.next();
        if !widths.all(|width| Some(width) == first) {
            return Err(Error::data(
                "the encoders of a model lead into different spaces",
            ));
        }
        Ok(Self { encoders })
    }
}

/// One code for each object that is seen in all modalities: the bit whose evidence, over the
/// modalities, is larger.
///
/// ```text
/// bit = 1 where prod_t p_t / p^(T-1) >= prod_t (1 - p_t) / (1 - p)^(T-1),  p_t = 1 / (1 + exp(-score_t))
/// ```
///
/// with `p` the share of objects whose bit is 1 (`shares`, one a bit), or 1/2 without. Each of
/// `scores` is what [`Encoder::scores`] gave for the rows of one modality, object by object.
///
/// **Use it** for a database whose objects are seen in all modalities: that finds more than the
/// codes of one. **Not** to measure how well modality finds modality.
///
/// Source: Lin, Ding, Hu and Wang, "Semantics-preserving hashing for cross-view retrieval", CVPR
/// 2015, for two modalities, where shares are counted once and not by modality: the products
/// `p_1 p_2 / p` and `(1 - p_1)(1 - p_2) / (1 - p)` are compared. Taken here for any number, with
/// the power of `p` that the independence of the modalities given the bit asks for.
///
/// Fails where the scores are of different shapes, and on NaN.
pub fn unified(scores: &[ArrayView2<f32>], shares: Option<&[f64]>) -> Result<Codes> {
    let Some(first) = scores.first() else {
        return Err(Error::data("a unified code needs the scores of a modality"));
    };
    let bits = first.ncols();
    let fits = scores.iter().all(|s| s.dim() == first.dim());
    if !fits || shares.is_some_and(|s| s.len() != bits) {
        return Err(Error::data(
            "unified codes need scores of the same objects and bits from each modality",
        ));
    }
    // log p_t - log(1 - p_t) is the score itself; so is the prior that of the share.
    let times = scores.len() as f64 - 1.0;
    let prior = |k: usize| {
        let share = shares.map_or(0.5, |s| s[k]);
        if share > 0.0 && share < 1.0 {
            times * (share / (1.0 - share)).ln()
        } else {
            0.0
        }
    };
    let mut sums = Array2::from_shape_fn(first.dim(), |(_, k)| -prior(k));
    for scores in scores {
        sums.zip_mut_with(scores, |sum, &s| *sum += f64::from(s));
    }
    Codes::from_signs64(sums.view())
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn encoders() -> [Encoder; 5] {
        let map = Affine {
            mean: array![1.0, 0.0],
            matrix: array![[1.0, 0.0], [1.0, -1.0]],
        };
        let kernel = Kernel {
            mean: array![1.0, 0.0],
            anchors: array![[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]],
            s2: 2.0,
            weights: array![[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]],
        };
        let offset = array![0.0, 2.5];
        [
            Encoder::Real(map.clone()),
            Encoder::Bits { map, offset },
            Encoder::KernelBits(kernel),
            Encoder::Network(network()),
            Encoder::NetworkBits(network()),
        ]
    }

    fn network() -> Network {
        Network {
            mean: array![1.0, 0.0],
            layers: vec![
                (
                    array![[1.0, 0.0, -1.0], [0.0, 1.0, 0.5]],
                    array![0.0, -1.0, 0.0],
                ),
                (
                    array![[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
                    array![0.5, -1.5],
                ),
            ],
        }
    }

    #[test]
    fn networks_by_hand() {
        let x = array![[2.0, 2.0_f32]];
        // Less the mean 1, 2; first layer 1, 1, 0; then 1.5 and -.5.
        let Embedding::Bits(codes) = Encoder::NetworkBits(network()).encode(x.view()).unwrap()
        else {
            unreachable!("an encoder of bits")
        };
        assert_eq!(codes.words(), [0b01]);
        let found = Encoder::Network(network()).scores(x.view()).unwrap();
        let t = 1.0_f64.tanh();
        let expected = [(t + 0.5).tanh(), (t - 1.5).tanh()];
        assert!((0..2).all(|k| (f64::from(found[(0, k)]) - expected[k]).abs() < 1e-6));
    }

    #[test]
    fn values_by_hand() {
        let [real, bits, kernel, ..] = encoders();
        let x = array![[2.0, 3.0], [1.0, 0.0_f32]];
        let found = real.encode(x.view()).unwrap();
        assert_eq!(found, Embedding::Real(array![[4.0, -3.0], [0.0, 0.0]]));
        let Embedding::Bits(codes) = bits.encode(x.view()).unwrap() else {
            unreachable!("an encoder of bits")
        };
        assert_eq!(codes.words(), [0b01, 0b01]);
        // The second row is on the first anchor: 1, exp(-2), exp(-1/2).
        let scores = kernel.scores(x.view()).unwrap();
        let e = [1.0 - (-0.5_f64).exp(), (-2.0_f64).exp() - (-0.5_f64).exp()];
        assert!((0..2).all(|k| (f64::from(scores[(1, k)]) - e[k]).abs() < 1e-6));
        let Embedding::Bits(codes) = kernel.encode(x.view()).unwrap() else {
            unreachable!("an encoder of bits")
        };
        assert_eq!(codes.words()[1], 0b01);
    }

    #[test]
    fn models_come_back_from_their_arrays() {
        for encoder in encoders() {
            let model = Model {
                encoders: vec![encoder.clone(), encoder],
            };
            let (kinds, mut arrays) = (model.kinds(), model.arrays());
            assert_eq!(Model::from_arrays(&kinds, &arrays).unwrap(), model);
            let json = serde_json::to_string(&kinds).unwrap();
            assert_eq!(serde_json::from_str::<Vec<Kind>>(&json).unwrap(), kinds);
            let wrong = model.encode(0, Array2::zeros((1, 3)).view()).unwrap_err();
            assert!(wrong.to_string().contains("reads 2 columns"), "{wrong}");
            assert!(model.encode(2, Array2::zeros((1, 2)).view()).is_err());
            assert!(model.encode(0, array![[f32::NAN, 0.0]].view()).is_err());
            arrays.put("1.mean", &[1], Values::F64(vec![0.0]));
            assert!(Model::from_arrays(&kinds, &arrays).is_err());
        }
    }

    #[test]
    fn evidence_is_summed_and_what_is_usual_counts_less() {
        let (a, b) = (array![[2.0, -1.0, 1.0]], array![[-1.0, 0.5, 1.0_f32]]);
        let both = [a.view(), b.view()];
        assert_eq!(unified(&both, None).unwrap().words(), [0b101]);
        // Nine of ten bits are 1: a sum of 1 or 2 is less than what is usual, log 9.
        assert_eq!(
            unified(&both, Some(&[0.9, 0.5, 0.9])).unwrap().words(),
            [0b000]
        );
        // A share of all or none says nothing of what the other bit would look like.
        assert_eq!(
            unified(&both, Some(&[1.0, 0.0, 1.0])).unwrap().words(),
            [0b101]
        );
        let short = array![[1.0_f32]];
        assert!(unified(&[a.view(), short.view()], None).is_err());
        assert!(unified(&[], None).is_err());
    }
}
