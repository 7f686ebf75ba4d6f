//! Projections on the bounds of pairs, one after the other.

use ndarray::{Array1, Array2, Axis, Slice};

use crate::linear::spd::{add_cross, cross, symmetrize};
use crate::solve::vectorised;
use crate::{Monitor, Result};

/// Columns from which pairs are projected by blocks of so many: the metric no longer fits where it
/// is read fastest.
pub(super) const MANY: usize = 128;
const BLOCK: usize = 48;
/// A pair, and how far its bound has been bent.
pub(super) struct Bound {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) sign: f64,
    pub(super) gamma: f64,
    pub(super) lambda: f64,
    /// `1 / xi`.
    pub(super) inverse: f64,
    /// At a squared distance below this, the pair has come together: there is no ratio to correct.
    pub(super) least: f64,
}

impl Bound {
    /// Bends the bound of a pair at the squared distance `p`: the change of its multiplier, and the
    /// `beta` of the metric's.
    fn bend(&mut self, p: f64) -> Option<(f64, f64)> {
        if p < self.least {
            return None;
        }
        let part = self.gamma / (self.gamma + 1.0);
        let alpha = (self.sign * part * (p.recip() - self.inverse)).min(self.lambda);
        if alpha == 0.0 {
            return None;
        }
        self.lambda -= alpha;
        self.inverse += self.sign * alpha / self.gamma;
        Some((
            alpha.abs(),
            self.sign * alpha / (1.0 - self.sign * alpha * p),
        ))
    }
}

/// Goes through all pairs once; by how much their multipliers change in all.
pub(super) fn sweep(
    metric: &mut Array2<f64>,
    rows: &Array2<f64>,
    bounds: &mut [Bound],
    monitor: &Monitor,
) -> Result<f64> {
    let mut moved = 0.0;
    if rows.ncols() < MANY {
        let mut moving = Moving::new(metric, rows);
        for (done, bound) in bounds.iter_mut().enumerate() {
            if done % 4096 == 4095 {
                monitor.check()?;
            }
            moved += moving.project(bound);
        }
        moving.settle();
    } else {
        for bounds in bounds.chunks_mut(BLOCK) {
            monitor.check()?;
            moved += project_block(metric, rows, bounds);
        }
    }
    symmetrize(metric);
    Ok(moved)
}

/// Projects some pairs one after the other. The products of all with the metric are taken at
/// once, and those with its changes since are added; then the changes are made at once.
fn project_block(metric: &mut Array2<f64>, rows: &Array2<f64>, bounds: &mut [Bound]) -> f64 {
    let (d, b) = (rows.ncols(), bounds.len());
    let difference = |j: usize| &rows.row(bounds[j].a) - &rows.row(bounds[j].b);
    let mut v = vec![0.0; b * d];
    let mut columns = Array2::zeros((d, b));
    for (j, v) in v.chunks_exact_mut(d).enumerate() {
        for ((i, v), delta) in v.iter_mut().enumerate().zip(difference(j)) {
            *v = delta;
            columns[(i, j)] = delta;
        }
    }
    let products = cross(metric, &columns).reversed_axes();
    let products = products.as_standard_layout();
    let mut along = Array2::<f64>::zeros((b, d));
    let (mut betas, mut moved) = (Vec::with_capacity(b), 0.0);
    for ((bound, v), product) in bounds
        .iter_mut()
        .zip(v.chunks_exact(d))
        .zip(products.rows())
    {
        let before = along.as_slice_mut().unwrap_or_default();
        let (before, next) = before.split_at_mut(betas.len() * d);
        let next = &mut next[..d];
        for (next, product) in next.iter_mut().zip(product) {
            *next = *product;
        }
        let mut p = 0.0;
        vectorised(
            #[inline(always)]
            || {
                for (u, beta) in before.chunks_exact(d).zip(&betas) {
                    let factor = beta * dot(u, v);
                    for (next, u) in next.iter_mut().zip(u) {
                        *next += factor * u;
                    }
                }
                p = dot(v, next);
            },
        );
        if let Some((change, beta)) = bound.bend(p) {
            moved += change;
            betas.push(beta);
        }
    }
    let along = along.slice_axis(Axis(0), Slice::from(..betas.len()));
    let scaled = &along * &Array1::from(betas).insert_axis(Axis(1));
    add_cross(metric, along, scaled.view());
    moved
}

