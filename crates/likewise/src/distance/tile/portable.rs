//! The kernels in plain code: what the others are tested against, and what runs on
//! machines without their instructions.

use super::shape::{COLUMNS, Limits, PAIR, QUAD, Quantized, ROWS, SHIFT, Tile};

pub(super) fn f32(
    queries: &[[f32; ROWS]],
    items: &[[f32; COLUMNS]],
    rows: Limits<ROWS>,
    columns: Limits<COLUMNS>,
    tile: &mut Tile,
) -> bool {
    tile.values = [[0.0; COLUMNS]; ROWS];
    for (query, item) in queries.iter().zip(items) {
        for (sums, q) in tile.values.iter_mut().zip(query) {
            for (sum, x) in sums.iter_mut().zip(item) {
                *sum += q * x;
            }
        }
    }
    compare(rows, columns, tile)
}

pub(super) fn i16(
    queries: &[[[i16; PAIR]; ROWS]],
    items: &[[[i16; PAIR]; COLUMNS]],
    rows: Limits<ROWS>,
    columns: Limits<COLUMNS>,
    tile: &mut Tile,
) -> bool {
    for (r, values) in tile.values.iter_mut().enumerate() {
        let mut sums = [0_i32; COLUMNS];
        for (query, item) in queries.iter().zip(items) {
            let query = query[r].map(i32::from);
            for (sum, x) in sums.iter_mut().zip(item) {
                *sum += query[0] * i32::from(x[0]) + query[1] * i32::from(x[1]);
            }
        }
        for (value, sum) in values.iter_mut().zip(sums) {
            *value = sum as f32;
        }
    }
    compare(rows, columns, tile)
}

pub(super) fn i8(
    queries: &[[[u8; QUAD]; ROWS]],
    items: Quantized,
    rows: Limits<ROWS>,
    columns: Limits<COLUMNS>,
    tile: &mut Tile,
) -> bool {
    for (r, values) in tile.values.iter_mut().enumerate() {
        let mut sums = [0_i32; COLUMNS];
        for (query, item) in queries.iter().zip(items.steps) {
            let query = query[r].map(|q| i32::from(q) - SHIFT);
            for (sum, x) in sums.iter_mut().zip(item) {
                for (q, &x) in query.iter().zip(x) {
                    *sum += q * i32::from(x);
                }
            }
        }
        for (value, sum) in values.iter_mut().zip(sums) {
            *value = sum as f32;
        }
    }
    compare(rows, columns, tile)
}

pub(super) fn dots(query: &[f32], rows: &[&[f32]]) -> Vec<f32> {
    let dot = |row: &&[f32]| query.iter().zip(*row).fold(0.0, |sum, (q, x)| sum + q * x);
    rows.iter().map(dot).collect()
}

pub(super) fn squares(query: &[f32], rows: &[&[f32]]) -> Vec<f32> {
    let square = |row: &&[f32]| {
        query
            .iter()
            .zip(*row)
            .fold(0.0, |sum, (q, x)| sum + (q - x) * (q - x))
    };
    rows.iter().map(square).collect()
}

fn compare(rows: Limits<ROWS>, columns: Limits<COLUMNS>, tile: &mut Tile) -> bool {
    let mut any = 0;
    for (r, values) in tile.values.iter().enumerate() {
        let (mut row, mut column) = (0, 0);
        for (c, value) in values.iter().enumerate() {
            row |= u32::from(value + columns.bias[c] > rows.threshold[r]) << c;
            column |= u32::from(value + rows.bias[r] > columns.threshold[c]) << c;
        }
        (tile.rows[r], tile.columns[r]) = (row, column);
        any |= row | column;
    }
    any != 0
}
