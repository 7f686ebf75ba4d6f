//! Results on disk: `results.json`, the same for the same experiment on the same data, and
//! `times.json`, which no two runs share.

use std::collections::{BTreeMap, BTreeSet};

use likewise::Collection;
use likewise::eval::bootstrap::Estimate;
use serde::{Deserialize, Serialize};

use super::definition::{Data, Experiment, Method};
use super::prepared::{self, Hidden};
use crate::experiment::draws::paired;
use crate::experiment::results::{Cells, What};
use crate::experiment::store::{self, key, rounded};
use crate::study::{CrossCell, Selection};
use crate::{Result, no_json, usage};

/// A data set as it was when its cells were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DataRecord {
    pub(super) definition: Data,
    pub(super) sha256: String,
    pub(super) seed: u64,
    pub(super) items: usize,
    pub(super) classes: usize,
    /// Columns of each view.
    pub(super) dimensions: Vec<usize>,
    /// Items to fit on, and queries, which are also what is searched, in the first draw.
    pub(super) parts: [usize; 2],
    /// Where classes are held out, in the first draw: those to fit on that are of these classes, and unlabeled
    /// ones of the others that are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hidden: Option<[usize; 2]>,
}

impl DataRecord {
    pub(super) fn new(
        data: &Data,
        (sha256, seed): (String, u64),
        items: &Collection,
    ) -> Result<Self> {
        let columns = |view: &String| Ok(items.view(Some(view))?.matrix.ncols());
        let first = prepared::of_draw(data, items, seed, 0)?;
        let Hidden { outside, left_out } = first.hidden;
        Ok(Self {
            definition: data.clone(),
            sha256,
            seed,
            items: items.len(),
            classes: items.labels.as_ref().map_or(0, likewise::Labels::n_classes),
            dimensions: data.views.iter().map(columns).collect::<Result<_>>()?,
            parts: first.parts(&data.views)?,
            hidden: data.outside.is_some().then_some([outside, left_out]),
        })
    }
}

/// One method in one draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) draw: u64,
    /// Seconds that it took, its pseudo-labels with it; kept in the file of times.
    #[serde(skip)]
    pub(super) seconds: f64,
    pub(super) metrics: BTreeMap<String, f64>,
    /// Labels that were fitted.
    pub(super) labels: usize,
    /// Items without one that got a class.
    pub(super) believed: usize,
    /// Share of these whose class is right, of those that have one of the known classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) right: Option<f64>,
    /// Of classes that are held out: items in all, and those of them that got a class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) outside: Option<[usize; 2]>,
    /// How well the source tells items of classes that are held out from the other unlabeled ones, where it
    /// scores them: the area under the ROC curve. Results from before it was measured have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) outside_auroc: Option<f64>,
    /// Unlabeled items of the other classes that are left out, where those are too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) left_out: Option<usize>,
    /// What label prediction selected, one selection after the other. All learners of a source learn from the
    /// same, so that it stands beside the first one of the experiment alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) selections: Vec<Selection>,
}

impl Cell {
    pub(super) fn new(draw: u64, hidden: Hidden, found: CrossCell) -> Self {
        let [believed, judged, right] = found.believed;
        let metrics = found.metrics.into_iter();
        Self {
            draw,
            seconds: found.seconds,
            metrics: metrics
                .map(|(name, value)| (name, rounded(value)))
                .collect(),
            labels: found.labels,
            believed,
            right: (judged > 0).then(|| rounded(right as f64 / judged as f64)),
            // Of all others the class is known to us.
            outside: (hidden.outside > 0).then_some([hidden.outside, believed - judged]),
            outside_auroc: found.told_apart.filter(|_| hidden.outside > 0).map(rounded),
            left_out: (hidden.left_out > 0).then_some(hidden.left_out),
            selections: found.selections.into_iter().map(shortened).collect(),
        }
    }
}

/// A selection without its classes, which would be most of a file.
fn shortened(mut of: Selection) -> Selection {
    of.by_class.clear();
    of.all.precision = of.all.precision.map(rounded);
    for share in of.accuracy.values_mut() {
        *share = rounded(*share);
    }
    of
}

