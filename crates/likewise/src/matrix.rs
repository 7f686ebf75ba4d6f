//! Small steps on row matrices (`items x dimensions`, `f32`) that every stage needs.

use ndarray::{Array1, Array2, ArrayView2, Axis, Zip};
use rayon::prelude::*;

use crate::{Error, Result};

/// Fails on the first NaN or infinite value, naming its row and column.
///
/// ```
/// let x = ndarray::array![[1.0, 2.0], [f32::NAN, 0.0]];
/// let e = likewise::matrix::check_finite(x.view(), "X").unwrap_err();
/// assert_eq!(e.to_string(), "X: row 1, column 0 is NaN; remove or fill such values");
/// ```
pub fn check_finite(x: ArrayView2<f32>, name: &str) -> Result<()> {
    let bad = x
        .axis_iter(Axis(0))
        .into_par_iter()
        .enumerate()
        .find_map_first(|(row, values)| {
            let column = values.iter().position(|v| !v.is_finite())?;
            Some((row, column, values[column]))
        });
    match bad {
        None => Ok(()),
        Some((row, column, value)) => Err(Error::data(format!(
            "{name}: row {row}, column {column} is {value}; remove or fill such values"
        ))),
    }
}

/// Scales every row to unit Euclidean length; rows of zeros stay zeros.
///
/// The length is accumulated in `f64`, so that huge and tiny rows work too.
pub fn l2_normalize(mut x: Array2<f32>) -> Array2<f32> {
    x.axis_iter_mut(Axis(0))
        .into_par_iter()
        .for_each(|mut row| {
            let norm = row
                .iter()
                .map(|&v| f64::from(v).powi(2))
                .sum::<f64>()
                .sqrt();
            if norm > 0.0 {
                row.mapv_inplace(|v| (f64::from(v) / norm) as f32);
            }
        });
    x
}

/// The mean of all rows, accumulated in `f64`. Zero for no rows.
pub fn column_means(x: ArrayView2<f32>) -> Array1<f64> {
    let mut sum = Array1::<f64>::zeros(x.ncols());
    for row in x.rows() {
        Zip::from(&mut sum)
            .and(&row)
            .for_each(|s, &v| *s += f64::from(v));
    }
    sum / (x.nrows().max(1) as f64)
}

/// Copies the rows at `rows`, in that order.
pub fn select_rows(x: ArrayView2<f32>, rows: &[usize]) -> Array2<f32> {
    x.select(Axis(0), rows)
}
