//! Every triplet, of a batch or of a list.

use std::collections::HashMap;

use likewise::Triplets;
use serde::{Deserialize, Serialize};

use super::seen::Seen;
use crate::{Error, ErrorKind, Result};

/// Every valid triplet of a batch: anchor, positive, negative.
///
/// **When to use it.** To look at the triplets, or for the angular loss of triplets on small
/// batches. **When not.** For the triplet loss: it takes all triplets of pairs by itself, and
/// without the list.
///
/// **Cost.** O(T) time and memory for T triplets, up to n^3; refused above 2^26.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct All {}

/// Most triplets of a list: 1 GiB.
const MOST: usize = 1 << 26;

impl All {
    #[allow(clippy::unused_self, reason = "as the other miners")]
    pub(super) fn mine(&self, seen: &Seen) -> Result<Triplets> {
        let of = |a| seen.positives(a).count() * seen.negatives(a).count();
        let count: usize = seen.anchors().map(of).sum();
        if count > MOST {
            return Err(Error::new(
                ErrorKind::Memory,
                format!("{count} triplets are more than {MOST}; use a smaller batch or a miner"),
            ));
        }
        let mut triplets = Triplets::default();
        for a in seen.anchors() {
            for p in seen.positives(a) {
                for n in seen.negatives(a) {
                    seen.push(&mut triplets, a, p, n);
                }
            }
        }
        Ok(triplets)
    }
}

/// The triplets of a collection whose three items are all in a batch, by their places there.
///
/// `items` are the items of the batch; of an item that is in it twice, the first counts.
///
/// ```
/// use likewise_nn::mine::of_batch;
/// let mut triplets = likewise::Triplets::default();
/// triplets.push(7, 3, 9, 1.0);
/// triplets.push(7, 3, 4, 1.0);
/// let batch = of_batch(&triplets, &[9, 7, 3]);
/// assert_eq!(batch.iter().collect::<Vec<_>>(), [(1, 2, 0, 1.0)]);
/// ```
pub fn of_batch(triplets: &Triplets, items: &[u32]) -> Triplets {
    let places: HashMap<u32, u32> = (items.iter().enumerate().rev())
        .map(|(place, &item)| (item, place as u32))
        .collect();
    let place = |item| places.get(&item).copied();
    let mut found = Triplets::default();
    for (a, p, n, weight) in triplets.iter() {
        if let (Some(a), Some(p), Some(n)) = (place(a), place(p), place(n)) {
            found.push(a, p, n, weight);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Batch, Triplet, reference};
    use crate::mine::Mine;

    #[test]
    fn listed_triplets_are_those_of_the_pairs() {
        let batch = Batch::from(reference::pairs());
        let mined = Mine::All(All {})
            .mine(&reference::batch(), batch, 0)
            .unwrap();
        let triplets = mined.triplets.unwrap();
        assert_eq!(triplets.len(), 24);
        let loss = Triplet { margin: 0.5 }.forward_triplets(reference::batch(), &triplets);
        reference::near(loss, 0.133_891_62);
    }
}
