//! What was voted: who voted, who won, and how sure that is.

use ndarray::Array2;
use rand::seq::SliceRandom;

use super::ballot::{Ballot, reliable};
use super::pruning::Pruned;
use crate::{Beliefs, Convergence, Labels, seed};

/// A classifier of a view, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The view it looks at, by its number.
    pub view: usize,
    /// Its [name](super::Base::name).
    pub classifier: &'static str,
    /// Its weight in the pruning.
    pub weight: f64,
    /// How often it was right on items that it had not learned from; NaN where nothing judged.
    pub accuracy: f64,
    /// Whether it votes on classes.
    pub kept: bool,
}

/// A vote on some items, after pruning.
#[derive(Debug, Clone, PartialEq)]
pub struct Election {
    /// Who was kept, and how often they were right together.
    pub pruned: Pruned,
    /// What they say of each item.
    pub ballots: Vec<Ballot>,
    /// Places among the items of those whose winners are taken for reliable, ascending.
    pub reliable: Vec<usize>,
    /// Share of the winner's votes in the confidence.
    pub(super) share: f64,
}

/// What is voted on for triplets.
#[derive(Debug, Clone, PartialEq)]
pub struct Others {
    /// The class of the farthest labeled item.
    pub far_class: Election,
    /// The nearest item without a label, by its place among [`Voted::items`].
    pub nearest: Election,
    /// The farthest item without a label.
    pub farthest: Election,
}

/// What was voted on all items without a label.
#[derive(Debug, Clone, PartialEq)]
pub struct Voted {
    /// The labels that were known.
    pub labels: Labels,
    /// All classifiers, view by view.
    pub members: Vec<Member>,
    /// The items without a label, ascending.
    pub items: Vec<usize>,
    /// The class that each classifier (a column) says of each of these (a row).
    pub votes: Array2<u32>,
    /// The vote on classes.
    pub class: Election,
    /// The other votes, where they were wanted and there are two items to compare.
    pub others: Option<Others>,
}

impl Election {
    pub(super) fn hold(said: &Array2<u32>, pruned: Pruned, share: f64, seed: u64) -> Self {
        // Where as many say one thing as another, who is heard first decides: by lot, item by item.
        let mut rng = seed::stream(seed, "votes ties");
        let mut heard = pruned.kept.clone();
        let ballot = |votes: ndarray::ArrayView1<u32>| {
            heard.shuffle(&mut rng);
            Ballot::count(heard.iter().map(|&j| (votes[j], pruned.weights[j])))
        };
        let ballots: Vec<Ballot> = said.rows().into_iter().map(ballot).collect();
        Self {
            reliable: reliable(&ballots, pruned.accuracy, share, seed),
            pruned,
            ballots,
            share,
        }
    }

    /// How sure the vote on the item at this place is, 0 to 1.
    pub fn confidence(&self, place: usize) -> f64 {
        self.ballots[place].score(self.share)
    }
}

impl Pruned {
    /// All of `m` classifiers, where nothing judges them.
    pub(super) fn unjudged(m: usize) -> Self {
        Self {
            weights: vec![1.0; m],
            accuracies: vec![f64::NAN; m],
            order: (0..m).collect(),
            kept: (0..m).collect(),
            curve: vec![],
            accuracy: 1.0,
        }
    }
}

impl Voted {
    /// The items whose class is taken for reliable, ascending.
    pub fn reliable(&self) -> Vec<usize> {
        let item = |&place: &usize| self.items[place];
        self.class.reliable.iter().map(item).collect()
    }

    /// One row an item: shares of the votes as scores, the winner as pseudo-label, and the
    /// confidence; that of labeled items is 1, that of items that are none of the classes 0.
    pub fn beliefs(&self) -> Beliefs {
        let n = self.labels.len();
        let mut scores = Array2::zeros((n, self.labels.n_classes()));
        let mut pseudo_label = vec![None; n];
        let mut confidence = vec![0.0; n];
        let mut labeled = vec![false; n];
        for (item, label) in self.labels.items().iter().enumerate() {
            if let Some(class) = label.class() {
                scores[(item, class as usize)] = 1.0;
                pseudo_label[item] = Some(class);
                confidence[item] = 1.0;
                labeled[item] = true;
            }
        }
        let each = 1.0 / self.class.pruned.kept.len() as f64;
        for (place, &item) in self.items.iter().enumerate() {
            for &member in &self.class.pruned.kept {
                scores[(item, self.votes[(place, member)] as usize)] += each;
            }
            pseudo_label[item] = Some(self.class.ballots[place].winner);
            confidence[item] = self.class.confidence(place) as f32;
        }
        Beliefs {
            scores,
            pseudo_label,
            confidence,
            labeled,
            convergence: Convergence {
                converged: true,
                ..Convergence::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn a_tie_of_equal_voters_is_drawn_item_by_item() {
        let votes = Array2::from_shape_fn((400, 2), |(_, voter)| 3 - voter as u32);
        let winners = |seed: u64| -> Vec<u32> {
            let held = Election::hold(&votes, Pruned::unjudged(2), 0.5, seed);
            held.ballots.iter().map(|ballot| ballot.winner).collect()
        };
        let found = winners(1);
        let low = found.iter().filter(|&&winner| winner == 2).count();
        assert!((160..=240).contains(&low), "{low} of 400");
        assert_eq!(found, winners(1));
        assert_ne!(found, winners(2));
    }

    #[test]
    fn shares_and_confidences_by_hand() {
        let labels = Labels::parse(["a", "", "b", "", "-2"]);
        let votes = array![[0, 0, 1, 0], [1, 0, 1, 0]];
        let pruned = Pruned {
            weights: vec![0.1, 0.2, 0.4, 0.3],
            accuracies: vec![0.5; 4],
            order: vec![2, 3, 1, 0],
            kept: vec![2, 3, 1],
            curve: vec![0.5; 4],
            accuracy: 0.5,
        };
        let class = Election::hold(&votes, pruned, 0.5, 1);
        let voted = Voted {
            labels,
            members: vec![],
            items: vec![1, 3],
            votes,
            class,
            others: None,
        };
        let beliefs = voted.beliefs();
        let labels = [Some(0), Some(0), Some(1), Some(0), None];
        assert_eq!(beliefs.pseudo_label, labels);
        // Both have two of three votes and lead by one: (2/3 + 1/3) / 2.
        assert_eq!(beliefs.confidence, [1.0, 0.5, 1.0, 0.5, 0.0]);
        assert!((beliefs.scores[(1, 0)] - 2.0 / 3.0).abs() < 1e-12);
        assert!((beliefs.scores[(1, 1)] - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(beliefs.labeled, [true, false, true, false, false]);
        // Half of two are reliable. Both winners have voters of weight .2 + .3, so the seed draws.
        let reliable = voted.reliable();
        assert!(reliable == [1] || reliable == [3], "{reliable:?}");
    }
}
