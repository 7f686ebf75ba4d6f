//! Laplacian score: columns whose values are alike among neighbours, for how much they vary.
//!
//! ```text
//! W_ij = exp(-d_ij^2 / (2 t^2)) among k nearest neighbours, D its degrees, L = D - W
//! f~ = f - (f^T D 1 / 1^T D 1) 1                score = f~^T L f~ / f~^T D f~      less is better
//! ```
//!
//! **Use it** for a first cut, without labels, where rows fall into groups. **Not** where columns
//! repeat each other: each is scored by itself, and ten copies of the best are the ten best
//! ([MCFS](super::mcfs) looks at them together).
//!
//! Cost: O(n^2 d) for the neighbours and O(n k d) for the scores; memory O(n (k + d)).
//!
//! Source: He, Cai and Niyogi, "Laplacian score for feature selection", NIPS 2005. `t` is the mean
//! of all distances, that of a row to itself included, as in the authors' program. A column that
//! does not vary scores infinity.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::Selected;
use super::embedding::Neighborhood;
use crate::learn::{Evidence, Fit, Need};
use crate::matrix::check_finite;
use crate::model::Model;
use crate::{Error, Monitor, Result, parallel};

/// Least spread of a column, as a share of what it differs from its first row by.
const CONSTANT: f64 = 1e-12;

/// Parameters of the Laplacian score; see [`laplacian_score`](self).
///
/// ```
/// use likewise::{Monitor, select::LaplacianScore};
/// // The first column tells two groups apart, the second does not.
/// let x = ndarray::Array2::from_shape_fn((20, 2), |(i, j)| {
///     if j == 0 { (i / 10) as f32 * 9.0 } else { (i * i % 7) as f32 / 7.0 }
/// });
/// let found = LaplacianScore::new().features(1).fit(x.view(), &Monitor::silent())?;
/// assert_eq!(found.chosen, [0]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LaplacianScore {
    features: usize,
    neighbors: usize,
}

impl Default for LaplacianScore {
    fn default() -> Self {
        Self {
            features: 50,
            neighbors: 5,
        }
    }
}

impl LaplacianScore {
    /// Fifty columns, five neighbours.
    pub fn new() -> Self {
        Self::default()
    }

    /// Columns to choose, at least 1; all where there are fewer.
    #[must_use]
    pub fn features(mut self, features: usize) -> Self {
        self.features = features;
        self
    }

    /// Neighbours of a row, at least 1; all others where there are fewer.
    #[must_use]
    pub fn neighbors(mut self, neighbors: usize) -> Self {
        self.neighbors = neighbors;
        self
    }

    /// Checks the numbers.
    pub fn validate(&self) -> Result<()> {
        for (name, value) in [("features", self.features), ("neighbors", self.neighbors)] {
            if value == 0 {
                let field = format!("laplacian-score.{name}");
                return Err(Error::parameter(&field, 0, "must be at least 1"));
            }
        }
        Ok(())
    }

    /// Scores the columns of rows (`n x d`).
    ///
    /// Fails on NaN, with fewer than two rows, without a column that varies, and when cancelled.
    pub fn fit(&self, x: ArrayView2<f32>, monitor: &Monitor) -> Result<Selected> {
        self.validate()?;
        check_finite(x, "Laplacian score")?;
        if x.nrows() < 2 || x.ncols() == 0 {
            return Err(Error::data("a Laplacian score needs columns and two rows"));
        }
        self.fit_rows(&x.mapv(f64::from), monitor)
    }

    fn fit_rows(&self, x: &Array2<f64>, monitor: &Monitor) -> Result<Selected> {
        let graph = Neighborhood::of(x, self.neighbors, monitor)?;
        let scores = scores(x, &graph);
        if !scores.iter().any(|score| score.is_finite()) {
            return Err(Error::data(format!(
                "Laplacian score: none of the {} columns varies, so none is better than another; give \
                 features that differ",
                scores.len()
            )));
        }
        let mut chosen: Vec<usize> = (0..scores.len()).collect();
        chosen.sort_by(|&i, &j| scores[i].total_cmp(&scores[j]));
        chosen.truncate(self.features);
        Ok(Selected { scores, chosen })
    }
}

