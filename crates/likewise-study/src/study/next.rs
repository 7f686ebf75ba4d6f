//! What to do next, by what a study measured.

use std::borrow::Cow;

use likewise::eval::proportion;
use likewise_nn::loss::Loss;

use super::plan::Plan;
use super::protocol::SplitKind;
use super::results::{ALL, Rows};
use super::row::Row;
use super::verdict::{self, Answer, Delivered, Finding, Next, Verdict};
use crate::recipe::{Learner, PseudoLabels, Recipe};

impl Rows {
    /// Whether the start finds all without a label, by enough queries to believe it.
    fn needs_nothing(&self, answer: &Answer) -> bool {
        answer.from >= PERFECT && self.is_sure_of(answer.from)
    }

    /// Whether there are enough queries to believe a value that is as good as 1.
    fn is_sure_of(&self, value: f64) -> bool {
        let queries = self.summaries.get(&Row::Recipe).map_or(0, |r| r.n_queries);
        let may_be = proportion::wilson_mean(value, queries);
        may_be.is_some_and(|share| share.low >= SURELY)
    }

    /// What to do next: what stands in the way of a measurement first, then what was found.
    pub(super) fn next(
        &self,
        plan: &Plan,
        labels: Option<&Answer>,
        spreading: Option<&Answer>,
    ) -> Next {
        match self.of_one_label(plan, labels, spreading) {
            // Those that are advised go by one label an item.
            Next::Recipe { .. } if has_several_labels(plan) => Next::Nothing,
            next => next,
        }
    }

    /// What to do next where an item has one label.
    fn of_one_label(
        &self,
        plan: &Plan,
        labels: Option<&Answer>,
        spreading: Option<&Answer>,
    ) -> Next {
        if !self.first.is_empty() {
            return Next::LabelItems {
                ids: self.first.clone(),
            };
        }
        if labels.is_some_and(|answer| self.needs_nothing(answer)) {
            return Next::Nothing;
        }
        if labels.is_some() && only_measures_by_labels(plan) {
            return Next::Recipe {
                name: "auto".into(),
                why: "it learns from the labels, by which this recipe is only measured".into(),
            };
        }
        let of_new = labels.filter(|_| self.disjoint);
        (of_new.and_then(|answer| for_new_classes(plan, answer))).unwrap_or_else(|| {
            self.by_finding(plan, labels.map(|answer| answer.finding), spreading)
        })
    }

    /// What to do by what was found of the labels, and of spreading them.
    fn by_finding(&self, plan: &Plan, labels: Option<Finding>, spreading: Option<&Answer>) -> Next {
        use Finding::{Better, TooFew, Unclear, Worse};
        let few_labels = plan.protocol.split == SplitKind::Folds;
        let finds_directions = matches!(plan.recipe.learner, Learner::Closed(_));
        match (labels, spreading) {
            (None | Some(TooFew), _) if few_labels => self.label_enough_to_measure(),
            (Some(TooFew | Unclear), _) if can_measure_all(plan) => Next::MeasureAll,
            // Of some classes nothing was measured, so that none can be said to be found worst.
            (Some(Better | Unclear), _) if few_labels && self.leaves_classes_unmeasured() => {
                Next::LabelEvery { to: ASKED }
            }
            (Some(Better), Some(spread)) if self.may_do_without(spread) => {
                learn_from_labels_alone(plan.recipe, spread.finding)
            }
            (Some(Better), _) if self.disjoint => Next::Nothing,
            (Some(Better), _) => self.label_weakest(0, "it is found worst so far"),
            (Some(Unclear), _) => self.label_weakest(
                10,
                "more labels narrow the interval, and it is found worst so far",
            ),
            // So few cannot be kept back, so that no recipe is chosen by them.
            (Some(Worse), _)
                if self.unlabeled > 0 && !self.labels.values().any(|&n| n >= ASKED) =>
            {
                Next::LabelEvery { to: MEASURED }
            }
            // The labels of a test part chose nothing; those that are kept back may.
            (Some(Worse), _) if !plan.chosen => Next::Recipe {
                name: "auto".into(),
                why: "by labels that it keeps back it delivers the start where nothing learned is better"
                    .into(),
            },
            (Some(_), _) if !finds_directions && !plan.chosen => Next::Recipe {
                name: "mixed-rca".into(),
                why: "it changes less of what the features know".into(),
            },
            _ => Next::Nothing,
        }
    }

    /// At once as many labels as a measurement takes, so that the goal does not move.
    fn label_enough_to_measure(&self) -> Next {
        match self.labels.values().min() {
            Some(&least) if self.unlabeled > 0 => Next::LabelEvery {
                to: (verdict::ENOUGH.div_ceil(self.labels.len()))
                    .max(MEASURED)
                    .max(least + 1),
            },
            _ => Next::Nothing,
        }
    }

