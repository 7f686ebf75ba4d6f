//! What a new item is believed to be, by the items that labels were spread over.
//!
//! Propagation is transductive: a new item is no node of its graph. Instead of another propagation each of its
//! [nearest items](NEIGHBORS) votes for its own class with the cube of the cosine times its
//! confidence; by a similarity that is no cosine, with its confidence alone. What unsure ones leave goes to no class,
//! so that the shares of an unsure neighbourhood sum to less than 1.
//!
//! **Use it** for a few new items like those that are there. **Not** where there are many new ones, or where new
//! classes come in: spread the labels again over all.
//!
//! Cost: O(neighbours) an item, besides the search for them.
//!
//! Source: ours, after the weights of edges of [`KnnGraph`](crate::graph::KnnGraph).

use std::collections::HashMap;
use std::hash::Hash;

use crate::distance::Metric;

/// Nearest items that a new one is believed to be like.
pub const NEIGHBORS: usize = 10;

/// An item near a new one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbor<C> {
    /// Similarity of the two, by the metric of the search.
    pub similarity: f32,
    /// The class that it is of or believed to be of, and the confidence in that, 0 to 1; `None` where it is
    /// of no class, or of none that is known.
    pub believed: Option<(C, f32)>,
}

/// Share of each class among the neighbours of a new item, above 0 and together at most 1. Empty where no
/// neighbour is believed to be anything, and where none points the same way.
///
/// ```
/// use likewise::distance::Metric;
/// use likewise::propagate::induction::{Neighbor, shares};
/// let near = |similarity, believed| Neighbor { similarity, believed };
/// let found = shares([near(1.0, Some(("cat", 0.5))), near(1.0, Some(("dog", 1.0)))], Metric::Cosine);
/// assert_eq!((found["cat"], found["dog"]), (0.25, 0.5));
/// ```
pub fn shares<C: Eq + Hash>(
    neighbors: impl IntoIterator<Item = Neighbor<C>>,
    metric: Metric,
) -> HashMap<C, f64> {
    let mut shares = HashMap::new();
    let mut sum = 0.0;
    for neighbor in neighbors {
        let weight = match metric {
            Metric::Cosine => f64::from(neighbor.similarity.max(0.0)).powi(3),
            // Distances and products have a scale of their own: one vote each.
            Metric::Euclidean | Metric::InnerProduct => 1.0,
        };
        sum += weight;
        if let Some((class, confidence)) = neighbor.believed {
            let vote = weight * f64::from(confidence);
            if vote > 0.0 {
                *shares.entry(class).or_insert(0.0) += vote;
            }
        }
    }
    for share in shares.values_mut() {
        *share /= sum;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(similarity: f32, believed: Option<(&str, f32)>) -> Neighbor<&str> {
        Neighbor {
            similarity,
            believed,
        }
    }

    #[test]
    fn neighbours_vote_by_similarity_and_confidence() {
        let all = [
            near(1.0, Some(("a", 0.5))),
            near(0.5, Some(("b", 1.0))),
            near(1.0, None),
            near(-1.0, Some(("b", 1.0))),
        ];
        let found = shares(all, Metric::Cosine);
        assert!((found["a"] - 0.5 / 2.125).abs() < 1e-12);
        assert!((found["b"] - 0.125 / 2.125).abs() < 1e-12);
        let found = shares(all, Metric::Euclidean);
        assert_eq!((found["a"], found["b"]), (0.125, 0.5));
    }

    #[test]
    fn where_nobody_is_believed_to_be_anything_nothing_is_said() {
        for all in [
            &[][..],
            &[near(1.0, None)],
            &[near(1.0, Some(("a", 0.0)))],
            &[near(-0.5, Some(("a", 1.0))), near(0.0, Some(("b", 1.0)))],
        ] {
            let found = shares(all.iter().copied(), Metric::Cosine);
            assert!(found.is_empty(), "{found:?}");
        }
    }
}
