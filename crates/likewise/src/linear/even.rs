//! Columns of different units brought to one scale, where they need it.

use ndarray::{Array1, ArrayView2, Axis, azip};
use rayon::prelude::*;

/// Mean of each column of `x` (`n x d`), and what its columns are multiplied by once that is taken
/// off: ones, or where one column alone varies more than all others together, one over the standard
/// deviation of each (1 for a constant one). O(n d), in `f64`.
///
/// The cosine of rows whose columns have different units would see nothing but the largest.
///
/// ```
/// use likewise::linear::even;
/// let x = ndarray::array![[900.0, 1.0, 0.0], [1100.0, 0.0, 1.0_f32]];
/// let (mean, scale) = even(x.view());
/// assert_eq!(mean.to_vec(), [1000.0, 0.5, 0.5]);
/// assert_eq!(scale.to_vec(), [0.01, 2.0, 2.0]);
/// ```
pub fn even(x: ArrayView2<f32>) -> (Array1<f64>, Array1<f64>) {
    let n = x.nrows().max(1) as f64;
    let columns = x.axis_iter(Axis(1)).into_par_iter();
    let (mean, variance): (Vec<f64>, Vec<f64>) = columns
        .map(|column| {
            let mean = column.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
            let squares = column.iter().map(|&v| (f64::from(v) - mean).powi(2));
            (mean, squares.sum::<f64>() / n)
        })
        .unzip();
    let mut scale = Array1::ones(x.ncols());
    if is_uneven(&variance) {
        azip!((scale in &mut scale, &v in &Array1::from(variance)) {
            if v > 0.0 {
                *scale = v.sqrt().recip();
            }
        });
    }
    (Array1::from(mean), scale)
}

/// Whether one of at least three columns alone varies more than all others together: columns of
/// different units, of which the cosine would see nothing but that one.
pub fn is_uneven(variances: &[f64]) -> bool {
    let most = variances.iter().copied().fold(0.0, f64::max);
    variances.len() > 2 && most > variances.iter().sum::<f64>() / 2.0
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn only_uneven_columns_are_scaled() {
        let (mean, scale) = even(array![[1.0, 0.0, 3.0], [0.0, 1.0, 3.0_f32]].view());
        assert_eq!(
            (mean.to_vec(), scale.to_vec()),
            (vec![0.5, 0.5, 3.0], vec![1.0; 3])
        );
        // Two columns are no majority of one.
        assert_eq!(
            even(array![[9.0, 0.0], [0.0, 0.0_f32]].view()).1.to_vec(),
            [1.0, 1.0]
        );
        // A constant column stays as it is.
        let (_, scale) = even(array![[8.0, 0.0, 1.0], [0.0, 0.0, 0.0_f32]].view());
        assert_eq!(scale.to_vec(), [0.25, 1.0, 2.0]);
        assert_eq!(even(ndarray::Array2::zeros((0, 2)).view()).1.len(), 2);
    }
}
