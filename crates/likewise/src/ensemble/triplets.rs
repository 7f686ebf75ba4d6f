//! Triplets of the items that votes are sure of, beside those of the labels.
//!
//! | kind | anchor | nearer | farther | how many |
//! |---|---|---|---|---|
//! | `lll` | a labeled item | any other of its class | any of another class | all |
//! | `ull` | an item whose class is voted reliably | the labeled items of that class | those of the class voted farthest | all combinations |
//! | `uuu` | an item whose nearest is voted reliably | the item voted nearest | the item voted farthest | one |
//!
//! All three are joined, those that stand twice are dropped, and the rest is shuffled, since learners
//! such as OMKS go through triplets in their order. Each weighs 1.
//!
//! **Use it** for learners of triplets. **Not** for thousands of labels: of `lll` there are as many as
//! labels times others of a class times those of other classes; above `most` a part is drawn.
//!
//! Cost: O(t log t) for `t` triplets.
//!
//! Source: Liang et al. (TMM 2017), section III-D. Where the class voted farthest is also the one
//! voted nearest, the next in that vote is taken, and without one the item is left out. Ours: the bounds,
//! and that `uuu` has the one nearest and the one farthest item.

use rand::seq::SliceRandom;
use rand::seq::index::sample;
use serde::{Deserialize, Serialize};

use super::voted::{Others, Voted};
use crate::seed::Rng;
use crate::tuple::ranked::{Ranked, Triple};
use crate::{Error, Result, Triplets, seed};

/// Parameters of triplets from votes; see [`triplets`](self).
///
/// ```
/// use likewise::ensemble::{FromVotes, Votes, Wanted};
/// use likewise::{Labels, Monitor};
/// let x = ndarray::Array2::from_shape_fn((12, 2), |(i, j)| (i % 2 * 9 + (i * 5 + j) % 3) as f32);
/// let labels = Labels::from_integers((0..12).map(|i| if i < 6 { i % 2 } else { -1 }));
/// let (votes, monitor) = (Votes::new(), Monitor::silent());
/// let voted = votes.vote(&[x.view()], &labels, None, Wanted::Triplets, 1, &monitor)?;
/// let triplets = FromVotes::new().triplets(&voted, 1)?;
/// // Six labels with two others of their class and three of another are 36; with six items more.
/// assert!(triplets.len() > 36);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FromVotes {
    lll: bool,
    ull: bool,
    uuu: bool,
    per_anchor: usize,
    most: usize,
}

impl Default for FromVotes {
    fn default() -> Self {
        Self {
            lll: true,
            ull: true,
            uuu: true,
            per_anchor: 500,
            most: 500_000,
        }
    }
}

impl FromVotes {
    /// All three kinds, at most 500 an anchor without a label and 500,000 of labels alone: more than the
    /// source has.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether labeled items are anchors.
    #[must_use]
    pub fn lll(mut self, lll: bool) -> Self {
        self.lll = lll;
        self
    }

    /// Whether unlabeled items are compared with labeled ones.
    #[must_use]
    pub fn ull(mut self, ull: bool) -> Self {
        self.ull = ull;
        self
    }

    /// Whether unlabeled items are compared with each other.
    #[must_use]
    pub fn uuu(mut self, uuu: bool) -> Self {
        self.uuu = uuu;
        self
    }

    /// Most triplets of an unlabeled anchor with labeled items, at least 1.
    #[must_use]
    pub fn per_anchor(mut self, per_anchor: usize) -> Self {
        self.per_anchor = per_anchor;
        self
    }

