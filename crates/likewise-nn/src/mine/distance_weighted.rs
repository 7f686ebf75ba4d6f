//! Negatives drawn evenly over distances.

use likewise::{Triplets, seed};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::seen::Seen;

/// Triplets with negatives drawn against the density of distances on the sphere.
///
/// Random points of a sphere in D dimensions lie almost all at distance sqrt(2); uniform
/// drawing therefore sees no near negative. Here a negative at distance d weighs
///
/// ```text
/// 1/q(d),   log 1/q = (2 - D) log d - (D - 3)/2 log(1 - d^2/4)
/// ```
///
/// with d at least 0.5, and nothing at 1.4 and beyond. Each anchor draws as many triplets as
/// its class has items in the batch (itself among them), each with a random positive.
///
/// **When to use it.** With the triplet or margin loss on large batches. **When not.** Where
/// runs must not depend on a seed.
///
/// **Cost.** O(n^2). **Source.** Wu et al., ICCV 2017, with the constants of the code of Liao
/// et al., ICML 2023. "Class count" there is read as the items of the anchor's class. An
/// anchor without a negative nearer than 1.4 gives no triplet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DistanceWeighted {}

/// Distances below this weigh as much as this one.
const NEAREST: f64 = 0.5;
/// Negatives from this distance on are not drawn.
const FARTHEST: f64 = 1.4;

impl DistanceWeighted {
    #[allow(clippy::unused_self, reason = "as the other miners")]
    pub(super) fn mine(&self, seen: &Seen, dimensions: usize, seed: u64) -> Triplets {
        let mut rng = seed::stream(seed, "distance-weighted mining");
        let mut triplets = Triplets::default();
        for a in seen.anchors() {
            let positives: Vec<_> = (seen.positives(a))
                .map(|p| (p, seen.positive[[a, p]]))
                .collect();
            let negatives = negatives(seen, a, dimensions as f64);
            if positives.is_empty() || negatives.is_empty() {
                continue;
            }
            for _ in 0..=positives.len() {
                let p = draw(&positives, &mut rng);
                let n = draw(&negatives, &mut rng);
                triplets.push(a as u32, p as u32, n as u32, seen.anchors[a] as f32);
            }
        }
        triplets
    }
}

/// Negatives that may be drawn, with their weights.
fn negatives(seen: &Seen, a: usize, dimensions: f64) -> Vec<(usize, f64)> {
    let admitted = seen.negatives(a).filter_map(|n| {
        let distance = seen.distance(a, n).max(NEAREST);
        let bend = (1.0 - distance * distance / 4.0).ln();
        let log = (2.0 - dimensions) * distance.ln() - (dimensions - 3.0) / 2.0 * bend;
        (distance < FARTHEST).then_some((n, log))
    });
    let mut found: Vec<_> = admitted.collect();
    let largest = found.iter().map(|f| f.1).fold(f64::NEG_INFINITY, f64::max);
    for (n, log) in &mut found {
        *log = (*log - largest).exp() * seen.negative[[a, *n]];
    }
    found
}

/// One item, by weight.
fn draw(items: &[(usize, f64)], rng: &mut impl Rng) -> usize {
    let total: f64 = items.iter().map(|i| i.1).sum();
    let mut left = rng.random::<f64>() * total;
    for &(item, weight) in items {
        left -= weight;
        if left < 0.0 {
            return item;
        }
    }
    items[items.len() - 1].0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::reference;

    #[test]
    fn weights_are_those_of_the_formula() {
        let seen = Seen::of(&reference::batch(), &reference::pairs()).unwrap();
        // In three dimensions the weight is 1/d.
        let found = negatives(&seen, 0, 3.0);
        let near: Vec<usize> = found.iter().map(|f| f.0).collect();
        let expected: Vec<usize> = (2..6).filter(|&n| seen.distance(0, n) < 1.4).collect();
        assert_eq!(near, expected);
        let first = found[0].1 * seen.distance(0, near[0]);
        for (n, weight) in found {
            assert!((weight * seen.distance(0, n) - first).abs() < 1e-12);
        }
    }

    #[test]
    fn draws_follow_the_weights() {
        let mut rng = seed::stream(1, "test");
        let items = [(3, 1.0), (5, 3.0)];
        let drawn = (0..4000).filter(|_| draw(&items, &mut rng) == 5).count();
        assert!((2850..3150).contains(&drawn), "{drawn}");
    }

    #[test]
    fn as_many_triplets_as_the_class_has_items() {
        let seen = Seen::of(&reference::batch(), &reference::pairs()).unwrap();
        let triplets = DistanceWeighted {}.mine(&seen, 3, 5);
        let of_first = triplets.iter().filter(|t| t.0 == 0).count();
        assert_eq!(of_first, 2);
        assert_ne!(triplets, DistanceWeighted {}.mine(&seen, 3, 6));
    }
}
