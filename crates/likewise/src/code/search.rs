//! The nearest codes of every query, by comparing all.
//!
//! A query keeps the distances of what it has seen as counts, one a distance. Once `k` codes are
//! nearer than `t` bits, only what is nearer than `t` can still matter: of equally near codes the
//! first ones stand, and codes are seen in order. So a code costs an exclusive or, a count and a
//! comparison in a vector, and almost none goes any further.
//!
//! Blocks of codes that fit the second-level cache are compared with a group of queries at a
//! time. With fewer groups than threads the database is cut as well, and the parts are merged;
//! the result is the same however it was cut.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ndarray::Array2;

use super::kernel::{self, Kernel, PANEL};
use super::{Codes, check_search};
use crate::{Monitor, Result, parallel};

/// Queries that share a pass over the database.
const QUERIES: usize = 32;
/// Queries from which on it pays to pack codes of several words.
const PACKED: usize = 4;
/// Words of a block: an eighth of a megabyte.
const BLOCK: usize = 1 << 14;
/// Fewest codes worth a task of their own.
const PART: usize = 1 << 17;

/// The nearest codes of some queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// Positions in the database, nearest first, equally near ones in order (`queries x k`).
    pub indices: Array2<u32>,
    /// Number of differing bits, for each of them.
    pub distances: Array2<u32>,
}

/// The `k` codes of the database that differ from each query in the fewest bits, nearest first;
/// equally near ones in their order. All of them where the database has no more than `k`.
///
/// Exact. Cost: `n` counts of `bits / 64` words a query; memory O(queries x k). The same result
/// on any number of threads.
///
/// Fails where the numbers of bits differ, on `k` = 0, past `u32` codes, and when cancelled.
///
/// ```
/// use likewise::{Monitor, code::{Codes, nearest}};
/// let database = Codes::from_words(4, vec![0b0000, 0b0001, 0b0111, 0b1111])?;
/// let queries = Codes::from_words(4, vec![0b0011])?;
/// let found = nearest(&queries, &database, 2, &Monitor::silent())?;
/// assert_eq!(found.indices, ndarray::array![[1, 2]]);
/// assert_eq!(found.distances, ndarray::array![[1, 1]]);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn nearest(queries: &Codes, database: &Codes, k: usize, monitor: &Monitor) -> Result<Nearest> {
    check_search(queries.bits(), database, k)?;
    let kernel = Kernel::detect();
    let k = k.min(database.n());
    let groups = queries.n().div_ceil(QUERIES).max(1);
    let parts = rayon::current_num_threads().div_ceil(groups);
    let part = (database.n().div_ceil(parts))
        .max(PART)
        .next_multiple_of(PANEL);
    let starts = (0..database.n().max(1)).step_by(part);
    monitor.start("nearest codes", queries.n() as u64);
    let done = AtomicU64::new(0);
    let found = parallel::try_map((0..queries.n()).step_by(QUERIES), |first| {
        let group = first..(first + QUERIES).min(queries.n());
        let parts: Vec<Vec<Best>> = parallel::try_map(starts.clone(), |from| {
            let to = (from + part).min(database.n());
            let codes = (database, from..to);
            scan(kernel, queries, group.clone(), codes, k, monitor)
        })?;
        let count = group.len() as u64;
        monitor.step(done.fetch_add(count, Relaxed) + count)?;
        let mut merged = vec![Vec::new(); group.len()];
        for best in parts {
            for (merged, best) in merged.iter_mut().zip(best) {
                merged.extend(best.found);
            }
        }
        for found in &mut merged {
            found.sort_unstable();
            found.truncate(k);
        }
        Ok(merged)
    })?;
    monitor.end();
    let flat: Vec<u64> = found.into_iter().flatten().flatten().collect();
    let of = |value: fn(u64) -> u32| {
        Array2::from_shape_fn((queries.n(), k), |(q, p)| value(flat[q * k + p]))
    };
    Ok(Nearest {
        indices: of(|key| key as u32),
        distances: of(|key| (key >> 32) as u32),
    })
}

/// The best so far of one query.
struct Best {
    /// Distance and, in the low half, position: ascending is nearest first.
    found: Vec<u64>,
    /// Number of codes seen at each distance, of those that were kept.
    counts: Vec<u32>,
    /// Number of kept codes that are nearer than `below`.
    nearer: usize,
    /// What is not nearer than this is of no use.
    below: u64,
}

impl Best {
    fn new(bits: usize) -> Self {
        Self {
            found: Vec::new(),
            counts: vec![0; bits + 1],
            nearer: 0,
            below: bits as u64 + 1,
        }
    }

    fn push(&mut self, distance: u64, position: usize, k: usize) {
        if distance >= self.below {
            return;
        }
        self.found.push(distance << 32 | position as u64);
        self.counts[distance as usize] += 1;
        self.nearer += 1;
        // The farthest distance whose codes, with all nearer ones, are enough.
        while self.nearer >= k {
            self.below -= 1;
            self.nearer -= self.counts[self.below as usize] as usize;
        }
        if self.found.len() >= 4 * k + 256 {
            let last = self.below << 32 | u64::from(u32::MAX);
            self.found.retain(|&key| key <= last);
        }
    }
}

