//! `likewise graph`

use std::time::Instant;

use likewise::graph::Report;
use likewise::neighbor::Precision;
use likewise_study::estimate::Estimate;
use likewise_study::graph::{Built, DataShape, Searched, parts_in_words};
use likewise_study::run_folder::{check_ending, check_output};
use likewise_study::source::with_view;
use serde::Serialize;

use crate::args::{Graph, joined, neighbors};
use crate::context::Context;
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
    search: Searched,
    report: Report,
    seconds: f64,
}

pub(crate) fn run(args: &Graph, at: &Context) -> Result<(), Failure> {
    args.flags.check()?;
    let inputs = [Some(args.data.path()), args.data.labels.as_deref()];
    check_output(args.out.as_deref(), &inputs)?;
    check_ending(args.out.as_deref(), "graphs are written", "npz")?;
    output::beside(args.out.as_deref());
    let source = args.data.source(at.common.seed)?;
    let mapped = source.mapped()?;
    let shape = DataShape::of(&source, &at.env)?;
    let (path, monitor) = (args.data.path(), at.env.monitor);
    let k = neighbors(args.flags.k, shape.items, path, monitor)?;
    let settings = args.flags.settings(k, at.common.seed);
    let estimate = match &mapped {
        Some(mapped) => {
            let (rows, columns) = mapped.view().dim();
            Estimate::new().resident(likewise_io::Mapped::memory(rows, columns) as f64)
        }
        None => shape.read(),
    };
    let estimate = shape.graph(estimate, &settings);
    if args.dry_run {
        return at.print(estimate);
    }
    estimate.check(at.env.max_memory)?;
    let start = Instant::now();
    let built = if let Some(mapped) = &mapped {
        let built = settings.build(mapped.view(), at.env.monitor);
        built.map_err(|e| e.within(args.data.path().display()))?
    } else {
        let view = joined(&args.data.view);
        let view = view.as_deref();
        let (collection, name) = with_view(source.load(&at.env)?, view, at.env.monitor)?;
        let x = collection.view(Some(&name))?.matrix.view();
        settings.build(x, at.env.monitor)?
    };
    let Built {
        graph,
        neighbors,
        search,
    } = built;
    if let Some(out) = &args.out {
        likewise_io::graph::write(out, &graph)?;
    }
    let report = Report::of_lists(&graph, &neighbors)?;
    let answer = Answer {
        items: graph.n(),
        k,
        edges: graph.nnz() / 2,
        entries: graph.nnz(),
        components: graph.n_components(),
        isolated: graph.isolated().len(),
        approximate: args.flags.approx,
        search,
        report,
        seconds: start.elapsed().as_secs_f64(),
    };
    if at.common.json {
        return output::json(&answer);
    }
    output::line(format!(
        "{} items, {} edges{}, {}, {:.1} s",
        answer.items,
        answer.edges,
        parts_in_words(answer.components, answer.isolated, 0),
        in_words(&answer.search),
        answer.seconds
    ))?;
    for remark in &answer.report.verdict {
        output::line(remark)?;
    }
    Ok(())
}

fn in_words(search: &Searched) -> String {
    match search {
        Searched::Exact(s) if s.precision == Precision::I16 => {
            "exact (candidates in 16 bits, then f32)".into()
        }
        Searched::Exact(_) => "exact".into(),
        Searched::Approximate(p) => format!(
            "approximate: {} of {} cells, recall {:.3} on {} items",
            p.probes, p.cells, p.recall, p.sampled
        ),
    }
}
