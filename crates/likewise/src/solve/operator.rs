//! Sparse symmetric operators, applied to a block of columns at once.

use std::borrow::Cow;
use std::ops::{Add, Mul, Range, Sub};

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::vectorised;
use crate::Graph;

/// Columns of a group: 32 bytes, so that no group straddles a cache line.
pub(crate) const WIDTH: usize = 4;

/// A group of four columns of one row.
///
/// A block of `n x C` is stored row after row, each row as `ceil(C / 4)` groups, the
/// last one filled up with zeros.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(align(32))]
pub struct Lanes(pub [f64; WIDTH]);

impl Lanes {
    /// Groups in a row of `columns` columns.
    pub fn groups(columns: usize) -> usize {
        columns.div_ceil(WIDTH)
    }

    /// A block from a matrix.
    pub fn from_matrix(x: ArrayView2<f64>) -> Vec<Self> {
        let mut block = Vec::with_capacity(x.nrows() * Self::groups(x.ncols()));
        for row in x.rows() {
            let mut values = row.iter().copied();
            for _ in 0..Self::groups(x.ncols()) {
                block.push(Self(std::array::from_fn(|_| values.next().unwrap_or(0.0))));
            }
        }
        block
    }

    #[inline]
    fn add(&mut self, factor: f64, other: &Self) {
        for (sum, value) in self.0.iter_mut().zip(other.0) {
            *sum += factor * value;
        }
    }

    /// The matrix (`n x columns`) of a block.
    pub fn to_matrix(block: &[Self], n: usize, columns: usize) -> Array2<f64> {
        let groups = Self::groups(columns);
        Array2::from_shape_fn((n, columns), |(i, c)| {
            block[i * groups + c / WIDTH].0[c % WIDTH]
        })
    }
}

/// A symmetric matrix that is known by what it does to a block of columns.
///
/// Works on a range of rows, so that the caller decides how the work is cut: into
/// threads here, over machines later.
pub trait Operator: Sync {
    /// Number of rows and columns.
    fn n(&self) -> usize;

    /// Writes the rows `rows` of `M x` to `y`. `x` holds all `n` rows of the block,
    /// `y` only the asked ones.
    fn apply(&self, rows: Range<usize>, x: &[Lanes], y: &mut [Lanes]);

    /// As [`apply`](Self::apply) for a block of `W` columns, with sums in the precision of
    /// `y`. Small errors of `x` must not be blown up: a row of `M x` is to be as exact as
    /// the differences within `x` allow, since `x` is smooth and `M x` small.
    fn multiply<X: Real, Y: Real + From<X>, const W: usize>(
        &self,
        rows: Range<usize>,
        x: &[[X; W]],
        y: &mut [[Y; W]],
    );

    /// The diagonal of `M`.
    fn diagonal(&self) -> &[f64];
}

/// `f32` or `f64`.
pub trait Real:
    Copy
    + Default
    + Send
    + Sync
    + Into<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
{
    /// The nearest number of this type.
    fn of(value: f64) -> Self;
}

impl Real for f32 {
    #[inline]
    fn of(value: f64) -> Self {
        value as f32
    }
}

impl Real for f64 {
    #[inline]
    fn of(value: f64) -> Self {
        value
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
        let excess = (diagonal.par_iter().enumerate())
            .map(|(i, d)| {
                let row = graph.indptr()[i]..graph.indptr()[i + 1];
                d - weights[row].iter().map(|&w| w.into()).sum::<f64>()
            })
            .collect();
        Self {
            graph,
            diagonal,
            excess,
            weights,
        }
    }

    /// The excess `e = M 1`, of each row.
    pub(crate) fn excess(&self) -> &[f64] {
        &self.excess
    }

    /// Adds to one value of the diagonal.
    ///
    /// # Panics
    /// If there is no such row: a mistake of the calling code.
    pub(crate) fn add_to_diagonal(&mut self, i: usize, value: f64) {
        self.diagonal[i] += value;
        self.excess[i] += value;
    }

    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn multiply_rows<X: Real, Y: Real + From<X>, const W: usize>(
        &self,
        rows: Range<usize>,
        x: &[[X; W]],
        y: &mut [[Y; W]],
    ) {
        for (i, y) in rows.zip(y) {
            let own: [Y; W] = x[i].map(Y::from);
            let mut sums = [[Y::default(); W]; SUMS];
            let entries = self.graph.indptr()[i]..self.graph.indptr()[i + 1];
            let (columns, last) = self.graph.indices()[entries.clone()].as_chunks::<SUMS>();
            let (weights, last_weights) = self.weights[entries].as_chunks::<SUMS>();
            for (columns, weights) in columns.iter().zip(weights) {
                for ((sum, &j), &w) in sums.iter_mut().zip(columns).zip(weights) {
                    add_difference(sum, Y::of(w.into()), &own, &x[j as usize]);
                }
            }
            for ((sum, &j), &w) in sums.iter_mut().zip(last).zip(last_weights) {
                add_difference(sum, Y::of(w.into()), &own, &x[j as usize]);
            }
            let excess = Y::of(self.excess[i]);
            for c in 0..W {
                let sum = (sums[0][c] + sums[1][c]) + (sums[2][c] + sums[3][c]);
                y[c] = excess * own[c] + sum;
            }
        }
    }

