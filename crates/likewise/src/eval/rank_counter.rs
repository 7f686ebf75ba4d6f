//! Ranks of a few items among many, without sorting the many.
//!
//! Tested with its only user, [`ranking`](super::ranking).

use std::ops::Range;

/// What 16 bits can number: no look into an array of so many is checked, and the arrays stay in
/// the second-level cache.
const TABLE: usize = 1 << 16;
/// Most bins of the similarity axis, and most relevant items that are placed at a time.
const BINS: usize = 65_000;
/// Bins for each relevant item: few of them then share one.
const BINS_EACH: usize = 8;
/// Scores whose bins are computed together.
const CHUNK: usize = 512;

/// Finds the ranks of a few relevant items among many scores without sorting them.
///
/// A relevant item's rank follows from how many scores have at most as many relevant items
/// ahead of them as it has itself. The range of the relevant scores is cut into bins, and a
/// table says how many relevant items lie before each. So one look into the table and one
/// comparison with the next relevant score place a score, without a branch; only where that
/// does not decide (several relevant items in a bin, or equal scores) these are searched. Relevant
/// items know their place among themselves and are not counted: each would be such an equal score.
/// The bin of a score is a monotone function of it, so the result is exact however the rounding
/// falls.
pub(super) struct RankCounter {
    /// Keys of the relevant items, best first.
    keys: Vec<u64>,
    /// Scores of those that are placed now, and behind them what no score is below or equal to.
    relevant: Box<[f32; TABLE]>,
    /// Number of relevant items in the bins before each.
    before: Box<[u16; TABLE]>,
    /// How many scores of others have so many relevant items ahead.
    behind: Box<[u32; TABLE]>,
    ranks: Vec<u32>,
}

impl Default for RankCounter {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            relevant: table(0.0),
            before: table(0),
            behind: table(0),
            ranks: Vec::new(),
        }
    }
}

#[expect(clippy::unnecessary_box_returns, reason = "too large for the stack")]
fn table<T: Copy>(value: T) -> Box<[T; TABLE]> {
    let Ok(table) = vec![value; TABLE].into_boxed_slice().try_into() else {
        unreachable!("the length is that of the table")
    };
    table
}

/// A number that is larger for what comes first: by score descending, then by position.
fn key(score: f32, position: u32) -> u64 {
    // Adding 0 turns -0 into 0, which is the same similarity.
    let bits = (score + 0.0).to_bits();
    let negative = ((bits as i32) >> 31) as u32;
    let ordered = bits ^ (negative | 0x8000_0000);
    u64::from(ordered) << 32 | u64::from(!position)
}

/// The score inside a [`key`].
fn score(key: u64) -> f32 {
    let ordered = (key >> 32) as u32;
    let turned = if ordered >> 31 == 1 {
        0x8000_0000
    } else {
        u32::MAX
    };
    f32::from_bits(ordered ^ turned)
}

/// The position inside a [`key`].
fn position(key: u64) -> usize {
    !(key as u32) as usize
}

impl RankCounter {
    /// Ranks, from 1 and ascending, of the items at `relevant` except `own`, by
    /// (score descending, position ascending). The score at `own` must be minus infinity; those of the
    /// relevant items are afterwards.
    pub(super) fn ranks(&mut self, scores: &mut [f32], relevant: &[u32], own: u32) -> &[u32] {
        self.ranks.clear();
        self.keys.clear();
        let others = relevant.iter().filter(|&&p| p != own);
        self.keys
            .extend(others.map(|&p| key(scores[p as usize], p)));
        self.keys.sort_unstable_by(|a, b| b.cmp(a));
        for &key in &self.keys {
            scores[position(key)] = f32::NEG_INFINITY;
        }
        for start in (0..self.keys.len()).step_by(BINS) {
            self.place(scores, start..self.keys.len().min(start + BINS));
        }
        &self.ranks
    }

    /// The last [`ranks`](Self::ranks), and the positions of the items that have them.
    pub(super) fn ranked(&self) -> (&[u32], impl Iterator<Item = u32> + '_) {
        let positions = self.keys.iter().map(|&key| position(key) as u32);
        (&self.ranks, positions)
    }

    /// Adds the ranks of some of the relevant items.
    fn place(&mut self, scores: &[f32], group: Range<usize>) {
        let keys = &self.keys[group.clone()];
        let all = keys.len();
        for (relevant, &key) in self.relevant.iter_mut().zip(keys) {
            *relevant = score(key);
        }
        let (best, worst) = (self.relevant[0], self.relevant[all - 1]);
        self.relevant[all] = f32::NAN;
        self.behind[..=all].fill(0);
        let n_bins = (BINS_EACH * all).clamp(64, BINS);
        // Bin 0 is ahead of all relevant items, bin n_bins + 1 behind them.
        // Adding 0 keeps the range of -0 and 0 from being -0, which would turn the sign.
        let scale = ((n_bins - 1) as f32 / (best - worst + 0.0)).min(f32::MAX);
        let end = (n_bins + 1) as f32;
        let bin = |s: f32| {
            // `clamp` and a cast would not become SIMD code; comparisons and this rounding
            // to an integer in the low bits do.
            let place = (best - s) * scale + 1.0;
            let place = if place > 0.0 { place } else { 0.0 };
            let place = if place < end { place } else { end };
            ((place + 8_388_608.0).to_bits() & 0xffff) as u16
        };

        let mut next = 0;
        for (ahead, &score) in self.relevant[..all].iter().enumerate() {
            let b = usize::from(bin(score));
            if b >= next {
                self.before[next..=b].fill(ahead as u16);
                next = b + 1;
            }
        }
        self.before[next..n_bins + 3].fill(all as u16);

        let mut bins = [0; CHUNK];
        let simd = pulp::Arch::new();
        for (chunk, scores) in scores.chunks(CHUNK).enumerate() {
            simd.dispatch(|| {
                for (b, &s) in bins.iter_mut().zip(scores) {
                    *b = bin(s);
                }
            });
            for (place, (&b, &s)) in bins.iter().zip(scores).enumerate() {
                let in_bin = usize::from(b);
                let mut ahead = self.before[in_bin];
                ahead += u16::from(self.relevant[usize::from(ahead)] > s);
                if self.relevant[usize::from(ahead)] >= s {
                    let to = ahead.max(self.before[in_bin + 1]);
                    let key = key(s, (chunk * CHUNK + place) as u32);
                    let rest = &keys[usize::from(ahead)..usize::from(to)];
                    ahead += rest.partition_point(|&other| other > key) as u16;
                }
                self.behind[usize::from(ahead)] += 1;
            }
        }

        let mut others = 0;
        for (place, count) in group.zip(&self.behind[..all]) {
            others += count;
            self.ranks.push(others + place as u32 + 1);
        }
    }
}
