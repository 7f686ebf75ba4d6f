//! Sparse symmetric operators, applied to a block of columns at once.

use std::borrow::Cow;
use std::ops::Range;

use super::coarse::{Coarse, Entries};
use super::real::Real;
use super::vectorised;
use crate::{Graph, parallel};

/// A symmetric matrix that is known by what it does to a block of columns.
///
/// Works on a range of rows, so that the caller decides how the work is cut: into
/// threads here, over machines later.
pub trait Operator: Sync {
    /// Number of rows and columns.
    fn n(&self) -> usize;

    /// Writes the rows `rows` of `M x` to `y`, for a block of `W` columns, with sums in the
    /// precision of `y`. `x` holds all `n` rows of the block, `y` only the asked ones. Small
    /// errors of `x` must not be blown up: a row of `M x` is to be as exact as
    /// the differences within `x` allow, since `x` is smooth and `M x` small.
    fn multiply<X: Real, Y: Real + From<X>, const W: usize>(
        &self,
        rows: Range<usize>,
        x: &[[X; W]],
        y: &mut [[Y; W]],
    );

    /// The diagonal of `M`.
    fn diagonal(&self) -> &[f64];

    /// Groups of rows in which a solve is corrected, where they are known.
    fn coarse(&self) -> Option<&Coarse> {
        None
    }
}

/// `diag(d) - B`, where `B` has the sparsity of a graph and one weight an entry.
///
/// One pass over the rows serves all columns. Costs `3 nnz C` operations.
///
/// A row is computed as `e_i x_i + sum_j b_ij (x_i - x_j)` with the excess
/// `e_i = d_i - sum_j b_ij`: for a graph Laplacian plus something small, where
/// `d_i x_i` and `sum_j b_ij x_j` nearly cancel, this keeps all digits even in `f32`.
#[derive(Debug, Clone)]
pub struct Sparse<'a, T: Clone> {
    graph: &'a Graph,
    diagonal: Vec<f64>,
    excess: Vec<f64>,
    weights: Cow<'a, [T]>,
}

impl<'a, T: Copy + Into<f64> + Sync + Send> Sparse<'a, T> {
    /// The operator of the diagonal `d` (`n` values) and of `weights`, one for each entry
    /// of the graph, which must be symmetric as the graph is.
    ///
    /// # Panics
    /// If the lengths do not fit the graph: a mistake of the calling code.
    pub fn new(graph: &'a Graph, diagonal: Vec<f64>, weights: impl Into<Cow<'a, [T]>>) -> Self {
        let weights = weights.into();
        assert_eq!(diagonal.len(), graph.n(), "one diagonal value a node");
        assert_eq!(weights.len(), graph.nnz(), "one weight an entry");
        let excess = parallel::map_rows(diagonal.len(), |i| {
            let row = graph.indptr()[i]..graph.indptr()[i + 1];
            diagonal[i] - weights[row].iter().map(|&w| w.into()).sum::<f64>()
        });
        Self {
            graph,
            diagonal,
            excess,
            weights,
        }
    }

    /// `d_i + sum_j |w_ij| d_j / d_i` of each row, 0 where the diagonal `d` is: by Gershgorin, of the rows and
    /// columns scaled by `d`, no eigenvalue is above the largest.
    pub(crate) fn reach(&self) -> Vec<f64> {
        parallel::map_rows(self.diagonal.len(), |i| {
            let own = self.diagonal[i];
            if own <= 0.0 {
                return 0.0;
            }
            let (columns, _) = self.graph.row(i);
            let row = self.graph.indptr()[i]..self.graph.indptr()[i + 1];
            let pairs = columns.iter().zip(&self.weights[row]);
            let around: f64 = pairs
                .map(|(&j, &w)| w.into().abs() * self.diagonal[j as usize])
                .sum();
            own + around / own
        })
    }

    /// `sum_j |w_ij|` of each row.
    pub(crate) fn beside(&self) -> Vec<f64> {
        parallel::map_rows(self.diagonal.len(), |i| {
            let row = self.graph.indptr()[i]..self.graph.indptr()[i + 1];
            self.weights[row].iter().map(|&w| w.into().abs()).sum()
        })
    }

    /// Adds to one value of the diagonal.
    ///
    /// # Panics
    /// If there is no such row: a mistake of the calling code.
    pub(crate) fn add_to_diagonal(&mut self, i: usize, value: f64) {
        self.diagonal[i] += value;
        self.excess[i] += value;
    }

    /// The parts that it is made of.
    pub(super) fn into_parts(self) -> (&'a Graph, Vec<f64>, Vec<f64>, Cow<'a, [T]>) {
        (self.graph, self.diagonal, self.excess, self.weights)
    }
}

