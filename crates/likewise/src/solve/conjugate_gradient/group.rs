//! A group of columns on its way through [conjugate gradients](super).

use std::cmp::Ordering::Greater;

use ndarray::{ArrayView2, ArrayViewMut2, Axis};

use super::super::columns::{ROWS, Row, block, chunk_rows, dot, in_order, room, squares, width};
use super::super::operator::Operator;
use super::super::vectorised;
use crate::parallel;

/// The residual is computed anew once a column's has shrunk to this share of its largest
/// since the last time: rounding in `f32` reaches about 1e-6 of that.
const DROP: f64 = 1e-3;

/// Memory of one group of columns, used by one after the other.
pub(super) struct Workspace {
    inverse: Vec<f32>,
    x: Vec<f32>,
    r: Vec<f32>,
    p: Vec<f32>,
    q: Vec<f32>,
    exact: Vec<f64>,
}

impl Workspace {
    pub(super) fn new(operator: &impl Operator, columns: usize) -> Self {
        let inverse = operator.diagonal().iter().map(|d| (1.0 / d) as f32);
        let size = room(operator.n(), width(columns));
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

/// `W` columns on their way, each scaled by a power of two so that the largest number of its
/// right-hand side is about 1: `f32` has no room for arbitrary units.
pub(super) struct Group<'a, O, const W: usize> {
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
    /// What the preconditioner adds to each row of a group of rows, where the operator knows such.
    shared: Vec<[f32; W]>,
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
    pub(super) fn new(
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
            shared: Vec::new(),
            rr: [0.0; W],
            peak: [0.0; W],
            bb: [0.0; W],
            frozen: [false; W],
            renewed: false,
        };
        group.scatter(b, rows, |_| true);
        group.bb = squares(group.exact);
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
    pub(super) fn start(&mut self, b: ArrayView2<f64>, rows: &[usize]) {
        let scale = self.scale;
        let chunks = self.x.chunks_mut(ROWS).zip(self.p.chunks_mut(ROWS));
        let starts = self.solution.axis_chunks_iter_mut(Axis(0), ROWS);
        parallel::each(starts.zip(chunks), |(mut start, (high, low))| {
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
        let length = squares(self.exact);
        let good = |c: usize| self.bb[c] > 0.0 && length[c] <= self.bb[c];
        std::array::from_fn(|c| !good(c))
    }

    /// Relative residual of a column; 0 for a right-hand side of zeros.
    pub(super) fn relative(&self, c: usize) -> f64 {
        if self.bb[c] > 0.0 {
            (self.rr[c] / self.bb[c]).sqrt()
        } else {
            0.0
        }
    }

    /// Freezes the columns that are done, if the residuals are those of the solution; says
    /// whether no column is left.
    pub(super) fn finished(&mut self, tolerance: f64) -> bool {
        if self.renewed {
            for c in 0..W {
                // NaN is done, too.
                self.frozen[c] |= self.relative(c).partial_cmp(&tolerance) != Some(Greater);
            }
        }
        !self.frozen.contains(&false)
    }

    pub(super) fn iterate(&mut self, tolerance: f64, last: bool) {
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
        let chunks = self.q.chunks_mut(ROWS).enumerate();
        in_order(&parallel::map(chunks, |(chunk, q)| {
            let rows = chunk_rows(chunk, q.len());
            operator.multiply(rows.clone(), p, q);
            dot(&p[rows], q)
        }))
    }

    /// `r -= alpha q`, and its lengths.
    fn reduce(&mut self, alpha: [f32; W]) {
        let chunks = self.r.chunks_mut(ROWS).zip(self.q.chunks(ROWS));
        let inverse = self.inverse.chunks(ROWS);
        let sums = parallel::map(chunks.zip(inverse), |((r, q), inverse)| {
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
        (self.rr, self.rz) = in_order_both(&sums);
        self.correct();
        for (peak, rr) in self.peak.iter_mut().zip(self.rr) {
            *peak = peak.max(rr);
        }
    }

    /// What groups of rows share of the preconditioned residual.
    fn correct(&mut self) {
        if let Some(coarse) = self.operator.coarse() {
            let lengths = coarse.correct(self.r, &mut self.shared);
            for (rz, length) in self.rz.iter_mut().zip(lengths) {
                *rz += length;
            }
        }
    }

    /// `x += alpha p`, then `p = M^-1 r + beta p` with the preconditioner.
    pub(super) fn direct(&mut self, alpha: [f32; W], beta: [f32; W]) {
        let own = self.x.chunks_mut(ROWS).zip(self.p.chunks_mut(ROWS));
        let given = self.r.chunks(ROWS).zip(self.inverse.chunks(ROWS));
        parallel::each(own.zip(given), |((x, p), (r, inverse))| {
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
        let Some(coarse) = self.operator.coarse() else {
            return;
        };
        let shared = &self.shared;
        parallel::each(self.p.chunks_mut(ROWS).enumerate(), |(chunk, p)| {
            for (p, row) in p.iter_mut().zip(chunk * ROWS..) {
                for (p, shared) in p.iter_mut().zip(shared[coarse.of(row)]) {
                    *p += shared;
                }
            }
        });
    }

    /// `x += alpha p`.
    fn advance(&mut self, alpha: [f32; W]) {
        let chunks = self.x.chunks_mut(ROWS).zip(self.p.chunks(ROWS));
        parallel::each(chunks, |(x, p)| {
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
        let solutions = self.solution.axis_chunks_iter_mut(Axis(0), ROWS);
        parallel::each(
            solutions.zip(self.x.chunks_mut(ROWS)),
            |(mut solution, x)| {
                for (mut solution, x) in solution.rows_mut().into_iter().zip(x) {
                    for ((solution, x), scale) in solution.iter_mut().zip(x.iter()).zip(scale) {
                        *solution += f64::from(*x) / scale;
                    }
                    *x = [0.0; W];
                }
            },
        );
        self.restart();
    }

    /// Rounds the residual to `f32`.
    pub(super) fn restart(&mut self) {
        let chunks = self.r.chunks_mut(ROWS).zip(self.exact.chunks(ROWS));
        let inverse = self.inverse.chunks(ROWS);
        let sums = parallel::map(chunks.zip(inverse), |((r, exact), inverse)| {
            for (r, exact) in r.iter_mut().zip(exact) {
                *r = exact.map(|e| e as f32);
            }
            lengths(r, inverse)
        });
        (self.rr, self.rz) = in_order_both(&sums);
        self.correct();
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
    parallel::each(exact.chunks_mut(ROWS).enumerate(), |(chunk, exact)| {
        let mut product = vec![[0.0; W]; exact.len()];
        operator.multiply(chunk_rows(chunk, exact.len()), x, &mut product);
        for (exact, product) in exact.iter_mut().zip(product) {
            for c in 0..W {
                exact[c] -= product[c];
            }
        }
    });
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

fn in_order_both<const W: usize>(parts: &[(Row<W>, Row<W>)]) -> (Row<W>, Row<W>) {
    let (a, b): (Vec<Row<W>>, Vec<Row<W>>) = parts.iter().copied().unzip();
    (in_order(&a), in_order(&b))
}
