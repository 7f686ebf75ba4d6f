//! Shrunk whitening: the baseline without labels that a method has to beat.
//!
//! `W = s (C + eps tr(C)/d I)^(-1/2)` with the covariance `C` and the mean of the fitting
//! items, and `s = sqrt((1 + eps) tr(C)/d)`, so that `W` tends to the identity for large
//! `eps`. Directions in which everything varies are turned down, so rare ones are heard;
//! `eps` keeps noise from being blown up. On frozen image features this has beaten heads
//! trained from five labels a class, and on others it has hurt: choose `eps` (infinity
//! included) on validation, never on test.
//!
//! Columns of different units (an area beside an angle) make the covariance that of the
//! largest one. [`Spectrum::fit_standardized`] divides every column by its standard
//! deviation first, `C` then being the correlation.
//!
//! Use it as a baseline and as a start for linear heads. Not where the raw origin carries
//! meaning, nor where there are fewer fitting items than about twice the dimensions and
//! `eps` is small.
//!
//! # Cost
//! With m the smaller of n and d: O(n d m + m^3) in `f64`, once for any number of `eps`; memory
//! O(d m + block x d).

use std::num::NonZeroUsize;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::{householder, qr::no_pivoting::factor as qr};
use faer::{Accum, Conj, Mat, MatMut, MatRef, Par};
use ndarray::{Array1, Array2, ArrayView2, s};
use rayon::prelude::*;

use super::Affine;
use crate::matmul::matmul;
use crate::matrix::{
    check_finite, column_means, less_mean, outsized, product, product_of_many, select_rows,
};
use crate::{Error, ErrorKind, Result, parallel};

/// Rows that are centred in `f64` at a time.
const ROWS: usize = 2048;
/// Rows of these that one task writes.
const WRITTEN: usize = 64;
/// Columns of the covariance that one task computes.
const COLUMNS: usize = 64;

/// Mean, variances and principal directions of a set of rows.
///
/// Computed in `f64`, the same to the last bit for any number of threads.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// Mean of the rows.
    pub mean: Array1<f64>,
    /// What each column is multiplied by after the mean is taken off: 1, or one over its
    /// standard deviation (1 for a constant column).
    pub scale: Array1<f64>,
    /// Variances (eigenvalues of the covariance, divisor n), descending, at least 0: d of
    /// them, or with fewer rows than columns those above 0.
    pub variances: Array1<f64>,
    /// Unit directions, one a column (`d x variances`), in the order of the variances. Nothing
    /// varies at right angles to them.
    pub directions: Array2<f64>,
}

impl Spectrum {
    /// The spectrum of the rows of `x` (`n x d`).
    ///
    /// Fails on NaN and without rows or columns.
    pub fn fit(x: ArrayView2<f32>) -> Result<Self> {
        check(x)?;
        let mean = column_means(x);
        let scale = Array1::ones(x.ncols());
        if x.nrows() < x.ncols() {
            return Self::of_rows(less_mean(x, &mean), mean, scale);
        }
        Self::of_covariance(&covariance(x, &mean), mean, scale)
    }

    /// The spectrum of the rows of `x` (`n x d`) with every column divided by its standard
    /// deviation.
    ///
    /// Fails on NaN and without rows or columns.
    pub fn fit_standardized(x: ArrayView2<f32>) -> Result<Self> {
        check(x)?;
        let (n, d) = x.dim();
        let mean = column_means(x);
        let inverse = |variance: f64| {
            if variance > 0.0 {
                variance.sqrt().recip()
            } else {
                1.0
            }
        };
        if n < d {
            let mut rows = less_mean(x, &mean);
            let squares = rows.columns().into_iter().map(|c| c.dot(&c) / n as f64);
            let scale: Array1<f64> = squares.map(inverse).collect();
            rows *= &scale;
            return Self::of_rows(rows, mean, scale);
        }
        let mut covariance = covariance(x, &mean);
        let scale = Array1::from_shape_fn(d, |j| inverse(covariance[(j, j)]));
        for j in 0..d {
            for i in j..d {
                covariance[(i, j)] *= scale[i] * scale[j];
            }
        }
        Self::of_covariance(&covariance, mean, scale)
    }

