//! Decision trees (CART) of weighted rows: what boosting and forests are made of.
//!
//! ```text
//! gain of a split = sum_c l_c^2 / l + sum_c r_c^2 / r - sum_c t_c^2 / t
//! ```
//!
//! `l_c`, `r_c`, `t_c` are the weights of class `c` to the left, to the right and in the node, `l`, `r`
//! and `t` their sums: the decrease of Gini's impurity times the weight of the node. The leaf with the
//! largest gain is split next, until no leaf can be split or `splits` are made. Ties go to the earlier
//! leaf, the smaller column and the smaller threshold.
//!
//! Cost: O(m d log m) a node of `m` rows and `d` columns.
//!
//! Source: Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984. No
//! crate that we know of takes weights of rows and draws columns anew for each split.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use ndarray::{ArrayView1, ArrayView2};
use rand::seq::SliceRandom;

use crate::seed::Rng;

/// Gains that differ by less than this share of the weight are ties.
const SAME: f64 = 1e-12;

/// How a tree grows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Growth {
    /// Most splits; no bound where it is absent.
    pub(super) splits: Option<usize>,
    /// Columns that are drawn for each split; all where it is absent.
    pub(super) columns: Option<usize>,
}

/// Rows with a class and a weight each; those of weight 0 are not there.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) x: ArrayView2<'a, f32>,
    pub(super) class: &'a [u32],
    pub(super) weight: &'a [f64],
    pub(super) n_classes: usize,
}

/// A grown tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq)]
struct Node {
    /// The heaviest class, the smallest of several.
    class: u32,
    split: Option<Split>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Split {
    column: usize,
    /// Rows up to it go to node `below`, others to the one after that.
    threshold: f64,
    below: usize,
}

/// A leaf that can be split.
struct Open {
    gain: f64,
    node: usize,
    column: usize,
    threshold: f64,
    rows: Vec<usize>,
}

impl Tree {
    /// Grows a tree; `rng` draws the columns of each split.
    pub(super) fn grow(rows: &Rows, growth: Growth, rng: &mut Rng) -> Self {
        let members: Vec<usize> = (0..rows.class.len())
            .filter(|&i| rows.weight[i] > 0.0)
            .collect();
        let mut tree = Self { nodes: Vec::new() };
        let mut open = BinaryHeap::new();
        open.extend(tree.add(rows, members, growth, rng));
        let mut left = growth.splits.unwrap_or(usize::MAX);
        while left > 0
            && let Some(best) = open.pop()
        {
            left -= 1;
            let column = rows.x.column(best.column);
            let (below, above): (Vec<usize>, Vec<usize>) =
                (best.rows.iter()).partition(|&&i| f64::from(column[i]) <= best.threshold);
            tree.nodes[best.node].split = Some(Split {
                column: best.column,
                threshold: best.threshold,
                below: tree.nodes.len(),
            });
            open.extend(tree.add(rows, below, growth, rng));
            open.extend(tree.add(rows, above, growth, rng));
        }
        tree
    }

    /// Adds a leaf; gives its best split, if it has one.
    fn add(&mut self, rows: &Rows, own: Vec<usize>, growth: Growth, rng: &mut Rng) -> Option<Open> {
        let total = totals(rows, &own);
        let node = self.nodes.len();
        let heaviest =
            (0..total.len()).fold(0, |best, c| if total[c] > total[best] { c } else { best });
        self.nodes.push(Node {
            class: heaviest as u32,
            split: None,
        });
        if total.iter().filter(|&&w| w > 0.0).count() < 2 {
            return None;
        }
        let mut columns: Vec<usize> = (0..rows.x.ncols()).collect();
        let mut looked = columns.len();
        if let Some(drawn) = growth.columns {
            columns.shuffle(rng);
            looked = drawn.min(looked);
            columns[..looked].sort_unstable();
        }
        let mut order = own.clone();
        let mut best: Option<(f64, usize, f64)> = None;
        for (at, &column) in columns.iter().enumerate() {
            // Where none of those that were drawn can be split, the next that can is taken.
            if at >= looked && best.is_some() {
                break;
            }
            best = split_along(rows, column, &mut order, &total, best);
        }
        let (gain, column, threshold) = best?;
        Some(Open {
            gain,
            node,
            column,
            threshold,
            rows: own,
        })
    }

