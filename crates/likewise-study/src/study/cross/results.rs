//! The numbers of a study across views, as `metrics.json` holds them.

use std::collections::BTreeMap;

use likewise::Labels;
use likewise::eval::bootstrap::{Estimate, t_interval};
use likewise::eval::proportion::wilson_mean;
use serde::{Deserialize, Serialize};

use super::believed::{Believed, hits};
use super::measured::{Measured, direction};
use super::plan::CrossPlan;
use crate::plain;
use crate::recipe::PseudoLabels;
use crate::study::protocol::SplitKind;
use crate::study::selection::{self, Selection};
use crate::table::cell;

/// What is measured, in the order of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CrossRow {
    /// Canonical correlations of the pairs: no label.
    #[serde(rename = "cca")]
    Start,
    /// The learner by the known labels alone.
    LabelsOnly,
    /// The recipe.
    Recipe,
    /// The learner by all labels of the training part, hidden ones too: a bound.
    AllLabels,
}

impl CrossRow {
    /// The row in words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Start => "no labels (cca)",
            Self::LabelsOnly => "labels only",
            Self::Recipe => "recipe",
            Self::AllLabels => "all labels (bound)",
        }
    }
}

/// Values by direction: `VIEW_to_VIEW`, of the first two views also `a_to_b` and `b_to_a`, and the
/// `mean` of all directions.
pub type ByDirection<T> = BTreeMap<String, T>;

/// The mean over all directions.
const MEAN: &str = "mean";

/// With fewer wrong answers, or fewer right ones, the spread between queries and draws tells nothing:
/// it is 0 where there are none.
const FEW: f64 = 5.0;

/// Metrics of one row, means over the draws, with 95 % intervals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CrossSummary {
    /// Mean average precision of the first 50, the mean over all orders of equally near items.
    pub map50: ByDirection<f64>,
    /// The same with equally near items in the order of a shuffled gallery, as published.
    pub map50_stable: ByDirection<f64>,
    /// By k: share of the queries of which one of the first k is of their class.
    pub recall: BTreeMap<String, ByDirection<f64>>,
    /// By metric, `map50`, `map50_stable`, `recall@1` ...: its intervals. Over draws of labels, the t
    /// interval of their means; of one run, that of its queries.
    pub ci: BTreeMap<String, ByDirection<[f64; 2]>>,
    /// Runs that the means are over.
    pub draws: usize,
    /// Of canonical correlations, the number of directions: what finds pairs of the part to fit on again that
    /// were kept back from the fit, so that no test item chooses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directions: Option<usize>,
}

/// How a class is found by the recipe: means over its queries in all draws and directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossClass {
    /// The class.
    pub class: String,
    /// Its queries, each counted once for every draw and direction.
    pub queries: usize,
    /// Mean average precision of the first 50.
    pub map50: f64,
    /// Share of the queries whose nearest item is of the class.
    #[serde(rename = "recall@1", skip_serializing_if = "Option::is_none", default)]
    pub recall_at_1: Option<f64>,
}

/// What happened in one draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfDraw {
    /// Labels that were fitted.
    pub labeled: usize,
    /// Items without one that got a class.
    pub believed: usize,
    /// Share of these whose class is right, where it is known to us.
    pub accuracy: Option<f64>,
    /// How many of these are of a class that is known to us, where not all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<usize>,
    /// What label prediction selected, one selection after the other; none of another source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selections: Vec<Selection>,
}

impl OfDraw {
    pub(super) fn new(believed: &Believed, known: &Labels, truth: &Labels) -> Self {
        let [given, judged, right] = hits(believed, known, truth);
        Self {
            labeled: known.n_known(),
            believed: given,
            accuracy: (judged > 0).then(|| right as f64 / judged as f64),
            judged: (judged < given).then_some(judged),
            selections: believed.selections.clone(),
        }
    }
}

/// Tested items below which it is said how few they are.
const FEW_TESTED: usize = 200;

