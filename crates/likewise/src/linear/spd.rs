//! Symmetric matrices, as metrics are: eigenvalues, projection, powers, factors.
//!
//! A metric is a symmetric matrix `M` without negative eigenvalues (positive semidefinite);
//! the squared distance of two rows is `(x - y) M (x - y)^T`. [`factor`] turns it into a map,
//! under which that is the Euclidean one:
//!
//! ```
//! use likewise::linear::spd;
//! let m = ndarray::array![[2.0, 1.0], [1.0, 2.0]];
//! let l = spd::factor(&m)?;
//! let difference = ndarray::array![3.0, -1.0];
//! let mapped = l.dot(&difference);
//! assert!((mapped.dot(&mapped) - difference.dot(&m.dot(&difference))).abs() < 1e-12);
//! # Ok::<(), likewise::Error>(())
//! ```
//!
//! Everything is in `f64`, looks at `(A + A^T) / 2` where it is given `A`, and has the same bits
//! for any number of threads. Cost: O(d^3) time, O(d^2) memory.

use std::num::NonZeroUsize;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{
    LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Accum, Mat, MatMut, MatRef, Par, Spec};
use ndarray::{Array1, Array2, ArrayView2, Axis};

use crate::matmul::matmul;
use crate::matrix::product_of_many;
use crate::{Error, ErrorKind, Result, parallel};

/// Least eigenvalue, beside the largest, that is not taken for 0.
const RANK: f64 = 1e-12;
/// Rows of a product that one task computes.
const PANEL: usize = 64;

/// The nearest positive semidefinite matrix (in Frobenius' norm): negative eigenvalues become 0.
///
/// Fails unless `a` is square and finite.
///
/// ```
/// let a = ndarray::array![[1.0, 0.0], [0.0, -2.0]];
/// let nearest = likewise::linear::spd::project(&a)?;
/// assert_eq!(nearest, ndarray::array![[1.0, 0.0], [0.0, 0.0]]);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn project(a: &Array2<f64>) -> Result<Array2<f64>> {
    Ok(eigen(a)?.matrix(|v| v.max(0.0)))
}

/// `A^t` of a positive semidefinite matrix. Eigenvalues below 0 are taken for 0; for a negative
/// `t`, those below 1e-12 of the largest for that.
///
/// Fails unless `a` is square and finite, and for a negative power of a matrix of zeros.
///
/// ```
/// let a = ndarray::array![[4.0, 0.0], [0.0, 9.0]];
/// let root = likewise::linear::spd::power(&a, -0.5)?;
/// assert!((root[(0, 0)] - 0.5).abs() < 1e-12 && (root[(1, 1)] - 1.0 / 3.0).abs() < 1e-12);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn power(a: &Array2<f64>, t: f64) -> Result<Array2<f64>> {
    let eigen = eigen(a)?;
    let least = if t < 0.0 { RANK * eigen.largest() } else { 0.0 };
    if t < 0.0 && least <= 0.0 && !a.is_empty() {
        return Err(Error::data("a matrix of zeros has no negative power"));
    }
    Ok(eigen.matrix(|v| v.max(least).powf(t)))
}

/// The map `L` (`r x d`) of a metric `M` (`d x d`) with `M = L^T L`: a row for each eigenvalue
/// above 1e-12 of the largest, which is the eigenvector times its root, largest first. `x L^T`
/// are the rows in the metric.
///
/// Eigenvalues below 0 are taken for 0, and `r` is 0 for a matrix of zeros. Fails unless `m` is
/// square and finite.
///
/// ```
/// let m = ndarray::array![[4.0, 0.0], [0.0, 0.0]];
/// let l = likewise::linear::spd::factor(&m)?;
/// assert_eq!(l.dim(), (1, 2));
/// assert_eq!(l.t().dot(&l), m);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn factor(m: &Array2<f64>) -> Result<Array2<f64>> {
    let Eigen { values, vectors } = eigen(m)?;
    let d = values.len();
    let least = RANK * values.last().copied().unwrap_or_default();
    let kept: Vec<usize> = (0..d)
        .rev()
        .filter(|&i| values[i] > least.max(0.0))
        .collect();
    Ok(Array2::from_shape_fn((kept.len(), d), |(row, j)| {
        values[kept[row]].sqrt() * vectors[(j, kept[row])]
    }))
}