    /// The class of a row.
    pub(super) fn class(&self, row: ArrayView1<f32>) -> u32 {
        let mut at = 0;
        while let Some(split) = self.nodes[at].split {
            let above = f64::from(row[split.column]) > split.threshold;
            at = split.below + usize::from(above);
        }
        self.nodes[at].class
    }
}

fn totals(rows: &Rows, own: &[usize]) -> Vec<f64> {
    let mut total = vec![0.0; rows.n_classes];
    for &i in own {
        total[rows.class[i] as usize] += rows.weight[i];
    }
    total
}

/// The better of `best` and the best split along a column.
fn split_along(
    rows: &Rows,
    column: usize,
    order: &mut [usize],
    total: &[f64],
    mut best: Option<(f64, usize, f64)>,
) -> Option<(f64, usize, f64)> {
    let values = rows.x.column(column);
    order.sort_unstable_by(|&i, &j| values[i].total_cmp(&values[j]).then(i.cmp(&j)));
    let whole: f64 = total.iter().sum();
    let squares = |of: &[f64]| of.iter().map(|w| w * w).sum::<f64>();
    let before = squares(total) / whole;
    let (mut below, mut above) = (vec![0.0; total.len()], total.to_vec());
    let mut mass = 0.0;
    for pair in 0..order.len().saturating_sub(1) {
        let (i, next) = (order[pair], order[pair + 1]);
        let (class, weight) = (rows.class[i] as usize, rows.weight[i]);
        below[class] += weight;
        above[class] -= weight;
        mass += weight;
        let (low, high) = (values[i], values[next]);
        // Values that are equal stay together; -0 and 0 are.
        if low >= high {
            continue;
        }
        let after = squares(&below) / mass + squares(&above) / (whole - mass);
        let gain = (after - before).max(0.0);
        if best.is_none_or(|(most, ..)| gain > most + SAME * whole) {
            let middle = f64::midpoint(f64::from(low), f64::from(high));
            best = Some((gain, column, middle));
        }
    }
    best
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |of: &Self| Reverse(of.node);
        (self.gain.total_cmp(&other.gain)).then(key(self).cmp(&key(other)))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::seed;

    const ALL: Growth = Growth {
        splits: None,
        columns: None,
    };

    fn rows<'a>(x: &'a Array2<f32>, class: &'a [u32], weight: &'a [f64]) -> Rows<'a> {
        Rows {
            x: x.view(),
            class,
            weight,
            n_classes: 3,
        }
    }

    #[test]
    fn a_tree_by_hand() {
        let x = array![
            [0.0, 5.0],
            [1.0, 1.0],
            [2.0, 5.0],
            [3.0, 1.0],
            [4.0, 9.0_f32]
        ];
        let (class, weight) = ([0, 0, 1, 1, 2], [1.0; 5]);
        let mut rng = seed::stream(0, "tree");
        let one = Growth {
            splits: Some(1),
            ..ALL
        };
        let stump = Tree::grow(&rows(&x, &class, &weight), one, &mut rng);
        // By hand: between 1 and 2 the gain is 2 + 5/3 - 9/5, between 3 and 4 only 2 + 1 - 9/5.
        let split = stump.nodes[0].split.unwrap();
        assert_eq!((split.column, split.threshold), (0, 1.5));
        assert_eq!(stump.class(array![1.5_f32, 0.0].view()), 0);
        assert_eq!(stump.class(array![1.6_f32, 0.0].view()), 1);
        let whole = Tree::grow(&rows(&x, &class, &weight), ALL, &mut rng);
        let found: Vec<u32> = x.rows().into_iter().map(|row| whole.class(row)).collect();
        assert_eq!(found, class);
        // A heavy row of class 2 changes what the first split is for.
        let heavy = [1.0, 1.0, 1.0, 1.0, 10.0];
        let stump = Tree::grow(&rows(&x, &class, &heavy), one, &mut rng);
        let split = stump.nodes[0].split.unwrap();
        assert!(split.threshold > 3.0, "{split:?}");
    }

    #[test]
    fn what_cannot_be_split_is_a_leaf() {
        let x = array![[1.0, 2.0], [1.0, 2.0], [1.0, 2.0_f32]];
        let mut rng = seed::stream(0, "tree");
        let tree = Tree::grow(&rows(&x, &[1, 0, 1], &[1.0; 3]), ALL, &mut rng);
        assert_eq!((tree.nodes.len(), tree.class(x.row(0))), (1, 1));
        // A tie of classes goes to the smaller one, and a row of weight 0 is not there.
        let tree = Tree::grow(&rows(&x, &[1, 0, 1], &[1.0, 1.0, 0.0]), ALL, &mut rng);
        assert_eq!(tree.class(x.row(0)), 0);
        // No single split of the four corners gains anything, and the tree is grown all the same.
        let x = array![[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0_f32]];
        let tree = Tree::grow(&rows(&x, &[0, 0, 1, 1], &[1.0; 4]), ALL, &mut rng);
        let found: Vec<u32> = x.rows().into_iter().map(|row| tree.class(row)).collect();
        assert_eq!(found, [0, 0, 1, 1]);
    }

    /// The gain of every split, by Gini's impurity as it is written.
    fn best_gain(x: &Array2<f32>, class: &[u32], weight: &[f64]) -> f64 {
        let impurity = |of: &[usize]| {
            let whole: f64 = of.iter().map(|&i| weight[i]).sum();
            let share = |c: u32| -> f64 {
                let own = of.iter().filter(|&&i| class[i] == c);
                own.map(|&i| weight[i]).sum::<f64>() / whole
            };
            whole * (1.0 - (0..3).map(|c| share(c).powi(2)).sum::<f64>())
        };
        let all: Vec<usize> = (0..class.len()).collect();
        let mut best = f64::NEG_INFINITY;
        for j in 0..x.ncols() {
            for &at in x.column(j) {
                let (below, above): (Vec<usize>, Vec<usize>) =
                    all.iter().partition(|&&i| x[(i, j)] <= at);
                if !above.is_empty() {
                    best = best.max(impurity(&all) - impurity(&below) - impurity(&above));
                }
            }
        }
        best
    }

    proptest! {
        #[test]
        fn the_first_split_is_the_best_of_all(n in 3_usize..25, d in 1_usize..4, number: u64) {
            let mut rng = seed::stream(number, "tree");
            let x = Array2::from_shape_fn((n, d), |_| rng.random_range(0..6_u8).into());
            let class: Vec<u32> = (0..n).map(|_| rng.random_range(0..3)).collect();
            let weight: Vec<f64> = (0..n).map(|_| rng.random_range(0.1..2.0)).collect();
            let own = rows(&x, &class, &weight);
            let mut tree = Tree { nodes: vec![] };
            if let Some(open) = tree.add(&own, (0..n).collect(), ALL, &mut rng) {
                let expected = best_gain(&x, &class, &weight);
                prop_assert!((open.gain - expected).abs() < 1e-9, "{} {expected}", open.gain);
            }
            // All rows are told apart that differ in some column.
            let tree = Tree::grow(&own, Growth { columns: Some(1), ..ALL }, &mut rng);
            for i in 0..n {
                let twin = (0..n).any(|j| class[j] != class[i] && x.row(j) == x.row(i));
                prop_assert!(twin || tree.class(x.row(i)) == class[i]);
            }
        }
    }
}
