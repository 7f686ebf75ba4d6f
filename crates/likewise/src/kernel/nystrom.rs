//! Nyström coordinates: a kernel as products of what rows have in common with some landmarks.
//!
//! ```text
//! K_ZZ = U Lambda U^T                     Z: r landmarks; eigenvalues above 1e-10 of the largest
//! phi(x) = Lambda^(-1/2) U^T k_Z(x)       phi(x) . phi(y) = k_Z(x)^T K_ZZ^+ k_Z(y)
//! ```
//!
//! Exact for the landmarks themselves; elsewhere the projection on what they span.
//!
//! **Use it** for any kernel and many rows, with 256 to 512 landmarks. **Not** for a kernel so
//! narrow that no landmark is near: there all coordinates are 0.
//!
//! Cost: O(r^3) once, O(n r (d + r)) for n rows; memory O(r (d + r)).
//!
//! Source: Williams and Seeger, "Using the Nyström method to speed up kernel machines", NIPS
//! 2000. Landmarks are drawn from the rows.

use ndarray::{Array2, ArrayView2, Axis};
use rand::seq::index;
use serde::{Deserialize, Serialize};

use super::Kernel;
use crate::arrays::Arrays;
use crate::linear::spd;
use crate::matrix::{check_finite, product_of_many};
use crate::{Error, Monitor, Result, seed};

/// Least eigenvalue, beside the largest, that is not taken for 0.
const SINGULAR: f64 = 1e-10;

/// Landmarks, and the map from what rows have in common with them; see [`nystrom`](self).
///
/// ```
/// use likewise::{Monitor, kernel::{Kernel, Nystrom}};
/// let x = ndarray::array![[0.0, 1.0], [2.0, 1.0], [1.0, 3.0_f32]];
/// let own = Nystrom::fit(Kernel::ALL_FOUR[1], x.view(), 3, 1, &Monitor::silent())?;
/// let phi = own.map(x.view())?;
/// // With all rows as landmarks, it is the kernel itself.
/// let k = own.kernel().gram(x.view(), x.view())?;
/// assert!((phi.row(0).dot(&phi.row(2)) - k[(0, 2)]).abs() < 1e-9);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Nystrom {
    kernel: Kernel,
    /// `r x d`.
    landmarks: Array2<f64>,
    /// `kept x r`.
    map: Array2<f64>,
}

impl Nystrom {
    /// With `r` rows drawn as landmarks, or all where there are fewer.
    ///
    /// Fails on NaN, without a row, unless `r` is at least 1, and on a kernel out of range.
    pub fn fit(
        kernel: Kernel,
        x: ArrayView2<f32>,
        r: usize,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Self> {
        if r == 0 {
            return Err(Error::parameter("nystrom.r", 0, "must be at least 1"));
        }
        let kernel = kernel.fitted(x, monitor)?;
        let n = x.nrows();
        if n == 0 {
            return Err(Error::data("Nyström coordinates need a row for a landmark"));
        }
        let mut rng = seed::stream(seed, "landmarks of Nyström");
        let mut drawn = if r < n {
            index::sample(&mut rng, n, r).into_vec()
        } else {
            (0..n).collect()
        };
        drawn.sort_unstable();
        Self::of_landmarks(kernel, x.select(Axis(0), &drawn).mapv(f64::from))
    }

    pub(crate) fn of_landmarks(kernel: Kernel, landmarks: Array2<f64>) -> Result<Self> {
        let found = spd::eigen(&kernel.own(&landmarks))?;
        let least = SINGULAR * found.largest();
        let kept: Vec<usize> = (0..found.values.len())
            .filter(|&i| found.values[i] > least && found.values[i] > 0.0)
            .collect();
        let r = landmarks.nrows();
        let map = Array2::from_shape_fn((kept.len(), r), |(i, j)| {
            found.vectors[(j, kept[i])] / found.values[kept[i]].sqrt()
        });
        Ok(Self {
            kernel,
            landmarks,
            map,
        })
    }

    /// The kernel, with the width that the rows gave.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Coordinates (`n x r`, or fewer) of rows (`n x d`). Fails on NaN and on another number of
    /// columns.
    pub fn map(&self, x: ArrayView2<f32>) -> Result<Array2<f64>> {
        check_finite(x, "Nyström coordinates")?;
        super::check_columns(x.ncols(), self.landmarks.ncols())?;
        Ok(self.of_rows(&x.mapv(f64::from)))
    }

    /// How many coordinates there are.
    pub(super) fn len(&self) -> usize {
        self.map.nrows()
    }

    pub(super) fn put(&self, prefix: &str, arrays: &mut Arrays) {
        arrays.put_matrix(format!("{prefix}landmarks"), &self.landmarks);
        arrays.put_matrix(format!("{prefix}map"), &self.map);
    }

    pub(super) fn of(kernel: Kernel, arrays: &Arrays) -> Result<Self> {
        let own = Self {
            kernel,
            landmarks: arrays.matrix64("landmarks")?,
            map: arrays.matrix64("map")?,
        };
        if own.map.ncols() == own.landmarks.nrows() {
            return Ok(own);
        }
        Err(Error::data("landmarks and their map do not fit"))
    }

    pub(crate) fn columns(&self) -> usize {
        self.landmarks.ncols()
    }

    pub(crate) fn of_rows(&self, x: &Array2<f64>) -> Array2<f64> {
        product_of_many(&self.kernel.of_rows(x, &self.landmarks), &self.map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rows_as_landmarks_are_exact_and_some_project() {
        let x = Array2::from_shape_fn((20, 3), |(i, j)| ((i * i + 5 * j) as f32).sin());
        let silent = Monitor::silent();
        for kernel in Kernel::ALL_FOUR {
            let all = Nystrom::fit(kernel, x.view(), 50, 1, &silent).unwrap();
            let phi = all.map(x.view()).unwrap();
            let k = all.kernel().own(&x.mapv(f64::from));
            let error = phi.dot(&phi.t()) - &k;
            assert!(error.iter().all(|e| e.abs() < 1e-7), "{error}");
            let some = Nystrom::fit(kernel, x.view(), 6, 1, &silent).unwrap();
            let phi = some.map(x.view()).unwrap();
            assert!(phi.ncols() <= 6);
            // A projection is never longer.
            assert!((0..20).all(|i| phi.row(i).dot(&phi.row(i)) <= k[(i, i)] + 1e-9));
        }
    }

    #[test]
    fn numbers_and_rows_are_checked() {
        let silent = Monitor::silent();
        let x = Array2::<f32>::zeros((3, 2));
        assert!(Nystrom::fit(Kernel::Cosine, x.view(), 0, 1, &silent).is_err());
        let none = Array2::zeros((0, 2));
        assert!(Nystrom::fit(Kernel::Cosine, none.view(), 4, 1, &silent).is_err());
        // Rows of zeros have no length for a linear kernel: no coordinates, and no NaN.
        let own = Nystrom::fit(Kernel::Linear, x.view(), 2, 1, &silent).unwrap();
        assert_eq!(own.map(x.view()).unwrap().dim(), (3, 0));
        assert!(own.map(Array2::zeros((2, 3)).view()).is_err());
    }
}