/// Eigenvalues of a symmetric matrix, ascending, and its unit eigenvectors, one a column.
pub(crate) struct Eigen {
    pub(crate) values: Array1<f64>,
    pub(crate) vectors: Array2<f64>,
}

impl Eigen {
    /// `U f(values) U^T`.
    pub(crate) fn matrix(&self, f: impl Fn(f64) -> f64) -> Array2<f64> {
        let scaled = &self.vectors * &self.values.mapv(f);
        let mut matrix = product_of_many(&scaled, &self.vectors);
        symmetrize(&mut matrix);
        matrix
    }

    /// The largest eigenvalue; 0 of no rows.
    pub(crate) fn largest(&self) -> f64 {
        self.values.last().copied().unwrap_or_default()
    }
}

/// The decomposition of `(A + A^T) / 2`. Fails unless `a` is square and finite.
pub(crate) fn eigen(a: &Array2<f64>) -> Result<Eigen> {
    let d = a.nrows();
    let mut vectors = Mat::<f64>::zeros(d, d);
    let values = decompose(a, Some(vectors.as_mut()))?;
    Ok(Eigen {
        values,
        vectors: Array2::from_shape_fn((d, d), |(i, j)| vectors[(i, j)]),
    })
}

/// The eigenvalues of [`eigen`] without the vectors, which take most of its time.
pub(crate) fn eigenvalues(a: &Array2<f64>) -> Result<Array1<f64>> {
    decompose(a, None)
}

fn decompose(a: &Array2<f64>, vectors: Option<MatMut<f64>>) -> Result<Array1<f64>> {
    let d = a.nrows();
    if a.ncols() != d {
        let message = format!("a metric must be square, but this is {:?}", a.dim());
        return Err(Error::data(message));
    }
    if !a.iter().all(|v| v.is_finite()) {
        return Err(Error::data(
            "a matrix of sums of squares is not finite: the features are too large; scale them",
        ));
    }
    if d == 0 {
        return Ok(Array1::zeros(0));
    }
    let middle = Mat::from_fn(d, d, |i, j| f64::midpoint(a[(i, j)], a[(j, i)]));
    let mut values = faer::diag::Diag::<f64>::zeros(d);
    let wanted = match vectors {
        Some(_) => ComputeEigenvectors::Yes,
        None => ComputeEigenvectors::No,
    };
    let need = self_adjoint_evd_scratch::<f64>(d, wanted, parts(d), Spec::default());
    let mut memory = MemBuffer::try_new(need)
        .map_err(|_| Error::new(ErrorKind::Memory, "no memory for the eigenvectors"))?;
    let (out, stack) = (values.as_mut(), MemStack::new(&mut memory));
    self_adjoint_evd(
        middle.as_ref(),
        out,
        vectors,
        parts(d),
        stack,
        Spec::default(),
    )
    .map_err(|e| {
        let message = format!("the eigenvalues of a metric were not found: {e:?}");
        Error::new(ErrorKind::Internal, message)
    })?;
    let values = values.column_vector();
    Ok((0..d).map(|i| values[i]).collect())
}

/// The parts that a decomposition of `d` rows is cut into: the bits of the result depend on
/// their number, so it follows from the size alone.
fn parts(d: usize) -> Par {
    const LEAST: usize = 512;
    const PARTS: NonZeroUsize = NonZeroUsize::new(8).expect("8 is not 0");
    if d < LEAST {
        Par::Seq
    } else {
        Par::Rayon(PARTS)
    }
}

/// `A = R R^T` of a positive definite matrix, `R` being lower triangular.
pub(crate) struct Cholesky {
    lower: Mat<f64>,
}

