//! MCFS: the columns that together tell apart the groups that rows fall into.
//!
//! ```text
//! W_ij = exp(-d_ij^2 / (2 t^2)) among k nearest neighbours; L y = lambda D y, smallest lambda
//! a_g: lasso of y_g on the columns, with exactly as many non-zeros as columns are asked for
//! score_j = max_g |a_gj| / |a_g|                       more is better
//! ```
//!
//! Each `y` draws a line between groups, and the few columns that draw it too are kept; so a
//! column that says what another has said is left out.
//!
//! **Use it** to bring a descriptor of hundreds of columns down to fifty, without labels. **Not**
//! where rows do not fall into groups, and not to fewer columns than groups. Columns of different
//! units must be standardized first.
//!
//! Cost: O(n^2 d) for the neighbours, O(n d) a step of a path, with `features` steps for each group;
//! memory O(n (d + groups)).
//!
//! Source: Cai, Zhang and He, "Unsupervised feature selection for multi-cluster data", KDD 2010, as
//! in the authors' program: `t` is the mean of all distances, no centring of columns, and a ridge of
//! 1e-3. Of a graph in several parts the vectors that tell parts apart are kept; only the
//! constant one is left out. Where fewer columns than asked for have a score, paths are followed
//! farther, and then the columns that vary most join.

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use super::embedding::Neighborhood;
use super::{Selected, descending, lars};
use crate::learn::{Evidence, Fit, Need};
use crate::matrix::check_finite;
use crate::model::Model;
use crate::{Error, Monitor, Result, parallel};

/// Groups, where nothing tells how many there are.
const GROUPS: usize = 10;

/// Parameters of MCFS; see [`mcfs`](self).
///
/// ```
/// use likewise::{Monitor, select::Mcfs};
/// // The second column tells two groups apart.
/// let x = ndarray::Array2::from_shape_fn((30, 3), |(i, j)| {
///     if j == 1 { (i / 15) as f32 * 9.0 } else { ((i * i + j) % 7) as f32 / 7.0 }
/// });
/// let found = Mcfs::new().groups(1).features(1).fit(x.view(), &Monitor::silent())?;
/// assert_eq!(found.chosen, [1]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mcfs {
    features: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<usize>,
    neighbors: usize,
    ridge: f64,
}

impl Default for Mcfs {
    fn default() -> Self {
        Self {
            features: 50,
            groups: None,
            neighbors: 5,
            ridge: 1e-3,
        }
    }
}

impl Mcfs {
    /// Fifty columns, five neighbours, a ridge of .001; as many groups as classes, or ten, and at most
    /// half as many as rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Columns to choose, at least 1; all where there are fewer.
    #[must_use]
    pub fn features(mut self, features: usize) -> Self {
        self.features = features;
        self
    }

    /// Groups, and vectors that tell them apart, at least 1. Unless said, as many as there are
    /// classes where that is known, and else ten, but at most half as many as rows.
    #[must_use]
    pub fn groups(mut self, groups: usize) -> Self {
        self.groups = Some(groups);
        self
    }

    /// Neighbours of a row, at least 1; all others where there are fewer.
    #[must_use]
    pub fn neighbors(mut self, neighbors: usize) -> Self {
        self.neighbors = neighbors;
        self
    }

    /// Ridge of the regressions, above 0.
    #[must_use]
    pub fn ridge(mut self, ridge: f64) -> Self {
        self.ridge = ridge;
        self
    }

    /// Checks the numbers.
    pub fn validate(&self) -> Result<()> {
        let counts = [
            ("mcfs.features", self.features),
            ("mcfs.groups", self.groups.unwrap_or(GROUPS)),
            ("mcfs.neighbors", self.neighbors),
        ];
        if let Some((field, _)) = counts.into_iter().find(|count| count.1 == 0) {
            return Err(Error::parameter(field, 0, "must be at least 1"));
        }
        if self.ridge.is_finite() && self.ridge > 0.0 {
            return Ok(());
        }
        Err(Error::parameter(
            "mcfs.ridge",
            self.ridge,
            "must be above 0",
        ))
    }

