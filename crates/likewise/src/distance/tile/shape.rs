//! What goes into a tile and what comes out of it.

/// Queries of a tile.
pub(crate) const ROWS: usize = 12;
/// Items of a tile.
pub(crate) const COLUMNS: usize = 32;
/// Dimensions that one step of the `i8` kernel takes.
pub(crate) const QUAD: usize = 4;
/// Dimensions that one step of the `i16` kernel takes.
pub(crate) const PAIR: usize = 2;
/// What is added to a query's `i8` to make it unsigned.
pub(crate) const SHIFT: i32 = 128;

/// Thresholds of one side of a tile, and what is added to a product where the item of this
/// side is the candidate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits<'a, const N: usize> {
    pub(crate) threshold: &'a [f32; N],
    pub(crate) bias: &'a [f32; N],
}

/// A tile in which something was found.
#[derive(Debug, Clone)]
pub(crate) struct Tile {
    /// The products, without bias.
    pub(crate) values: [[f32; COLUMNS]; ROWS],
    /// Bit `c` of row `r`: product + bias of column `c` exceeds the threshold of row `r`.
    pub(crate) rows: [u32; ROWS],
    /// Bit `c` of row `r`: product + bias of row `r` exceeds the threshold of column `c`.
    pub(crate) columns: [u32; ROWS],
}

impl Tile {
    pub(crate) fn new() -> Self {
        Self {
            values: [[0.0; COLUMNS]; ROWS],
            rows: [0; ROWS],
            columns: [0; ROWS],
        }
    }
}

/// Eight-bit items of a tile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quantized<'a> {
    /// One step of four dimensions after the other.
    pub(crate) steps: &'a [[[i8; QUAD]; COLUMNS]],
    /// `-128` times the sum of each item: takes the shift of the queries out again.
    pub(crate) correction: &'a [i32; COLUMNS],
}

/// The two numbers of a step as one, the first in the lower half.
#[cfg(target_arch = "x86_64")]
pub(super) fn both([low, high]: [i16; PAIR]) -> i32 {
    i32::from(high) << 16 | i32::from(low.cast_unsigned())
}
