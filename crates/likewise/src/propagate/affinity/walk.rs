//! Sums of a random walk over neighbours: `R = (I - gamma Q)^-1`, a few columns or one row at
//! a time, for [propagated affinities](super).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::neighbor::Neighbors;
use crate::{Monitor, Result, parallel};

/// Columns that are solved together: one cache line of `f64`.
pub(crate) const WIDTH: usize = 8;
/// The solver starts again while a start leaves no more than this share of the residual.
const ENOUGH: f64 = 0.1;
/// Iterations without coming closer after which a column gives up.
const PATIENCE: usize = 20;

pub(crate) type Block = Vec<[f64; WIDTH]>;

/// How a solve went.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Report {
    pub(crate) iterations: usize,
    pub(crate) residual: f64,
    pub(crate) converged: bool,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            iterations: 0,
            residual: 0.0,
            converged: true,
        }
    }
}

impl Report {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            iterations: self.iterations.max(other.iterations),
            residual: self.residual.max(other.residual),
            converged: self.converged && other.converged,
        }
    }
}

/// The random walk over neighbours that goes on with probability `gamma`.
pub(crate) struct Walk {
    pub(crate) k: usize,
    gamma: f64,
    /// Neighbours of all items, `k` each; the place in this list is the number of an arc.
    pub(crate) lists: Vec<u32>,
    /// Arcs that end in each node, node after node, and where each node's begin.
    incoming: Vec<u32>,
    starts: Vec<usize>,
}

impl Walk {
    pub(crate) fn new(neighbors: &Neighbors, gamma: f64) -> Self {
        let lists: Vec<u32> = neighbors.indices.iter().copied().collect();
        let mut starts = vec![0; neighbors.n() + 1];
        for &z in &lists {
            starts[z as usize + 1] += 1;
        }
        for i in 0..neighbors.n() {
            starts[i + 1] += starts[i];
        }
        let (mut next, mut incoming) = (starts.clone(), vec![0; lists.len()]);
        for (arc, &z) in lists.iter().enumerate() {
            incoming[next[z as usize]] = arc as u32;
            next[z as usize] += 1;
        }
        Self {
            k: neighbors.k,
            gamma,
            lists,
            incoming,
            starts,
        }
    }

    pub(crate) fn n(&self) -> usize {
        self.starts.len() - 1
    }

    fn list(&self, i: usize) -> &[u32] {
        &self.lists[i * self.k..(i + 1) * self.k]
    }

    fn incoming(&self, i: usize) -> &[u32] {
        &self.incoming[self.starts[i]..self.starts[i + 1]]
    }

    /// The share that goes to each neighbour.
    fn share(&self) -> f64 {
        self.gamma / self.k as f64
    }

    /// Values at the neighbours of `v`, and at the items that `v` is a neighbour of.
    pub(crate) fn at_neighbors(
        &self,
        v: usize,
        value: impl Fn(usize) -> f64,
    ) -> (Vec<f64>, Vec<f64>) {
        let out = self.list(v).iter().map(|&z| value(z as usize)).collect();
        let into = self.incoming(v).iter();
        let into = into.map(|&arc| value(arc as usize / self.k)).collect();
        (out, into)
    }

    /// Both kinds of values of [`at_neighbors`](Self::at_neighbors), one an arc; 0 at nodes
    /// without.
    pub(crate) fn lay_out(
        &self,
        found: impl Iterator<Item = (usize, (Vec<f64>, Vec<f64>))>,
    ) -> (Vec<f64>, Vec<f64>) {
        let (mut all_out, mut all_into) =
            (vec![0.0; self.lists.len()], vec![0.0; self.lists.len()]);
        for (v, (out, into)) in found {
            all_out[v * self.k..(v + 1) * self.k].copy_from_slice(&out);
            for (&arc, into) in self.incoming(v).iter().zip(into) {
                all_into[arc as usize] = into;
            }
        }
        (all_out, all_into)
    }

    /// `y = gamma Q x`.
    fn step(&self, x: &Block, y: &mut Block) {
        let share = self.share();
        for (list, y) in self.lists.chunks_exact(self.k).zip(y.iter_mut()) {
            let mut sum = [0.0; WIDTH];
            for &j in list {
                for (sum, x) in sum.iter_mut().zip(&x[j as usize]) {
                    *sum += x;
                }
            }
            *y = sum.map(|s| s * share);
        }
    }