    /// Whether more labels could let classes ask that have too few for it.
    fn leaves_classes_unmeasured(&self) -> bool {
        let asked_of = |n: &usize| (1..ASKED).contains(n);
        self.unlabeled > 0 && self.labels.values().any(asked_of)
    }

    /// Whether what was learned may be as good without the labels that were spread.
    fn may_do_without(&self, spread: &Answer) -> bool {
        spread.finding != Finding::Better
            && spread.difference.value < WORTH
            && self.delivered == Delivered::Learned
    }

    /// More labels of the class that is found worst: as many again, and `least` in all.
    fn label_weakest(&self, least: usize, why: &'static str) -> Next {
        if self.unlabeled == 0 {
            return Next::Nothing;
        }
        let fewest = || self.labels.iter().min_by_key(|(_, n)| **n);
        let (class, why) = match (&self.weakest, self.value(Row::Recipe)) {
            (Some(class), _) => (class, why),
            // Where all is found of each class, none is the worst.
            (None, Some(value)) if value >= ALL && !self.is_sure_of(value) => match fewest() {
                Some((class, _)) => (class, SURER),
                None => return Next::Nothing,
            },
            _ => return Next::Nothing,
        };
        let now = self.labels.get(class).copied().unwrap_or(0);
        let more = least.saturating_sub(now).max(now.clamp(1, 25));
        Next::LabelClass {
            class: class.to_owned(),
            now,
            more: more.min(self.unlabeled),
            why: Cow::Borrowed(why),
        }
    }
}

impl Verdict {
    /// What is said where nothing is left to do, since all is found.
    pub(super) fn nothing_is_left(&self) -> Option<String> {
        let answer = self.labels.as_ref()?;
        let told = answer.finding != Finding::TooFew;
        let all = self.next == Next::Nothing && told && answer.to >= PERFECT;
        all.then(|| "Next: nothing to do: all that was asked for is found.".to_owned())
    }
}

/// Whether the study has a test part whose labels could all be fitted, and measured in turn.
fn can_measure_all(plan: &Plan) -> bool {
    // Items of several labels are in no folds.
    plan.protocol.split == SplitKind::Item
        && plan.protocol.labels_per_class.is_none()
        && !has_several_labels(plan)
}

fn has_several_labels(plan: &Plan) -> bool {
    let labels = plan.collection.labels.as_ref();
    labels.is_some_and(|labels| labels.tags().is_some())
}

/// The recipe that learns from labels alone, by what was found of spreading them.
fn learn_from_labels_alone(recipe: &Recipe, spreading: Finding) -> Next {
    match labels_only(recipe) {
        Some(name) => Next::Recipe {
            name: name.into(),
            why: if spreading == Finding::Worse {
                "it learns from the labels alone, which does better here".into()
            } else {
                "it learns from the labels alone, which does as well here".into()
            },
        },
        None => Next::Nothing,
    }
}

/// Whether there is a recipe to choose that learns from labels where this one does not.
fn only_measures_by_labels(plan: &Plan) -> bool {
    let learns = plan.recipe.rounds.epochs > 0;
    learns && !plan.chosen && plan.tuples.is_none() && plan.recipe.learns_from_items_alone()
}

/// What to do where the classes that are searched have no labels; `None`: as else.
fn for_new_classes(plan: &Plan, answer: &Answer) -> Option<Next> {
    let recipe = plan.recipe;
    let finding = answer.finding;
    let next = |name: &'static str, why: &'static str| {
        Some(Next::Recipe {
            name: name.into(),
            why: why.into(),
        })
    };
    if recipe.rounds.epochs == 0 && !plan.chosen {
        let why = "it learns from the labels; whether that helps for classes without any was not compared here";
        return next("mixed-rca", why);
    }
    match finding {
        Finding::Better => None,
        _ if !matches!(recipe.learner, Learner::Closed(_)) => next(
            "auto",
            "for classes that have no labels it compares what changes least of the features",
        ),
        Finding::Worse => (answer.against.recipe())
            .and_then(|name| next(name, "it learns nothing, and did better here"))
            .or(Some(Next::Nothing)),
        _ => Some(Next::Nothing),
    }
}

/// A gain that may be worth having although its interval holds 0.
const WORTH: f64 = 0.01;

/// Labels of a class with which it asks at all: one is fitted, two ask for each other.
const ASKED: usize = 3;

/// Labels of every class that a measurement takes to say something.
const MEASURED: usize = 4;

