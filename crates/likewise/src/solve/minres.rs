//! Minimum residuals for several right-hand sides: symmetric systems that need not be definite.
//!
//! Solves `M X = B` for a symmetric `M`. The columns are independent runs, each with its
//! own scalars; eight of them share the products with `M` and are solved before the next
//! eight begin. A column that has met the tolerance is
//! frozen. Scaled by the absolute diagonal, with entries below a hundredth of its mean
//! raised to that.
//!
//! **Use it** where `M` may be indefinite. **Not** for a definite `M`:
//! [`ConjugateGradient`] does the same with 5 vectors instead of
//! 7. A singular `M` is fine where the right-hand side has no part in the null space.
//!
//! The residual that the recurrence knows is that of the scaled system. So the true one is
//! computed at its end, and if it misses the tolerance the run starts again from there, until
//! a run no longer halves it.
//!
//! Negative curvature: the Lanczos process gives a tridiagonal `T`, whose pivots
//! `d_k = alpha_k - beta_k² / d_{k-1}` have the signs of the curvatures `p' M p` that
//! conjugate gradients would meet. A pivot of at most 0 proves that `M` is not positive
//! definite. The reverse does not hold: a direction that the right-hand side does not
//! touch is not seen. [`negative_eigenvalues_exact`] counts all of them for small `M`.
//!
//! Everything is in `f64`. Sums run over chunks of rows of fixed size and are added in the
//! order of the chunks, so the result has the same bits for any number of threads.
//!
//! Cost: one product with `M` and some 15 n C memory accesses an iteration; memory 56 n and the solution.
//!
//! Source: Paige and Saunders 1975.

use faer::{Mat, Side};
use ndarray::{Array2, ArrayView2, Axis, Slice};
use serde::{Deserialize, Serialize};

use super::columns::{ROWS, Row, chunk_rows, in_order, squares};
use super::conjugate_gradient::{ConjugateGradient, Solution};
use super::operator::Operator;
use crate::{Error, Monitor, Result, parallel};

/// Columns solved together: one cache line.
const WIDTH: usize = 8;
/// Largest system whose eigenvalues are computed.
pub(crate) const EXACT: usize = 4000;

type Block = Vec<[f64; WIDTH]>;

/// When to stop: the same two numbers as for conjugate gradients.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MinRes {
    /// Tolerance of the residual and most iterations.
    pub stop: ConjugateGradient,
}

/// What a solve found.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The solution, with the true residuals `|b - M x| / |b|`.
    pub solution: Solution,
    /// Whether each column met a direction of no or negative curvature.
    pub negative_curvature: Vec<bool>,
}

impl MinRes {
    /// Solves `M X = B` (`n x C`).
    ///
    /// Fails on parameters out of range, on shapes that do not fit, and when cancelled.
    ///
    /// ```
    /// use likewise::solve::{MinRes, Sparse};
    /// use likewise::{Graph, Monitor};
    /// let graph = Graph::new(vec![0, 1, 2], vec![1, 0], vec![3.0, 3.0])?;
    /// let m = Sparse::new(&graph, vec![1.0, 1.0], graph.weights()); // [1 -3; -3 1]
    /// let b = ndarray::array![[1.0], [0.0]];
    /// let found = MinRes::default().solve(&m, b.view(), &Monitor::silent())?;
    /// assert!(found.solution.converged && found.negative_curvature[0]);
    /// assert!((found.solution.x[[1, 0]] + 3.0 / 8.0).abs() < 1e-9);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn solve(
        &self,
        operator: &impl Operator,
        b: ArrayView2<f64>,
        monitor: &Monitor,
    ) -> Result<Outcome> {
        self.stop.check()?;
        let (n, columns) = b.dim();
        if n != operator.n() {
            return Err(Error::data(format!(
                "minimum residuals: the system has {} rows, the right-hand side {n}",
                operator.n()
            )));
        }
        let mut outcome = Outcome {
            solution: Solution {
                x: Array2::zeros((n, columns)),
                iterations: 0,
                residuals: Vec::with_capacity(columns),
                converged: true,
            },
            negative_curvature: Vec::with_capacity(columns),
        };
        let scale = scaling(operator.diagonal());
        let mut begun = 0;
        for first in (0..columns).step_by(WIDTH) {
            let span = Slice::from(first..columns.min(first + WIDTH));
            let job = Job {
                stop: self.stop,
                operator,
                scale: &scale,
                begun,
            };
            let found = job.run(b.slice_axis(Axis(1), span), monitor)?;
            begun += found.iterations;
            let mut x = outcome.solution.x.slice_axis_mut(Axis(1), span);
            for (mut to, from) in x.rows_mut().into_iter().zip(&found.x) {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            }
            let asked = x.ncols();
            let solution = &mut outcome.solution;
            solution.iterations = solution.iterations.max(found.iterations);
            solution.residuals.extend(&found.residuals[..asked]);
            outcome.negative_curvature.extend(&found.negative[..asked]);
        }
        let solution = &mut outcome.solution;
        solution.converged = (solution.residuals.iter()).all(|&r| r <= self.stop.tolerance);
        Ok(outcome)
    }
}