impl Fit for LaplacianScore {
    /// No label is used.
    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<()> {
        LaplacianScore::validate(self)
    }

    fn fit(&self, evidence: &Evidence, _: u64, monitor: &Monitor) -> Result<Model> {
        let rows = evidence.coordinates()?;
        let found = LaplacianScore::fit(self, rows.view(), monitor)?;
        super::warn_of_few("laplacian-score", self.features, rows.ncols(), monitor);
        found.model(evidence)
    }
}

fn scores(x: &Array2<f64>, graph: &Neighborhood) -> Vec<f64> {
    let whole = graph.degrees.sum();
    let one = |j: usize| {
        // From the first row: a column of one value is 0, and large values take nothing from small changes.
        let own = x.column(j).mapv(|v| v - x[(0, j)]);
        let mean = own.dot(&graph.degrees) / whole;
        let f: Vec<f64> = own.iter().map(|v| v - mean).collect();
        let of_squares =
            |f: &[f64]| -> f64 { f.iter().zip(&graph.degrees).map(|(f, d)| f * f * d).sum() };
        let (spread, size) = (of_squares(&f), of_squares(&own.to_vec()));
        if spread <= CONSTANT * size || !spread.is_finite() {
            return f64::INFINITY;
        }
        let among: f64 = graph.times(&f).iter().zip(&f).map(|(w, f)| w * f).sum();
        1.0 - among / spread
    };
    parallel::map_rows(x.ncols(), one)
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use super::*;
    use crate::linear::check_values::{standardized, wine};

    #[test]
    fn scores_of_wines() {
        let x = standardized(&wine().0);
        let found = LaplacianScore::new()
            .fit_rows(&x, &Monitor::silent())
            .unwrap();
        let expected = [
            0.235114675928,
            0.296352974264,
            0.317215325038,
            0.327017659466,
            0.319167020248,
            0.188433725848,
            0.117692737444,
            0.261871032798,
            0.32242918219,
            0.15915251711,
            0.211952348522,
            0.169488401881,
            0.164396858535,
        ];
        for (found, expected) in found.scores.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        assert_eq!(found.chosen, [6, 9, 12, 11, 5, 10, 0, 7, 1, 2, 4, 8, 3]);
    }

    #[test]
    fn units_and_offsets_of_columns_do_not_matter() {
        let x = standardized(&wine().0);
        let silent = Monitor::silent();
        let of = |x: &Array2<f64>| LaplacianScore::new().fit_rows(x, &silent).unwrap();
        let expected = of(&x);
        // Powers of two, so that nothing is rounded.
        for scale in [-30, 30].map(|power| 2.0_f64.powi(power)) {
            let found = of(&(&x * scale));
            assert_eq!(found.chosen, expected.chosen);
            for (found, expected) in found.scores.iter().zip(&expected.scores) {
                assert!((found - expected).abs() < 1e-12, "{found} {expected}");
            }
        }
        let graph = Neighborhood::of(&x, 5, &silent).unwrap();
        for (found, expected) in scores(&(&x + 1e7), &graph).iter().zip(&expected.scores) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    #[test]
    fn a_constant_column_is_last_and_numbers_are_checked() {
        let x = Array2::from_shape_fn((12, 3), |(i, j)| if j == 0 { 4.0 } else { (i * j) as f32 });
        let silent = Monitor::silent();
        let own = LaplacianScore::new();
        let found = own.fit(x.view(), &silent).unwrap();
        assert!(found.scores[0].is_infinite() && found.chosen[2] == 0);
        let same = Array2::from_elem((4, 2), 1.0_f32);
        let said = own.fit(same.view(), &silent).unwrap_err().to_string();
        assert!(said.contains("none of the 2 columns varies"), "{said}");
        assert!(own.fit(Array2::zeros((1, 2)).view(), &silent).is_err());
        for wrong in [own.features(0), own.neighbors(0)] {
            assert!(wrong.validate().is_err());
        }
    }
}
