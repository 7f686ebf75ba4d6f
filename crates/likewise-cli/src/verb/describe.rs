//! `likewise describe`

use likewise_study::estimate::Estimate;
use likewise_study::graph::DataShape;
use likewise_study::run_folder::{check_ending, check_output};
use likewise_study::source::{Maker, ReadAs, Source};
use serde::Serialize;

use crate::args::Describe;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Answer {
    items: usize,
    views: Vec<View>,
}

#[derive(Serialize)]
struct View {
    view: String,
    columns: usize,
}

pub(crate) fn run(args: &Describe, at: &Context) -> Result<(), Failure> {
    let out = args.out.as_deref();
    check_output(out, &[Some(args.data.path()), args.data.labels.as_deref()])?;
    check_ending(out, "descriptors are written", "npz")?;
    let makers = Maker::list(&args.with)?;
    if args.data.images.encoder.is_some() || !args.data.view.is_empty() {
        return Err(Failure::usage(
            "--encoder and --view have no effect here: --with names what is made, a network as net:FILE",
        ));
    }
    let path = args.data.path();
    if !Source::open(path, ReadAs::default())?.is_images() {
        return Err(Failure::usage(format!(
            "{}: descriptors are of images; give a folder of them",
            path.display()
        )));
    }
    let read = ReadAs {
        encoder: makers,
        ..args.data.read_as(at.common.seed)?
    };
    output::beside(out);
    let source = Source::open(path, read)?;
    let shape = DataShape::of(&source, &at.env)?;
    let twice = 8.0 * shape.items * shape.all_columns;
    let estimate = Estimate::new().resident(twice).stage(shape.making, 0.0);
    if args.dry_run {
        return at.print(estimate);
    }
    estimate.check(at.env.max_memory)?;
    let collection = source.load(&at.env)?;
    if let Some(out) = out {
        likewise_io::collection::write(out, &collection)?;
    }
    let views = collection.views().iter().map(|view| View {
        view: view.name.clone(),
        columns: view.matrix.ncols(),
    });
    let answer = Answer {
        items: collection.len(),
        views: views.collect(),
    };
    if at.common.json {
        return output::json(&answer);
    }
    for view in &answer.views {
        let (name, columns) = (&view.view, view.columns);
        output::line(format!(
            "view {name}: {} items, {columns} columns",
            answer.items
        ))?;
    }
    Ok(())
}
