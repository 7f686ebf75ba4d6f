//! `likewise index`

use likewise::distance::Metric;
use likewise::index::Kind as IndexKind;
use likewise_study::estimate::Estimate;
use likewise_study::run_folder::{IndexFolder, RunFolder, check_output, rows_of, write_index};
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
        (true, out) if out.is_some() || args.dry_run => {
            (Some(RunFolder::open(&args.source)?), None)
        }
        (true, _) => {
            let (run, lock) = RunFolder::hold(&args.source)?;
            (Some(run), Some(lock))
        }
    };
    let run = run.as_ref();
    if let Some(out) = &args.out {
        for name in ["index.json", "embeddings.npy", "items.parquet"] {
            check_output(Some(&out.join(name)), &[Some(&args.source)])?;
        }
        IndexFolder::check(out)?;
        if RunFolder::is_meant(out) {
            return Err(Failure::usage(format!(
                "{}: a run has its index in a folder of its own; name another folder",
                out.display()
            )));
        }
    }
    if let Some(run) = run {
        of_cosines(run, args)?;
    }
    let source = match run {
        Some(run) => run.file("embeddings.npy"),
        None => args.source.clone(),
    };
    let source = Source::open(&source, ReadAs::default())?;
    let shape = source.shape(&at.env)?;
    let (n, d) = (shape.items as f64, shape.views[0].1 as f64);
    let k = neighbors(args.k, shape.items)?;
    // The answers of the queries that recall is measured on.
    let needed = Estimate::new().resident(4.0 * n * d + 32.0 * 1000.0 * k as f64);
    let kind = args.kind.into();
    let needed = needed.index(kind, n, d);
    if args.dry_run {
        return at.print(needed);
    }
    needed.check(at.env.max_memory)?;
    let (seed, monitor) = (at.common.seed, at.env.monitor);
    let card = match (run, &args.out) {
        (Some(run), None) => {
            let of_run = run.file("embeddings.npy");
            let embeddings = run.embeddings()?;
            let rows = (embeddings.view(), Some(of_run.as_path()));
            write_index(&run.file("index"), rows, kind, k, seed, monitor)?
        }
        (Some(run), Some(out)) => {
            let items = run.items()?;
            let rows = run.embeddings()?;
            IndexFolder::write(out, &items, rows.view(), kind, k, seed, monitor)?
        }
        (None, Some(out)) => {
            let collection = source.load(&at.env)?;
            let items = rows_of(&collection);
            let x = collection.into_view(None)?.matrix;
            IndexFolder::write(out, &items, x.view(), kind, k, seed, monitor)?
        }
        (None, None) => {
            return Err(Failure::usage("name a folder for the index with --out"));
        }
    };
    if at.common.json {
        return output::json(&card);
    }
    output::line(format!(
        "{} index of {} items, {} dimensions, recall@{} {:.4}",
        card.kind, card.items, card.dimensions, card.k, card.recall
    ))
}

/// Fails for an index that compares otherwise than the run does.
fn of_cosines(run: &RunFolder, args: &Index) -> Result<(), Failure> {
    let apart = args.out.is_some();
    let approximate = IndexKind::from(args.kind) == IndexKind::Hnsw;
    if run.similarity()?.metric() == Metric::Cosine || !(apart || approximate) {
        return Ok(());
    }
    let what = if apart {
        "an index of its own"
    } else {
        "an approximate index"
    };
    Err(Failure::usage(format!(
        "{}: its model compares by a learned metric, and {what} by the cosine alone; search in the \
         run itself, which compares with every item",
        args.source.display()
    )))
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
