//! The numbers of a study, as `metrics.json` holds them.

use std::collections::BTreeMap;

use likewise::Labels;
use likewise::eval::bootstrap::Bootstrap;
use likewise::eval::by_class::ClassResult;
use likewise::eval::calibration::Calibration;
use likewise::eval::collapse::Collapse;
use likewise::eval::summary::{Difference, Run, Summary};
use likewise::tuple::Tuples;
use likewise_nn::Model;
use serde::{Deserialize, Serialize};

use super::columns::{self, ColumnName};
use super::draw_log::DrawLog;
use super::finding::Finding;
use super::plan::Plan;
use super::protocol::SplitKind;
use super::rounds::Why;
use super::row::Row;
use super::selection;
use super::several::counted;
use super::tried::Tried;
use super::verdict::{self, Answer, Delivered, Fall, Sureness, Verdict};
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
    /// The columns that the kept model compares, where its learner selects some; else none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_columns: Vec<ColumnName>,
    /// Of how many, where some were selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_columns: Option<usize>,
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
    /// The class that is found worst; none where all is found of each.
    pub(super) weakest: Option<String>,
    /// Ids of items to label first.
    pub(super) first: Vec<String>,
    /// Whether the classes that ask have no labels.
    pub(super) disjoint: bool,
    /// Labeled items that do not ask, since there is no other one of their class to find.
    pub(super) lone: usize,
    pub(super) delivered: Delivered,
}

/// Shares from here on are shown as 1.000.
pub(super) const ALL: f64 = 0.999_5;

/// The class with the lowest mean, of `(sum, count)` by class; ties go to the first. None where all of every class is
/// found.
pub(super) fn weakest(by_class: &[(f64, usize)], names: &[String]) -> Option<String> {
    let means = by_class.iter().enumerate().filter(|(_, (_, n))| *n > 0);
    let means = means.map(|(class, (sum, n))| (class, sum / *n as f64));
    let worst = means.reduce(|worst, next| if next.1 < worst.1 { next } else { worst });
    names.get(worst.filter(|worst| worst.1 < ALL)?.0).cloned()
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

    pub(super) fn value(&self, row: Row) -> Option<f64> {
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
    /// half of the interval's half, about one standard error. Of an embedding that collapsed any fall counts:
    /// what says that it does harm is more than the labels.
    pub(super) fn learned_is_worse(&self, collapsed: bool) -> bool {
        let answer = self.best_start().and_then(|start| self.answer(start));
        answer.is_some_and(|answer| {
            let e = answer.difference;
            let half = (e.high - e.value).max(e.value - e.low);
            e.value + if collapsed { 0.0 } else { half / 2.0 } < 0.0
        })
    }

    fn judge(&self, plan: &Plan, per_draw: &[DrawLog]) -> Verdict {
        let start = self.best_start();
        let labels = start.and_then(|start| self.answer(start));
        // Where every draw kept its start, nothing that was spread is in what was measured.
        let learned = |log: &DrawLog| Delivered::of(log) == Delivered::Learned;
        let pseudo_labels = &plan.recipe.pseudo_labels;
        let alone = *pseudo_labels != PseudoLabels::None && plan.recipe.learns_from_items_alone();
        let spreads = (pseudo_labels.spreads() || alone)
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
            chosen_once: plan.chosen && (few_labels || recipe.draws > 1),
            few_labels,
            asked_for: plan.asked_for,
            refit: plan.protocol.refits(),
            classes: few_labels.then_some(self.labels.len() - self.unasked),
            unasked: self.unasked,
            outside: self.outside,
            central: self.central,
            largest: self.largest,
        });
        let next = self.next(plan, labels.as_ref(), spreading.as_ref());
        let learns = plan.recipe.rounds.epochs > 0;
        let taught_by = match plan.tuples {
            Some(Tuples::Pairs(_)) => "pairs",
            Some(Tuples::Triplets(_)) => "triplets",
            None if learns && plan.recipe.learns_from_items_alone() => verdict::ITEMS,
            None => verdict::LABELS,
        };
        Verdict {
            taught_by: taught_by.into(),
            learns,
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
    /// Notes which columns the model compares, where the recipe selects some.
    pub(super) fn tell_columns(&mut self, recipe: &Recipe, model: &Model) {
        if let Some((kept, of)) = columns::of_model(recipe, model) {
            (self.kept_columns, self.n_columns) = (kept, Some(of));
        }
    }

    /// Puts names in the place of the numbers of kept columns; unless there is one for every column, these stay.
    pub(crate) fn name_columns(&mut self, names: &[String]) {
        if self.n_columns == Some(names.len()) {
            columns::name(&mut self.kept_columns, names);
        }
    }

    /// Which columns were kept, where some were selected, in one line.
    pub fn columns_in_words(&self) -> Option<String> {
        Some(columns::in_words(&self.kept_columns, self.n_columns?))
    }

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
            kept_columns: vec![],
            n_columns: None,
        }
    }

    /// What label prediction selected in the first draw, where it did, in one line.
    pub fn selections_in_words(&self) -> Option<String> {
        let first = self.per_draw.first()?;
        selection::in_words(&first.selections, self.per_draw.len())
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

    /// The recipes that were compared, as lines of a table with a head; none where one was named. The value of one that was
    /// given up early stands in brackets: it is of fewer rounds, and compares with no other.
    pub fn choices(&self) -> Vec<Vec<String>> {
        if self.tried.is_empty() {
            return vec![];
        }
        let rounds = self.tried.iter().map(|tried| tried.rounds).max();
        let given_up = |tried: &Tried| Some(tried.rounds) < rounds;
        let value = if self.tried.iter().any(given_up) {
            "R-precision (of fewer rounds)"
        } else {
            "R-precision"
        };
        let head = [
            "chosen among",
            value,
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
                match tried.r_precision {
                    Some(v) if given_up(tried) => format!("({v:.3})"),
                    Some(v) => format!("{v:.3}"),
                    None => "-".into(),
                },
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
    fn of_an_embedding_that_collapsed_any_fall_counts() {
        let of = |value| Summary {
            map_at_r: Some(value),
            ..Summary::default()
        };
        let worse = |value: f64, half: f64, collapsed| {
            let difference = Estimate {
                value,
                low: value - half,
                high: value + half,
            };
            let rows = Rows {
                summaries: BTreeMap::from([(Row::Raw, of(0.5)), (Row::Recipe, of(0.5 + value))]),
                differences: BTreeMap::from([(
                    Row::Raw,
                    BTreeMap::from([("map_at_r".into(), difference)]),
                )]),
                ..Rows::default()
            };
            rows.learned_is_worse(collapsed)
        };
        assert!(worse(-0.03, 0.04, false));
        assert!(!worse(-0.01, 0.04, false));
        assert!(worse(-0.01, 0.04, true));
        assert!(!worse(0.01, 0.04, true));
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
