//! Counting votes: who wins, how clearly, and which winners are taken for reliable.
//!
//! ```text
//! max = v_1 / B       margin = (v_1 - v_2) / B       v_1 >= v_2: the two largest counts of B votes
//! ```

use rand::seq::SliceRandom;
use statrs::function::factorial::ln_binomial;

use crate::seed;

/// What all voters say of one item.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ballot {
    /// What most say; of several, that whose voters weigh more, then what was said first.
    pub winner: u32,
    /// The next of them by the same rule, where not all say the same.
    pub runner_up: Option<u32>,
    /// Votes of the winner.
    pub first: usize,
    /// Votes of the next, 0 where there is none.
    pub second: usize,
    /// Sum of the weights of the winner's voters.
    pub weight: f64,
    /// Number of all votes.
    pub cast: usize,
}

impl Ballot {
    /// Counts votes, each with the weight of its voter; there is at least one.
    ///
    /// ```
    /// use likewise::ensemble::Ballot;
    /// // Two say 0, with more weight than the two who say 2.
    /// let votes = [(2, 0.1), (0, 0.4), (2, 0.2), (1, 0.3), (0, 0.3)];
    /// let ballot = Ballot::count(votes);
    /// assert_eq!((ballot.winner, ballot.runner_up), (0, Some(2)));
    /// assert_eq!((ballot.max(), ballot.margin()), (0.4, 0.0));
    /// ```
    pub fn count(votes: impl IntoIterator<Item = (u32, f64)>) -> Self {
        let places = votes.into_iter().enumerate();
        let mut votes: Vec<(u32, f64, usize)> = places.map(|(at, (v, w))| (v, w, at)).collect();
        // By weight too, so that a sum does not depend on who comes first.
        votes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut counted: Vec<(usize, f64, usize, u32)> = votes
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| {
                let first = same.iter().map(|v| v.2).min().unwrap_or(0);
                (same.len(), same.iter().map(|v| v.1).sum(), first, same[0].0)
            })
            .collect();
        counted.sort_by(|a, b| {
            let by_count = b.0.cmp(&a.0);
            by_count.then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2))
        });
        let (first, weight, _, winner) = counted.first().copied().unwrap_or_default();
        let next = counted.get(1);
        Self {
            winner,
            runner_up: next.map(|next| next.3),
            first,
            second: next.map_or(0, |next| next.0),
            weight,
            cast: votes.len(),
        }
    }

    /// Share of the votes that the winner has.
    pub fn max(&self) -> f64 {
        self.first as f64 / self.cast as f64
    }

    /// By what share of the votes it leads the next.
    pub fn margin(&self) -> f64 {
        (self.first - self.second) as f64 / self.cast as f64
    }

    /// `share max + (1 - share) margin`.
    pub fn score(&self, share: f64) -> f64 {
        share * self.max() + (1.0 - share) * self.margin()
    }
}

/// The places of the ballots that are taken for reliable: as many of the highest score as `accuracy` says
/// are right, a half rounded up. Ties go to the heavier winner, then by lot: the first places of items that
/// are sorted by class would be one class. Ascending.
pub(super) fn reliable(ballots: &[Ballot], accuracy: f64, share: f64, seed: u64) -> Vec<usize> {
    let most = (ballots.len() as f64 * accuracy + 0.5).floor() as usize;
    let mut order: Vec<usize> = (0..ballots.len()).collect();
    order.shuffle(&mut seed::stream(seed, "votes reliable"));
    // What compares as equal stays in the drawn order.
    order.sort_by(|&a, &b| {
        let (own, other) = (&ballots[a], &ballots[b]);
        let by_score = other.score(share).total_cmp(&own.score(share));
        by_score.then(other.weight.total_cmp(&own.weight))
    });
    order.truncate(most);
    order.sort_unstable();
    order
}

/// What is said most often, the smallest of several; 0 where nothing is said.
pub(super) fn most_frequent(said: impl Iterator<Item = u32>) -> u32 {
    let mut said: Vec<u32> = said.collect();
    said.sort_unstable();
    Ballot::count(said.into_iter().map(|said| (said, 0.0))).winner
}

