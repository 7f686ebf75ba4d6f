//! The affine map: what linear methods learn, and what a head starts from.

use ndarray::{Array1, Array2, ArrayView2, s};

use crate::matrix::{check_finite, less_mean, product};
use crate::{Error, Result, parallel};

/// An affine map of rows: subtract the mean, multiply by the matrix.
///
/// ```
/// use likewise::linear::Affine;
/// use ndarray::array;
/// let map = Affine { mean: array![1.0, 0.0], matrix: array![[2.0], [1.0]] };
/// assert_eq!(map.transform(array![[1.5_f32, 3.0]].view())?, array![[4.0]]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Affine {
    /// Subtracted from every row.
    pub mean: Array1<f64>,
    /// `d x d`, or `d x rank`.
    pub matrix: Array2<f64>,
}

impl Affine {
    /// `(x - mean) matrix` for the rows of `x`.
    ///
    /// Computed in `f64`, O(n d rank). Fails if the dimension is another or on NaN.
    pub fn transform(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        let (d, rank) = self.matrix.dim();
        if x.ncols() != d {
            return Err(Error::data(format!(
                "the map takes rows of {d} dimensions, but these have {}",
                x.ncols()
            )));
        }
        check_finite(x, "rows to map")?;
        let mut out = Array2::<f32>::zeros((x.nrows(), rank));
        let transposed = self.matrix.t().as_standard_layout().into_owned();
        let chunks = out.axis_chunks_iter_mut(ndarray::Axis(0), 256).enumerate();
        parallel::each(chunks, |(chunk, mut out)| {
            let from = chunk * 256;
            let rows = less_mean(x.slice(s![from..from + out.nrows(), ..]), &self.mean);
            out.assign(&product(&rows, &transposed).mapv(|v| v as f32));
        });
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn rows_that_do_not_fit_are_refused_and_none_stay_none() {
        let map = Affine {
            mean: array![1.0, 2.0, 3.0],
            matrix: Array2::eye(3),
        };
        let wrong = map.transform(Array2::zeros((1, 2)).view()).unwrap_err();
        let said = "the map takes rows of 3 dimensions, but these have 2";
        assert_eq!(wrong.to_string(), said);
        let broken = map.transform(array![[0.0, f32::NAN, 0.0]].view());
        let said = broken.unwrap_err().to_string();
        assert!(
            said.starts_with("rows to map: row 0, column 1 is NaN"),
            "{said}"
        );
        let empty = map.transform(Array2::zeros((0, 3)).view()).unwrap();
        assert_eq!(empty.dim(), (0, 3));
    }
}
