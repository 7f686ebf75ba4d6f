//! Tuples from labels: random others of the same class, random items of other classes.
//!
//! Every labeled item is an anchor once. For pairs it draws at most `per_item` others of its
//! class, and as many of other classes; for triplets, at most `per_item` of all combinations of
//! the two. Draws are without replacement, and a pair that both its items draw is in once.
//!
//! **Use it** to write down, for another tool or another learner, what labels say. **Not**
//! before a learner that takes the labels themselves: it sees all pairs of each batch.
//!
//! Cost: O(n m log(n m)) in time and O(n m) in memory, m being `per_item`; never all pairs.
//!
//! Ours: nothing but the draw, which depends on the labels, `per_item` and the seed alone.

use serde::{Deserialize, Serialize};

use super::draw::Classes;
use super::{Pairs, Triplets};
use crate::{Labels, Monitor, Result};

/// Parameters of tuples from labels; see [`labels`](self).
///
/// ```
/// use likewise::tuple::FromLabels;
/// use likewise::{Labels, Monitor};
/// let labels = Labels::parse(["a", "b", "a", "", "b"]);
/// let monitor = Monitor::silent();
/// let pairs = FromLabels::new().per_item(9).seed(1).pairs(&labels, &monitor)?;
/// // Fewer than nine: two alike, four unlike, and item 3 in none.
/// assert_eq!(pairs.iter().filter(|pair| pair.2).count(), 2);
/// assert_eq!(pairs.len(), 6);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FromLabels {
    per_item: usize,
    seed: u64,
}

impl Default for FromLabels {
    fn default() -> Self {
        Self {
            per_item: 10,
            seed: 0,
        }
    }
}

impl FromLabels {
    /// At most ten positives and ten negatives an anchor, or ten triplets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Most positives and most negatives of an anchor; most triplets of one. At least 1.
    #[must_use]
    pub fn per_item(mut self, per_item: usize) -> Self {
        self.per_item = per_item;
        self
    }

    /// Seed of the draw.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Pairs of weight 1, each once, sorted by their smaller and their larger item.
    ///
    /// A class of one item gives no alike pairs, a single class no unlike ones. Fails where
    /// `per_item` is 0, and when cancelled.
    pub fn pairs(&self, labels: &Labels, monitor: &Monitor) -> Result<Pairs> {
        self.pairs_of(&classes(labels), monitor)
    }

    /// Triplets of weight 1, each once, sorted.
    ///
    /// A class of one item, and a single class, give none. Fails where `per_item` is 0, and when
    /// cancelled.
    pub fn triplets(&self, labels: &Labels, monitor: &Monitor) -> Result<Triplets> {
        self.triplets_of(&classes(labels), monitor)
    }

    pub(super) fn pairs_of(&self, classes: &Classes, monitor: &Monitor) -> Result<Pairs> {
        classes.pairs(self.per_item, self.seed, monitor)
    }

    pub(super) fn triplets_of(&self, classes: &Classes, monitor: &Monitor) -> Result<Triplets> {
        classes.triplets(self.per_item, self.seed, monitor)
    }
}

