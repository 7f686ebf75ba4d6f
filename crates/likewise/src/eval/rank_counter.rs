//! Ranks of a few items among many, without sorting the many.
//!
//! Tested with its only user, [`ranking`](super::ranking).

/// Bins of the similarity axis; with their counts they stay in the first-level cache.
const BINS: usize = 8192;
const TABLE: usize = 2 * BINS;

/// Finds the ranks of a few relevant items among many scores without sorting them.
///
/// The range of the relevant scores is cut into bins, and every score is counted in its
/// bin. A relevant item is behind everything in the bins before its own; only scores
/// that share a bin with a relevant item are compared one by one. The bin of a score is
/// a monotone function of it, so the result is exact however the rounding falls.
pub(super) struct RankCounter {
    /// Keys of the relevant items, best first.
    relevant: Vec<u64>,
    counts: Vec<u32>,
    /// 1 for bins that hold a relevant item.
    contested: Vec<u8>,
    /// Number of relevant items before the bin.
    first: Vec<u32>,
    rivals: Vec<u32>,
    ahead: Vec<u32>,
    ranks: Vec<u32>,
}

impl Default for RankCounter {
    fn default() -> Self {
        Self {
            relevant: Vec::new(),
            counts: vec![0; TABLE],
            contested: vec![0; TABLE],
            first: vec![0; TABLE],
            rivals: Vec::new(),
            ahead: Vec::new(),
            ranks: Vec::new(),
        }
    }
}

/// A number that is larger for what comes first: by score descending, then by position.
fn key(score: f32, position: u32) -> u64 {
    // Adding 0 turns -0 into 0, which is the same similarity.
    let bits = (score + 0.0).to_bits();
    let negative = ((bits as i32) >> 31) as u32;
    let ordered = bits ^ (negative | 0x8000_0000);
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
            .extend(others.map(|&p| key(scores[p as usize], p)));
        self.relevant.sort_unstable_by(|a, b| b.cmp(a));
        let (Some(&first), Some(&last)) = (self.relevant.first(), self.relevant.last()) else {
            return &self.ranks;
        };
        let (best, worst) = (scores[position(first)], scores[position(last)]);
        let n_bins = (16 * self.relevant.len())
            .next_power_of_two()
            .clamp(64, BINS);
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

        let counts = &mut self.counts[..TABLE];
        let contested = &mut self.contested[..TABLE];
        counts[..n_bins + 2].fill(0);
        contested[..n_bins + 2].fill(0);
        for &key in &self.relevant {
            contested[usize::from(bin(scores[position(key)]))] = 1;
        }
        self.rivals.resize(scores.len(), 0);
        let mut n_rivals = 0;
        let mut bins = [0; 512];
        let simd = pulp::Arch::new();
        for (chunk, scores) in scores.chunks(bins.len()).enumerate() {
            simd.dispatch(|| {
                for (b, &s) in bins.iter_mut().zip(scores) {
                    *b = bin(s);
                }
            });
            for (i, &b) in bins[..scores.len()].iter().enumerate() {
                let b = usize::from(b) & (TABLE - 1);
                counts[b] += 1;
                self.rivals[n_rivals] = (chunk * bins.len() + i) as u32;
                n_rivals += usize::from(contested[b]);
            }
        }

        let mut next = 0;
        for b in 0..n_bins + 2 {
            self.first[b] = next as u32;
            let here = |&&key: &&u64| usize::from(bin(scores[position(key)])) == b;
            next += self.relevant[next..].iter().take_while(here).count();
        }
        self.first[n_bins + 2] = next as u32;
        self.ahead.clear();
        self.ahead.resize(self.relevant.len() + 1, 0);
        for &rival in &self.rivals[..n_rivals] {
            let score = scores[rival as usize];
            let b = usize::from(bin(score));
            let (from, to) = (self.first[b] as usize, self.first[b + 1] as usize);
            let key = key(score, rival);
            // No branch on the comparison, which nobody could predict.
            let behind = match &self.relevant[from..to] {
                [one] => usize::from(*one >= key),
                several => several.partition_point(|&other| other >= key),
            };
            self.ahead[from + behind] += u32::from(from + behind < to);
        }

        let mut before = 0;
        for b in 0..n_bins + 2 {
            let mut ahead = before;
            for r in self.first[b] as usize..self.first[b + 1] as usize {
                ahead += self.ahead[r];
                self.ranks.push(ahead + 1);
            }
            before += self.counts[b];
        }
        &self.ranks
    }
}
