//! The graph of some data, exact or approximate, and what it will cost.

mod request;

use likewise::graph::KnnGraph;
use likewise::matrix;
use likewise::neighbor::{ApproximateSearch, Exact, ExactSearch, Ivf, Neighbors, Precision};
use likewise::{Graph, Monitor};
use ndarray::ArrayView2;
use serde::Serialize;

pub use self::request::{Request, Summary};
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::source::{Labeled, Source};
use crate::{Error, Result};

/// How a graph is built.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Neighbours, bandwidth, and what an edge weighs.
    pub graph: KnnGraph,
    /// Whether the mean of the features is taken off before.
    pub center: bool,
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

/// A graph, and where it came from.
#[derive(Debug)]
pub struct Built {
    /// The graph.
    pub graph: Graph,
    /// The lists that it was made of.
    pub neighbors: Neighbors,
    /// How these were found.
    pub search: Searched,
}

impl Settings {
    /// The graph of the rows of `x` (`n x d`).
    ///
    /// Fails without columns, on NaN, on settings out of their range, and when cancelled.
    pub fn build(&self, x: ArrayView2<f32>, monitor: &Monitor) -> Result<Built> {
        if x.ncols() == 0 {
            return Err(Error::data(
                "the features have no columns; there is nothing to compare items by",
            ));
        }
        let k = self.graph.n_neighbors();
        let centered;
        let x = if self.center {
            centered = matrix::centered(x);
            centered.view()
        } else {
            x
        };
        let (neighbors, search) = if let Some(recall) = self.approximate {
            let search = Ivf::new().recall(recall).seed(self.seed);
            let (neighbors, probed) = search.search(x, k, monitor)?;
            (neighbors, Searched::Approximate(probed))
        } else {
            let search = Exact::new().precision(self.precision);
            let (neighbors, searched) = search.search(x, k, monitor)?;
            (neighbors, Searched::Exact(searched))
        };
        let graph = self.graph.from_neighbors(&neighbors)?;
        if graph.edges().next().is_none() {
            monitor.warn(
                "the graph has no edge: no item has a neighbour that points the same way, so labels \
                 reach nothing; doctor tells more of the features",
            );
        }
        Ok(Built {
            graph,
            neighbors,
            search,
        })
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
    /// Bytes that are held for a while as features are made of images, by decoding and by the
    /// network; 0 for other data.
    pub making: f64,
    /// Bytes of decoding alone.
    pub decoding: f64,
}

impl DataShape {
    /// Looks at the data without reading the features.
    pub fn of(source: &Source, at: &Environment) -> Result<Self> {
        let (shape, making) = source.shape_and_making(at)?;
        let columns = shape.views.iter().map(|&(_, d)| d);
        Ok(Self {
            items: shape.items as f64,
            columns: columns.clone().max().unwrap_or(0) as f64,
            all_columns: columns.sum::<usize>() as f64,
            making: making.decoding + making.network,
            decoding: making.decoding,
        })
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
        let (n, d, k) = (
            self.items,
            self.columns,
            settings.graph.n_neighbors() as f64,
        );
        if settings.approximate.is_some() {
            estimate.approximate_graph(n, d, k)
        } else {
            estimate.graph(n, d, k)
        }
    }
}
