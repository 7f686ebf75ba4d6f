//! Random forest: whole trees of drawn rows, with drawn columns for each split, that vote.
//!
//! Each tree has as many rows as there are labeled ones, drawn with replacement, and grows until its
//! leaves are of one class; each split looks at `columns` columns drawn for it (the root of
//! their number, if none is said). The class that most trees say wins, the smaller of two.
//!
//! **Use it** for columns of different units and form, with five labels a class or more. **Not**
//! where classes lie along directions that no single column has: there discriminants and metrics
//! do better.
//!
//! Cost: O(trees n m log^2 n) for `n` labeled rows and `m` columns a split; trees grow in parallel.
//!
//! Source: Breiman, "Random forests", Machine Learning 2001.

use ndarray::ArrayView2;
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::ballot::most_frequent;
use super::classify::{Classifier, Classify, Lesson, at_most_members};
use super::tree::{Growth, Rows, Tree};
use crate::{Error, Monitor, Result, parallel, seed};

/// Parameters of a random forest; see [`forest`](self).
///
/// ```
/// use likewise::ensemble::{Classify, Forest, Lesson};
/// use likewise::{Labels, Monitor};
/// let x = ndarray::Array2::from_shape_fn((20, 2), |(i, _)| (i / 10 * 10 + i % 10) as f32);
/// let labels = Labels::from_integers((0..20).map(|i| if i % 2 == 0 { i / 10 } else { -1 }));
/// let lesson = Lesson { rows: x.view(), labels: &labels };
/// let fitted = Forest::new().fit(&lesson, 1, &Monitor::silent())?;
/// assert_eq!(fitted.classes(x.view())?[..3], [0, 0, 0]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Forest {
    trees: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<usize>,
}

impl Default for Forest {
    fn default() -> Self {
        Self {
            trees: 50,
            columns: None,
        }
    }
}

impl Forest {
    /// Fifty trees, and as many columns a split as the root of their number.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of trees, at least 1 and at most a million.
    #[must_use]
    pub fn trees(mut self, trees: usize) -> Self {
        self.trees = trees;
        self
    }

    /// Columns that a split looks at, at least 1; all where there are fewer.
    #[must_use]
    pub fn columns(mut self, columns: usize) -> Self {
        self.columns = Some(columns);
        self
    }
}

impl Classify for Forest {
    fn validate(&self) -> Result<()> {
        for (field, value) in [
            ("forest.trees", self.trees),
            ("forest.columns", self.columns.unwrap_or(1)),
        ] {
            if value == 0 {
                return Err(Error::parameter(field, 0, "must be at least 1"));
            }
        }
        at_most_members("forest.trees", self.trees)
    }

    fn fit(&self, lesson: &Lesson, seed: u64, monitor: &Monitor) -> Result<Box<dyn Classifier>> {
        let (x, class) = lesson.labeled();
        let root = (x.ncols() as f64).sqrt() as usize;
        let growth = Growth {
            splits: None,
            columns: Some(self.columns.unwrap_or(root).max(1)),
        };
        let grow = |tree: usize| {
            monitor.check()?;
            let mut rng = seed::stream(seed, &format!("forest {tree}"));
            let mut weight = vec![0.0; class.len()];
            for _ in 0..class.len() {
                weight[rng.random_range(0..class.len())] += 1.0;
            }
            let rows = Rows {
                x: x.view(),
                class: &class,
                weight: &weight,
                n_classes: lesson.labels.n_classes(),
            };
            Ok(Tree::grow(&rows, growth, &mut rng))
        };
        Ok(Box::new(Grown(parallel::try_map(0..self.trees, grow)?)))
    }
}

struct Grown(Vec<Tree>);

impl Classifier for Grown {
    fn classes(&self, rows: ArrayView2<f32>) -> Result<Vec<u32>> {
        let class = |i: usize| most_frequent(self.0.iter().map(|tree| tree.class(rows.row(i))));
        Ok(parallel::map_rows(rows.nrows(), class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use ndarray::Array2;

    #[test]
    fn a_forest_of_one_tree_of_all_columns_is_that_tree_of_its_draw() {
        let x = Array2::from_shape_fn((12, 2), |(i, j)| ((i * 5 + j * 3) % 12) as f32);
        let labels = Labels::from_integers((0..12).map(|i| i % 2));
        let lesson = Lesson {
            rows: x.view(),
            labels: &labels,
        };
        let one = Forest::new().trees(1).columns(2);
        let found = one.fit(&lesson, 3, &Monitor::silent()).unwrap();
        // Every row that was drawn has its class.
        let mut rng = seed::stream(3, "forest 0");
        let drawn: Vec<usize> = (0..12).map(|_| rng.random_range(0..12)).collect();
        let classes = found.classes(x.view()).unwrap();
        assert!(drawn.iter().all(|&i| Some(classes[i]) == labels[i].class()));
        assert!(drawn.len() == 12 && (0..12).any(|i| !drawn.contains(&i)));
        let other = one.fit(&lesson, 4, &Monitor::silent()).unwrap();
        let many = Forest::new().fit(&lesson, 4, &Monitor::silent()).unwrap();
        let right = |of: &[u32]| {
            (0..12)
                .filter(|&i| Some(of[i]) == labels[i].class())
                .count()
        };
        assert_ne!(other.classes(x.view()).unwrap(), classes);
        assert!(right(&many.classes(x.view()).unwrap()) >= right(&classes));
        assert!(Forest::new().trees(0).validate().is_err());
        let said = Forest::new().trees(usize::MAX).validate().unwrap_err();
        let said = said.to_string();
        assert!(
            said.starts_with("forest.trees = ") && said.contains("at most 1000000"),
            "{said}"
        );
    }
}
