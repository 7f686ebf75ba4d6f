//! Sparse symmetric operators, applied to a block of columns at once.

use std::ops::Range;

use ndarray::{Array2, ArrayView2};

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

    /// The diagonal of `M`.
    fn diagonal(&self) -> &[f64];
}

/// `diag(d) - B`, where `B` has the sparsity of a graph and one weight an entry.
///
/// One pass over the rows serves all columns. Costs `2 nnz C` operations.
#[derive(Debug, Clone)]
pub struct Sparse<'a, T> {
    graph: &'a Graph,
    diagonal: Vec<f64>,
    weights: &'a [T],
}

impl<'a, T: Copy + Into<f64> + Sync> Sparse<'a, T> {
    /// The operator of the diagonal `d` (`n` values) and of `weights`, one for each entry
    /// of the graph, which must be symmetric as the graph is.
    ///
    /// # Panics
    /// If the lengths do not fit the graph: a mistake of the calling code.
    pub fn new(graph: &'a Graph, diagonal: Vec<f64>, weights: &'a [T]) -> Self {
        assert_eq!(diagonal.len(), graph.n(), "one diagonal value a node");
        assert_eq!(weights.len(), graph.nnz(), "one weight an entry");
        Self {
            graph,
            diagonal,
            weights,
        }
    }

    /// `G` groups of every row, from group `first`. The sums stay in registers.
    #[inline(always)]
    fn apply_groups<const G: usize>(
        &self,
        rows: Range<usize>,
        x: &[Lanes],
        y: &mut [Lanes],
        groups: usize,
        first: usize,
    ) {
        let indptr = self.graph.indptr();
        for (i, y) in rows.zip(y.chunks_exact_mut(groups)) {
            let entries = indptr[i]..indptr[i + 1];
            let columns = &self.graph.indices()[entries.clone()];
            let mut sum = [[0.0; WIDTH]; G];
            for (&j, &w) in columns.iter().zip(&self.weights[entries]) {
                let w: f64 = w.into();
                let start = j as usize * groups + first;
                let neighbor = &x[start..start + G];
                for (sum, value) in sum.iter_mut().zip(neighbor) {
                    for (s, v) in sum.iter_mut().zip(value.0) {
                        *s += w * v;
                    }
                }
            }
            let d = self.diagonal[i];
            let own = &x[i * groups + first..i * groups + first + G];
            for ((y, x), sum) in y[first..first + G].iter_mut().zip(own).zip(sum) {
                *y = Lanes(std::array::from_fn(|c| d * x.0[c] - sum[c]));
            }
        }
    }
}

impl<T: Copy + Into<f64> + Sync> Operator for Sparse<'_, T> {
    fn n(&self) -> usize {
        self.graph.n()
    }

    fn apply(&self, rows: Range<usize>, x: &[Lanes], y: &mut [Lanes]) {
        let groups = x.len() / self.n().max(1);
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let mut first = 0;
                while first < groups {
                    let rows = rows.clone();
                    match groups - first {
                        1 => self.apply_groups::<1>(rows, x, y, groups, first),
                        2 => self.apply_groups::<2>(rows, x, y, groups, first),
                        3 => self.apply_groups::<3>(rows, x, y, groups, first),
                        _ => self.apply_groups::<4>(rows, x, y, groups, first),
                    }
                    first += 4;
                }
            },
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
        for columns in 1..=21 {
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