    /// As [`fit`](Self::fit) or, with `standardized`, [`fit_standardized`](Self::fit_standardized),
    /// of the rows that are not [`outsized`], and which rows were left out
    /// for that.
    ///
    /// A single row of 1e30 is otherwise the first direction, the mean and the scale of all. The
    /// same to the last bit as those two where no row is left out. Fails as they do.
    ///
    /// ```
    /// use likewise::linear::whitening::Spectrum;
    /// let x = ndarray::array![[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0], [1e30, 1e30]];
    /// let (spectrum, left_out) = Spectrum::fit_sound(x.view(), false)?;
    /// assert_eq!(left_out, [4]);
    /// assert_eq!(spectrum.mean.to_vec(), [0.0, 0.0]);
    /// assert!((spectrum.variances[0] - 2.0).abs() < 1e-12);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn fit_sound(x: ArrayView2<f32>, standardized: bool) -> Result<(Self, Vec<usize>)> {
        let fit = if standardized {
            Self::fit_standardized
        } else {
            Self::fit
        };
        let left_out = outsized(x);
        if left_out.is_empty() {
            return Ok((fit(x)?, left_out));
        }
        check(x)?;
        let sound = |row: &usize| left_out.binary_search(row).is_err();
        let rows: Vec<usize> = (0..x.nrows()).filter(sound).collect();
        Ok((fit(select_rows(x, &rows).view())?, left_out))
    }

    /// The spectrum of the mean of `r r^T` over the `n` rows of `d` that `row` writes, which are
    /// taken as centred.
    pub(crate) fn of_centered(
        n: usize,
        d: usize,
        row: impl Fn(usize, &mut [f64]) + Sync,
    ) -> Result<Self> {
        let (mean, scale) = (Array1::zeros(d), Array1::ones(d));
        if n >= d {
            return Self::of_covariance(&mean_square(n, d, row), mean, scale);
        }
        let mut rows = Array2::zeros((n, d));
        let each = rows.as_slice_mut().into_iter();
        each.flat_map(|rows| rows.chunks_exact_mut(d).enumerate())
            .for_each(|(i, out)| row(i, out));
        Self::of_rows(rows, mean, scale)
    }

    /// From the lower triangle of the covariance of the scaled columns.
    fn of_covariance(covariance: &Mat<f64>, mean: Array1<f64>, scale: Array1<f64>) -> Result<Self> {
        let (variances, directions) = eigen(covariance)?;
        let d = mean.len();
        Ok(Self {
            mean,
            scale,
            variances: Array1::from_shape_fn(d, |i| variances[d - 1 - i].max(0.0)),
            directions: Array2::from_shape_fn((d, d), |(i, j)| directions[(i, d - 1 - j)]),
        })
    }

    /// From fewer rows (centred and scaled) than columns, whose products with each other
    /// (`n x n`) have the same eigenvalues.
    fn of_rows(rows: Array2<f64>, mean: Array1<f64>, scale: Array1<f64>) -> Result<Self> {
        let n = rows.nrows();
        let (variances, combinations) = eigen(&products(&rows))?;
        let kept = above_rounding(&variances);
        let weights = Array2::from_shape_fn((kept.len(), n), |(j, i)| {
            combinations[(i, kept[j])] / (n as f64 * variances[kept[j]]).sqrt()
        });
        let columns = rows.t().as_standard_layout().into_owned();
        Ok(Self {
            mean,
            scale,
            variances: kept.iter().map(|&i| variances[i]).collect(),
            directions: product(&columns, &weights),
        })
    }

    /// The same with a direction for each column: those at right angles to all that vary come last, in
    /// some order, with a variance of 0.
    ///
    /// Nothing of the rows that were fitted varies along them, but other rows may, half of their
    /// length on faces of 160 rows and 512 columns, and [`truncated`](Self::truncated) then keeps it. **Not** for
    /// thousands of columns, since a map then holds the square of them.
    ///
    /// # Cost
    /// O(d^2 m), m the directions that vary. Nothing where there are d of them.
    ///
    /// ```
    /// use likewise::linear::whitening::Spectrum;
    /// let two_rows = Spectrum::fit(ndarray::array![[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]].view())?;
    /// let new = ndarray::array![[0.0, 3.0, 4.0]];
    /// let length = |s: &Spectrum| -> likewise::Result<f32> {
    ///     let row = s.truncated(f64::INFINITY, 3)?.transform(new.view())?;
    ///     Ok(row.mapv(|v| v * v).sum().sqrt())
    /// };
    /// assert!(length(&two_rows)? < 1e-6);
    /// assert!((length(&two_rows.completed())? - 5.0).abs() < 1e-5);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn completed(self) -> Self {
        let (d, m) = self.directions.dim();
        let beside = beside(&self.directions);
        let direction = |(i, j): (usize, usize)| {
            if j < m {
                self.directions[(i, j)]
            } else {
                beside[(i, j - m)]
            }
        };
        let variance = |i: usize| if i < m { self.variances[i] } else { 0.0 };
        Self {
            variances: Array1::from_shape_fn(d, variance),
            directions: Array2::from_shape_fn((d, d), direction),
            mean: self.mean,
            scale: self.scale,
        }
    }

    /// The whitening with shrinkage `eps` over all directions: a symmetric `d x d` matrix.
    ///
    /// `eps` = infinity only centres. Fails unless `eps` is above 0.
    ///
    /// ```
    /// use likewise::linear::whitening::Spectrum;
    /// let x = ndarray::array![[10.0, 0.1], [-10.0, 0.1], [0.0, 0.1], [0.0, -0.3]];
    /// let map = Spectrum::fit(x.view())?.whitening(1e-9)?;
    /// let y = map.transform(x.view())?;
    /// // Both columns vary alike now.
    /// assert!((y.column(0).std(0.0) - y.column(1).std(0.0)).abs() < 1e-3);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn whitening(&self, eps: f64) -> Result<Affine> {
        let (gains, other) = self.gains(eps)?;
        if eps.is_infinite() {
            return Ok(self.map(Array2::eye(self.mean.len())));
        }
        Ok(self.map(self.symmetric(&gains, other)))
    }

    /// The symmetric matrix with these eigenvalues along the directions, and `other` at right
    /// angles to them all.
    pub(crate) fn symmetric(&self, along: &Array1<f64>, other: f64) -> Array2<f64> {
        let mut matrix = product(&(&self.directions * &(along - other)), &self.directions);
        matrix.diag_mut().mapv_inplace(|v| v + other);
        matrix
    }

    /// The whitening within the first `rank` directions, or all that vary where these are
    /// fewer: a `d x rank` matrix whose columns are the scaled principal directions.
    ///
    /// Fails unless `eps` is above 0 and `rank` is from 1 to d.
    pub fn truncated(&self, eps: f64, rank: usize) -> Result<Affine> {
        let (gains, _) = self.gains(eps)?;
        let d = self.mean.len();
        if rank == 0 || rank > d {
            let rule = format!("must be from 1 to the number of dimensions, {d}");
            return Err(Error::parameter("rank", rank, &rule));
        }
        // A map to nothing would be none: where nothing varies, any direction is as good.
        let matrix = if gains.is_empty() {
            Array2::from_shape_fn((d, 1), |(i, _)| f64::from(u8::from(i == 0)))
        } else {
            let kept = rank.min(gains.len());
            &self.directions.slice(s![.., ..kept]) * &gains.slice(s![..kept])
        };
        Ok(self.map(matrix))
    }

    /// Rows of `x` whitened over all directions for several `eps`, in the order of the
    /// directions instead of the columns: all products of rows are those of
    /// [`whitening`](Self::whitening), but the work of the second and further `eps` is small.
    ///
    /// Fails unless all `eps` are above 0, on NaN, and where the dimension is another.
    pub fn rotated(&self, x: ArrayView2<f32>, eps: &[f64]) -> Result<Vec<Array2<f32>>> {
        let (n, d) = x.dim();
        if d != self.mean.len() {
            return Err(Error::data(format!(
                "the spectrum is of {} dimensions, but the rows have {d}",
                self.mean.len()
            )));
        }
        check_finite(x, "whitening")?;
        let rows = less_mean(x, &self.mean) * &self.scale;
        let transposed = self.directions.t().as_standard_layout().into_owned();
        let along = product_of_many(&rows, &transposed);
        // What is left at right angles to all directions.
        let beside =
            (self.variances.len() < d).then(|| rows - product_of_many(&along, &self.directions));
        let one = |&eps: &f64| {
            let (gains, other) = self.gains(eps)?;
            let along = (&along * &gains).mapv(|v| v as f32);
            let Some(beside) = &beside else {
                return Ok(along);
            };
            let beside = beside.mapv(|v| (v * other) as f32);
            let joined = ndarray::concatenate(ndarray::Axis(1), &[along.view(), beside.view()]);
            joined.map_err(|e| Error::new(ErrorKind::Internal, format!("{n} rows: {e}")))
        };
        eps.iter().map(one).collect()
    }

    fn map(&self, matrix: Array2<f64>) -> Affine {
        Affine {
            mean: self.mean.clone(),
            matrix: matrix * self.scale.view().insert_axis(ndarray::Axis(1)),
        }
    }

    /// `sqrt((1 + eps) t / (variance + eps t))`, t being the mean variance: along the
    /// directions, and at right angles to them all (0 where there is no such place).
    fn gains(&self, eps: f64) -> Result<(Array1<f64>, f64)> {
        if eps.is_nan() || eps <= 0.0 {
            let rule = "must be above 0 (infinity only centres)";
            return Err(Error::parameter("eps", eps, rule));
        }
        let d = self.mean.len();
        let mean = self.variances.sum() / d as f64;
        let gain = |variance: f64| {
            if eps.is_infinite() || mean <= 0.0 {
                return 1.0;
            }
            ((1.0 + eps) / (variance / mean + eps)).sqrt()
        };
        let whole = self.variances.len() == d;
        Ok((
            self.variances.mapv(gain),
            if whole { 0.0 } else { gain(0.0) },
        ))
    }
}

