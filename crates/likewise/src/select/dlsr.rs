//! DLSR: the columns that a regression on classes needs, with its targets pushed apart.
//!
//! ```text
//! minimise over W, t and M >= 0   |X W + 1 t^T - Y - B * M|^2 + lambda |W|_(2,1)
//! Y: 1 at the class of a row, else 0;  B: 1 there, else -1;  |W|_(2,1) = sum_j |w_j|
//! score_j = |w_j|                                      more is better
//! ```
//!
//! `M` lets a row be farther on the right side than its target says, so what is told apart well
//! is not pulled back. Whole rows of `W` become 0.
//!
//! **Use it** with labels, where columns are many and linear. **Not** with one label a class, and
//! not where classes are told apart by products of columns. Columns of different units must be
//! standardized first.
//!
//! Cost: O(rounds m^3 + n d m) in `f64`, m the smaller of n and d, at most 30 rounds; memory
//! O(n d + m^2).
//!
//! Source: Xiang, Nie, Meng, Pan and Zhang, "Discriminative least squares regression for multiclass
//! classification and feature selection", IEEE TNNLS 2012. Ours: weights, which count rows; and
//! `lambda` as a share of the mean variance of the columns.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::{Selected, descending};
use crate::learn::{Evidence, Fit, Need, Targets};
use crate::linear::spd::Cholesky;
use crate::matrix::{check_finite, product_of_many};
use crate::model::Model;
use crate::{Error, ErrorKind, Monitor, Result};

/// Added to twice the length of a row of `W`, so that one over it is finite.
const LEAST: f64 = 1e-8;

/// Parameters of DLSR; see [`dlsr`](self).
///
/// ```
/// use likewise::{Monitor, select::Dlsr};
/// let x = ndarray::array![[1.0, 0.0], [0.9, 1.0], [0.0, 0.1], [0.1, 0.9_f32]];
/// let found = Dlsr::new().features(1);
/// let found = found.fit_weighted(x.view(), &[0, 0, 1, 1], &[1.0; 4], &Monitor::silent())?;
/// assert_eq!(found.chosen, [0]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dlsr {
    features: usize,
    lambda: f64,
    iterations: usize,
}

impl Default for Dlsr {
    fn default() -> Self {
        Self {
            features: 50,
            lambda: 1e-2,
            iterations: 30,
        }
    }
}

impl Dlsr {
    /// Fifty columns, lambda a hundredth of the mean scatter of a column, 30 rounds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Columns to choose, at least 1; all where there are fewer.
    #[must_use]
    pub fn features(mut self, features: usize) -> Self {
        self.features = features;
        self
    }

    /// `lambda` by the mean scatter of a column, above 0.
    #[must_use]
    pub fn lambda(mut self, lambda: f64) -> Self {
        self.lambda = lambda;
        self
    }

    /// Most rounds, at least 1.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// Checks the numbers.
    pub fn validate(&self) -> Result<()> {
        for (field, value) in [
            ("dlsr.features", self.features),
            ("dlsr.iterations", self.iterations),
        ] {
            if value == 0 {
                return Err(Error::parameter(field, 0, "must be at least 1"));
            }
        }
        if self.lambda.is_finite() && self.lambda > 0.0 {
            return Ok(());
        }
        Err(Error::parameter(
            "dlsr.lambda",
            self.lambda,
            "must be above 0",
        ))
    }

    /// Scores the columns of rows (`n x d`) by a class and a weight of each; rows of weight 0 are
    /// left out.
    ///
    /// Fails on NaN, where numbers differ, without two classes of some weight, where no column
    /// varies, and when cancelled.
    pub fn fit_weighted(
        &self,
        x: ArrayView2<f32>,
        classes: &[u32],
        weights: &[f32],
        monitor: &Monitor,
    ) -> Result<Selected> {
        self.validate()?;
        let kept = super::labeled(x, classes, weights, "DLSR")?;
        check_finite(x, "DLSR")?;
        let roots: Array1<f64> = kept.iter().map(|&i| f64::from(weights[i]).sqrt()).collect();
        let mut rows = x.select(Axis(0), &kept).mapv(f64::from);
        let mass = roots.dot(&roots);
        let squares = &roots * &roots;
        let mean = rows.t().dot(&squares) / mass;
        rows -= &mean;
        let scaled = &rows * &roots.view().insert_axis(Axis(1));
        let d = rows.ncols();
        let scatter = scaled.iter().map(|v| v * v).sum::<f64>() / d.max(1) as f64;
        if scatter <= 0.0 {
            return Err(Error::data("DLSR: no column of the labeled rows varies"));
        }
        let mut names: Vec<u32> = kept.iter().map(|&i| classes[i]).collect();
        names.sort_unstable();
        names.dedup();
        let own: Vec<usize> = (kept.iter())
            .map(|&i| names.partition_point(|&name| name < classes[i]))
            .collect();
        let lambda = self.lambda * scatter;
        let y = Array2::from_shape_fn((kept.len(), names.len()), |(i, c)| {
            f64::from(u8::from(own[i] == c))
        });
        let sign = y.mapv(|y| 2.0 * y - 1.0);
        let mut slack = Array2::<f64>::zeros(y.dim());
        let mut inverse_sizes = Array1::<f64>::ones(d);
        let mut map = Array2::<f64>::zeros((d, names.len()));
        monitor.start("discriminative regression", self.iterations as u64);
        for round in 0..self.iterations {
            monitor.step(round as u64)?;
            let targets = &y + &(&sign * &slack);
            let offset = targets.t().dot(&squares) / mass;
            let right = (&targets - &offset) * roots.view().insert_axis(Axis(1));
            let next = solve(&scaled, &right, &inverse_sizes, lambda)?;
            let moved = (&next - &map).mapv(|v| v * v).sum().sqrt();
            let size = next.mapv(|v| v * v).sum().sqrt();
            map = next;
            let lengths = map.map_axis(Axis(1), |row| row.dot(&row).sqrt());
            inverse_sizes = lengths.mapv(|length| (2.0 * length + LEAST).recip());
            let columns = map.t().as_standard_layout().into_owned();
            let error = product_of_many(&rows, &columns) + &offset - &y;
            slack = (&sign * &error).mapv(|v| v.max(0.0));
            if moved <= 1e-4 * size {
                break;
            }
        }
        monitor.end();
        let scores = map.map_axis(Axis(1), |row| row.dot(&row).sqrt()).to_vec();
        let mut chosen = descending(&scores);
        chosen.truncate(self.features);
        Ok(Selected { scores, chosen })
    }
}

