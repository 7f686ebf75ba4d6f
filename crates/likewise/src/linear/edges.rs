//! Sums over weighted pairs of rows, in an order that no number of threads changes.
//!
//! ```text
//! G = sum_il a_il (x_i - x_l)(x_i - x_l)^T = A' + A'^T
//! A' = X^T (S X / 2 - A X)                   S: diagonal of the sums of rows and columns of A
//! ```
//!
//! Rows are cut into parts, each one task; a part holds its rows of `A X` and its share of `S`.
//! Memory O(n d + parts x n).

use std::ops::Range;

use faer::{Accum, MatMut, MatRef};
use ndarray::Array2;

use crate::matmul::matmul;
use crate::solve::vectorised;
use crate::{Result, parallel};

/// Tasks that the rows are cut into, whatever the number of threads.
pub(super) const PARTS: usize = 32;
/// Columns of the scatter that one task computes.
const COLUMNS: usize = 64;

/// What one task adds up.
pub(super) struct Part<'a> {
    x: &'a [f64],
    d: usize,
    from: usize,
    /// `S`, as far as it comes from this part.
    sums: Vec<f64>,
    /// `A X` of the rows of this part.
    mixed: Vec<f64>,
    /// Of the objective.
    pub(super) value: f64,
}

impl Part<'_> {
    /// Adds `a` to the weight of the pair of a row `i` of this part and any row `l`.
    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    pub(super) fn add(&mut self, i: usize, l: usize, a: f64) {
        self.sums[i] += a;
        self.sums[l] += a;
        let d = self.d;
        let own = (i - self.from) * d;
        let to = &mut self.mixed[own..own + d];
        for (to, x) in to.iter_mut().zip(&self.x[l * d..][..d]) {
            *to += a * x;
        }
    }

    /// Adds the weights of all pairs of some rows: `n` for each of `rows`.
    pub(super) fn add_all(&mut self, rows: Range<usize>, a: &[f64]) {
        let (n, d) = (self.sums.len(), self.d);
        vectorised(|| {
            for (i, row) in rows.clone().zip(a.chunks_exact(n)) {
                self.sums[i] += sum(row);
                for (sum, a) in self.sums.iter_mut().zip(row) {
                    *sum += a;
                }
            }
        });
        let own = (rows.start - self.from) * d;
        let to = &mut self.mixed[own..own + rows.len() * d];
        let to = MatMut::from_row_major_slice_mut(to, rows.len(), d);
        let a = MatRef::from_row_major_slice(a, rows.len(), n);
        let x = MatRef::from_row_major_slice(self.x, n, d);
        matmul(to, Accum::Add, a, x, 1.0);
    }
}

/// The sum, in lanes that add up in a fixed order.
#[inline(always)]
pub(super) fn sum(row: &[f64]) -> f64 {
    const LANES: usize = 16;
    let mut lanes = [0.0; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (sum, value) in lanes.iter_mut().zip(chunk) {
            *sum += value;
        }
    }
    lanes.iter().chain(rest).sum()
}

/// The rows of each part.
pub(super) fn parts(n: usize) -> Vec<Range<usize>> {
    let each = n.div_ceil(PARTS).max(1);
    let begins = (0..n).step_by(each);
    begins.map(|from| from..(from + each).min(n)).collect()
}

/// The value and `G` that all parts add up to, `each` being called with the rows of one.
pub(super) fn gather(
    x: &Array2<f64>,
    each: impl Fn(Range<usize>, &mut Part) -> Result<()> + Sync,
) -> Result<(f64, Array2<f64>)> {
    let (n, d) = x.dim();
    let flat = x.as_slice().unwrap_or_default();
    let parts: Vec<Part> = parallel::try_map(parts(n).into_iter(), |rows| {
        let mut part = Part {
            x: flat,
            d,
            from: rows.start,
            sums: vec![0.0; n],
            mixed: vec![0.0; rows.len() * d],
            value: 0.0,
        };
        each(rows, &mut part)?;
        Ok(part)
    })?;
    let value = parts.iter().map(|part| part.value).sum();
    let mut sums = vec![0.0; n];
    for part in &parts {
        for (sum, own) in sums.iter_mut().zip(&part.sums) {
            *sum += own;
        }
    }
    let mut half = Vec::with_capacity(n * d);
    for part in parts {
        half.extend(part.mixed);
    }
    let rows = half.chunks_exact_mut(d).zip(flat.chunks_exact(d));
    for ((half, x), sum) in rows.zip(&sums) {
        for (half, x) in half.iter_mut().zip(x) {
            *half = 0.5 * sum * x - *half;
        }
    }
    let half = transposed_product(flat, &half, n, d);
    Ok((value, &half + &half.t()))
}

/// `X^T H` of two matrices of `n` rows and `d` columns, a panel of columns a task.
fn transposed_product(x: &[f64], h: &[f64], n: usize, d: usize) -> Array2<f64> {
    // The transpose, whose rows are panels of memory.
    let mut out = Array2::<f64>::zeros((d, d));
    let x = MatRef::from_row_major_slice(x, n, d);
    let h = MatRef::from_row_major_slice(h, n, d);
    if let Some(out) = out.as_slice_mut() {
        parallel::each(out.chunks_mut(COLUMNS * d).enumerate(), |(p, panel)| {
            let width = panel.len() / d;
            let left = h.subcols(p * COLUMNS, width).transpose();
            let panel = MatMut::from_row_major_slice_mut(panel, width, d);
            matmul(panel, Accum::Replace, left, x, 1.0);
        });
    }
    out.reversed_axes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed;
    use rand::RngExt;

    #[test]
    fn the_sum_is_that_of_outer_products() {
        let mut rng = seed::stream(1, "edges");
        for (n, d) in [(7, 3), (90, 70)] {
            let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0..1.0));
            let a = Array2::from_shape_fn((n, n), |_| rng.random_range(-1.0..1.0_f64));
            let mut naive = Array2::<f64>::zeros((d, d));
            for ((i, l), a) in a.indexed_iter() {
                let e = &x.row(i) - &x.row(l);
                for ((r, c), v) in naive.indexed_iter_mut() {
                    *v += a * e[r] * e[c];
                }
            }
            let single = gather(&x, |rows, part| {
                for i in rows {
                    (0..n).for_each(|l| part.add(i, l, a[(i, l)]));
                    part.value += 1.0;
                }
                Ok(())
            });
            let blocks = gather(&x, |rows, part| {
                let weights: Vec<f64> = rows.clone().flat_map(|i| a.row(i).to_vec()).collect();
                part.add_all(rows, &weights);
                Ok(())
            });
            let (count, single) = single.unwrap();
            assert!((count - n as f64).abs() < 1e-12);
            for found in [single, blocks.unwrap().1] {
                assert!((&found - &naive).iter().all(|e| e.abs() < 1e-9 * n as f64));
            }
        }
    }
}