/// One group of columns: what it is solved with.
struct Job<'a, O> {
    stop: ConjugateGradient,
    operator: &'a O,
    scale: &'a [f64],
    /// Iterations of the groups before.
    begun: usize,
}

/// What became of one group.
struct Found {
    x: Block,
    iterations: usize,
    residuals: Row<WIDTH>,
    negative: [bool; WIDTH],
}

impl<O: Operator> Job<'_, O> {
    fn run(&self, b: ArrayView2<f64>, monitor: &Monitor) -> Result<Found> {
        let b: Block = (b.rows().into_iter())
            .map(|row| std::array::from_fn(|c| row.get(c).copied().unwrap_or(0.0)))
            .collect();
        let bound = length(&b);
        let mut x = vec![[0.0; WIDTH]; b.len()];
        let mut residual = b.clone();
        let mut lengths = bound;
        let mut open = bound.map(|l| l > 0.0);
        let mut negative = [false; WIDTH];
        let mut iterations = 0;
        while open.contains(&true) && iterations < self.stop.max_iterations {
            let goals = std::array::from_fn(|c| {
                open[c].then(|| 0.5 * self.stop.tolerance * bound[c] / lengths[c])
            });
            let mut run = Run::new(self.scale, residual, goals);
            while run.active() && iterations < self.stop.max_iterations {
                monitor.step((self.begun + iterations) as u64)?;
                run.iterate(self.operator, self.scale, &mut x);
                iterations += 1;
            }
            for (all, met) in negative.iter_mut().zip(run.negative) {
                *all |= met;
            }
            residual = run.q;
            subtract_product(self.operator, &b, &x, &mut residual);
            let now = length(&residual);
            for c in 0..WIDTH {
                let unmet = now[c] > self.stop.tolerance * bound[c];
                open[c] &= unmet && now[c] < 0.5 * lengths[c];
            }
            lengths = now;
        }
        let relative = |c: usize| {
            if bound[c] > 0.0 {
                lengths[c] / bound[c]
            } else {
                0.0
            }
        };
        Ok(Found {
            x,
            iterations,
            residuals: std::array::from_fn(relative),
            negative,
        })
    }
}

