//! Blocks of a few columns, row after row, and sums over them whose order is fixed.
//!
//! Sums run over chunks of [`ROWS`] rows and are added in the order of the chunks, so that
//! a result has the same bits for any number of threads.

use std::ops::Range;

use super::operator::Real;
use super::vectorised;
use crate::parallel;

/// Rows of a chunk. Fixed: the order of all sums follows from it.
pub(super) const ROWS: usize = 512;

/// One value a column.
pub(super) type Row<const W: usize> = [f64; W];

/// The rows of a chunk of `rows` rows.
pub(super) fn chunk_rows(chunk: usize, rows: usize) -> Range<usize> {
    chunk * ROWS..chunk * ROWS + rows
}

/// `a . b` of each column.
pub(super) fn dot<T: Real, const W: usize>(a: &[[T; W]], b: &[[T; W]]) -> Row<W> {
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

/// The sum of what the chunks give, in their order.
pub(super) fn in_order<const W: usize>(parts: &[Row<W>]) -> Row<W> {
    (parts.iter()).fold([0.0; W], |sum, part| {
        std::array::from_fn(|c| sum[c] + part[c])
    })
}

/// The squared length of each column.
pub(super) fn squares<T: Real, const W: usize>(rows: &[[T; W]]) -> Row<W> {
    in_order(&parallel::map(rows.chunks(ROWS), |rows| dot(rows, rows)))
}
