//! The graph of some data, exact or approximate, and what it will cost.

mod request;
mod scaled;

use likewise::collection::Columns;
use likewise::graph::fused::present;
use likewise::graph::{Fusion, KnnGraph, OfView, Views};
use likewise::linear::even_or;
use likewise::matrix;
use likewise::neighbor::{ApproximateSearch, Exact, ExactSearch, Ivf, Neighbors, Precision};
use likewise::{Collection, Graph, Labels, Monitor};
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Zip, s};
use serde::Serialize;

pub use self::request::{Request, Summary};
pub use self::scaled::Scaled;
pub(crate) use self::scaled::names_of;
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::source::{Labeled, Source};
use crate::{Error, Result, usage};

/// How a graph is built.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Neighbours, bandwidth, and what an edge weighs.
    pub graph: KnnGraph,
    /// How several views that stand side by side become one graph; `None`: as is usual.
    pub fuse: Option<Fusion>,
    /// Whether the mean of the features is taken off before.
    pub center: bool,
    /// Whether the columns of each view are brought to one scale before; `None`: where they are of
    /// [different units](likewise::linear::is_uneven).
    pub standardize: Option<bool>,
    /// The recall to reach by an approximate search; `None`: an exact one.
    pub approximate: Option<f64>,
    /// First pass of the exact search.
    pub precision: Precision,
    /// Seed of the approximate search.
    pub seed: u64,
}

/// What is unusual of the parts of a graph, each after a comma: more than one part, items without a
/// neighbour, items that no label reaches. Nothing of a graph that hangs together.
pub fn parts_in_words(components: usize, isolated: usize, unreached: usize) -> String {
    let said = [
        (components, 1, "parts"),
        (isolated, 0, "without a neighbour"),
        (unreached, 0, "without any label in reach"),
    ];
    let unusual = said.into_iter().filter(|(count, usual, _)| count > usual);
    unusual.fold(String::new(), |said, (count, _, what)| {
        format!("{said}, {count} {what}")
    })
}

/// How the neighbours were found.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Searched {
    /// By comparing all with all.
    Exact(ExactSearch),
    /// In the nearest cells.
    Approximate(ApproximateSearch),
}

impl Searched {
    /// Share of the true neighbours that was found.
    fn recall(&self) -> f64 {
        match self {
            Self::Exact(searched) => searched.recall,
            Self::Approximate(searched) => searched.recall,
        }
    }
}

/// A graph, and where it came from.
#[derive(Debug)]
pub struct Built {
    /// The graph.
    pub graph: Graph,
    /// The lists that it was made of.
    pub neighbors: Neighbors,
    /// How these were found.
    pub search: Searched,
    /// What was brought to one scale, if it was.
    pub scaled: Vec<Scaled>,
}

/// A graph of one view or of several.
#[derive(Debug)]
pub struct Fused {
    /// The graph.
    pub graph: Graph,
    /// The lists that it was made of, where one list of each item was.
    pub neighbors: Option<Neighbors>,
    /// How these were found; of several searches, the one that found the smallest share.
    pub search: Searched,
    /// How several views became one graph; `None` of one view.
    pub fuse: Option<Fusion>,
    /// The views whose columns were brought to one scale.
    pub scaled: Vec<Scaled>,
}

impl From<Built> for Fused {
    fn from(built: Built) -> Self {
        Self {
            graph: built.graph,
            neighbors: Some(built.neighbors),
            search: built.search,
            fuse: None,
            scaled: built.scaled,
        }
    }
}

/// The rows as neighbours are searched in them.
struct Prepared {
    /// `None`: as they were given.
    rows: Option<Array2<f32>>,
    scaled: Vec<Scaled>,
}

impl Settings {
    /// The graph of the rows of `x` (`n x d`).
    ///
    /// Fails without columns, on NaN, on settings out of their range, and when cancelled.
    pub fn build(&self, x: ArrayView2<f32>, monitor: &Monitor) -> Result<Built> {
        self.build_view(x, FEATURES, monitor)
    }