/// `e_i x_i + sum_j b_ij (x_i - x_j)` of some rows of a matrix.
pub(super) fn multiply<T: Copy + Into<f64>, X: Real, Y: Real + From<X>, const W: usize>(
    matrix: &Entries<T>,
    rows: Range<usize>,
    x: &[[X; W]],
    y: &mut [[Y; W]],
) {
    vectorised(
        #[inline(always)]
        || multiply_rows(matrix, rows.clone(), x, y),
    );
}

#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn multiply_rows<T: Copy + Into<f64>, X: Real, Y: Real + From<X>, const W: usize>(
    matrix: &Entries<T>,
    rows: Range<usize>,
    x: &[[X; W]],
    y: &mut [[Y; W]],
) {
    for (i, y) in rows.zip(y) {
        let own: [Y; W] = x[i].map(Y::from);
        let mut sums = [[Y::default(); W]; SUMS];
        let entries = matrix.begins[i]..matrix.begins[i + 1];
        let (columns, last) = matrix.ends[entries.clone()].as_chunks::<SUMS>();
        let (weights, last_weights) = matrix.weights[entries].as_chunks::<SUMS>();
        for (columns, weights) in columns.iter().zip(weights) {
            for ((sum, &j), &w) in sums.iter_mut().zip(columns).zip(weights) {
                add_difference(sum, Y::of(w.into()), &own, &x[j as usize - matrix.first]);
            }
        }
        for ((sum, &j), &w) in sums.iter_mut().zip(last).zip(last_weights) {
            add_difference(sum, Y::of(w.into()), &own, &x[j as usize - matrix.first]);
        }
        let excess = Y::of(matrix.excess[i]);
        for c in 0..W {
            let sum = (sums[0][c] + sums[1][c]) + (sums[2][c] + sums[3][c]);
            y[c] = excess * own[c] + sum;
        }
    }
}

/// Sums of a row that run side by side: one would wait for its last addition each time.
const SUMS: usize = 4;

/// `sum += w (own - other)`.
#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn add_difference<X: Real, Y: Real + From<X>, const W: usize>(
    sum: &mut [Y; W],
    w: Y,
    own: &[Y; W],
    other: &[X; W],
) {
    for c in 0..W {
        sum[c] = sum[c] + w * (own[c] - Y::from(other[c]));
    }
}

impl<T: Copy + Into<f64> + Sync + Send> Operator for Sparse<'_, T> {
    fn n(&self) -> usize {
        self.graph.n()
    }

    fn multiply<X: Real, Y: Real + From<X>, const W: usize>(
        &self,
        rows: Range<usize>,
        x: &[[X; W]],
        y: &mut [[Y; W]],
    ) {
        let matrix = Entries {
            first: 0,
            begins: self.graph.indptr(),
            ends: self.graph.indices(),
            weights: &self.weights,
            excess: &self.excess,
        };
        multiply(&matrix, rows, x, y);
    }

    fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_hand<const W: usize>(operator: &Sparse<f32>) {
        let x: [[f64; W]; 3] =
            std::array::from_fn(|i| std::array::from_fn(|c| (i * 100 + c) as f64));
        let mut y = [[0.0; W]; 3];
        let (head, tail) = y.split_at_mut(1);
        operator.multiply(0..1, &x, head);
        operator.multiply(1..3, &x, tail);
        let mut rounded = [[0.0_f64; W]; 3];
        operator.multiply(0..3, &x.map(|row| row.map(|v| v as f32)), &mut rounded);
        assert_eq!(y, rounded);
        let expected: [[f64; W]; 3] = std::array::from_fn(|i| {
            std::array::from_fn(|c| match i {
                0 => 10.0 * x[0][c] - x[1][c],
                1 => 20.0 * x[1][c] - x[0][c] - 2.0 * x[2][c],
                _ => 30.0 * x[2][c] - 2.0 * x[1][c],
            })
        });
        assert_eq!(y, expected);
    }

    #[test]
    fn multiplies_every_number_of_columns_and_any_range_of_rows() {
        // Path 0-1-2 with weights 1 and 2.
        let graph = Graph::new(
            vec![0, 1, 3, 4],
            vec![1, 0, 2, 1],
            vec![1.0_f32, 1.0, 2.0, 2.0],
        )
        .unwrap();
        let operator = Sparse::new(&graph, vec![10.0, 20.0, 30.0], graph.weights());
        by_hand::<1>(&operator);
        by_hand::<4>(&operator);
        by_hand::<8>(&operator);
        by_hand::<32>(&operator);
    }
}
