//! The numbers of a study, as `metrics.json` holds them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use likewise::Labels;
use likewise::eval::bootstrap::Bootstrap;
use likewise::eval::by_class::ClassResult;
use likewise::eval::calibration::Calibration;
use likewise::eval::collapse::Collapse;
use likewise::eval::proportion;
use likewise::eval::summary::{Difference, Run, Summary};
use likewise::tuple::Tuples;
use likewise_nn::loss::Loss;
use serde::{Deserialize, Serialize};

use super::draw_log::DrawLog;
use super::finding::Finding;
use super::plan::Plan;
use super::protocol::SplitKind;
use super::rounds::Why;
use super::row::Row;
use super::several::counted;
use super::tried::Tried;
use super::verdict::{self, Answer, Delivered, Fall, Next, Sureness, Verdict};
use crate::recipe::{Learner, PseudoLabels, Recipe};
use crate::{Error, Result};

/// Everything measured. The first keys are those of `likewise eval --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Metrics of the recipe, means over the draws.
    // Read apart, by `read`: maps of numbers do not survive being flattened.
    #[serde(flatten, skip_deserializing)]
    pub summary: Summary,
    /// The same of the baselines.
    pub baselines: BTreeMap<Row, Summary>,
    /// Recipe minus baseline, paired by query and by draw.
    pub differences: BTreeMap<Row, Difference>,
    /// What it comes to, in plain words: the lines of `answers`.
    pub verdict: Vec<String>,
    /// The same as values.
    pub answers: Verdict,
    /// Whether what was learned beats the best start without labels beyond the interval.
    pub learning_helped: bool,
    /// Name of the recipe.
    pub recipe: String,
    /// The recipes that it was chosen from, in the order of the comparison; absent where it was named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// How the items were divided.
    pub split: SplitKind,
    /// Items by part.
    pub parts: BTreeMap<String, usize>,
    /// Labels kept for each class, if the others were hidden.
    pub labels_per_class: Option<usize>,
    /// The seed.
    pub seed: u64,
    /// What happened in each draw.
    pub per_draw: Vec<DrawLog>,
    /// Accuracy by confidence of the first draw's pseudo-labels.
    pub calibration: Calibration,
    /// Collapse meter on the tested items.
    pub collapse: Collapses,
    /// What each class of the test part gets, over all draws; none where labels are measured in
    /// turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassResult>,
    /// Leaks and duplicates found before anything was measured.
    pub leaks: Vec<Finding>,
}

/// Collapse meters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Collapses {
    /// Of what was learned.
    pub learned: Collapse,
    /// Of the features as they are.
    pub raw: Collapse,
}

/// What is measured beside the ranking.
pub(super) struct Meters {
    pub(super) raw: Collapse,
    pub(super) learned: Collapse,
    pub(super) calibration: Calibration,
    pub(super) classes: Vec<ClassResult>,
    pub(super) leaks: Vec<Finding>,
    pub(super) parts: BTreeMap<String, usize>,
}

/// The numbers of a study before they are judged.
#[derive(Default)]
pub(super) struct Rows {
    /// By row: `recipe` and the baselines.
    pub(super) summaries: BTreeMap<Row, Summary>,
    /// Recipe minus baseline.
    pub(super) differences: BTreeMap<Row, Difference>,
    /// Why there are none.
    pub(super) not_measured: Option<String>,
    /// Fitted labels of each class.
    pub(super) labels: BTreeMap<String, usize>,
    /// Share of the unlabeled items that look like none of the labeled classes.
    pub(super) outside: Option<f64>,
    /// The share of its class that is nearer to the middle than a labeled item is, where that is clearly less
    /// than a half.
    pub(super) central: Option<f64>,
    /// The share of all items that the largest class is taken for, where that is most of them.
    pub(super) largest: Option<f64>,
    /// Items that could still be labeled.
    pub(super) unlabeled: usize,
    /// Labeled classes that were not asked for, since they have too few labels.
    pub(super) unasked: usize,
    /// The class that is found worst.
    pub(super) weakest: Option<String>,
    /// Ids of items to label first.
    pub(super) first: Vec<String>,
    /// Whether the classes that ask have no labels.
    pub(super) disjoint: bool,
    /// Labeled items that do not ask, since there is no other one of their class to find.
    pub(super) lone: usize,
    pub(super) delivered: Delivered,
}

