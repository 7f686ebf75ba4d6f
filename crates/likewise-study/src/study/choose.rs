//! Choosing the epoch of a training that is kept, by labels that it does not learn from.

use likewise::linear::Affine;
use likewise::model::Model as Closed;
use likewise::{Labels, Monitor, matrix, seed};
use likewise_nn::Model;
use ndarray::{Array1, Array2};
use rand::seq::SliceRandom;

use super::believe::{Found, Source};
use super::ground::Ground;
use super::rounds::{Epoch, Rule, Score, Trained, Validation, Wanted, Why};
use super::setup::{MOST_COLUMNS, Setup};
use super::several::groups;
use super::train::Training;
use crate::recipe::{Keep, Learner};
use crate::{Error, ErrorKind, Result};

/// A model and how it was chosen.
pub(super) struct Chosen {
    pub(super) model: Model,
    /// That after the last epoch, where another one was chosen.
    pub(super) last: Option<Model>,
    pub(super) epoch: usize,
    pub(super) why: Why,
    /// The scores that the choice was made by.
    pub(super) curve: Vec<Option<Score>>,
    pub(super) log: Vec<Epoch>,
}

/// What is known before the last training.
#[derive(Default)]
struct Judged {
    /// The scores of each fold, by epoch.
    curves: Vec<Vec<Option<Score>>>,
    /// How the features as they are did, by fold or on the validation part.
    raw: Vec<Score>,
}

impl Judged {
    /// The scores of all folds, by epoch; none without folds.
    fn pooled(&self) -> Vec<Option<Score>> {
        // Folds may end at different epochs. Behind the first that does, other queries would be
        // asked.
        let epochs = self.curves.iter().map(Vec::len).min().unwrap_or(0);
        let pooled = |epoch: usize| {
            let at = |curve: &Vec<Option<Score>>| curve.get(epoch).copied().flatten();
            let scores: Vec<Score> = self.curves.iter().filter_map(at).collect();
            Score::pool(&scores)
        };
        (0..epochs).map(pooled).collect()
    }
}

impl Ground<'_> {
    /// Trains from `source` and chooses the epoch by validation: on the split's validation
    /// part; else by folds over the known labels (train on the others, ask the held-out
    /// ones among the others), after which all labels train together. Nothing is to choose where
    /// the last epoch is kept.
    pub(super) fn choose(
        &self,
        setup: &Setup,
        source: Source,
        known: &Labels,
        found: Option<&Found>,
        monitor: &Monitor,
    ) -> Result<Chosen> {
        let judged = self.judge(setup, source, known, monitor)?;
        // Folds choose before the last training begins; a validation part along with it.
        let folded = judged.pooled();
        let wanted = self.wanted(source, &folded, setup.enough);
        let training = Training {
            setup,
            name: "final",
            source,
            known,
            first: self.targets(setup, source, known, found, monitor)?,
            judge: None,
            wanted,
        };
        let trained = self.train(&training, monitor)?;
        let curve = if folded.is_empty() {
            trained.scores.clone()
        } else {
            folded
        };
        let (epoch, mut why) = self.settle(source, &curve, setup.enough);
        // The training may have ended earlier, or later, than those of the folds.
        let end = trained.scores.len().saturating_sub(1);
        let epoch = match wanted {
            Wanted::Last => end,
            Wanted::Epoch(_) | Wanted::Validated(_) => epoch.min(end),
        };
        let mut model = model_at(&trained, epoch)?;
        let judges =
            self.recipe.rounds.keep == Keep::NearBest && !matches!(why, Why::NoEvidence(_));
        if let (Some(raw), Some(Some(kept))) = (Score::pool(&judged.raw), curve.get(epoch))
            && judges
            && raw.clearly_above(kept)
            && let Some(as_they_are) = self.as_they_are()
        {
            (model, why) = (as_they_are, Why::RawFeatures);
        }
        let end = epoch == end && why != Why::RawFeatures;
        Ok(Chosen {
            model,
            last: trained.models.last().filter(|_| !end).cloned(),
            epoch,
            why,
            curve,
            log: trained.log,
        })
    }

    /// What can be said before the last training: the scores of the features as they are by the
    /// validation part; else these and a training for each fold over the known labels.
    fn judge(
        &self,
        setup: &Setup,
        source: Source,
        known: &Labels,
        monitor: &Monitor,
    ) -> Result<Judged> {
        let mut judged = Judged::default();
        if let Some(judge) = &setup.validation {
            let raw = self.score_raw(&judge.items, &judge.validation)?;
            judged.raw.extend(raw);
        } else if self.recipe.rounds.keep != Keep::Last {
            let folds = folds(known, self.recipe.rounds.folds, setup.seed);
            for (number, held_out) in folds.into_iter().enumerate() {
                let seen = known.masked(|i| held_out.binary_search(&i).is_err());
                let in_gallery = |&i: &usize| seen[i].class().is_some();
                let judge = Validation {
                    queries: held_out,
                    gallery: (0..known.len()).filter(in_gallery).collect(),
                    labels: known.clone(),
                };
                let name = format!("fold-{number}");
                let training = Training {
                    setup,
                    name: &name,
                    source,
                    known: &seen,
                    first: self.targets(setup, source, &seen, None, monitor)?,
                    judge: Some(&judge),
                    wanted: Wanted::Last,
                };
                judged.curves.push(self.train(&training, monitor)?.scores);
                let (places, judge) = judge.compact();
                let items: Vec<usize> = places.iter().map(|&p| self.train[p]).collect();
                judged.raw.extend(self.score_raw(&items, &judge)?);
            }
        }
        Ok(judged)
    }

    /// The epoch that the last training is for, by what folds found, if there are any.
    fn wanted(&self, source: Source, folded: &[Option<Score>], enough: usize) -> Wanted {
        if folded.is_empty() {
            return Wanted::Validated(self.recipe.rounds.keep);
        }
        match self.settle(source, folded, enough) {
            (epoch, Why::NoEvidence(_) | Why::Last) if epoch > 0 => Wanted::Last,
            (epoch, _) => Wanted::Epoch(epoch),
        }
    }

    /// The epoch to keep, and why.
    ///
    /// Where validation cannot tell, training has run to its end; but a head that gradients
    /// move is as likely to harm classes without labels as to help them, so that for these the
    /// start is kept by the careful rule ([`Keep::NearBest`]); the others never keep it.
    pub(super) fn settle(
        &self,
        source: Source,
        curve: &[Option<Score>],
        enough: usize,
    ) -> (usize, Why) {
        let rule = Rule {
            keep: self.recipe.rounds.keep,
            warm_up: source.warm_up(self.recipe),
        };
        let choice = rule.choose(curve, enough);
        let careful = self.disjoint && rule.keep == Keep::NearBest;
        let moved = !matches!(self.recipe.learner, Learner::Closed(_));
        match choice.why {
            Why::NoEvidence(_) if careful && moved => (0, choice.why),
            why => (choice.epoch, why),
        }
    }

    /// How the features as they are (read by the recipe's power) do on these items.
    fn score_raw(&self, items: &[usize], judge: &Validation) -> Result<Option<Score>> {
        judge.score(&matrix::l2_normalize(self.features(items)).into())
    }

    /// A model that leaves the features as they are, but for their length; none where there are
    /// too many columns for a matrix of them.
    pub(super) fn as_they_are(&self) -> Option<Model> {
        let columns = self.plan.features.ncols();
        let map = || Affine {
            mean: Array1::zeros(columns),
            matrix: Array2::eye(columns),
        };
        let reading = self.recipe.start.reading();
        (columns <= MOST_COLUMNS).then(|| Closed::linear(reading, map()).into())
    }
}

