//! `likewise embed`

use likewise_study::query;
use likewise_study::run_folder::{RunFolder, check_apart, check_output, ending_of};
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
    let out = args.out.as_deref();
    check_output(out, &[Some(args.data.path()), args.data.labels.as_deref()])?;
    check_apart(out, &args.run)?;
    let ending = out.map(|out| ending_of(out, "embeddings are written", &["npy", "parquet"]));
    let ending = ending.transpose()?;
    output::beside(out);
    let source = args.data.source(at.common.seed)?;
    if args.dry_run {
        let estimate = RunFolder::read_by(&args.run, |run| {
            query::estimate_of_embedding(run, &source, &at.env)
        })?;
        return at.print(estimate);
    }
    let scored = RunFolder::read_by(&args.run, |run| Ok(run.similarity()?.scorer().is_some()))?;
    if scored {
        at.env.monitor.warn(
            "the model compares items itself: these rows are what it reads of them, and their cosines or \
             distances say nothing of what it has learned; `likewise search` asks it",
        );
    }
    let tells = ending == Some("parquet");
    let embedded = RunFolder::read_by(&args.run, |run| {
        let embedded = query::embedded(run, &source, &at.env)?;
        if tells {
            embedded.with_known(run)
        } else {
            Ok(embedded)
        }
    })?;
    let answer = Answer {
        items: embedded.rows.nrows(),
        dimensions: embedded.rows.ncols(),
    };
    match out {
        Some(out) if tells => {
            likewise_io::embeddings::write(out, &embedded.items, embedded.rows)?;
        }
        Some(out) => likewise_io::write_npy(out, embedded.rows.view())?,
        None => {}
    }
    if at.common.json {
        return output::json(&answer);
    }
    output::line(format!(
        "{} items, {} dimensions",
        answer.items, answer.dimensions
    ))
}