    /// Most triplets of labeled items, at least 1.
    #[must_use]
    pub fn most(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// Checks every parameter.
    pub fn validate(&self) -> Result<()> {
        if !(self.lll || self.ull || self.uuu) {
            let rule = "of lll, ull and uuu at least one must be true";
            return Err(Error::parameter("triplets.lll", false, rule));
        }
        for (field, value) in [
            ("triplets.per_anchor", self.per_anchor),
            ("triplets.most", self.most),
        ] {
            if value == 0 {
                return Err(Error::parameter(field, 0, "must be at least 1"));
            }
        }
        Ok(())
    }

    /// The triplets, by the rows that were voted on.
    ///
    /// Fails on a parameter out of its range, and on votes without those for triplets where there
    /// are items to compare.
    pub fn triplets(&self, voted: &Voted, seed: u64) -> Result<Triplets> {
        self.validate()?;
        let mut rng = seed::stream(seed, "triplets of votes");
        let mut found = Vec::new();
        if self.lll {
            let classes = voted.labels.by_class().into_iter();
            let items = |own: Vec<usize>| own.into_iter().map(|item| item as u32);
            found.extend(Ranked::new(classes.map(items)).at_most(self.most, &mut rng));
        }
        match &voted.others {
            Some(others) => {
                if self.ull {
                    self.of_classes(voted, others, &mut found, &mut rng);
                }
                if self.uuu {
                    of_items(voted, others, &mut found);
                }
            }
            None if voted.items.len() > 1 && (self.ull || self.uuu) => {
                return Err(Error::data(
                    "triplets need votes on the farthest class and on items; ask for them",
                ));
            }
            None => {}
        }
        found.sort_unstable();
        found.dedup();
        found.shuffle(&mut rng);
        let mut triplets = Triplets::default();
        for (anchor, positive, negative) in found {
            triplets.push(anchor, positive, negative, 1.0);
        }
        Ok(triplets)
    }

    fn of_classes(&self, voted: &Voted, others: &Others, found: &mut Vec<Triple>, rng: &mut Rng) {
        let by_class = voted.labels.by_class();
        for &place in &voted.class.reliable {
            let near = voted.class.ballots[place].winner;
            let ballot = &others.far_class.ballots[place];
            let candidates = [Some(ballot.winner), ballot.runner_up];
            let Some(far) = candidates.into_iter().flatten().find(|&c| c != near) else {
                continue;
            };
            let (positives, negatives) = (&by_class[near as usize], &by_class[far as usize]);
            let whole = positives.len() * negatives.len();
            let anchor = voted.items[place] as u32;
            let at = |number: usize| {
                let positive = positives[number / negatives.len()];
                (
                    anchor,
                    positive as u32,
                    negatives[number % negatives.len()] as u32,
                )
            };
            if whole <= self.per_anchor {
                found.extend((0..whole).map(at));
            } else {
                found.extend(sample(rng, whole, self.per_anchor).iter().map(at));
            }
        }
    }
}

fn of_items(voted: &Voted, others: &Others, found: &mut Vec<Triple>) {
    let item = |place: u32| voted.items[place as usize] as u32;
    for &place in &others.nearest.reliable {
        let near = others.nearest.ballots[place].winner;
        let far = others.farthest.ballots[place].winner;
        if near != far {
            found.push((item(place as u32), item(near), item(far)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::ballot::Ballot;
    use super::super::pruning::Pruned;
    use super::super::voted::Election;
    use super::*;
    use crate::Labels;
    use proptest::prelude::*;

    fn election(winners: &[(u32, Option<u32>)], reliable: &[usize]) -> Election {
        let ballot = |&(winner, runner_up): &(u32, Option<u32>)| Ballot {
            winner,
            runner_up,
            first: 2,
            second: 1,
            weight: 0.0,
            cast: 3,
        };
        Election {
            pruned: Pruned::unjudged(3),
            ballots: winners.iter().map(ballot).collect(),
            reliable: reliable.to_vec(),
            share: 0.5,
        }
    }

    fn voted(labels: Labels) -> Voted {
        let items = (0..labels.len()).filter(|&i| labels[i].class().is_none());
        Voted {
            items: items.collect(),
            labels,
            members: vec![],
            votes: ndarray::Array2::zeros((0, 0)),
            class: election(&[], &[]),
            others: None,
        }
    }

    fn set(triplets: &Triplets) -> BTreeSet<Triple> {
        triplets.iter().map(|(a, p, n, _)| (a, p, n)).collect()
    }

    #[test]
    fn the_three_kinds_by_hand() {
        // Labeled: 0 and 1 of class 0, 2 of class 1, 3 of class 2. Items 4, 5, 6.
        let own = Voted {
            class: election(&[(0, None), (1, None), (0, None)], &[0, 1]),
            others: Some(Others {
                // Of item 5 the farthest class is also its own, and the next is 2.
                far_class: election(&[(1, None), (1, Some(2)), (2, None)], &[]),
                nearest: election(&[(2, None), (0, None), (1, None)], &[0, 2]),
                farthest: election(&[(1, None), (2, None), (1, None)], &[]),
            }),
            ..voted(Labels::parse(["a", "a", "b", "c", "", "", ""]))
        };
        let of = |how: FromVotes| set(&how.triplets(&own, 1).unwrap());
        let none = FromVotes::new().lll(false).ull(false).uuu(false);
        assert!(none.validate().is_err());
        let lll = [(0, 1, 2), (0, 1, 3), (1, 0, 2), (1, 0, 3)];
        assert_eq!(of(none.lll(true)), BTreeSet::from(lll));
        // 4 is of class 0 and far from class 1; 5 is of class 1 and far from 2; 6 is not reliable.
        let ull = [(4, 0, 2), (4, 1, 2), (5, 2, 3)];
        assert_eq!(of(none.ull(true)), BTreeSet::from(ull));
        // The nearest and the farthest of 6 are the same, and teach nothing.
        assert_eq!(of(none.uuu(true)), BTreeSet::from([(4, 6, 5)]));
        let all = FromVotes::new().triplets(&own, 1).unwrap();
        assert_eq!((all.len(), set(&all).len()), (8, 8));
        all.check(7).unwrap();
        assert_eq!(all, FromVotes::new().triplets(&own, 1).unwrap());
        assert_ne!(all, FromVotes::new().triplets(&own, 2).unwrap());
        let few = FromVotes::new()
            .per_anchor(1)
            .most(3)
            .triplets(&own, 1)
            .unwrap();
        assert_eq!(few.len(), 3 + 2 + 1);
    }

    #[test]
    fn votes_without_those_for_triplets_are_refused() {
        let own = voted(Labels::parse(["a", "b", "", ""]));
        let said = FromVotes::new().triplets(&own, 0).unwrap_err().to_string();
        assert!(said.contains("farthest class"), "{said}");
        let labels = FromVotes::new().ull(false).uuu(false);
        assert!(labels.triplets(&own, 0).unwrap().is_empty());
        // A single item has nothing to be compared with.
        let lone = voted(Labels::parse(["a", "b", "a", ""]));
        assert_eq!(FromVotes::new().triplets(&lone, 0).unwrap().len(), 2);
    }

    proptest! {
        #[test]
        fn all_triplets_of_labels(classes in prop::collection::vec(-1_i64..3, 1..12)) {
            let labels = Labels::from_integers(classes.iter().copied());
            let mut own = BTreeSet::new();
            let class = |i: usize| labels[i].class();
            let known: Vec<usize> = (0..labels.len()).filter(|&i| class(i).is_some()).collect();
            for &a in &known {
                for &p in known.iter().filter(|&&p| p != a && class(p) == class(a)) {
                    for &n in known.iter().filter(|&&n| class(n) != class(a)) {
                        own.insert((a as u32, p as u32, n as u32));
                    }
                }
            }
            let how = FromVotes::new().ull(false).uuu(false);
            let found = how.triplets(&voted(labels.clone()), 5).unwrap();
            prop_assert_eq!(set(&found), own.clone());
            let part = how.most(3).triplets(&voted(labels), 5).unwrap();
            prop_assert_eq!(part.len(), own.len().min(3));
            prop_assert!(set(&part).is_subset(&own));
        }
    }
}