fn check(x: ArrayView2<f32>) -> Result<()> {
    if x.is_empty() {
        return Err(Error::data(format!(
            "a covariance needs rows and columns, but the matrix is {} x {}",
            x.nrows(),
            x.ncols()
        )));
    }
    check_finite(x, "covariance")
}

/// The variances of [`Spectrum::fit`] without the directions, which take most of its time.
pub(crate) fn variances(x: ArrayView2<f32>) -> Result<Array1<f64>> {
    check(x)?;
    let mean = column_means(x);
    if x.nrows() < x.ncols() {
        let variances = decompose(&products(&less_mean(x, &mean)), None)?;
        let kept = above_rounding(&variances);
        return Ok(kept.iter().map(|&i| variances[i]).collect());
    }
    let variances = decompose(&covariance(x, &mean), None)?;
    Ok(variances.iter().rev().map(|v| v.max(0.0)).collect())
}

/// Which eigenvalues (ascending) of the products of rows are not the rounding of zeros, of which
/// centring alone makes one; the largest first.
fn above_rounding(variances: &[f64]) -> Vec<usize> {
    let n = variances.len();
    let largest = variances.last().map_or(0.0, |v| v.max(0.0));
    let least = largest * n as f64 * f64::EPSILON;
    (0..n).rev().filter(|&i| variances[i] > least).collect()
}

