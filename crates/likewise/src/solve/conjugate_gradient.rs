//! Conjugate gradients with the Jacobi preconditioner for several right-hand sides.
//!
//! Solves `M X = B` for a symmetric positive definite `M`. The columns are independent
//! runs of conjugate gradients, each with its own step lengths. Some 32 of them share the
//! products with `M` and are solved before the next 32 begin: a row of a block is two cache
//! lines, and memory does not grow with the number of columns.
//!
//! **Not** for indefinite systems: a direction of no or negative curvature freezes its
//! column as not converged. A singular `M` is fine where the right-hand side and the
//! start are zero on the null space (they stay zero there).
//!
//! The iteration runs in `f32`, with step lengths and sums in `f64`. Each time a residual
//! has shrunk to a thousandth, the correction found so far goes to the `f64` solution and the
//! residual `b - M x` is computed anew in `f64`, while the search direction is kept: so
//! the result meets any tolerance that an iteration in `f64` meets, after the same number
//! of iterations, at half the memory traffic. The tolerance is tested on the computed
//! residual, not on that of the recurrence.
//!
//! The residuals of a group of columns are renewed together, so that a column's last bits
//! depend on its neighbours; within the tolerance it does not.
//!
//! Sums run over chunks of rows of fixed size and are added in the order of the chunks, so
//! the result has the same bits for any number of threads.
//!
//! Of few rows, which leave little for further threads, the groups of columns are solved side by side.
//!
//! Cost: one product with `M` and some 8 n C memory accesses an iteration; memory 24 bytes
//! a row and column for 32 columns at a time (of at most 16,384 rows: for each group at work), and the solution.
//!
//! Source: Hestenes and Stiefel 1952, in the form of Saad, "Iterative methods for sparse
//! linear systems", algorithm 9.1; the replaced residuals follow van der Vorst and Ye,
//! "Residual replacement strategies", 2000, and Clark et al. 2010 ("reliable updates").

mod group;

use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use serde::{Deserialize, Serialize};

use self::group::{Group, Workspace};
use super::columns::{WIDTH, width};
use super::operator::Operator;
use crate::{Error, Monitor, Result, parallel};

/// Most rows of which groups of columns are solved side by side. Of more, one group occupies all threads.
const SIDE_BY_SIDE: usize = 16_384;

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConjugateGradient {
    /// A column is done once its residual is at most `tolerance` times the length of its
    /// right-hand side; between 0 and 1.
    pub tolerance: f64,
    /// Most iterations; at least 1. Reaching it is reported, not an error.
    pub max_iterations: usize,
}

impl Default for ConjugateGradient {
    fn default() -> Self {
        Self {
            tolerance: 1e-10,
            max_iterations: 1000,
        }
    }
}

/// What a solve found.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// The solution (`n x C`).
    pub x: Array2<f64>,
    /// Iterations of the column that needed most.
    pub iterations: usize,
    /// Relative residual of each column.
    pub residuals: Vec<f64>,
    /// Whether every column met the tolerance.
    pub converged: bool,
}