    /// Scores the columns of rows (`n x d`).
    ///
    /// Fails on NaN, without columns, with fewer than two rows or no more of them than `groups` that
    /// were asked for, and when cancelled.
    pub fn fit(&self, x: ArrayView2<f32>, monitor: &Monitor) -> Result<Selected> {
        self.validate()?;
        check_finite(x, "MCFS")?;
        let (n, d) = x.dim();
        if n < 2 || d == 0 {
            return Err(Error::data(format!(
                "MCFS needs columns and two rows, but the matrix is {n} x {d}"
            )));
        }
        let groups = match self.groups {
            Some(groups) if groups >= n => {
                let rule = format!("must be below the number of rows, {n}");
                return Err(Error::parameter("mcfs.groups", groups, &rule));
            }
            Some(groups) => groups,
            None => usual_groups(GROUPS, n),
        };
        let own = Self {
            groups: Some(groups),
            ..*self
        };
        own.fit_rows(&x.mapv(f64::from), monitor)
    }

    fn fit_rows(&self, x: &Array2<f64>, monitor: &Monitor) -> Result<Selected> {
        let (n, d) = x.dim();
        let graph = Neighborhood::of(x, self.neighbors, monitor)?;
        let y = graph.embedding(self.groups.unwrap_or(GROUPS), monitor)?;
        let columns = x.t().as_standard_layout().into_owned();
        let wanted = self.features.min(d);
        let mut cardinality = wanted;
        let scores = loop {
            let scores = self.scores(&columns, &y, cardinality, monitor)?;
            let count = scores.iter().filter(|&&score| score > 0.0).count();
            if count >= wanted || cardinality >= d.min(n) {
                break scores;
            }
            cardinality = (2 * cardinality).min(d.min(n));
        };
        let variance = x.var_axis(Axis(0), 0.0);
        let mut chosen = descending(&scores);
        chosen.sort_by(|&i, &j| {
            let by_score = scores[j].total_cmp(&scores[i]);
            by_score.then_with(|| {
                if scores[i] > 0.0 {
                    return i.cmp(&j);
                }
                variance[j].total_cmp(&variance[i]).then(i.cmp(&j))
            })
        });
        chosen.truncate(wanted);
        Ok(Selected { scores, chosen })
    }

    fn scores(
        &self,
        columns: &Array2<f64>,
        y: &Array2<f64>,
        cardinality: usize,
        monitor: &Monitor,
    ) -> Result<Vec<f64>> {
        let all = parallel::try_map(y.axis_iter(Axis(1)), |y| {
            monitor.check()?;
            Ok(lars::coefficients(
                columns,
                &y.to_owned(),
                self.ridge,
                cardinality,
            ))
        })?;
        let mut scores = vec![0.0_f64; columns.nrows()];
        for found in all {
            let length = found.dot(&found).sqrt();
            if length > 0.0 {
                for (score, value) in scores.iter_mut().zip(&found) {
                    *score = score.max(value.abs() / length);
                }
            }
        }
        Ok(scores)
    }
}

/// As many groups as these, but of two rows each on the mean: one row tells nothing of a group.
fn usual_groups(groups: usize, rows: usize) -> usize {
    groups.min(rows / 2).max(1)
}

impl Fit for Mcfs {
    /// Of labels only how many classes they name is used, where the number of groups is not set.
    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<()> {
        Mcfs::validate(self)
    }

    fn fit(&self, evidence: &Evidence, _: u64, monitor: &Monitor) -> Result<Model> {
        let rows = evidence.coordinates()?;
        let classes = evidence.classes();
        let usual = || (classes > 0).then(|| usual_groups(classes, rows.nrows()));
        let own = Self {
            groups: self.groups.or_else(usual),
            ..*self
        };
        let found: Selected = Mcfs::fit(&own, rows.view(), monitor)?;
        super::warn_of_few("mcfs", self.features, rows.ncols(), monitor);
        found.model(evidence)
    }
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use super::*;
    use crate::linear::check_values::{standardized, wine};

    /// Of each vector the columns that count.
    const COEFFICIENTS: [[(usize, f64); 5]; 3] = [
        [
            (3, 0.00120101404826),
            (6, -0.0121217473101),
            (10, -0.00378852867191),
            (11, -0.00817901616264),
            (12, -0.00274072527153),
        ],
        [
            (0, -0.00780702612765),
            (1, -0.00048877187988),
            (4, -0.00283174362758),
            (9, -0.0121091388954),
            (12, -0.00490301599804),
        ],
        [
            (2, 0.000832051613262),
            (7, 0.00382084679274),
            (8, -0.00492716447608),
            (9, -0.00457946885619),
            (12, 0.0046703630533),
        ],
    ];

