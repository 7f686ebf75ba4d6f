//! Tuples from beliefs: random others of the same pseudo-label, random items of others, weighted
//! by how sure all of them are.
//!
//! ```text
//! w(a, b) = c_a c_b        w(a, p, n) = c_a c_p c_n        c: confidence, 1 on labeled items
//! ```
//!
//! Every item that a label reaches is an anchor once, and draws as in [labels](super::labels).
//! Items of confidence 0 are in no tuple.
//!
//! **Use it** to hand propagated labels to a learner of pairs or triplets. **Not** where
//! confidences are far from true: a wrong pseudo-label is wrong in all tuples of its item.
//!
//! Cost: that of [labels](super::labels).
//!
//! Ours: the weight. It is the chance that all pseudo-labels of the tuple are right, if they err
//! independently.

use serde::{Deserialize, Serialize};

use super::draw::Classes;
use super::{FromLabels, Pairs, Triplets};
use crate::{Beliefs, Error, Monitor, Result};

/// Parameters of tuples from beliefs; see [`beliefs`](self).
///
/// ```
/// use likewise::propagate::{Lgc, Propagate};
/// use likewise::tuple::FromBeliefs;
/// use likewise::{Graph, Labels, Monitor};
/// let monitor = Monitor::silent();
/// // The path 0-1-2-3.
/// let graph = Graph::new(vec![0, 1, 3, 5, 6], vec![1, 0, 2, 1, 3, 2], vec![1.0; 6])?;
/// let beliefs = Lgc::new().propagate(&graph, &Labels::parse(["a", "", "", "b"]), &monitor)?;
/// let pairs = FromBeliefs::new().per_item(1).pairs(&beliefs, &monitor)?;
/// assert!(pairs.iter().any(|(a, b, alike, w)| (a, b, alike) == (0, 1, true) && w < 1.0));
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FromBeliefs {
    draw: FromLabels,
}

impl FromBeliefs {
    /// At most ten positives and ten negatives an anchor, or ten triplets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Most positives and most negatives of an anchor; most triplets of one. At least 1.
    #[must_use]
    pub fn per_item(mut self, per_item: usize) -> Self {
        self.draw = self.draw.per_item(per_item);
        self
    }

    /// Seed of the draw.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.draw = self.draw.seed(seed);
        self
    }

    /// Pairs, each once, sorted by their smaller and their larger item.
    ///
    /// Fails on beliefs whose lengths disagree, on a confidence outside of [0, 1], where
    /// `per_item` is 0, and when cancelled.
    pub fn pairs(&self, beliefs: &Beliefs, monitor: &Monitor) -> Result<Pairs> {
        self.draw.pairs_of(&classes(beliefs)?, monitor)
    }

    /// Triplets, each once, sorted. Fails as [`pairs`](Self::pairs).
    pub fn triplets(&self, beliefs: &Beliefs, monitor: &Monitor) -> Result<Triplets> {
        self.draw.triplets_of(&classes(beliefs)?, monitor)
    }
}

fn classes(beliefs: &Beliefs) -> Result<Classes> {
    let (n, sure) = (beliefs.pseudo_label.len(), beliefs.confidence.len());
    if n != sure {
        return Err(Error::data(format!(
            "{n} pseudo-labels and {sure} confidences; one of each an item is needed"
        )));
    }
    if let Some(item) = (beliefs.confidence.iter()).position(|c| !(0.0..=1.0).contains(c)) {
        return Err(Error::data(format!(
            "the confidence of item {item} is {}; it must be from 0 to 1",
            beliefs.confidence[item]
        )));
    }
    Ok(Classes::new(n, |item| {
        let sure = beliefs.confidence[item];
        let class = beliefs.pseudo_label[item].filter(|_| sure > 0.0)?;
        Some((class, sure))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Convergence, Labels};
    use ndarray::Array2;
    use proptest::prelude::*;

    fn beliefs(said: &[(Option<u32>, f32)]) -> Beliefs {
        Beliefs {
            scores: Array2::zeros((said.len(), 3)),
            pseudo_label: said.iter().map(|s| s.0).collect(),
            confidence: said.iter().map(|s| s.1).collect(),
            labeled: vec![false; said.len()],
            convergence: Convergence::default(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn tuples_are_those_of_the_reached_items_with_the_product_of_confidences(
            said in prop::collection::vec((prop::option::of(0_u32..3), 0_u8..5), 0..25),
            per_item in 1_usize..4, seed in 0_u64..100,
        ) {
            let said: Vec<(Option<u32>, f32)> =
                said.into_iter().map(|(c, w)| (c, f32::from(w) / 4.0)).collect();
            let beliefs = beliefs(&said);
            let reached = |&(class, sure): &(Option<u32>, f32)| match class {
                Some(class) if sure > 0.0 => i64::from(class),
                _ => -1,
            };
            let labels = Labels::from_integers(said.iter().map(reached));
            let monitor = Monitor::silent();
            let own = FromBeliefs::new().per_item(per_item).seed(seed);
            let plain = FromLabels::new().per_item(per_item).seed(seed);
            let sure = |i: u32| said[i as usize].1;
            let found = own.pairs(&beliefs, &monitor).unwrap();
            let mut expected = plain.pairs(&labels, &monitor).unwrap();
            expected.weights = expected.iter().map(|(a, b, ..)| sure(a) * sure(b)).collect();
            prop_assert_eq!(found, expected);
            let found = own.triplets(&beliefs, &monitor).unwrap();
            let mut expected = plain.triplets(&labels, &monitor).unwrap();
            expected.weights =
                expected.iter().map(|(a, p, n, _)| sure(a) * sure(p) * sure(n)).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn broken_beliefs_are_refused() {
        let monitor = Monitor::silent();
        let own = FromBeliefs::new();
        let message = |b: &Beliefs| own.pairs(b, &monitor).unwrap_err().to_string();
        let mut short = beliefs(&[(Some(0), 1.0), (Some(0), 1.0)]);
        short.confidence.pop();
        assert!(message(&short).contains("2 pseudo-labels and 1 confidences"));
        for bad in [f32::NAN, -0.5, 1.5] {
            let said = message(&beliefs(&[(Some(0), 1.0), (None, bad)]));
            assert!(said.contains("of item 1"), "{said}");
        }
        let none = own.per_item(0).triplets(&beliefs(&[]), &monitor);
        assert!(none.unwrap_err().to_string().contains("per_item"));
    }
}
