//! `likewise index`

use super::Context;
use crate::args::Index;
use crate::failure::Failure;
use crate::output;
use crate::run_folder::{RunFolder, write_index};

pub(crate) fn run(args: &Index, at: &Context) -> Result<(), Failure> {
    let (embeddings, out) = if args.source.is_dir() {
        let run = RunFolder::open(&args.source)?;
        (run.embeddings()?, Some(run.file("index")))
    } else {
        (likewise_io::read_matrix(&args.source, None)?, None)
    };
    let Some(out) = args.out.clone().or(out) else {
        return Err(Failure::usage("name a folder for the index with --out"));
    };
    if args.k == 0 {
        return Err(likewise::Error::parameter("k", 0, "must be at least 1").into());
    }
    let card = write_index(
        &out,
        embeddings.view(),
        args.kind,
        args.k,
        at.common.seed,
        at.monitor,
    )?;
    if at.common.json {
        return output::json(&card);
    }
    output::line(format!(
        "{} index of {} items, {} dimensions, recall@{} {:.4}",
        card.kind, card.items, card.dimensions, card.k, card.recall
    ))
}
