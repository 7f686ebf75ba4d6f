//! Given pairs and triplets: which learner takes them, and which of them a training may see.

use likewise::learn::{self, Fit as _, Need, Targets};
use likewise::model::Model as Closed;
use likewise::tuple::Tuples;
use likewise::{Labels, Monitor, Pairs, Triplets};
use serde::{Deserialize, Serialize};

use super::believe::Source;
use super::ground::Ground;
use super::plan::Plan;
use super::protocol::SplitKind;
use super::rounds::{Validation, Wanted};
use super::setup::{FIRST_DRAW, REFIT, START, Setup};
use super::train::Training;
use crate::recipe::{Learner, PseudoLabels, Recipe};
use crate::{Error, Model, Result, usage};

/// The kind of the tuples that are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TupleKind {
    /// Pairs, alike or unlike.
    Pairs,
    /// Comparisons of three.
    Triplets,
}

impl Recipe {
    /// Fails where what this recipe learns by cannot use tuples of this kind, or has nothing to learn by without
    /// any: to be asked before anything is read.
    pub fn check_tuples(&self, kind: Option<TupleKind>) -> Result<()> {
        let Some(kind) = kind else {
            return self.check_needs_none();
        };
        if self.rounds.epochs == 0 {
            return Err(usage(format!(
                "the recipe {} learns nothing, so that given {} would change nothing; leave them out",
                self.name,
                match kind {
                    TupleKind::Pairs => "pairs",
                    TupleKind::Triplets => "triplets",
                }
            )));
        }
        self.check_learned(kind)?;
        let gradient = match &self.learner {
            Learner::Gradient(gradient) => gradient,
            Learner::Cross(learner) => {
                return Err(usage(format!(
                    "{} learns from classes and from the views of an item, not from given pairs or \
                     triplets; leave them out",
                    learner.name()
                )));
            }
            Learner::Closed(learner) => {
                let ranks = takes_triplets(learner);
                if ranks && kind == TupleKind::Pairs {
                    let what = if self.learns_from_classes() {
                        "classes or triplets"
                    } else {
                        "triplets"
                    };
                    return Err(usage(format!(
                        "{} learns from {what}, not from given pairs; give triplets, or choose the recipe \
                         label-rca",
                        learner.name()
                    )));
                }
                let takes = |need: &Need| *need != Need::Classes && !need.is_met_by_items();
                if learner.needs().iter().any(takes) {
                    return if ranks {
                        self.check_own_triplets()
                    } else {
                        Ok(())
                    };
                }
                let what = if self.learns_from_classes() {
                    "classes"
                } else {
                    "the items alone"
                };
                return Err(usage(format!(
                    "{} learns from {what}, not from given pairs or triplets; choose the recipe label-rca",
                    learner.name()
                )));
            }
        };
        let loss = gradient.title();
        if gradient.metric.is_some() {
            return Err(usage(format!(
                "the metric {loss} learns from classes, not from given pairs or triplets; choose the recipe label-rca"
            )));
        }
        if kind == TupleKind::Pairs {
            return Err(usage(format!(
                "the loss {loss} learns from classes or triplets, not from given pairs; give \
                 triplets, or choose the recipe label-rca"
            )));
        }
        if !gradient.compares() || gradient.has_proxies() {
            return Err(usage(format!(
                "the loss {loss} learns from classes, not from given triplets; choose a loss of \
                 pairs or triplets, such as triplet, or the recipe label-rca"
            )));
        }
        self.check_own_triplets()
    }

    /// What none of these tuples of fitted items says or is, where this recipe cannot learn from any of them.
    fn lack_of(&self, fitted: &Tuples) -> Option<String> {
        let weights = match fitted {
            Tuples::Pairs(pairs) => &pairs.weights,
            Tuples::Triplets(triplets) => &triplets.weights,
        };
        if weights.iter().all(|&w| w <= 0.0) {
            return Some("is of fitted items alone and weighs above 0".into());
        }
        // Triplets say of every anchor what is alike to it.
        let (Tuples::Pairs(pairs), Learner::Closed(learner)) = (fitted, &self.learner) else {
            return None;
        };
        let needs_alike = learner.needs().contains(&Need::Alike);
        let says_alike = pairs.iter().any(|(_, _, alike, w)| alike && w > 0.0);
        (needs_alike && !says_alike).then(|| {
            let name = learner.name();
            format!("says that two items are alike, which {name} does not learn without")
        })
    }

