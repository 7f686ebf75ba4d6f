//! Optimal design on the graph: what leaves least unknown about the sum of all items.
//!
//! The items are taken for a Gaussian random field with the precision `M = (1 + e) D - W`, `e = .03`, D the
//! degrees; what is labeled or in the batch is known. With the covariance `C = M^-1`, knowing an item v
//! takes `t_v^2 / C_vv` from the variance of the sum of all items, `t = C 1`. That is the sigma-optimality
//! of Ma, Garnett and Schneider, which beats the V-optimality that it came from: V-optimality itself,
//! `sum_u C_uv^2 / C_vv`, gained nothing on labels drawn at random on the development sets.
//!
//! 1. `t` is one solve of `M t = 1`, and `C_vv` begins as `1 / M_vv`, the first term of its series: within
//!    a kNN graph the others are nearly alike, and on the development sets the exact diagonal chose
//!    no better items.
//! 2. The best item p is taken, and its column is solved: `M c = e_p`.
//! 3. `t` becomes `t - c t_p / c_p`, `C_vv` becomes `C_vv - c_v^2 / c_p`, but not below a twentieth of what
//!    it began as, and p is held.
//!
//! **Use it** with few labels or none: it goes to the middle of what the labels do not reach. **Not** where
//! each item of the batch may take no solve.
//!
//! Cost: one solve for t and one an item, each O(iterations x entries), some 30 iterations; memory O(n).
//! Nothing n x n.
//!
//! Source: Ma, Garnett and Schneider, "Sigma-optimality for active learning on Gaussian random fields", 2013;
//! Ji and Han 2012 for V-optimality. The start of the diagonal and `e` are ours.

use ndarray::{Array1, Array2, Axis};

use super::pool::{Chooser, Pool};
use crate::solve::{ConjugateGradient, Sparse};
use crate::{Graph, Label, Labels, Monitor, Result};

/// How fast what is known of an item fades on the way to others.
const FADE: f64 = 0.03;
/// What holds an item that is known, in degrees.
const HOLD: f64 = 1e4;
/// Part of the first variance that is left at least.
const LEAST: f64 = 0.05;

/// The field, and what is unknown in it.
pub(super) struct Vopt<'a> {
    operator: Sparse<'a, f32>,
    solver: ConjugateGradient,
    /// What holds each item once it is known.
    hold: Vec<f64>,
    least: Vec<f64>,
    total: Array1<f64>,
    variance: Vec<f64>,
    worth: Vec<f64>,
}

impl<'a> Vopt<'a> {
    pub(super) fn of(pool: &Pool<'a>, monitor: &Monitor) -> Result<Self> {
        Self::new(pool.graph, pool.labels, monitor)
    }

    fn new(graph: &'a Graph, labels: &Labels, monitor: &Monitor) -> Result<Self> {
        let degrees = filled(graph.degrees());
        let n = degrees.len();
        let free: Vec<f64> = degrees.iter().map(|d| (1.0 + FADE) * d).collect();
        let hold: Vec<f64> = degrees.iter().map(|d| HOLD * d).collect();
        let mut operator = Sparse::new(graph, free.clone(), graph.weights());
        let mut right = Array2::ones((n, 1));
        for item in (0..n).filter(|&item| labels[item] != Label::Unknown) {
            operator.add_to_diagonal(item, hold[item]);
            right[[item, 0]] = 0.0;
        }
        let solver = ConjugateGradient {
            tolerance: 1e-6,
            ..ConjugateGradient::default()
        };
        let solved = solver.solve(&operator, right.view(), None, &monitor.quiet())?;
        let mut field = Self {
            operator,
            solver,
            hold,
            least: free.iter().map(|d| LEAST / d).collect(),
            total: solved.x.index_axis_move(Axis(1), 0),
            variance: free.iter().map(|d| 1.0 / d).collect(),
            worth: vec![0.0; n],
        };
        field.weigh();
        Ok(field)
    }

    fn weigh(&mut self) {
        let parts = self.total.iter().zip(&self.variance);
        for (worth, (t, c)) in self.worth.iter_mut().zip(parts) {
            *worth = t * t / c;
        }
    }
}

/// Degrees, where isolated items have the mean of the others: alone they tell of nothing else.
fn filled(mut degrees: Vec<f64>) -> Vec<f64> {
    let joined = degrees.iter().filter(|d| **d > 0.0);
    let (sum, count) = joined.fold((0.0, 0_usize), |(sum, n), d| (sum + d, n + 1));
    let mean = if count > 0 { sum / count as f64 } else { 1.0 };
    for degree in degrees.iter_mut().filter(|d| **d <= 0.0) {
        *degree = mean;
    }
    degrees
}