fn classes(labels: &Labels) -> Classes {
    Classes::new(labels.len(), |item| {
        labels[item].class().map(|class| (class, 1.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::random_labels;
    use proptest::prelude::*;

    fn silent() -> Monitor {
        Monitor::silent()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn enough_for_everybody_gives_all_pairs_and_triplets(
            n in 1_usize..30, classes in 1_u32..5, seed in 0_u64..1000,
        ) {
            let labels = random_labels(n, classes, seed);
            let class = |i: usize| labels[i].class();
            let known: Vec<usize> = (0..n).filter(|&i| class(i).is_some()).collect();
            let all = FromLabels::new().per_item(n * n).seed(seed);
            // Naive: every two, every three.
            let mut two = Vec::new();
            let mut three = Vec::new();
            for &a in &known {
                for &b in known.iter().filter(|&&b| b != a) {
                    if a < b {
                        two.push((a as u32, b as u32, class(a) == class(b), 1.0));
                    }
                    let unlike = known.iter().filter(|&&c| class(c) != class(a));
                    if class(a) == class(b) {
                        three.extend(unlike.map(|&c| (a as u32, b as u32, c as u32, 1.0)));
                    }
                }
            }
            let pairs = all.pairs(&labels, &silent()).unwrap();
            prop_assert_eq!(pairs.iter().collect::<Vec<_>>(), two);
            let triplets = all.triplets(&labels, &silent()).unwrap();
            prop_assert_eq!(triplets.iter().collect::<Vec<_>>(), three);
        }

        #[test]
        fn draws_are_true_bounded_and_each_once(
            n in 2_usize..60, classes in 1_u32..5, per_item in 1_usize..4, seed in 0_u64..1000,
        ) {
            let labels = random_labels(n, classes, seed);
            let class = |i: u32| labels[i as usize].class();
            let own = FromLabels::new().per_item(per_item).seed(seed);
            let of_class = |c| (0..n as u32).filter(move |&i| class(i) == c).count();
            let known = labels.n_known();
            let pairs = own.pairs(&labels, &silent()).unwrap();
            prop_assert!(pairs.check(n).is_ok() && pairs.contradiction().is_none());
            let listed: Vec<_> = pairs.iter().map(|p| (p.0, p.1)).collect();
            prop_assert!(listed.windows(2).all(|p| p[0] < p[1]));
            for (a, b, alike, _) in pairs.iter() {
                prop_assert!(a < b && class(a).is_some() && class(b).is_some());
                prop_assert_eq!(class(a) == class(b), alike);
            }
            let triplets = own.triplets(&labels, &silent()).unwrap();
            prop_assert!(triplets.check(n).is_ok());
            for i in (0..n as u32).filter(|&i| class(i).is_some()) {
                let (others, rest) = (of_class(class(i)) - 1, known - of_class(class(i)));
                let drawn = |kind| {
                    pairs.iter().filter(|&(a, b, y, _)| y == kind && (a == i || b == i)).count()
                };
                // Its own draws are among its pairs.
                prop_assert!(drawn(true) >= per_item.min(others));
                prop_assert!(drawn(false) >= per_item.min(rest));
                let as_anchor = triplets.iter().filter(|t| t.0 == i).count();
                prop_assert_eq!(as_anchor, per_item.min(others * rest));
            }
            for kind in [true, false] {
                prop_assert!(pairs.iter().filter(|p| p.2 == kind).count() <= known * per_item);
            }
            for (a, p, q, _) in triplets.iter() {
                prop_assert!(class(a) == class(p) && class(q).is_some_and(|c| Some(c) != class(a)));
            }
            let mut once: Vec<_> = triplets.iter().map(|t| (t.0, t.1, t.2)).collect();
            once.dedup();
            prop_assert_eq!(once.len(), triplets.len());
        }
    }

    #[test]
    fn every_other_item_is_drawn_as_often() {
        let labels = Labels::from_integers((0..40).map(|i| i % 2));
        let mut drawn = [0; 40];
        for seed in 0..400 {
            let triplets = FromLabels::new().per_item(1).seed(seed);
            for (a, p, n, _) in triplets.triplets(&labels, &silent()).unwrap().iter() {
                if a == 6 {
                    drawn[p as usize] += 1;
                    drawn[n as usize] += 1;
                }
            }
        }
        // 400 draws of 19 and of 20: 21 and 20 each, with a deviation of 4.5.
        assert_eq!(drawn[6], 0);
        let others = drawn.iter().enumerate().filter(|&(i, _)| i != 6);
        assert!(
            others.clone().all(|(_, &count)| (4..=42).contains(&count)),
            "{drawn:?}"
        );
    }

    #[test]
    fn one_class_single_items_and_no_labels_give_what_there_is() {
        let own = FromLabels::new();
        let one = Labels::from_integers([0, 0, 0]);
        let pairs = own.pairs(&one, &silent()).unwrap();
        assert!(pairs.len() == 3 && pairs.alike.iter().all(|&y| y));
        assert!(own.triplets(&one, &silent()).unwrap().is_empty());
        let single = Labels::from_integers([0, 1, 2, -1]);
        let pairs = own.pairs(&single, &silent()).unwrap();
        assert!(pairs.len() == 3 && pairs.alike.iter().all(|&y| !y));
        assert!(own.triplets(&single, &silent()).unwrap().is_empty());
        for none in [Labels::unknown(4), Labels::unknown(0)] {
            assert!(own.pairs(&none, &silent()).unwrap().is_empty());
            assert!(own.triplets(&none, &silent()).unwrap().is_empty());
        }
        let said = own.per_item(0).pairs(&one, &silent()).unwrap_err();
        assert!(said.to_string().starts_with("per_item = 0"), "{said}");
    }

    #[test]
    fn a_seed_is_a_draw() {
        let labels = Labels::from_integers((0..200).map(|i| i % 5));
        let drawn = |seed| {
            let own = FromLabels::new().per_item(2).seed(seed);
            (
                own.pairs(&labels, &silent()).unwrap(),
                own.triplets(&labels, &silent()).unwrap(),
            )
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1).0, drawn(2).0);
        assert_ne!(drawn(1).1, drawn(2).1);
    }
}
