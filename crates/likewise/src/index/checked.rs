//! Whether bytes are a graph that the library usearch may be given.
//!
//! The library is written in C++ and believes what it loads: a slot beyond the last node or a
//! level that a node has not is a read outside its memory, and a checksum keeps no forger away.
//! So everything that it later follows without asking is looked at here, before. The layout is
//! that of usearch 2.10 to 2.26 (`index.hpp`, `index_dense.hpp`), all numbers little-endian:
//!
//! | part | content |
//! |---|---|
//! | size of the matrix | rows, bytes of a row: two u32 |
//! | matrix | the vectors, f32 |
//! | head | 64 bytes: magic, version, kinds, counts, dimensions |
//! | size of the graph | nodes, connectivity, connectivity of the base, top level, entry slot: five u64 |
//! | levels | one i16 a node |
//! | nodes | key u64, level i16, then one list a level from 0 to its own |
//! | list | count u32, then as many slots u32 as the connectivity allows, used or not |
//!
//! A file that another release of the library lays out differently is refused, not misread.

use crate::{Error, Result};

/// What [`HnswOptions::connectivity`](super::HnswOptions::connectivity) may be.
pub(super) const CONNECTIVITY: std::ops::RangeInclusive<usize> = 2..=512;

/// What a graph says of itself and was found to be true.
pub(super) struct Checked {
    /// Length of a vector, at least 1.
    pub(super) dimensions: u64,
    /// The item of every node; whether they are distinct is for the caller, who has all parts.
    pub(super) items: Vec<u64>,
}

/// How far the squared length of a vector may be from 1. Rounding alone stays below 1e-6.
const UNIT: f64 = 1e-3;
const HEAD: usize = 64;
const MAGIC: &[u8] = b"usearch";
/// Major version, and the minor one since which the kinds have the numbers below.
const VERSION: (u16, u16) = (2, 10);
/// The inner product, vectors of f32, keys of u64, slots of u32.
const KINDS: [u8; 4] = [b'i', 11, 14, 15];

/// Fails unless `bytes` are one whole graph of unit vectors, all of whose lists stay inside it.
///
/// Costs one pass over the bytes and memory of 10 bytes a node.
pub(super) fn check(bytes: &[u8]) -> Result<Checked> {
    let mut reader = Reader::new(bytes);
    let (rows, row_bytes) = (u64::from(reader.u32()?), u64::from(reader.u32()?));
    let matrix = reader.take(rows.checked_mul(row_bytes).ok_or_else(broken)?)?;
    let dimensions = head(&mut Reader::new(reader.take(HEAD as u64)?), rows)?;
    if dimensions == 0 || dimensions.checked_mul(4) != Some(row_bytes) {
        return Err(broken());
    }
    unit(matrix, row_bytes as usize)?;
    let items = graph(&mut reader, rows)?;
    if reader.left() > 0 {
        return Err(broken());
    }
    Ok(Checked { dimensions, items })
}

/// The dimensions, if all else in the head is as we write it.
fn head(head: &mut Reader, rows: u64) -> Result<u64> {
    let named = head.take(MAGIC.len() as u64)? == MAGIC;
    let (major, minor, _patch) = (head.u16()?, head.u16()?, head.u16()?);
    let kinds = head.take(KINDS.len() as u64)? == KINDS;
    let (present, deleted, dimensions) = (head.u64()?, head.u64()?, head.u64()?);
    let several_of_a_key = head.take(1)? != [0];
    if !named
        || (major, minor.max(VERSION.1)) != (VERSION.0, minor)
        || !kinds
        || (present, deleted) != (rows, 0)
        || several_of_a_key
    {
        return Err(broken());
    }
    Ok(dimensions)
}

/// Fails where a vector is not of unit length, and so on NaN and infinity.
fn unit(matrix: &[u8], row_bytes: usize) -> Result<()> {
    let square = |value: &[u8; 4]| f64::from(f32::from_le_bytes(*value)).powi(2);
    let is_unit = |row: &[u8]| {
        let length: f64 = row.as_chunks().0.iter().map(square).sum();
        (length - 1.0).abs() < UNIT
    };
    if matrix.chunks_exact(row_bytes).all(is_unit) {
        Ok(())
    } else {
        Err(broken())
    }
}