/// Orthonormal columns at right angles to these, which are orthonormal: the last `d - m` of the Q of
/// their decomposition.
fn beside(directions: &Array2<f64>) -> Mat<f64> {
    let (d, m) = directions.dim();
    let mut rest = Mat::from_fn(d, d - m, |i, j| f64::from(u8::from(i == m + j)));
    if m == 0 || m == d {
        return rest;
    }
    let mut basis = Mat::from_fn(d, m, |i, j| directions[(i, j)]);
    let block = qr::recommended_block_size::<f64>(d, m);
    let mut weights = Mat::<f64>::zeros(block, m);
    let params = faer::Spec::default();
    // One thread: what is cut into parts differs in its last bits.
    let need = qr::qr_in_place_scratch::<f64>(d, m, block, Par::Seq, params);
    let mut memory = MemBuffer::new(need);
    let stack = MemStack::new(&mut memory);
    qr::qr_in_place(basis.as_mut(), weights.as_mut(), Par::Seq, stack, params);
    let need = householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(
        d,
        block,
        d - m,
    );
    let mut memory = MemBuffer::new(need);
    householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
        basis.as_ref(),
        weights.as_ref(),
        Conj::No,
        rest.as_mut(),
        Par::Seq,
        MemStack::new(&mut memory),
    );
    rest
}