/// The chance that most of `2 k + 1` voters are right, if each is with probability `p` and errs
/// by itself: sum over `i > k` of `C(2k+1, i) p^i (1-p)^(2k+1-i)`.
///
/// ```
/// use likewise::ensemble::majority_is_right;
/// assert!((majority_is_right(3, 0.6) - 0.648).abs() < 1e-12);
/// // Many who are a little better than chance are right together.
/// assert!(majority_is_right(101, 0.6) > 0.97);
/// ```
pub fn majority_is_right(voters: u64, p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return f64::from(u8::from(p >= 1.0));
    }
    let term = |right: u64| {
        let wrong = voters - right;
        (ln_binomial(voters, right) + right as f64 * p.ln() + wrong as f64 * (1.0 - p).ln()).exp()
    };
    (voters / 2 + 1..=voters).map(term).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ballot(first: usize, second: usize, weight: f64) -> Ballot {
        Ballot {
            winner: 0,
            runner_up: (second > 0).then_some(1),
            first,
            second,
            weight,
            cast: 10,
        }
    }

    #[test]
    fn the_numbers_of_items_that_the_paper_selects() {
        // Its unlabeled items and accuracies: Corel, ImageCLEF and Indoor, of classes and of items.
        let counts = [
            (150, 0.46, 69),
            (150, 0.56, 84),
            (120, 101.0 / 120.0, 101),
            (90, 0.5, 45),
            (4, 0.375, 2),
        ];
        for (n, accuracy, expected) in counts {
            let same = vec![ballot(6, 1, 0.0); n];
            assert_eq!(reliable(&same, accuracy, 0.5, 1).len(), expected);
        }
        assert!(reliable(&[ballot(6, 1, 0.0)], 0.0, 0.5, 1).is_empty());
    }

    #[test]
    fn of_equal_counts_and_weights_the_first_said_wins() {
        let said = |votes: &[u32]| Ballot::count(votes.iter().map(|&v| (v, 0.5))).winner;
        assert_eq!((said(&[4, 1, 1, 4]), said(&[1, 4, 4, 1])), (4, 1));
        assert_eq!(most_frequent([4, 1, 1, 4].into_iter()), 1);
        assert_eq!(most_frequent([].into_iter()), 0);
    }

    #[test]
    fn equals_are_drawn_by_the_seed_and_not_the_first() {
        let same = vec![ballot(6, 1, 0.0); 1000];
        let found = reliable(&same, 0.2, 0.5, 1);
        assert!(found.is_sorted() && found.len() == 200);
        assert_eq!(found, reliable(&same, 0.2, 0.5, 1));
        assert_ne!(found, reliable(&same, 0.2, 0.5, 2));
        let early = found.iter().filter(|&&place| place < 500).count();
        assert!((70..=130).contains(&early), "{early} of 200");
    }

    #[test]
    fn scores_order_and_heavier_winners_come_first() {
        let ballots = [
            ballot(6, 4, 0.0), // max .6, margin .2
            ballot(5, 1, 0.1), // max .5, margin .4
            ballot(5, 1, 0.2),
        ];
        assert_eq!(reliable(&ballots, 1.0 / 3.0, 1.0, 1), [0]);
        assert_eq!(reliable(&ballots, 1.0 / 3.0, 0.0, 1), [2]);
        assert_eq!(reliable(&ballots, 2.0 / 3.0, 0.5, 1), [1, 2]);
        assert!((ballots[0].score(0.5) - 0.4).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn counted_as_by_a_table(votes in prop::collection::vec((0_u32..5, 0.0_f64..1.0), 1..30)) {
            let found = Ballot::count(votes.iter().copied());
            let count = |c: u32| votes.iter().filter(|v| v.0 == c).count();
            let weight = |c: u32| votes.iter().filter(|v| v.0 == c).map(|v| v.1).sum::<f64>();
            for c in 0..5 {
                prop_assert!(count(c) <= found.first);
                if count(c) == found.first && c != found.winner {
                    prop_assert!(weight(c) <= found.weight + 1e-12);
                    prop_assert_eq!(found.second, found.first);
                }
            }
            prop_assert_eq!((count(found.winner), votes.len()), (found.first, found.cast));
            let next = found.runner_up.map_or(0, count);
            prop_assert_eq!(next, found.second);
            prop_assert!((weight(found.winner) - found.weight).abs() < 1e-12);
        }
    }
}
