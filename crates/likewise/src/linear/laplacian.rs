//! Sums over the links of rows: `sum w (x_a - x_b)^T (x_a - x_b)`, of many links on few rows.
//!
//! ```text
//! sum over links of w (x_a - x_b)^T (x_a - x_b) = X^T (D - W) X
//! ```
//!
//! with the weights `W` of the links between the rows, and `D` their sums by row. The right side
//! costs O(links d + n d^2) where the left one costs O(links d^2). Row `a` of `(D - W) X` is
//! summed as `sum_b w (x_a - x_b)`, so that a large common part of all rows costs no digits.

use ndarray::{Array2, ArrayView2, Axis};

use super::spd::{add_cross, symmetrize};
use crate::parallel;

/// Rows at a time, and rows of one task within these.
const ROWS: usize = 2048;
const TASK: usize = 64;
/// Links of a row that are added in one pass over its sums: half of the time is to fetch and to store these.
const TOGETHER: usize = 4;

/// Which rows are linked, from either side.
#[derive(Debug, Clone)]
pub(crate) struct Laplacian {
    starts: Vec<usize>,
    /// The row at the other end, and the number of the link.
    arcs: Vec<(u32, u32)>,
}

impl Laplacian {
    /// Of the links between `n` rows, each given by its two ends; they are numbered in order.
    pub(crate) fn of(n: usize, links: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0; n + 1];
        for (a, b) in links.clone() {
            starts[a as usize + 1] += 1;
            starts[b as usize + 1] += 1;
        }
        for i in 0..n {
            starts[i + 1] += starts[i];
        }
        let (mut next, mut arcs) = (starts.clone(), vec![(0, 0); starts[n]]);
        for (number, (a, b)) in links.enumerate() {
            for (own, other) in [(a, b), (b, a)] {
                arcs[next[own as usize]] = (other, number as u32);
                next[own as usize] += 1;
            }
        }
        Self { starts, arcs }
    }

    /// `(D - W) X`, where link `e` weighs `weights[e]`.
    pub(crate) fn times<T: Copy + Into<f64> + Sync>(
        &self,
        x: ArrayView2<T>,
        weights: &[f64],
    ) -> Array2<f64> {
        self.rows(x, weights, 0, x.nrows())
    }

    /// `X^T (D - W) X`, where link `e` weighs `weights[e]`.
    pub(crate) fn scatter<T: Copy + Into<f64> + Sync>(
        &self,
        x: ArrayView2<T>,
        weights: &[f64],
    ) -> Array2<f64> {
        let (n, d) = x.dim();
        let mut sum = Array2::zeros((d, d));
        for from in (0..n).step_by(ROWS) {
            let to = (from + ROWS).min(n);
            let own = x.slice_axis(Axis(0), (from..to).into());
            let own = own.mapv(Into::into);
            add_cross(&mut sum, own.view(), self.rows(x, weights, from, to).view());
        }
        symmetrize(&mut sum);
        sum
    }

    /// Rows `from..to` of `(D - W) X`.
    fn rows<T: Copy + Into<f64> + Sync>(
        &self,
        x: ArrayView2<T>,
        weights: &[f64],
        from: usize,
        to: usize,
    ) -> Array2<f64> {
        let mut out = Array2::zeros((to - from, x.ncols()));
        // Rows in one piece add up some numbers at a time.
        let x = x.as_standard_layout();
        let x = x.as_slice().unwrap_or_default();
        let d = out.ncols();
        let row_of = |i: usize| &x[i * d..(i + 1) * d];
        let tasks = out.axis_chunks_iter_mut(Axis(0), TASK).enumerate();
        parallel::each(tasks, |(task, mut rows)| {
            for (place, mut row) in rows.rows_mut().into_iter().enumerate() {
                let own = from + task * TASK + place;
                let sums = row.as_slice_mut().unwrap_or_default();
                // What stands at the end adds nothing.
                let (mut together, mut held) = ([(0.0, row_of(own)); TOGETHER], 0);
                for &(other, link) in &self.arcs[self.starts[own]..self.starts[own + 1]] {
                    let weight = weights[link as usize];
                    if weight == 0.0 {
                        continue;
                    }
                    together[held] = (weight, row_of(other as usize));
                    held += 1;
                    if held == TOGETHER {
                        add(sums, row_of(own), &together);
                        held = 0;
                    }
                }
                if held > 0 {
                    together[held..].fill((0.0, row_of(own)));
                    add(sums, row_of(own), &together);
                }
            }
        });
        out
    }
}

/// Adds `w (a - b)` of each `(w, b)`, one after the other, to the sums.
fn add<T: Copy + Into<f64>>(sums: &mut [f64], a: &[T], linked: &[(f64, &[T]); TOGETHER]) {
    let d = sums.len();
    // Of the same length as the sums, so that no place is checked.
    let (a, linked) = (&a[..d], linked.map(|(weight, b)| (weight, &b[..d])));
    for (i, sum) in sums.iter_mut().enumerate() {
        let own = a[i].into();
        *sum = (linked.iter()).fold(*sum, |sum, (weight, b)| sum + weight * (own - b[i].into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed;
    use proptest::prelude::*;
    use rand::RngExt;

    proptest! {
        #[test]
        fn is_the_sum_over_links(
            n in 2_usize..12, d in 1_usize..5, count in 0_usize..40, number in any::<u64>(),
        ) {
            let mut rng = seed::stream(number, "laplacian");
            // A large common part must not cost digits.
            let x = Array2::from_shape_fn((n, d), |_| 1e5 + rng.random_range(-1.0..1.0));
            let links: Vec<(u32, u32)> = (0..count)
                .map(|_| {
                    let a = rng.random_range(0..n);
                    let b = (a + rng.random_range(1..n)) % n;
                    (a as u32, b as u32)
                })
                .collect();
            let weights: Vec<f64> = links.iter().map(|_| rng.random_range(-1.0..1.0)).collect();
            let laplacian = Laplacian::of(n, links.iter().copied());
            let mut sum = Array2::<f64>::zeros((d, d));
            let mut rows = Array2::<f64>::zeros((n, d));
            for (&(a, b), w) in links.iter().zip(&weights) {
                let delta = &x.row(a as usize) - &x.row(b as usize);
                for ((i, j), sum) in sum.indexed_iter_mut() {
                    *sum += w * delta[i] * delta[j];
                }
                rows.row_mut(a as usize).scaled_add(*w, &delta);
                rows.row_mut(b as usize).scaled_add(-*w, &delta);
            }
            let found = laplacian.scatter(x.view(), &weights);
            prop_assert!((found - sum).iter().all(|e| e.abs() < 1e-8));
            let found = laplacian.times(x.view(), &weights);
            prop_assert!((found - rows).iter().all(|e| e.abs() < 1e-10));
        }
    }
}