/// Everything measured. The first keys are those of `likewise eval --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossResults {
    /// Metrics of the recipe.
    #[serde(flatten)]
    pub summary: CrossSummary,
    /// The same of the other rows.
    pub baselines: BTreeMap<CrossRow, CrossSummary>,
    /// Recipe less row, by metric and direction: paired by draw, of one run by query.
    pub differences: BTreeMap<CrossRow, BTreeMap<String, ByDirection<Estimate>>>,
    /// What it comes to, in plain words.
    pub verdict: Vec<String>,
    /// Name of the recipe.
    pub recipe: String,
    /// Names of the views.
    pub views: Vec<String>,
    /// How the items were divided.
    pub split: SplitKind,
    /// Items by part.
    pub parts: BTreeMap<String, usize>,
    /// Queries by direction.
    pub n_queries: ByDirection<usize>,
    /// Labels kept for each class, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub labels_per_class: Option<usize>,
    /// Share of the labels that was kept, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub label_fraction: Option<f64>,
    /// The seed.
    pub seed: u64,
    /// Whether the model that is kept has learned from the test part as well, once all was measured.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub refit: bool,
    /// Why there are no numbers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_measured: Option<String>,
    /// What happened in each draw.
    pub per_draw: Vec<OfDraw>,
    /// Class by class.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub classes: Vec<CrossClass>,
}

impl CrossResults {
    pub(super) fn new(
        plan: &CrossPlan,
        runs: &BTreeMap<CrossRow, Vec<Measured>>,
        per_draw: Vec<OfDraw>,
        parts: BTreeMap<String, usize>,
        asked: &ByDirection<Vec<&str>>,
    ) -> Self {
        let mut summaries: BTreeMap<CrossRow, CrossSummary> = runs
            .iter()
            .map(|(&row, runs)| (row, summary(runs, plan.views)))
            .collect();
        let recipe = &runs[&CrossRow::Recipe];
        let others = runs.iter().filter(|(row, _)| **row != CrossRow::Recipe);
        let differences = others
            .map(|(&row, other)| (row, difference(recipe, other, plan.views)))
            .collect();
        let queries = recipe[0].0["map50"].iter();
        let n_queries = queries
            .map(|(way, values)| (way.clone(), values.len()))
            .collect();
        let mut results = Self {
            summary: summaries.remove(&CrossRow::Recipe).unwrap_or_default(),
            baselines: summaries,
            differences,
            parts,
            n_queries,
            refit: plan.protocol.refits(),
            classes: by_class(recipe, asked),
            ..Self::of(plan, per_draw)
        };
        results.verdict = results.in_words();
        results
    }

    /// Of a model of all `items`, without numbers for this reason.
    pub(super) fn unmeasured(plan: &CrossPlan, items: usize, why: String, of_all: OfDraw) -> Self {
        let mut results = Self {
            parts: BTreeMap::from([("train".to_owned(), items)]),
            not_measured: Some(why),
            ..Self::of(plan, vec![of_all])
        };
        results.verdict = results.in_words();
        results
    }

    /// What was asked for, and no numbers.
    fn of(plan: &CrossPlan, per_draw: Vec<OfDraw>) -> Self {
        Self {
            summary: CrossSummary::default(),
            baselines: BTreeMap::new(),
            differences: BTreeMap::new(),
            verdict: vec![],
            recipe: match &plan.recipe.pseudo_labels {
                PseudoLabels::Oracle(_) => format!("{} (bound)", plan.recipe.name),
                _ => plan.recipe.name.clone(),
            },
            views: plan.views.to_vec(),
            split: plan.protocol.split,
            parts: BTreeMap::new(),
            n_queries: BTreeMap::new(),
            labels_per_class: plan.protocol.labels_per_class,
            label_fraction: plan.protocol.label_fraction,
            seed: plan.protocol.seed,
            refit: false,
            not_measured: None,
            per_draw,
            classes: vec![],
        }
    }

    /// Keeps of R@k, and of its intervals, these k. Fails with the first one that was not measured.
    pub fn keep_at(&mut self, ks: &[usize]) -> Result<(), usize> {
        let names: Vec<String> = ks.iter().map(usize::to_string).collect();
        let recall = &self.summary.recall;
        if let Some(place) = names.iter().position(|k| !recall.contains_key(k)) {
            return Err(ks[place]);
        }
        let own = std::iter::once(&mut self.summary);
        for summary in own.chain(self.baselines.values_mut()) {
            summary.recall.retain(|k, _| names.contains(k));
            let asked = |metric: &String| {
                (metric.split_once('@')).is_none_or(|(_, k)| names.iter().any(|name| name == k))
            };
            summary.ci.retain(|metric, _| asked(metric));
        }
        Ok(())
    }

