//! Random subspaces: nearest neighbours, each in some columns, that vote.
//!
//! Each of `members` draws `columns` columns (half of them, if none is said) and says the class of the
//! labeled row that is nearest by these. The class that most say wins, the smaller of two.
//!
//! **Use it** where many columns say the same, or some are noise. **Not** where few columns say it
//! all: most draws are without them.
//!
//! Cost: O(members n l columns) for `n` rows and `l` labeled ones.
//!
//! Source: Ho, "The random subspace method for constructing decision forests", PAMI 1998, with nearest
//! neighbours in place of trees.

use ndarray::{Array2, ArrayView1, ArrayView2};
use rand::seq::index::sample;
use serde::{Deserialize, Serialize};

use super::ballot::most_frequent;
use super::classify::{Classifier, Classify, Lesson, at_most_members};
use crate::{Error, Monitor, Result, parallel, seed};

/// Parameters of random subspaces; see [`subspace`](self).
///
/// ```
/// use likewise::ensemble::{Classify, Lesson, Subspace};
/// use likewise::{Labels, Monitor};
/// let x = ndarray::array![[0.0, 0.1], [1.0, 0.9], [0.2, 0.3_f32]];
/// let labels = Labels::parse(["a", "b", ""]);
/// let lesson = Lesson { rows: x.view(), labels: &labels };
/// let fitted = Subspace::new().fit(&lesson, 1, &Monitor::silent())?;
/// assert_eq!(fitted.classes(x.view())?, [0, 1, 0]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Subspace {
    members: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<usize>,
}

impl Default for Subspace {
    fn default() -> Self {
        Self {
            members: 50,
            columns: None,
        }
    }
}

impl Subspace {
    /// Fifty draws of half of the columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of draws, at least 1 and at most a million.
    #[must_use]
    pub fn members(mut self, members: usize) -> Self {
        self.members = members;
        self
    }

    /// Columns of a draw, at least 1; all where there are fewer.
    #[must_use]
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = Some(columns);
        self
    }
}

impl Classify for Subspace {
    fn validate(&self) -> Result<()> {
        for (field, value) in [
            ("subspace.members", self.members),
            ("subspace.columns", self.columns.unwrap_or(1)),
        ] {
            if value == 0 {
                return Err(Error::parameter(field, 0, "must be at least 1"));
            }
        }
        at_most_members("subspace.members", self.members)
    }

    fn fit(&self, lesson: &Lesson, seed: u64, _: &Monitor) -> Result<Box<dyn Classifier>> {
        let (x, class) = lesson.labeled();
        let d = x.ncols();
        let columns = self.columns.unwrap_or(d.div_ceil(2)).min(d);
        let draw = |member: usize| {
            let mut rng = seed::stream(seed, &format!("subspace {member}"));
            let mut drawn = sample(&mut rng, d, columns).into_vec();
            drawn.sort_unstable();
            drawn
        };
        Ok(Box::new(Drawn {
            draws: (0..self.members).map(draw).collect(),
            x,
            class,
        }))
    }
}

struct Drawn {
    draws: Vec<Vec<usize>>,
    /// The labeled rows, and their classes.
    x: Array2<f32>,
    class: Vec<u32>,
}

impl Drawn {
    /// The class of the nearest labeled row by some columns, of the first of several.
    fn nearest(&self, row: ArrayView1<f32>, columns: &[usize]) -> u32 {
        let mut best = (f64::INFINITY, 0);
        for (own, &class) in self.x.rows().into_iter().zip(&self.class) {
            let difference = |&j: &usize| (f64::from(row[j]) - f64::from(own[j])).powi(2);
            let square: f64 = columns.iter().map(difference).sum();
            if square < best.0 {
                best = (square, class);
            }
        }
        best.1
    }
}

impl Classifier for Drawn {
    fn classes(&self, rows: ArrayView2<f32>) -> Result<Vec<u32>> {
        let class = |i: usize| {
            let row = rows.row(i);
            most_frequent(self.draws.iter().map(|draw| self.nearest(row, draw)))
        };
        Ok(parallel::map_rows(rows.nrows(), class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use ndarray::array;

    #[test]
    fn columns_outvote_each_other() {
        // The third column says b, the other two a; draws of one column are of each about as often.
        let x = array![[0.0, 0.0, 0.0], [9.0, 9.0, 9.0], [1.0, 1.0, 8.0_f32]];
        let labels = Labels::parse(["a", "b", ""]);
        let lesson = Lesson {
            rows: x.view(),
            labels: &labels,
        };
        let fit = |of: Subspace| {
            let fitted = of.fit(&lesson, 0, &Monitor::silent()).unwrap();
            fitted.classes(x.view()).unwrap()[2]
        };
        assert_eq!(fit(Subspace::new().columns(1).members(300)), 0);
        // By all columns 1 + 1 + 64 is nearer than 64 + 64 + 1.
        assert_eq!(fit(Subspace::new().columns(9).members(1)), 0);
        // By the third alone it is the other.
        let own = Drawn {
            draws: vec![vec![2]],
            x: x.slice(ndarray::s![..2, ..]).to_owned(),
            class: vec![0, 1],
        };
        assert_eq!(own.classes(x.view()).unwrap(), [0, 1, 1]);
        // Half of three columns are two.
        let draws = Subspace::new().fit(&lesson, 0, &Monitor::silent());
        assert!(draws.is_ok() && Subspace::new().columns(0).validate().is_err());
        let said = Subspace::new().members(usize::MAX).validate().unwrap_err();
        let said = said.to_string();
        assert!(
            said.starts_with("subspace.members = ") && said.contains("at most 1000000"),
            "{said}"
        );
    }
}
