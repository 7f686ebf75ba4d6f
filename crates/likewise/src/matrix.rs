//! Small steps on row matrices (`items x dimensions`, `f32`) that every stage needs.

use faer::{Accum, MatMut, MatRef};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Zip};
use serde::{Deserialize, Serialize};

use crate::matmul::matmul;
use crate::{Error, Result, parallel};

/// Fails on the first NaN or infinite value, naming its row and column.
///
/// ```
/// let x = ndarray::array![[1.0, 2.0], [f32::NAN, 0.0]];
/// let e = likewise::matrix::check_finite(x.view(), "X").unwrap_err();
/// assert_eq!(e.to_string(), "X: row 1, column 0 is NaN; remove or fill such values");
/// ```
pub fn check_finite(x: ArrayView2<f32>, name: &str) -> Result<()> {
    let bad = parallel::find_row(x.nrows(), |row| {
        let values = x.row(row);
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
    parallel::each_row(&mut x, |_, mut row| {
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

/// How features are read before all else.
///
/// ```text
/// x = sign(x) |x|^power           1: the values as they are
/// x = x / |x|                     where `unit` is set
/// ```
///
/// Pooled activations of a network, and counts, have a few large values that outweigh all
/// others; their roots (power .5) share better. Rows whose lengths say nothing of what they are
/// about are better compared by their directions alone, before a mean is taken off.
///
/// ```
/// use likewise::matrix::Reading;
/// let read = Reading { power: 0.5, unit: true };
/// assert_eq!(read.rows(ndarray::array![[9.0, -16.0]]), ndarray::array![[0.6, -0.8]]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Power of the sizes of the values, above 0 to 1.
    pub power: f64,
    /// Whether rows are brought to unit length.
    #[serde(default)]
    pub unit: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            power: 1.0,
            unit: false,
        }
    }
}

impl Reading {
    /// The rows as they are read.
    pub fn rows(self, x: Array2<f32>) -> Array2<f32> {
        let x = powered(x, self.power);
        if self.unit { l2_normalize(x) } else { x }
    }

    /// Whether rows stay what they are, but for their lengths.
    pub fn keeps_directions(self) -> bool {
        self.power >= 1.0
    }
}

/// Every value to a power of its size, its sign kept: `sign(x) |x|^power`; 1 changes nothing.
pub fn powered(mut x: Array2<f32>, power: f64) -> Array2<f32> {
    let power = power as f32;
    if power < 1.0 {
        x.mapv_inplace(|v| v.abs().powf(power).copysign(v));
    }
    x
}

/// Euclidean length of every row, accumulated in `f64`: a row of 1e-30 has its length, and no
/// row but one of zeros has 0.
pub fn lengths(x: ArrayView2<f32>) -> Vec<f64> {
    let square = |row: ArrayView1<f32>| row.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>();
    parallel::map_rows(x.nrows(), |i| square(x.row(i)).sqrt())
}

/// How many times as long as the middle one a row must be to be taken for broken.
const OUTSIZE: f64 = 1e3;

/// The rows that are more than a thousand times as long as the middle one: broken ones (a wrong
/// unit, a damaged file), one of which makes the covariance of all that of its own direction.
///
/// The middle one is the median of the rows that are not zeros. No row of data that somebody
/// scaled is like that, but sums over heavy tails (counts of words) may be: look before you
/// remove. Ascending; O(n d).
///
/// ```
/// let x = ndarray::array![[1.0, 0.0], [0.0, 2.0], [0.0, 0.0], [1e30, 0.0], [1.5, 1.0]];
/// assert_eq!(likewise::matrix::outsized(x.view()), [3]);
/// ```
pub fn outsized(x: ArrayView2<f32>) -> Vec<usize> {
    let lengths = lengths(x);
    let mut ordered: Vec<f64> = lengths.iter().copied().filter(|&l| l > 0.0).collect();
    if ordered.is_empty() {
        return Vec::new();
    }
    // Of an even number the smaller of the two: of two rows one may still be broken.
    let middle = (ordered.len() - 1) / 2;
    let (_, &mut median, _) = ordered.select_nth_unstable_by(middle, f64::total_cmp);
    let rows = lengths.iter().enumerate();
    rows.filter(|&(_, &l)| l > OUTSIZE * median)
        .map(|(row, _)| row)
        .collect()
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

/// `x` with the mean of every column taken off. O(n d).
///
/// ```
/// let x = ndarray::array![[1.0, 5.0], [3.0, 5.0]];
/// assert_eq!(likewise::matrix::centered(x.view()), ndarray::array![[-1.0, 0.0], [1.0, 0.0]]);
/// ```
pub fn centered(x: ArrayView2<f32>) -> Array2<f32> {
    let mean = column_means(x);
    Array2::from_shape_fn(x.dim(), |(i, j)| (f64::from(x[[i, j]]) - mean[j]) as f32)
}

/// `x` with `mean` taken off every row.
pub(crate) fn less_mean(x: ArrayView2<f32>, mean: &Array1<f64>) -> Array2<f64> {
    Array2::from_shape_fn(x.dim(), |(i, j)| f64::from(x[[i, j]]) - mean[j])
}

/// `a b^T` of two matrices, on this thread.
pub(crate) fn product(a: &Array2<f64>, b: &Array2<f64>) -> Array2<f64> {
    let mut out = Array2::zeros((a.nrows(), b.nrows()));
    let (rows, columns) = out.dim();
    // One that lies column by column, as a selection of columns does, is copied.
    let (a, b) = (a.as_standard_layout(), b.as_standard_layout());
    if let (Some(left), Some(right), Some(out)) = (a.as_slice(), b.as_slice(), out.as_slice_mut()) {
        let left = MatRef::from_row_major_slice(left, rows, a.ncols());
        let right = MatRef::from_row_major_slice(right, columns, b.ncols());
        let out = MatMut::from_row_major_slice_mut(out, rows, columns);
        matmul(out, Accum::Replace, left, right.transpose(), 1.0);
    }
    out
}

/// As [`product`], on all threads: each block of rows is one task.
pub(crate) fn product_of_many(a: &Array2<f64>, b: &Array2<f64>) -> Array2<f64> {
    let mut out = Array2::zeros((a.nrows(), b.nrows()));
    let blocks = out.axis_chunks_iter_mut(Axis(0), 256);
    let parts = a.axis_chunks_iter(Axis(0), 256);
    let both = blocks.into_iter().zip(parts);
    parallel::each(both, |(mut out, a)| out.assign(&product(&a.to_owned(), b)));
    out
}

/// The squared distance of two rows, in lanes that add up in a fixed order.
pub(crate) fn squared_distance<T: Copy + Into<f64>>(a: ArrayView1<T>, b: ArrayView1<T>) -> f64 {
    const LANES: usize = 8;
    let term = |a: T, b: T| {
        let apart: f64 = a.into() - b.into();
        apart * apart
    };
    let (Some(a), Some(b)) = (a.as_slice(), b.as_slice()) else {
        return a.iter().zip(b).map(|(&a, &b)| term(a, b)).sum();
    };
    let mut lanes = [0.0; LANES];
    let (chunks, rest) = a.as_chunks::<LANES>();
    let (others, other_rest) = b.as_chunks::<LANES>();
    for (a, b) in chunks.iter().zip(others) {
        for lane in 0..LANES {
            lanes[lane] += term(a[lane], b[lane]);
        }
    }
    let rest: f64 = rest.iter().zip(other_rest).map(|(&a, &b)| term(a, b)).sum();
    lanes.iter().sum::<f64>() + rest
}

/// Copies the rows at `rows`, in that order.
pub fn select_rows(x: ArrayView2<f32>, rows: &[usize]) -> Array2<f32> {
    x.select(Axis(0), rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_rows_have_a_length_and_are_not_outsized() {
        let mut x = Array2::from_shape_fn((300, 8), |(i, j)| 1e-30 * (1.0 + ((i + j) % 5) as f32));
        let tiny = lengths(x.view());
        assert!(tiny.iter().all(|&l| l > 2e-30 && l < 2e-29));
        assert!(outsized(x.view()).is_empty());
        x.row_mut(7).fill(0.0);
        x.row_mut(9).fill(1.0);
        x.row_mut(11).fill(1e38);
        assert_eq!(lengths(x.view())[7].to_bits(), 0);
        assert_eq!(outsized(x.view()), [9, 11]);
    }

    #[test]
    fn a_product_is_the_same_however_its_matrices_lie() {
        let a = Array2::from_shape_fn((300, 5), |(i, j)| (i * 7 + j * 3) as f64 % 11.0);
        let b = Array2::from_shape_fn((4, 5), |(i, j)| (i * 5 + j) as f64 % 7.0);
        let by_columns = |x: &Array2<f64>| x.t().as_standard_layout().into_owned().reversed_axes();
        let expected = a.dot(&b.t());
        for (a, b) in [
            (a.clone(), b.clone()),
            (by_columns(&a), b.clone()),
            (a.clone(), by_columns(&b)),
            (by_columns(&a), by_columns(&b)),
        ] {
            assert_eq!(product(&a, &b), expected);
            assert_eq!(product_of_many(&a, &b), expected);
        }
    }

    #[test]
    fn few_rows_and_zeros() {
        assert!(outsized(Array2::zeros((0, 3)).view()).is_empty());
        assert!(outsized(Array2::zeros((4, 3)).view()).is_empty());
        assert!(outsized(ndarray::array![[5.0_f32]].view()).is_empty());
        assert_eq!(outsized(ndarray::array![[5.0], [1e9]].view()), [1]);
        let mostly_zeros = ndarray::array![[0.0], [0.0], [0.0], [1.0], [2.0]];
        assert!(outsized(mostly_zeros.view()).is_empty());
    }
}