    /// Solves `(I - gamma Q) X = B`: stabilised biconjugate gradients, started again for as
    /// long as that helps, then the plain iteration `x += r, r = gamma Q r`, which always
    /// converges. Stops when no row of the residual is above `tolerance`; then no entry of
    /// `(1 - gamma) X` is off by more, since `R` has row sums `1 / (1 - gamma)`.
    pub(crate) fn solve(
        &self,
        b: &Block,
        tolerance: f64,
        max_iterations: usize,
    ) -> (Block, Report) {
        let zero = vec![[0.0; WIDTH]; self.n()];
        let (mut x, mut r, mut t) = (zero.clone(), b.clone(), zero);
        let worst = |r: &Block| largest(r).into_iter().fold(0.0, f64::max);
        let mut residual = worst(&r);
        let (mut iterations, mut before) = (0, f64::INFINITY);
        while residual > tolerance && residual <= ENOUGH * before {
            let (d, more) = self.descend(&r, tolerance, max_iterations - iterations);
            iterations += more;
            self.step(&d, &mut t);
            for ((t, r), d) in t.iter_mut().zip(&r).zip(&d) {
                *t = lanes(|c| r[c] - d[c] + t[c]);
            }
            // What the descent believes of itself is not enough: it may have broken down.
            let (old, new) = (largest(&r), largest(&t));
            let take: [bool; WIDTH] = std::array::from_fn(|c| new[c] < old[c]);
            for ((x, r), (d, t)) in (x.iter_mut().zip(&mut r)).zip(d.iter().zip(&t)) {
                *x = lanes(|c| if take[c] { x[c] + d[c] } else { x[c] });
                *r = lanes(|c| if take[c] { t[c] } else { r[c] });
            }
            before = residual;
            residual = worst(&r);
        }
        while residual > tolerance && iterations < max_iterations {
            for (x, r) in x.iter_mut().zip(&r) {
                *x = lanes(|c| x[c] + r[c]);
            }
            self.step(&r, &mut t);
            std::mem::swap(&mut r, &mut t);
            residual = worst(&r);
            iterations += 1;
        }
        let report = Report {
            iterations,
            residual,
            converged: residual <= tolerance,
        };
        (x, report)
    }

    /// Stabilised biconjugate gradients (van der Vorst 1992) from the residual `start`, which is
    /// their shadow vector too. A column stops where it breaks down, and where it has not come
    /// closer for a while. Gives the steps, and the number of iterations.
    fn descend(&self, start: &Block, tolerance: f64, max_iterations: usize) -> (Block, usize) {
        let zero = || vec![[0.0; WIDTH]; self.n()];
        let (mut d, mut p, mut v, mut t) = (zero(), zero(), zero(), zero());
        let mut r = start.clone();
        let ones = [1.0; WIDTH];
        let (mut rho, mut alpha, mut omega) = (ones, ones, ones);
        let mut best = largest(&r);
        let mut stuck = [0; WIDTH];
        let mut open = best.map(|r| r > tolerance);
        let mut iterations = 0;
        while open.contains(&true) && iterations < max_iterations {
            let rho_before = rho;
            rho = dot(start, &r);
            let beta = lanes(|c| rho[c] / rho_before[c] * (alpha[c] / omega[c]));
            stop_at(&mut open, &beta);
            for ((p, r), v) in p.iter_mut().zip(&r).zip(&v) {
                *p = lanes(|c| {
                    let next = r[c] + beta[c] * (p[c] - omega[c] * v[c]);
                    if open[c] { next } else { 0.0 }
                });
            }
            self.step(&p, &mut v);
            for (v, p) in v.iter_mut().zip(&p) {
                *v = lanes(|c| p[c] - v[c]);
            }
            let product = dot(start, &v);
            alpha = lanes(|c| rho[c] / product[c]);
            stop_at(&mut open, &alpha);
            let along = lanes(|c| if open[c] { alpha[c] } else { 0.0 });
            for (r, v) in r.iter_mut().zip(&v) {
                *r = lanes(|c| r[c] - along[c] * v[c]);
            }
            self.step(&r, &mut t);
            for (t, r) in t.iter_mut().zip(&r) {
                *t = lanes(|c| r[c] - t[c]);
            }
            let (tr, tt) = (dot(&t, &r), dot(&t, &t));
            omega = lanes(|c| if tt[c] > 0.0 { tr[c] / tt[c] } else { 0.0 });
            let across = lanes(|c| if open[c] { omega[c] } else { 0.0 });
            for ((d, p), (r, t)) in (d.iter_mut().zip(&p)).zip(r.iter_mut().zip(&t)) {
                *d = lanes(|c| d[c] + along[c] * p[c] + across[c] * r[c]);
                *r = lanes(|c| r[c] - across[c] * t[c]);
            }
            let size = largest(&r);
            for c in 0..WIDTH {
                stuck[c] = if size[c] < best[c] { 0 } else { stuck[c] + 1 };
                best[c] = best[c].min(size[c]);
                // Half: the true residual may be a little larger.
                open[c] &= size[c] > 0.5 * tolerance && omega[c] != 0.0 && stuck[c] < PATIENCE;
            }
            iterations += 1;
        }
        (d, iterations)
    }

