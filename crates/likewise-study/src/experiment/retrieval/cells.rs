//! Results on disk: `results.json`, the same for the same experiment on the same data, and
//! `times.json`, which no two runs share.

use std::collections::BTreeMap;
use std::path::PathBuf;

use likewise::Collection;
use likewise::eval::bootstrap::{Estimate, t_interval};
use likewise::eval::summary::Summary;
use serde::{Deserialize, Serialize};

use super::definition::{Data, Experiment, Method};
use crate::experiment::results::{Cells, What};
use crate::experiment::store::{self, key, rounded};
use crate::study::{Bench, DrawLog};
use crate::{Result, no_json};

/// A data set as it was when its cells were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DataRecord {
    pub(super) definition: Data,
    pub(super) sha256: String,
    pub(super) seed: u64,
    pub(super) items: usize,
    pub(super) classes: usize,
    pub(super) dimensions: usize,
    /// Items to fit on, to validate, queries, and the gallery.
    pub(super) parts: [usize; 4],
}

impl DataRecord {
    pub(super) fn new(
        data: &Data,
        (sha256, seed): (String, u64),
        collection: &Collection,
        bench: &Bench,
    ) -> Result<Self> {
        let classes = collection
            .labels
            .as_ref()
            .map_or(0, likewise::Labels::n_classes);
        Ok(Self {
            definition: data.clone(),
            sha256,
            seed,
            items: collection.len(),
            classes,
            dimensions: collection.view(data.view.as_deref())?.matrix.ncols(),
            parts: bench.sizes(),
        })
    }
}

/// A value with the ends of its 95 % interval over queries.
type Interval = [f64; 3];

/// One method in one draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) draw: u64,
    /// Seconds that it took; kept in the file of times.
    #[serde(skip)]
    pub(super) seconds: f64,
    pub(super) metrics: BTreeMap<String, Interval>,
    /// As it was trained to the end, where validation kept another epoch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    last: BTreeMap<String, Interval>,
    /// Start -> what was gained over it, paired by query.
    pub(super) over: BTreeMap<String, BTreeMap<String, Interval>>,
    /// Labels that were fitted on, and that validated alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) labels: Option<[usize; 2]>,
    /// The epoch that was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) epoch: Option<usize>,
    /// Epochs that it was trained for; absent where an earlier version did not note it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    epochs: Option<usize>,
    /// What it was chosen by, epoch by epoch, the start first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) validation: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pseudo_label_accuracy: Option<f64>,
    /// Effective rank of the embedding after the last epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) effective_rank: Option<f64>,
}

impl Cell {
    pub(super) fn new(
        draw: u64,
        seconds: f64,
        (summary, last): (&Summary, Option<&Summary>),
        over: [(&str, BTreeMap<String, Estimate>); 2],
        log: Option<&DrawLog>,
    ) -> Self {
        let over = over.map(|(start, differences)| {
            let of = |(name, d): (String, Estimate)| (name, [d.value, d.low, d.high].map(rounded));
            (start.to_owned(), differences.into_iter().map(of).collect())
        });
        Self {
            draw,
            seconds,
            metrics: metrics_of(summary),
            last: last.map(metrics_of).unwrap_or_default(),
            over: over.into_iter().collect(),
            labels: log.map(|log| [log.labels, log.validation_labels]),
            epoch: log.map(|log| log.epoch),
            epochs: log.and_then(|log| Some(log.training.last()?.epoch)),
            validation: log.map_or_else(Vec::new, |log| {
                let scores = log.validation.iter().flatten();
                scores.map(|&score| rounded(score)).collect()
            }),
            pseudo_label_accuracy: log.and_then(|l| l.pseudo_label_accuracy).map(rounded),
            effective_rank: log
                .and_then(|log| log.training.last())
                .map(|last| rounded(last.effective_rank)),
        }
    }
}

impl Cell {
    /// The metrics after the last epoch, if they are known.
    fn as_trained(&self) -> Option<&BTreeMap<String, Interval>> {
        let same = self.epochs.is_some() && self.epochs == self.epoch;
        let last = (!self.last.is_empty()).then_some(&self.last);
        last.or(same.then_some(&self.metrics))
    }
}

