//! Tuples: which items a model should bring together, and which it should keep apart.
//!
//! [`Pairs`] say of two items whether they are alike; [`Triplets`] compare.
//!
//! | made by | positives and negatives from | gives |
//! |---|---|---|
//! | [`FromLabels`] | random items of the same and of other classes | pairs, triplets |
//! | [`FromBeliefs`] | the same of pseudo-labels, weighted by confidence | pairs, triplets |
//! | [`Affinity`] | neighbours sorted by propagated affinity | triplets |
//! | [`Manifold`] | where manifold and Euclidean neighbours differ; no labels | triplets |
//! | `Pairs::from` | triplets | pairs |
//! | [`Chunklets`] | alike pairs | sets of items of one class |

pub mod affinity;
pub mod beliefs;
pub mod chunklet;
pub(crate) mod draw;
pub mod labels;
pub mod manifold;
mod pairs;
pub(crate) mod ranked;
mod triplets;

pub use affinity::Affinity;
pub use beliefs::FromBeliefs;
pub use chunklet::Chunklets;
pub use labels::FromLabels;
pub use manifold::Manifold;
pub use pairs::Pairs;
pub use triplets::Triplets;

use crate::neighbor::Neighbors;
use crate::{Labels, Monitor, Result};

/// Tuples of either kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Tuples {
    /// Pairs of items, alike or unlike.
    Pairs(Pairs),
    /// Comparisons of three.
    Triplets(Triplets),
}

impl Tuples {
    /// Number of tuples.
    pub fn len(&self) -> usize {
        match self {
            Self::Pairs(pairs) => pairs.len(),
            Self::Triplets(triplets) => triplets.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tuples whose items all have a place, by these places: `place[i]` is that of item `i`.
    ///
    /// Fails on an item beyond `place`.
    pub fn placed(&self, place: &[Option<u32>]) -> Result<Self> {
        let of = |item: u32| place[item as usize];
        Ok(match self {
            Self::Pairs(pairs) => {
                pairs.check(place.len())?;
                let mut kept = Pairs::default();
                for (a, b, alike, w) in pairs.iter() {
                    if let (Some(a), Some(b)) = (of(a), of(b)) {
                        kept.push(a, b, alike, w);
                    }
                }
                Self::Pairs(kept)
            }
            Self::Triplets(triplets) => {
                triplets.check(place.len())?;
                let mut kept = Triplets::default();
                for (a, p, n, w) in triplets.iter() {
                    if let (Some(a), Some(p), Some(n)) = (of(a), of(p), of(n)) {
                        kept.push(a, p, n, w);
                    }
                }
                Self::Triplets(kept)
            }
        })
    }
}

/// A method that finds triplets among neighbours.
pub trait Mine {
    /// Triplets of items, from the neighbours of all items and what labels there are.
    ///
    /// Fails on broken lists, if labels and lists differ in length, on a parameter out of its
    /// range, and when cancelled. An item that gives no triplet is passed over.
    fn mine(&self, neighbors: &Neighbors, labels: &Labels, monitor: &Monitor) -> Result<Triplets>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_of_items_without_a_place_are_left_out() {
        let place = [Some(2), None, Some(0), Some(1)];
        let mut pairs = Pairs::default();
        for (a, b) in [(0, 1), (2, 0), (1, 3), (3, 2)] {
            pairs.push(a, b, true, a as f32);
        }
        let Tuples::Pairs(kept) = Tuples::Pairs(pairs.clone()).placed(&place).unwrap() else {
            panic!("pairs stay pairs");
        };
        let expected = [(0, 2, true, 2.0), (1, 0, true, 3.0)];
        assert_eq!(kept.iter().collect::<Vec<_>>(), expected);
        assert!(Tuples::Pairs(pairs).placed(&place[..3]).is_err());
        let mut triplets = Triplets::default();
        triplets.push(3, 2, 0, 0.5);
        triplets.push(3, 2, 1, 0.5);
        let kept = Tuples::Triplets(triplets).placed(&place).unwrap();
        assert_eq!(kept.len(), 1);
        let mut expected = Triplets::default();
        expected.push(1, 0, 2, 0.5);
        assert_eq!(kept, Tuples::Triplets(expected));
    }
}
