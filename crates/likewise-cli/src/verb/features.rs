//! `likewise features`

use likewise_study::estimate::Estimate;
use likewise_study::graph::DataShape;
use likewise_study::run_folder::{check_output, ending_of, rows_of};
use likewise_study::source::with_view;
use serde::Serialize;

use crate::args::{Features, joined};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Answer {
    view: String,
    items: usize,
    columns: usize,
}

pub(crate) fn run(args: &Features, at: &Context) -> Result<(), Failure> {
    let out = args.out.as_deref();
    check_output(out, &[Some(args.data.path()), args.data.labels.as_deref()])?;
    let ending = out.map(|out| ending_of(out, "features are written", &["npy", "parquet"]));
    let ending = ending.transpose()?;
    output::beside(out);
    let source = args.data.source(at.common.seed)?;
    let shape = DataShape::of(&source, &at.env)?;
    let twice = 8.0 * shape.items * shape.columns;
    let estimate = Estimate::new().resident(twice).stage(shape.making, 0.0);
    if args.dry_run {
        return at.print(estimate);
    }
    estimate.check(at.env.max_memory)?;
    let collection = source.load(&at.env)?;
    let view = joined(&args.data.view);
    let (collection, view) = with_view(collection, view.as_deref(), at.env.monitor)?;
    let items = rows_of(&collection);
    let rows = collection.into_view(Some(&view))?.matrix;
    let answer = Answer {
        view,
        items: rows.nrows(),
        columns: rows.ncols(),
    };
    match (out, ending) {
        (Some(out), Some("parquet")) => likewise_io::embeddings::write(out, &items, rows)?,
        (Some(out), _) => likewise_io::write_npy(out, rows.view())?,
        (None, _) => {}
    }
    if at.common.json {
        return output::json(&answer);
    }
    output::line(format!(
        "view {}: {} items, {} columns",
        answer.view, answer.items, answer.columns
    ))
}
