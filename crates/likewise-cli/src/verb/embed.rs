//! `likewise embed`

use likewise_study::query;
use likewise_study::run_folder::{RunFolder, check_output};
use serde::Serialize;

use crate::args::Embed;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct Answer {
    items: usize,
    dimensions: usize,
}

pub(crate) fn run(args: &Embed, at: &Context) -> Result<(), Failure> {
    check_output(Some(&args.out), &[Some(args.data.path())])?;
    let ending = args.out.extension().and_then(|e| e.to_str());
    if ending.is_some_and(|e| ["csv", "tsv", "parquet", "npz", "json"].contains(&e)) {
        return Err(Failure::usage(format!(
            "{}: embeddings are written as NumPy; name a file that ends in .npy",
            args.out.display()
        )));
    }
    output::beside(Some(&args.out));
    let source = args.data.source()?;
    let (_, embeddings) =
        RunFolder::read_by(&args.run, |run| query::embedded(run, &source, &at.env))?;
    likewise_io::write_npy(&args.out, embeddings.view())?;
    let answer = Answer {
        items: embeddings.nrows(),
        dimensions: embeddings.ncols(),
    };
    if at.common.json {
        return output::json(&answer);
    }
    output::line(format!(
        "{} items, {} dimensions",
        answer.items, answer.dimensions
    ))
}