impl Cholesky {
    /// By the lower triangle of `a`; `None` where it is not positive definite.
    pub(crate) fn of(a: &Array2<f64>) -> Option<Self> {
        let d = a.nrows();
        // What lies above the diagonal is neither read nor kept.
        let mut lower = Mat::from_fn(d, d, |i, j| a[(i, j)]);
        let need = cholesky_in_place_scratch::<f64>(d, Par::Seq, Spec::default());
        let mut memory = MemBuffer::try_new(need).ok()?;
        cholesky_in_place(
            lower.as_mut(),
            LltRegularization::default(),
            Par::Seq,
            MemStack::new(&mut memory),
            Spec::default(),
        )
        .ok()?;
        (0..d)
            .all(|i| lower[(i, i)].is_finite() && lower[(i, i)] > 0.0)
            .then_some(Self { lower })
    }

    /// As [`of`](Self::of), with an error that says what is singular and what to do. So is what a column has beyond
    /// those before it where that is a millionth of it and less, as rounding leaves of a sum of other columns.
    pub(crate) fn of_metric(a: &Array2<f64>, what: &str, remedy: &str) -> Result<Self> {
        let sound = |root: &Self| {
            let mut pivots = (0..a.nrows()).map(|i| (root.lower[(i, i)].powi(2), a[(i, i)]));
            pivots.all(|(beyond, whole)| beyond > RANK * whole)
        };
        Self::of(a).filter(sound).ok_or_else(|| {
            Error::data(format!(
                "{what} does not vary in some of the {} dimensions; {remedy}",
                a.nrows()
            ))
        })
    }

    /// `A^-1`.
    pub(crate) fn inverse(&self) -> Array2<f64> {
        let inverse = self.upper_solve(self.lower_solve(Array2::eye(self.lower.nrows())));
        let mut inverse = inverse.as_standard_layout().into_owned();
        symmetrize(&mut inverse);
        inverse
    }

    /// The logarithm of the determinant of `A`.
    pub(crate) fn log_determinant(&self) -> f64 {
        let d = self.lower.nrows();
        2.0 * (0..d).map(|i| self.lower[(i, i)].ln()).sum::<f64>()
    }

    /// `R^-1 B R^-T` of a symmetric `B`.
    pub(crate) fn whitened(&self, b: &Array2<f64>) -> Array2<f64> {
        let half = self.lower_solve(b.clone());
        let mut whole = self.lower_solve(half.t().as_standard_layout().into_owned());
        symmetrize(&mut whole);
        whole
    }

    /// `R^-T B R^-1` of a symmetric `B`, which undoes `R^T B R`.
    pub(crate) fn unwhitened(&self, b: &Array2<f64>) -> Array2<f64> {
        let half = self.upper_solve(b.clone());
        let mut whole = self.upper_solve(half.t().as_standard_layout().into_owned());
        symmetrize(&mut whole);
        whole
    }

    /// `R^T B R` of a symmetric `B`.
    pub(crate) fn around(&self, b: &Array2<f64>) -> Array2<f64> {
        let d = self.lower.nrows();
        let lower = |(i, j)| if i >= j { self.lower[(i, j)] } else { 0.0 };
        let lower = Array2::from_shape_fn((d, d), lower);
        let mut whole = cross(&lower, &cross(b, &lower));
        symmetrize(&mut whole);
        whole
    }

    /// `R^-1 B`.
    pub(crate) fn lower_solve(&self, b: Array2<f64>) -> Array2<f64> {
        in_place(b, |b| {
            solve_lower_triangular_in_place(self.lower.as_ref(), b, Par::Seq);
        })
    }

    /// `R^-T B`.
    pub(crate) fn upper_solve(&self, b: Array2<f64>) -> Array2<f64> {
        in_place(b, |b| {
            solve_upper_triangular_in_place(self.lower.transpose(), b, Par::Seq);
        })
    }
}

fn in_place(b: Array2<f64>, work: impl FnOnce(MatMut<f64>)) -> Array2<f64> {
    let (rows, columns) = b.dim();
    let mut b = b.as_standard_layout().into_owned();
    if let Some(b) = b.as_slice_mut() {
        work(MatMut::from_row_major_slice_mut(b, rows, columns));
    }
    b
}

/// `X^T Y` of matrices with as many rows; each panel of columns of `X` is one task, whatever the
/// number of threads.
pub(crate) fn cross(x: &Array2<f64>, y: &Array2<f64>) -> Array2<f64> {
    let mut out = Array2::zeros((x.ncols(), y.ncols()));
    add_cross(&mut out, x.view(), y.view());
    out
}

