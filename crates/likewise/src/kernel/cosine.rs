//! The coordinates of the shifted cosine, of which there are as many as columns, and one.
//!
//! ```text
//! phi(x) = [x / |x|, 1] / sqrt(2)          phi(x) . phi(y) = (cos(x, y) + 1) / 2
//! ```
//!
//! Exact but for two rows of zeros, whose kernel is 1 and whose product here is 1/2.
//!
//! **Use it** wherever the kernel is the [cosine](super::Kernel::Cosine). **Not** for any other.
//!
//! Cost: O(n d).

use ndarray::{Array2, ArrayView2, s};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::matrix::check_finite;

/// The map; see [`cosine`](self).
///
/// ```
/// let x = ndarray::array![[3.0, 4.0], [0.0, 2.0_f32]];
/// let phi = likewise::kernel::Cosine.map(x.view())?;
/// assert!((phi.row(0).dot(&phi.row(1)) - 0.9).abs() < 1e-12);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cosine;

impl Cosine {
    /// Coordinates (`n x (d + 1)`) of rows (`n x d`). Fails on NaN.
    pub fn map(self, x: ArrayView2<f32>) -> Result<Array2<f64>> {
        check_finite(x, "cosine")?;
        Ok(of_rows(&x.mapv(f64::from)))
    }
}

/// As [`Cosine::map`], of rows that were checked.
pub(crate) fn of_rows(x: &Array2<f64>) -> Array2<f64> {
    let (n, d) = x.dim();
    let mut phi = Array2::from_elem((n, d + 1), 0.5_f64.sqrt());
    phi.slice_mut(s![.., ..d]).assign(x);
    for mut row in phi.rows_mut() {
        let mut row = row.slice_mut(s![..d]);
        let length = row.dot(&row).sqrt();
        if length > 0.0 {
            row *= 0.5_f64.sqrt() / length;
        }
    }
    phi
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    #[test]
    fn products_are_the_kernel() {
        let x = Array2::from_shape_fn((7, 3), |(i, j)| ((i * i + 5 * j + 1) as f64).sin());
        let phi = of_rows(&x);
        let error = phi.dot(&phi.t()) - Kernel::Cosine.own(&x);
        assert!(error.iter().all(|e| e.abs() < 1e-12));
        let zeros = of_rows(&Array2::zeros((1, 3)));
        assert!((zeros.row(0).dot(&phi.row(0)) - 0.5).abs() < 1e-12);
        assert!(Cosine.map(ndarray::array![[f32::NAN]].view()).is_err());
    }
}
