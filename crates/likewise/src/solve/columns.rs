//! Blocks of a few columns, row after row, and sums over them whose order is fixed.
//!
//! Sums run over chunks of [`ROWS`] rows and are added in the order of the chunks, so that
//! a result has the same bits for any number of threads.

use std::ops::Range;

use super::real::Real;
use super::vectorised;
use crate::parallel;

/// Rows of a chunk. Fixed: the order of all sums follows from it.
pub(crate) const ROWS: usize = 512;

/// Bytes that blocks are aligned to.
const LINE: usize = 64;

/// Columns carried together: 128 bytes of `f32`, two cache lines. Half of it was slower by a
/// tenth.
pub(crate) const WIDTH: usize = 32;

/// Columns of the block that holds `columns` of them.
pub(crate) fn width(columns: usize) -> usize {
    match columns {
        0 | 1 => 1,
        2..=4 => 4,
        5..=8 => 8,
        9..=16 => 16,
        _ => WIDTH,
    }
}

/// Numbers that a [`block`] of `n` rows is cut from.
pub(crate) fn room(n: usize, width: usize) -> usize {
    n * width + LINE
}

/// `n` rows of `W` columns that begin at a cache line, of zeros.
pub(crate) fn block<T: Real, const W: usize>(space: &mut [T], n: usize) -> &mut [[T; W]] {
    let skip = space.as_ptr().align_offset(LINE).min(LINE);
    let rows = &mut space[skip..].as_chunks_mut::<W>().0[..n];
    parallel::each(rows.chunks_mut(ROWS), |rows| rows.fill([T::default(); W]));
    rows
}

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