/// All cells of one method on one data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(super) data: String,
    pub(super) learner: String,
    pub(super) source: String,
    /// What it does; in the file its place among the recipes.
    pub(super) recipe: What,
    pub(super) cells: Vec<Cell>,
}

impl Row {
    pub(super) fn is_of(&self, method: &Method) -> bool {
        [&self.learner, &self.source] == [&method.names[0], &method.names[1]]
    }

    /// Learner and source.
    pub(super) fn name(&self) -> String {
        format!("{}, {}", self.learner, self.source)
    }

    /// Metrics that were measured.
    pub(super) fn metrics(&self) -> BTreeSet<String> {
        let each = self.cells.iter().flat_map(|cell| cell.metrics.keys());
        each.cloned().collect()
    }

    /// The values of a metric, draw by draw.
    pub(super) fn values(&self, metric: &str) -> Vec<f64> {
        let cells = self.cells.iter();
        cells
            .filter_map(|cell| cell.metrics.get(metric).copied())
            .collect()
    }

    /// This row less another one in a metric, paired by draw; none without two draws in common.
    pub(super) fn less(&self, other: &Self, metric: &str) -> Option<Estimate> {
        paired(self.by_draw(metric), other.by_draw(metric))
    }

    fn by_draw<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = (u64, f64)> + 'a {
        let cells = self.cells.iter();
        cells.filter_map(|cell| Some((cell.draw, *cell.metrics.get(metric)?)))
    }
}

