//! Looks at data before anything is learned from them: sizes, classes, duplicates, isolated items, leaks.
//!
//! Use it first, and again where numbers look too good or too bad. Not: to measure how well items are
//! found; that is what [`eval`](likewise::eval) is for.

use std::collections::BTreeMap;

use likewise::eval::collapse::Collapse;
use likewise::eval::leak;
use likewise::graph::KnnGraph;
use likewise::{Collection, Label, Monitor, Part, View, matrix};
use ndarray::{ArrayView1, ArrayView2};
use serde::Serialize;

use crate::Result;
use crate::data::Data;
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::graph::DataShape;
use crate::neighbors::check_neighbors;
use crate::source::{Source, rows_with};

/// Neighbours of an item where nobody says how many.
pub const NEIGHBORS: usize = 10;

/// Mean cosine from which on a warning is due: at .75, labels have piled up on one class.
const SAME_WAY: f64 = 0.6;

/// A look that is asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The data; one view of them, or all.
    pub data: Data,
    /// Neighbours for the look at isolated items; `None`: [`NEIGHBORS`].
    pub k: Option<usize>,
}

impl Request {
    /// What the look will cost.
    ///
    /// Fails on data that are not there, and where there are no `k` others.
    pub fn estimate(&self, at: &Environment) -> Result<Estimate> {
        Ok(self.open(at)?.1)
    }

    /// Looks at the data.
    ///
    /// Fails as [`estimate`](Self::estimate) and [`examine`] do, and where the memory does not suffice.
    pub fn run(&self, at: &Environment) -> Result<Examination> {
        let (source, needed) = self.open(at)?;
        needed.check(at.max_memory)?;
        let collection = source.load(at)?;
        let view = self.data.read.view.as_deref();
        examine(&collection, view, self.neighbors(), at.monitor)
    }

    fn open(&self, at: &Environment) -> Result<(Source, Estimate)> {
        let source = self.data.open()?;
        let shape = DataShape::of(&source, at)?;
        if let Some(k) = self.k {
            check_neighbors(k, shape.items, &self.data.path)?;
        }
        Ok((source, estimate(&shape, self.neighbors())))
    }

    fn neighbors(&self) -> usize {
        self.k.unwrap_or(NEIGHBORS)
    }
}

/// What was seen.
#[derive(Debug, Clone, Serialize)]
pub struct Examination {
    /// Items.
    pub items: usize,
    /// The views that were looked at.
    pub views: Vec<ViewCard>,
    /// Items of a known class.
    pub labeled: usize,
    /// Items without a label.
    pub unlabeled: usize,
    /// Items known to be of none of the classes.
    pub outside: usize,
    /// Items of each class.
    pub classes: BTreeMap<String, usize>,
    /// Items of each part of the split.
    pub split: BTreeMap<&'static str, usize>,
    /// What a person should look at; settings are named between backticks.
    pub warnings: Vec<String>,
}

/// One view of the items.
#[derive(Debug, Clone, Serialize)]
pub struct ViewCard {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub dimensions: usize,
    /// Items that lack it.
    pub missing: usize,
    /// Rows of zeros only.
    pub zero_rows: usize,
    /// Columns with one value.
    pub constant_columns: usize,
    /// Whether all rows have length one.
    pub unit_length: bool,
    /// Items identical to an earlier one.
    pub duplicates: usize,
    /// Identical items on both sides of the split.
    pub duplicates_across_split: usize,
    /// Items with a near copy on the other side of the split.
    pub near_duplicates_across_split: usize,
    /// Number of directions that the rows spread over.
    pub effective_rank: f64,
    /// Mean cosine of two items, -1 to 1.
    pub mean_cosine: f64,
    /// Items without a similar neighbour.
    pub isolated: usize,
    /// Parts of the graph that no edge joins.
    pub components: usize,
}

/// What it costs to look at data of a shape, by a graph of `neighbors`.
pub fn estimate(shape: &DataShape, neighbors: usize) -> Estimate {
    let (n, d) = (shape.items, shape.columns);
    // Views are looked at one after the other.
    let of_others = 2.0 * n * n * (shape.all_columns - d);
    let estimate = shape.read().graph(n, d, neighbors as f64);
    estimate.variances(n, d).stage(0.0, of_others)
}