/// `out += X^T Y`; `out` in row-major order, as it is made.
pub(crate) fn add_cross(out: &mut Array2<f64>, x: ArrayView2<f64>, y: ArrayView2<f64>) {
    let (x, y) = (x.as_standard_layout(), y.as_standard_layout());
    let ((n, d), e) = (x.dim(), y.ncols());
    let (Some(x), Some(y)) = (x.as_slice(), y.as_slice()) else {
        unreachable!("the standard layout is a slice")
    };
    let x = MatRef::from_row_major_slice(x, n, d);
    let y = MatRef::from_row_major_slice(y, n, e);
    let panels = out.axis_chunks_iter_mut(Axis(0), PANEL);
    parallel::each(panels.enumerate(), |(p, mut panel)| {
        let width = panel.nrows();
        if let Some(panel) = panel.as_slice_mut() {
            let panel = MatMut::from_row_major_slice_mut(panel, width, e);
            let left = x.subcols(p * PANEL, width).transpose();
            matmul(panel, Accum::Add, left, y, 1.0);
        }
    });
}

/// `(A + A^T) / 2`, in place.
pub(crate) fn symmetrize(a: &mut Array2<f64>) {
    for i in 0..a.nrows() {
        for j in 0..i {
            let middle = f64::midpoint(a[(i, j)], a[(j, i)]);
            a[(i, j)] = middle;
            a[(j, i)] = middle;
        }
    }
}

/// The share to [`shrink`] by where none is given: a tenth of fewer than two observations a
/// dimension, which say little of most directions, and else no more than rounding asks for.
pub(crate) fn usual_shrinkage(observations: f64, d: usize) -> f64 {
    if observations < 2.0 * d as f64 {
        0.1
    } else {
        1e-6
    }
}

/// `(1 - share) A + share tr(A)/d I`, in place.
pub(crate) fn shrink(a: &mut Array2<f64>, share: f64) {
    let floor = share * a.diag().sum() / a.nrows().max(1) as f64;
    a.mapv_inplace(|v| (1.0 - share) * v);
    a.diag_mut().mapv_inplace(|v| v + floor);
}