impl Cells for Row {
    const NAMES: [&'static str; 2] = ["recipes", "rows"];

    fn data(&self) -> &str {
        &self.data
    }

    fn key(&self) -> String {
        key(&self.data, &self.name())
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
    /// The cells of a learner and source on a data set.
    pub(super) fn row(&self, data: &str, learner: &str, source: &str) -> Option<&Row> {
        let is = |row: &&Row| row.data == data && row.learner == learner && row.source == source;
        self.runs.iter().find(is)
    }

    pub(super) fn has(&self, data: &str, method: &Method, draw: u64) -> bool {
        let row = self.row(data, &method.names[0], &method.names[1]);
        row.is_some_and(|row| row.cells.iter().any(|cell| cell.draw == draw))
    }

    /// Adds a cell. Fails where its source looks at items that the draw leaves out.
    pub(super) fn put(
        &mut self,
        data: &str,
        method: &Method,
        mut cell: Cell,
        experiment: &Experiment,
    ) -> Result<()> {
        if experiment.learners.first() != Some(&method.names[0]) {
            cell.selections.clear();
        }
        if let (Some(n), false) = (cell.left_out, method.skips_items_without_views()) {
            return Err(usage(format!(
                "{data}: {n} items are left out, since those of the classes that are held out are too few, \
                 but the source \"{}\" looks at them all the same; lower outside.share, or take the labels \
                 alone or lpf",
                method.names[1]
            )));
        }
        let (draw, seconds) = (cell.draw, (cell.seconds * 1e2).round() / 1e2);
        let new = || {
            let [learner, source] = method.names.clone();
            Ok(Row {
                data: data.to_owned(),
                learner,
                source,
                recipe: What::of(&method.recipe).map_err(no_json)?,
                cells: vec![],
            })
        };
        let row = self.run_mut(|row| row.data == data && row.is_of(method), new)?;
        let at = row.cells.partition_point(|c| c.draw < draw);
        row.cells.insert(at, cell);
        let key = row.key();
        self.computed(key, draw, seconds, experiment)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::experiment::results::File;
    use crate::study::Selected;

    fn row(values: &[(u64, f64)]) -> Row {
        let cell = |&(draw, value): &(u64, f64)| Cell {
            draw,
            seconds: 0.0,
            metrics: BTreeMap::from([("map50".to_owned(), value)]),
            labels: 1,
            believed: 0,
            right: None,
            outside: None,
            outside_auroc: None,
            left_out: None,
            selections: vec![],
        };
        Row {
            data: "d".into(),
            learner: "g".into(),
            source: "l".into(),
            recipe: What::Place(0),
            cells: values.iter().map(cell).collect(),
        }
    }

    #[test]
    fn differences_are_paired_by_draw() {
        let a = row(&[(0, 0.5), (1, 0.7), (2, 0.9)]);
        let b = row(&[(1, 0.6), (2, 0.7), (3, 0.1)]);
        // .1 and .2: t(1) = 12.706 times .05.
        let less = a.less(&b, "map50").unwrap();
        assert!((less.value - 0.15).abs() < 1e-12);
        assert!((less.high - less.value - 12.706_2 * 0.05).abs() < 1e-3);
        assert!(a.less(&row(&[(1, 0.6)]), "map50").is_none());
    }

    #[test]
    fn believed_items_that_nobody_can_judge_are_of_held_out_classes() {
        let found = CrossCell {
            metrics: BTreeMap::new(),
            labels: 10,
            believed: [50, 40, 30],
            selections: vec![selection()],
            told_apart: Some(0.8),
            seconds: 1.0,
        };
        let hidden = Hidden {
            outside: 20,
            left_out: 0,
        };
        let cell = Cell::new(0, hidden, found);
        assert_eq!((cell.right, cell.outside), (Some(0.75), Some([20, 10])));
        assert_eq!(cell.outside_auroc, Some(0.8));
        // Rounded, and without its classes; cells of before have none.
        let kept = &cell.selections[0];
        assert_eq!((kept.all.selected, kept.refused), (50, 3));
        assert_eq!(kept.all.precision, Some(rounded(2.0 / 3.0)));
        assert!(kept.by_class.is_empty() && !selection().by_class.is_empty());
        let mut json = serde_json::to_value(&cell).unwrap();
        assert_eq!(json["selections"][0]["selected"], 50);
        json.as_object_mut().unwrap().remove("selections");
        assert!(
            serde_json::from_value::<Cell>(json)
                .unwrap()
                .selections
                .is_empty()
        );
    }

    fn selection() -> Selection {
        let all = Selected {
            selected: 50,
            judged: 45,
            precision: Some(2.0 / 3.0),
        };
        Selection {
            all,
            view: Some("a".into()),
            accuracy: BTreeMap::from([("a".into(), 0.75)]),
            refused: 3,
            by_class: BTreeMap::from([("x".into(), all)]),
        }
    }

    #[test]
    fn cells_from_before_the_area_was_measured_are_read() {
        let old = r#"{"draw":1,"metrics":{"map50":0.5},"labels":9,"believed":4,"right":0.5,"outside":[3,1]}"#;
        let cell: Cell = serde_json::from_str(old).unwrap();
        assert_eq!((cell.outside, cell.outside_auroc), (Some([3, 1]), None));
        assert_eq!(serde_json::to_string(&cell).unwrap(), old);
        let cell = Cell {
            outside_auroc: Some(0.75),
            ..cell
        };
        let new = serde_json::to_string(&cell).unwrap();
        assert!(
            new.ends_with(r#""outside":[3,1],"outside_auroc":0.75}"#),
            "{new}"
        );
        assert_eq!(serde_json::from_str::<Cell>(&new).unwrap(), cell);
    }

    /// A result beside an experiment that would not give it again is a claim without a source.
    #[test]
    fn every_result_of_this_repository_is_of_its_experiment() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut seen = 0;
        for entry in std::fs::read_dir(root.join("experiments")).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            if crate::experiment::kind(&text).as_deref() != Some("across") {
                continue;
            }
            let experiment = Experiment::read(&path).unwrap();
            seen += 1;
            let folder = root.join("results").join(path.file_stem().unwrap());
            // One that was not run yet claims nothing.
            if !folder.exists() {
                continue;
            }
            let text = std::fs::read_to_string(folder.join("results.json")).unwrap();
            let written: File<DataRecord, Row> = serde_json::from_str(&text).unwrap();
            let written = written.runs;
            let kept = Store::open(&folder, &experiment, &likewise::Monitor::silent()).unwrap();
            let names = |rows: &[Row]| -> Vec<(String, String)> {
                let each = rows.iter().map(|row| (row.data.clone(), row.name()));
                each.collect()
            };
            assert_eq!(names(&written), names(&kept.runs), "{path:?}");
        }
        assert!(seen >= 2, "{seen}");
    }
}