/// The items of all nodes, if levels, lists and the place of entry fit each other.
fn graph(reader: &mut Reader, rows: u64) -> Result<Vec<u64>> {
    let (size, connectivity, base) = (reader.u64()?, reader.u64()?, reader.u64()?);
    let (top, entry) = (reader.u64()?, reader.u64()?);
    let usual = CONNECTIVITY.contains(&(connectivity as usize)) && base == 2 * connectivity;
    if size != rows || !usual {
        return Err(broken());
    }
    let level = |two: &[u8; 2]| u64::try_from(i16::from_le_bytes(*two)).map_err(|_| broken());
    let levels = reader.take(2 * rows)?.as_chunks().0.iter().map(level);
    let levels: Vec<u64> = levels.collect::<Result<_>>()?;
    // A graph without nodes has no top level and is not entered.
    let entered = levels.get(entry as usize) == levels.iter().max();
    if rows > 0 && (!entered || levels.iter().max() != Some(&top)) {
        return Err(broken());
    }
    let mut items = Vec::with_capacity(levels.len());
    for &own in &levels {
        items.push(reader.u64()?);
        if u64::from(reader.u16()?) != own {
            return Err(broken());
        }
        for level in 0..=own {
            let room = if level == 0 { base } else { connectivity };
            let count = reader.u32()?;
            let slots = reader.take(4 * room)?.as_chunks().0;
            let slots = slots.get(..count as usize).ok_or_else(broken)?;
            let reached = |slot: &[u8; 4]| {
                let slot = u32::from_le_bytes(*slot) as usize;
                levels.get(slot).is_some_and(|&its| its >= level)
            };
            if !slots.iter().all(reached) {
                return Err(broken());
            }
        }
    }
    Ok(items)
}

/// Reads bytes from front to back.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// All that was not yet read.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(super) fn left(&self) -> u64 {
        self.0.len() as u64
    }

    pub(super) fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let length = usize::try_from(length).map_err(|_| broken())?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(broken)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(broken)?;
        self.0 = rest;
        Ok(*taken)
    }
}

pub(super) fn broken() -> Error {
    Error::data("not an HNSW index, or a damaged one; build it again from the embeddings")
}

#[cfg(test)]
mod tests {
    use super::super::hnsw::{Hnsw, HnswOptions, checksum};
    use super::super::{Index, order};
    use super::*;
    use crate::{Monitor, seed};
    use ndarray::Array2;
    use rand::RngExt;

    const D: usize = 4;

    /// Every fourteenth row is zeros where there are more than a few.
    fn rows(n: usize) -> Array2<f32> {
        let mut rng = seed::stream(3, "rows of a forged index");
        Array2::from_shape_fn((n, D), |(i, _)| {
            let v = rng.random_range(-1.0_f32..1.0);
            if n > 2 && i % 14 == 3 { 0.0 } else { v }
        })
    }

    fn build(n: usize, connectivity: usize, parts: usize) -> Hnsw {
        let options = HnswOptions {
            connectivity,
            build_effort: 16,
            ..HnswOptions::default()
        };
        Hnsw::in_parts(rows(n).view(), options, parts, &Monitor::silent()).unwrap()
    }

    /// The checksum put right.
    fn signed(mut bytes: Vec<u8>) -> Vec<u8> {
        if bytes.len() >= 16 {
            let sum = checksum(&bytes[16..]);
            bytes[8..16].copy_from_slice(&sum.to_le_bytes());
        }
        bytes
    }

    /// Whether the bytes are an index; if so, it must answer as one.
    fn answers(bytes: &[u8]) -> bool {
        let Ok(index) = Hnsw::from_bytes(bytes) else {
            return false;
        };
        if index.dimensions() != D {
            return true;
        }
        for k in [1, 9, index.len() + 7] {
            for hits in index
                .search(rows(12).view(), k, &Monitor::silent())
                .unwrap()
            {
                assert!(hits.len() <= k.min(index.len()));
                assert!(hits.is_sorted_by(|a, b| order(a, b).is_lt()));
                for hit in hits {
                    assert!(
                        hit.item < index.len() && hit.similarity.abs() < 1.01,
                        "{hit:?}"
                    );
                }
            }
        }
        true
    }

