//! Distance from the nearest class, by the covariance that all classes share.
//!
//! ```text
//! S  = (1 - a) S0 + a tr(S0)/D I,   S0 = (1/M) sum_j (f_j - m_(y_j)) (f_j - m_(y_j))^T,   a = D / (D + M)
//! g  = min_k (f - m_k)^T S^-1 (f - m_k)
//! g' = g - (f - m)^T S_all^-1 (f - m)
//! ```
//!
//! The relative one, `g'`, takes off the distance under one Gaussian of all known items, with its own
//! covariance: what is unusual of every class, and says nothing of the class.
//!
//! **Use it** on features that spread alike in all classes. **Not** with less than a few items a class, or on
//! more columns than a covariance of `D x D` has room for.
//!
//! Cost: O((M + n) D^2 + D^3) time, O(D^2) memory.
//!
//! Source: Lee, Lee, Lee and Shin, "A simple unified framework for detecting out-of-distribution samples",
//! `NeurIPS` 2018; the relative form after Ren et al., "A simple fix to Mahalanobis distance", 2021. The
//! share `a` of the shrinkage is ours, for few labels.

use ndarray::{Array1, Array2, ArrayView2};

use crate::linear::spd::{Cholesky, cross, shrink, symmetrize};
use crate::matrix::{check_finite, less_mean};
use crate::{Error, Result};

/// Most columns, whose covariance is a matrix of as many rows.
const MOST: usize = 4096;

/// The means of the classes and a covariance they share.
#[derive(Debug, Clone)]
pub struct ClassGaussians {
    within: Gaussians,
    all: Gaussians,
}

/// Means under one covariance, in coordinates where it is the identity.
#[derive(Debug, Clone)]
struct Gaussians {
    /// `S^-1 = whitening whitening^T`.
    whitening: Array2<f64>,
    /// A mean a row, in these coordinates.
    means: Array2<f64>,
}

impl ClassGaussians {
    /// Of known items `x` (`M x D`) and the class of each.
    ///
    /// Fails without an item, on NaN, where numbers differ, on more than 4096 columns, and where no
    /// item differs from the mean of its class.
    pub fn fit(x: ArrayView2<f32>, class: &[u32]) -> Result<Self> {
        let (m, d) = x.dim();
        if m == 0 || d == 0 || class.len() != m {
            return Err(Error::data(format!(
                "{m} known items of {d} columns and {} classes; give items, and a class of each",
                class.len()
            )));
        }
        if d > MOST {
            return Err(Error::data(format!(
                "{d} columns: a covariance is of at most {MOST}; reduce the columns first"
            )));
        }
        check_finite(x, "known items")?;
        let mut names = class.to_vec();
        names.sort_unstable();
        names.dedup();
        let of: Vec<usize> = class
            .iter()
            .map(|c| names.partition_point(|n| n < c))
            .collect();
        Ok(Self {
            within: Gaussians::fit(x, &of, names.len())?,
            all: Gaussians::fit(x, &vec![0; m], 1)?,
        })
    }

    /// Squared distance of each row from the nearest class. Fails on NaN and on another number of
    /// columns.
    pub fn distances(&self, x: ArrayView2<f32>) -> Result<Vec<f64>> {
        self.within.nearest(x)
    }

    /// The same less the squared distance from the mean of all, by the covariance of all. Fails as
    /// [`distances`](Self::distances).
    pub fn relative(&self, x: ArrayView2<f32>) -> Result<Vec<f64>> {
        let all = self.all.nearest(x)?;
        let within = self.within.nearest(x)?;
        Ok(within.iter().zip(all).map(|(g, all)| g - all).collect())
    }
}

impl Gaussians {
    fn fit(x: ArrayView2<f32>, class: &[usize], classes: usize) -> Result<Self> {
        let (m, d) = x.dim();
        let mut means = Array2::<f64>::zeros((classes, d));
        let mut count = Array1::<f64>::zeros(classes);
        for (row, &k) in x.rows().into_iter().zip(class) {
            let mut mean = means.row_mut(k);
            mean.zip_mut_with(&row, |s, &v| *s += f64::from(v));
            count[k] += 1.0;
        }
        for (mut mean, &n) in means.rows_mut().into_iter().zip(&count) {
            mean /= n;
        }
        let mut away = less_mean(x, &Array1::zeros(d));
        for (mut row, &k) in away.rows_mut().into_iter().zip(class) {
            row -= &means.row(k);
        }
        let mut covariance = cross(&away, &away) / m as f64;
        symmetrize(&mut covariance);
        shrink(&mut covariance, d as f64 / (d + m) as f64);
        let remedy = "give items that differ";
        let root = Cholesky::of_metric(&covariance, "what is known of the classes", remedy)?;
        let whitening = root.upper_solve(Array2::eye(d));
        Ok(Self {
            means: means.dot(&whitening),
            whitening,
        })
    }

