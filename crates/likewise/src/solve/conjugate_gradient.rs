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
//! Cost: one product with `M` and some 8 n C memory accesses an iteration; memory 24 bytes
//! a row and column for 32 columns at a time, and the solution.
//!
//! Source: Hestenes and Stiefel 1952, in the form of Saad, "Iterative methods for sparse
//! linear systems", algorithm 9.1; the replaced residuals follow van der Vorst and Ye,
//! "Residual replacement strategies", 2000, and Clark et al. 2010 ("reliable updates").

use std::cmp::Ordering::Greater;
use std::ops::Range;

use ndarray::parallel::prelude::*;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, Slice};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::operator::{Operator, Real};
use super::vectorised;
use crate::{Error, Monitor, Result};

/// Rows of a chunk. Fixed: the order of all sums follows from it.
const ROWS: usize = 512;
/// Columns solved together: 128 bytes of `f32`, two cache lines. Half of it was slower by a
/// tenth.
const WIDTH: usize = 32;
/// The residual is computed anew once a column's has shrunk to this share of its largest
/// since the last time: rounding in `f32` reaches about 1e-6 of that.
const DROP: f64 = 1e-3;
/// Bytes that blocks are aligned to.
const LINE: usize = 64;

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
        let mut job = Job {
            solver: self,
            operator,
            rows,
            warm: start.is_some(),
            monitor,
            space: Workspace::new(operator, columns),
            steps: 0,
        };
        let mut x = start.unwrap_or_else(|| Array2::zeros((n, columns)));
        let (mut iterations, mut residuals) = (0, Vec::with_capacity(columns));
        for first in (0..columns).step_by(WIDTH) {
            let group = first..columns.min(first + WIDTH);
            let span = Slice::from(group.clone());
            let b = b.slice_axis(Axis(1), span);
            let x = x.slice_axis_mut(Axis(1), span);
            let before = job.steps;
            residuals.extend(match width(group.len()) {
                1 => job.run::<1>(b, x)?,
                4 => job.run::<4>(b, x)?,
                8 => job.run::<8>(b, x)?,
                16 => job.run::<16>(b, x)?,
                _ => job.run::<WIDTH>(b, x)?,
            });
            iterations = iterations.max(job.steps - before);
        }
        let converged = residuals.iter().all(|&r| r <= self.tolerance);
        Ok(Solution {
            x,
            iterations,
            residuals,
            converged,
        })
    }
}

/// Columns of the block that holds `columns` of them.
fn width(columns: usize) -> usize {
    match columns {
        0 | 1 => 1,
        2..=4 => 4,
        5..=8 => 8,
        9..=16 => 16,
        _ => WIDTH,
    }
}

fn misfit(n: usize, b: ArrayView2<f64>, start: Option<&Array2<f64>>) -> Error {
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
    space: Workspace,
    /// Iterations of all groups so far.
    steps: usize,
}

impl<O: Operator> Job<'_, O> {
    /// Solves up to `W` columns; gives their relative residuals.
    fn run<const W: usize>(
        &mut self,
        b: ArrayView2<f64>,
        x: ArrayViewMut2<f64>,
    ) -> Result<Vec<f64>> {
        let columns = b.ncols();
        let mut group = Group::<O, W>::new(self.operator, &mut self.space, b, x, self.rows);
        if self.warm {
            group.start(b, self.rows);
        }
        group.restart();
        group.direct([0.0; W], [0.0; W]);
        let first = self.steps;
        while !group.finished(self.solver.tolerance) {
            self.monitor.step(self.steps as u64)?;
            self.steps += 1;
            let last = self.steps - first == self.solver.max_iterations;
            group.iterate(self.solver.tolerance, last);
            if last {
                break;
            }
        }
        Ok((0..columns).map(|c| group.relative(c)).collect())
    }
}

/// Memory of one group of columns, used by one after the other.
struct Workspace {
    inverse: Vec<f32>,
    x: Vec<f32>,
    r: Vec<f32>,
    p: Vec<f32>,
    q: Vec<f32>,
    exact: Vec<f64>,
}

impl Workspace {
    fn new(operator: &impl Operator, columns: usize) -> Self {
        let inverse = operator.diagonal().iter().map(|d| (1.0 / d) as f32);
        let size = operator.n() * width(columns) + LINE;
        Self {
            inverse: inverse.collect(),
            x: vec![0.0; size],
            r: vec![0.0; size],
            p: vec![0.0; size],
            q: vec![0.0; size],
            exact: vec![0.0; size],
        }
    }
}

