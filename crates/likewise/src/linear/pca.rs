//! PCA: the directions in which features vary most.
//!
//! ```text
//! x - mean = sum_i y_i v_i             v_i: eigenvectors of the covariance, the largest first
//! y = (v_1 . x, ..., v_r . x)          compared by their Euclidean distance
//! ```
//!
//! **Use it** to bring many columns to few without labels, as a start of what follows or as what a
//! learned metric has to beat. **Not** where columns have different units (standardize them first),
//! nor in the hope that classes lie along what varies most.
//!
//! Cost: O(n d min(n, d)) in `f64`; memory O(d min(n, d)).
//!
//! Source: Pearson 1901; Hotelling 1933. One row over a thousand times as long as others is left out
//! of the mean and the directions.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::whitening::Spectrum;
use crate::learn::{Evidence, Fit, Need};
use crate::model::Model;
use crate::{Error, Monitor, Result};

/// Parameters of PCA; see [`pca`](self).
///
/// ```
/// use likewise::linear::Pca;
/// let x = ndarray::array![[0.0, 0.0], [3.0, 4.0], [6.0, 8.0_f32]];
/// let l = Pca::new().rank(1).fit_rows(x.view())?;
/// assert!((l[(0, 0)].abs() - 0.6).abs() < 1e-9 && (l[(0, 1)].abs() - 0.8).abs() < 1e-9);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pca {
    rank: usize,
}

impl Default for Pca {
    fn default() -> Self {
        Self { rank: 50 }
    }
}

impl Pca {
    /// Fifty directions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Directions that are kept, at least 1; all that vary where there are fewer, and one where none does.
    #[must_use]
    pub fn rank(mut self, rank: usize) -> Self {
        self.rank = rank;
        self
    }

    /// Checks the number.
    pub fn validate(&self) -> Result<()> {
        if self.rank == 0 {
            return Err(Error::parameter("pca.rank", 0, "must be at least 1"));
        }
        Ok(())
    }

    /// The map (`r x d`) to the directions of rows (`n x d`). Fails on NaN, and without a row or a
    /// column.
    pub fn fit_rows(&self, x: ArrayView2<f32>) -> Result<Array2<f64>> {
        self.validate()?;
        let (spectrum, _) = Spectrum::fit_sound(x, false)?;
        let varying = spectrum.variances.iter().filter(|&&v| v > 0.0).count();
        let map = spectrum.truncated(f64::INFINITY, self.rank.min(varying.max(1)))?;
        Ok(map.matrix.reversed_axes().as_standard_layout().into_owned())
    }
}

impl Fit for Pca {
    /// No label is used.
    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<()> {
        Pca::validate(self)
    }

    fn fit(&self, evidence: &Evidence, _: u64, monitor: &Monitor) -> Result<Model> {
        let rows = evidence.coordinates()?;
        let map = self.fit_rows(rows.view())?;
        if map.nrows() < self.rank {
            monitor.warn(format!(
                "pca: {} directions are asked for and there are {}, so all are kept",
                self.rank,
                map.nrows()
            ));
        }
        evidence.start.transform(map)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, array};
    use rand::RngExt;

    use super::*;
    use crate::seed;

    #[test]
    #[allow(clippy::unreadable_literal)] // Computed values.
    fn the_irises_vary_along_the_computed_directions() {
        let x = crate::linear::check_values::iris().0;
        let l = Pca::new().fit_rows(x.mapv(|v| v as f32).view()).unwrap();
        // By numpy, of the covariance with n - 1; each direction up to its sign.
        let expected = array![
            [
                0.361386591785,
                -0.0845225140646,
                0.85667060595,
                0.358289197152
            ],
            [
                0.656588771287,
                0.730161434785,
                -0.173372662796,
                -0.0754810199175
            ],
            [-0.582029851306, 0.5979108301, 0.076236075821, 0.54583143202],
            [
                0.315487192904,
                -0.319723103666,
                -0.479838986995,
                0.753657425264
            ],
        ];
        let variances = x.dot(&l.t()).var_axis(Axis(0), 1.0);
        let values = [
            4.22824170603,
            0.242670747929,
            0.0782095000429,
            0.0238350929735,
        ];
        assert_eq!(l.dim(), (4, 4));
        for (k, value) in values.into_iter().enumerate() {
            let along = l.row(k).dot(&expected.row(k));
            assert!((along.abs() - 1.0).abs() < 1e-6, "direction {k}: {along}");
            assert!((variances[k] / value - 1.0).abs() < 1e-5, "{variances}");
        }
        // The first iris along these directions.
        let first = &x.row(0) - &x.mean_axis(Axis(0)).unwrap();
        let along = [
            -2.68412562597,
            0.319397246585,
            -0.0279148275894,
            0.00226243707132,
        ];
        for (k, along) in along.into_iter().enumerate() {
            let sign = l.row(k).dot(&expected.row(k)).signum();
            let found = sign * l.row(k).dot(&first);
            assert!((found - along).abs() < 1e-5, "{k}: {found}");
        }
    }

    #[test]
    fn directions_are_orthonormal_and_hold_the_largest_variances() {
        let mut rng = seed::stream(1, "pca");
        let scale = [5.0_f32, 0.1, 2.0, 1.0];
        let x = Array2::from_shape_fn((60, 4), |(_, j)| scale[j] * rng.random_range(-1.0_f32..1.0));
        let l = Pca::new().rank(2).fit_rows(x.view()).unwrap();
        assert_eq!(l.dim(), (2, 4));
        let products = l.dot(&l.t());
        assert!(
            (products - Array2::<f64>::eye(2))
                .iter()
                .all(|e| e.abs() < 1e-9)
        );
        assert!(l[(0, 0)].abs() > 0.9 && l[(1, 2)].abs() > 0.9, "{l}");
        // What is kept varies as the largest eigenvalues say: no other plane varies more.
        let kept =
            |l: &Array2<f64>| -> f64 { x.mapv(f64::from).dot(&l.t()).var_axis(Axis(0), 0.0).sum() };
        let all = x.mapv(f64::from).var_axis(Axis(0), 0.0);
        assert!(kept(&l) >= all[0] + all[2] - 1e-9);
        assert_eq!(Pca::new().fit_rows(x.view()).unwrap().nrows(), 4);
        assert!(Pca::new().rank(0).validate().is_err());
        assert!(Pca::new().fit_rows(Array2::zeros((0, 3)).view()).is_err());
        let same = Array2::from_elem((5, 3), 2.0_f32);
        assert_eq!(Pca::new().fit_rows(same.view()).unwrap().dim(), (1, 3));
    }
}