/// The class with the lowest mean, of `(sum, count)` by class; ties go to the first.
pub(super) fn weakest(by_class: &[(f64, usize)], names: &[String]) -> Option<String> {
    let means = by_class.iter().enumerate().filter(|(_, (_, n))| *n > 0);
    let means = means.map(|(class, (sum, n))| (class, sum / *n as f64));
    let worst = means.reduce(|worst, next| if next.1 < worst.1 { next } else { worst })?;
    names.get(worst.0).cloned()
}

/// Known labels of each class, or of each tag.
pub(super) fn label_counts(known: &Labels) -> BTreeMap<String, usize> {
    let (names, counts) = counted(known);
    names.into_iter().zip(counts).collect()
}

impl Rows {
    /// The metric that decides.
    fn metric(&self) -> &'static str {
        match self.summaries.get(&Row::Recipe) {
            Some(recipe) if recipe.map_at_r.is_some() => "map_at_r",
            Some(recipe) if recipe.r_precision.is_some() => "r_precision",
            _ => "recall@1",
        }
    }

    fn value(&self, row: Row) -> Option<f64> {
        let row = self.summaries.get(&row)?;
        match self.metric() {
            "map_at_r" => row.map_at_r,
            "r_precision" => row.r_precision,
            _ => row.recall.get(&1).copied(),
        }
    }

    /// The best of the starts without labels.
    pub(super) fn best_start(&self) -> Option<Row> {
        let valued = Row::STARTS
            .into_iter()
            .filter_map(|row| Some((row, self.value(row)?)));
        let best = valued.reduce(|best, next| if next.1 > best.1 { next } else { best });
        best.map(|(row, _)| row)
    }

    fn answer(&self, against: Row) -> Option<Answer> {
        let metric = self.metric();
        let difference = *self.differences.get(&against)?.get(metric)?;
        let queries = self.summaries.get(&Row::Recipe)?.n_queries;
        Some(Answer {
            against,
            metric: metric.into(),
            from: self.value(against)?,
            to: self.value(Row::Recipe)?,
            difference,
            finding: verdict::Finding::of(&difference, queries),
        })
    }

    /// Whether learning more likely did harm than not, with few labels to say so: by more than
    /// half of the interval's half, about one standard error.
    pub(super) fn learned_is_worse(&self) -> bool {
        let answer = self.best_start().and_then(|start| self.answer(start));
        answer.is_some_and(|answer| {
            let e = answer.difference;
            let half = (e.high - e.value).max(e.value - e.low);
            e.value + half / 2.0 < 0.0
        })
    }

    fn judge(&self, plan: &Plan, per_draw: &[DrawLog]) -> Verdict {
        let start = self.best_start();
        let labels = start.and_then(|start| self.answer(start));
        // Where every draw kept its start, nothing that was spread is in what was measured.
        let learned = |log: &DrawLog| Delivered::of(log) == Delivered::Learned;
        let spreads = !matches!(plan.recipe.pseudo_labels, PseudoLabels::None)
            && (per_draw.is_empty() || per_draw.iter().any(learned));
        let spreading = spreads.then(|| self.answer(Row::LabelsOnly)).flatten();
        let falls = match (&labels, start) {
            (Some(answer), Some(start)) if answer.finding != verdict::Finding::Worse => {
                self.falls(start)
            }
            _ => vec![],
        };
        let few_labels = plan.protocol.split == SplitKind::Folds;
        let sure = self.summaries.get(&Row::Recipe).map(|recipe| Sureness {
            queries: recipe.n_queries,
            drawn_from: recipe.n_queries_drawn_from,
            lone: self.lone,
            gallery: recipe.n_gallery,
            rounds: recipe.draws,
            chosen_once: plan.chosen && !few_labels && recipe.draws > 1,
            few_labels,
            refit: plan.protocol.refits(),
            classes: few_labels.then_some(self.labels.len() - self.unasked),
            unasked: self.unasked,
            outside: self.outside,
            central: self.central,
            largest: self.largest,
        });
        let next = self.next(plan, labels.as_ref(), spreading.as_ref());
        let taught_by = match plan.tuples {
            Some(Tuples::Pairs(_)) => "pairs",
            Some(Tuples::Triplets(_)) => "triplets",
            None => verdict::LABELS,
        };
        Verdict {
            taught_by: taught_by.into(),
            learns: plan.recipe.rounds.epochs > 0,
            not_measured: (self.not_measured.clone()).filter(|_| labels.is_none()),
            validation: validation_in_words(plan.recipe, per_draw),
            delivered: self.delivered,
            bound: plan.recipe.is_bound(),
            labels,
            spreading,
            falls,
            sure,
            next,
        }
    }

    /// What fell beyond its interval: the R@k below those of the best start without labels, or of raw
    /// features, which may find more at once although the start finds more in all.
    fn falls(&self, start: Row) -> Vec<Fall> {
        let mut falls: Vec<Fall> = Vec::new();
        for row in [start, Row::Raw] {
            let all = self.differences.get(&row).into_iter().flatten();
            let fell = all.filter(|(metric, e)| metric.starts_with("recall@") && e.high < -5e-4);
            for (metric, difference) in fell {
                if falls.iter().all(|fall| fall.metric != *metric) {
                    falls.push(Fall {
                        metric: metric.clone(),
                        difference: *difference,
                        against: (row != start).then_some(row),
                    });
                }
            }
        }
        falls
    }

    /// Whether the start finds all without a label, by enough queries to believe it.
    fn needs_nothing(&self, answer: &Answer) -> bool {
        let queries = self.summaries.get(&Row::Recipe).map_or(0, |r| r.n_queries);
        let may_be = proportion::wilson_mean(answer.from, queries);
        answer.from >= PERFECT && may_be.is_some_and(|share| share.low >= SURELY)
    }

    fn next(&self, plan: &Plan, labels: Option<&Answer>, spreading: Option<&Answer>) -> Next {
        use verdict::Finding::{Better, TooFew, Unclear, Worse};
        let recipe = plan.recipe;
        let few_labels = plan.protocol.split == SplitKind::Folds;
        // A test part of labels that could all be fitted, and measured in turn.
        let apart =
            plan.protocol.split == SplitKind::Item && plan.protocol.labels_per_class.is_none();
        // Items of several labels are in no folds.
        let tagged =
            (plan.collection.labels.as_ref()).is_some_and(|labels| labels.tags().is_some());
        let apart = apart && !tagged;
        let fewest = || self.labels.iter().min_by_key(|(_, n)| **n);
        let label = |class: &str, least: usize, why| {
            let now = self.labels.get(class).copied().unwrap_or(0);
            let more = least.saturating_sub(now).max(now.clamp(1, 25));
            if self.unlabeled == 0 {
                return Next::Nothing;
            }
            Next::LabelClass {
                class: class.to_owned(),
                now,
                more: more.min(self.unlabeled),
                why: Cow::Borrowed(why),
            }
        };
        if !self.first.is_empty() {
            return Next::LabelItems {
                ids: self.first.clone(),
            };
        }
        if labels.is_some_and(|answer| self.needs_nothing(answer)) {
            return Next::Nothing;
        }
        let of_new = labels.filter(|_| self.disjoint);
        if let Some(next) = of_new.and_then(|answer| for_new_classes(plan, answer)) {
            return next;
        }
        let finds_directions = matches!(recipe.learner, Learner::Closed(_));
        let asked_of = |n: &usize| (1..ASKED).contains(n);
        let unmeasured = self.unlabeled > 0 && self.labels.values().any(asked_of);
        match (labels.map(|answer| answer.finding), spreading) {
            (None | Some(TooFew), _) if few_labels => match fewest() {
                // At once as many as a measurement takes, so that the goal does not move.
                Some((_, &least)) if self.unlabeled > 0 => Next::LabelEvery {
                    to: (verdict::ENOUGH.div_ceil(self.labels.len()))
                        .max(MEASURED)
                        .max(least + 1),
                },
                _ => Next::Nothing,
            },
            (Some(TooFew | Unclear), _) if apart => Next::MeasureAll,
            // Of some classes nothing was measured, so that none can be said to be found worst.
            (Some(Better | Unclear), _) if few_labels && unmeasured => {
                Next::LabelEvery { to: ASKED }
            }
            (Some(Better), Some(spread))
                if spread.finding != Better
                    && spread.difference.value < WORTH
                    && self.delivered == Delivered::Learned =>
            {
                match labels_only(recipe) {
                    Some(name) => Next::Recipe {
                        name: name.into(),
                        why: if spread.finding == Worse {
                            "it learns from the labels alone, which does better here".into()
                        } else {
                            "it learns from the labels alone, which does as well here".into()
                        },
                    },
                    None => Next::Nothing,
                }
            }
            (Some(Better), _) => match &self.weakest {
                Some(class) if !self.disjoint => label(class, 0, "it is found worst so far"),
                _ => Next::Nothing,
            },
            (Some(Unclear), _) => match &self.weakest {
                Some(class) => label(
                    class,
                    10,
                    "more labels narrow the interval, and it is found worst so far",
                ),
                None => Next::Nothing,
            },
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
        verdict::Finding::Better => None,
        _ if !matches!(recipe.learner, Learner::Closed(_)) => next(
            "auto",
            "for classes that have no labels it compares what changes least of the features",
        ),
        verdict::Finding::Worse => (answer.against.recipe())
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

/// What it then is at least, by its interval: some 60 queries are that sure.
const SURELY: f64 = 0.94;

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

/// What must be said of the choice of epochs.
fn validation_in_words(recipe: &Recipe, per_draw: &[DrawLog]) -> Option<String> {
    // What is solved at once has no epochs to choose among.
    let at_once = matches!(recipe.learner, Learner::Closed(_));
    let said = |log: &DrawLog| {
        let best = (log.validation.iter().flatten()).fold(0.0_f64, |best, &v| best.max(v));
        let start = log.validation.first().copied().flatten().unwrap_or(0.0);
        Some(match log.why {
            Why::Validated | Why::Last => return None,
            Why::RawFeatures if recipe.rounds.epochs == 0 => {
                "On validation the features as they are were above the start".to_owned()
            }
            Why::KeptStart | Why::NoEvidence(_) if recipe.rounds.epochs == 0 => return None,
            Why::RawFeatures => {
                "On validation the features as they are were above all that was learned".to_owned()
            }
            Why::KeptStart => format!(
                "On validation nothing learned was clearly above what the recipe begins on (precision \
                 {start:.3}; best {best:.3}), so that was kept"
            ),
            Why::NoEvidence(why) if log.epoch == 0 && log.training.len() > 1 => format!(
                "Validation could not tell: {why}. What the recipe begins on was kept, which is the safe \
                 choice on classes without labels"
            ),
            // One epoch is no choice.
            Why::NoEvidence(_) if at_once || log.training.len() <= 1 => return None,
            Why::NoEvidence(why) => {
                format!("Validation could not tell: {why}. Training ran to its end")
            }
        })
    };
    let first = per_draw.iter().find_map(|log| Some((log.why, said(log)?)));
    let (why, said) = first?;
    let alike = |log: &&DrawLog| std::mem::discriminant(&log.why) == std::mem::discriminant(&why);
    let (count, of) = (per_draw.iter().filter(alike).count(), per_draw.len());
    Some(if of == 1 {
        said
    } else {
        format!("{said} ({count} of {of} draws)")
    })
}

impl Results {
    pub(super) fn of_runs(
        plan: &Plan,
        runs: &BTreeMap<Row, Vec<Run>>,
        bootstrap: &Bootstrap,
        mut rows: Rows,
        per_draw: Vec<DrawLog>,
        meters: Meters,
    ) -> Result<Self> {
        let recipe = &runs[&Row::Recipe];
        for (&name, of) in runs {
            rows.summaries.insert(name, Summary::of(of, bootstrap)?);
            if name != Row::Recipe {
                let difference = Summary::difference(recipe, of, bootstrap)?;
                rows.differences.insert(name, difference);
            }
        }
        Ok(Self::of_rows(plan, rows, per_draw, meters))
    }

    pub(super) fn of_rows(
        plan: &Plan,
        mut rows: Rows,
        per_draw: Vec<DrawLog>,
        meters: Meters,
    ) -> Self {
        let answers = rows.judge(plan, &per_draw);
        Self {
            verdict: answers.lines(&plan.recipe.name),
            learning_helped: answers.helped(),
            answers,
            summary: rows.summaries.remove(&Row::Recipe).unwrap_or_default(),
            baselines: rows.summaries,
            differences: rows.differences,
            tried: vec![],
            recipe: if plan.recipe.is_bound() {
                format!("{} (bound)", plan.recipe.name)
            } else {
                plan.recipe.name.clone()
            },
            split: plan.protocol.split,
            parts: meters.parts,
            labels_per_class: plan.protocol.labels_per_class,
            seed: plan.protocol.seed,
            per_draw,
            calibration: meters.calibration,
            collapse: Collapses {
                learned: meters.learned,
                raw: meters.raw,
            },
            classes: meters.classes,
            leaks: meters.leaks,
        }
    }

    /// The numbers that `metrics.json` holds, from its text.
    ///
    /// Fails on a file that is broken, or of another version.
    pub fn read(text: &str) -> Result<Self> {
        let broken = |e: serde_json::Error| Error::data(format!("broken: {e}"));
        let mut results: Self = serde_json::from_str(text).map_err(broken)?;
        results.summary = serde_json::from_str(text).map_err(broken)?;
        Ok(results)
    }

    /// Keeps of R@k and P@k, and of their intervals, these k. Fails with the first one that was not measured.
    pub fn keep_at(&mut self, ks: &[usize]) -> Result<(), usize> {
        let measured = &self.summary.recall;
        if let Some(&missing) = ks.iter().find(|k| !measured.contains_key(k)) {
            return Err(missing);
        }
        keep_at(&mut self.summary, ks);
        for baseline in self.baselines.values_mut() {
            keep_at(baseline, ks);
        }
        Ok(())
    }

    /// Whether the numbers say anything: not those of a handful of queries.
    pub fn tells(&self) -> bool {
        let few = |answer: &Answer| answer.finding == verdict::Finding::TooFew;
        self.summary.n_queries > 0 && !self.answers.labels.as_ref().is_some_and(few)
    }

    /// The recipes that were compared, as lines of a table with a head; none where one was named.
    pub fn choices(&self) -> Vec<Vec<String>> {
        if self.tried.is_empty() {
            return vec![];
        }
        let head = [
            "chosen among",
            "R-precision",
            "gain over the best before it",
            "rounds",
        ];
        let lines = self.tried.iter().map(|tried| {
            let mark = if tried.recipe == self.recipe {
                " *"
            } else {
                ""
            };
            let gain = tried.gain.map_or("-".into(), |gain| {
                let half = (gain.high - gain.value).max(gain.value - gain.low);
                format!("{:+.3} ±{half:.3}", gain.value)
            });
            vec![
                format!("{}{mark}", tried.recipe),
                tried.r_precision.map_or("-".into(), |v| format!("{v:.3}")),
                gain,
                tried.rounds.to_string(),
            ]
        });
        std::iter::once(head.map(String::from).to_vec())
            .chain(lines)
            .collect()
    }

    /// All rows with their titles, in the order of a table: baselines, recipe, oracle.
    pub fn rows(&self) -> Vec<(&str, &Summary)> {
        let baseline = |row: Row| Some((row.title(), self.baselines.get(&row)?));
        Row::BEFORE
            .into_iter()
            .filter_map(baseline)
            .chain([(self.recipe.as_str(), &self.summary)])
            .chain(baseline(Row::AllLabels))
            .collect()
    }
}

fn keep_at(summary: &mut Summary, ks: &[usize]) {
    summary.recall.retain(|k, _| ks.contains(k));
    summary.precision.retain(|k, _| ks.contains(k));
    summary.ndcg.retain(|k, _| ks.contains(k));
    let asked = |k: &str| k.parse().is_ok_and(|k| ks.contains(&k));
    let of_metric = |name: &String| name.split_once('@').is_none_or(|(_, k)| asked(k));
    summary.ci.retain(|name, _| of_metric(name));
}

#[cfg(test)]
mod tests {
    use likewise::eval::bootstrap::Estimate;

    use super::*;

    #[test]
    fn the_recipe_of_labels_only_is_the_one_that_was_measured() {
        for recipe in Recipe::candidates(false)
            .into_iter()
            .chain(Recipe::candidates(true))
        {
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
        for recipe in [false, true].into_iter().flat_map(Recipe::candidates) {
            assert_eq!(Recipe::named(&recipe.name).unwrap(), recipe);
        }
        let of = |name: &str| labels_only(&Recipe::named(name).unwrap());
        assert_eq!(
            of("scaled-probabilities").as_deref(),
            Some("scaled-label-probabilities")
        );
        assert_eq!(of("mixed-lda").as_deref(), Some("unit-lda"));
        assert_eq!(of("mixed-rca").as_deref(), Some("label-rca"));
        assert_eq!(of("mixed-lp").as_deref(), Some("confidence-proxy"));
        // No recipe has this form.
        assert_eq!(of("scaled-mild-probabilities"), None);
    }

    fn by(value: f64) -> Estimate {
        Estimate {
            value,
            low: value - 0.01,
            high: value + 0.01,
        }
    }

    #[test]
    fn what_fell_against_raw_features_is_said_though_the_best_start_is_another() {
        let of = |r1, r4, r8| {
            let all = [("recall@1", r1), ("recall@4", r4), ("recall@8", r8)];
            all.map(|(metric, value)| (metric.to_owned(), by(value)))
                .into_iter()
                .collect::<Difference>()
        };
        let rows = Rows {
            differences: BTreeMap::from([
                (Row::Whitened, of(0.0, 0.0, -0.02)),
                (Row::Raw, of(0.05, -0.04, -0.05)),
            ]),
            ..Rows::default()
        };
        let falls = rows.falls(Row::Whitened);
        let said: Vec<_> = falls
            .iter()
            .map(|fall| (&*fall.metric, fall.difference.value, fall.against))
            .collect();
        let expected = [
            ("recall@8", -0.02, None),
            ("recall@4", -0.04, Some(Row::Raw)),
        ];
        assert_eq!(said, expected);
        // Raw features that are the best start themselves are told of once.
        assert_eq!(rows.falls(Row::Raw).len(), 2);
    }
    #[test]
    fn a_run_keeps_the_k_that_are_asked_for() {
        let by_k = |one, eight| BTreeMap::from([(1, one), (8, eight)]);
        let ci = |names: &[&str]| {
            let each = names.iter().map(|name| ((*name).to_owned(), [0.2, 0.6]));
            each.collect::<BTreeMap<_, _>>()
        };
        let mut summary = Summary {
            recall: by_k(0.5, 0.9),
            precision: by_k(0.5, 0.4),
            map: Some(0.3),
            ci: ci(&["recall@1", "recall@8", "map"]),
            ..Summary::default()
        };
        keep_at(&mut summary, &[8]);
        let expected = Summary {
            recall: BTreeMap::from([(8, 0.9)]),
            precision: BTreeMap::from([(8, 0.4)]),
            map: Some(0.3),
            ci: ci(&["recall@8", "map"]),
            ..Summary::default()
        };
        assert_eq!(summary, expected);
    }
}
