//! Negatives a little farther away than the positive.

use likewise::Triplets;
use serde::{Deserialize, Serialize};

use super::seen::Seen;
use crate::Result;
use crate::loss::above_zero;

/// One triplet a positive pair: the nearest negative that is farther away than the positive,
/// if it is so by less than the margin.
///
/// ```text
/// d_ap < d_an < d_ap + margin
/// ```
///
/// **When to use it.** With the triplet loss, as a default: it avoids both satisfied triplets
/// and the noise of the hardest. **When not.** With few negatives a batch: most pairs find
/// none.
///
/// **Cost.** O(P n) for P positive pairs. **Source.** Schroff et al., CVPR 2015.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Semihard {
    /// Margin, a distance of unit rows.
    pub margin: f64,
}

impl Default for Semihard {
    fn default() -> Self {
        Self { margin: 0.1 }
    }
}

impl Semihard {
    pub(super) fn validate(&self) -> Result<()> {
        above_zero("mine.margin", self.margin)
    }

    pub(super) fn mine(&self, seen: &Seen) -> Triplets {
        let mut triplets = Triplets::default();
        for a in seen.anchors() {
            for p in seen.positives(a) {
                let near = seen.distance(a, p);
                let far = near..near + self.margin;
                let beyond = seen.negatives(a).filter(|&n| {
                    let distance = seen.distance(a, n);
                    distance > near && far.contains(&distance)
                });
                if let Some(n) = seen.nearest(a, beyond) {
                    seen.push(&mut triplets, a, p, n);
                }
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
    fn only_negatives_within_the_margin() {
        let mined = |margin| {
            let batch = Batch::from(reference::pairs());
            let miner = Mine::Semihard(Semihard { margin });
            let mined = miner.mine(&reference::disordered(), batch, 0).unwrap();
            mined.triplets.unwrap().iter().collect::<Vec<_>>()
        };
        // Item 0 is 1.185 from its positive and 1.273 from item 2; 3 and 5 are nearer.
        assert!(mined(0.1).contains(&(0, 1, 2, 1.0)), "{:?}", mined(0.1));
        assert!(mined(0.01).is_empty(), "{:?}", mined(0.01));
    }
}