/// Looks at one view of the items, or at all of them; `neighbors` of each item make the graph.
///
/// Cost: that of a graph and of a search for duplicates, O(n^2 d) for n items of d columns.
/// Fails on an unknown view and when cancelled.
pub fn examine(
    collection: &Collection,
    view: Option<&str>,
    neighbors: usize,
    monitor: &Monitor,
) -> Result<Examination> {
    let chosen: Vec<&View> = match view {
        Some(name) => vec![collection.view(Some(name))?],
        None => collection.views().iter().collect(),
    };
    let mut warnings = Vec::new();
    let mut views = Vec::new();
    for view in chosen {
        let rows = rows_with(view, monitor);
        let part = rows
            .map(|rows| alone(collection, view, &rows))
            .transpose()?;
        let (part, view) = match &part {
            Some(part) => (part, part.view(None)?),
            None => (collection, view),
        };
        let card = ViewCard {
            missing: collection.len() - part.len(),
            ..ViewCard::of(part, view, neighbors, monitor)?
        };
        card.remarks(&mut warnings);
        let x = view.matrix.view();
        warnings.extend(outsized(x, &card.name, part.ids()));
        views.push(card);
    }
    let mut examination = Examination {
        views,
        warnings,
        ..Examination::of_labels(collection)
    };
    examination.remarks();
    Ok(examination)
}

/// The items at `rows` with one view alone: a file may hold many thousand.
fn alone(collection: &Collection, view: &View, rows: &[usize]) -> Result<Collection> {
    let ids = rows.iter().map(|&row| collection.ids()[row].clone());
    let own = View {
        name: view.name.clone(),
        matrix: matrix::select_rows(view.matrix.view(), rows),
        present: None,
    };
    let mut part = Collection::new(ids.collect(), vec![own])?;
    part.labels = collection.labels.as_ref().map(|all| all.select(rows));
    let split = collection.split.as_ref();
    part.split = split.map(|all| rows.iter().map(|&row| all[row]).collect());
    Ok(part)
}

impl Examination {
    /// Labels and split; views and warnings are empty.
    fn of_labels(collection: &Collection) -> Self {
        let labels = collection.labels.as_ref();
        let count = |wanted: fn(&Label) -> bool| {
            labels.map_or(0, |l| l.items().iter().filter(|l| wanted(l)).count())
        };
        let mut classes = BTreeMap::new();
        if let Some(labels) = labels {
            for (name, members) in labels.classes().iter().zip(labels.by_class()) {
                classes.insert(name.clone(), members.len());
            }
        }
        let mut split = BTreeMap::new();
        for part in collection.split.iter().flatten() {
            *split.entry(part.name()).or_default() += 1;
        }
        Self {
            items: collection.len(),
            views: Vec::new(),
            labeled: count(|l| matches!(l, Label::Known(_))),
            unlabeled: labels.map_or(collection.len(), |_| count(|l| *l == Label::Unknown)),
            outside: count(|l| *l == Label::Outside),
            classes,
            split,
            warnings: Vec::new(),
        }
    }

    /// Fewest and most items of a class; `None` without classes.
    pub fn class_sizes(&self) -> Option<(usize, usize)> {
        let sizes = self.classes.values().copied();
        sizes.clone().min().zip(sizes.max())
    }

    fn remarks(&mut self) {
        if self.labeled == 0 {
            self.warnings
                .push("no labels: give some by `labels`".into());
        } else if self.classes.len() < 2 {
            let only = "only one class: similarity needs at least two";
            self.warnings.push(only.into());
        }
        if let Some((least, most)) = self.class_sizes()
            && most > 10 * least.max(1)
        {
            let unequal = format!("unbalanced classes: from {least} to {most} items");
            self.warnings.push(unequal);
        }
    }
}