/// `n` rows of `W` columns that begin at a cache line, of zeros.
fn block<T: Real, const W: usize>(space: &mut [T], n: usize) -> &mut [[T; W]] {
    let skip = space.as_ptr().align_offset(LINE).min(LINE);
    let rows = &mut space[skip..].as_chunks_mut::<W>().0[..n];
    rows.par_chunks_mut(ROWS)
        .for_each(|rows| rows.fill([T::default(); W]));
    rows
}

/// One value a column.
type Row<const W: usize> = [f64; W];

/// `W` columns on their way, each scaled by a power of two so that the largest number of its
/// right-hand side is about 1: `f32` has no room for arbitrary units.
struct Group<'a, O, const W: usize> {
    operator: &'a O,
    inverse: &'a [f32],
    /// The solution, and a correction of it that grows in `f32`.
    solution: ArrayViewMut2<'a, f64>,
    x: &'a mut [[f32; W]],
    /// The residual of `solution`, and of `solution + x`.
    exact: &'a mut [[f64; W]],
    r: &'a mut [[f32; W]],
    p: &'a mut [[f32; W]],
    q: &'a mut [[f32; W]],
    scale: Row<W>,
    /// `r . M^-1 r` of the preconditioner.
    rz: Row<W>,
    /// Squared lengths of the residual, of the largest one since it was computed anew, and
    /// of the right-hand side.
    rr: Row<W>,
    peak: Row<W>,
    bb: Row<W>,
    /// Done, or stuck.
    frozen: [bool; W],
    /// Whether the residuals are those of the solution, not of the recurrence.
    renewed: bool,
}

impl<'a, O: Operator, const W: usize> Group<'a, O, W> {
    fn new(
        operator: &'a O,
        space: &'a mut Workspace,
        b: ArrayView2<f64>,
        solution: ArrayViewMut2<'a, f64>,
        rows: &[usize],
    ) -> Self {
        let n = operator.n();
        let mut scale = [1.0; W];
        for (scale, column) in scale.iter_mut().zip(b.columns()) {
            let largest = column.iter().fold(0.0_f64, |max, v| max.max(v.abs()));
            if largest.is_normal() {
                *scale = (-largest.log2().floor()).clamp(-1000.0, 1000.0).exp2();
            }
        }
        let mut group = Self {
            operator,
            inverse: &space.inverse,
            solution,
            x: block(&mut space.x, n),
            exact: block(&mut space.exact, n),
            r: block(&mut space.r, n),
            p: block(&mut space.p, n),
            q: block(&mut space.q, n),
            scale,
            rz: [0.0; W],
            rr: [0.0; W],
            peak: [0.0; W],
            bb: [0.0; W],
            frozen: [false; W],
            renewed: false,
        };
        group.scatter(b, rows, |_| true);
        group.bb = in_order(group.exact.par_chunks(ROWS).map(|e| dot(e, e)));
        group
    }

    /// Sets the residual of the columns `which` to the right-hand side.
    fn scatter(&mut self, b: ArrayView2<f64>, rows: &[usize], which: impl Fn(usize) -> bool) {
        for (b, &row) in b.rows().into_iter().zip(rows) {
            for (c, b) in b.iter().enumerate().filter(|&(c, _)| which(c)) {
                self.exact[row][c] = b * self.scale[c];
            }
        }
    }

    /// Takes the columns of the start that are no worse than zero, and sets the others to
    /// zero. The start is cut to the sum of two `f32`.
    fn start(&mut self, b: ArrayView2<f64>, rows: &[usize]) {
        let scale = self.scale;
        (self
            .solution
            .axis_chunks_iter_mut(Axis(0), ROWS)
            .into_par_iter())
        .zip(self.x.par_chunks_mut(ROWS).zip(self.p.par_chunks_mut(ROWS)))
        .for_each(|(mut start, (high, low))| {
            for (mut start, (high, low)) in
                start.rows_mut().into_iter().zip(high.iter_mut().zip(low))
            {
                for (c, start) in start.iter_mut().enumerate() {
                    let scaled = *start * scale[c];
                    high[c] = scaled as f32;
                    low[c] = (scaled - f64::from(high[c])) as f32;
                    *start = (f64::from(high[c]) + f64::from(low[c])) / scale[c];
                }
            }
        });
        subtract_product(self.operator, self.x, self.exact);
        let mut worse = self.worse_than_zero();
        if worse.contains(&false) {
            subtract_product(self.operator, self.p, self.exact);
            worse = self.worse_than_zero();
        }
        if worse.contains(&true) {
            for exact in self.exact.iter_mut() {
                for c in (0..W).filter(|&c| worse[c]) {
                    exact[c] = 0.0;
                }
            }
            self.scatter(b, rows, |c| worse[c]);
            for (mut column, _) in (self.solution.columns_mut().into_iter())
                .zip(worse)
                .filter(|w| w.1)
            {
                column.fill(0.0);
            }
        }
        self.x.fill([0.0; W]);
        self.p.fill([0.0; W]);
    }