/// Eigenvalues of a symmetric matrix by its lower triangle, ascending, and unit eigenvectors,
/// one a column.
fn eigen(of: &Mat<f64>) -> Result<(Vec<f64>, Mat<f64>)> {
    let mut vectors = Mat::<f64>::zeros(of.nrows(), of.nrows());
    let values = decompose(of, Some(vectors.as_mut()))?;
    Ok((values, vectors))
}

/// The parts that a decomposition of `d` rows is cut into. Their number follows from the size
/// alone: the bits of the result depend on it, and must not depend on the number of threads.
fn parts(d: usize) -> Par {
    const LEAST: usize = 512;
    const PARTS: NonZeroUsize = NonZeroUsize::new(8).expect("8 is not 0");
    if d < LEAST {
        Par::Seq
    } else {
        Par::Rayon(PARTS)
    }
}

/// Eigenvalues of a symmetric matrix by its lower triangle, ascending, and where asked for its
/// unit eigenvectors, one a column.
fn decompose(of: &Mat<f64>, vectors: Option<MatMut<f64>>) -> Result<Vec<f64>> {
    let d = of.nrows();
    let mut values = faer::diag::Diag::<f64>::zeros(d);
    let params = faer::Spec::default();
    let wanted = match vectors {
        Some(_) => ComputeEigenvectors::Yes,
        None => ComputeEigenvectors::No,
    };
    let need = self_adjoint_evd_scratch::<f64>(d, wanted, parts(d), params);
    let mut memory = MemBuffer::try_new(need)
        .map_err(|_| Error::new(ErrorKind::Memory, "no memory for the eigenvectors"))?;
    self_adjoint_evd(
        of.as_ref(),
        values.as_mut(),
        vectors,
        parts(d),
        MemStack::new(&mut memory),
        params,
    )
    .map_err(|e| {
        let message = format!("the eigenvalues of the covariance were not found: {e:?}");
        Error::new(ErrorKind::Internal, message)
    })?;
    let values = values.column_vector();
    Ok((0..d).map(|i| values[i]).collect())
}

/// The lower triangle of the products of rows, over their number; each panel of columns is one
/// task, whatever the number of threads.
fn products(rows: &Array2<f64>) -> Mat<f64> {
    let (n, d) = rows.dim();
    let mut sum = Mat::<f64>::zeros(n, n);
    if let Some(rows) = rows.as_slice() {
        let rows = MatRef::from_row_major_slice(rows, n, d);
        let panels = sum.as_mut().par_col_chunks_mut(COLUMNS).enumerate();
        panels.for_each(|(p, panel)| {
            let top = p * COLUMNS;
            let width = panel.ncols();
            let left = rows.subrows(top, n - top);
            let right = rows.subrows(top, width).transpose();
            let out = panel.subrows_mut(top, n - top);
            matmul(out, Accum::Replace, left, right, 1.0 / n as f64);
        });
    }
    sum
}

/// The lower triangle of the mean of `r r^T` over the rows that `row` writes, summed over
/// blocks of rows in their order; each panel of columns is one task, whatever the number of
/// threads.
fn mean_square(n: usize, d: usize, row: impl Fn(usize, &mut [f64]) + Sync) -> Mat<f64> {
    let mut sum = Mat::<f64>::zeros(d, d);
    for from in (0..n).step_by(ROWS) {
        let to = (from + ROWS).min(n);
        let mut rows = vec![0.0; (to - from) * d];
        let chunks = rows.chunks_mut(WRITTEN * d).enumerate();
        parallel::each(chunks, |(chunk, out)| {
            for (i, out) in (from + chunk * WRITTEN..).zip(out.chunks_mut(d)) {
                row(i, out);
            }
        });
        let rows = MatRef::from_row_major_slice(&rows, to - from, d);
        let panels = sum.as_mut().par_col_chunks_mut(COLUMNS).enumerate();
        panels.for_each(|(p, panel)| {
            let top = p * COLUMNS;
            let width = panel.ncols();
            let out = panel.subrows_mut(top, d - top);
            let left = rows.subcols(top, d - top).transpose();
            let right = rows.subcols(top, width);
            matmul(out, Accum::Add, left, right, 1.0 / n as f64);
        });
    }
    sum
}