    /// As [`build`](Self::build), of the rows of a view of this name.
    pub(crate) fn build_view(
        &self,
        x: ArrayView2<f32>,
        name: &str,
        monitor: &Monitor,
    ) -> Result<Built> {
        check_columns(x)?;
        let whole = Columns {
            name: name.to_owned(),
            range: 0..x.ncols(),
        };
        let prepared = self.prepared(x, &[whole]);
        let x = prepared.rows.as_ref().map_or(x, |rows| rows.view());
        let (neighbors, search) = self.search(x, self.graph.n_neighbors(), monitor)?;
        let graph = self.graph.from_neighbors(&neighbors)?;
        warn_without_edges(&graph, monitor);
        Ok(Built {
            graph,
            neighbors,
            search,
            scaled: prepared.scaled,
        })
    }

    /// The rows as neighbours are searched in them; each view is `x` in some of its columns.
    fn prepared(&self, x: ArrayView2<f32>, views: &[Columns]) -> Prepared {
        let mut rows = self.center.then(|| matrix::centered(x));
        let mut all = Vec::new();
        for view in views {
            let own = x.slice(s![.., view.range.clone()]);
            let (mean, scale) = even_or(own, self.standardize);
            if scale
                .iter()
                .all(|&scale| (scale - 1.0).abs() <= f64::EPSILON)
            {
                continue;
            }
            all.push(Scaled::of(view, own, &scale));
            let rows = rows.get_or_insert_with(|| x.to_owned());
            let mut rows = rows.slice_mut(s![.., view.range.clone()]);
            // A view weighs beside the others what it weighed before, less its mean where these are.
            let weight =
                |rows: ArrayView2<f32>| -> f64 { rows.iter().map(|&x| f64::from(x).powi(2)).sum() };
            let before = weight(rows.view());
            put_scaled(rows.view_mut(), own, &mean, &scale);
            let after = weight(rows.view());
            if views.len() > 1 && after > 0.0 {
                let factor = (before / after).sqrt() as f32;
                rows.mapv_inplace(|x| x * factor);
            }
        }
        Prepared { rows, scaled: all }
    }

    /// The items of a source, and the names of the columns of their only view, where it has some.
    ///
    /// Fails as [`Source::load`] does, and where columns are to stay as they are and the reading has brought them to
    /// one scale.
    pub fn load(&self, source: &Source, at: &Environment) -> Result<(Collection, Vec<String>)> {
        let (collection, layout) = source.load_with_layout(at)?;
        let Some(layout) = layout else {
            return Ok((collection, Vec::new()));
        };
        if self.standardize == Some(false) && layout.is_scaled() {
            return Err(usage(format!(
                "`standardize no` has no effect on {}: numbers of a table that lacks some, or that holds other columns \
                 beside them, are brought to one scale as it is read; leave it out, or fill what is missing and keep \
                 the columns of numbers alone",
                source.path().display()
            )));
        }
        let mut names = layout.features();
        if !matches!(collection.views(), [view] if view.matrix.ncols() == names.len()) {
            names.clear();
        }
        Ok((collection, names))
    }

    /// Says what was brought to one scale though nobody asked for it, by the names of the columns of all views
    /// side by side, where they have some.
    pub(crate) fn tell(&self, built: &Fused, names: &[String], monitor: &Monitor) {
        if self.standardize.is_some() {
            return;
        }
        for scaled in &built.scaled {
            let said = scaled.in_words(built.fuse.is_some(), names);
            monitor.remark(format!("{said}; `standardize no` keeps them"));
        }
    }

    fn search(
        &self,
        x: ArrayView2<f32>,
        k: usize,
        monitor: &Monitor,
    ) -> Result<(Neighbors, Searched)> {
        if let Some(recall) = self.approximate {
            let search = Ivf::new().recall(recall).seed(self.seed);
            let (neighbors, probed) = search.search(x, k, monitor)?;
            Ok((neighbors, Searched::Approximate(probed)))
        } else {
            let search = Exact::new().precision(self.precision);
            let (neighbors, searched) = search.search(x, k, monitor)?;
            Ok((neighbors, Searched::Exact(searched)))
        }
    }

    /// How so many views become one graph.
    pub fn fusion(&self, views: usize) -> Fusion {
        if views < 2 {
            Fusion::Rows
        } else {
            self.fuse.unwrap_or_default()
        }
    }

    /// Fails where nothing is fused of so many views, though it is said how.
    pub fn check_views(&self, views: usize) -> Result<()> {
        if self.fuse.is_some() && views < 2 {
            return Err(usage(
                "`fuse` has no effect with one view: it says how several become one graph; name two or more \
                 by `view`, or leave it out",
            ));
        }
        Ok(())
    }