/// Number of negative eigenvalues of a dense symmetric matrix, which is the number of its
/// negative pivots (Sylvester's law of inertia). An eigenvalue of less than `1e-10` times
/// the largest counts as 0.
///
/// For diagnosis only: O(n³) time and O(n²) memory. Fails above 4000 rows, on NaN, and on
/// a matrix that is not square.
pub fn negative_eigenvalues_exact(m: ArrayView2<f64>) -> Result<usize> {
    let n = m.nrows();
    if m.ncols() != n || n > EXACT {
        return Err(Error::data(format!(
            "eigenvalues: the matrix is {n} x {}; it must be square, of at most {EXACT} rows",
            m.ncols()
        )));
    }
    if !m.iter().all(|v| v.is_finite()) {
        return Err(Error::data("eigenvalues: the matrix holds NaN or infinity"));
    }
    let dense = Mat::from_fn(n, n, |i, j| m[[i, j]]);
    let values = dense.self_adjoint_eigenvalues(Side::Lower).map_err(|e| {
        let message = format!("eigenvalues did not converge: {e:?}");
        Error::new(crate::ErrorKind::Internal, message)
    })?;
    let largest = values.iter().fold(0.0_f64, |a, v| a.max(v.abs()));
    Ok(values.iter().filter(|&&v| v < -1e-10 * largest).count())
}

/// One run from a residual. Vectors are those of the scaled Lanczos process times
/// `scale^-1/2`, so that the product with `M` needs no scaled copy.
struct Run {
    before: Block,
    u: Block,
    q: Block,
    w_before: Block,
    w: Block,
    columns: [Column; WIDTH],
    negative: [bool; WIDTH],
}

/// The scalars of one column, in the names of the paper's program.
struct Column {
    /// Where the residual is small enough; none if the column is frozen.
    goal: Option<f64>,
    beta: f64,
    epsilon: f64,
    delta_bar: f64,
    phi_bar: f64,
    cosine: f64,
    sine: f64,
    pivot: f64,
}

/// What a column does to its vectors at the end of an iteration.
#[derive(Clone, Copy, Default)]
struct Step {
    epsilon: f64,
    delta: f64,
    gamma_inverse: f64,
    phi: f64,
    beta_inverse: f64,
}

impl Run {
    /// `goals`: residual relative to the first one at which a column is done.
    fn new(scale: &[f64], residual: Block, goals: [Option<f64>; WIDTH]) -> Self {
        let zero = vec![[0.0; WIDTH]; residual.len()];
        let chunks = residual.chunks(ROWS).zip(scale.chunks(ROWS));
        let squares = in_order(&parallel::map(chunks, |(residual, scale)| {
            let mut square = [0.0; WIDTH];
            for (r, scale) in residual.iter().zip(scale) {
                for c in 0..WIDTH {
                    square[c] += r[c] * r[c] / scale;
                }
            }
            square
        }));
        let columns: [Column; WIDTH] = std::array::from_fn(|c| {
            let length = squares[c].sqrt();
            Column {
                goal: goals[c].filter(|_| length > 0.0).map(|g| g * length),
                beta: 0.0,
                epsilon: 0.0,
                delta_bar: 0.0,
                phi_bar: length,
                cosine: -1.0,
                sine: 0.0,
                pivot: 0.0,
            }
        });
        let inverse: Row<WIDTH> = std::array::from_fn(|c| {
            let column = &columns[c];
            column.goal.map_or(0.0, |_| 1.0 / column.phi_bar)
        });
        let mut u = residual;
        parallel::each(u.chunks_mut(ROWS).zip(scale.chunks(ROWS)), |(u, scale)| {
            for (u, scale) in u.iter_mut().zip(scale) {
                for c in 0..WIDTH {
                    u[c] *= inverse[c] / scale;
                }
            }
        });
        Self {
            before: zero.clone(),
            q: zero.clone(),
            w_before: zero.clone(),
            w: zero,
            u,
            negative: [false; WIDTH],
            columns,
        }
    }

    fn active(&self) -> bool {
        self.columns.iter().any(|column| column.goal.is_some())
    }

