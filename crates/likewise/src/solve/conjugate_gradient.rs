//! Conjugate gradients with the Jacobi preconditioner for several right-hand sides.
//!
//! Solves `M X = B` for a symmetric positive definite `M`. The columns are independent
//! runs of conjugate gradients, each with its own step lengths, that share the product
//! with `M`; a column that has met the tolerance is frozen.
//!
//! **Not** for indefinite systems: a direction of no or negative curvature freezes its
//! column as not converged. A singular `M` is fine where the right-hand side and the
//! start are zero on the null space (they stay zero there).
//!
//! Everything is in `f64`. Sums run over chunks of rows of fixed size and are added in the
//! order of the chunks, so the result has the same bits for any number of threads.
//!
//! Cost: one product with `M` and some 10 n C memory accesses an iteration; memory 5 n C.
//!
//! Source: Hestenes and Stiefel 1952, in the form of Saad, "Iterative methods for sparse
//! linear systems", algorithm 9.1.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::operator::{Lanes, Operator, WIDTH};
use crate::{Error, Monitor, Result};

/// Rows of a chunk. Fixed: the order of all sums follows from it.
const ROWS: usize = 512;

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
    /// Iterations, counted until the last column was done.
    pub iterations: usize,
    /// Relative residual of each column, as the recurrence has it.
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
    /// worse than zero is not used.
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
        start: Option<ArrayView2<f64>>,
        monitor: &Monitor,
    ) -> Result<Solution> {
        self.check()?;
        let (n, columns) = b.dim();
        if n != operator.n() || start.is_some_and(|s| s.dim() != b.dim()) {
            return Err(Error::data(format!(
                "conjugate gradients: the system has {} rows, the right-hand side is {:?} and \
                 the start {:?}",
                operator.n(),
                b.dim(),
                start.map(|s| s.dim())
            )));
        }
        let mut state = State::new(operator, b, start);
        let mut iterations = 0;
        while !state.freeze(self.tolerance) && iterations < self.max_iterations {
            monitor.step(iterations as u64)?;
            state.iterate(operator);
            iterations += 1;
        }
        Ok(Solution {
            x: Lanes::to_matrix(&state.x, n, columns),
            iterations,
            residuals: state.relative().take(columns).collect(),
            converged: state.relative().all(|r| r <= self.tolerance),
        })
    }
}

/// One value a column.
type Row = Vec<Lanes>;

struct State {
    groups: usize,
    inverse: Vec<f64>,
    x: Vec<Lanes>,
    r: Vec<Lanes>,
    p: Vec<Lanes>,
    q: Vec<Lanes>,
    /// `r . M^-1 r` of the preconditioner, per column.
    rz: Row,
    /// Squared lengths of the residual and of the right-hand side, per column.
    rr: Row,
    bb: Row,
    active: Vec<[bool; WIDTH]>,
}

impl State {
    fn new(operator: &impl Operator, b: ArrayView2<f64>, start: Option<ArrayView2<f64>>) -> Self {
        let groups = Lanes::groups(b.ncols());
        let r = Lanes::from_matrix(b);
        let zero = vec![Lanes::default(); r.len()];
        let mut state = Self {
            groups,
            inverse: operator.diagonal().iter().map(|d| 1.0 / d).collect(),
            x: zero.clone(),
            p: zero.clone(),
            q: zero,
            rz: Vec::new(),
            rr: Vec::new(),
            bb: column_sums(groups, &r, &r, |_, a, b| a * b),
            active: vec![[true; WIDTH]; groups],
            r,
        };
        if let Some(start) = start {
            state.start_from(operator, Lanes::from_matrix(start));
        }
        state.rr = column_sums(groups, &state.r, &state.r, |_, a, b| a * b);
        let inverse = &state.inverse;
        state.rz = column_sums(groups, &state.r, &state.r, |i, a, b| a * b * inverse[i]);
        state.direct(&vec![Lanes::default(); groups]);
        state
    }

