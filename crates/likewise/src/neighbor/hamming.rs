//! Exact nearest neighbours of binary codes by Hamming distance: the number of bits that
//! differ.
//!
//! **Use it** for codes of hashing learners. **Not** for features that are not codes: most
//! distances are equal there, and the order among equal ones is that of the index.
//!
//! Cost: n² d / 64 counts for codes of `d` bits; memory O(n k).

use ndarray::ArrayView2;

use super::Neighbors;
use super::candidate::{Lists, Partial};
use super::exact::check_k;
use crate::{Error, Monitor, Result, parallel};

/// The `k` nearest neighbours of every code (`n x bytes`, eight bits a byte) among the
/// others. The similarity is minus the distance; ties stand in order of the index.
///
/// Fails if `k` is 0 or not below `n`, on more than 2^24 bits, past `u32` items, and when
/// cancelled.
///
/// ```
/// use likewise::neighbor::hamming;
/// let codes = ndarray::array![[0b0000_u8], [0b0001], [0b0111], [0b1111]];
/// let neighbors = hamming(codes.view(), 1, &likewise::Monitor::silent())?;
/// assert_eq!(neighbors.indices, ndarray::array![[1], [0], [3], [2]]);
/// assert_eq!(neighbors.similarities[[0, 0]], -1.0);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn hamming(codes: ArrayView2<u8>, k: usize, monitor: &Monitor) -> Result<Neighbors> {
    const QUERIES: usize = 64;
    let (n, bytes) = codes.dim();
    check_k(k, n)?;
    if n >= u32::MAX as usize || bytes >= 1 << 21 {
        return Err(Error::data(format!(
            "codes: {n} codes of {bytes} bytes; at most {} codes of {} bytes",
            u32::MAX - 1,
            (1 << 21) - 1
        )));
    }
    let words = bytes.div_ceil(8).max(1);
    let mut packed = vec![0_u64; n * words];
    for (word, row) in packed.chunks_mut(words).zip(codes.rows()) {
        for (b, &byte) in row.iter().enumerate() {
            word[b / 8] |= u64::from(byte) << (8 * (b % 8));
        }
    }
    monitor.start("nearest codes", n as u64);
    let done = std::sync::atomic::AtomicU64::new(0);
    let lists = parallel::try_map((0..n).step_by(QUERIES), |start| {
        monitor.check()?;
        let end = (start + QUERIES).min(n);
        let mut lists = Lists::new(k, end - start, end - start);
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || scan(&packed, words, start..end, &mut lists),
        );
        let count = (end - start) as u64;
        monitor.step(done.fetch_add(count, std::sync::atomic::Ordering::Relaxed) + count)?;
        let best = (0..end - start).map(|q| lists.best(q).to_vec());
        Ok(best.collect::<Vec<_>>())
    })?;
    monitor.end();
    let lists = lists.into_iter().flatten().collect();
    Partial {
        queries: (0..n as u32).collect(),
        k,
        lists,
    }
    .finish()
}

#[expect(
    clippy::inline_always,
    reason = "must be compiled with the features of its caller"
)]
#[inline(always)]
fn scan(packed: &[u64], words: usize, queries: std::ops::Range<usize>, lists: &mut Lists) {
    for (item, code) in packed.chunks_exact(words).enumerate() {
        for (q, query) in queries.clone().enumerate() {
            let own = &packed[query * words..(query + 1) * words];
            let differ: u32 = code
                .iter()
                .zip(own)
                .map(|(a, b)| (a ^ b).count_ones())
                .sum();
            let similarity = -(differ as f32);
            if similarity > lists.threshold[q] && item != query {
                lists.push(q, item as u32, similarity);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed;
    use ndarray::Array2;
    use proptest::prelude::*;
    use rand::RngExt;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn equals_all_pairs_sorted(n in 2_usize..200, bytes in 0_usize..20, k in 1_usize..40, seed in 0_u64..1000) {
            let k = k.min(n - 1);
            let mut rng = seed::stream(seed, "test codes");
            let codes = Array2::from_shape_fn((n, bytes), |_| rng.random::<u8>() & 0b101);
            let found = hamming(codes.view(), k, &Monitor::silent()).unwrap();
            found.check().unwrap();
            for i in 0..n {
                let distance = |j: usize| -> u32 {
                    codes.row(i).iter().zip(codes.row(j)).map(|(a, b)| (a ^ b).count_ones()).sum()
                };
                let mut all: Vec<(u32, u32)> =
                    (0..n).filter(|&j| j != i).map(|j| (distance(j), j as u32)).collect();
                all.sort_unstable();
                for (p, &(distance, j)) in all[..k].iter().enumerate() {
                    prop_assert_eq!(found.indices[[i, p]], j);
                    prop_assert_eq!(found.similarities[[i, p]].to_bits(), (0.0 - distance as f32).to_bits());
                }
            }
        }
    }

    #[test]
    fn bad_k_is_refused() {
        let codes = Array2::zeros((3, 2));
        assert!(hamming(codes.view(), 3, &Monitor::silent()).is_err());
        assert!(hamming(codes.view(), 0, &Monitor::silent()).is_err());
    }
}