    /// Rows of exactly `G` groups: the sums stay in registers.
    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn apply_narrow<const G: usize>(&self, rows: Range<usize>, x: &[Lanes], y: &mut [Lanes]) {
        let (x, _) = x.as_chunks::<G>();
        let (y, _) = y.as_chunks_mut::<G>();
        for (i, y) in rows.zip(y) {
            let mut sum = [Lanes::default(); G];
            for (j, w) in self.row(i) {
                for (sum, x) in sum.iter_mut().zip(&x[j]) {
                    sum.add(w, x);
                }
            }
            for ((y, x), sum) in y.iter_mut().zip(&x[i]).zip(sum) {
                *y = Lanes(std::array::from_fn(|c| {
                    self.diagonal[i] * x.0[c] - sum.0[c]
                }));
            }
        }
    }

    /// Rows of any number of groups: each neighbour is read once and whole, in a stream.
    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn apply_wide(&self, groups: usize, rows: Range<usize>, x: &[Lanes], y: &mut [Lanes]) {
        for (i, y) in rows.zip(y.chunks_exact_mut(groups)) {
            y.fill(Lanes::default());
            for (j, w) in self.row(i) {
                for (y, x) in y.iter_mut().zip(&x[j * groups..(j + 1) * groups]) {
                    y.add(w, x);
                }
            }
            for (y, x) in y.iter_mut().zip(&x[i * groups..]) {
                *y = Lanes(std::array::from_fn(|c| self.diagonal[i] * x.0[c] - y.0[c]));
            }
        }
    }

    /// Columns and weights of the entries of row `i`.
    #[inline]
    fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let entries = self.graph.indptr()[i]..self.graph.indptr()[i + 1];
        let columns = self.graph.indices()[entries.clone()].iter();
        (columns.zip(&self.weights[entries])).map(|(&j, &w)| (j as usize, w.into()))
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

    fn apply(&self, rows: Range<usize>, x: &[Lanes], y: &mut [Lanes]) {
        let groups = x.len() / self.n().max(1);
        vectorised(
            #[inline(always)]
            || match groups {
                0 => (),
                1 => self.apply_narrow::<1>(rows.clone(), x, y),
                2 => self.apply_narrow::<2>(rows.clone(), x, y),
                3 => self.apply_narrow::<3>(rows.clone(), x, y),
                4 => self.apply_narrow::<4>(rows.clone(), x, y),
                5 => self.apply_narrow::<5>(rows.clone(), x, y),
                6 => self.apply_narrow::<6>(rows.clone(), x, y),
                7 => self.apply_narrow::<7>(rows.clone(), x, y),
                8 => self.apply_narrow::<8>(rows.clone(), x, y),
                _ => self.apply_wide(groups, rows.clone(), x, y),
            },
        );
    }

    fn multiply<X: Real, Y: Real + From<X>, const W: usize>(
        &self,
        rows: Range<usize>,
        x: &[[X; W]],
        y: &mut [[Y; W]],
    ) {
        vectorised(
            #[inline(always)]
            || self.multiply_rows(rows.clone(), x, y),
        );
    }

    fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applies_every_number_of_columns_and_any_range_of_rows() {
        // Path 0-1-2 with weights 1 and 2.
        let graph = Graph::new(
            vec![0, 1, 3, 4],
            vec![1, 0, 2, 1],
            vec![1.0_f32, 1.0, 2.0, 2.0],
        )
        .unwrap();
        let operator = Sparse::new(&graph, vec![10.0, 20.0, 30.0], graph.weights());
        for columns in 1..=40 {
            let x = Array2::from_shape_fn((3, columns), |(i, c)| (i * 100 + c) as f64);
            let expected = Array2::from_shape_fn((3, columns), |(i, c)| match i {
                0 => 10.0 * x[[0, c]] - x[[1, c]],
                1 => 20.0 * x[[1, c]] - x[[0, c]] - 2.0 * x[[2, c]],
                _ => 30.0 * x[[2, c]] - 2.0 * x[[1, c]],
            });
            let block = Lanes::from_matrix(x.view());
            assert_eq!(Lanes::to_matrix(&block, 3, columns), x);
            let groups = Lanes::groups(columns);
            let mut y = vec![Lanes::default(); 3 * groups];
            let (head, tail) = y.split_at_mut(groups);
            operator.apply(0..1, &block, head);
            operator.apply(1..3, &block, tail);
            assert_eq!(Lanes::to_matrix(&y, 3, columns), expected);
        }
    }
}