/// What needs no labels to be found right.
const PERFECT: f64 = 0.995;

/// What it then is at least, by its interval: 60 queries are that sure.
const SURELY: f64 = 0.939;

/// Why the class with the fewest labels gets more where nothing was missed.
const SURER: &str =
    "all that was asked for is found, so more labels only make that surer, and it has the fewest";

/// The recipe that learns from the labels alone what `recipe` learns from spread ones, if it
/// has a name.
fn labels_only(recipe: &Recipe) -> Option<String> {
    match &recipe.learner {
        // On another start, or with another share, it is not what was measured.
        Learner::Closed(_) => Recipe::names().into_iter().find(|name| {
            Recipe::named(name).is_ok_and(|named| {
                let is_alone = named.pseudo_labels == PseudoLabels::None;
                is_alone && named.start == recipe.start && named.learner == recipe.learner
            })
        }),
        Learner::Cross(learner) => Some(learner.name().to_owned()),
        Learner::Gradient(gradient) => {
            let usual = gradient.metric.is_none()
                && matches!(gradient.loss.single(), Some(Loss::ConfidenceProxy(_)));
            (usual && recipe.encoder().is_none()).then(|| "confidence-proxy".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use likewise::eval::summary::Summary;

    use super::*;
    use crate::recipe::Traits;

    /// All that `auto` may try.
    fn candidates() -> impl Iterator<Item = Recipe> {
        [false, true].into_iter().flat_map(|scaled| {
            Recipe::candidates(Traits {
                scaled,
                rooted: true,
                histograms: scaled,
            })
        })
    }

    #[test]
    fn where_all_is_found_no_class_is_the_worst() {
        let rows = |queries: usize, value: f64, weakest: Option<&str>| Rows {
            labels: BTreeMap::from([("a".to_owned(), 10), ("b".to_owned(), 8)]),
            unlabeled: 100,
            weakest: weakest.map(str::to_owned),
            summaries: BTreeMap::from([(
                Row::Recipe,
                Summary {
                    r_precision: Some(value),
                    n_queries: queries,
                    ..Summary::default()
                },
            )]),
            ..Rows::default()
        };
        let next = |rows: Rows| match rows.label_weakest(0, "worst") {
            Next::LabelClass { class, why, .. } => Some((class, why.into_owned())),
            _ => None,
        };
        let (class, why) = next(rows(18, 1.0, None)).unwrap();
        assert_eq!(class, "b");
        assert!(why.contains("only make that surer"), "{why}");
        // 60 / (60 + 1.96^2) is 0.9398.
        assert_eq!(next(rows(60, 1.0, None)), None);
        let worst = next(rows(60, 0.9, Some("a")));
        assert_eq!(worst, Some(("a".into(), "worst".into())));
        assert_eq!(next(rows(18, 0.9, None)), None);
        let names = ["a".to_owned(), "b".to_owned()];
        let weakest = |b: f64| super::super::results::weakest(&[(3.0, 3), (b, 2)], &names);
        assert_eq!(weakest(2.0), None);
        assert_eq!(weakest(1.5).as_deref(), Some("b"));
    }

    #[test]
    fn the_recipe_of_labels_only_is_the_one_that_was_measured() {
        for recipe in candidates() {
            let Some(name) = labels_only(&recipe) else {
                continue;
            };
            let named = Recipe::named(&name).unwrap();
            assert_eq!(named.pseudo_labels, PseudoLabels::None, "{name}");
            if matches!(recipe.learner, Learner::Closed(_)) {
                let (own, named) = (
                    (&recipe.start, &recipe.learner),
                    (&named.start, &named.learner),
                );
                assert_eq!(own, named, "{}: {name}", recipe.name);
            }
        }
        // What a table of a choice calls it is what asks for it.
        for recipe in candidates() {
            assert_eq!(Recipe::named(&recipe.name).unwrap(), recipe);
        }
        let of = |name: &str| labels_only(&Recipe::named(name).unwrap());
        assert_eq!(
            of("scaled-probabilities").as_deref(),
            Some("scaled-label-probabilities")
        );
        assert_eq!(
            of("rooted-probabilities").as_deref(),
            Some("rooted-label-probabilities")
        );
        assert_eq!(of("mixed-lda").as_deref(), Some("unit-lda"));
        assert_eq!(of("joined-probabilities").as_deref(), Some("label-joined"));
        assert_eq!(of("mixed-rca").as_deref(), Some("label-rca"));
        assert_eq!(of("mixed-lp").as_deref(), Some("confidence-proxy"));
        // No recipe has this form.
        assert_eq!(of("scaled-mild-probabilities"), None);
    }
}
