//! Comparisons: one item is nearer to a second than to a third.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Triplets: in each, the anchor should be nearer to the positive than to the negative.
///
/// ```
/// use likewise::Triplets;
/// let mut triplets = Triplets::default();
/// triplets.push(0, 1, 2, 1.0);
/// assert_eq!(triplets.len(), 1);
/// assert!(triplets.check(3).is_ok());
/// assert!(triplets.check(2).is_err());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Triplets {
    /// Item of each triplet that the others are compared with.
    pub anchors: Vec<u32>,
    /// Item that should be near.
    pub positives: Vec<u32>,
    /// Item that should be farther away.
    pub negatives: Vec<u32>,
    /// How much the triplet counts in a loss, at least 0.
    pub weights: Vec<f32>,
}

impl Triplets {
    /// Adds one triplet.
    pub fn push(&mut self, anchor: u32, positive: u32, negative: u32, weight: f32) {
        self.anchors.push(anchor);
        self.positives.push(positive);
        self.negatives.push(negative);
        self.weights.push(weight);
    }

    /// Number of triplets.
    pub fn len(&self) -> usize {
        self.anchors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    /// Anchor, positive, negative and weight of each triplet.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, u32, f32)> + '_ {
        let pair = self.positives.iter().zip(&self.negatives);
        (self.anchors.iter().zip(pair).zip(&self.weights)).map(|((&a, (&p, &n)), &w)| (a, p, n, w))
    }

    /// The triplets behind the first `n`.
    #[must_use]
    pub fn skip(&self, n: usize) -> Self {
        let mut rest = Self::default();
        for (a, p, q, w) in self.iter().skip(n) {
            rest.push(a, p, q, w);
        }
        rest
    }

    /// The first two triplets, by their places, of which one says that an item is nearer to the anchor than
    /// another, and the other the opposite. Costs O(number of triplets).
    pub fn contradiction(&self) -> Option<(usize, usize)> {
        let mut said: HashMap<(u32, u32, u32), (usize, u32)> = HashMap::with_capacity(self.len());
        for (row, (a, p, q, _)) in self.iter().enumerate() {
            let before = *said.entry((a, p.min(q), p.max(q))).or_insert((row, p));
            if before.1 != p {
                return Some((before.0, row));
            }
        }
        None
    }

    /// Fails unless all four lists are of one length, every item is below `n`, the three of a
    /// triplet differ, and weights are finite and at least 0.
    pub fn check(&self, n: usize) -> Result<()> {
        let lengths = [
            self.anchors.len(),
            self.positives.len(),
            self.negatives.len(),
            self.weights.len(),
        ];
        if lengths.iter().any(|&length| length != lengths[0]) {
            return Err(Error::data(format!(
                "triplets: anchors, positives, negatives and weights are {lengths:?} in number; \
                 all must be equal"
            )));
        }
        for (row, (a, p, q, weight)) in self.iter().enumerate() {
            if [a, p, q].iter().any(|&item| item as usize >= n) {
                return Err(Error::data(format!(
                    "triplet {row}: ({a}, {p}, {q}) among {n} items; indices must be below {n}"
                )));
            }
            if a == p || a == q || p == q {
                return Err(Error::data(format!(
                    "triplet {row}: ({a}, {p}, {q}); the three items must differ"
                )));
            }
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(Error::data(format!(
                    "triplet {row} has weight {weight}; weights must be finite and at least 0"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triplets_that_say_the_opposite_are_found() {
        let mut triplets = Triplets::default();
        // The same of another anchor, and what is said twice, is no contradiction.
        for (a, p, n) in [(0, 1, 2), (1, 0, 2), (1, 2, 3), (0, 1, 2), (2, 1, 0)] {
            triplets.push(a, p, n, 1.0);
        }
        assert_eq!(triplets.contradiction(), None);
        triplets.push(1, 2, 0, 0.5);
        assert_eq!(triplets.contradiction(), Some((1, 5)));
    }

    #[test]
    fn broken_triplets_are_refused_with_their_place() {
        let message = |a, p, n, w| {
            let mut triplets = Triplets::default();
            triplets.push(0, 1, 2, 0.0);
            triplets.push(a, p, n, w);
            triplets.check(4).unwrap_err().to_string()
        };
        assert!(message(0, 4, 1, 1.0).contains("triplet 1: (0, 4, 1)"));
        assert!(message(0, 0, 1, 1.0).contains("must differ"));
        assert!(message(0, 1, 0, 1.0).contains("must differ"));
        assert!(message(0, 1, 1, 1.0).contains("must differ"));
        assert!(message(0, 1, 2, -1.0).contains("weight -1"));
        assert!(message(0, 1, 2, f32::NAN).contains("weight NaN"));
        let mut triplets = Triplets::default();
        assert!(triplets.is_empty() && triplets.check(0).is_ok());
        triplets.anchors.push(0);
        assert!(
            triplets
                .check(4)
                .unwrap_err()
                .to_string()
                .contains("[1, 0, 0, 0]")
        );
    }
}