fn metrics_of(summary: &Summary) -> BTreeMap<String, Interval> {
    let value = |name: &str| match name.split_once('@') {
        Some(("recall", k)) => summary.recall.get(&k.parse().ok()?).copied(),
        Some(("ndcg", k)) => summary.ndcg.get(&k.parse().ok()?).copied(),
        Some((_, k)) => summary.precision.get(&k.parse().ok()?).copied(),
        None => match name {
            "map" => summary.map,
            "map_at_r" => summary.map_at_r,
            "r_precision" => summary.r_precision,
            _ => summary.nmi,
        },
    };
    let metrics = summary.ci.iter().filter_map(|(name, ends)| {
        let interval = [value(name)?, ends[0], ends[1]].map(rounded);
        Some((name.clone(), interval))
    });
    metrics.collect()
}

/// Means over draws. The interval over queries and the t interval over draws are joined, half
/// widths added in quadrature: luck with queries and luck with labels both count. Without an
/// interval (NaN) where that of a draw does not hold its value.
pub(super) fn means(cells: &[&Cell]) -> BTreeMap<String, Estimate> {
    joined(cells.iter().map(|cell| &cell.metrics))
}

/// As [`means`], after the last epoch; nothing where that is not known of every draw, since the mean of some is not to be
/// compared with that of all.
pub(super) fn means_as_trained(cells: &[&Cell]) -> BTreeMap<String, Estimate> {
    let all: Option<Vec<_>> = cells.iter().map(|cell| cell.as_trained()).collect();
    joined(all.unwrap_or_default().into_iter())
}

/// As [`means`], of what was gained over a start.
pub(super) fn gains(cells: &[&Cell], start: &str) -> BTreeMap<String, Estimate> {
    joined(cells.iter().filter_map(|cell| cell.over.get(start)))
}

fn joined<'a>(
    of: impl Iterator<Item = &'a BTreeMap<String, Interval>>,
) -> BTreeMap<String, Estimate> {
    let mut by_metric: BTreeMap<&String, Vec<Interval>> = BTreeMap::new();
    for (name, interval) in of.flatten() {
        by_metric.entry(name).or_default().push(*interval);
    }
    let one = |intervals: Vec<Interval>| {
        let n = intervals.len() as f64;
        let mean = |of: &dyn Fn(&Interval) -> f64| intervals.iter().map(of).sum::<f64>() / n;
        let value = mean(&|i| i[0]);
        let values: Vec<f64> = intervals.iter().map(|i| i[0]).collect();
        let over_draws = t_interval(&values).map_or(0.0, |t| (t.high - t.low) / 2.0);
        // Of cells of an older version, whose resampled clusters were not those of all queries.
        let holds = |i: &Interval| i[1] <= i[0] && i[0] <= i[2];
        if !intervals.iter().all(holds) {
            return Estimate {
                value,
                low: f64::NAN,
                high: f64::NAN,
            };
        }
        Estimate {
            value,
            low: value - mean(&|i| i[0] - i[1]).hypot(over_draws),
            high: value + mean(&|i| i[2] - i[0]).hypot(over_draws),
        }
    };
    let means = by_metric.into_iter();
    means.map(|(name, all)| (name.clone(), one(all))).collect()
}

/// All cells of one method on one data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(super) data: String,
    pub(super) method: String,
    /// What it does; in the file its place among the recipes.
    pub(super) recipe: What,
    pub(super) cells: Vec<Cell>,
}

impl Row {
    fn is(&self, data: &str, method: &str) -> bool {
        self.data == data && self.method == method
    }
}

impl Cells for Row {
    const NAMES: [&'static str; 2] = ["recipes", "rows"];

    fn data(&self) -> &str {
        &self.data
    }

    fn key(&self) -> String {
        key(&self.data, &self.method)
    }

    fn what(&mut self) -> &mut What {
        &mut self.recipe
    }

    fn count(&self) -> usize {
        self.cells.len()
    }
}

pub(super) type Store = store::Store<Experiment>;

impl Store {
    /// Where unfinished trainings are kept: a name that nobody else gives to a folder, since it is removed.
    pub(super) fn checkpoints(&self) -> PathBuf {
        self.folder().join(".likewise-checkpoints")
    }

    /// Takes them away; a folder that cannot be removed does no harm.
    pub(super) fn forget_checkpoints(&self) {
        let _ = std::fs::remove_dir_all(self.checkpoints());
    }

    /// The cells of a method on a data set, by draw.
    pub(super) fn cells(&self, data: &str, method: &str) -> Vec<&Cell> {
        let row = self.runs.iter().filter(|row| row.is(data, method));
        row.flat_map(|row| &row.cells).collect()
    }

    pub(super) fn has(&self, data: &str, method: &str, draw: u64) -> bool {
        self.cells(data, method)
            .iter()
            .any(|cell| cell.draw == draw)
    }