impl Fit for Dlsr {
    fn needs(&self) -> &'static [Need] {
        &[Need::Classes]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<()> {
        Dlsr::validate(self)
    }

    fn fit(&self, evidence: &Evidence, _: u64, monitor: &Monitor) -> Result<Model> {
        let rows = evidence.coordinates()?;
        let Targets { class, weight, .. } = evidence.targets;
        let found = self.fit_weighted(rows.view(), class, weight, monitor)?;
        super::warn_of_few("dlsr", self.features, rows.ncols(), monitor);
        found.model(evidence)
    }
}

/// `(X^T X + lambda G)^-1 X^T R` with a diagonal `G`, by the smaller of two systems.
fn solve(
    x: &Array2<f64>,
    right: &Array2<f64>,
    diagonal: &Array1<f64>,
    lambda: f64,
) -> Result<Array2<f64>> {
    let singular = || Error::new(ErrorKind::Internal, "the regression of DLSR is singular");
    let (n, d) = x.dim();
    // Columns in units in which G is the identity.
    let units = diagonal.mapv(|g| g.sqrt().recip());
    let x = x * &units;
    let by = units.view().insert_axis(Axis(1));
    let transposed = x.t().as_standard_layout().into_owned();
    let right_transposed = right.t().as_standard_layout().into_owned();
    let mut gram = if n < d {
        product_of_many(&x, &x)
    } else {
        product_of_many(&transposed, &transposed)
    };
    gram.diag_mut().mapv_inplace(|v| v + lambda);
    let factor = Cholesky::of(&gram).ok_or_else(singular)?;
    let solve = |b: Array2<f64>| factor.upper_solve(factor.lower_solve(b));
    let found = if n < d {
        let inner = solve(right.clone());
        product_of_many(&transposed, &inner.t().as_standard_layout().into_owned())
    } else {
        solve(product_of_many(&transposed, &right_transposed))
    };
    Ok(found * by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::check_values::{standardized, wine};

    #[test]
    fn both_systems_solve_the_equations() {
        for (n, d) in [(5, 9), (12, 4)] {
            let x = Array2::from_shape_fn((n, d), |(i, j)| ((i * i + 3 * j * j) as f64).sin());
            let right = Array2::from_shape_fn((n, 2), |(i, j)| ((i + 5 * j) as f64).cos());
            let g = Array1::from_shape_fn(d, |j| 0.5 + j as f64);
            let w = solve(&x, &right, &g, 0.3).unwrap();
            let left = x.t().dot(&x.dot(&w)) + &w * &(&g * 0.3).insert_axis(Axis(1));
            assert!((left - x.t().dot(&right)).iter().all(|e| e.abs() < 1e-9));
        }
    }

    #[test]
    fn a_weight_is_a_multiplicity_and_0_is_absence() {
        let (x, classes) = wine();
        let x = standardized(&x).mapv(|v| v as f32);
        let silent = Monitor::silent();
        let own = Dlsr::new().features(4);
        let weights: Vec<f32> = (0..178).map(|i| [1.0, 0.0, 2.0][i % 3]).collect();
        let found = own
            .fit_weighted(x.view(), &classes, &weights, &silent)
            .unwrap();
        let copies: Vec<usize> = (0..178).flat_map(|i| vec![i; [1, 0, 2][i % 3]]).collect();
        let many: Vec<u32> = copies.iter().map(|&i| classes[i]).collect();
        let rows = x.select(Axis(0), &copies);
        let other = own
            .fit_weighted(rows.view(), &many, &vec![1.0; many.len()], &silent)
            .unwrap();
        assert_eq!(found.chosen, other.chosen);
        for (a, b) in found.scores.iter().zip(&other.scores) {
            assert!((a - b).abs() < 1e-9);
        }
        // Proline and flavanoids, which every selector names.
        assert!(found.chosen.contains(&12) && found.chosen.contains(&6));
    }

    #[test]
    fn degenerate_rows_are_refused() {
        let silent = Monitor::silent();
        let own = Dlsr::new();
        let x = ndarray::array![[1.0, 5.0], [1.0, 7.0], [1.0, 9.0_f32]];
        let fit = |classes: &[u32]| own.fit_weighted(x.view(), classes, &[1.0; 3], &silent);
        assert!(fit(&[0, 0, 0]).is_err());
        let found = fit(&[0, 1, 2]).unwrap();
        assert!(found.scores[0].abs() < 1e-12 && found.chosen == [1, 0]);
        let same = Array2::from_elem((3, 2), 1.0_f32);
        assert!(
            own.fit_weighted(same.view(), &[0, 1, 1], &[1.0; 3], &silent)
                .is_err()
        );
        for wrong in [own.features(0), own.lambda(0.0), own.iterations(0)] {
            assert!(
                wrong
                    .validate()
                    .unwrap_err()
                    .to_string()
                    .starts_with("dlsr.")
            );
        }
    }
}
