//! Ranks of a few items among many, without sorting the many.
//!
//! Tested with its only user, [`ranking`](super::ranking).

/// Most bins of the similarity axis: a bin is 16 bits, and the table of them stays in the
/// second-level cache.
const BINS: usize = 65_000;
/// Bins for each relevant item: few of them then share one.
const BINS_EACH: usize = 16;
/// Scores whose bins are computed together.
const CHUNK: usize = 512;

/// Finds the ranks of a few relevant items among many scores without sorting them.
///
/// A relevant item's rank follows from how many scores have at most as many relevant items
/// ahead of them as it has itself. The range of the relevant scores is cut into bins, and a
/// table says how many relevant items lie before each. So one look into the table and one
/// comparison with the next relevant item place a score, without a branch; only where a bin
/// holds several relevant items, these are searched. The bin of a score is a monotone
/// function of it, so the result is exact however the rounding falls.
pub(super) struct RankCounter {
    /// Keys of the relevant items, best first, and a last one below all.
    relevant: Vec<u64>,
    /// Number of relevant items in the bins before each.
    before: Vec<u32>,
    /// How many scores have so many relevant items ahead. Each number is kept in two parts,
    /// for scores at even and at odd places: adding to one number again and again waits.
    behind: Vec<[u32; 2]>,
    ranks: Vec<u32>,
}

impl Default for RankCounter {
    fn default() -> Self {
        Self {
            relevant: Vec::new(),
            // Any bin of 16 bits is inside, so no look into the table is checked.
            before: vec![0; 1 << 16],
            behind: Vec::new(),
            ranks: Vec::new(),
        }
    }
}

/// The bits of a score as a number that is larger for a larger score.
fn ordered(score: f32) -> u32 {
    // Adding 0 turns -0 into 0, which is the same similarity.
    let bits = (score + 0.0).to_bits();
    let negative = ((bits as i32) >> 31) as u32;
    bits ^ (negative | 0x8000_0000)
}

/// A number that is larger for what comes first: by score descending, then by position.
fn key(ordered: u32, position: u32) -> u64 {
    u64::from(ordered) << 32 | u64::from(!position)
}

/// The position inside a [`key`].
fn position(key: u64) -> usize {
    !(key as u32) as usize
}

impl RankCounter {
    /// Ranks, from 1 and ascending, of the items at `relevant` except `own`, by
    /// (score descending, position ascending). The score at `own` must be minus infinity.
    pub(super) fn ranks(&mut self, scores: &[f32], relevant: &[u32], own: u32) -> &[u32] {
        self.ranks.clear();
        self.relevant.clear();
        let others = relevant.iter().filter(|&&p| p != own);
        self.relevant
            .extend(others.map(|&p| key(ordered(scores[p as usize]), p)));
        self.relevant.sort_unstable_by(|a, b| b.cmp(a));
        let (Some(&first), Some(&last)) = (self.relevant.first(), self.relevant.last()) else {
            return &self.ranks;
        };
        let (best, worst) = (scores[position(first)], scores[position(last)]);
        let n_bins = (BINS_EACH * self.relevant.len()).clamp(64, BINS);
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
        for (ahead, &key) in self.relevant.iter().enumerate() {
            let b = usize::from(bin(scores[position(key)]));
            if b >= next {
                self.before[next..=b].fill(ahead as u32);
                next = b + 1;
            }
        }
        let all = self.relevant.len();
        self.before[next..n_bins + 3].fill(all as u32);
        self.relevant.push(0);
        self.behind.clear();
        self.behind.resize(all + 1, [0; 2]);

        let (mut bins, mut keys) = ([0; CHUNK], [0; CHUNK]);
        let simd = pulp::Arch::new();
        for (chunk, scores) in scores.chunks(CHUNK).enumerate() {
            simd.dispatch(|| {
                for ((b, k), &s) in bins.iter_mut().zip(&mut keys).zip(scores) {
                    *b = bin(s);
                    *k = ordered(s);
                }
            });
            let start = (chunk * CHUNK) as u32;
            let placed = bins.iter().zip(&keys).take(scores.len());
            for (position, (&b, &k)) in (start..).zip(placed) {
                let key = key(k, position);
                let mut ahead = self.before[usize::from(b)] as usize;
                ahead += usize::from(self.relevant[ahead] > key);
                if self.relevant[ahead] > key {
                    let to = ahead.max(self.before[usize::from(b) + 1] as usize);
                    ahead += self.relevant[ahead..to].partition_point(|&other| other > key);
                }
                self.behind[ahead][(position & 1) as usize] += 1;
            }
        }

        let mut rank = 0;
        for [even, odd] in &self.behind[..all] {
            rank += even + odd;
            self.ranks.push(rank);
        }
        &self.ranks
    }
}