    fn nearest(&self, x: ArrayView2<f32>) -> Result<Vec<f64>> {
        let d = self.whitening.nrows();
        if x.ncols() != d {
            return Err(Error::data(format!(
                "these rows have {} columns, the known items {d}",
                x.ncols()
            )));
        }
        check_finite(x, "rows")?;
        let rows = less_mean(x, &Array1::zeros(d)).dot(&self.whitening);
        let nearest = |row: ndarray::ArrayView1<f64>| {
            let each = self.means.rows().into_iter();
            let squares = each.map(|mean| row.iter().zip(mean).map(|(a, b)| (a - b).powi(2)).sum());
            squares.fold(f64::INFINITY, f64::min)
        };
        Ok(rows.rows().into_iter().map(nearest).collect())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_column_by_hand() {
        // Classes at 1 and 11, each of two items one away: the variance within is 1, and with one
        // column nothing is left to shrink towards.
        let x = array![[0.0], [2.0], [10.0], [12.0]];
        let classes = ClassGaussians::fit(x.view(), &[7, 7, 3, 3]).unwrap();
        let asked = array![[1.0], [4.0], [12.0], [30.0]];
        let near = |a: Vec<f64>, b: [f64; 4]| {
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9), "{a:?}");
        };
        near(
            classes.distances(asked.view()).unwrap(),
            [0.0, 9.0, 1.0, 361.0],
        );
        // The mean of all is 6, the variance 26.
        let all = [25.0, 4.0, 36.0, 576.0].map(|s| s / 26.0);
        near(
            classes.relative(asked.view()).unwrap(),
            [-all[0], 9.0 - all[1], 1.0 - all[2], 361.0 - all[3]],
        );
    }

    proptest! {
        #[test]
        fn two_columns_are_the_inverse_of_the_covariance(
            raw in prop::collection::vec((-3.0..3.0_f32, -3.0..3.0_f32), 6..12),
        ) {
            let m = raw.len();
            let x = Array2::from_shape_fn((m, 2), |(i, j)| if j == 0 { raw[i].0 } else { raw[i].1 });
            let class: Vec<u32> = (0..m as u32).map(|i| i % 2).collect();
            let x64 = x.mapv(f64::from);
            let mean = |k: usize| {
                let rows: Vec<usize> = (k..m).step_by(2).collect();
                x64.select(ndarray::Axis(0), &rows).mean_axis(ndarray::Axis(0)).unwrap()
            };
            let means = [mean(0), mean(1)];
            let mut s = [[0.0; 2]; 2];
            for i in 0..m {
                let away = &x64.row(i) - &means[i % 2];
                for (a, row) in s.iter_mut().enumerate() {
                    for (b, value) in row.iter_mut().enumerate() {
                        *value += away[a] * away[b] / m as f64;
                    }
                }
            }
            let share = 2.0 / (2 + m) as f64;
            let middle = share * (s[0][0] + s[1][1]) / 2.0;
            for (a, row) in s.iter_mut().enumerate() {
                for (b, value) in row.iter_mut().enumerate() {
                    *value = (1.0 - share) * *value + if a == b { middle } else { 0.0 };
                }
            }
            let det = s[0][0] * s[1][1] - s[0][1] * s[1][0];
            prop_assume!(det > 1e-3);
            let found = ClassGaussians::fit(x.view(), &class).unwrap().distances(x.view()).unwrap();
            for (i, &found) in found.iter().enumerate() {
                let to = |mean: &Array1<f64>| {
                    let v = &x64.row(i) - mean;
                    (s[1][1] * v[0] * v[0] - 2.0 * s[0][1] * v[0] * v[1] + s[0][0] * v[1] * v[1]) / det
                };
                let expected = to(&means[0]).min(to(&means[1]));
                prop_assert!((found - expected).abs() < 1e-6 * (1.0 + expected), "{} {}", found, expected);
            }
        }
    }

    #[test]
    fn degenerate_items_are_refused() {
        let x = array![[0.0, 1.0], [1.0, 1.0], [0.5, 0.0]];
        assert!(ClassGaussians::fit(x.view(), &[0, 0]).is_err());
        assert!(ClassGaussians::fit(Array2::zeros((0, 2)).view(), &[]).is_err());
        // One item a class: nothing varies within.
        let alone = ClassGaussians::fit(x.view(), &[0, 1, 2]).unwrap_err();
        assert!(alone.to_string().contains("does not vary"), "{alone}");
        // Fewer items than columns, and a column that stands still: the shrinkage fills in.
        let wide = array![[0.0, 1.0, 5.0, 0.0], [1.0, 0.0, 5.0, 2.0]];
        let fitted = ClassGaussians::fit(wide.view(), &[0, 0]).unwrap();
        assert!(
            fitted
                .distances(wide.view())
                .unwrap()
                .iter()
                .all(|g| g.is_finite())
        );
        assert!(fitted.distances(x.view()).is_err());
    }
}