    /// The graph of a view of a collection: where it is several side by side, as these are fused. An item is
    /// without those of its views whose row is all zeros. `labels` are those that may be seen.
    ///
    /// Fails as [`build`](Self::build) does, and without labels where the views weigh by them.
    pub fn build_of(
        &self,
        collection: &Collection,
        view: &str,
        labels: &Labels,
        monitor: &Monitor,
    ) -> Result<Fused> {
        let x = collection.view(Some(view))?.matrix.view();
        let columns = collection.columns();
        self.check_views(columns.len())?;
        let fusion = self.fusion(columns.len());
        let fuse = (columns.len() > 1).then_some(fusion);
        if fusion == Fusion::Rows {
            let built = self.build_view(x, view, monitor)?;
            return Ok(Fused {
                fuse,
                ..built.into()
            });
        }
        check_columns(x)?;
        if fusion == Fusion::Weighted {
            remark_on_few(labels, monitor);
        }
        let prepared = self.prepared(x, columns);
        let rows = prepared.rows.as_ref().map_or(x, |rows| rows.view());
        let each = columns.iter().map(|of| OfView {
            name: &of.name,
            rows: rows.slice(s![.., of.range.clone()]),
            // Before the mean is taken off, after which nothing is zero.
            present: present(x.slice(s![.., of.range.clone()])),
        });
        let views = Views {
            side_by_side: rows,
            apart: each.collect(),
        };
        let mut worst: Option<Searched> = None;
        let search = |rows: ArrayView2<f32>, k: usize| -> Result<Neighbors> {
            let (neighbors, found) = self.search(rows, k, monitor)?;
            if (worst.as_ref()).is_none_or(|worst| found.recall() < worst.recall()) {
                worst = Some(found);
            }
            Ok(neighbors)
        };
        let fused = fusion.build_by(&self.graph, &views, Some(labels), monitor, search)?;
        warn_without_edges(&fused.graph, monitor);
        Ok(Fused {
            graph: fused.graph,
            neighbors: fused.neighbors,
            search: worst.ok_or_else(|| {
                Error::data(
                    "no two items have a view in common; there is nothing to compare them by",
                )
            })?,
            fuse,
            scaled: prepared.scaled,
        })
    }
}

/// What the features are called where they are one view without a name.
const FEATURES: &str = "features";

/// How several views became one graph, after a comma; nothing of one view.
pub fn fuse_in_words(fuse: Option<Fusion>) -> String {
    let said = match fuse {
        None => return String::new(),
        Some(Fusion::Rows) => "rows side by side",
        Some(Fusion::Ranks) => "fused by ranks",
        Some(Fusion::Mean) => "fused by mean",
        Some(Fusion::Weighted) => "fused by weighted mean",
        Some(Fusion::Agreement) => "fused by agreement",
    };
    format!(", views {said}")
}

/// Puts in the place of `rows` the columns without their means and times their scales.
fn put_scaled(
    rows: ArrayViewMut2<f32>,
    x: ArrayView2<f32>,
    mean: &Array1<f64>,
    scale: &Array1<f64>,
) {
    Zip::indexed(rows).and(x).for_each(|(_, j), scaled, &x| {
        *scaled = ((f64::from(x) - mean[j]) * scale[j]) as f32;
    });
}

/// Says where no label can tell a view from another.
fn remark_on_few(labels: &Labels, monitor: &Monitor) {
    if labels.n_known() > 0 && labels.by_class().iter().all(|items| items.len() < 2) {
        monitor.remark(
            "no class has two labels, so these tell no view from another: all views weigh the same, as with \
             `fuse mean`",
        );
    }
}

fn check_columns(x: ArrayView2<f32>) -> Result<()> {
    if x.ncols() == 0 {
        return Err(Error::data(
            "the features have no columns; there is nothing to compare items by",
        ));
    }
    Ok(())
}

fn warn_without_edges(graph: &Graph, monitor: &Monitor) {
    if graph.edges().next().is_none() {
        monitor.warn(
            "the graph has no edge: no item has a neighbour that points the same way, so labels \
             reach nothing; `likewise doctor` tells more of the features",
        );
    }
}

