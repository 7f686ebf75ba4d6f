//! `AdaBoost.M1`: small trees, each for what those before it got wrong.
//!
//! ```text
//! w_i = 1/n
//! each round   h: a tree on rows of weight w           e = sum of w_i where h errs
//!              e >= 1/2: stop (the first tree stays)   e = 0: it is the last
//!              b = e / (1 - e);  w_i *= b where h is right;  w /= sum of w
//! class of x = the largest sum of ln(1/b) over the trees that say it
//! ```
//!
//! **Use it** for columns that each say something of their own, at some threshold: histograms,
//! measured quantities. **Not** with a label or two a class: the first tree then makes no mistake, and is
//! all there is; and not with wrong labels, which it learns by heart.
//!
//! Cost: O(rounds splits n d log n) for `n` labeled rows.
//!
//! Source: Freund and Schapire, "Experiments with a new boosting algorithm", ICML 1996, by weights and
//! not by drawn rows. Trees have ten splits, the largest gain of Gini's impurity first. A tree
//! without a mistake counts as one with `b = 1e-10`.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::classify::{Classifier, Classify, Lesson};
use super::tree::{Growth, Rows, Tree};
use crate::{Error, Monitor, Result, seed};

/// What `b` is of a tree that makes no mistake.
const FAULTLESS: f64 = 1e-10;

/// Parameters of `AdaBoost.M1`; see [`adaboost`](self).
///
/// ```
/// use likewise::ensemble::{AdaBoost, Classify, Lesson};
/// use likewise::{Labels, Monitor};
/// let x = ndarray::array![[0.0], [1.0], [2.0], [3.0], [2.6_f32]];
/// let labels = Labels::parse(["a", "a", "b", "b", ""]);
/// let lesson = Lesson { rows: x.view(), labels: &labels };
/// let fitted = AdaBoost::new().fit(&lesson, 1, &Monitor::silent())?;
/// assert_eq!(fitted.classes(x.view())?, [0, 0, 1, 1, 1]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdaBoost {
    rounds: usize,
    splits: usize,
}

impl Default for AdaBoost {
    fn default() -> Self {
        Self {
            rounds: 50,
            splits: 10,
        }
    }
}

impl AdaBoost {
    /// Fifty trees of at most ten splits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Most trees, at least 1.
    #[must_use]
    pub fn rounds(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }

    /// Most splits of a tree, at least 1.
    #[must_use]
    pub fn splits(mut self, splits: usize) -> Self {
        self.splits = splits;
        self
    }

    fn boost(&self, rows: &Rows, seed: u64, monitor: &Monitor) -> Result<Boosted> {
        let n = rows.class.len();
        let mut rng = seed::stream(seed, "adaboost");
        let growth = Growth {
            splits: Some(self.splits),
            columns: None,
        };
        let mut weight = vec![1.0 / n as f64; n];
        let mut trees = Vec::new();
        for round in 0..self.rounds {
            monitor.check()?;
            let weighted = Rows {
                weight: &weight,
                ..*rows
            };
            let tree = Tree::grow(&weighted, growth, &mut rng);
            let right: Vec<bool> = (rows.x.rows().into_iter().zip(rows.class))
                .map(|(row, &class)| tree.class(row) == class)
                .collect();
            let wrong = weight.iter().zip(&right).filter(|(_, right)| !**right);
            let error: f64 = wrong.map(|(weight, _)| weight).sum();
            if error >= 0.5 {
                if round == 0 {
                    trees.push((tree, 1.0));
                }
                break;
            }
            let b = error / (1.0 - error);
            trees.push((tree, -b.max(FAULTLESS).ln()));
            if error <= 0.0 {
                break;
            }
            for (weight, _) in weight.iter_mut().zip(&right).filter(|(_, right)| **right) {
                *weight *= b;
            }
            let sum: f64 = weight.iter().sum();
            for weight in &mut weight {
                *weight /= sum;
            }
        }
        Ok(Boosted {
            trees,
            n_classes: rows.n_classes,
        })
    }
}

impl Classify for AdaBoost {
    fn validate(&self) -> Result<()> {
        for (field, value) in [
            ("adaboost.rounds", self.rounds),
            ("adaboost.splits", self.splits),
        ] {
            if value == 0 {
                return Err(Error::parameter(field, 0, "must be at least 1"));
            }
        }
        Ok(())
    }

    fn fit(&self, lesson: &Lesson, seed: u64, monitor: &Monitor) -> Result<Box<dyn Classifier>> {
        let (x, class) = lesson.labeled();
        let rows = Rows {
            x: x.view(),
            class: &class,
            weight: &[],
            n_classes: lesson.labels.n_classes(),
        };
        Ok(Box::new(self.boost(&rows, seed, monitor)?))
    }
}

struct Boosted {
    /// Each with its vote.
    trees: Vec<(Tree, f64)>,
    n_classes: usize,
}

impl Classifier for Boosted {
    fn classes(&self, rows: ArrayView2<f32>) -> Result<Vec<u32>> {
        let class = |row| {
            let mut votes = vec![0.0; self.n_classes];
            for (tree, vote) in &self.trees {
                votes[tree.class(row) as usize] += vote;
            }
            (0..votes.len()).fold(0, |best, c| if votes[c] > votes[best] { c } else { best }) as u32
        };
        Ok(rows.rows().into_iter().map(class).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn boost(x: &ndarray::Array2<f32>, class: &[u32], of: AdaBoost) -> Boosted {
        let rows = Rows {
            x: x.view(),
            class,
            weight: &[],
            n_classes: 2,
        };
        of.boost(&rows, 0, &Monitor::silent()).unwrap()
    }

    #[test]
    fn three_rounds_of_stumps_by_hand() {
        // No stump is right on a class in the middle; the sum of three is.
        let x = array![[0.0], [1.0], [2.0], [3.0], [4.0], [5.0_f32]];
        let class = [0, 0, 1, 1, 0, 0];
        let stumps = AdaBoost::new().splits(1);
        let one = boost(&x, &class, stumps.rounds(1));
        // Gains tie at 1.5 and 3.5, and the smaller threshold stands. On the right are two and two,
        // so all rows are of class 0, and two of six are wrong: b = 1/2.
        assert_eq!(one.classes(x.view()).unwrap(), [0; 6]);
        assert!((one.trees[0].1 - 2.0_f64.ln()).abs() < 1e-12);
        // Now 2 and 3 weigh 1/4 each and the others 1/8: above 1.5, class 1, and 4 and 5 are wrong
        // by a quarter: b = 1/3.
        let two = boost(&x, &class, stumps.rounds(2));
        assert!((two.trees[1].1 - 3.0_f64.ln()).abs() < 1e-12);
        let many = boost(&x, &class, stumps.rounds(20));
        assert_eq!(many.classes(x.view()).unwrap(), class);
    }

    #[test]
    fn a_faultless_tree_is_the_last_and_a_useless_one_the_only() {
        let x = array![[0.0], [1.0], [2.0], [3.0_f32]];
        let faultless = boost(&x, &[0, 0, 1, 1], AdaBoost::new());
        assert_eq!(faultless.trees.len(), 1);
        assert!((faultless.trees[0].1 - 1e10_f64.ln()).abs() < 1e-9);
        let same = array![[1.0], [1.0_f32]];
        let useless = boost(&same, &[0, 1], AdaBoost::new());
        assert_eq!((useless.trees.len(), useless.trees[0].1), (1, 1.0));
    }
}
