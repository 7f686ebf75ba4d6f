//! Rows packed for the tile kernels, and the loops over tiles.
//!
//! A panel is 12 queries or 32 items, stored dimension by dimension. The loops compare
//! blocks of panels that fit the second-level cache. [`self_join`] compares each pair of
//! items once and uses the product for both.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::candidate::Lists;
use crate::distance::tile::{COLUMNS, Kernel, Limits, PAIR, QUAD, Quantized, ROWS, SHIFT, Tile};
use crate::{Monitor, Result, parallel};

/// Rows are padded to a multiple of this: whole panels of both kinds.
pub(super) const PADDING: usize = 96;
/// Panels that one task packs.
const PANELS: usize = 16;
/// Stands for a row that is padding.
pub(super) const NOBODY: u32 = u32::MAX;

/// What the list of a query holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Keep<'a> {
    /// The best so many.
    Best(usize),
    /// The best `k` and all that lie within the window of their query below the last of
    /// them: see [`Lists::within`].
    Within {
        k: usize,
        spare: usize,
        window: &'a [f32],
    },
}

/// Products of packed queries and items.
pub(super) trait Products: Sync {
    /// One tile: see [`Kernel::f32`].
    fn tile(
        &self,
        kernel: Kernel,
        panels: (usize, usize),
        rows: Limits<ROWS>,
        columns: Limits<COLUMNS>,
        tile: &mut Tile,
    ) -> bool;
}

/// Who the rows are, and what is added to a product where the row is the candidate.
#[derive(Debug, Clone)]
pub(super) struct Side {
    pub(super) ids: Vec<u32>,
    pub(super) bias: Vec<f32>,
    pub(super) n: usize,
}

impl Side {
    /// `bias` may be empty, for none.
    pub(super) fn new(mut ids: Vec<u32>, mut bias: Vec<f32>) -> Self {
        let n = ids.len();
        let padded = n.next_multiple_of(PADDING);
        ids.resize(padded, NOBODY);
        bias.resize(padded, 0.0);
        Self { ids, bias, n }
    }

    /// Rows and padding.
    pub(super) fn padded(&self) -> usize {
        self.ids.len()
    }
}

/// Queries in `f32`, 12 a panel.
pub(super) struct Queries {
    values: Vec<[f32; ROWS]>,
    dimension: usize,
}

/// Items in `f32`, 32 a panel.
pub(super) struct Items {
    values: Vec<[f32; COLUMNS]>,
}

/// Calls `work(first panel, panels)` for some panels of `steps` values each at a time.
fn each_panel<T: Send>(values: &mut [T], steps: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    let some = values.chunks_mut(PANELS * steps.max(1)).enumerate();
    parallel::each(some, |(chunk, panels)| work(chunk * PANELS, panels));
}

/// Packs rows `n x d`, `LANES` a panel; `write(i, row)` gives row `i`.
fn pack<const LANES: usize>(
    n: usize,
    d: usize,
    write: impl Fn(usize, &mut [f32]) + Sync,
) -> Vec<[f32; LANES]> {
    let panels = n.next_multiple_of(PADDING) / LANES;
    let mut packed = vec![[0.0; LANES]; panels * d];
    each_panel(&mut packed, d, |first, panels| {
        let mut row = vec![0.0; d];
        for (panel, packed) in (first..).zip(panels.chunks_mut(d.max(1))) {
            for lane in 0..LANES {
                let i = panel * LANES + lane;
                if i < n {
                    write(i, &mut row);
                    for (values, &v) in packed.iter_mut().zip(&row) {
                        values[lane] = v;
                    }
                }
            }
        }
    });
    packed
}

impl Queries {
    pub(super) fn pack(n: usize, d: usize, write: impl Fn(usize, &mut [f32]) + Sync) -> Self {
        Self {
            values: pack(n, d, write),
            dimension: d,
        }
    }
}

impl Items {
    pub(super) fn pack(n: usize, d: usize, write: impl Fn(usize, &mut [f32]) + Sync) -> Self {
        Self {
            values: pack(n, d, write),
        }
    }
}

impl Products for (&Queries, &Items) {
    fn tile(
        &self,
        kernel: Kernel,
        (q, p): (usize, usize),
        rows: Limits<ROWS>,
        columns: Limits<COLUMNS>,
        tile: &mut Tile,
    ) -> bool {
        let d = self.0.dimension;
        let queries = &self.0.values[q * d..(q + 1) * d];
        let items = &self.1.values[p * d..(p + 1) * d];
        kernel.f32(queries, items, rows, columns, tile)
    }
}

/// Queries in sixteen bits.
pub(super) struct Queries16 {
    values: Vec<[[i16; PAIR]; ROWS]>,
    steps: usize,
}

/// Items in sixteen bits.
pub(super) struct Items16 {
    values: Vec<[[i16; PAIR]; COLUMNS]>,
}