    /// Takes the columns of `x` that are no worse than zero, and their residual `b - M x`.
    fn start_from(&mut self, operator: &impl Operator, x: Vec<Lanes>) {
        let groups = self.groups;
        let mut residual = vec![Lanes::default(); x.len()];
        chunks_mut(&mut residual, groups)
            .enumerate()
            .for_each(|(chunk, residual)| {
                let rows = chunk_rows(chunk, residual.len() / groups.max(1));
                let b = &self.r[rows.start * groups..rows.end * groups];
                operator.apply(rows, &x, residual);
                for (residual, b) in residual.iter_mut().zip(b) {
                    for (r, b) in residual.0.iter_mut().zip(b.0) {
                        *r = b - *r;
                    }
                }
            });
        let length = column_sums(groups, &residual, &residual, |_, a, b| a * b);
        for (at, (start, residual)) in x.iter().zip(&residual).enumerate() {
            let g = at % groups;
            for c in 0..WIDTH {
                let (length, zero) = (length[g].0[c], self.bb[g].0[c]);
                if zero > 0.0 && length <= zero {
                    self.x[at].0[c] = start.0[c];
                    self.r[at].0[c] = residual.0[c];
                }
            }
        }
    }

    /// Relative residual of every column; 0 for a right-hand side of zeros.
    fn relative(&self) -> impl Iterator<Item = f64> {
        let pairs = self.rr.iter().zip(&self.bb);
        pairs.flat_map(|(rr, bb)| (0..WIDTH).map(|c| relative(rr.0[c], bb.0[c])))
    }

    /// Freezes the columns that are done; says whether all are.
    fn freeze(&mut self, tolerance: f64) -> bool {
        let mut all = true;
        for (g, active) in self.active.iter_mut().enumerate() {
            for (c, active) in active.iter_mut().enumerate() {
                *active &= relative(self.rr[g].0[c], self.bb[g].0[c]) > tolerance;
                all &= !*active;
            }
        }
        all
    }

    fn iterate(&mut self, operator: &impl Operator) {
        let groups = self.groups;
        let p = &self.p;
        let pq = chunks_mut(&mut self.q, groups)
            .enumerate()
            .map(|(chunk, q)| {
                let rows = chunk_rows(chunk, q.len() / groups);
                let own = &p[rows.start * groups..rows.end * groups];
                operator.apply(rows, p, q);
                chunk_sums(groups, 0, own, q, |_, a, b| a * b)
            })
            .collect();
        let pq = add_in_order(groups, pq);
        let mut alpha = vec![Lanes::default(); groups];
        for (g, alpha) in alpha.iter_mut().enumerate() {
            for c in 0..WIDTH {
                let curvature = pq[g].0[c];
                self.active[g][c] &= curvature > 0.0;
                if self.active[g][c] {
                    alpha.0[c] = self.rz[g].0[c] / curvature;
                }
            }
        }
        let before = self.rz.clone();
        self.advance(&alpha);
        let mut beta = vec![Lanes::default(); groups];
        for (g, beta) in beta.iter_mut().enumerate() {
            for c in 0..WIDTH {
                if self.active[g][c] && before[g].0[c] > 0.0 {
                    beta.0[c] = self.rz[g].0[c] / before[g].0[c];
                }
            }
        }
        self.direct(&beta);
    }

    /// `x += alpha p`, `r -= alpha q`, and the sums of the new residual.
    fn advance(&mut self, alpha: &[Lanes]) {
        let groups = self.groups;
        let size = ROWS * groups;
        let inverse = &self.inverse;
        let sums: Vec<(Row, Row)> = (self.x.par_chunks_mut(size))
            .zip(self.r.par_chunks_mut(size))
            .zip(self.p.par_chunks(size).zip(self.q.par_chunks(size)))
            .enumerate()
            .map(|(chunk, ((x, r), (p, q)))| {
                pulp::Arch::new().dispatch(
                    #[inline(always)]
                    || {
                        add_scaled(x, alpha, p, 1.0);
                        add_scaled(r, alpha, q, -1.0);
                        let rr = chunk_sums(groups, 0, r, r, |_, a, b| a * b);
                        let first = chunk * ROWS;
                        let rz = chunk_sums(groups, first, r, r, |i, a, b| a * b * inverse[i]);
                        (rr, rz)
                    },
                )
            })
            .collect();
        let (rr, rz) = sums.into_iter().unzip();
        self.rr = add_in_order(groups, rr);
        self.rz = add_in_order(groups, rz);
    }