    /// Fails where nothing but given tuples would do, of which there are none.
    fn check_needs_none(&self) -> Result<()> {
        let Learner::Closed(learner) = &self.learner else {
            return Ok(());
        };
        for (need, what) in [(Need::Pairs, "pairs"), (Need::Triplets, "triplets")] {
            if learner.needs().contains(&need) {
                return Err(usage(format!(
                    "{} learns from given {what} alone, and there are none; give some: `{what} FILE`",
                    learner.name()
                )));
            }
        }
        Ok(())
    }

    /// Fails where labels would be spread that the given tuples stand in the place of.
    fn check_learned(&self, kind: TupleKind) -> Result<()> {
        if !matches!(
            self.pseudo_labels,
            PseudoLabels::Propagation(_)
                | PseudoLabels::Lpf(_)
                | PseudoLabels::Clusters(_)
                | PseudoLabels::Instances
                | PseudoLabels::Rotations
        ) {
            return Ok(());
        }
        let (given, instead) = match kind {
            TupleKind::Pairs => ("pairs", "label-rca or itml"),
            TupleKind::Triplets => ("triplets", "triplet or oasis"),
        };
        Err(usage(format!(
            "the recipe {} learns from classes that labels spread to, or that it makes itself, and given {given} \
             would stand in their place; choose a recipe that has none of these, such as {instead}",
            self.name
        )))
    }

    /// Fails where the recipe makes triplets of its own, in place of which given ones would stand.
    fn check_own_triplets(&self) -> Result<()> {
        let of = match &self.pseudo_labels {
            PseudoLabels::Affinity(_) => "affinities",
            PseudoLabels::Votes(voting) if voting.triplets.is_some() => "votes",
            _ => return Ok(()),
        };
        Err(usage(format!(
            "the recipe makes triplets of its own from {of}, and would not use given ones; choose \
             another, such as triplet"
        )))
    }
}

impl Recipe {
    /// Fails where what this recipe learns by begins anew each time.
    pub fn check_goes_on(&self) -> Result<()> {
        match &self.learner {
            Learner::Closed(learner) if learner.goes_on() => Ok(()),
            Learner::Closed(learner) => Err(usage(format!(
                "{} does not go on from where it stood; fit anew with all pairs or triplets. Those that \
                 do are oasis, omks and explicit-omks",
                learner.name()
            ))),
            Learner::Cross(learner) => Err(usage(format!(
                "{} does not go on from where it stood; fit anew with all items",
                learner.name()
            ))),
            Learner::Gradient(_) => Err(usage(
                "a learner by gradients does not go on with more triplets; fit anew with all of them. \
                 Those that do are oasis, omks and explicit-omks",
            )),
        }
    }
}

/// Whether a learner takes triplets as they are; to all others they are pairs.
fn takes_triplets(learner: &learn::Closed) -> bool {
    let needs = learner.needs();
    needs.contains(&Need::Ranked) || needs.contains(&Need::Triplets)
}

/// Tuples as a learner takes them, by places among the fitted items.
pub(super) struct Given {
    pairs: Option<Pairs>,
    triplets: Option<Triplets>,
    /// How many of the triplets, the first ones, a model has learned from before.
    learned: usize,
}

impl Given {
    pub(super) fn learned(&self) -> usize {
        self.learned
    }

    pub(super) fn pairs(&self) -> Option<&Pairs> {
        self.pairs.as_ref()
    }

    /// What is learned, with the triplets in it.
    pub(super) fn within(&self, targets: Targets) -> Targets {
        match &self.triplets {
            Some(triplets) => Targets {
                triplets: Some(triplets.clone()),
                ..targets
            },
            None => targets,
        }
    }
}

impl Plan<'_> {
    /// Warns of the tuples that nothing is fitted on.
    ///
    /// Fails where there are no others, and on a recipe that cannot use them.
    pub(super) fn look_at_tuples(&self, ground: &Ground, monitor: &Monitor) -> Result<()> {
        let Some(tuples) = self.tuples else {
            return self.recipe.check_tuples(None);
        };
        let (kind, name) = match tuples {
            Tuples::Pairs(_) => (TupleKind::Pairs, "pairs"),
            Tuples::Triplets(_) => (TupleKind::Triplets, "triplets"),
        };
        self.recipe.check_tuples(Some(kind))?;
        let fitted = tuples.placed(&ground.places(|_| true))?;
        if let Some(lack) = self.recipe.lack_of(&fitted) {
            return Err(Error::data(format!(
                "of the {} {name}, none {lack}",
                tuples.len()
            )));
        }
        if ground.labels.n_known() > 0 {
            let row = if self.recipe.learns_from_classes() {
                "; the row \"labels only\" has learned from the labels"
            } else {
                ""
            };
            monitor.warn(format!(
                "the {name} are learned in place of the labels, which only measure here{row}"
            ));
        }
        let left_out = tuples.len() - fitted.len();
        if left_out > 0 {
            monitor.warn(format!(
                "{left_out} of {} {name} have items of the validation or test part and are not \
                 used",
                tuples.len()
            ));
        }
        Ok(())
    }
}

