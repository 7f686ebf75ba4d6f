//! `likewise graph`

use std::time::Instant;

use likewise::Monitor;
use likewise::graph::Report;
use likewise::matrix;
use likewise::neighbor::{
    ApproximateSearch, Exact, ExactSearch, Ivf, KnnGraph, Neighbors, Precision, Symmetrize,
};
use ndarray::ArrayView2;
use serde::Serialize;

use super::Context;
use crate::args::{Graph, GraphFlags, PrecisionName, SymmetrizeName};
use crate::data;
use crate::estimate::{self, Estimate};
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Answer {
    items: usize,
    k: usize,
    edges: usize,
    entries: usize,
    components: usize,
    isolated: usize,
    approximate: bool,
    search: How,
    report: Report,
    seconds: f64,
}

/// How the neighbours were found.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum How {
    Exact(ExactSearch),
    Approximate(ApproximateSearch),
}

pub(crate) fn run(args: &Graph, at: &Context) -> Result<(), Failure> {
    let inputs = [Some(args.data.path()), args.data.labels.as_deref()];
    data::not_an_input(args.out.as_deref(), &inputs)?;
    output::beside(args.out.as_deref());
    let mapped = data::mapped(&args.data)?;
    let shape = shape(&args.data, at)?;
    let estimate = match &mapped {
        Some(_) => Estimate::new(),
        None => shape.read(),
    };
    let estimate = shape.graph(estimate, &args.flags);
    if args.dry_run {
        return estimate.print(at);
    }
    estimate.check(at)?;
    let start = Instant::now();
    let built = if let Some(mapped) = &mapped {
        build(&args.flags, mapped.view(), at.common.seed, at.monitor)
            .map_err(|e| e.within(&args.data.path().display().to_string()))?
    } else {
        let collection = data::load(&args.data, at)?;
        let (collection, name) = data::with_view(collection, args.data.view.as_deref(), at)?;
        let x = collection.view(Some(&name))?.matrix.view();
        build(&args.flags, x, at.common.seed, at.monitor)?
    };
    let Built {
        graph,
        neighbors,
        how,
    } = built;
    if let Some(out) = &args.out {
        likewise_io::graph::write(out, &graph)?;
    }
    let report = Report::of_lists(&graph, &neighbors)?;
    let answer = Answer {
        items: graph.n(),
        k: args.flags.k,
        edges: graph.nnz() / 2,
        entries: graph.nnz(),
        components: graph.n_components(),
        isolated: graph.isolated().len(),
        approximate: args.flags.approx,
        search: how,
        report,
        seconds: start.elapsed().as_secs_f64(),
    };
    if at.common.json {
        return output::json(&answer);
    }
    output::line(format!(
        "{} items, {} edges, {} component(s), {} isolated, {}, {:.1} s",
        answer.items,
        answer.edges,
        answer.components,
        answer.isolated,
        answer.search.in_words(),
        answer.seconds
    ))?;
    for remark in &answer.report.verdict {
        output::line(remark)?;
    }
    Ok(())
}

impl How {
    fn in_words(&self) -> String {
        match self {
            Self::Exact(s) if s.precision == Precision::I16 => {
                "exact (candidates in 16 bits, then f32)".into()
            }
            Self::Exact(_) => "exact".into(),
            Self::Approximate(p) => format!(
                "approximate: {} of {} cells, recall {:.3} on {} items",
                p.probes, p.cells, p.recall, p.sampled
            ),
        }
    }
}

/// A graph, and where it came from.
pub(super) struct Built {
    pub(super) graph: likewise::Graph,
    pub(super) neighbors: Neighbors,
    pub(super) how: How,
}

/// The graph of the rows of `x`, exact or approximate.
pub(super) fn build(
    flags: &GraphFlags,
    x: ArrayView2<f32>,
    seed: u64,
    monitor: &Monitor,
) -> Result<Built, Failure> {
    let settings =
        KnnGraph::new()
            .k(flags.k)
            .gamma(flags.gamma)
            .symmetrize(match flags.symmetrize {
                Some(SymmetrizeName::Sum) | None => Symmetrize::Sum,
                Some(SymmetrizeName::Mutual) => Symmetrize::Mutual,
                Some(SymmetrizeName::Max) => Symmetrize::Max,
                Some(SymmetrizeName::Mean) => Symmetrize::Mean,
            });
    if x.ncols() == 0 {
        return Err(Failure::failed(
            "the features have no columns; there is nothing to compare items by",
        ));
    }
    let centered;
    let x = if flags.center {
        centered = matrix::centered(x);
        centered.view()
    } else {
        x
    };
    let (neighbors, how) = if flags.approx {
        let search = Ivf::new().recall(flags.recall).seed(seed);
        let (neighbors, probed) = search.search(x, flags.k, monitor)?;
        (neighbors, How::Approximate(probed))
    } else {
        let search = Exact::new().precision(match flags.precision {
            PrecisionName::Auto => Precision::Auto,
            PrecisionName::F32 => Precision::F32,
            PrecisionName::I16 => Precision::I16,
        });
        let (neighbors, searched) = search.search(x, flags.k, monitor)?;
        (neighbors, How::Exact(searched))
    };
    let graph = settings.from_neighbors(&neighbors)?;
    Ok(Built {
        graph,
        neighbors,
        how,
    })
}

/// Size of the data of a verb, from headers where the format allows.
pub(super) struct DataShape {
    pub(super) items: f64,
    pub(super) columns: f64,
    pub(super) all_columns: f64,
}

/// Looks at the data without reading the features.
pub(super) fn shape(of: &crate::args::Data, at: &Context) -> Result<DataShape, Failure> {
    let shape = data::inspect(of.path(), of.view.as_deref(), &of.images, at)?;
    let columns = shape.views.iter().map(|&(_, d)| d);
    Ok(DataShape {
        items: shape.items as f64,
        columns: columns.clone().max().unwrap_or(0) as f64,
        all_columns: columns.sum::<usize>() as f64,
    })
}

impl DataShape {
    /// Number of classes, where finding that out is cheap.
    pub(super) fn classes(&self, of: &crate::args::Data, at: &Context) -> Option<usize> {
        let files = (of.path(), of.labels.as_deref());
        let size = (self.items, self.all_columns);
        estimate::classes(files, of.view.as_deref(), &of.images, size, at)
    }

    /// The features in memory, and a copy of the view that is worked on.
    pub(super) fn read(&self) -> Estimate {
        Estimate::new().resident(4.0 * self.items * (self.all_columns + self.columns))
    }

    /// Adds the graph.
    pub(super) fn graph(&self, estimate: Estimate, flags: &GraphFlags) -> Estimate {
        let (n, d, k) = (self.items, self.columns, flags.k as f64);
        if flags.approx {
            estimate.approximate_graph(n, d, k)
        } else {
            estimate.graph(n, d, k)
        }
    }
}
