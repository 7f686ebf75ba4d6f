//! Random Fourier features: coordinates of an RBF kernel that hold for any row.
//!
//! ```text
//! omega_j ~ N(0, 2 / width I)      b_j ~ U[0, 2 pi)
//! phi_j(x) = sqrt(2 / r) cos(omega_j . x + b_j)
//! E phi(x) . phi(y) = exp(-|x - y|^2 / width)         standard error about 1 / sqrt(r)
//! ```
//!
//! **Use it** for very many rows of few columns, where no sample of rows stands for all.
//! **Not** where a few hundred rows do: [Nystrom](super::nystrom) knows where the rows lie, and
//! is more exact for the same number of coordinates.
//!
//! Cost: O(n d r), memory O(d r).
//!
//! Source: Rahimi and Recht, "Random features for large-scale kernel machines", NIPS 2007.

use ndarray::{Array1, Array2, ArrayView2};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::arrays::{Arrays, Values};
use crate::matrix::{check_finite, product_of_many};
use crate::{Error, Result, seed};

/// The drawn directions; see [`fourier`](self).
///
/// ```
/// use likewise::kernel::Fourier;
/// let x = ndarray::array![[0.0, 0.0], [0.6, 0.8_f32]];
/// let phi = Fourier::draw(2, 1.0, 4096, 7)?.map(x.view())?;
/// assert!((phi.row(0).dot(&phi.row(1)) - (-1.0_f64).exp()).abs() < 0.1);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fourier {
    /// `r x d`.
    directions: Array2<f64>,
    offsets: Array1<f64>,
}

impl Fourier {
    /// Draws `r` directions for rows of `d` columns and an RBF kernel of a width.
    ///
    /// Fails unless `r` is at least 1 and the width above 0.
    pub fn draw(d: usize, width: f64, r: usize, seed: u64) -> Result<Self> {
        if r == 0 {
            return Err(Error::parameter("fourier.r", 0, "must be at least 1"));
        }
        if !(width.is_finite() && width > 0.0) {
            return Err(Error::parameter("fourier.width", width, "must be above 0"));
        }
        let mut rng = seed::stream(seed, "random Fourier features");
        let deviation = (2.0 / width).sqrt();
        let directions = Array2::from_shape_simple_fn((r, d), || deviation * normal(&mut rng));
        let turn = std::f64::consts::TAU;
        let offsets = Array1::from_shape_simple_fn(r, || turn * rng.random::<f64>());
        Ok(Self {
            directions,
            offsets,
        })
    }

    /// Coordinates (`n x r`) of rows (`n x d`). Fails on NaN and on another number of columns.
    pub fn map(&self, x: ArrayView2<f32>) -> Result<Array2<f64>> {
        check_finite(x, "random Fourier features")?;
        super::check_columns(x.ncols(), self.directions.ncols())?;
        Ok(self.of_rows(&x.mapv(f64::from)))
    }

    /// How many coordinates there are.
    pub(super) fn len(&self) -> usize {
        self.offsets.len()
    }

    pub(super) fn put(&self, prefix: &str, arrays: &mut Arrays) {
        arrays.put_matrix(format!("{prefix}directions"), &self.directions);
        let offsets = Values::F64(self.offsets.to_vec());
        arrays.put(format!("{prefix}offsets"), &[self.offsets.len()], offsets);
    }

    pub(super) fn of(arrays: &Arrays) -> Result<Self> {
        let own = Self {
            directions: arrays.matrix64("directions")?,
            offsets: arrays.vector64("offsets")?,
        };
        if own.directions.nrows() == own.offsets.len() && !own.offsets.is_empty() {
            return Ok(own);
        }
        Err(Error::data("directions and their offsets do not fit"))
    }

    pub(crate) fn columns(&self) -> usize {
        self.directions.ncols()
    }

    pub(crate) fn of_rows(&self, x: &Array2<f64>) -> Array2<f64> {
        let size = (2.0 / self.offsets.len() as f64).sqrt();
        let mut phi = product_of_many(x, &self.directions);
        phi += &self.offsets;
        phi.par_mapv_inplace(|angle| size * angle.cos());
        phi
    }
}

/// A draw from the standard normal distribution, by Box and Muller.
fn normal(rng: &mut impl Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Kernel, Width};

    #[test]
    fn products_come_near_the_kernel() {
        let x = Array2::from_shape_fn((12, 3), |(i, j)| ((i * i + 5 * j) as f64).sin());
        let kernel = Kernel::Rbf {
            width: Width::Fixed(2.0),
        };
        let phi = Fourier::draw(3, 2.0, 20_000, 5).unwrap().of_rows(&x);
        let error = phi.dot(&phi.t()) - kernel.own(&x);
        assert!(error.iter().all(|e| e.abs() < 0.03), "{error}");
    }

    #[test]
    fn a_seed_is_a_draw_and_numbers_are_checked() {
        let draw = |seed| Fourier::draw(3, 2.0, 5, seed).unwrap();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert!(Fourier::draw(3, 0.0, 5, 1).is_err() && Fourier::draw(3, 1.0, 0, 1).is_err());
        assert!(draw(1).map(Array2::zeros((2, 4)).view()).is_err());
    }
}