    fn iterate(&mut self, operator: &impl Operator, scale: &[f64], x: &mut Block) {
        let (u, columns) = (&self.u, &self.columns);
        // q = scale^-1 M u - beta u_before, alpha = u' scale q.
        let chunks = self.q.chunks_mut(ROWS).zip(self.before.chunks(ROWS));
        let alpha = in_order(&parallel::map(
            chunks.enumerate(),
            |(chunk, (q, before))| {
                let rows = chunk_rows(chunk, q.len());
                operator.multiply(rows.clone(), u, q);
                let mut alpha = [0.0; WIDTH];
                let own = u[rows.clone()].iter().zip(&scale[rows]);
                for ((q, before), (u, scale)) in q.iter_mut().zip(before).zip(own) {
                    for c in 0..WIDTH {
                        q[c] = q[c] / scale - columns[c].beta * before[c];
                        alpha[c] += u[c] * scale * q[c];
                    }
                }
                alpha
            },
        ));
        // q -= alpha u, and its length.
        let own = self.u.chunks(ROWS).zip(scale.chunks(ROWS));
        let chunks = self.q.chunks_mut(ROWS).zip(own);
        let square = in_order(&parallel::map(chunks, |(q, (u, scale))| {
            let mut square = [0.0; WIDTH];
            for ((q, u), scale) in q.iter_mut().zip(u).zip(scale) {
                for c in 0..WIDTH {
                    q[c] -= alpha[c] * u[c];
                    square[c] += q[c] * scale * q[c];
                }
            }
            square
        }));
        let mut steps = [Step::default(); WIDTH];
        for (c, column) in self.columns.iter_mut().enumerate() {
            steps[c] = column.advance(alpha[c], square[c].sqrt());
            self.negative[c] |= steps[c].phi != 0.0 && column.pivot <= 0.0;
        }
        // w = (u - epsilon w_before_last - delta w_last) / gamma, x += phi w.
        let directions = self.w_before.chunks_mut(ROWS).zip(self.w.chunks(ROWS));
        let lanczos = self.q.chunks_mut(ROWS).zip(self.u.chunks(ROWS));
        let chunks = directions.zip(lanczos).zip(x.chunks_mut(ROWS));
        parallel::each(chunks, |(((oldest, w), (q, u)), x)| {
            let directions = oldest.iter_mut().zip(w);
            let rows = directions.zip(q.iter_mut().zip(u)).zip(x);
            for (((oldest, w), (q, u)), x) in rows {
                for (c, step) in steps.iter().enumerate() {
                    let rest = step.epsilon * oldest[c] + step.delta * w[c];
                    oldest[c] = (u[c] - rest) * step.gamma_inverse;
                    x[c] += step.phi * oldest[c];
                    q[c] *= step.beta_inverse;
                }
            }
        });
        std::mem::swap(&mut self.w_before, &mut self.w);
        std::mem::swap(&mut self.before, &mut self.u);
        std::mem::swap(&mut self.u, &mut self.q);
    }
}

impl Column {
    /// The next rotation, from the new diagonal and off-diagonal entry of `T`.
    fn advance(&mut self, alpha: f64, beta: f64) -> Step {
        let Some(goal) = self.goal else {
            return Step::default();
        };
        self.pivot = match self.pivot {
            0.0 => alpha,
            pivot => alpha - self.beta * self.beta / pivot,
        };
        let epsilon = self.epsilon;
        let delta = self.cosine * self.delta_bar + self.sine * alpha;
        let gamma_bar = self.sine * self.delta_bar - self.cosine * alpha;
        self.epsilon = self.sine * beta;
        self.delta_bar = -self.cosine * beta;
        let gamma = gamma_bar.hypot(beta);
        if gamma == 0.0 || !gamma.is_finite() {
            self.goal = None;
            return Step::default();
        }
        self.cosine = gamma_bar / gamma;
        self.sine = beta / gamma;
        let phi = self.cosine * self.phi_bar;
        self.phi_bar *= self.sine;
        self.beta = beta;
        if self.phi_bar <= goal {
            self.goal = None;
        }
        Step {
            epsilon,
            delta,
            gamma_inverse: 1.0 / gamma,
            phi,
            beta_inverse: if self.goal.is_some() { 1.0 / beta } else { 0.0 },
        }
    }
}

