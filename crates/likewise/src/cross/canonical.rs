//! Directions of two modalities that vary together most: what the family of canonical
//! correlations solves.
//!
//! ```text
//! max tr(Wx^T G Wy)  with  Wx^T Cxx Wx = I, Wy^T Cyy Wy = I
//! Cxx = Lx Lx^T, Cyy = Ly Ly^T, Lx^-1 G Ly^-T = U diag(s) V^T:  Wx = Lx^-T U, Wy = Ly^-T V
//! ```
//!
//! Cost: O(dx dy min(dx, dy)), and the two Cholesky factors once.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::{Mat, Par, Spec};
use ndarray::{Array1, Array2, s};

use crate::linear::spd::{Cholesky, eigen};
use crate::{Error, ErrorKind, Result};

use super::parts::{times, times_transposed, transposed};

/// The space in which both modalities are white.
pub(super) struct White {
    x: Cholesky,
    y: Cholesky,
}

/// Directions, one a column, and how much the two modalities vary together along them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Directions {
    pub(super) x: Array2<f64>,
    pub(super) y: Array2<f64>,
    /// Descending, at least 0.
    pub(super) values: Array1<f64>,
}

impl White {
    /// Of covariances. Fails where one is singular, naming what to raise.
    pub(super) fn of(cxx: &Array2<f64>, cyy: &Array2<f64>, remedy: &str) -> Result<Self> {
        let one = |t: usize, c: &Array2<f64>| {
            Cholesky::of_metric(c, &format!("the covariance of modality {t}"), remedy)
        };
        Ok(Self {
            x: one(0, cxx)?,
            y: one(1, cyy)?,
        })
    }

    /// `Lx^-1 G Ly^-T`.
    pub(super) fn whiten(&self, g: &Array2<f64>) -> Array2<f64> {
        let left = self.x.lower_solve(g.clone());
        transposed(&self.y.lower_solve(transposed(&left)))
    }

    /// All directions of a matrix that is white already.
    pub(super) fn directions(&self, white: &Array2<f64>) -> Result<Directions> {
        let (u, values, v) = singular(white)?;
        Ok(self.colored(u, values, v))
    }

    /// The first direction of a matrix that is white already, from its products with itself on
    /// the shorter side: cheaper than all directions.
    pub(super) fn first(&self, white: &Array2<f64>) -> Result<Directions> {
        let wide = white.nrows() < white.ncols();
        let tall = if wide {
            transposed(white)
        } else {
            white.clone()
        };
        let own = transposed(&tall);
        let found = eigen(&times_transposed(&own, &own))?;
        let last = own.nrows() - 1;
        let v = found.vectors.slice(s![.., last..]).to_owned();
        let mut u = times(&tall, &v);
        let value = u.iter().map(|v| v * v).sum::<f64>().sqrt();
        if value > 0.0 {
            u /= value;
        } else {
            u[(0, 0)] = 1.0;
        }
        let (u, v) = if wide { (v, u) } else { (u, v) };
        Ok(self.colored(u, Array1::from_elem(1, value), v))
    }

    fn colored(&self, u: Array2<f64>, values: Array1<f64>, v: Array2<f64>) -> Directions {
        let mut x = self.x.upper_solve(u);
        let mut y = self.y.upper_solve(v);
        // A pair of directions may be turned round together: the largest entry decides.
        for (mut x, mut y) in x.columns_mut().into_iter().zip(y.columns_mut()) {
            let largest = x.fold(0.0, |a: f64, &b| if b.abs() > a.abs() { b } else { a });
            if largest < 0.0 {
                x *= -1.0;
                y *= -1.0;
            }
        }
        Directions { x, y, values }
    }
}

impl Directions {
    /// The first so many of them.
    pub(super) fn keep(self, n: usize) -> Self {
        let n = n.min(self.values.len());
        Self {
            x: self.x.slice(s![.., ..n]).to_owned(),
            y: self.y.slice(s![.., ..n]).to_owned(),
            values: self.values.slice(s![..n]).to_owned(),
        }
    }
}