    /// `p = M^-1 r + beta p` with the preconditioner.
    fn direct(&mut self, beta: &[Lanes]) {
        let groups = self.groups;
        let inverse = &self.inverse;
        let r = self.r.par_chunks((ROWS * groups).max(1));
        chunks_mut(&mut self.p, groups)
            .zip(r)
            .enumerate()
            .for_each(|(chunk, (p, r))| {
                pulp::Arch::new().dispatch(
                    #[inline(always)]
                    || {
                        let rows = p.chunks_exact_mut(groups).zip(r.chunks_exact(groups));
                        for ((p, r), inverse) in rows.zip(&inverse[chunk * ROWS..]) {
                            for ((p, r), beta) in p.iter_mut().zip(r).zip(beta) {
                                for c in 0..WIDTH {
                                    p.0[c] = r.0[c] * inverse + beta.0[c] * p.0[c];
                                }
                            }
                        }
                    },
                );
            });
    }
}

fn relative(rr: f64, bb: f64) -> f64 {
    if bb > 0.0 { (rr / bb).sqrt() } else { 0.0 }
}

fn chunks_mut(
    block: &mut [Lanes],
    groups: usize,
) -> impl IndexedParallelIterator<Item = &mut [Lanes]> {
    block.par_chunks_mut((ROWS * groups).max(1))
}

fn chunk_rows(chunk: usize, rows: usize) -> std::ops::Range<usize> {
    chunk * ROWS..chunk * ROWS + rows
}

#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn add_scaled(y: &mut [Lanes], factor: &[Lanes], x: &[Lanes], sign: f64) {
    let groups = factor.len();
    for (y, x) in y.chunks_exact_mut(groups).zip(x.chunks_exact(groups)) {
        for ((y, x), factor) in y.iter_mut().zip(x).zip(factor) {
            for c in 0..WIDTH {
                y.0[c] += sign * factor.0[c] * x.0[c];
            }
        }
    }
}

/// Sum over the rows of a chunk of `term(row, a, b)`, per column.
#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn chunk_sums(
    groups: usize,
    first: usize,
    a: &[Lanes],
    b: &[Lanes],
    term: impl Fn(usize, f64, f64) -> f64,
) -> Row {
    let mut sum = vec![Lanes::default(); groups];
    let rows = a.chunks_exact(groups).zip(b.chunks_exact(groups));
    for (row, (a, b)) in rows.enumerate() {
        for ((sum, a), b) in sum.iter_mut().zip(a).zip(b) {
            for c in 0..WIDTH {
                sum.0[c] += term(first + row, a.0[c], b.0[c]);
            }
        }
    }
    sum
}

fn column_sums(
    groups: usize,
    a: &[Lanes],
    b: &[Lanes],
    term: impl Fn(usize, f64, f64) -> f64 + Sync,
) -> Row {
    let size = (ROWS * groups).max(1);
    let chunks = a.par_chunks(size).zip(b.par_chunks(size)).enumerate();
    let sums = chunks
        .map(|(chunk, (a, b))| chunk_sums(groups, chunk * ROWS, a, b, &term))
        .collect();
    add_in_order(groups, sums)
}

fn add_in_order(groups: usize, sums: Vec<Row>) -> Row {
    let mut total = vec![Lanes::default(); groups];
    for sum in sums {
        for (total, sum) in total.iter_mut().zip(sum) {
            for (t, s) in total.0.iter_mut().zip(sum.0) {
                *t += s;
            }
        }
    }
    total
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
            .solve(m, b.view(), start.map(|s| s.view()), &Monitor::silent())
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
            assert_eq!(solve(&m, &alone, None).x.column(0), together.x.column(c));
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