fn scaling(diagonal: &[f64]) -> Vec<f64> {
    let mean = diagonal.iter().map(|d| d.abs()).sum::<f64>() / diagonal.len().max(1) as f64;
    let least = if mean > 0.0 { 0.01 * mean } else { 1.0 };
    diagonal.iter().map(|d| d.abs().max(least)).collect()
}

/// `r = b - M x`.
fn subtract_product(operator: &impl Operator, b: &Block, x: &Block, r: &mut Block) {
    let chunks = r.chunks_mut(ROWS).zip(b.chunks(ROWS)).enumerate();
    parallel::each(chunks, |(chunk, (r, b))| {
        operator.multiply(chunk_rows(chunk, r.len()), x, r);
        for (r, b) in r.iter_mut().zip(b) {
            for c in 0..WIDTH {
                r[c] = b[c] - r[c];
            }
        }
    });
}

/// Length of each column.
fn length(r: &Block) -> Row<WIDTH> {
    squares(r).map(f64::sqrt)
}

#[cfg(test)]
mod tests {
    use super::super::Sparse;
    use super::*;
    use crate::reference::{self, in_one_and_two_threads};
    use crate::{ErrorKind, Graph, seed};
    use ndarray::array;
    use proptest::prelude::*;
    use rand::RngExt;