impl Chooser for Vopt<'_> {
    fn worth(&self) -> &[f64] {
        &self.worth
    }

    fn take(&mut self, item: usize, monitor: &Monitor) -> Result<()> {
        let one = Array2::ones((1, 1));
        let quiet = monitor.quiet();
        let solved = (self.solver).solve_rows(&self.operator, &[item], one.view(), None, &quiet)?;
        let column = solved.x.index_axis_move(Axis(1), 0);
        let (own, step) = (column[item], self.total[item] / column[item]);
        self.total.scaled_add(-step, &column);
        self.total[item] = 0.0;
        for ((variance, c), least) in self.variance.iter_mut().zip(&column).zip(&self.least) {
            *variance = (*variance - c * c / own).max(*least);
        }
        self.operator.add_to_diagonal(item, self.hold[item]);
        self.weigh();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use faer::Mat;
    use faer::linalg::solvers::{DenseSolveCore, PartialPivLu};
    use proptest::prelude::*;

    use super::*;
    use crate::reference::{dense, in_one_and_two_threads, random_graph, random_labels};

    /// The steps from their formulas, with the inverse of the n x n matrix and its updates.
    fn naive(graph: &Graph, labels: &Labels, picks: usize) -> Vec<Vec<f64>> {
        let w = dense(graph);
        let n = graph.n();
        let degrees = filled(graph.degrees());
        let m = Mat::from_fn(n, n, |i, j| {
            if i == j {
                1.03 * degrees[i]
            } else {
                -w[[i, j]]
            }
        });
        let inverse = PartialPivLu::new(m.as_ref()).inverse();
        let mut c = Array2::from_shape_fn((n, n), |(i, j)| inverse[(i, j)]);
        let first: Vec<f64> = degrees.iter().map(|d| 1.0 / (1.03 * d)).collect();
        let mut variance = first.clone();
        let deflate = |c: &mut Array2<f64>, p: usize| {
            let column = c.column(p).to_owned();
            for i in 0..n {
                for j in 0..n {
                    c[[i, j]] -= column[i] * column[j] / column[p];
                }
            }
            column
        };
        for i in (0..n).filter(|&i| labels[i].class().is_some()) {
            deflate(&mut c, i);
        }
        let mut all = Vec::new();
        for _ in 0..picks {
            let t: Vec<f64> = c.rows().into_iter().map(|row| row.sum()).collect();
            let worth: Vec<f64> = (0..n).map(|v| t[v] * t[v] / variance[v]).collect();
            let best = (0..n).reduce(|a, b| if worth[b] > worth[a] { b } else { a });
            let p = best.unwrap();
            all.push(worth);
            let column = deflate(&mut c, p);
            for v in 0..n {
                let left = variance[v] - column[v] * column[v] / column[p];
                variance[v] = left.max(first[v] / 20.0);
            }
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn worths_are_those_of_dense_matrices(n in 4_usize..40, seed in 0_u64..1000) {
            let graph = random_graph(n, 3 * n, seed);
            let labels = random_labels(n, 3, seed);
            prop_assume!(labels.n_known() + 3 <= n);
            let silent = Monitor::silent();
            let mut field = Vopt::new(&graph, &labels, &silent).unwrap();
            for wanted in naive(&graph, &labels, 3) {
                let largest = wanted.iter().copied().fold(0.0, f64::max);
                for (found, wanted) in field.worth().iter().zip(&wanted) {
                    prop_assert!(
                        (found - wanted).abs() <= 2e-2 * largest,
                        "{found} for {wanted} of {largest}"
                    );
                }
                let best = (0..n).reduce(|a, b| if wanted[b] > wanted[a] { b } else { a });
                field.take(best.unwrap(), &silent).unwrap();
            }
        }
    }

    #[test]
    fn the_middle_of_a_star_comes_first_and_isolated_items_last() {
        // Item 0 is joined to 1 to 4, item 5 to nothing.
        let graph = Graph::new(
            vec![0, 4, 5, 6, 7, 8, 8],
            vec![1, 2, 3, 4, 0, 0, 0, 0],
            vec![1.0; 8],
        )
        .unwrap();
        let silent = Monitor::silent();
        let field = Vopt::new(&graph, &Labels::unknown(6), &silent).unwrap();
        let worth = field.worth();
        assert!(worth[0] > worth[1] && worth[1] > worth[5], "{worth:?}");
        // Once the middle is known, so is most of the rest.
        let mut known = field;
        let before = known.worth()[1];
        known.take(0, &silent).unwrap();
        assert!(known.worth()[0].abs() < 1e-9 && known.worth()[1] < before / 10.0);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_worths() {
        let graph = random_graph(3000, 12_000, 1);
        let labels = random_labels(3000, 3, 1);
        let (one, two) = in_one_and_two_threads(|| {
            let mut field = Vopt::new(&graph, &labels, &Monitor::silent()).unwrap();
            field.take(7, &Monitor::silent()).unwrap();
            field.worth().to_vec()
        });
        assert_eq!(one, two);
    }
}