impl ConjugateGradient {
    /// Fails on a value out of its range.
    pub fn check(&self) -> Result<()> {
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            let rule = "must be above 0 and below 1";
            return Err(Error::parameter("tolerance", self.tolerance, rule));
        }
        if self.max_iterations == 0 {
            return Err(Error::parameter("max_iterations", 0, "must be at least 1"));
        }
        Ok(())
    }

    /// Solves `M X = B` (`n x C`), from `start` if given. A column of `start` that is
    /// worse than zero is not used. `start` becomes the solution: no second copy is made.
    ///
    /// Fails on parameters out of range, on shapes that do not fit, and when cancelled.
    ///
    /// ```
    /// use likewise::solve::{ConjugateGradient, Sparse};
    /// use likewise::{Graph, Monitor};
    /// let graph = Graph::new(vec![0, 1, 2], vec![1, 0], vec![1.0, 1.0])?;
    /// let m = Sparse::new(&graph, vec![2.0, 2.0], graph.weights()); // [2 -1; -1 2]
    /// let b = ndarray::array![[1.0], [0.0]];
    /// let found = ConjugateGradient::default().solve(&m, b.view(), None, &Monitor::silent())?;
    /// assert!(found.converged);
    /// assert!((found.x[[0, 0]] - 2.0 / 3.0).abs() < 1e-9);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn solve(
        &self,
        operator: &impl Operator,
        b: ArrayView2<f64>,
        start: Option<Array2<f64>>,
        monitor: &Monitor,
    ) -> Result<Solution> {
        if b.nrows() != operator.n() {
            return Err(misfit(operator.n(), b, start.as_ref()));
        }
        let rows: Vec<usize> = (0..b.nrows()).collect();
        self.solve_rows(operator, &rows, b, start, monitor)
    }

    /// As [`solve`](Self::solve), where `B` is zero but on the rows `rows`, which ascend,
    /// and `b` (`rows x C`) holds these.
    pub fn solve_rows(
        &self,
        operator: &impl Operator,
        rows: &[usize],
        b: ArrayView2<f64>,
        start: Option<Array2<f64>>,
        monitor: &Monitor,
    ) -> Result<Solution> {
        self.check()?;
        let (n, columns) = (operator.n(), b.ncols());
        let ascending = rows.windows(2).all(|w| w[0] < w[1]) && rows.last().is_none_or(|&r| r < n);
        let fits = start.as_ref().is_none_or(|s| s.dim() == (n, columns));
        if !ascending || rows.len() != b.nrows() || !fits {
            return Err(misfit(n, b, start.as_ref()));
        }
        let job = Job {
            solver: self,
            operator,
            rows,
            warm: start.is_some(),
            monitor,
            steps: AtomicU64::new(0),
        };
        let mut x = start.unwrap_or_else(|| Array2::zeros((n, columns)));
        let groups = b.axis_chunks_iter(Axis(1), WIDTH);
        let groups = groups.zip(x.axis_chunks_iter_mut(Axis(1), WIDTH));
        let space = || Workspace::new(operator, columns);
        let one = |space: &mut Workspace, (b, x): (ArrayView2<f64>, ArrayViewMut2<f64>)| match width(
            b.ncols(),
        ) {
            1 => job.run::<1>(space, b, x),
            4 => job.run::<4>(space, b, x),
            8 => job.run::<8>(space, b, x),
            16 => job.run::<16>(space, b, x),
            _ => job.run::<WIDTH>(space, b, x),
        };
        let solved: Vec<Solved> = if n <= SIDE_BY_SIDE && columns > WIDTH {
            let solved = parallel::map(groups, |group| one(&mut space(), group));
            solved.into_iter().collect::<Result<_>>()?
        } else {
            let mut space = space();
            let solved = groups.map(|group| one(&mut space, group));
            solved.collect::<Result<_>>()?
        };
        let residuals = solved.iter().flat_map(|of| &of.residuals);
        let residuals: Vec<f64> = residuals.copied().collect();
        let converged = residuals.iter().all(|&r| r <= self.tolerance);
        Ok(Solution {
            iterations: solved.iter().map(|of| of.iterations).max().unwrap_or(0),
            x,
            residuals,
            converged,
        })
    }
}

pub(super) fn misfit(n: usize, b: ArrayView2<f64>, start: Option<&Array2<f64>>) -> Error {
    Error::data(format!(
        "conjugate gradients: the system has {n} rows, the right-hand side is {:?} and the \
         start {:?}; its rows must ascend",
        b.dim(),
        start.map(Array2::dim)
    ))
}

/// One solve: what all groups of columns share.
struct Job<'a, O> {
    solver: &'a ConjugateGradient,
    operator: &'a O,
    rows: &'a [usize],
    warm: bool,
    monitor: &'a Monitor,
    /// Iterations of all groups so far.
    steps: AtomicU64,
}

/// How a group of columns went.
struct Solved {
    iterations: usize,
    /// Relative ones.
    residuals: Vec<f64>,
}

