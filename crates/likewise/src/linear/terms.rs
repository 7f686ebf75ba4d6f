//! What a learner of a metric minimises, as terms of pairs: for rows that learn too.

use ndarray::{Array2, ArrayView2, s};

use super::{Pca, spd};
use crate::Result;

/// The terms, each a mean over pairs of the squared distances `d^2` behind the metric, so that they
/// can be taken of any part of the pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PairTerms {
    /// `alike mean d^2 - unlike mean d^2 + near sum w d^2 / sum |w|`, over alike pairs, unlike pairs
    /// and links of neighbours.
    Distances {
        /// Weight of alike pairs, at least 0.
        alike: f64,
        /// Weight of unlike pairs, at least 0.
        unlike: f64,
        /// Weight of neighbours, at least 0.
        near: f64,
    },
    /// `mean -ln p(y) + entropy mean H(p)`, over pairs that are known to be alike (`y = 1`) or unlike
    /// (-1) and over all others, with `p(y) = 1 / (1 + exp(y (d^2 - eta)))` and its entropy `H`.
    Likelihood {
        /// Squared distance at which a pair is as likely alike as not, above 0.
        eta: f64,
        /// Weight of pairs of which nothing is known, at least 0.
        entropy: f64,
    },
}

/// Neighbours, each pair once: `(a, b, w)`, `a < b`, ascending.
pub type Links = Vec<(u32, u32, f64)>;

/// A metric, the neighbours that it was made of, and what rows go on with.
#[derive(Debug, Clone, PartialEq)]
pub struct Linked {
    /// `M`, `d x d`.
    pub metric: Array2<f64>,
    /// Its neighbours.
    pub links: Links,
    /// What rows that learn behind the metric minimise.
    pub terms: PairTerms,
}

/// The eigenvectors of a metric `M` (`d x d`), the largest first, each as long as the root of its eigenvalue, of `M`
/// times the factor that makes its trace `d`: rows times these (`d x d`) have the squared distances of `M`.
///
/// Of a metric that is 0 everywhere the unit directions. Fails where no eigenvalues are found.
pub fn roots(metric: &Array2<f64>) -> Result<Array2<f64>> {
    let d = metric.nrows();
    let eigen = spd::eigen(metric)?;
    let values = eigen.values.mapv(|v| v.max(0.0));
    let trace = values.sum();
    if !(trace > 0.0 && trace.is_finite()) {
        return Ok(Array2::eye(d));
    }
    // Ascending: the largest are the last. Signs are made the same on every machine.
    let mut out = Array2::zeros((d, d));
    for (place, mut column) in out.columns_mut().into_iter().enumerate() {
        let from = d - 1 - place;
        let vector = eigen.vectors.column(from);
        let largest = vector
            .iter()
            .fold(0.0_f64, |a, &b| if b.abs() > a.abs() { b } else { a });
        let scale = (values[from] * d as f64 / trace).sqrt() * largest.signum();
        column.assign(&(&vector * scale));
    }
    Ok(out)
}

/// The `count` directions (`d x count`) along which rows (`n x d`) vary most once a metric `M` has measured them: the
/// principal ones of rows times the [`roots`] of `M`. So few columns keep as much of its distances as they can.
///
/// Of `d` columns at most, and zeros beyond those that vary. The eigenvectors of `M` with the largest eigenvalues
/// would not do: what minimises distances weighs most where rows hardly vary, and there is nothing to tell apart.
///
/// Cost: O(n d^2 + d^3) in `f64`. Fails on NaN, and without a row.
pub fn directions(
    metric: &Array2<f64>,
    rows: ArrayView2<f32>,
    count: usize,
) -> Result<Array2<f64>> {
    let roots = roots(metric)?;
    let seen = rows.dot(&roots.mapv(|v| v as f32));
    let count = count.min(roots.ncols());
    let widest = Pca::new().rank(count).fit_rows(seen.view())?;
    let mut out = Array2::zeros((roots.nrows(), count));
    out.slice_mut(s![.., ..widest.nrows()])
        .assign(&roots.dot(&widest.t()));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn roots_make_a_metric_of_trace_d() {
        let m = array![[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.5]];
        let all = roots(&m).unwrap();
        let scaled = &m * (3.0 / 4.5);
        assert!(
            (all.dot(&all.t()) - &scaled)
                .iter()
                .all(|e| e.abs() < 1e-12)
        );
        // Eigenvalue 3 along (1, 1, 0), of trace 3 in all: 2.
        let expected = array![1.0, 1.0, 0.0];
        assert!((&all.column(0) - &expected).iter().all(|e| e.abs() < 1e-12));
        assert_eq!(
            roots(&Array2::zeros((2, 2))).unwrap(),
            Array2::<f64>::eye(2)
        );
    }

    #[test]
    fn directions_are_those_along_which_measured_rows_vary() {
        // The metric weighs the second column most, which does not vary; of the others it is the third
        // that is widest once it is measured: 4 times .5 beside 1.
        let m = Array2::from_diag(&array![1.0, 9.0, 16.0]) * (3.0 / 26.0);
        let x = array![
            [1.0, 5.0, 0.5],
            [-1.0, 5.0, 0.5],
            [1.0, 5.0, -0.5],
            [-1.0, 5.0, -0.5_f32]
        ];
        let one = directions(&m, x.view(), 1).unwrap();
        assert_eq!(one.dim(), (3, 1));
        let expected = array![0.0, 0.0, m[(2, 2)].sqrt()];
        assert!(
            (one.column(0).mapv(f64::abs) - expected)
                .iter()
                .all(|e| e.abs() < 1e-6)
        );
        // Two vary, and with both all distances are there.
        let all = directions(&m, x.view(), 9).unwrap();
        assert_eq!(all.dim(), (3, 3));
        assert!(all.column(2).iter().all(|&e| e == 0.0));
        let seen = x.mapv(f64::from).dot(&all);
        for (a, b) in [(0, 1), (0, 2), (1, 2), (0, 3)] {
            let delta = (&x.row(a) - &x.row(b)).mapv(f64::from);
            let square = (&seen.row(a) - &seen.row(b)).mapv(|v| v * v).sum();
            assert!((square - delta.dot(&m).dot(&delta)).abs() < 1e-6);
        }
        let same = directions(&m, Array2::ones((4, 3)).view(), 2).unwrap();
        assert_eq!(same.dim(), (3, 2));
    }
}
