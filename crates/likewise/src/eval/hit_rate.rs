//! R@k of codes, among which equally near items are the rule: whether any of the first `k` is relevant, in
//! the mean over all orders of equals.
//!
//! ```text
//! 1 - C(T - r, s) / C(T, s)    T equals at the place k, r of them relevant, s of them among the first k
//! ```
//!
//! where nothing relevant is nearer, and 1 where something is. One order of equals, the same for all
//! queries, would move the number by a tenth and more.
//!
//! **Use it** on codes. **Not** on rows of numbers: there equals are copies, and
//! [`ranking`](super::ranking) has the other measures as well.
//!
//! Cost: all distances of a query, O(n) and no more memory than their numbers.
//!
//! Source: Hamming distances tie by construction; the expectation is elementary.

use super::map50::Relevance;
use crate::code::{Codes, Kernel};
use crate::{Error, Monitor, Result, parallel};

/// Codes whose distances are computed at a time.
const BLOCK: usize = 4096;

/// For each `k` the value of every query.
///
/// Fails on codes of different lengths, on `k = 0`, without queries or database, and when cancelled.
///
/// ```
/// use likewise::{Monitor, code::Codes, eval::hit_rate::expected};
/// let database = Codes::from_words(4, vec![0b0001, 0b0010, 0b1111])?;
/// let queries = Codes::from_words(4, vec![0b0000])?;
/// // Items 0 and 1 are equally near, and one of them is right.
/// let right = |_: usize, item: usize| item == 1;
/// let found = expected(&queries, &database, &[1, 2], &right, &Monitor::silent())?;
/// assert_eq!(found, [[0.5], [1.0]]);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn expected(
    queries: &Codes,
    database: &Codes,
    ks: &[usize],
    relevant: &Relevance,
    monitor: &Monitor,
) -> Result<Vec<Vec<f64>>> {
    if queries.bits() != database.bits() {
        return Err(Error::data(format!(
            "the queries have {} bits, the database {}; encode both with one model",
            queries.bits(),
            database.bits()
        )));
    }
    if ks.contains(&0) {
        return Err(Error::parameter("k", 0, "must be at least 1"));
    }
    if queries.n() == 0 || database.n() == 0 {
        return Err(Error::data("R@k needs a query and an item to be found"));
    }
    monitor.check()?;
    let kernel = Kernel::detect();
    let words = database.words().len() / database.n();
    let of_query = |q: usize| -> Result<Vec<f64>> {
        monitor.check()?;
        // At each distance: how many items, and how many of them are relevant.
        let mut at = vec![(0_usize, 0_usize); database.bits() + 1];
        let mut distances = vec![0; BLOCK.min(database.n())];
        for first in (0..database.n()).step_by(BLOCK) {
            let last = (first + BLOCK).min(database.n());
            let distances = &mut distances[..last - first];
            let block = &database.words()[first * words..last * words];
            kernel.distances(queries.row(q), block, distances);
            for (item, &distance) in (first..).zip(distances.iter()) {
                let (all, right) = &mut at[distance as usize];
                *all += 1;
                *right += usize::from(relevant(q, item));
            }
        }
        Ok(ks.iter().map(|&k| within(&at, k)).collect())
    };
    let by_query = parallel::try_map(0..queries.n(), of_query)?;
    Ok((0..ks.len())
        .map(|k| by_query.iter().map(|values| values[k]).collect())
        .collect())
}

/// The odds that one of the first `k` is relevant.
fn within(at: &[(usize, usize)], k: usize) -> f64 {
    let mut left = k;
    for &(all, right) in at {
        if all <= left {
            if right > 0 {
                return 1.0;
            }
            left -= all;
            continue;
        }
        let wrong = |i: usize| (all - right).saturating_sub(i) as f64 / (all - i) as f64;
        return 1.0 - (0..left).map(wrong).product::<f64>();
    }
    0.0
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Halves and wholes are exact.
mod tests {
    use rand::RngExt;
    use rand::seq::SliceRandom;

    use super::*;

    #[test]
    fn it_is_the_mean_over_shuffled_databases() {
        let mut rng = crate::seed::stream(3, "hit rate test");
        let words: Vec<u64> = (0..60).map(|_| rng.random_range(0..64)).collect();
        let class: Vec<usize> = (0..60).map(|_| rng.random_range(0..6)).collect();
        let queries = Codes::from_words(6, vec![0, 21, 63]).unwrap();
        let own = [0, 3, 5];
        let ks = [1, 2, 5, 60, 80];
        let silent = Monitor::silent();
        let database = Codes::from_words(6, words.clone()).unwrap();
        let relevant = |q: usize, item: usize| class[item] == own[q];
        let found = expected(&queries, &database, &ks, &relevant, &silent).unwrap();
        let mut sums = vec![vec![0.0; 3]; ks.len()];
        let (mut order, orders) = ((0..60).collect::<Vec<usize>>(), 4000);
        for _ in 0..orders {
            order.shuffle(&mut rng);
            for (q, own) in own.iter().enumerate() {
                let mut near = order.clone();
                near.sort_by_key(|&i| (words[i] ^ queries.row(q)[0]).count_ones());
                for (sum, &k) in sums.iter_mut().zip(&ks) {
                    let hit = near.iter().take(k).any(|&i| class[i] == *own);
                    sum[q] += f64::from(u8::from(hit)) / f64::from(orders);
                }
            }
        }
        for (found, mean) in found.iter().flatten().zip(sums.iter().flatten()) {
            assert!((found - mean).abs() < 0.035, "{found} {mean}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let silent = Monitor::silent();
        let (a, b) = (
            Codes::from_words(4, vec![1]).unwrap(),
            Codes::from_words(5, vec![1]).unwrap(),
        );
        let all = |_: usize, _: usize| true;
        assert!(expected(&a, &b, &[1], &all, &silent).is_err());
        assert!(expected(&a, &a, &[0], &all, &silent).is_err());
        let none = expected(&a, &a, &[1], &|_, _| false, &silent).unwrap();
        assert_eq!(none, [[0.0]]);
    }
}
