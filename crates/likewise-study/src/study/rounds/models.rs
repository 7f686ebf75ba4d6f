//! The models of a training that may still be asked for.

use std::collections::BTreeMap;

use likewise_nn::{Device, Model};

use super::selection::{Mean, Rule, Score};
use crate::recipe::Keep;

/// Which model a training is asked for when it is over, beside its last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Wanted {
    /// No other.
    Last,
    /// That after this epoch.
    Epoch(usize),
    /// That which validation chooses in the end.
    Validated(Keep),
}

/// How many rounds there are, and what ends them.
pub(crate) struct Rounds<'a> {
    /// What the rounds are called: "training", "fitting".
    pub(crate) name: &'static str,
    pub(crate) epochs: usize,
    /// Rounds without a better validation score after which learning stops; 0: never.
    pub(crate) patience: usize,
    /// Effective rank below which learning stops as collapsed; 0: never.
    pub(crate) collapse: f64,
    /// Rounds on the known labels alone before pseudo-labels join: none is kept, and patience
    /// begins after them.
    pub(crate) warm_up: usize,
    /// Which model will be asked for.
    pub(crate) wanted: Wanted,
    /// Rounds that learn from the beliefs of one model, where these are asked for again.
    pub(crate) every: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) device: &'a Device,
}

/// Models by their epoch; 0 is the start. The last one is always among them.
///
/// A network of 100 MB and 30 epochs are 3 GB, in memory and in every checkpoint: so a model
/// goes as soon as nothing can ask for it any more.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Models(BTreeMap<usize, Model>);

impl Models {
    /// The start alone.
    pub(super) fn of_start(start: Model) -> Self {
        Self(BTreeMap::from([(0, start)]))
    }

    pub(crate) fn insert(&mut self, epoch: usize, model: Model) {
        self.0.insert(epoch, model);
    }

    /// The model after this epoch, if it was kept.
    pub(crate) fn at(&self, epoch: usize) -> Option<&Model> {
        self.0.get(&epoch)
    }

    pub(crate) fn last(&self) -> Option<&Model> {
        self.0.values().next_back()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Model)> {
        self.0.iter().map(|(epoch, model)| (*epoch, model))
    }

    /// Drops what neither the end nor the next epoch's targets can ask for; `scores` are those
    /// of all epochs so far.
    pub(super) fn prune(&mut self, rounds: &Rounds, scores: &[Option<Score>]) {
        let Some(last) = scores.len().checked_sub(1) else {
            return;
        };
        let mut kept = match rounds.wanted {
            Wanted::Last => vec![],
            // Up to there, the last one is it.
            Wanted::Epoch(epoch) => vec![epoch],
            Wanted::Validated(keep) => {
                let warm_up = rounds.warm_up;
                candidates(Rule { keep, warm_up }, scores)
            }
        };
        if let Some(every) = rounds.every {
            // The model that made the targets of this partition, for a training that resumes.
            kept.push(last - last % every.max(1));
        }
        self.0
            .retain(|&epoch, _| epoch == last || kept.contains(&epoch));
    }
}

/// Epochs that [`Rule::choose`] may still name, the last aside.
fn candidates(rule: Rule, scores: &[Option<Score>]) -> Vec<usize> {
    let open = rule.open(scores.len());
    let curve: Option<Vec<Score>> = open.iter().map(|&epoch| scores[epoch]).collect();
    let Some(curve) = curve else { return vec![0] };
    let kept = match rule.keep {
        Keep::Last => vec![],
        Keep::Best => {
            let at = |place: usize| (curve[place].precision.value, curve[place].map_at_r.value);
            let best = (1..curve.len())
                .reduce(|best, place| if at(place) > at(best) { place } else { best });
            best.into_iter().collect()
        }
        Keep::NearBest => [|s: &Score| s.precision, |s: &Score| s.map_at_r]
            .into_iter()
            .flat_map(|of| near_best(&curve.iter().map(of).collect::<Vec<Mean>>()))
            .collect(),
    };
    let epochs = kept.into_iter().map(|place| open[place]);
    std::iter::once(0).chain(epochs).collect()
}

/// Epochs that may be the last one within a standard error of the best in the end: none after
/// them is as good, and they are not too far below the best so far. The best may rise, and its
/// error with it; three times the largest error so far is more than that moves.
fn near_best(curve: &[Mean]) -> Vec<usize> {
    let best = curve.iter().map(|m| m.value).fold(f64::MIN, f64::max);
    let error = curve.iter().map(|m| m.error).fold(0.0, f64::max);
    let mut highest_after = f64::MIN;
    let mut kept = Vec::new();
    for (epoch, mean) in curve.iter().enumerate().rev() {
        if mean.value > highest_after && mean.value >= best - 3.0 * error {
            kept.push(epoch);
        }
        highest_after = highest_after.max(mean.value);
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ENOUGH;
    use super::*;

    fn curve(values: &[(f64, f64)], error: f64) -> Vec<Option<Score>> {
        let mean = |value| Mean { value, error };
        let score = |&(p, m): &(f64, f64)| Score {
            precision: mean(p),
            map_at_r: mean(m),
            queries: 80,
            informed: 80,
        };
        values.iter().map(|pair| Some(score(pair))).collect()
    }

    proptest! {
        #[test]
        fn what_is_chosen_in_the_end_was_kept_all_the_way(
            values in prop::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 1..30),
            error in 0.0..0.3_f64,
            best in any::<bool>(),
            warm_up in 0..6_usize,
        ) {
            let keep = if best { Keep::Best } else { Keep::NearBest };
            let rule = Rule { keep, warm_up };
            let curve = curve(&values, error);
            let chosen = rule.choose(&curve, ENOUGH).epoch;
            for so_far in chosen + 1..=curve.len() {
                let kept = candidates(rule, &curve[..so_far]);
                prop_assert!(kept.contains(&chosen) || chosen + 1 == so_far);
            }
        }
    }

    #[test]
    fn a_long_training_holds_a_few_models() {
        let values: Vec<(f64, f64)> = (0..1000)
            .map(|i| {
                (
                    f64::from(i * 37 % 1000) / 1e3,
                    f64::from(i * 73 % 1000) / 1e3,
                )
            })
            .collect();
        let rule = Rule {
            keep: Keep::NearBest,
            warm_up: 0,
        };
        let kept = candidates(rule, &curve(&values, 0.02));
        assert!(kept.len() < 60, "{}", kept.len());
        assert_eq!(candidates(rule, &vec![None; 9]), [0]);
    }
}
