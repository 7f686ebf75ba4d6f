//! The numbers of a study, as `metrics.json` holds them.

use std::collections::BTreeMap;
use std::fmt;

use likewise::Collection;
use likewise::eval::bootstrap::{Bootstrap, Estimate};
use likewise::eval::calibration::Calibration;
use likewise::eval::collapse::Collapse;
use likewise::eval::leak::LeakReport;
use likewise::eval::summary::{Difference, Run, Summary};
use serde::Serialize;

use super::{DrawLog, Plan, SplitKind};
use crate::Result;

/// Everything measured. The first keys are those of `likewise eval --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Results {
    /// Metrics of the recipe, means over the draws.
    #[serde(flatten)]
    pub summary: Summary,
    /// The same of the baselines: `raw`, `whitened`, `labels_only`, `all_labels`.
    pub baselines: BTreeMap<&'static str, Summary>,
    /// Recipe minus baseline, paired by query and by draw.
    pub differences: BTreeMap<&'static str, Difference>,
    /// What it comes to, in plain words.
    pub verdict: Vec<String>,
    /// Whether the recipe beats raw, whitened and labels-only in MAP@R beyond the interval
    /// and is not below them in R@1 beyond it.
    pub learning_helped: bool,
    /// Name of the recipe.
    pub recipe: String,
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
    pub collapse: BTreeMap<&'static str, Collapse>,
    /// Leaks and duplicates found before anything was measured.
    pub leaks: Vec<Finding>,
}

/// Something about the data that makes numbers look better or worse than they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was found, a few words.
    pub what: &'static str,
    /// How many items.
    pub count: usize,
    /// Ids of the first pairs.
    pub examples: Vec<(String, String)>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.count)?;
        if let Some((a, b)) = self.examples.first() {
            write!(f, " (first: {a} and {b})")?;
        }
        Ok(())
    }
}

/// What is measured beside the ranking.
pub(super) struct Meters {
    pub(super) raw: Collapse,
    pub(super) learned: Collapse,
    pub(super) calibration: Calibration,
    pub(super) leaks: Vec<Finding>,
    pub(super) parts: BTreeMap<String, usize>,
}

/// How a row is called in tables.
pub fn row_title(key: &str) -> &str {
    match key {
        "raw" => "raw features",
        "whitened" => "whitened, no labels",
        "labels_only" => "labels only",
        "all_labels" => "all labels (oracle)",
        other => other,
    }
}

impl Results {
    pub(super) fn new(
        plan: &Plan,
        rows: &BTreeMap<&'static str, Vec<Run>>,
        bootstrap: &Bootstrap,
        per_draw: Vec<DrawLog>,
        meters: Meters,
    ) -> Result<Self> {
        let recipe = &rows["recipe"];
        let mut baselines = BTreeMap::new();
        let mut differences = BTreeMap::new();
        for (&name, runs) in rows.iter().filter(|(name, _)| **name != "recipe") {
            baselines.insert(name, Summary::of(runs, bootstrap)?);
            differences.insert(name, Summary::difference(recipe, runs, bootstrap)?);
        }
        let mut results = Self {
            summary: Summary::of(recipe, bootstrap)?,
            baselines,
            differences,
            verdict: vec![],
            learning_helped: false,
            recipe: plan.recipe.name.clone(),
            split: plan.protocol.split,
            parts: meters.parts,
            labels_per_class: plan.protocol.labels_per_class,
            seed: plan.protocol.seed,
            per_draw,
            calibration: meters.calibration,
            collapse: BTreeMap::from([("raw", meters.raw), ("learned", meters.learned)]),
            leaks: meters.leaks,
        };
        results.judge();
        Ok(results)
    }

    /// All rows with their titles, in the order of a table: baselines, recipe, oracle.
    pub fn rows(&self) -> Vec<(&str, &Summary)> {
        let baseline = |key: &'static str| {
            let row = self.baselines.get(key)?;
            Some((row_title(key), row))
        };
        ["raw", "whitened", "labels_only"]
            .into_iter()
            .filter_map(baseline)
            .chain([(self.recipe.as_str(), &self.summary)])
            .chain(baseline("all_labels"))
            .collect()
    }

    fn judge(&mut self) {
        let mut helped = true;
        for key in ["raw", "whitened", "labels_only"] {
            let Some(difference) = self.differences.get(key) else {
                continue;
            };
            let mut words = Vec::new();
            for (metric, title) in [("map_at_r", "MAP@R"), ("recall@1", "R@1")] {
                if let Some(estimate) = difference.get(metric) {
                    words.push(format!("{title} {}", in_words(estimate)));
                }
            }
            let better = difference.get("map_at_r").is_some_and(|e| e.low > 0.0);
            let worse = difference.get("recall@1").is_some_and(|e| e.high < 0.0);
            helped &= better && !worse;
            let title = row_title(key);
            self.verdict.push(format!(
                "{} against {title}: {}",
                self.recipe,
                words.join("; ")
            ));
        }
        let start = self.per_draw.iter().filter(|draw| draw.epoch == 0).count();
        if start > 0 {
            self.verdict.push(format!(
                "validation preferred the start to everything learned in {start} of {} draw(s)",
                self.per_draw.len()
            ));
        }
        self.learning_helped = helped;
        self.verdict.push(if helped {
            "Learning helped: better than every baseline beyond the 95 % interval.".into()
        } else {
            "Learning did not clearly help here: take the best baseline.".into()
        });
    }
}

fn in_words(e: &Estimate) -> String {
    let word = if e.low > 0.0 {
        "better"
    } else if e.high < 0.0 {
        "worse"
    } else {
        "no clear difference"
    };
    format!("{word} ({:+.3} [{:+.3}, {:+.3}])", e.value, e.low, e.high)
}

pub(super) fn findings(report: &LeakReport, collection: &Collection) -> Vec<Finding> {
    let id = |item: usize| collection.ids()[item].clone();
    let listed = [
        (
            "identical items on both sides of the split",
            &report.duplicates_across,
        ),
        (
            "nearly identical items on both sides of the split",
            &report.near_duplicates,
        ),
        ("identical items within a part", &report.duplicates_within),
    ];
    let mut findings: Vec<Finding> = listed
        .into_iter()
        .filter(|(_, found)| found.count > 0)
        .map(|(what, found)| Finding {
            what,
            count: found.count,
            examples: found
                .examples
                .iter()
                .map(|&(a, b)| (id(a), id(b)))
                .collect(),
        })
        .collect();
    if !report.shared_classes.is_empty() {
        findings.push(Finding {
            what: "classes on both sides of a class-disjoint split",
            count: report.shared_classes.len(),
            examples: vec![],
        });
    }
    findings
}