#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; SUMS];
    let ((a, last_a), (b, last_b)) = (a.as_chunks::<SUMS>(), b.as_chunks::<SUMS>());
    for (a, b) in a.iter().zip(b) {
        for c in 0..SUMS {
            sums[c] += a[c] * b[c];
        }
    }
    let last: f64 = last_a.iter().zip(last_b).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + last
}

/// The metric while it changes. The last change is made only with the next product, so that
/// `M` is read once a pair.
struct Moving<'a> {
    rows: &'a Array2<f64>,
    metric: &'a mut Array2<f64>,
    /// `M v`, of the last pair, and the `beta` that it is still to be added with.
    along: Vec<f64>,
    beta: f64,
    /// `v`, and the next `M v`.
    difference: Vec<f64>,
    product: Vec<f64>,
}

impl<'a> Moving<'a> {
    fn new(metric: &'a mut Array2<f64>, rows: &'a Array2<f64>) -> Self {
        let d = rows.ncols();
        Self {
            rows,
            metric,
            along: vec![0.0; d],
            beta: 0.0,
            difference: vec![0.0; d],
            product: vec![0.0; d],
        }
    }

    /// One projection; by how much the multiplier changes.
    fn project(&mut self, bound: &mut Bound) -> f64 {
        let both = self.rows.row(bound.a).into_iter();
        let both = both.zip(self.rows.row(bound.b));
        for (v, (a, b)) in self.difference.iter_mut().zip(both) {
            *v = a - b;
        }
        let p = self.advance();
        let Some((change, beta)) = bound.bend(p) else {
            return 0.0;
        };
        self.beta = beta;
        std::mem::swap(&mut self.along, &mut self.product);
        change
    }

    /// Makes the change that is left over, writes `M v` and gives `v M v`.
    fn advance(&mut self) -> f64 {
        let metric = self.metric.as_slice_mut().unwrap_or_default();
        let product = &mut self.product;
        let (along, v, beta) = (&self.along, &self.difference, self.beta);
        vectorised(
            #[inline(always)]
            || update_and_multiply(metric, along, beta, v, product),
        );
        self.beta = 0.0;
        v.iter().zip(product).map(|(v, m)| v * *m).sum()
    }

    /// Makes the change that is left over.
    fn settle(&mut self) {
        self.difference.fill(0.0);
        self.advance();
    }
}

/// Sums that run side by side: one would wait for its last addition each time.
const SUMS: usize = 8;

/// `M += beta u u^T`, then `product = M v`.
#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn update_and_multiply(metric: &mut [f64], u: &[f64], beta: f64, v: &[f64], product: &mut [f64]) {
    let d = v.len();
    for ((row, &own), product) in metric.chunks_exact_mut(d).zip(u).zip(product) {
        let factor = beta * own;
        let mut sums = [0.0; SUMS];
        let (rows, last_row) = row.as_chunks_mut::<SUMS>();
        let (us, last_u) = u.as_chunks::<SUMS>();
        let (vs, last_v) = v.as_chunks::<SUMS>();
        if factor == 0.0 {
            for (row, v) in rows.iter().zip(vs) {
                for c in 0..SUMS {
                    sums[c] += row[c] * v[c];
                }
            }
        } else {
            for ((row, u), v) in rows.iter_mut().zip(us).zip(vs) {
                for c in 0..SUMS {
                    row[c] += factor * u[c];
                    sums[c] += row[c] * v[c];
                }
            }
        }
        let mut sum: f64 = sums.iter().sum();
        for ((row, u), v) in last_row.iter_mut().zip(last_u).zip(last_v) {
            *row += factor * u;
            sum += *row * v;
        }
        *product = sum;
    }
}