    /// For every node `a`, row `a` of `R` at its neighbours and at those that it is one of.
    pub(crate) fn push_all(
        &self,
        threshold: f64,
        monitor: &Monitor,
    ) -> Result<Vec<(Vec<f64>, Vec<f64>)>> {
        let n = self.n();
        let mean: Vec<f64> = self.column_sums().iter().map(|s| s / n as f64).collect();
        let done = AtomicU64::new(0);
        let one = |at: &mut Pushed, a: usize| {
            if a.is_multiple_of(256) {
                monitor.step(done.fetch_add(256, Relaxed))?;
            }
            self.push(a, threshold, at);
            let left: f64 = at.touched.iter().map(|&v| at.rest[v as usize]).sum();
            let value = |z: usize| at.sum[z] + left * mean[z];
            let found = self.at_neighbors(a, value);
            at.clear();
            Ok(found)
        };
        let found = parallel::try_map_with(
            parallel::chunks(n),
            || Pushed::new(n),
            |at, nodes| nodes.map(|a| one(at, a)).collect::<Result<Vec<_>>>(),
        )?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Sends on what has arrived, first come first served, until no node holds more than
    /// `threshold`.
    fn push(&self, a: usize, threshold: f64, at: &mut Pushed) {
        at.receive(a, 1.0, threshold);
        while let Some(v) = at.waiting.pop_front() {
            let v = v as usize;
            let amount = std::mem::take(&mut at.rest[v]);
            at.queued[v] = false;
            at.sum[v] += amount;
            for &j in self.list(v) {
                at.receive(j as usize, amount * self.share(), threshold);
            }
        }
    }

    /// `R^T 1`, to six digits, by its series.
    pub(crate) fn column_sums(&self) -> Vec<f64> {
        let mut term = vec![1.0; self.n()];
        let mut sum = term.clone();
        let mut size = 1.0;
        while size > 1e-6 * (1.0 - self.gamma) {
            let mut next = vec![0.0; self.n()];
            for (list, amount) in self.lists.chunks_exact(self.k).zip(&term) {
                for &j in list {
                    next[j as usize] += amount * self.share();
                }
            }
            for (sum, next) in sum.iter_mut().zip(&next) {
                *sum += next;
            }
            term = next;
            size *= self.gamma;
        }
        sum
    }
}

/// The state of one local walk, reused from item to item.
struct Pushed {
    sum: Vec<f64>,
    rest: Vec<f64>,
    queued: Vec<bool>,
    waiting: VecDeque<u32>,
    touched: Vec<u32>,
}

impl Pushed {
    fn new(n: usize) -> Self {
        Self {
            sum: vec![0.0; n],
            rest: vec![0.0; n],
            queued: vec![false; n],
            waiting: VecDeque::new(),
            touched: Vec::new(),
        }
    }

    fn receive(&mut self, v: usize, amount: f64, threshold: f64) {
        if self.sum[v] == 0.0 && self.rest[v] == 0.0 {
            self.touched.push(v as u32);
        }
        self.rest[v] += amount;
        if self.rest[v] > threshold && !self.queued[v] {
            self.queued[v] = true;
            self.waiting.push_back(v as u32);
        }
    }

    fn clear(&mut self) {
        for v in self.touched.drain(..) {
            self.sum[v as usize] = 0.0;
            self.rest[v as usize] = 0.0;
        }
    }
}

fn lanes(value: impl Fn(usize) -> f64) -> [f64; WIDTH] {
    std::array::from_fn(value)
}

fn dot(a: &Block, b: &Block) -> [f64; WIDTH] {
    let mut sum = [0.0; WIDTH];
    for (a, b) in a.iter().zip(b) {
        for c in 0..WIDTH {
            sum[c] += a[c] * b[c];
        }
    }
    sum
}

/// Largest absolute value of each column; NaN counts as infinite.
fn largest(r: &Block) -> [f64; WIDTH] {
    let mut most = [0.0_f64; WIDTH];
    for r in r {
        for c in 0..WIDTH {
            let size = if r[c].is_nan() {
                f64::INFINITY
            } else {
                r[c].abs()
            };
            most[c] = most[c].max(size);
        }
    }
    most
}

/// Closes the columns whose value is not a number of use: they broke down.
fn stop_at(open: &mut [bool; WIDTH], value: &[f64; WIDTH]) {
    for (open, value) in open.iter_mut().zip(value) {
        *open &= value.is_finite();
    }
}
