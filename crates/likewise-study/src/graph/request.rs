//! A graph as it is asked for, from the data to its file.

use std::path::PathBuf;
use std::time::Instant;

use likewise::graph::{Fusion, Report};
use likewise_io::Mapped;
use serde::Serialize;

use super::{DataShape, Fused, Searched, Settings, names_of};
use crate::data::Data;
use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::neighbors::{NEIGHBORS, neighbors};
use crate::run_folder::check_ending;
use crate::source::{Source, visible, with_views};
use crate::{ErrorKind, Result, usage};

/// A graph that is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The data.
    pub data: Data,
    /// Neighbours an item; `None`: the usual number, or fewer of few items.
    pub k: Option<usize>,
    /// All else that makes a graph.
    pub settings: Settings,
    /// Where it goes: a scipy CSR `.npz`.
    pub out: Option<PathBuf>,
}

/// What was built.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Items.
    pub items: usize,
    /// Neighbours that each was asked for.
    pub k: usize,
    /// Edges.
    pub edges: usize,
    /// Entries of the matrix: two for each edge.
    pub entries: usize,
    /// Parts that no edge joins.
    pub components: usize,
    /// Items without a neighbour.
    pub isolated: usize,
    /// Whether the search was approximate.
    pub approximate: bool,
    /// How several views became one graph; absent of one view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuse: Option<Fusion>,
    /// The views whose columns were brought to one scale.
    pub standardized: Vec<String>,
    /// How the neighbours were found.
    pub search: Searched,
    /// What is to be said of it.
    pub report: Report,
    /// Seconds of reading, building and writing.
    pub seconds: f64,
}

/// What is known before anything is read.
struct Opened {
    source: Source,
    mapped: Option<Mapped>,
    k: usize,
    settings: Settings,
    needed: Estimate,
}

impl Request {
    /// What the graph will cost.
    ///
    /// Fails on an output that cannot be one, on data that are not there, and where there are no `k` others.
    pub fn estimate(&self, at: &Environment) -> Result<Estimate> {
        Ok(self.open(at)?.needed)
    }

    /// Builds the graph, and writes it where it is to go.
    ///
    /// Fails as [`estimate`](Self::estimate) and [`Settings::build`] do, and where the memory does not suffice.
    pub fn run(&self, at: &Environment) -> Result<Summary> {
        let opened = self.open(at)?;
        opened.needed.check(at.max_memory)?;
        let start = Instant::now();
        let settings = &opened.settings;
        let built = if let Some(mapped) = &opened.mapped {
            let built = settings.build(mapped.view(), at.monitor);
            // A setting out of its range is no fault of the data.
            let built = built.map_err(|e| match e.kind() {
                ErrorKind::Parameter => e,
                _ => e.within(self.data.path.display()),
            })?;
            let built = Fused::from(built);
            settings.tell(&built, &[], at.monitor);
            built
        } else {
            let view = self.data.read.view.as_deref();
            let (collection, names) = settings.load(&opened.source, at)?;
            let fusion = settings.fusion(collection.columns().len());
            let (collection, name) = with_views(collection, view, fusion, at.monitor)?;
            let labels = visible(&collection, None, settings.seed);
            let built = settings.build_of(&collection, &name, &labels, at.monitor)?;
            settings.tell(&built, &names, at.monitor);
            built
        };
        let graph = &built.graph;
        if let Some(out) = &self.out {
            likewise_io::graph::write(out, graph)?;
        }
        Ok(Summary {
            items: graph.n(),
            k: opened.k,
            edges: graph.nnz() / 2,
            entries: graph.nnz(),
            components: graph.n_components(),
            isolated: graph.isolated().len(),
            approximate: settings.approximate.is_some(),
            report: match &built.neighbors {
                Some(neighbors) => Report::of_lists(graph, neighbors)?,
                None => Report::of(graph),
            },
            fuse: built.fuse,
            standardized: names_of(&built.scaled),
            search: built.search,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    fn open(&self, at: &Environment) -> Result<Opened> {
        let out = self.out.as_deref();
        self.data.check_output(out)?;
        check_ending(out, "graphs are written", "npz")?;
        let asked = self.k.unwrap_or(NEIGHBORS);
        self.settings.graph.clone().k(asked).validate()?;
        if self.settings.fuse == Some(Fusion::Weighted) {
            return Err(usage(
                "`fuse weighted` weighs views by the labels that may be seen when labels spread; a graph in a file \
                 would carry all of them to where some are hidden: give the data and the views to the propagation \
                 itself, or take another form",
            ));
        }
        let source = self.data.open()?.scaled_by(self.settings.standardize);
        let mapped = source.mapped()?;
        let shape = DataShape::of(&source, at)?;
        self.settings.check_views(shape.views)?;
        let k = neighbors(self.k, shape.items, &self.data.path, at.monitor)?;
        let settings = Settings {
            graph: self.settings.graph.clone().k(k),
            ..self.settings.clone()
        };
        let read = match &mapped {
            Some(mapped) => {
                let (rows, columns) = mapped.view().dim();
                Estimate::new().resident(Mapped::memory(rows, columns) as f64)
            }
            None => shape.read(),
        };
        Ok(Opened {
            needed: shape.graph(read, &settings),
            source,
            mapped,
            k,
            settings,
        })
    }
}