impl Ground<'_> {
    /// Whether the recipe learns what the row of the labels alone does.
    pub(super) fn learns_labels_alone(&self) -> bool {
        self.plan.tuples.is_none() && self.recipe.pseudo_labels == PseudoLabels::None
    }

    /// The place of every item among the fitted ones that `take` takes by their place.
    fn places(&self, take: impl Fn(usize) -> bool) -> Vec<Option<u32>> {
        let mut places = vec![None; self.plan.features.nrows()];
        for (place, &item) in self.train.iter().enumerate() {
            if take(place) {
                places[item] = Some(place as u32);
            }
        }
        places
    }

    /// The model that this training goes on from: that of the earlier fit, where it is the training that
    /// delivers. All others measure, and learn from everything anew.
    pub(super) fn before(&self, training: &Training) -> Option<&Closed> {
        let protocol = self.plan.protocol;
        let delivers = if protocol.refit {
            training.setup.name == REFIT
        } else {
            training.setup.name == FIRST_DRAW || training.setup.name == START
        };
        let alone = training.judge.is_none() && training.source == Source::Beliefs;
        match self.plan.before {
            Some((Model::Closed(model), _)) if delivers && alone => Some(model),
            _ => None,
        }
    }

    /// The tuples that a training may see: of fitted items, without those whose labels are kept
    /// back to judge it. The row of the labels alone learns from none.
    pub(super) fn given(
        &self,
        source: Source,
        known: &Labels,
        judge: Option<&Validation>,
    ) -> Result<Given> {
        let mut given = Given {
            pairs: None,
            triplets: None,
            learned: 0,
        };
        let (Some(tuples), Source::Beliefs) = (self.plan.tuples, source) else {
            return Ok(given);
        };
        let folds = self.plan.protocol.split == SplitKind::Folds;
        let kept_back = |place: usize| {
            // Rounds that keep labels back measure on these.
            let hidden = folds
                && self.labels[self.train[place]].class().is_some()
                && known[place].class().is_none();
            hidden || judge.is_some_and(|judge| judge.queries.binary_search(&place).is_ok())
        };
        let of_pairs = match &self.recipe.learner {
            Learner::Closed(learner) => !takes_triplets(learner),
            Learner::Gradient(_) | Learner::Cross(_) => false,
        };
        let places = self.places(|place| !kept_back(place));
        if let (Some((_, first)), Tuples::Triplets(triplets)) = (self.plan.before, tuples) {
            let own = |item: &u32| places[*item as usize].is_some();
            let all = [&triplets.anchors, &triplets.positives, &triplets.negatives];
            let is_placed = |&row: &usize| all.iter().all(|items| own(&items[row]));
            given.learned = (0..first.min(triplets.len())).filter(is_placed).count();
        }
        match tuples.placed(&places)? {
            Tuples::Pairs(pairs) => given.pairs = Some(pairs),
            Tuples::Triplets(triplets) if of_pairs => {
                given.pairs = Some(Pairs::from(&triplets));
            }
            Tuples::Triplets(triplets) => given.triplets = Some(triplets),
        }
        Ok(given)
    }

    /// What a recipe learns where there are not labels enough to measure it: from tuples, or without any
    /// label. `None` where it needs labels, and there are no tuples in their place.
    ///
    /// Fails on tuples where the recipe needs labels as well.
    pub(super) fn learn_unmeasured(
        &self,
        setup: &Setup,
        known: &Labels,
        monitor: &Monitor,
    ) -> Result<Option<Model>> {
        let needs_none = self.recipe.needs_no_label();
        if self.plan.tuples.is_none() && !needs_none {
            return Ok(None);
        }
        let alone = matches!(self.recipe.learner, Learner::Closed(_))
            && matches!(self.recipe.pseudo_labels, PseudoLabels::None);
        if !alone && !needs_none {
            return Err(Error::data(
                "the recipe needs labels of two classes beside the tuples; label some items, or \
                 choose one that learns from tuples alone: label-rca, or of triplets oasis",
            ));
        }
        // A source of classes would have nothing to spread, and nobody would look at what it gave.
        let source = if self.recipe.looks_at_items_alone() {
            Source::Labels
        } else {
            Source::Beliefs
        };
        let training = Training {
            setup,
            name: "final",
            source,
            known,
            first: self.targets(setup, source, known, None, monitor)?,
            judge: None,
            wanted: Wanted::Last,
        };
        Ok(self.train(&training, monitor)?.models.last().cloned())
    }
}