/// Size of some data, from headers where the format allows.
#[derive(Debug, Clone, Copy)]
pub struct DataShape {
    /// Items.
    pub items: f64,
    /// Columns of the widest view.
    pub columns: f64,
    /// Columns of all views together.
    pub all_columns: f64,
    /// Views that are used: more than one where several stand side by side.
    pub views: usize,
    /// Bytes that are held for a while as features are made of images, by decoding and by the
    /// network; 0 for other data.
    pub making: f64,
    /// Bytes of decoding alone.
    pub decoding: f64,
}

impl DataShape {
    /// Looks at the data without reading the features.
    pub fn of(source: &Source, at: &Environment) -> Result<Self> {
        Ok(Self::with_columns(source, &[], at)?.0)
    }

    /// The same, and the columns of each view of these names; `None` of one that is not there.
    pub(crate) fn with_columns(
        source: &Source,
        names: &[String],
        at: &Environment,
    ) -> Result<(Self, Vec<Option<usize>>)> {
        let (shape, making, views) = source.shape_and_making(at)?;
        let of = |name: &String| {
            let mut views = shape.views.iter();
            views.find(|view| view.0 == *name).map(|view| view.1)
        };
        let own = names.iter().map(of).collect();
        let columns = shape.views.iter().map(|&(_, d)| d);
        let shape = Self {
            items: shape.items as f64,
            columns: columns.clone().max().unwrap_or(0) as f64,
            all_columns: columns.sum::<usize>() as f64,
            views,
            making: making.decoding + making.network,
            decoding: making.decoding,
        };
        Ok((shape, own))
    }

    /// Number of classes, where finding that out is cheap.
    pub fn classes(&self, source: &Source, at: &Environment) -> Option<usize> {
        Some(self.labeled(source, at)?.classes)
    }

    /// What is labeled, where finding that out is cheap.
    pub fn labeled(&self, source: &Source, at: &Environment) -> Option<Labeled> {
        source.labeled(self.items, self.all_columns, at)
    }

    /// The features in memory, and a copy of the view that is worked on.
    pub fn read(&self) -> Estimate {
        let features = 4.0 * self.items * (self.all_columns + self.columns);
        Estimate::new().resident(features).stage(self.making, 0.0)
    }

    /// Adds the graph to an estimate.
    pub fn graph(&self, estimate: Estimate, settings: &Settings) -> Estimate {
        let fusion = settings.fusion(self.views);
        let exact = settings.approximate.is_none();
        // Whether one column outweighs the others is not known yet.
        let copied = settings.center || settings.standardize != Some(false);
        let copy = if copied {
            4.0 * self.items * self.columns
        } else {
            0.0
        };
        self.fused(
            estimate.resident(copy),
            fusion,
            self.columns,
            settings.graph.n_neighbors(),
            exact,
        )
    }

    /// Arcs of an item at most, with `k` neighbours in each view and as these are fused.
    pub(crate) fn arcs(&self, fusion: Fusion, k: usize) -> f64 {
        match fusion {
            Fusion::Rows | Fusion::Ranks => k as f64,
            // Views may have no neighbour in common.
            Fusion::Mean | Fusion::Weighted | Fusion::Agreement => k as f64 * self.views as f64,
        }
    }

    /// Adds the graph of all views in `d` columns to an estimate, with `k` neighbours an item and as they are
    /// fused.
    pub(crate) fn fused(
        &self,
        estimate: Estimate,
        fusion: Fusion,
        d: f64,
        k: usize,
        exact: bool,
    ) -> Estimate {
        let (n, views) = (self.items, self.views as f64);
        let deep = fusion.depth(k, n as usize) as f64;
        let (k, arcs) = (k as f64, self.arcs(fusion, k));
        let lists = |estimate: Estimate| {
            if exact {
                estimate.lists(n, d, deep)
            } else {
                estimate.approximate_lists(n, d, deep)
            }
        };
        match fusion {
            Fusion::Rows => lists(estimate),
            // In each view, which together have all columns, and in all of them; the lists are kept.
            Fusion::Ranks => lists(lists(estimate)).resident(8.0 * n * deep * (views + 1.0)),
            // The graphs are kept.
            Fusion::Mean | Fusion::Weighted | Fusion::Agreement => {
                lists(estimate).resident(16.0 * n * k * views)
            }
        }
        .of_lists(n, arcs)
    }
}

#[cfg(test)]
mod tests {
    use likewise::View;

    use super::*;

    const N: usize = 40;