    /// The columns whose residual is not at most that of zero.
    fn worse_than_zero(&self) -> [bool; W] {
        let length = in_order(self.exact.par_chunks(ROWS).map(|e| dot(e, e)));
        let good = |c: usize| self.bb[c] > 0.0 && length[c] <= self.bb[c];
        std::array::from_fn(|c| !good(c))
    }

    /// Relative residual of a column; 0 for a right-hand side of zeros.
    fn relative(&self, c: usize) -> f64 {
        if self.bb[c] > 0.0 {
            (self.rr[c] / self.bb[c]).sqrt()
        } else {
            0.0
        }
    }

    /// Freezes the columns that are done, if the residuals are those of the solution; says
    /// whether no column is left.
    fn finished(&mut self, tolerance: f64) -> bool {
        if self.renewed {
            for c in 0..W {
                // NaN is done, too.
                self.frozen[c] |= self.relative(c).partial_cmp(&tolerance) != Some(Greater);
            }
        }
        !self.frozen.contains(&false)
    }

    fn iterate(&mut self, tolerance: f64, last: bool) {
        let pq = self.multiply();
        let mut alpha = [0.0; W];
        for c in 0..W {
            if pq[c] > 0.0 && !self.frozen[c] {
                alpha[c] = (self.rz[c] / pq[c]) as f32;
            } else {
                // To be at the solution is no failure.
                self.frozen[c] |= self.rr[c] != 0.0;
            }
        }
        let before = self.rz;
        self.reduce(alpha);
        let moving = || (0..W).filter(|&c| !self.frozen[c]);
        let dropped = moving().any(|c| self.rr[c] <= DROP * DROP * self.peak[c]);
        let met = moving().all(|c| self.relative(c) <= tolerance);
        let recurrence = self.rz;
        self.renewed = dropped || met || last;
        if self.renewed {
            self.advance(alpha);
            self.renew();
            alpha = [0.0; W];
        }
        let mut beta = [0.0; W];
        for c in 0..W {
            // Where the recurrence has lost the residual, its direction is no use either.
            if before[c] > 0.0 && self.rz[c] <= 2.0 * recurrence[c] {
                beta[c] = (self.rz[c] / before[c]) as f32;
            }
        }
        self.direct(alpha, beta);
    }

    /// `q = M p`; gives `p . q`.
    fn multiply(&mut self) -> Row<W> {
        let (operator, p) = (self.operator, &*self.p);
        in_order(self.q.par_chunks_mut(ROWS).enumerate().map(|(chunk, q)| {
            let rows = chunk_rows(chunk, q.len());
            operator.multiply(rows.clone(), p, q);
            dot(&p[rows], q)
        }))
    }

    /// `r -= alpha q`, and its lengths.
    fn reduce(&mut self, alpha: [f32; W]) {
        let chunks = self.r.par_chunks_mut(ROWS).zip(self.q.par_chunks(ROWS));
        let inverse = self.inverse.par_chunks(ROWS);
        let sums = chunks.zip(inverse).map(|((r, q), inverse)| {
            vectorised(
                #[inline(always)]
                || {
                    let alpha = along_rows(&alpha);
                    for (r, q) in r.iter_mut().zip(q) {
                        for ((r, q), alpha) in r.iter_mut().zip(q).zip(alpha) {
                            *r -= alpha * q;
                        }
                    }
                    lengths(r, inverse)
                },
            )
        });
        (self.rr, self.rz) = in_order_both(sums);
        for (peak, rr) in self.peak.iter_mut().zip(self.rr) {
            *peak = peak.max(rr);
        }
    }

    /// `x += alpha p`, then `p = M^-1 r + beta p` with the preconditioner.
    fn direct(&mut self, alpha: [f32; W], beta: [f32; W]) {
        let own = self.x.par_chunks_mut(ROWS).zip(self.p.par_chunks_mut(ROWS));
        let given = self.r.par_chunks(ROWS).zip(self.inverse.par_chunks(ROWS));
        own.zip(given).for_each(|((x, p), (r, inverse))| {
            vectorised(
                #[inline(always)]
                || {
                    let (alpha, beta) = (along_rows(&alpha), along_rows(&beta));
                    for (((x, p), r), inverse) in x.iter_mut().zip(p.iter_mut()).zip(r).zip(inverse)
                    {
                        let factors = alpha.iter().zip(beta);
                        for (((x, p), r), (alpha, beta)) in x.iter_mut().zip(p).zip(r).zip(factors)
                        {
                            *x += alpha * *p;
                            *p = r * inverse + beta * *p;
                        }
                    }
                },
            );
        });
    }