    #[test]
    fn columns_of_wines() {
        let x = standardized(&wine().0);
        let silent = Monitor::silent();
        let graph = Neighborhood::of(&x, 5, &silent).unwrap();
        let degrees = [
            6.13080219724,
            4.50752080776,
            4.574912487,
            4.56875438651,
            5.87203456302,
        ];
        for (found, expected) in graph.degrees.iter().zip(degrees) {
            assert!((found - expected).abs() < 1e-9);
        }
        let y = graph.embedding(3, &silent).unwrap();
        let expected = ndarray::array![
            [-0.0317240318166, -0.023411509022, 0.000956777471193],
            [-0.0292013162032, -0.0163540103372, -0.00612278396325],
            [-0.0335815413832, -0.0288271212976, 0.0117363569538],
        ];
        for ((at, expected), _) in expected.indexed_iter().zip(0..) {
            assert!((y[at] - expected).abs() < 1e-7, "{at:?} {}", y[at]);
        }
        let own = Mcfs::new().groups(3).features(5);
        let columns = x.t().as_standard_layout().into_owned();
        for (y, expected) in y.columns().into_iter().zip(COEFFICIENTS) {
            let mut whole = [0.0; 13];
            for (j, value) in expected {
                whole[j] = value;
            }
            let found = lars::coefficients(&columns, &y.to_owned(), 1e-3, 5);
            for (found, expected) in found.iter().zip(whole) {
                assert!((found - expected).abs() < 1e-7, "{found} {expected}");
            }
        }
        let scores = own.scores(&columns, &y, 5, &silent).unwrap();
        let expected = [
            0.50406935903,
            0.0315581021729,
            0.0916881706308,
            0.0779912101303,
            0.182834689157,
            0.0,
            0.787159603153,
            0.421039328694,
            0.542950329052,
            0.781840073497,
            0.246018717403,
            0.531127316224,
            0.514652021237,
        ];
        for (found, expected) in scores.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        let found = own.features(13).neighbors(5).fit_rows(&x, &silent).unwrap();
        assert_eq!(found.chosen.len(), 13);
        let best = own.fit_rows(&x, &silent).unwrap();
        assert_eq!(best.chosen, [6, 9, 8, 11, 12]);
    }

    #[test]
    fn copies_constants_and_numbers_out_of_range() {
        let silent = Monitor::silent();
        let x = Array2::from_shape_fn((30, 4), |(i, j)| match j {
            0 => 7.0,
            3 => (i % 2) as f32,
            _ => (i / 15) as f32 * 9.0 + (i % 5) as f32 / 50.0,
        });
        let own = Mcfs::new().groups(2).features(3);
        let found = own.fit(x.view(), &silent).unwrap();
        assert_eq!(found.chosen.len(), 3);
        assert!(found.scores.iter().all(|s| s.is_finite()));
        let same = Array2::from_elem((8, 3), 2.0_f32);
        assert_eq!(own.fit(same.view(), &silent).unwrap().chosen.len(), 3);
        assert!(own.fit(Array2::zeros((2, 3)).view(), &silent).is_err());
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| own.fit(x.view(), &silent).unwrap())
        };
        assert_eq!(fit(1), fit(2));
        let said = own.groups(30).fit(x.view(), &silent).unwrap_err();
        let said = said.to_string();
        assert!(said.contains("mcfs.groups") && said.contains("below the number of rows, 30"));
        // Of the usual ten groups few rows have room for half as many as they are.
        let few = x.slice(ndarray::s![10..20, ..]);
        let usual = Mcfs::new().features(3);
        assert_eq!(
            usual.fit(few, &silent).unwrap(),
            usual.groups(5).fit(few, &silent).unwrap()
        );
        for wrong in [
            own.features(0),
            own.groups(0),
            own.neighbors(0),
            own.ridge(0.0),
        ] {
            assert!(
                wrong
                    .validate()
                    .unwrap_err()
                    .to_string()
                    .starts_with("mcfs.")
            );
        }
    }
}