impl ViewCard {
    /// Of items that all have the view.
    fn of(part: &Collection, view: &View, neighbors: usize, monitor: &Monitor) -> Result<Self> {
        let x = view.matrix.view();
        let all_train = || vec![Part::Train; part.len()];
        let parts = part.split.clone().unwrap_or_else(all_train);
        let labels = part.labels.as_ref();
        let leaks = leak::check(x, &parts, labels, None, leak::Options::default(), monitor)?;
        let meter = Collapse::measure(x)?;
        let (isolated, components) = if part.len() > 1 {
            let k = neighbors.clamp(1, part.len() - 1);
            let graph = KnnGraph::new().k(k).build(x, monitor)?;
            (graph.isolated().len(), graph.n_components())
        } else {
            (part.len(), part.len())
        };
        // In f64: squares of tiny numbers are none in f32.
        let lengths = matrix::lengths(x);
        let constant =
            |column: &ArrayView1<f32>| column.iter().all(|v| v.to_bits() == column[0].to_bits());
        Ok(Self {
            dimensions: x.ncols(),
            missing: 0,
            zero_rows: lengths.iter().filter(|&&l| l == 0.0).count(),
            constant_columns: x.columns().into_iter().filter(constant).count(),
            unit_length: lengths.iter().all(|l| (l - 1.0).abs() < 5e-4),
            duplicates: leaks.duplicates_within.count,
            duplicates_across_split: leaks.duplicates_across.count,
            near_duplicates_across_split: leaks.near_duplicates.count,
            effective_rank: meter.effective_rank,
            mean_cosine: meter.mean_cosine,
            isolated,
            components,
            name: view.name.clone(),
        })
    }

    fn remarks(&self, warnings: &mut Vec<String>) {
        let name = &self.name;
        let listed = [
            (
                self.zero_rows,
                "row of zeros; it is similar to nothing",
                "rows of zeros; they are similar to nothing",
            ),
            (
                self.duplicates,
                "item is identical to an earlier one (`likewise duplicates` lists it)",
                "items are identical to an earlier one (`likewise duplicates` lists them)",
            ),
            (
                self.duplicates_across_split,
                "item stands on both sides of the split: a leak",
                "items stand on both sides of the split: a leak",
            ),
            (
                self.near_duplicates_across_split,
                "item has a near copy on the other side of the split",
                "items have a near copy on the other side of the split",
            ),
            (
                self.isolated,
                "item has no similar neighbour; labels cannot reach it",
                "items have no similar neighbour; labels cannot reach them",
            ),
            (
                self.constant_columns,
                "column is the same in every item",
                "columns are the same in every item",
            ),
        ];
        for (count, one, several) in listed {
            match count {
                0 => {}
                1 => warnings.push(format!("view {name}: 1 {one}")),
                n => warnings.push(format!("view {name}: {n} {several}")),
            }
        }
        if self.mean_cosine > SAME_WAY {
            warnings.push(format!(
                "view {name}: all items point the same way (mean cosine {:.3}), so that their cosines \
                 tell little apart; a fit takes the mean off by itself, a graph does where it is told to \
                 (`center`)",
                self.mean_cosine
            ));
        }
    }
}

/// A warning of rows that dwarf all others.
fn outsized(x: ArrayView2<f32>, view: &str, ids: &[String]) -> Option<String> {
    let rows = matrix::outsized(x);
    let first = &ids[*rows.first()?];
    Some(match rows.len() {
        1 => format!("view {view}: item {first} is over 1,000 times as long as others; check it"),
        n => format!(
            "view {view}: {n} items are over 1,000 times as long as others (first: {first}); check them"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn view(name: String, present: Option<Vec<bool>>) -> View {
        View {
            name,
            matrix: array![[1.0], [2.0], [4.0]],
            present,
        }
    }

    fn looked_at(views: Vec<View>) -> Examination {
        let ids = ["a", "b", "c"].map(String::from).to_vec();
        let mut items = Collection::new(ids, views).unwrap();
        items.split = Some(vec![Part::Train, Part::Test, Part::Train]);
        examine(&items, None, 1, &Monitor::silent()).unwrap()
    }

    #[test]
    fn a_view_that_some_lack_is_looked_at_without_them() {
        let some = Some(vec![true, false, true]);
        let seen = looked_at(vec![view("all".into(), None), view("some".into(), some)]);
        let missing: Vec<usize> = seen.views.iter().map(|view| view.missing).collect();
        assert_eq!(missing, [0, 1]);
        assert_eq!(seen.views[1].name, "some");
        assert_eq!(seen.views[1].components, 1);
    }

    /// Where each view was sought among all, or copied with them, this took minutes in place of seconds.
    #[test]
    fn of_many_views_each_is_looked_at() {
        let half = |i: usize| (i % 2 == 1).then(|| vec![true, false, true]);
        let views = (0..30_000).map(|i| view(format!("view {i}"), half(i)));
        let views: Vec<View> = views.collect();
        assert_eq!(looked_at(views).views.len(), 30_000);
    }
}