    /// All rows with their titles, in the order of a table.
    pub fn rows(&self) -> Vec<(&str, &CrossSummary)> {
        let other = |row: CrossRow| Some((row.title(), self.baselines.get(&row)?));
        [CrossRow::Start, CrossRow::LabelsOnly]
            .into_iter()
            .filter_map(other)
            .chain([(self.recipe.as_str(), &self.summary)])
            .chain(other(CrossRow::AllLabels))
            .collect()
    }

    /// The directions between the views, by their names.
    pub fn directions(&self) -> Vec<String> {
        let pairs = self
            .views
            .iter()
            .flat_map(|a| self.views.iter().map(move |b| (a, b)));
        let apart = pairs.filter(|(a, b)| a != b);
        apart.map(|(a, b)| direction(a, b)).collect()
    }

    /// A table of MAP@50 and of R@k of each direction, as lines with a head.
    pub fn table(&self) -> Vec<Vec<String>> {
        let ways = self.directions();
        let mut head = vec![String::new()];
        head.extend(
            ways.iter()
                .map(|way| format!("MAP@50 {}", way.replace("_to_", " to "))),
        );
        head.push("MAP@50 mean".into());
        let ks: Vec<&String> = self.summary.recall.keys().collect();
        head.extend(ks.iter().map(|k| format!("R@{k} mean")));
        let line = |(title, row): (&str, &CrossSummary)| {
            let ci = |metric: &str, way: &str| row.ci.get(metric).and_then(|ci| ci.get(way));
            let mut cells = vec![title.to_owned()];
            let ways = ways.iter().map(String::as_str).chain([MEAN]);
            cells.extend(ways.map(|way| cell(row.map50.get(way).copied(), ci("map50", way))));
            cells.extend(ks.iter().map(|k| {
                let value = row.recall.get(*k).and_then(|by| by.get(MEAN));
                cell(value.copied(), ci(&format!("recall@{k}"), MEAN))
            }));
            cells
        };
        std::iter::once(head)
            .chain(self.rows().into_iter().map(line))
            .collect()
    }

    /// What of R@k is clearly below that of another row.
    fn worse(&self, than: CrossRow) -> Option<String> {
        let falls = |(metric, by): (&String, &ByDirection<Estimate>)| {
            let (_, k) = metric.split_once('@')?;
            let fall = by.get(MEAN).filter(|gain| gain.high < -0.0005)?;
            let said = format!(
                "R@{k} {:+.3} [{:+.3}, {:+.3}]",
                fall.value, fall.low, fall.high
            );
            Some((k.parse::<usize>().ok()?, said))
        };
        let mut falls: Vec<_> = self.differences[&than].iter().filter_map(falls).collect();
        falls.sort_unstable();
        let falls: Vec<String> = falls.into_iter().map(|(_, said)| said).collect();
        (!falls.is_empty()).then(|| format!("What got worse: {}.", falls.join(", ")))
    }

    fn in_words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let value = |summary: &CrossSummary| summary.map50.get(MEAN).copied().unwrap_or(0.0);
        let runs = match self.summary.draws {
            1 => "one run".to_owned(),
            n => format!("{n} draws of labels"),
        };
        lines.push(match &self.not_measured {
            Some(why) => format!("{why}."),
            None => format!("MAP@50 across views {:.3} ({runs}).", value(&self.summary)),
        });
        let tested = self.n_queries.values();
        let (least, most) = (tested.clone().min().copied(), tested.max().copied());
        if let Some((least, most)) = least.zip(most).filter(|&(least, _)| least < FEW_TESTED) {
            // Where items lack a view, fewer ask from there.
            let tested = if least == most {
                least.to_string()
            } else {
                format!("{least} to {most}")
            };
            lines.push(format!(
                "Only {tested} labeled items are tested, and searched among themselves: among all items MAP@50 may \
                 be another."
            ));
        }
        if self.views.len() > 2 && self.not_measured.is_none() {
            lines.push(
                "No row without labels: canonical correlations are of two views, and there are more.".into(),
            );
        }
        for (row, what) in [
            (CrossRow::Start, "Labels"),
            (CrossRow::LabelsOnly, "Pseudo-labels"),
        ] {
            let difference = self
                .differences
                .get(&row)
                .and_then(|by| by.get("map50")?.get(MEAN));
            let Some(gain) = difference else { continue };
            let from = value(&self.baselines[&row]);
            let half = (gain.high - gain.low) / 2.0;
            let (done, less) = (value(&self.summary), gain.value.abs());
            // What the last digit does not show is no difference.
            let shows = less >= 0.0005;
            lines.push(if shows && gain.low > 0.0 {
                format!("{what} help: MAP@50 {from:.3} -> {done:.3} (+{less:.3} ±{half:.3}).")
            } else if shows && gain.high < 0.0 {
                format!("{what} harm: MAP@50 {from:.3} -> {done:.3} (-{less:.3} ±{half:.3}).")
            } else {
                format!(
                    "{what}: no clear difference, MAP@50 {from:.3} -> {done:.3} ({:+.3} ±{half:.3}).",
                    gain.value
                )
            });
            lines.extend(self.worse(row));
        }
        if let Some(first) = self.per_draw.first()
            && first.believed > 0
        {
            let whose = first.judged.map_or("of them".to_owned(), |judged| {
                format!("of the {judged} whose class is known")
            });
            let right = first.accuracy.map_or(String::new(), |share| {
                format!(", {:.0} % {whose} right", 100.0 * share)
            });
            lines.push(format!(
                "Beside {} labels {} items got a class in the first draw{right}.",
                first.labeled, first.believed
            ));
            lines.extend(selection::in_words(&first.selections, self.per_draw.len()));
        }
        if self.refit {
            lines.push("The model in the run has then learned from the tested items too.".into());
        }
        lines
            .iter()
            .map(|line| plain::line(line).into_owned())
            .collect()
    }
}