/// As [`pack`], two dimensions a step.
fn pack16<const LANES: usize>(
    n: usize,
    d: usize,
    write: impl Fn(usize, &mut [i16]) + Sync,
) -> Vec<[[i16; PAIR]; LANES]> {
    let (panels, steps) = (n.next_multiple_of(PADDING) / LANES, d.div_ceil(PAIR));
    let mut packed = vec![[[0; PAIR]; LANES]; panels * steps];
    each_panel(&mut packed, steps, |first, panels| {
        let mut row = vec![0; d];
        for (panel, packed) in (first..).zip(panels.chunks_mut(steps.max(1))) {
            for lane in 0..LANES {
                let i = panel * LANES + lane;
                if i < n {
                    write(i, &mut row);
                    for (values, pair) in packed.iter_mut().zip(row.chunks(PAIR)) {
                        values[lane][..pair.len()].copy_from_slice(pair);
                    }
                }
            }
        }
    });
    packed
}

impl Queries16 {
    pub(super) fn pack(n: usize, d: usize, write: impl Fn(usize, &mut [i16]) + Sync) -> Self {
        Self {
            values: pack16(n, d, write),
            steps: d.div_ceil(PAIR),
        }
    }
}

impl Items16 {
    pub(super) fn pack(n: usize, d: usize, write: impl Fn(usize, &mut [i16]) + Sync) -> Self {
        Self {
            values: pack16(n, d, write),
        }
    }
}

impl Products for (&Queries16, &Items16) {
    fn tile(
        &self,
        kernel: Kernel,
        (q, p): (usize, usize),
        rows: Limits<ROWS>,
        columns: Limits<COLUMNS>,
        tile: &mut Tile,
    ) -> bool {
        let steps = self.0.steps;
        let queries = &self.0.values[q * steps..(q + 1) * steps];
        let items = &self.1.values[p * steps..(p + 1) * steps];
        kernel.i16(queries, items, rows, columns, tile)
    }
}

/// Queries in eight bits.
pub(super) struct Queries8 {
    values: Vec<[[u8; QUAD]; ROWS]>,
    steps: usize,
}

/// Items in eight bits.
pub(super) struct Items8 {
    values: Vec<[[i8; QUAD]; COLUMNS]>,
    correction: Vec<[i32; COLUMNS]>,
    steps: usize,
}

impl Queries8 {
    /// Rows of `d` values each, one after the other.
    pub(super) fn pack(rows: &[i8], d: usize) -> Self {
        let (n, steps) = (rows.len() / d.max(1), d.div_ceil(QUAD));
        let mut packed = Self::padding(n, steps);
        each_panel(&mut packed.values, steps, |first, panels| {
            for (panel, values) in (first..).zip(panels.chunks_mut(steps.max(1))) {
                let rows = rows.chunks(d.max(1)).skip(panel * ROWS).take(ROWS);
                for (lane, row) in rows.enumerate() {
                    for (to, from) in values.iter_mut().zip(row.chunks(QUAD)) {
                        for (to, &v) in to[lane].iter_mut().zip(from) {
                            *to = (i32::from(v) + SHIFT) as u8;
                        }
                    }
                }
            }
        });
        packed
    }

    /// Items at these places as queries.
    pub(super) fn gather(items: &Items8, places: &[usize]) -> Self {
        let mut packed = Self::padding(places.len(), items.steps);
        for (i, &place) in places.iter().enumerate() {
            for step in 0..items.steps {
                let from = items.values[place / COLUMNS * items.steps + step][place % COLUMNS];
                // Turning the highest bit of a byte adds 128.
                packed.values[i / ROWS * packed.steps + step][i % ROWS] =
                    from.map(|v| v as u8 ^ SHIFT as u8);
            }
        }
        packed
    }

    fn padding(n: usize, steps: usize) -> Self {
        let panels = n.next_multiple_of(PADDING) / ROWS;
        Self {
            values: vec![[[SHIFT as u8; QUAD]; ROWS]; panels * steps],
            steps,
        }
    }
}

impl Items8 {
    /// Rows of `d` values each, one after the other.
    pub(super) fn pack(rows: &[i8], d: usize) -> Self {
        let n = rows.len() / d.max(1);
        let row = |i: usize| (i < n).then(|| &rows[i * d..(i + 1) * d]);
        Self::pack_with(n.next_multiple_of(PADDING), d, row)
    }

