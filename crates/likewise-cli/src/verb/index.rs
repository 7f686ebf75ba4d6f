//! `likewise index`

use likewise_study::estimate::Estimate;
use likewise_study::run_folder::{RunFolder, check_output, write_index};
use likewise_study::source::{ReadAs, Source};

use crate::args::Index;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Neighbours at which recall is measured, unless another number is asked for.
const RECALL_AT: usize = 10;

pub(crate) fn run(args: &Index, at: &Context) -> Result<(), Failure> {
    // Who writes elsewhere only reads here.
    let (run, _lock) = match (args.source.is_dir(), &args.out) {
        (false, _) => (None, None),
        (true, Some(_)) => (Some(RunFolder::open(&args.source)?), None),
        (true, None) => {
            let (run, lock) = RunFolder::hold(&args.source)?;
            (Some(run), Some(lock))
        }
    };
    let run = run.as_ref();
    if let Some(out) = &args.out {
        check_output(Some(&out.join("index.json")), &[])?;
        if RunFolder::is_meant(out) {
            return Err(Failure::usage(format!(
                "{}: a run has its index in a folder of its own; name another folder",
                out.display()
            )));
        }
    }
    let source = match run {
        Some(run) => run.file("embeddings.npy"),
        None => args.source.clone(),
    };
    let shape = Source::open(&source, ReadAs::default())?.shape(&at.env)?;
    let (n, d) = (shape.items as f64, shape.views[0].1 as f64);
    let k = neighbors(args.k, shape.items)?;
    // The answers of the queries that recall is measured on.
    let needed = Estimate::new().resident(4.0 * n * d + 32.0 * 1000.0 * k as f64);
    let kind = args.kind.into();
    needed.index(kind, n, d).check(at.env.max_memory)?;
    let embeddings = match run {
        Some(run) => run.embeddings()?,
        None => likewise_io::read_matrix(&args.source, None)?,
    };
    let file = run.map(|run| run.file("embeddings.npy"));
    let out = run.map(|run| run.file("index"));
    let Some(out) = args.out.clone().or(out) else {
        return Err(Failure::usage("name a folder for the index with --out"));
    };
    let card = write_index(
        &out,
        (embeddings.view(), file.as_deref()),
        kind,
        k,
        at.common.seed,
        at.env.monitor,
    )?;
    if at.common.json {
        return output::json(&card);
    }
    output::line(format!(
        "{} index of {} items, {} dimensions, recall@{} {:.4}",
        card.kind, card.items, card.dimensions, card.k, card.recall
    ))
}

/// The neighbours that were asked for. Fails for none, and for more than there are.
fn neighbors(asked: Option<usize>, items: usize) -> Result<usize, Failure> {
    let rule = match asked {
        None => return Ok(RECALL_AT.min(items)),
        Some(0) => "must be at least 1".to_owned(),
        Some(k) if k > items => format!("must be at most {items}, as there are so many items"),
        Some(k) => return Ok(k),
    };
    Err(likewise::Error::parameter("k", asked.unwrap_or(0), &rule).into())
}