    fn settings(fuse: Option<Fusion>) -> Settings {
        Settings {
            graph: KnnGraph::new().k(4),
            fuse,
            center: false,
            standardize: None,
            approximate: None,
            precision: Precision::Auto,
            seed: 0,
        }
    }

    /// Two views; every eighth item has zeros in the second.
    fn views() -> Collection {
        let noise = |i: usize, j: usize| ((i * 31 + j * 17) * 29 % 101) as f32 / 101.0 + 0.1;
        let view = |name: &str, columns: usize, lacks: bool| View {
            name: name.into(),
            matrix: Array2::from_shape_fn((N, columns), |(i, j)| {
                let missing = lacks && i.is_multiple_of(8);
                if missing { 0.0 } else { noise(i, j + columns) }
            }),
            present: None,
        };
        let ids = (0..N).map(|i| i.to_string()).collect();
        let mut items =
            Collection::new(ids, vec![view("a", 3, false), view("b", 4, true)]).unwrap();
        items.labels = Some(Labels::from_integers((0..N).map(|i| (i % 3) as i64)));
        items
    }

    #[test]
    fn columns_of_different_units_come_to_one_scale_unless_it_is_said() {
        let monitor = Monitor::silent();
        // The first column is in thousands.
        let x = Array2::from_shape_fn((N, 4), |(i, j)| {
            let value = (((i + 3) * (j + 7) * 13) % 29) as f32;
            if j == 0 { 1000.0 * value } else { value }
        });
        let graph = |x: ArrayView2<f32>, standardize| {
            let settings = Settings {
                standardize,
                ..settings(None)
            };
            settings.build(x, &monitor).unwrap().graph
        };
        let (mean, scale) = even_or(x.view(), Some(true));
        let mut one_scale = x.clone();
        put_scaled(one_scale.view_mut(), x.view(), &mean, &scale);
        assert_eq!(graph(x.view(), None), graph(one_scale.view(), Some(false)));
        assert_eq!(graph(x.view(), Some(true)), graph(x.view(), None));
        assert_ne!(graph(x.view(), Some(false)), graph(x.view(), None));
        // Those of one unit stay as they are, unless it is said.
        let alike = x.slice(s![.., 1..]);
        assert_eq!(graph(alike, None), graph(alike, Some(false)));
        assert_ne!(graph(alike, None), graph(alike, Some(true)));
    }

    /// Seven columns of two views, the first of which is in thousands.
    fn uneven() -> (Array2<f32>, [Columns; 2]) {
        let x = Array2::from_shape_fn((N, 7), |(i, j)| {
            let value = (((i + 3) * (j + 7) * 13) % 29) as f32;
            if j == 0 { 1000.0 * value } else { value }
        });
        let view = |name: &str, range| Columns {
            name: name.into(),
            range,
        };
        (x, [view("a", 0..4), view("b", 4..7)])
    }

    #[test]
    fn a_view_that_comes_to_one_scale_weighs_what_it_weighed() {
        let (x, views) = uneven();
        for center in [false, true] {
            let settings = Settings {
                center,
                ..settings(None)
            };
            let prepared = settings.prepared(x.view(), &views).rows.unwrap();
            let before = if center {
                matrix::centered(x.view())
            } else {
                x.clone()
            };
            let own = |x: &Array2<f32>| -> f64 {
                let rows = x.slice(s![.., ..4]);
                rows.iter().map(|&x| f64::from(x).powi(2)).sum()
            };
            assert!((own(&prepared) / own(&before) - 1.0).abs() < 1e-4);
            assert_eq!(prepared.slice(s![.., 4..]), before.slice(s![.., 4..]));
        }
    }

    #[test]
    fn what_comes_to_one_scale_is_named() {
        let (x, [a, b]) = uneven();
        let whole = settings(None).prepared(x.view(), &[a, b]).scaled;
        let views: Vec<&str> = whole.iter().map(|scaled| scaled.view.as_str()).collect();
        assert_eq!(views, ["a"]);
        let names: Vec<String> = (0..7).map(|j| format!("c{j}")).collect();
        let said = whole[0].in_words(true, &names);
        assert!(
            said.starts_with("view a: column \"c0\" holds 100.0 % of"),
            "{said}"
        );
        let said = whole[0].in_words(false, &[]);
        assert!(
            said.starts_with("column 0 (the first is 0) holds"),
            "{said}"
        );
        let forced = Settings {
            standardize: Some(true),
            ..settings(None)
        };
        let built = forced.build(x.view(), &Monitor::silent()).unwrap();
        assert_eq!(built.scaled.len(), 1);
        assert_eq!(built.scaled[0].view, "features");
    }