    /// Diagonal of both signs: indefinite, and rarely near singular.
    fn system(graph: &Graph, seed: u64) -> Sparse<'_, f32> {
        let mut rng = seed::stream(seed, "test diagonal");
        let diagonal = graph.degrees().into_iter().map(|d| {
            let sign = if rng.random::<f64>() < 0.3 { -1.0 } else { 1.0 };
            sign * (1.2 * d + 0.5)
        });
        Sparse::new(graph, diagonal.collect(), graph.weights())
    }

    fn dense(graph: &Graph, m: &Sparse<f32>) -> Array2<f64> {
        let mut dense = reference::dense(graph).mapv(|w| -w);
        dense
            .diag_mut()
            .assign(&ndarray::ArrayView1::from(m.diagonal()));
        dense
    }

    fn rhs(n: usize, columns: usize, seed: u64) -> Array2<f64> {
        let mut rng = seed::stream(seed, "test right-hand side");
        Array2::from_shape_fn((n, columns), |_| rng.random::<f64>() - 0.5)
    }

    fn solve(m: &Sparse<f32>, b: &Array2<f64>) -> Outcome {
        MinRes::default()
            .solve(m, b.view(), &Monitor::silent())
            .unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn equals_a_dense_solve_of_an_indefinite_system(
            n in 1_usize..70, columns in 1_usize..11, seed in 0_u64..10_000,
        ) {
            let graph = reference::random_graph(n, 3 * n, seed);
            let m = system(&graph, seed);
            let b = rhs(n, columns, seed);
            let dense = dense(&graph, &m);
            let expected = reference::solve(&dense, &b, &vec![true; n]);
            let found = solve(&m, &b);
            prop_assert!(found.solution.converged, "{:?}", found.solution.residuals);
            for (x, e) in found.solution.x.iter().zip(&expected) {
                prop_assert!((x - e).abs() < 1e-7);
            }
            // A right-hand side of all directions sees a negative eigenvalue iff there is one.
            let any = negative_eigenvalues_exact(dense.view()).unwrap() > 0;
            prop_assert!(found.negative_curvature.iter().all(|&met| met == any));
        }
    }

    #[test]
    fn eigenvalues_by_hand() {
        let count = |m: Array2<f64>| negative_eigenvalues_exact(m.view()).unwrap();
        assert_eq!(count(array![[1.0, -3.0], [-3.0, 1.0]]), 1);
        assert_eq!(count(array![[1.0, -1.0], [-1.0, 1.0]]), 0);
        assert_eq!(count(array![[-1.0, 0.0], [0.0, -2.0]]), 2);
        assert_eq!(count(Array2::zeros((3, 3))), 0);
        assert!(negative_eigenvalues_exact(array![[f64::NAN]].view()).is_err());
        assert!(negative_eigenvalues_exact(Array2::zeros((1, 2)).view()).is_err());
        assert!(negative_eigenvalues_exact(Array2::zeros((5000, 5000)).view()).is_err());
    }

    #[test]
    fn agrees_with_conjugate_gradients_on_a_definite_system() {
        let graph = reference::random_graph(900, 5000, 4);
        let diagonal = graph.degrees().iter().map(|d| d + 0.05).collect();
        let m = Sparse::new(&graph, diagonal, graph.weights());
        let b = rhs(900, 5, 4);
        let found = solve(&m, &b);
        let cg = ConjugateGradient::default()
            .solve(&m, b.view(), None, &Monitor::silent())
            .unwrap();
        assert!(found.negative_curvature.iter().all(|&met| !met));
        for (a, b) in found.solution.x.iter().zip(&cg.x) {
            assert!((a - b).abs() < 1e-7);
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes() {
        let graph = reference::random_graph(3 * ROWS + 11, 6000, 1);
        let m = system(&graph, 1);
        let b = rhs(graph.n(), 6, 1);
        let (one, two) = in_one_and_two_threads(|| solve(&m, &b));
        assert_eq!(one, two);
    }

    #[test]
    fn columns_do_not_touch_each_other() {
        let graph = reference::random_graph(100, 300, 2);
        let m = system(&graph, 2);
        let mut b = rhs(100, 6, 2);
        b.column_mut(3).fill(0.0);
        let together = solve(&m, &b).solution;
        assert!(together.converged && together.x.column(3).iter().all(|&x| x == 0.0));
        let alone = b.slice(ndarray::s![.., 1..=1]).to_owned();
        let alone = solve(&m, &alone).solution;
        for (a, b) in alone.x.column(0).iter().zip(together.x.column(1)) {
            assert!((a - b).abs() < 1e-7);
        }
    }

    #[test]
    fn a_singular_system_without_a_solution_is_flagged() {
        // [1 -1; -1 1] x = (1, 0) has no solution; the least residual is (1/2, 1/2).
        let graph = Graph::new(vec![0, 1, 2], vec![1, 0], vec![1.0, 1.0]).unwrap();
        let m = Sparse::new(&graph, vec![1.0, 1.0], graph.weights());
        let found = solve(&m, &array![[1.0, 1.0], [0.0, -1.0]]).solution;
        assert!(!found.converged && found.x.iter().all(|x| x.is_finite()));
        assert!((found.residuals[0] - 0.5_f64.sqrt()).abs() < 1e-9);
        assert!(found.residuals[1] < 1e-10);
    }

    #[test]
    fn too_few_iterations_bad_parameters_and_cancelling() {
        let graph = reference::random_graph(300, 900, 4);
        let m = system(&graph, 4);
        let b = rhs(300, 2, 4);
        let run = |tolerance, max_iterations, monitor: &Monitor| {
            let stop = ConjugateGradient {
                tolerance,
                max_iterations,
            };
            MinRes { stop }.solve(&m, b.view(), monitor)
        };
        let silent = Monitor::silent();
        let few = run(1e-10, 2, &silent).unwrap().solution;
        assert!(!few.converged && few.iterations == 2);
        assert!(few.residuals.iter().all(|r| *r > 1e-10 && *r <= 1.5));
        assert!(run(0.0, 2, &silent).is_err() && run(0.1, 0, &silent).is_err());
        let empty = MinRes::default().solve(&m, Array2::zeros((300, 0)).view(), &silent);
        assert!(empty.unwrap().solution.converged);
        let short = MinRes::default().solve(&m, Array2::zeros((3, 1)).view(), &silent);
        assert!(short.unwrap_err().to_string().contains("300 rows"));
        silent.cancel();
        assert_eq!(
            run(0.1, 9, &silent).unwrap_err().kind(),
            ErrorKind::Cancelled
        );
    }
}