    /// Adds a cell.
    pub(super) fn put(
        &mut self,
        data: &str,
        method: &Method,
        cell: Cell,
        experiment: &Experiment,
    ) -> Result<()> {
        let (draw, seconds) = (cell.draw, (cell.seconds * 1e2).round() / 1e2);
        let new = || {
            Ok(Row {
                data: data.to_owned(),
                method: method.name.clone(),
                recipe: What::of(&method.how).map_err(no_json)?,
                cells: vec![],
            })
        };
        let row = self.run_mut(|row| row.is(data, &method.name), new)?;
        let at = row.cells.partition_point(|c| c.draw < draw);
        row.cells.insert(at, cell);
        self.computed(key(data, &method.name), draw, seconds, experiment)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::experiment::results::File;

    fn cell(draw: u64, interval: Interval) -> Cell {
        Cell {
            draw,
            seconds: 0.0,
            metrics: BTreeMap::from([("map".to_owned(), interval)]),
            last: BTreeMap::new(),
            over: BTreeMap::from([(
                "raw".to_owned(),
                BTreeMap::from([("map".to_owned(), interval)]),
            )]),
            labels: None,
            epoch: None,
            epochs: None,
            validation: vec![],
            pseudo_label_accuracy: None,
            effective_rank: None,
        }
    }

    #[test]
    fn luck_with_queries_and_with_labels_both_count() {
        let one = cell(0, [0.5, 0.4, 0.6]);
        let alone = &means(&[&one])["map"];
        assert_eq!(
            (alone.value, alone.low, alone.high),
            (0.5, 0.4, 0.6),
            "one draw has the interval over queries"
        );
        let two = cell(1, [0.7, 0.6, 0.8]);
        let both = &gains(&[&one, &two], "raw")["map"];
        assert!((both.value - 0.6).abs() < 1e-12);
        // The t interval of two values with mean .6 has half a width of 12.706 x .1.
        assert!((both.high - both.value - 0.1_f64.hypot(1.270_6)).abs() < 1e-3);
        assert!(gains(&[&one], "whitened").is_empty());
        // An interval beside its value says nothing, also not as a part of a mean.
        let beside = cell(1, [0.5, 0.6, 0.8]);
        let none = &means(&[&one, &beside])["map"];
        assert!((none.value - 0.5).abs() < 1e-12 && none.low.is_nan() && none.high.is_nan());
    }

    #[test]
    fn what_was_sent_back_to_the_start_still_shows_what_it_learned() {
        let kept = [0.5, 0.4, 0.6];
        let back = Cell {
            epoch: Some(0),
            epochs: Some(4),
            last: BTreeMap::from([("map".to_owned(), [0.3, 0.2, 0.4])]),
            ..cell(0, kept)
        };
        let value = |cell: &Cell| means_as_trained(&[cell]).get("map").map(|mean| mean.value);
        assert_eq!(value(&back), Some(0.3));
        let to_the_end = Cell {
            epoch: Some(4),
            epochs: Some(4),
            ..cell(0, kept)
        };
        assert_eq!(value(&to_the_end), Some(0.5));
        // Of an earlier version, which did not note it.
        let unknown = Cell {
            epoch: Some(4),
            ..cell(0, kept)
        };
        assert_eq!(value(&unknown), None);
    }

    /// A result beside an experiment that would not give it again is a claim without a source.
    #[test]
    fn every_result_of_this_repository_is_of_its_experiment() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut seen = 0;
        for entry in std::fs::read_dir(root.join("experiments")).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            if crate::experiment::kind(&text).as_deref() != Some("retrieval") {
                continue;
            }
            let folder = root.join("results").join(path.file_stem().unwrap());
            let experiment = Experiment::read(&path).unwrap();
            // One that was not run yet claims nothing.
            if !folder.exists() {
                continue;
            }
            let text = std::fs::read_to_string(folder.join("results.json")).unwrap();
            let written: File<DataRecord, Row> = serde_json::from_str(&text).unwrap();
            let written = written.runs;
            let kept = Store::open(&folder, &experiment, &likewise::Monitor::silent()).unwrap();
            let names = |rows: &[Row]| -> Vec<(String, String)> {
                let each = rows
                    .iter()
                    .map(|row| (row.data.clone(), row.method.clone()));
                each.collect()
            };
            assert_eq!(names(&written), names(&kept.runs), "{path:?}");
            seen += written.len();
        }
        assert!(seen > 100, "{seen}");
    }
}