/// The thin decomposition `U diag(s) V^T`, values descending; on one thread, so that its bits do
/// not depend on their number.
fn singular(a: &Array2<f64>) -> Result<(Array2<f64>, Array1<f64>, Array2<f64>)> {
    let (m, n) = a.dim();
    let k = m.min(n);
    if !a.iter().all(|v| v.is_finite()) {
        return Err(Error::data(
            "a product of the modalities is not finite: the features are too large; scale them",
        ));
    }
    let a = Mat::from_fn(m, n, |i, j| a[(i, j)]);
    let (mut u, mut v) = (Mat::<f64>::zeros(m, k), Mat::<f64>::zeros(n, k));
    let mut values = faer::diag::Diag::<f64>::zeros(k);
    let thin = ComputeSvdVectors::Thin;
    let need = svd_scratch::<f64>(m, n, thin, thin, Par::Seq, Spec::default());
    let mut memory = MemBuffer::try_new(need)
        .map_err(|_| Error::new(ErrorKind::Memory, "no memory for the singular vectors"))?;
    let out = (Some(u.as_mut()), Some(v.as_mut()));
    let stack = MemStack::new(&mut memory);
    svd(
        a.as_ref(),
        values.as_mut(),
        out.0,
        out.1,
        Par::Seq,
        stack,
        Spec::default(),
    )
    .map_err(|e| {
        let message = format!("the singular values were not found: {e:?}");
        Error::new(ErrorKind::Internal, message)
    })?;
    let values = values.column_vector();
    Ok((
        Array2::from_shape_fn((m, k), |(i, j)| u[(i, j)]),
        (0..k).map(|i| values[i]).collect(),
        Array2::from_shape_fn((n, k), |(i, j)| v[(i, j)]),
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::parts::tests::{SplitMix, close};
    use super::*;
    use crate::linear::spd::cross;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn directions_rebuild_the_product_and_are_white(
            dx in 1_usize..12, dy in 1_usize..12, seed in 0_u64..999,
        ) {
            let mut rng = SplitMix(seed);
            let (x, y) = (rng.bells((40, dx)), rng.bells((40, dy)));
            let (cxx, cyy, g) = (cross(&x, &x), cross(&y, &y), cross(&x, &y));
            let white = White::of(&cxx, &cyy, "").unwrap();
            let k = white.whiten(&g);
            let all = white.directions(&k).unwrap();
            prop_assert!(all.values.windows(2).into_iter().all(|w| w[0] >= w[1]));
            let n = dx.min(dy);
            let eye = Array2::<f64>::eye(n);
            prop_assert!(close(&all.x.t().dot(&cxx).dot(&all.x), &eye, 1e-9));
            prop_assert!(close(&all.y.t().dot(&cyy).dot(&all.y), &eye, 1e-9));
            let diagonal = Array2::from_diag(&all.values);
            prop_assert!(close(&all.x.t().dot(&g).dot(&all.y), &diagonal, 1e-9));
            let first = white.first(&k).unwrap();
            prop_assert!((first.values[0] - all.values[0]).abs() < 1e-10);
            if n == 1 || all.values[0] - all.values[1] > 1e-3 {
                prop_assert!(close(&first.x, &all.keep(1).x, 1e-7));
            }
        }
    }

    #[test]
    fn nothing_in_common_still_has_directions() {
        let white = White::of(&Array2::eye(3), &Array2::eye(2), "").unwrap();
        let none = Array2::zeros((3, 2));
        let (all, first) = (
            white.directions(&none).unwrap(),
            white.first(&none).unwrap(),
        );
        assert_eq!((all.values.sum().to_bits(), all.x.dim()), (0, (3, 2)));
        assert!(first.x.iter().chain(&first.y).all(|v| v.is_finite()));
        assert!(White::of(&Array2::zeros((2, 2)), &Array2::eye(2), "raise kappa").is_err());
    }
}