/// Fails unless a shrinkage that is given is from 0 to 1.
pub(crate) fn check_shrinkage(field: &str, shrinkage: Option<f64>) -> Result<()> {
    match shrinkage {
        Some(share) if !(0.0..=1.0).contains(&share) => {
            Err(Error::parameter(field, share, "must be from 0 to 1"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::in_one_and_two_threads;
    use crate::seed;
    use ndarray::array;
    use proptest::prelude::*;
    use rand::RngExt;

    fn random(n: usize, d: usize, number: u64) -> Array2<f64> {
        let mut rng = seed::stream(number, "spd");
        Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0..1.0))
    }

    fn near(a: &Array2<f64>, b: &Array2<f64>, by: f64) -> bool {
        a.dim() == b.dim() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= by)
    }

    proptest! {
        #[test]
        fn powers_factors_and_inverses_are_what_they_say(
            d in 1_usize..9, rank in 1_usize..9, number in any::<u64>(),
        ) {
            let x = random(rank.min(d), d, number);
            let a = x.t().dot(&x);
            let root = power(&a, 0.5).unwrap();
            prop_assert!(near(&root.dot(&root), &a, 1e-10));
            let l = factor(&a).unwrap();
            prop_assert!(l.nrows() <= rank.min(d));
            prop_assert!(near(&l.t().dot(&l), &a, 1e-10));
            prop_assert!(near(&project(&a).unwrap(), &a, 1e-10));
            let one = Array2::<f64>::eye(d);
            let b = &a + &one;
            let r = Cholesky::of(&b).unwrap();
            prop_assert!(near(&b.dot(&r.inverse()), &one, 1e-10));
            prop_assert!(near(&power(&b, -1.0).unwrap(), &r.inverse(), 1e-10));
            let determinant: f64 = eigenvalues(&b).unwrap().iter().map(|v| v.ln()).sum();
            prop_assert!((r.log_determinant() - determinant).abs() < 1e-9);
            prop_assert!(near(&r.whitened(&b), &one, 1e-10));
            prop_assert!(near(&r.unwhitened(&r.around(&a)), &a, 1e-9));
        }

        #[test]
        fn the_projection_has_no_negative_direction_and_nothing_is_nearer(
            d in 1_usize..7, number in any::<u64>(),
        ) {
            let a = random(d, d, number);
            let p = project(&a).unwrap();
            prop_assert!(eigenvalues(&p).unwrap().iter().all(|&v| v > -1e-12));
            let middle = (&a + &a.t()) / 2.0;
            let off = |m: &Array2<f64>| (m - &middle).iter().map(|v| v * v).sum::<f64>();
            let other = random(d, d, number ^ 1);
            let other = &p + &((other.t().dot(&other) - &p) * 1e-3);
            prop_assert!(off(&p) <= off(&other) + 1e-12);
        }
    }

    /// Of many matrices whose last column is a sum of others but for rounding, some pass without a look at what is left.
    #[test]
    fn a_column_that_is_a_sum_of_others_but_for_rounding_is_told() {
        for number in 0..24 {
            let mut x = random(40, 4, number).mapv(|v| f64::from(v as f32));
            for mut row in x.rows_mut() {
                row[3] = f64::from((row[0] as f32) + 3.0 * (row[1] as f32));
            }
            for scale in [1e-6, 1.0, 1e6] {
                let a = x.t().dot(&x) * scale;
                let said = Cholesky::of_metric(&a, "what is alike", "label more").err();
                let said = said.expect("singular").to_string();
                assert!(said.contains("what is alike does not vary"), "{said}");
            }
            // A column of another unit is none.
            let mut units = random(40, 4, number);
            units.column_mut(2).mapv_inplace(|v| 1e-7 * v);
            assert!(Cholesky::of_metric(&units.t().dot(&units), "", "").is_ok());
        }
    }

    #[test]
    fn eigenvectors_are_columns_in_the_order_of_their_values() {
        let e = eigen(&array![[2.0, 0.0], [0.0, -1.0]]).unwrap();
        assert_eq!(e.values, array![-1.0, 2.0]);
        assert!(near(
            &e.vectors.mapv(f64::abs),
            &array![[0.0, 1.0], [1.0, 0.0]],
            1e-15
        ));
    }

    #[test]
    fn products_are_those_of_the_definition_on_any_number_of_threads() {
        let (x, y) = (random(130, 70, 1), random(130, 9, 2));
        assert!(near(&cross(&x, &y), &x.t().dot(&y), 1e-10));
        let wide = x.t().to_owned();
        assert!(near(
            &cross(&wide.t().to_owned(), &y),
            &x.t().dot(&y),
            1e-10
        ));
        let large = random(700, 520, 3);
        let (one, two) = in_one_and_two_threads(|| {
            let gram = cross(&large, &large);
            let root = power(&gram, -0.5).unwrap();
            (gram, root)
        });
        assert_eq!(one, two);
    }

    #[test]
    fn degenerate_matrices() {
        let zeros = Array2::<f64>::zeros((3, 3));
        assert_eq!(factor(&zeros).unwrap().dim(), (0, 3));
        assert_eq!(power(&zeros, 0.5).unwrap(), zeros);
        assert!(power(&zeros, -1.0).is_err());
        assert!(Cholesky::of(&zeros).is_none());
        assert!(Cholesky::of(&array![[1.0, 2.0], [2.0, 1.0]]).is_none());
        assert!(project(&array![[f64::NAN]]).is_err());
        assert!(project(&Array2::zeros((2, 3))).is_err());
        assert_eq!(factor(&Array2::zeros((0, 0))).unwrap().dim(), (0, 0));
        let mut a = array![[3.0, 1.0], [1.0, 1.0]];
        shrink(&mut a, 0.5);
        assert_eq!(a, array![[2.5, 0.5], [0.5, 1.5]]);
        assert!(usual_shrinkage(3.0, 2) > usual_shrinkage(4.0, 2));
    }
}
