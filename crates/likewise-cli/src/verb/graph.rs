//! `likewise graph`

use std::time::Instant;

use likewise::index::{Hnsw, HnswOptions, Index};
use likewise::neighbor::{KnnGraph, Neighbors};
use likewise::{Monitor, matrix};
use likewise_io::ReadOptions;
use ndarray::{Array2, ArrayView2, Axis};
use serde::Serialize;

use super::Context;
use crate::args::{Graph, GraphFlags};
use crate::data;
use crate::estimate::Estimate;
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
    seconds: f64,
}

pub(crate) fn run(args: &Graph, at: &Context) -> Result<(), Failure> {
    let estimate = shape(&args.data, at)?.graph_only(args.flags.k);
    if args.dry_run {
        return estimate.print(at);
    }
    estimate.check(at)?;
    let start = Instant::now();
    let collection = data::load(&args.data, at)?;
    let (collection, name) = data::with_view(collection, args.data.view.as_deref(), at)?;
    let x = collection.view(Some(&name))?.matrix.view();
    let graph = build(&args.flags, x, at.monitor)?;
    if let Some(out) = &args.out {
        likewise_io::graph::write(out, &graph)?;
    }
    let answer = Answer {
        items: graph.n(),
        k: args.flags.k,
        edges: graph.nnz() / 2,
        entries: graph.nnz(),
        components: graph.n_components(),
        isolated: graph.isolated().len(),
        approximate: args.flags.approx,
        seconds: start.elapsed().as_secs_f64(),
    };
    if at.common.json {
        return output::json(&answer);
    }
    output::line(format!(
        "{} items, {} edges, {} component(s), {} isolated, {:.1} s",
        answer.items, answer.edges, answer.components, answer.isolated, answer.seconds
    ))
}

/// The graph of the rows of `x`, exact or approximate.
pub(super) fn build(
    flags: &GraphFlags,
    x: ArrayView2<f32>,
    monitor: &Monitor,
) -> Result<likewise::Graph, Failure> {
    let settings = KnnGraph::new().k(flags.k).gamma(flags.gamma);
    if !flags.approx {
        return Ok(settings.build(x, monitor)?);
    }
    let n = x.nrows();
    if flags.k == 0 || flags.k >= n {
        let rule = format!("must be at least 1 and below the number of items, {n}");
        return Err(likewise::Error::parameter("k", flags.k, &rule).into());
    }
    let index = Hnsw::build(x, HnswOptions::default(), monitor)?;
    let mut indices = Array2::<u32>::zeros((n, flags.k));
    let mut similarities = Array2::<f32>::zeros((n, flags.k));
    // One more than k, since the item itself is usually among them.
    let x = matrix::l2_normalize(x.to_owned());
    let hits = index.search(x.view(), flags.k + 1, monitor)?;
    for (item, hits) in hits.iter().enumerate() {
        let others = hits.iter().filter(|hit| hit.item != item).take(flags.k);
        let mut found = 0;
        for (place, hit) in others.enumerate() {
            indices[[item, place]] = hit.item as u32;
            similarities[[item, place]] = x.row(item).dot(&x.row(hit.item));
            found += 1;
        }
        if found < flags.k {
            return Err(Failure::failed(format!(
                "the approximate search found only {found} neighbours of item {item}; leave \
                 --approx out"
            )));
        }
    }
    let neighbors = Neighbors {
        k: flags.k,
        indices,
        similarities,
    };
    debug_assert_eq!(neighbors.indices.len_of(Axis(0)), n);
    Ok(settings.from_neighbors(&neighbors)?)
}

/// Size of the data of a verb, from headers where the format allows.
pub(super) struct DataShape {
    pub(super) items: f64,
    pub(super) columns: f64,
    pub(super) all_columns: f64,
}

/// Looks at the data without reading the features.
pub(super) fn shape(data: &crate::args::Data, at: &Context) -> Result<DataShape, Failure> {
    let options = ReadOptions {
        labels: None,
        view: data.view.clone(),
        max_memory: at.common.max_memory.map(|b| b.0),
    };
    let shape = likewise_io::inspect(data.path(), &options)?;
    let columns = shape.views.iter().map(|&(_, d)| d);
    Ok(DataShape {
        items: shape.items as f64,
        columns: columns.clone().max().unwrap_or(0) as f64,
        all_columns: columns.sum::<usize>() as f64,
    })
}

impl DataShape {
    /// The features in memory, and a copy of the view that is worked on.
    pub(super) fn read(&self) -> Estimate {
        Estimate::new().resident(4.0 * self.items * (self.all_columns + self.columns))
    }

    fn graph_only(&self, k: usize) -> Estimate {
        self.read().graph(self.items, self.columns, k as f64)
    }
}