    /// `row(place)` for every place, of which there are whole panels; `None` is padding.
    pub(super) fn pack_with<'a>(
        places: usize,
        d: usize,
        row: impl Fn(usize) -> Option<&'a [i8]> + Sync,
    ) -> Self {
        let (panels, steps) = (places / COLUMNS, d.div_ceil(QUAD));
        let mut values = vec![[[0; QUAD]; COLUMNS]; panels * steps];
        let mut correction = vec![[0; COLUMNS]; panels];
        let some = values.chunks_mut(PANELS * steps.max(1));
        let some = some.zip(correction.chunks_mut(PANELS)).enumerate();
        parallel::each(some, |(chunk, (values, corrections))| {
            let panels = values.chunks_mut(steps.max(1)).zip(corrections);
            for (panel, (values, correction)) in (chunk * PANELS..).zip(panels) {
                for (lane, correction) in correction.iter_mut().enumerate() {
                    let Some(row) = row(panel * COLUMNS + lane) else {
                        continue;
                    };
                    for (to, from) in values.iter_mut().zip(row.chunks(QUAD)) {
                        to[lane][..from.len()].copy_from_slice(from);
                    }
                    // Modulo 2^32, as the sums of the kernel: only the whole need be in range.
                    let sum = row.iter().map(|&v| i64::from(v)).sum::<i64>();
                    *correction = (-i64::from(SHIFT) * sum) as i32;
                }
            }
        });
        Self {
            values,
            correction,
            steps,
        }
    }
}

impl Products for (&Queries8, &Items8) {
    fn tile(
        &self,
        kernel: Kernel,
        (q, p): (usize, usize),
        rows: Limits<ROWS>,
        columns: Limits<COLUMNS>,
        tile: &mut Tile,
    ) -> bool {
        let steps = self.0.steps;
        let queries = &self.0.values[q * steps..(q + 1) * steps];
        let items = Quantized {
            steps: &self.1.values[p * steps..(p + 1) * steps],
            correction: &self.1.correction[p],
        };
        kernel.i8(queries, items, rows, columns, tile)
    }
}

/// Compares a block of queries with a block of items, both ranges of whole panels. With
/// `mirror`, the lists of the items as queries, each product is used for both.
fn compare(
    kernel: Kernel,
    products: &impl Products,
    (queries, rows): (&Side, Range<usize>),
    (items, columns): (&Side, Range<usize>),
    lists: &mut Lists,
    mut mirror: Option<&mut Lists>,
    tile: &mut Tile,
) {
    const NOTHING: [f32; COLUMNS] = [f32::INFINITY; COLUMNS];
    for (p, column) in columns.clone().step_by(COLUMNS).enumerate() {
        let column_bias = chunk(&items.bias, column);
        for row in rows.clone().step_by(ROWS) {
            let first = row - rows.start;
            let above = Limits {
                threshold: chunk(&lists.threshold, first),
                bias: chunk(&queries.bias, row),
            };
            let mirrored = match &mirror {
                Some(mirror) => chunk(&mirror.threshold, p * COLUMNS),
                None => &NOTHING,
            };
            let left = Limits {
                threshold: mirrored,
                bias: column_bias,
            };
            if !products.tile(kernel, (row / ROWS, column / COLUMNS), above, left, tile) {
                continue;
            }
            for (r, &hits) in tile.rows.iter().enumerate() {
                for c in bits(hits) {
                    if items.ids[column + c] != NOBODY
                        && items.ids[column + c] != queries.ids[row + r]
                    {
                        let value = tile.values[r][c] + column_bias[c];
                        lists.push(first + r, (column + c) as u32, value);
                    }
                }
            }
            if let Some(mirror) = &mut mirror {
                for (r, &hits) in tile.columns.iter().enumerate() {
                    for c in bits(hits) {
                        if queries.ids[row + r] != NOBODY {
                            let value = tile.values[r][c] + queries.bias[row + r];
                            mirror.push(p * COLUMNS + c, (row + r) as u32, value);
                        }
                    }
                }
            }
        }
    }
}

/// The `N` values from `start`; all arrays are padded to whole panels.
pub(super) fn chunk<const N: usize>(values: &[f32], start: usize) -> &[f32; N] {
    values[start..]
        .first_chunk()
        .expect("padded to whole panels")
}

/// Positions of the bits that are set.
pub(super) fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let at = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            at
        })
    })
}

/// The best of `items` for each of `queries`, as `keep` says, by position in `items`; the item with
/// the query's own id is left out. One element of the answer a block of queries; `finish`
/// makes it of the block's first query and its lists.
pub(super) fn search<T: Send>(
    kernel: Kernel,
    products: &impl Products,
    queries: &Side,
    items: &Side,
    keep: Keep,
    monitor: &Monitor,
    finish: impl Fn(usize, Lists) -> T + Sync,
) -> Result<Vec<T>> {
    const QUERIES: usize = 384;
    const ITEMS: usize = 768;
    let done = AtomicU64::new(0);
    parallel::try_map(blocks(queries, QUERIES).into_iter(), |rows| {
        let mut tile = Tile::new();
        let mut lists = empty(queries, &rows, keep);
        for columns in blocks(items, ITEMS) {
            monitor.check()?;
            let (left, top) = ((queries, rows.clone()), (items, columns));
            compare(kernel, products, left, top, &mut lists, None, &mut tile);
        }
        let searched = rows.len() as u64;
        monitor.step((done.fetch_add(searched, Relaxed) + searched).min(queries.n as u64))?;
        Ok(finish(rows.start, lists))
    })
}