fn scan(
    kernel: Kernel,
    queries: &Codes,
    group: std::ops::Range<usize>,
    (database, range): (&Codes, std::ops::Range<usize>),
    k: usize,
    monitor: &Monitor,
) -> Result<Vec<Best>> {
    let width = database.width();
    let block = (BLOCK / width).next_multiple_of(PANEL);
    let mut best: Vec<Best> = group.clone().map(|_| Best::new(database.bits())).collect();
    if k == 0 {
        return Ok(best);
    }
    let few = width > 1 && group.len() < PACKED;
    let (mut packed, mut distances) = (Vec::new(), Vec::new());
    for from in range.clone().step_by(block) {
        monitor.check()?;
        let to = (from + block).min(range.end);
        let rows = &database.words()[from * width..to * width];
        if few {
            for (best, q) in best.iter_mut().zip(group.clone()) {
                distances.resize(to - from, 0);
                kernel.distances(queries.row(q), rows, &mut distances);
                for (position, &distance) in (from..to).zip(&distances) {
                    best.push(distance.into(), position, k);
                }
            }
            continue;
        }
        // Rows of one word are panels as they are, but for a last one that is not full.
        let panels = if width == 1 && rows.len().is_multiple_of(PANEL) {
            rows
        } else {
            kernel::pack(rows, width, &mut packed);
            &packed
        };
        for (best, q) in best.iter_mut().zip(group.clone()) {
            let query = queries.row(q);
            let mut next = 0;
            while let Some(p) = kernel.next(query, panels, next, best.below) {
                let panel = &panels[p * PANEL * width..(p + 1) * PANEL * width];
                let start = from + p * PANEL;
                let lanes = kernel::of_panel(query, panel).into_iter().enumerate();
                for (lane, distance) in lanes.take(to - start) {
                    best.push(distance, start + lane, k);
                }
                next = p + 1;
            }
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::random;
    use super::*;
    use crate::reference::in_one_and_two_threads;

    fn naive(queries: &Codes, database: &Codes, q: usize, k: usize) -> Vec<(u32, u32)> {
        let distance = |j: usize| -> u32 {
            let words = queries.row(q).iter().zip(database.row(j));
            words.map(|(a, b)| (a ^ b).count_ones()).sum()
        };
        let mut all: Vec<(u32, u32)> = (0..database.n()).map(|j| (distance(j), j as u32)).collect();
        all.sort_unstable();
        all.truncate(k);
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn equals_all_distances_sorted(
            n in 0_usize..900, m in 0_usize..70, bits in 1_usize..200, sparse in 1_u32..12,
            k in 1_usize..90, seed in 0_u64..1000,
        ) {
            let all = random(n + m, bits, sparse + 1, seed);
            let (queries, database) = (
                all.select(&(0..m).collect::<Vec<_>>()),
                all.select(&(m..n + m).collect::<Vec<_>>()),
            );
            let found = nearest(&queries, &database, k, &Monitor::silent()).unwrap();
            prop_assert_eq!(found.indices.dim(), (m, k.min(n)));
            for q in 0..m {
                let row = found.distances.row(q).to_vec().into_iter().zip(found.indices.row(q).to_vec());
                prop_assert_eq!(row.collect::<Vec<_>>(), naive(&queries, &database, q, k));
            }
        }
    }

    #[test]
    fn what_comes_nearer_and_nearer_is_kept_in_bounds() {
        // The worst order: every code is nearer than all before it, each twice.
        let words: Vec<u64> = (0..=64).rev().flat_map(|ones| [mask(ones); 2]).collect();
        let database = Codes::from_words(64, words).unwrap();
        let query = Codes::from_words(64, vec![0]).unwrap();
        for k in [1, 3, 130, 500] {
            let found = nearest(&query, &database, k, &Monitor::silent()).unwrap();
            let expected = naive(&query, &database, 0, k);
            let found: Vec<u32> = found.indices.iter().copied().collect();
            assert_eq!(found, expected.iter().map(|e| e.1).collect::<Vec<_>>());
        }
    }

    fn mask(ones: u32) -> u64 {
        1_u64.checked_shl(ones).map_or(u64::MAX, |bit| bit - 1)
    }

    #[test]
    fn parts_of_the_database_give_what_the_whole_gives() {
        let all = random(300_000, 16, 2, 3);
        let queries = all.select(&[5, 299_999]);
        let run = || nearest(&queries, &all, 50, &Monitor::silent()).unwrap();
        let (one, two) = in_one_and_two_threads(run);
        assert_eq!(one, two);
        for q in 0..2 {
            let expected = naive(&queries, &all, q, 50);
            assert!(
                one.indices
                    .row(q)
                    .iter()
                    .zip(expected)
                    .all(|(a, b)| *a == b.1)
            );
        }
    }

    #[test]
    fn misfits_are_refused() {
        let (a, b) = (random(3, 8, 2, 0), random(3, 9, 2, 0));
        assert!(nearest(&a, &b, 1, &Monitor::silent()).is_err());
        assert!(nearest(&a, &a, 0, &Monitor::silent()).is_err());
        let cancelled = Monitor::silent();
        cancelled.cancel();
        assert!(nearest(&a, &a, 1, &cancelled).is_err());
        assert_eq!(
            nearest(&a, &a, 9, &Monitor::silent())
                .unwrap()
                .indices
                .dim(),
            (3, 3)
        );
    }
}
