//! The best candidates of every query: what a search collects and blocks merge.

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use super::Neighbors;
use crate::{Error, ErrorKind, Result, parallel};

/// Rows that one task copies.
const ROWS: usize = 1024;

/// An item and its similarity to the query, as one number: the larger, the nearer, and of
/// equally near items the one with the smaller index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Candidate(u64);

impl Candidate {
    pub(crate) fn new(index: u32, similarity: f32) -> Self {
        // Adding 0 turns -0 into 0, which would otherwise be ordered apart.
        let bits = (similarity + 0.0).to_bits();
        let ascending = if bits >> 31 == 0 {
            bits | 1 << 31
        } else {
            !bits
        };
        Self(u64::from(ascending) << 32 | u64::from(!index))
    }

    pub(crate) fn index(self) -> u32 {
        !(self.0 as u32)
    }

    pub(crate) fn similarity(self) -> f32 {
        let ascending = (self.0 >> 32) as u32;
        f32::from_bits(if ascending >> 31 == 1 {
            ascending ^ 1 << 31
        } else {
            !ascending
        })
    }
}

/// The best `k` of some candidates whose similarities were computed anew, nearest first.
pub(crate) fn best_of(
    candidates: &[Candidate],
    similarities: impl IntoIterator<Item = f32>,
    k: usize,
) -> Vec<Candidate> {
    let mut best: Vec<Candidate> = (candidates.iter().zip(similarities))
        .map(|(c, similarity)| Candidate::new(c.index(), similarity))
        .collect();
    best.sort_unstable_by(|a, b| b.cmp(a));
    best.truncate(k);
    best
}

/// The best `keep` candidates of each of a range of queries, in any order of arrival; or
/// these and all that are nearly as good ([`within`](Self::within)).
pub(crate) struct Lists {
    keep: usize,
    /// Most candidates after a selection.
    most: usize,
    room: usize,
    found: Vec<Candidate>,
    length: Vec<u32>,
    /// The last of the best after a selection; what is not better is not kept.
    worst: Vec<Candidate>,
    /// How far below the last of the best a value still counts, query by query; empty where
    /// it does not.
    window: Vec<f32>,
    /// A value must exceed this to matter. Padding never finds anything.
    pub(crate) threshold: Vec<f32>,
}

impl Lists {
    /// For `n` queries, and `padded - n` rows that are none.
    pub(crate) fn new(keep: usize, n: usize, padded: usize) -> Self {
        // Room for more than `keep`: the best are selected once in a while, not each time.
        Self::with_room(keep, keep, keep + keep / 2 + 32, n, padded)
    }

    /// For `window.len()` queries and padding: the best `keep`, and whatever lies at most
    /// `window` below the last of them. A list of more than `keep + spare` is given up.
    pub(crate) fn within(keep: usize, spare: usize, window: &[f32], padded: usize) -> Self {
        let most = keep + spare;
        let mut lists = Self::with_room(keep, most, most + keep / 2 + 32, window.len(), padded);
        lists.window = window.to_vec();
        lists
    }

    fn with_room(keep: usize, most: usize, room: usize, n: usize, padded: usize) -> Self {
        let mut threshold = vec![f32::NEG_INFINITY; n];
        threshold.resize(padded, f32::INFINITY);
        Self {
            keep,
            most,
            room,
            found: vec![Candidate(0); n * room],
            length: vec![0; n],
            worst: vec![Candidate(0); n],
            window: Vec::new(),
            threshold,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, query: usize, index: u32, similarity: f32) {
        let candidate = Candidate::new(index, similarity);
        if candidate <= self.worst[query] {
            return;
        }
        let length = self.length[query] as usize;
        self.found[query * self.room + length] = candidate;
        self.length[query] += 1;
        if length + 1 == self.room {
            self.shrink(query);
        }
    }

    /// Keeps the best. A candidate as near as the last of them may still displace it by a
    /// smaller index, so the threshold lies just below.
    fn shrink(&mut self, query: usize) {
        let start = query * self.room;
        let found = &mut self.found[start..start + self.length[query] as usize];
        if found.len() <= self.keep {
            return;
        }
        let (_, worst, _) = found.select_nth_unstable_by(self.keep - 1, |a, b| b.cmp(a));
        let Some(window) = self.window.get(query) else {
            self.worst[query] = *worst;
            self.threshold[query] = worst.similarity().next_down();
            self.length[query] = self.keep as u32;
            return;
        };
        let least = (worst.similarity() - window).next_down();
        let mut kept = self.keep;
        for at in self.keep..found.len() {
            if found[at].similarity() > least {
                found.swap(kept, at);
                kept += 1;
            }
        }
        self.length[query] = kept as u32;
        self.threshold[query] = least;
        if kept > self.most {
            // Nothing is better than this, so nothing more is kept.
            self.worst[query] = Candidate(u64::MAX);
            self.threshold[query] = f32::INFINITY;
        }
    }

    /// The candidates of a query, in no order; `None` where there were too many.
    pub(crate) fn all(&mut self, query: usize) -> Option<&[Candidate]> {
        if self.worst[query] != Candidate(u64::MAX) {
            self.shrink(query);
        }
        let start = query * self.room;
        let found = &self.found[start..start + self.length[query] as usize];
        (self.worst[query] != Candidate(u64::MAX)).then_some(found)
    }

    /// The best candidates of a query, nearest first.
    pub(crate) fn best(&mut self, query: usize) -> &[Candidate] {
        self.shrink(query);
        let start = query * self.room;
        let found = &mut self.found[start..start + self.length[query] as usize];
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }
}

/// The best `k` items for each query among those seen so far.
///
/// [`merge`](Self::merge) is associative and commutative, so blocks may be searched
/// anywhere and in any order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Partial {
    pub(super) queries: Vec<u32>,
    pub(super) k: usize,
    pub(super) lists: Vec<Vec<Candidate>>,
}

