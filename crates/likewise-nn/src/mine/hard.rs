//! The hardest positive and negative of each anchor.

use likewise::Triplets;
use serde::{Deserialize, Serialize};

use super::seen::Seen;

/// One triplet an anchor: its least similar positive and its most similar negative.
///
/// **When to use it.** With clean labels, once the embedding is good. **When not.** From a
/// bad start or with wrong labels: the hardest pairs are then noise, and embeddings collapse.
///
/// **Cost.** O(n^2). **Source.** Hermans et al., 2017 (batch hard).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hard {}

impl Hard {
    #[allow(clippy::unused_self, reason = "as the other miners")]
    pub(super) fn mine(&self, seen: &Seen) -> Triplets {
        let mut triplets = Triplets::default();
        for a in seen.anchors() {
            let positive = seen.farthest(a, seen.positives(a));
            let negative = seen.nearest(a, seen.negatives(a));
            if let (Some(p), Some(n)) = (positive, negative) {
                seen.push(&mut triplets, a, p, n);
            }
        }
        triplets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Batch, reference};
    use crate::mine::Mine;

    #[test]
    fn the_misplaced_item_is_everyones_negative() {
        let batch = Batch::from(reference::pairs());
        let mined = Mine::Hard(Hard {}).mine(&reference::disordered(), batch, 0);
        let triplets: Vec<_> = mined.unwrap().triplets.unwrap().iter().collect();
        assert_eq!(triplets.len(), 6);
        assert_eq!(triplets[1], (1, 0, 2, 1.0));
        assert_eq!(triplets[2], (2, 3, 1, 1.0));
    }
}