impl<O: Operator> Job<'_, O> {
    /// Solves up to `W` columns.
    fn run<const W: usize>(
        &self,
        space: &mut Workspace,
        b: ArrayView2<f64>,
        x: ArrayViewMut2<f64>,
    ) -> Result<Solved> {
        let columns = b.ncols();
        let mut group = Group::<O, W>::new(self.operator, space, b, x, self.rows);
        if self.warm {
            group.start(b, self.rows);
        }
        group.restart();
        group.direct([0.0; W], [0.0; W]);
        let mut iterations = 0;
        while iterations < self.solver.max_iterations && !group.finished(self.solver.tolerance) {
            self.monitor
                .step(self.steps.fetch_add(1, Ordering::Relaxed))?;
            iterations += 1;
            let last = iterations == self.solver.max_iterations;
            group.iterate(self.solver.tolerance, last);
        }
        Ok(Solved {
            iterations,
            residuals: (0..columns).map(|c| group.relative(c)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sparse;
    use super::super::columns::ROWS;
    use super::*;
    use crate::reference::{self, in_one_and_two_threads};
    use crate::{ErrorKind, Graph, seed};
    use ndarray::array;
    use proptest::prelude::*;
    use rand::RngExt;

    fn random_graph(n: usize, seed: u64) -> Graph {
        reference::random_graph(n, 3 * n, seed)
    }

    fn system(graph: &Graph, shift: f64) -> Sparse<'_, f32> {
        let diagonal = graph.degrees().iter().map(|d| d + shift).collect();
        Sparse::new(graph, diagonal, graph.weights())
    }
    fn rhs(n: usize, columns: usize, seed: u64) -> Array2<f64> {
        let mut rng = seed::stream(seed, "test right-hand side");
        Array2::from_shape_fn((n, columns), |_| rng.random::<f64>() - 0.5)
    }

    fn solve(m: &Sparse<f32>, b: &Array2<f64>, start: Option<&Array2<f64>>) -> Solution {
        ConjugateGradient::default()
            .solve(m, b.view(), start.cloned(), &Monitor::silent())
            .unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn equals_a_dense_solve(n in 1_usize..70, columns in 1_usize..11, seed in 0_u64..1000) {
            let graph = random_graph(n, seed);
            let m = system(&graph, 0.1);
            let b = rhs(n, columns, seed);
            let mut dense = reference::dense(&graph).mapv(|w| -w);
            dense.diag_mut().assign(&ndarray::ArrayView1::from(m.diagonal()));
            let expected = reference::solve(&dense, &b, &vec![true; n]);
            let found = solve(&m, &b, None);
            prop_assert!(found.converged);
            for ((i, c), x) in found.x.indexed_iter() {
                prop_assert!((x - expected[[i, c]]).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = random_graph(3 * ROWS + 11, 1);
        let m = system(&graph, 0.01);
        let b = rhs(graph.n(), 6, 1);
        let (one, two) = in_one_and_two_threads(|| solve(&m, &b, None));
        assert_eq!(one, two);
        // Four groups of columns, side by side.
        let many = rhs(graph.n(), 3 * WIDTH + 5, 4);
        let (one, two) = in_one_and_two_threads(|| solve(&m, &many, None));
        assert_eq!(one, two);
        let last = many.slice(ndarray::s![.., 3 * WIDTH..]).to_owned();
        let alone = solve(&m, &last, None);
        assert_eq!(alone.x, one.x.slice(ndarray::s![.., 3 * WIDTH..]));
        assert_eq!(alone.residuals, one.residuals[3 * WIDTH..]);
    }

    #[test]
    fn columns_do_not_touch_each_other() {
        let graph = random_graph(100, 2);
        let m = system(&graph, 0.01);
        let mut b = rhs(100, 6, 2);
        b.column_mut(3).fill(0.0);
        let together = solve(&m, &b, None);
        assert!(together.x.column(3).iter().all(|&x| x == 0.0));
        assert!(together.residuals[3] == 0.0);
        for c in 0..6 {
            let alone = b.slice(ndarray::s![.., c..=c]).to_owned();
            // Only the moments at which residuals are renewed are shared.
            for (a, b) in solve(&m, &alone, None).x.iter().zip(together.x.column(c)) {
                assert!((a - b).abs() <= 1e-9 * b.abs());
            }
        }
    }

    #[test]
    fn a_good_start_saves_iterations_and_a_bad_one_is_dropped() {
        let graph = random_graph(300, 3);
        let m = system(&graph, 0.01);
        let b = rhs(300, 3, 3);
        let cold = solve(&m, &b, None);
        let warm = solve(&m, &b, Some(&cold.x));
        assert!(warm.iterations <= 1 && warm.converged);
        let bad = Array2::from_elem((300, 3), 1e6);
        assert_eq!(solve(&m, &b, Some(&bad)), cold);
    }

    #[test]
    fn too_few_iterations_are_flagged() {
        let graph = random_graph(300, 4);
        let found = ConjugateGradient {
            max_iterations: 2,
            ..ConjugateGradient::default()
        }
        .solve(
            &system(&graph, 0.001),
            rhs(300, 2, 4).view(),
            None,
            &Monitor::silent(),
        )
        .unwrap();
        assert!(!found.converged && found.iterations == 2);
        assert!(found.residuals.iter().all(|r| r.is_finite() && *r > 1e-10));
    }

    #[test]
    fn an_indefinite_system_stops_without_nan() {
        let graph = Graph::new(vec![0, 1, 2], vec![1, 0], vec![3.0, 3.0]).unwrap();
        let m = Sparse::new(&graph, vec![1.0, 1.0], graph.weights());
        let found = solve(&m, &array![[1.0], [1.0]], None);
        assert!(!found.converged && found.x.iter().all(|x| x.is_finite()));
    }

    #[test]
    fn no_columns_or_rows_are_no_work() {
        let graph = random_graph(5, 5);
        let found = solve(&system(&graph, 1.0), &Array2::zeros((5, 0)), None);
        assert!(found.converged && found.iterations == 0);
    }

    #[test]
    fn bad_parameters_and_cancelling() {
        let graph = random_graph(5, 5);
        let m = system(&graph, 1.0);
        let b = rhs(5, 1, 5);
        let run = |tolerance, max_iterations, monitor: &Monitor| {
            let cg = ConjugateGradient {
                tolerance,
                max_iterations,
            };
            cg.solve(&m, b.view(), None, monitor).unwrap_err()
        };
        let silent = Monitor::silent();
        assert!(
            run(0.0, 10, &silent)
                .to_string()
                .starts_with("tolerance = 0")
        );
        assert!(
            run(f64::NAN, 10, &silent)
                .to_string()
                .starts_with("tolerance = NaN")
        );
        assert!(
            run(0.1, 0, &silent)
                .to_string()
                .starts_with("max_iterations = 0")
        );
        silent.cancel();
        assert_eq!(run(0.1, 10, &silent).kind(), ErrorKind::Cancelled);
    }
}