impl Partial {
    /// Joins the lists of the same queries against other items. An item that both have
    /// seen counts once.
    ///
    /// Fails if the two are not about the same queries and `k`.
    pub fn merge(mut self, other: Self) -> Result<Self> {
        if self.k != other.k || self.queries != other.queries {
            return Err(Error::new(
                ErrorKind::Parameter,
                "partial neighbour lists are of different queries or different k",
            ));
        }
        for (list, more) in self.lists.iter_mut().zip(other.lists) {
            list.extend(more);
            list.sort_unstable_by(|a, b| b.cmp(a));
            list.dedup();
            list.truncate(self.k);
        }
        Ok(self)
    }

    /// The finished lists, one row a query.
    ///
    /// Fails where a query has seen fewer than `k` items.
    pub fn finish(self) -> Result<Neighbors> {
        let (n, k) = (self.lists.len(), self.k);
        if let Some(row) = self.lists.iter().position(|list| list.len() < k) {
            return Err(Error::data(format!(
                "item {} was compared with {} others only, but k = {k}",
                self.queries[row],
                self.lists[row].len()
            )));
        }
        let mut indices = Array2::zeros((n, k));
        let mut similarities = Array2::zeros((n, k));
        let chunks = (indices.axis_chunks_iter_mut(Axis(0), ROWS))
            .zip(similarities.axis_chunks_iter_mut(Axis(0), ROWS))
            .zip(self.lists.chunks(ROWS));
        parallel::each(chunks, |((mut indices, mut similarities), lists)| {
            for (row, list) in lists.iter().enumerate() {
                for (p, candidate) in list.iter().take(k).enumerate() {
                    indices[[row, p]] = candidate.index();
                    similarities[[row, p]] = candidate.similarity();
                }
            }
        });
        Ok(Neighbors {
            k,
            indices,
            similarities,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_order_by_similarity_then_index() {
        let values = [
            f32::INFINITY,
            1.5,
            1e-40,
            0.0,
            -1e-40,
            -2.0,
            f32::NEG_INFINITY,
        ];
        for (p, &a) in values.iter().enumerate() {
            let candidate = Candidate::new(7, a);
            assert_eq!((candidate.index(), candidate.similarity()), (7, a));
            assert!(candidate > Candidate::new(8, a));
            for &b in &values[p + 1..] {
                assert!(Candidate::new(9, a) > Candidate::new(1, b), "{a} {b}");
            }
        }
        assert_eq!(Candidate::new(3, -0.0), Candidate::new(3, 0.0));
    }

    #[test]
    fn lists_with_a_window_keep_what_is_nearly_as_good_or_give_up() {
        // 500 values 0, 1, ... 499 in disorder; the third best is 497.
        for (window, count) in [
            (0.0, Some(3)),
            (1.5, Some(4)),
            (40.0, Some(43)),
            (90.0, None),
        ] {
            let mut lists = Lists::within(3, 50, &[window], 2);
            for p in 0..500_u32 {
                let index = p * 7919 % 500;
                if index as f32 > lists.threshold[0] {
                    lists.push(0, index, index as f32);
                }
            }
            let found = lists.all(0).map(|found| {
                let mut found: Vec<u32> = found.iter().map(|c| c.index()).collect();
                found.sort_unstable();
                found
            });
            let expected = count.map(|c| (500 - c..500).collect::<Vec<u32>>());
            assert_eq!(found, expected, "{window}");
        }
        // Without an end, all count while there is room.
        let mut lists = Lists::within(1, 9, &[f32::INFINITY], 1);
        (0..10).for_each(|p| lists.push(0, p, -(p as f32)));
        assert_eq!(lists.all(0).map(<[_]>::len), Some(10));
        lists.push(0, 10, -3e38);
        assert_eq!(lists.all(0), None);
    }

    #[test]
    fn lists_keep_the_best_whatever_the_order() {
        let mut lists = Lists::new(3, 1, 2);
        for p in 0..500_u32 {
            let index = p * 7919 % 500;
            let similarity = (index / 10) as f32;
            if similarity > lists.threshold[0] {
                lists.push(0, index, similarity);
            }
        }
        let best: Vec<u32> = lists.best(0).iter().map(|c| c.index()).collect();
        assert_eq!(best, [490, 491, 492]);
        assert!(lists.threshold[1].is_infinite());
    }
}