/// How each class is found, where `asked` are the classes of the queries of each direction.
fn by_class(runs: &[Measured], asked: &ByDirection<Vec<&str>>) -> Vec<CrossClass> {
    let mut sums: BTreeMap<&str, (usize, f64, f64)> = BTreeMap::new();
    let mut nearest = false;
    for (run, (way, classes)) in runs
        .iter()
        .flat_map(|run| asked.iter().map(move |of| (run, of)))
    {
        let map50 = &run.0["map50"][way];
        let first = run.0.get("recall@1").map(|by| &by[way]);
        nearest |= first.is_some();
        for (query, &class) in classes.iter().enumerate() {
            let sum = sums.entry(class).or_default();
            sum.0 += 1;
            sum.1 += map50[query];
            sum.2 += first.map_or(0.0, |first| first[query]);
        }
    }
    let each = sums
        .into_iter()
        .map(|(class, (n, map50, first))| CrossClass {
            class: class.to_owned(),
            queries: n,
            map50: map50 / n as f64,
            recall_at_1: nearest.then(|| first / n as f64),
        });
    each.collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Adds the short names of the directions between the first two views, and the mean of all.
fn with_mean<T: Copy>(
    mut by: ByDirection<T>,
    views: &[String],
    mean: impl Fn(&ByDirection<T>) -> T,
) -> ByDirection<T> {
    let all = mean(&by);
    for (short, from, to) in [("a_to_b", 0, 1), ("b_to_a", 1, 0)] {
        if let Some(&value) = by.get(&direction(&views[from], &views[to])) {
            by.insert(short.to_owned(), value);
        }
    }
    by.insert(MEAN.to_owned(), all);
    by
}

/// Value and interval of each direction and of their mean: over the runs, and at least as wide as over the queries
/// of one, since other queries would have other values however alike the runs are.
fn estimates(runs: &[&ByDirection<Vec<f64>>], views: &[String]) -> ByDirection<Estimate> {
    let of_queries: Vec<_> = runs.iter().map(|run| over_queries(run, views)).collect();
    let ways = of_queries
        .first()
        .map_or(vec![], |run| run.keys().collect());
    let each = ways.into_iter().map(|way| {
        let values: Vec<f64> = of_queries.iter().map(|run| run[way].value).collect();
        let width: Vec<f64> = (of_queries.iter())
            .map(|run| run[way].high - run[way].value)
            .collect();
        let (value, least) = (mean(&values), mean(&width));
        let half = t_interval(&values).map_or(0.0, |over| over.high - over.value);
        (way.clone(), around(value, half.max(least)))
    });
    each.collect()
}

/// The same of one run over its queries. The mean has the mean of the intervals, as wide as if all queries were the
/// same.
fn over_queries(run: &ByDirection<Vec<f64>>, views: &[String]) -> ByDirection<Estimate> {
    let by = run.iter().map(|(way, values)| {
        let estimate = t_interval(values).unwrap_or(around(mean(values), 0.0));
        (way.clone(), estimate)
    });
    with_mean(by.collect(), views, |by| {
        let of = |part: fn(&Estimate) -> f64| mean(&by.values().map(part).collect::<Vec<_>>());
        around(of(|e| e.value), of(|e| e.high - e.value))
    })
}

fn around(value: f64, half: f64) -> Estimate {
    Estimate {
        value,
        low: value - half,
        high: value + half,
    }
}

fn summary(runs: &[Measured], views: &[String]) -> CrossSummary {
    let mut summary = CrossSummary {
        draws: runs.len(),
        ..CrossSummary::default()
    };
    for metric in runs[0].0.keys() {
        let of: Vec<_> = runs.iter().map(|run| &run.0[metric]).collect();
        let queries = of[0].values().map(Vec::len).min().unwrap_or(0);
        let mut estimates = estimates(&of, views);
        for estimate in estimates.values_mut() {
            // Answers that are all right do not vary, which is no proof that the next one is.
            // A mean of perfect answers may be 1 and a rounding.
            estimate.value = estimate.value.clamp(0.0, 1.0);
            let value = estimate.value;
            let few = queries as f64 * value.min(1.0 - value) < FEW;
            if let Some(least) = wilson_mean(value, queries).filter(|_| few) {
                estimate.low = estimate.low.min(least.low);
                estimate.high = estimate.high.max(least.high);
            }
            estimate.low = estimate.low.clamp(0.0, estimate.value);
            estimate.high = estimate.high.clamp(estimate.value, 1.0);
        }
        let values: ByDirection<f64> = estimates
            .iter()
            .map(|(w, e)| (w.clone(), e.value))
            .collect();
        let ci = estimates.iter().map(|(w, e)| (w.clone(), [e.low, e.high]));
        summary.ci.insert(metric.clone(), ci.collect());
        match metric.split_once('@') {
            Some((_, k)) => {
                summary.recall.insert(k.to_owned(), values);
            }
            None if metric == "map50" => summary.map50 = values,
            None => summary.map50_stable = values,
        }
    }
    summary
}

/// Recipe less another row; a row of one run stands beside every draw.
fn difference(
    recipe: &[Measured],
    other: &[Measured],
    views: &[String],
) -> BTreeMap<String, ByDirection<Estimate>> {
    let metrics = recipe[0].0.keys();
    let of_metric = |metric: &String| {
        let pairs = recipe.iter().enumerate().map(|(run, own)| {
            let other = &other[run.min(other.len() - 1)].0[metric];
            let ways = own.0[metric].iter().map(|(way, values)| {
                let less = values.iter().zip(&other[way]).map(|(a, b)| a - b);
                (way.clone(), less.collect::<Vec<f64>>())
            });
            ways.collect::<ByDirection<Vec<f64>>>()
        });
        let pairs: Vec<_> = pairs.collect();
        estimates(&pairs.iter().collect::<Vec<_>>(), views)
    };
    metrics
        .map(|metric| (metric.clone(), of_metric(metric)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Selected;

    fn run(ab: [f64; 2], ba: [f64; 2]) -> Measured {
        let by = BTreeMap::from([
            ("x_to_y".to_owned(), ab.to_vec()),
            ("y_to_x".to_owned(), ba.to_vec()),
        ]);
        Measured(BTreeMap::from([
            ("map50".to_owned(), by.clone()),
            ("map50_stable".to_owned(), by.clone()),
            ("recall@1".to_owned(), by),
        ]))
    }

    /// Twenty times the same queries.
    fn many(ab: [f64; 2], ba: [f64; 2]) -> Measured {
        let mut run = run(ab, ba);
        for values in run.0.values_mut().flat_map(BTreeMap::values_mut) {
            *values = values.repeat(20);
        }
        run
    }

    #[test]
    fn means_directions_and_intervals_by_hand() {
        let views = ["x".to_owned(), "y".to_owned()];
        let runs = [many([0.4, 0.6], [0.2, 0.2]), many([0.6, 0.8], [0.4, 0.4])];
        let found = summary(&runs, &views);
        for (way, value) in [
            ("x_to_y", 0.6),
            ("a_to_b", 0.6),
            ("b_to_a", 0.3),
            ("mean", 0.45),
        ] {
            assert!((found.map50[way] - value).abs() < 1e-12, "{way}");
            assert!((found.recall["1"][way] - value).abs() < 1e-12, "{way}");
        }
        // Means .35 and .55: t(1) = 12.706 times .1, of which no share is below 0 or above 1.
        let [low, high] = found.ci["map50"]["mean"];
        assert!(
            low.abs() < 1e-12 && (high - 1.0).abs() < 1e-12,
            "{low} {high}"
        );
        let near = [many([0.4; 2], [0.4; 2]), many([0.41; 2], [0.41; 2])];
        let [low, high] = summary(&near, &views).ci["map50"]["mean"];
        assert!(((high - low) / 2.0 - 0.063_53).abs() < 1e-4, "{low} {high}");
        // Less a row of one run, which stands beside both.
        let other = [many([0.4, 0.6], [0.2, 0.2])];
        let gain = &difference(&runs, &other, &views)["map50"];
        assert!((gain["a_to_b"].value - 0.1).abs() < 1e-12);
        assert!((gain["mean"].value - 0.1).abs() < 1e-12);
    }

    #[test]
    fn runs_that_are_alike_say_nothing_of_other_queries() {
        let views = ["x".to_owned(), "y".to_owned()];
        let runs = [
            many([0.0, 0.8], [0.3, 0.3]),
            many([0.8, 0.0], [0.3, 0.3]),
            many([0.0, 0.8], [0.3, 0.3]),
        ];
        let found = summary(&runs, &views);
        // Forty queries of 0 and .8: t(39) = 2.0227 times .4 sqrt(40 / 39) / sqrt(40).
        let [low, high] = found.ci["map50"]["a_to_b"];
        assert!(((high - low) / 2.0 - 0.129_56).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn of_one_run_the_interval_is_that_of_its_queries() {
        let views = ["x".to_owned(), "y".to_owned()];
        let found = summary(&[many([0.4, 0.6], [0.2, 0.2])], &views);
        let same = found.ci["map50"]["b_to_a"];
        assert!(same.iter().all(|end| (end - 0.2).abs() < 1e-12), "{same:?}");
        let [low, high] = found.ci["map50"]["a_to_b"];
        assert!(low < 0.48 && high > 0.52, "{low} {high}");
    }

    #[test]
    fn perfect_answers_are_no_proof() {
        let views = ["x".to_owned(), "y".to_owned()];
        let all = || many([1.0; 2], [1.0; 2]);
        for runs in [vec![all()], vec![all(), all()]] {
            let found = summary(&runs, &views);
            for way in ["a_to_b", "mean"] {
                let [low, high] = found.ci["recall@1"][way];
                // Wilson of 40 of 40: 40 / (40 + 1.96^2).
                assert!((low - 0.912_38).abs() < 1e-4 && high >= 1.0, "{low} {high}");
            }
        }
        // Their mean may be more than 1 by a rounding.
        let above = 1.0 + f64::EPSILON;
        let found = summary(&[many([above; 2], [1.0; 2])], &views);
        assert!(found.map50["mean"] <= 1.0, "{:?}", found.map50);
        let none = summary(&[many([0.0; 2], [0.0; 2])], &views).ci["map50"]["mean"];
        assert!(
            none[0] <= 0.0 && (none[1] - 0.087_62).abs() < 1e-4,
            "{none:?}"
        );
    }

    #[test]
    fn classes_are_means_over_draws_and_directions() {
        let runs = [run([0.4, 0.6], [0.2, 0.2]), run([0.6, 0.8], [0.4, 0.4])];
        let asked = BTreeMap::from([
            ("x_to_y".to_owned(), vec!["a", "b"]),
            ("y_to_x".to_owned(), vec!["a", "a"]),
        ]);
        let found = by_class(&runs, &asked);
        let names: Vec<_> = found
            .iter()
            .map(|c| (c.class.as_str(), c.queries))
            .collect();
        assert_eq!(names, [("a", 6), ("b", 2)]);
        // (.4 + .2 + .2 + .6 + .4 + .4) / 6 and (.6 + .8) / 2.
        assert!((found[0].map50 - 2.2 / 6.0).abs() < 1e-12);
        assert!((found[1].map50 - 0.7).abs() < 1e-12);
        assert_eq!(found[1].recall_at_1.map(|v| (v * 10.0).round()), Some(7.0));
    }

    #[test]
    fn results_come_back_from_their_json() {
        let summary = summary(&[run([0.4, 0.6], [0.2, 0.2])], &["x".into(), "y".into()]);
        let start = CrossSummary {
            directions: Some(8),
            ..summary.clone()
        };
        let results = CrossResults {
            baselines: BTreeMap::from([(CrossRow::Start, start)]),
            summary,
            differences: BTreeMap::new(),
            verdict: vec![],
            recipe: "gsph".into(),
            views: vec!["x".into(), "y".into()],
            split: SplitKind::Item,
            parts: BTreeMap::new(),
            n_queries: BTreeMap::from([("x_to_y".to_owned(), 120), ("y_to_x".to_owned(), 400)]),
            labels_per_class: None,
            label_fraction: Some(0.1),
            seed: 0,
            refit: false,
            not_measured: None,
            per_draw: vec![OfDraw {
                labeled: 3,
                believed: 9,
                accuracy: Some(0.5),
                judged: Some(6),
                selections: vec![Selection {
                    all: Selected {
                        selected: 8,
                        judged: 8,
                        precision: Some(0.75),
                    },
                    view: Some("x".into()),
                    accuracy: BTreeMap::from([("x".into(), 1.0), ("y".into(), 0.5)]),
                    refused: 1,
                    by_class: BTreeMap::new(),
                }],
            }],
            classes: vec![CrossClass {
                class: "a".into(),
                queries: 4,
                map50: 0.5,
                recall_at_1: Some(0.25),
            }],
        };
        let json = serde_json::to_string(&results).unwrap();
        assert!(json.starts_with("{\"map50\":{\"a_to_b\""), "{json}");
        assert_eq!(
            serde_json::from_str::<CrossResults>(&json).unwrap(),
            results
        );
        assert_eq!(results.table()[2][0], "gsph");
        let few = &results.in_words()[1];
        assert!(
            few.starts_with("Only 120 to 400 labeled items are tested"),
            "{few}"
        );
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["baselines"]["cca"]["directions"], 8);
        assert!(value.get("directions").is_none());
        let selection = &value["per_draw"][0]["selections"][0];
        assert_eq!(
            (&selection["selected"], &selection["view"]),
            (&8.into(), &"x".into())
        );
        let said = results.in_words();
        let last = said.last().unwrap();
        assert_eq!(
            last,
            "Label prediction selected 8 items, 75.0 % of them right."
        );
        let classes =
            "9 items got a class in the first draw, 50 % of the 6 whose class is known right.";
        assert!(said[said.len() - 2].ends_with(classes), "{said:?}");
        // Of runs of before nothing is known of either.
        let mut before = value;
        before["baselines"]["cca"]
            .as_object_mut()
            .unwrap()
            .remove("directions");
        before["per_draw"][0]
            .as_object_mut()
            .unwrap()
            .remove("selections");
        let before: CrossResults = serde_json::from_value(before).unwrap();
        assert!(before.per_draw[0].selections.is_empty());
        assert_eq!(before.baselines[&CrossRow::Start].directions, None);
    }

    #[test]
    fn what_is_the_same_does_not_help() {
        let of = |gain: f64| {
            let summary = summary(&[run([1.0, 1.0], [1.0, 1.0])], &["x".into(), "y".into()]);
            let estimate = Estimate {
                value: gain,
                low: gain - 1e-9,
                high: gain + 1e-9,
            };
            let by = BTreeMap::from([(MEAN.to_owned(), estimate)]);
            let results = CrossResults {
                baselines: BTreeMap::from([(CrossRow::Start, summary.clone())]),
                summary,
                differences: BTreeMap::from([(
                    CrossRow::Start,
                    BTreeMap::from([("map50".to_owned(), by)]),
                )]),
                verdict: vec![],
                recipe: "gsph".into(),
                views: vec!["x".into(), "y".into()],
                split: SplitKind::Item,
                parts: BTreeMap::new(),
                n_queries: BTreeMap::new(),
                labels_per_class: None,
                label_fraction: None,
                seed: 0,
                refit: false,
                not_measured: None,
                per_draw: vec![],
                classes: vec![],
            };
            results.in_words()[1].clone()
        };
        assert!(of(1e-8).starts_with("Labels: no clear difference"));
        assert!(of(-1e-8).starts_with("Labels: no clear difference"));
        assert!(of(0.01).starts_with("Labels help"));
        assert!(of(-0.01).starts_with("Labels harm"));
    }
}