    fn forged(honest: &[u8], rng: &mut seed::Rng) -> Vec<u8> {
        let mut bytes = honest.to_vec();
        for _ in 0..rng.random_range(1..4) {
            let run = match rng.random_range(0..4) {
                0 => 1,
                1 => 4,
                2 => rng.random_range(1..40),
                _ => rng.random_range(1..4000),
            };
            let run = run.min(bytes.len() - 8);
            // One byte in eight is of the heads: there are few of them.
            let end = if rng.random_bool(0.125) {
                300
            } else {
                bytes.len()
            };
            let at = rng.random_range(8..=end.min(bytes.len()).saturating_sub(run).max(8));
            let from = rng.random_range(0..=bytes.len() - run);
            match rng.random_range(0..7) {
                0 => bytes[at..at + run].fill_with(|| rng.random()),
                1 => bytes[at..at + run].fill(
                    *[0, 1, 0x7f, 0x80, 0xff]
                        .get(rng.random_range(0..5))
                        .unwrap(),
                ),
                2 => bytes.copy_within(from..from + run, at),
                3 => {
                    let number = [i32::MAX, -1, i32::MIN, 0x7f80_0000, 0x7fc0_0000];
                    let number = number[rng.random_range(0..5)].to_le_bytes();
                    bytes[at..at + run]
                        .iter_mut()
                        .zip(number.iter().cycle())
                        .for_each(|(to, from)| *to = *from);
                }
                // A slot, a key or a count of the right size.
                4 => {
                    let number: u32 = rng.random_range(0..400);
                    let end = (at + 4).min(bytes.len());
                    bytes[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
                }
                5 => drop(bytes.drain(at..at + run)),
                _ => bytes[at] ^= 1 << rng.random_range(0..8),
            }
            if bytes.len() < 4100 {
                break;
            }
        }
        signed(bytes)
    }

    /// How many of the forgeries were refused.
    fn campaign(seed: u64, forgeries: usize) -> usize {
        let mut rng = seed::stream(seed, "forgeries");
        let indexes = [(300, 4, 1), (300, 16, 1), (300, 2, 3), (40, 4, 2)];
        let honest = indexes.map(|(n, connectivity, parts)| {
            let bytes = build(n, connectivity, parts).to_bytes().unwrap();
            assert!(answers(&bytes));
            bytes
        });
        let refused =
            (0..forgeries).filter(|i| !answers(&forged(&honest[i % honest.len()], &mut rng)));
        refused.count()
    }

    #[test]
    fn a_forged_index_is_refused_or_answers_within_bounds() {
        let refused = campaign(1, 2000);
        // Some change what is never read or what may be another way.
        assert!((1500..2000).contains(&refused), "{refused}");
    }

    /// By hand: `cargo test -p likewise --features hnsw --release -- --ignored campaign --nocapture`.
    #[test]
    #[ignore = "takes minutes"]
    fn a_long_campaign_of_forgeries() {
        for seed in 2..12 {
            println!("seed {seed}: {} of 20000 refused", campaign(seed, 20_000));
        }
    }

    #[test]
    fn what_was_written_is_read_back() {
        for (n, parts) in [(0, 1), (1, 1), (2, 1), (30, 3), (1000, 1), (1000, 4)] {
            let index = build(n, 16, parts);
            let bytes = index.to_bytes().unwrap();
            let restored = Hnsw::from_bytes(&bytes).unwrap();
            assert_eq!((restored.len(), restored.dimensions()), (n, D));
            let ask = |index: &Hnsw| {
                index
                    .search(rows(30).view(), 7, &Monitor::silent())
                    .unwrap()
            };
            assert_eq!(ask(&index), ask(&restored));
            assert!(answers(&restored.to_bytes().unwrap()));
        }
    }

    #[test]
    fn zeros_alone_and_parts_without_a_node() {
        // Of the rows 0 to 5, part 0 holds the even ones, all of them zeros.
        let x = Array2::from_shape_fn((6, D), |(i, c)| if i % 2 == 0 { 0.0 } else { c as f32 });
        for x in [x, Array2::zeros((6, D))] {
            let index = Hnsw::in_parts(x.view(), HnswOptions::default(), 2, &Monitor::silent());
            let restored = Hnsw::from_bytes(&index.unwrap().to_bytes().unwrap()).unwrap();
            assert_eq!((restored.len(), restored.dimensions()), (6, D));
            assert!(answers(&restored.to_bytes().unwrap()));
        }
    }

    /// The library at work is the one whose layout is written here.
    #[test]
    fn each_field_is_looked_at() {
        // One part of 20 nodes: behind 64 bytes of our own (magic, checksum, six numbers) ...
        let n = 20;
        let x = Array2::from_shape_fn((n, D), |(i, c)| (i * 5 + c * c) as f32 + 1.0);
        let options = HnswOptions {
            connectivity: 4,
            ..HnswOptions::default()
        };
        let bytes = Hnsw::in_parts(x.view(), options, 1, &Monitor::silent());
        let bytes = bytes.unwrap().to_bytes().unwrap();
        let matrix = 64;
        let head = matrix + 8 + n * D * 4;
        let size = head + HEAD;
        let levels = size + 40;
        let node = levels + 2 * n;
        assert!(answers(&bytes));
        let fields: [(usize, &[u8]); 19] = [
            (matrix, &[21]),
            (matrix + 4, &[12]),
            (matrix + 8, &f32::NAN.to_le_bytes()),
            (matrix + 8, &f32::MAX.to_le_bytes()),
            (head, b"U"),
            (head + 7, &[3]),
            (head + 9, &[9]),
            (head + 13, b"c"),
            (head + 14, &[10]),
            (head + 17, &[19]),
            (head + 33, &[3]),
            (head + 41, &[1]),
            (size, &[19]),
            (size + 8, &[5]),
            (size + 16, &[9]),
            (size + 24, &[100]),
            (size + 32, &[20]),
            (node, &[1]),
            (node + 10, &[9]),
        ];
        for (at, value) in fields {
            let mut bytes = bytes.clone();
            bytes[at..at + value.len()].copy_from_slice(value);
            assert!(!answers(&signed(bytes)), "{at}");
        }
        // A slot that is not there, in a place that is used; and one that is there.
        for (slot, accepted) in [(20, false), (19, true)] {
            let mut bytes = bytes.clone();
            bytes[node + 14] = slot;
            assert_eq!(answers(&signed(bytes)), accepted);
        }
        // A neighbour on a level that it has not; and an entry below the top.
        let own = |slot: usize| bytes[levels + 2 * slot];
        let top = (0..n).max_by_key(|&slot| own(slot)).unwrap();
        let low = (0..n).find(|&slot| own(slot) == 0).unwrap();
        assert!(own(top) > 0);
        let mut at = node;
        (0..top).for_each(|slot| at += 10 + 36 + 20 * usize::from(own(slot)));
        let mut to_low = bytes.clone();
        to_low[at + 46..at + 54].copy_from_slice(&[1, 0, 0, 0, low as u8, 0, 0, 0]);
        assert!(!answers(&signed(to_low)));
        let mut entered_low = bytes.clone();
        entered_low[size + 32] = low as u8;
        assert!(!answers(&signed(entered_low)));
    }

    #[test]
    fn numbers_that_ask_for_memory_are_refused() {
        let bytes = build(40, 4, 2).to_bytes().unwrap();
        // n, dimensions, effort, parts, number of zeros, first zero, lengths.
        for at in (16..16 + 8 * 10).step_by(8) {
            for value in [0, 1, u64::MAX, u64::MAX / 8, 1 << 32, 1 << 62] {
                let mut bytes = bytes.clone();
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
                // An effort may be any: no more candidates are looked at than there are.
                assert_eq!(
                    answers(&signed(bytes)),
                    at == 32 && value > 0,
                    "{at} {value}"
                );
            }
        }
    }
}