/// The model after this epoch, or the last one where the training ended before.
pub(super) fn model_at(trained: &Trained, epoch: usize) -> Result<Model> {
    let over = epoch + 1 >= trained.scores.len();
    let model = if over {
        trained.models.last()
    } else {
        trained.models.at(epoch)
    };
    let model = model.cloned();
    model.ok_or_else(|| Error::new(ErrorKind::Internal, "a training without a model"))
}

/// Divides the known items of each class into folds. A class with a single label stays in
/// training always; there are no folds if no class has two. Rare sets of tags are divided together.
fn folds(known: &Labels, folds: usize, seed: u64) -> Vec<Vec<usize>> {
    let by_class = groups(known, folds);
    let most = by_class.iter().map(Vec::len).max().unwrap_or(0);
    let folds = folds.min(most);
    if folds < 2 {
        return vec![];
    }
    let mut rng = seed::stream(seed, "folds");
    let mut held_out = vec![Vec::new(); folds];
    for mut members in by_class {
        members.shuffle(&mut rng);
        if members.len() > 1 {
            for (position, item) in members.into_iter().enumerate() {
                held_out[position % folds].push(item);
            }
        }
    }
    for fold in &mut held_out {
        fold.sort_unstable();
    }
    held_out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_hold_every_label_out_once_and_never_a_whole_class() {
        let known = Labels::from_integers([0, 0, 0, 1, 1, 2, -1, 0]);
        let folds = folds(&known, 3, 5);
        let mut all: Vec<usize> = folds.concat();
        all.sort_unstable();
        assert_eq!(
            all,
            [0, 1, 2, 3, 4, 7],
            "the lone label of class 2 stays in"
        );
        for fold in &folds {
            let seen = known.masked(|i| !fold.contains(&i));
            assert!(seen.by_class().iter().all(|members| !members.is_empty()));
        }
    }

    #[test]
    fn one_label_a_class_gives_no_folds() {
        assert!(folds(&Labels::from_integers([0, 1, 2]), 3, 0).is_empty());
        assert!(folds(&Labels::from_integers([0, 0]), 1, 0).is_empty());
    }
}
