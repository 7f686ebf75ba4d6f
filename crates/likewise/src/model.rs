//! Models: what learning leaves behind, and how it answers.

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

use crate::arrays::{Arrays, Values};
use crate::linear::Affine;
use crate::matrix::{l2_normalize, powered};
use crate::{Error, Result};

/// Rows that are embedded at a time.
const BLOCK: usize = 2048;

/// A linear map of features, and unit rows behind it.
///
/// ```text
/// x = sign(x) |x|^power
/// z = normalise((x - mean) A)
/// ```
///
/// Whitened features are one, and so is every Mahalanobis metric: with `M = A A^T` distances
/// of `x A` are those of the metric; here rows have length 1, as all searches expect, so that
/// cosines are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// Power of the sizes of the features, above 0 to 1.
    pub power: f64,
    /// Centre and map.
    pub map: Affine,
}

/// A model of the learners in closed form.
#[derive(Debug, Clone, PartialEq)]
pub enum Model {
    /// A linear map.
    Linear(Linear),
}

impl Model {
    /// A linear map of features of this power.
    pub fn linear(power: f64, map: Affine) -> Self {
        Self::Linear(Linear { power, map })
    }
}

impl Linear {
    /// Columns that it reads.
    pub fn input_dim(&self) -> usize {
        self.map.matrix.nrows()
    }

    /// Columns of an embedding.
    pub fn output_dim(&self) -> usize {
        self.map.matrix.ncols()
    }

    /// Embeds features (`n x input_dim`) into unit rows (`n x output_dim`).
    ///
    /// Works in blocks, so memory beyond the result stays small. Fails on a wrong number of
    /// columns and on NaN.
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
                let read = powered(x.to_owned(), self.power);
                out.assign(&l2_normalize(self.map.transform(read.view())?));
                Ok(())
            })?;
        Ok(out)
    }

    /// Its arrays: `start.mean` (`d`) and `start.matrix` (`d x r`).
    pub fn arrays(&self) -> Arrays {
        let mut arrays = Arrays::default();
        let mean = self.map.mean.to_vec();
        arrays.put("start.mean", &[mean.len()], Values::F64(mean));
        arrays.put_matrix("start.matrix", &self.map.matrix);
        arrays
    }

    /// The map of such arrays. Fails where they do not fit each other.
    pub fn from_arrays(power: f64, arrays: &Arrays) -> Result<Self> {
        let map = Affine {
            mean: arrays.vector64("start.mean")?,
            matrix: arrays.matrix64("start.matrix")?,
        };
        let (d, r) = map.matrix.dim();
        if map.mean.len() != d || d == 0 || r == 0 {
            return Err(Error::data("start.mean and start.matrix do not fit"));
        }
        Ok(Self { power, map })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn a_map_by_hand_and_back_from_its_arrays() {
        let linear = Linear {
            power: 0.5,
            map: Affine {
                mean: array![1.0, 0.0],
                matrix: array![[3.0, 0.0], [0.0, 2.0]],
            },
        };
        // Roots of (4, -4) are (2, -2); less the mean (1, -2); times the map (3, -4).
        let z = linear.embed(array![[4.0, -4.0_f32]].view()).unwrap();
        assert!((z[(0, 0)] - 0.6).abs() < 1e-6 && (z[(0, 1)] + 0.8).abs() < 1e-6);
        assert_eq!(Linear::from_arrays(0.5, &linear.arrays()).unwrap(), linear);
        let message = linear.embed(array![[1.0_f32]].view()).unwrap_err();
        assert!(message.to_string().contains("reads 2 columns"), "{message}");
        let mut wrong = linear.arrays();
        wrong.put("start.mean", &[1], Values::F64(vec![0.0]));
        assert!(Linear::from_arrays(1.0, &wrong).is_err());
    }
}