    /// `x += alpha p`.
    fn advance(&mut self, alpha: [f32; W]) {
        let chunks = self.x.par_chunks_mut(ROWS).zip(self.p.par_chunks(ROWS));
        chunks.for_each(|(x, p)| {
            vectorised(
                #[inline(always)]
                || {
                    let alpha = along_rows(&alpha);
                    for (x, p) in x.iter_mut().zip(p) {
                        for ((x, p), alpha) in x.iter_mut().zip(p).zip(alpha) {
                            *x += alpha * p;
                        }
                    }
                },
            );
        });
    }

    /// Adds `x` to the solution, and computes the residual anew from `x` as it is.
    fn renew(&mut self) {
        subtract_product(self.operator, self.x, self.exact);
        let scale = self.scale;
        (self.solution.axis_chunks_iter_mut(Axis(0), ROWS))
            .into_par_iter()
            .zip(self.x.par_chunks_mut(ROWS))
            .for_each(|(mut solution, x)| {
                for (mut solution, x) in solution.rows_mut().into_iter().zip(x) {
                    for ((solution, x), scale) in solution.iter_mut().zip(x.iter()).zip(scale) {
                        *solution += f64::from(*x) / scale;
                    }
                    *x = [0.0; W];
                }
            });
        self.restart();
    }

    /// Rounds the residual to `f32`.
    fn restart(&mut self) {
        let chunks = self.r.par_chunks_mut(ROWS).zip(self.exact.par_chunks(ROWS));
        let inverse = self.inverse.par_chunks(ROWS);
        let sums = chunks.zip(inverse).map(|((r, exact), inverse)| {
            for (r, exact) in r.iter_mut().zip(exact) {
                *r = exact.map(|e| e as f32);
            }
            lengths(r, inverse)
        });
        (self.rr, self.rz) = in_order_both(sums);
        self.peak = self.rr;
        self.renewed = true;
    }
}

/// Hides from the compiler how many columns there are: it would unroll the loop over them
/// and gather across rows instead, at several times the cost.
#[inline]
fn along_rows<const W: usize>(factors: &[f32; W]) -> &[f32] {
    std::hint::black_box(factors.as_slice())
}

/// `exact -= M x`.
fn subtract_product<const W: usize>(
    operator: &impl Operator,
    x: &[[f32; W]],
    exact: &mut [[f64; W]],
) {
    exact.par_chunks_mut(ROWS).enumerate().for_each_init(
        || vec![[0.0; W]; ROWS],
        |product, (chunk, exact)| {
            let product = &mut product[..exact.len()];
            operator.multiply(chunk_rows(chunk, exact.len()), x, product);
            for (exact, product) in exact.iter_mut().zip(product) {
                for c in 0..W {
                    exact[c] -= product[c];
                }
            }
        },
    );
}

fn chunk_rows(chunk: usize, rows: usize) -> Range<usize> {
    chunk * ROWS..chunk * ROWS + rows
}

/// `a . b` of each column.
fn dot<T: Real, const W: usize>(a: &[[T; W]], b: &[[T; W]]) -> Row<W> {
    vectorised(
        #[inline(always)]
        || {
            let mut sum = [0.0; W];
            for (a, b) in a.iter().zip(b) {
                for c in 0..W {
                    sum[c] += a[c].into() * b[c].into();
                }
            }
            sum
        },
    )
}

/// `r . r` and `r . M^-1 r` of each column.
#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn lengths<const W: usize>(r: &[[f32; W]], inverse: &[f32]) -> (Row<W>, Row<W>) {
    let (mut rr, mut rz) = ([0.0; W], [0.0; W]);
    for (r, &inverse) in r.iter().zip(inverse) {
        let inverse = f64::from(inverse);
        for c in 0..W {
            let square = f64::from(r[c]) * f64::from(r[c]);
            rr[c] += square;
            rz[c] += square * inverse;
        }
    }
    (rr, rz)
}

/// The sum of what the chunks give, in their order.
fn in_order<const W: usize>(parts: impl IndexedParallelIterator<Item = Row<W>>) -> Row<W> {
    let parts: Vec<Row<W>> = parts.collect();
    (parts.iter()).fold([0.0; W], |sum, part| {
        std::array::from_fn(|c| sum[c] + part[c])
    })
}

fn in_order_both<const W: usize>(
    parts: impl IndexedParallelIterator<Item = (Row<W>, Row<W>)>,
) -> (Row<W>, Row<W>) {
    let (a, b): (Vec<Row<W>>, Vec<Row<W>>) = parts.unzip();
    let add = |parts: Vec<Row<W>>| {
        (parts.iter()).fold([0.0; W], |sum, part| {
            std::array::from_fn(|c| sum[c] + part[c])
        })
    };
    (add(a), add(b))
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
