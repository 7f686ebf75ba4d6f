//! Pairs of items that are known to be alike, or known to differ.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::Triplets;
use crate::{Error, Result};

/// Pairs: must-links (alike) and cannot-links (unlike). A pair has no direction.
///
/// ```
/// use likewise::Pairs;
/// let mut pairs = Pairs::default();
/// pairs.push(0, 1, true, 1.0);
/// pairs.push(1, 2, false, 0.5);
/// assert_eq!(pairs.iter().filter(|pair| pair.2).count(), 1);
/// assert!(pairs.check(3).is_ok());
/// assert!(pairs.check(2).is_err());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pairs {
    /// One item of each pair.
    pub firsts: Vec<u32>,
    /// The other.
    pub seconds: Vec<u32>,
    /// Whether the two are alike.
    pub alike: Vec<bool>,
    /// How much the pair counts, at least 0.
    pub weights: Vec<f32>,
}

impl Pairs {
    /// Adds one pair.
    pub fn push(&mut self, first: u32, second: u32, alike: bool, weight: f32) {
        self.firsts.push(first);
        self.seconds.push(second);
        self.alike.push(alike);
        self.weights.push(weight);
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.firsts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }

    /// Both items, whether they are alike, and the weight of each pair.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, bool, f32)> + '_ {
        let items = self.firsts.iter().zip(&self.seconds);
        let said = self.alike.iter().zip(&self.weights);
        items.zip(said).map(|((&a, &b), (&y, &w))| (a, b, y, w))
    }

    /// Fails unless all four lists are of one length, every item is below `n`, the two of a
    /// pair differ, and weights are finite and at least 0.
    pub fn check(&self, n: usize) -> Result<()> {
        let lengths = [
            self.firsts.len(),
            self.seconds.len(),
            self.alike.len(),
            self.weights.len(),
        ];
        if lengths.iter().any(|&length| length != lengths[0]) {
            return Err(Error::data(format!(
                "pairs: firsts, seconds, alike and weights are {lengths:?} in number; all must \
                 be equal"
            )));
        }
        for (row, (a, b, _, weight)) in self.iter().enumerate() {
            if a.max(b) as usize >= n {
                return Err(Error::data(format!(
                    "pair {row}: ({a}, {b}) among {n} items; indices must be below {n}"
                )));
            }
            if a == b {
                return Err(Error::data(format!(
                    "pair {row}: ({a}, {b}); the two items must differ"
                )));
            }
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(Error::data(format!(
                    "pair {row} has weight {weight}; weights must be finite and at least 0"
                )));
            }
        }
        Ok(())
    }

    /// The first two pairs, by their places, that say of the same two items that they are alike
    /// and that they are not. Costs O(number of pairs).
    pub fn contradiction(&self) -> Option<(usize, usize)> {
        let mut said: HashMap<(u32, u32), (usize, bool)> = HashMap::with_capacity(self.len());
        for (row, (a, b, alike, _)) in self.iter().enumerate() {
            let before = *said.entry((a.min(b), a.max(b))).or_insert((row, alike));
            if before.1 != alike {
                return Some((before.0, row));
            }
        }
        None
    }

    /// Each pair once, with the sum of its weights, sorted by its smaller and its larger item;
    /// without the pairs of which it is said both that they are alike and that they are not.
    #[must_use]
    pub fn settled(&self) -> Self {
        let mut said: Vec<_> = self
            .iter()
            .map(|(a, b, alike, w)| ((a.min(b), a.max(b)), alike, w))
            .collect();
        // Stable: weights are summed in their order.
        said.sort_by_key(|pair| pair.0);
        let mut settled = Self::default();
        for same in said.chunk_by(|p, q| p.0 == q.0) {
            let ((a, b), alike, _) = same[0];
            if same.iter().all(|pair| pair.1 == alike) {
                let sum: f64 = same.iter().map(|pair| f64::from(pair.2)).sum();
                settled.push(a, b, alike, sum as f32);
            }
        }
        settled
    }
}

/// Anchor and positive as an alike pair, anchor and negative as an unlike one, in the order of
/// the triplets and with their weights. A pair of several triplets is in as often as them, and
/// triplets may disagree: they compare, and do not say what is alike.
impl From<&Triplets> for Pairs {
    fn from(triplets: &Triplets) -> Self {
        let mut pairs = Self::default();
        for (anchor, positive, negative, weight) in triplets.iter() {
            pairs.push(anchor, positive, true, weight);
            pairs.push(anchor, negative, false, weight);
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn broken_pairs_are_refused_with_their_place() {
        let message = |a, b, w| {
            let mut pairs = Pairs::default();
            pairs.push(0, 1, true, 0.0);
            pairs.push(a, b, false, w);
            pairs.check(4).unwrap_err().to_string()
        };
        assert!(message(0, 4, 1.0).contains("pair 1: (0, 4)"));
        assert!(message(4, 0, 1.0).contains("among 4 items"));
        assert!(message(2, 2, 1.0).contains("must differ"));
        assert!(message(0, 2, -1.0).contains("weight -1"));
        assert!(message(0, 2, f32::INFINITY).contains("weight inf"));
        let mut pairs = Pairs::default();
        assert!(pairs.is_empty() && pairs.check(0).is_ok());
        pairs.alike.push(true);
        let said = pairs.check(4).unwrap_err().to_string();
        assert!(said.contains("[0, 0, 1, 0]"), "{said}");
    }

    #[test]
    fn triplets_become_two_pairs_each() {
        let mut triplets = Triplets::default();
        triplets.push(0, 1, 2, 0.5);
        triplets.push(2, 3, 0, 1.0);
        let expected = [
            (0, 1, true, 0.5),
            (0, 2, false, 0.5),
            (2, 3, true, 1.0),
            (2, 0, false, 1.0),
        ];
        let pairs = Pairs::from(&triplets);
        assert_eq!(pairs.iter().collect::<Vec<_>>(), expected);
        assert!(Pairs::from(&Triplets::default()).is_empty());
    }

    proptest! {
        #[test]
        fn a_contradiction_is_the_first_of_all_comparisons(
            said in prop::collection::vec((0_u32..5, 0_u32..5, any::<bool>()), 0..12),
        ) {
            let mut pairs = Pairs::default();
            for &(a, b, alike) in &said {
                pairs.push(a, b, alike, 1.0);
            }
            let same = |p: usize, q: usize| {
                let ((a, b, _), (c, d, _)) = (said[p], said[q]);
                (a, b) == (c, d) || (a, b) == (d, c)
            };
            let naive = (0..said.len()).find_map(|q| {
                (0..q).find(|&p| same(p, q) && said[p].2 != said[q].2).map(|p| (p, q))
            });
            prop_assert_eq!(pairs.contradiction(), naive);
            let of = |a, b| {
                let said = said.iter().filter(move |p| [(a, b), (b, a)].contains(&(p.0, p.1)));
                said.collect::<Vec<_>>()
            };
            let mut settled = Vec::new();
            for a in 0..5 {
                for b in a..5 {
                    let count = of(a, b).len();
                    let alike = of(a, b).iter().filter(|p| p.2).count();
                    if count > 0 && (alike == 0 || alike == count) {
                        settled.push((a, b, alike > 0, count as f32));
                    }
                }
            }
            prop_assert_eq!(pairs.settled().iter().collect::<Vec<_>>(), settled);
        }
    }
}