/// As [`search`] of all items among themselves, with half the products.
pub(super) fn self_join<T: Send>(
    kernel: Kernel,
    products: &impl Products,
    side: &Side,
    keep: Keep,
    monitor: &Monitor,
    finish: impl Fn(usize, Lists) -> T + Sync,
) -> Result<Vec<T>> {
    let size = block_size(side.n);
    let blocks = blocks(side, size);
    let lists: Vec<Mutex<Lists>> = blocks
        .iter()
        .map(|rows| Mutex::new(empty(side, rows, keep)))
        .collect();
    let total = (blocks.len() * (blocks.len() + 1) / 2) as f64;
    let done = AtomicU64::new(0);
    let work = |(i, j): (usize, usize)| -> Result<()> {
        let mut tile = Tile::new();
        let (left, top) = ((side, blocks[i].clone()), (side, blocks[j].clone()));
        // Free: no block is in two pairs of a round.
        let mut own = lists[i].lock().unwrap_or_else(PoisonError::into_inner);
        if i == j {
            compare(kernel, products, left, top, &mut own, None, &mut tile);
        } else {
            let mut other = lists[j].lock().unwrap_or_else(PoisonError::into_inner);
            compare(
                kernel,
                products,
                left,
                top,
                &mut own,
                Some(&mut other),
                &mut tile,
            );
        }
        let share = (done.fetch_add(1, Relaxed) + 1) as f64 / total;
        monitor.step((share * side.n as f64) as u64)
    };
    for round in rounds(blocks.len()) {
        parallel::try_map(round.into_iter(), work)?;
    }
    let lists = lists.into_iter().zip(blocks);
    Ok(parallel::map(lists, |(lists, rows)| {
        let lists = lists.into_inner().unwrap_or_else(PoisonError::into_inner);
        finish(rows.start, lists)
    }))
}

/// Rows of a block: as many as the cache holds, but enough blocks for many threads.
fn block_size(n: usize) -> usize {
    const LARGEST: usize = 8 * PADDING;
    (n / 64).next_multiple_of(PADDING).clamp(PADDING, LARGEST)
}

fn blocks(side: &Side, size: usize) -> Vec<Range<usize>> {
    let padded = side.padded();
    (0..padded)
        .step_by(size)
        .map(|start| start..(start + size).min(padded))
        .collect()
}

fn empty(side: &Side, rows: &Range<usize>, keep: Keep) -> Lists {
    let end = rows.end.min(side.n).max(rows.start);
    match keep {
        Keep::Best(keep) => Lists::new(keep, end - rows.start, rows.len()),
        Keep::Within { k, spare, window } => {
            Lists::within(k, spare, &window[rows.start..end], rows.len())
        }
    }
}

/// Every pair of `n` blocks, itself included, once, in rounds in which no block occurs
/// twice: the circle method of tournaments.
fn rounds(n: usize) -> impl Iterator<Item = Vec<(usize, usize)>> {
    let players = n.next_multiple_of(2);
    let own = std::iter::once((0..n).map(|i| (i, i)).collect());
    own.chain((0..players.saturating_sub(1)).map(move |round| {
        let seat = |s: usize| (round + s) % (players - 1);
        (0..players / 2)
            .map(|s| match s {
                0 => (seat(0), players - 1),
                _ => (seat(s), seat(players - 1 - s)),
            })
            .map(|(a, b)| (a.min(b), a.max(b)))
            .filter(|&(_, b)| b < n)
            .collect()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_hold_every_pair_once_and_no_block_twice() {
        for n in 0..20 {
            let mut seen = vec![];
            for round in rounds(n) {
                let mut busy: Vec<usize> = round
                    .iter()
                    .flat_map(|&(a, b)| if a == b { vec![a] } else { vec![a, b] })
                    .collect();
                busy.sort_unstable();
                assert!(busy.windows(2).all(|w| w[0] != w[1]), "{round:?}");
                seen.extend(round);
            }
            seen.sort_unstable();
            let all: Vec<_> = (0..n).flat_map(|a| (a..n).map(move |b| (a, b))).collect();
            assert_eq!(seen, all);
        }
    }

    #[test]
    fn bits_are_counted_from_the_lowest() {
        assert_eq!(bits(0b1000_0101).collect::<Vec<_>>(), [0, 2, 7]);
        assert_eq!(bits(0).count(), 0);
        assert_eq!(bits(u32::MAX).count(), 32);
    }
}