    #[test]
    fn views_are_fused_and_one_alone_is_built_as_ever() {
        let (items, monitor) = (views(), Monitor::silent());
        let labels = items.labels.clone().unwrap();
        let joined = items.clone().joined(&["a", "b"]).unwrap();
        let x = joined.view(None).unwrap().matrix.view();
        let built = |settings: Settings| {
            settings
                .build_of(&joined, "a+b", &labels, &monitor)
                .unwrap()
        };
        let centered = matrix::centered(x);
        for center in [false, true] {
            let rows = if center { centered.view() } else { x };
            // Zeros are missing whether or not a mean is taken off them.
            let apart = joined.columns().iter().map(|of| OfView {
                name: &of.name,
                rows: rows.slice(s![.., of.range.clone()]),
                present: (of.name == "b").then(|| (0..N).map(|i| i % 8 > 0).collect()),
            });
            let of = Views {
                side_by_side: rows,
                apart: apart.collect(),
            };
            for fuse in [
                Fusion::Ranks,
                Fusion::Mean,
                Fusion::Weighted,
                Fusion::Agreement,
            ] {
                let settings = Settings {
                    center,
                    ..settings(Some(fuse))
                };
                let expected = fuse
                    .build(&settings.graph, &of, Some(&labels), &monitor)
                    .unwrap();
                let found = built(settings);
                assert_eq!(found.graph, expected.graph, "{fuse:?}");
                assert_eq!(found.neighbors, expected.neighbors, "{fuse:?}");
            }
        }
        let side_by_side = settings(None).build(x, &monitor).unwrap().graph;
        assert_eq!(built(settings(Some(Fusion::Rows))).graph, side_by_side);
        let usual = built(settings(None)).graph;
        assert_eq!(usual, built(settings(Some(Fusion::Ranks))).graph);
        assert_ne!(usual, side_by_side);

        let one = settings(None)
            .build_of(&items, "a", &labels, &monitor)
            .unwrap();
        let x = items.view(Some("a")).unwrap().matrix.view();
        assert_eq!(one.graph, settings(None).build(x, &monitor).unwrap().graph);
        let said = settings(Some(Fusion::Mean)).build_of(&items, "a", &labels, &monitor);
        let said = said.unwrap_err().to_string();
        assert!(
            said.starts_with("`fuse` has no effect with one view"),
            "{said}"
        );
    }

    #[test]
    fn the_lists_of_every_view_are_counted() {
        let shape = |views: usize| DataShape {
            items: 1000.0,
            columns: 30.0,
            all_columns: 30.0,
            views,
            making: 0.0,
            decoding: 0.0,
        };
        let cost = |views, fuse| shape(views).graph(Estimate::new(), &settings(fuse)).flops();
        let one = Estimate::new().graph(1000.0, 30.0, 4.0).flops();
        for (views, fuse, times) in [
            (1, None, 1.0),
            (3, None, 2.0),
            (3, Some(Fusion::Rows), 1.0),
            (3, Some(Fusion::Mean), 1.0),
        ] {
            assert!(
                (cost(views, fuse) - times * one).abs() < 1.0,
                "{views} {fuse:?}"
            );
        }
    }

    #[test]
    fn edges_of_views_that_have_none_in_common_and_a_copy_are_counted() {
        let shape = DataShape {
            items: 1000.0,
            columns: 30.0,
            all_columns: 30.0,
            views: 3,
            making: 0.0,
            decoding: 0.0,
        };
        let arcs = |fuse| shape.arcs(fuse, 4) as usize;
        assert_eq!((arcs(Fusion::Ranks), arcs(Fusion::Rows)), (4, 4));
        assert_eq!((arcs(Fusion::Mean), arcs(Fusion::Agreement)), (12, 12));
        let needed = |standardize, center| {
            let settings = Settings {
                center,
                standardize,
                ..settings(None)
            };
            let needed = shape.graph(Estimate::new(), &settings).on_this_machine();
            needed.memory_bytes
        };
        let without = needed(Some(false), false);
        for (standardize, center) in [(None, false), (Some(true), false), (Some(false), true)] {
            assert_eq!(needed(standardize, center), without + 4 * 1000 * 30);
        }
    }
}