/// The lower triangle of the covariance.
fn covariance(x: ArrayView2<f32>, mean: &Array1<f64>) -> Mat<f64> {
    mean_square(x.nrows(), x.ncols(), |i, out| {
        for ((o, &v), m) in out.iter_mut().zip(x.row(i)).zip(mean) {
            *o = f64::from(v) - m;
        }
    })
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;
    use crate::seed;
    use rand::RngExt;

    fn data(n: usize, d: usize) -> Array2<f32> {
        let mut rng = seed::stream(11, "whitening");
        Array2::from_shape_fn((n, d), |(_, j)| {
            5.0 + (j + 1) as f32 * rng.random_range(-1.0_f32..1.0)
        })
    }

    fn covariance_of(y: &Array2<f32>) -> Array2<f64> {
        let c = less_mean(y.view(), &column_means(y.view()));
        c.t().dot(&c) / y.nrows() as f64
    }

    #[test]
    fn the_spectrum_rebuilds_the_covariance() {
        let x = data(2500, 70); // two blocks of rows, two panels of columns
        let s = Spectrum::fit(x.view()).unwrap();
        assert!(s.variances.windows(2).into_iter().all(|w| w[0] >= w[1]));
        let rebuilt = (&s.directions * &s.variances).dot(&s.directions.t());
        let error = (&rebuilt - &covariance_of(&x)).mapv(f64::abs);
        assert!(error.iter().all(|&e| e < 1e-9 * s.variances[0]));
    }

    #[test]
    fn fewer_rows_than_columns_give_the_same_whitening() {
        let x = data(12, 30);
        // The same distribution by its full covariance: every row twice, and twice more.
        let many = ndarray::concatenate(ndarray::Axis(0), &[x.view(), x.view(), x.view()]).unwrap();
        let fits = [x.view(), many.view()].map(|x| {
            let plain = Spectrum::fit(x).unwrap();
            (plain, Spectrum::fit_standardized(x).unwrap())
        });
        let [thin, full] = fits;
        for (thin, full) in [(thin.0, full.0), (thin.1, full.1)] {
            assert_eq!((thin.variances.len(), full.variances.len()), (11, 30));
            for eps in [0.1, f64::INFINITY] {
                let maps = [&thin, &full].map(|s| s.whitening(eps).unwrap().matrix);
                let error = (&maps[0] - &maps[1]).mapv(f64::abs);
                assert!(error.iter().all(|&e| e < 1e-6), "eps {eps}");
            }
            let maps = [&thin, &full].map(|s| s.truncated(0.1, 5).unwrap().matrix);
            let own = |m: &Array2<f64>| m.dot(&m.t());
            let error = (own(&maps[0]) - own(&maps[1])).mapv(f64::abs);
            assert!(error.iter().all(|&e| e < 1e-6));
            assert_eq!(thin.truncated(0.1, 20).unwrap().matrix.ncols(), 11);
        }
    }

    #[test]
    fn rotated_rows_have_the_products_of_whitened_ones() {
        let others = data(9, 30);
        for n in [12, 100] {
            let s = Spectrum::fit_standardized(data(n, 30).view()).unwrap();
            let scales = [0.3, f64::INFINITY];
            let rotated = s.rotated(others.view(), &scales).unwrap();
            for (eps, rows) in scales.into_iter().zip(rotated) {
                let whitened = s.whitening(eps).unwrap().transform(others.view()).unwrap();
                let error = rows.dot(&rows.t()) - whitened.dot(&whitened.t());
                assert!(error.iter().all(|e| e.abs() < 1e-2), "{n} rows, eps {eps}");
            }
            assert!(s.rotated(data(3, 4).view(), &[1.0]).is_err());
        }
    }

    #[test]
    fn completed_directions_keep_what_new_rows_have_outside_of_the_fitted_ones() {
        let others = data(9, 30);
        for n in [1, 2, 12, 29, 100] {
            let s = Spectrum::fit_standardized(data(n, 30).view()).unwrap();
            let whole = s.clone().completed();
            assert_eq!(whole.directions.dim(), (30, 30));
            let unit = whole.directions.t().dot(&whole.directions) - Array2::<f64>::eye(30);
            assert!(unit.iter().all(|e| e.abs() < 1e-9), "{n} rows");
            for eps in [0.3, f64::INFINITY] {
                let maps = [
                    s.whitening(eps),
                    whole.whitening(eps),
                    whole.truncated(eps, 30),
                ];
                let products = maps.map(|map| {
                    let rows = map.unwrap().transform(others.view()).unwrap();
                    rows.dot(&rows.t())
                });
                let largest = products[0].iter().fold(0.0_f32, |max, v| max.max(v.abs()));
                for other in &products[1..] {
                    let error = other - &products[0];
                    assert!(
                        error.iter().all(|e| e.abs() < 1e-4 * largest),
                        "{n} rows, eps {eps}"
                    );
                }
            }
            if n == 100 {
                assert_eq!(whole, s);
            }
        }
    }

    #[test]
    fn rows_that_do_not_vary_have_no_direction_and_stay() {
        let s = Spectrum::fit(Array2::from_elem((3, 5), 2.0).view()).unwrap();
        assert!(s.variances.is_empty());
        assert_eq!(s.whitening(0.5).unwrap().matrix, Array2::<f64>::eye(5));
        assert_eq!(s.truncated(0.5, 4).unwrap().matrix.dim(), (5, 1));
    }

    #[test]
    fn whitened_rows_have_the_covariance_of_the_formula() {
        let x = data(800, 5);
        let s = Spectrum::fit(x.view()).unwrap();
        let t = s.variances.mean().unwrap();
        for eps in [1e-12, 0.3, 2.0] {
            let y = s.whitening(eps).unwrap().transform(x.view()).unwrap();
            let expected = s.variances.mapv(|v| v * (1.0 + eps) * t / (v + eps * t));
            let expected = (&s.directions * &expected).dot(&s.directions.t());
            let found = covariance_of(&y);
            let error = (&found - &expected).mapv(f64::abs);
            assert!(error.iter().all(|&e| e < 1e-5 * t), "eps {eps}");
            // The truncated form is the same up to a rotation.
            let z = s.truncated(eps, 5).unwrap().transform(x.view()).unwrap();
            for i in 1..20 {
                let dot = |y: &Array2<f32>| y.row(0).dot(&y.row(i));
                assert!((dot(&y) - dot(&z)).abs() < 1e-3 * t as f32);
            }
        }
    }

    #[test]
    fn standardized_columns_do_not_depend_on_their_units() {
        let x = data(300, 4);
        let units = ndarray::array![1.0_f32, 1000.0, 0.01, 1.0];
        let other = &x * &units;
        for eps in [0.3, f64::INFINITY] {
            let of = |x: &Array2<f32>| {
                let s = Spectrum::fit_standardized(x.view()).unwrap();
                let w = s.whitening(eps).unwrap();
                w.transform(x.view()).unwrap()
            };
            let error = (of(&x) - of(&other)).mapv(f32::abs);
            assert!(error.iter().all(|&e| e < 1e-3), "eps {eps}");
        }
        let s = Spectrum::fit_standardized(x.view()).unwrap();
        let y = s
            .whitening(f64::INFINITY)
            .unwrap()
            .transform(x.view())
            .unwrap();
        let c = covariance_of(&y);
        assert!(c.diag().iter().all(|v| (v - 1.0).abs() < 1e-5));
        let constant = Array2::from_elem((6, 3), 2.0);
        let s = Spectrum::fit_standardized(constant.view()).unwrap();
        assert!(s.scale.iter().all(|&v| v == 1.0));
    }

    #[test]
    fn large_eps_only_centres() {
        let x = data(100, 4);
        let s = Spectrum::fit(x.view()).unwrap();
        let at = |eps: f64| s.whitening(eps).unwrap();
        assert_eq!(at(f64::INFINITY).matrix, Array2::<f64>::eye(4));
        let error = (&at(1e9).matrix - &Array2::<f64>::eye(4)).mapv(f64::abs);
        assert!(error.iter().all(|&e| e < 1e-8));
        let y = at(f64::INFINITY).transform(x.view()).unwrap();
        assert!(column_means(y.view()).iter().all(|m| m.abs() < 1e-5));
    }

    #[test]
    fn same_bytes_for_any_thread_count() {
        let x = data(5000, 150);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let w = Spectrum::fit(x.view()).unwrap().whitening(0.3).unwrap();
                (w.transform(x.view()).unwrap(), w)
            })
        };
        assert_eq!(run(1), run(2));
    }

    #[test]
    fn large_decompositions_have_the_same_bytes_for_any_thread_count() {
        let x = data(700, 600);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            pool.install(|| {
                let s = Spectrum::fit(x.view()).unwrap();
                (s, variances(x.view()).unwrap())
            })
        };
        let one = run(1);
        assert!(one == run(2) && one == run(3) && one == run(5));
    }

    #[test]
    fn one_broken_row_does_not_change_the_spectrum_of_the_others() {
        let sound = data(300, 5);
        let mut x = ndarray::concatenate(ndarray::Axis(0), &[sound.view(), sound.view()]).unwrap();
        x.row_mut(17).fill(1e30);
        x.row_mut(317).fill(0.0);
        let rows: Vec<usize> = (0..600).filter(|&i| i != 17).collect();
        let rest = select_rows(x.view(), &rows);
        for standardized in [false, true] {
            let (s, left_out) = Spectrum::fit_sound(x.view(), standardized).unwrap();
            assert_eq!(left_out, [17]);
            let (expected, none) = Spectrum::fit_sound(rest.view(), standardized).unwrap();
            assert_eq!((s, none), (expected, vec![]));
        }
        // What the broken row does where it is not left out.
        let spoilt = Spectrum::fit(x.view()).unwrap();
        assert!(spoilt.variances[1] < 1e-9 * spoilt.variances[0]);
        let fit = Spectrum::fit(rest.view()).unwrap();
        assert_eq!(Spectrum::fit_sound(rest.view(), false).unwrap().0, fit);
        assert!(Spectrum::fit_sound(Array2::zeros((0, 3)).view(), false).is_err());
    }

    #[test]
    fn few_rows_of_very_many_columns_make_nothing_of_columns_by_columns() {
        // A covariance would be 7 GB, and its decomposition would not end.
        let x = Array2::from_shape_fn((24, 30_000), |(i, j)| {
            ((i * 31 + j * 17 + i * j) % 23) as f32
        });
        for standardized in [false, true] {
            let (spectrum, _) = Spectrum::fit_sound(x.view(), standardized).unwrap();
            assert!(spectrum.directions.ncols() < 24);
            let rows = spectrum.rotated(x.view(), &[0.1]).unwrap().remove(0);
            assert_eq!(rows.nrows(), 24);
            let map = spectrum.truncated(0.1, 8).unwrap();
            assert_eq!(map.matrix.dim(), (30_000, 8));
        }
        assert!(variances(x.view()).unwrap().len() < 24);
    }

    #[test]
    fn degenerate_rows_and_parameters() {
        let constant = Array2::from_elem((6, 3), 2.0);
        let w = Spectrum::fit(constant.view()).unwrap();
        let w = w.whitening(0.1).unwrap();
        assert!(
            w.transform(constant.view())
                .unwrap()
                .iter()
                .all(|&v| v == 0.0)
        );
        let one = Spectrum::fit(ndarray::array![[1.0, 2.0]].view()).unwrap();
        assert_eq!(one.variances.sum(), 0.0);
        let s = Spectrum::fit(data(9, 3).view()).unwrap();
        assert!(s.whitening(0.0).is_err() && s.whitening(f64::NAN).is_err());
        assert!(s.truncated(1.0, 0).is_err() && s.truncated(1.0, 4).is_err());
        assert!(Spectrum::fit(Array2::zeros((0, 3)).view()).is_err());
        assert!(Spectrum::fit(ndarray::array![[f32::NAN]].view()).is_err());
        assert!(w.transform(Array2::zeros((1, 2)).view()).is_err());
        let empty = w.transform(Array2::zeros((0, 3)).view()).unwrap();
        assert_eq!(empty.dim(), (0, 3));
    }
}
