//! `likewise export`

use std::path::Path;

use likewise::index::Kind as IndexKind;
use likewise_io::atomic;
use likewise_study::export::{self, Contents, Report, Store, StoreKind, files, huggingface};
use likewise_study::plain;
use likewise_study::run_folder::{check_apart, check_ending, check_output};

use crate::args::{Export, TargetName};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// The table of a database, unless another one is named.
const TABLE: &str = "likewise";

pub(crate) fn run(args: &Export, at: &Context) -> Result<(), Failure> {
    check_flags(args)?;
    output::beside(args.out.as_deref());
    let view = args.view.as_deref();
    if args.dry_run {
        return at.print(export::estimate(&args.run, view)?);
    }
    let contents = || Contents::read(&args.run, view, &at.env);
    let report = match args.to {
        TargetName::Parquet => files::table(contents()?, files::Table::Parquet, file(args)?)?,
        TargetName::Milvus => files::table(contents()?, files::Table::Milvus, file(args)?)?,
        TargetName::Lancedb => files::table(contents()?, files::Table::Lancedb, file(args)?)?,
        TargetName::Faiss => files::faiss(&contents()?, file(args)?)?,
        TargetName::Onnx => files::onnx(&args.run, view, file(args)?)?,
        TargetName::Huggingface => huggingface::write(&args.run, args.overwrite, file(args)?)?,
        TargetName::Pgvector => {
            let store = store(args, "PGPASSWORD", at)?;
            export::write(StoreKind::Pgvector, &store, &contents()?, &at.env)?
        }
        TargetName::Qdrant => {
            let store = store(args, "QDRANT_API_KEY", at)?;
            export::write(StoreKind::Qdrant, &store, &contents()?, &at.env)?
        }
    };
    if at.common.json {
        return output::json(&report);
    }
    tell(&report)
}

/// Fails for flags that the target knows nothing of, and before any work for what it lacks.
fn check_flags(args: &Export) -> Result<(), Failure> {
    let is_store = matches!(args.to, TargetName::Pgvector | TargetName::Qdrant);
    let refused = |flag: &str, goes_with: &str| {
        let message = format!("{flag} goes with {goes_with}; leave it out");
        Err(Failure::usage(message))
    };
    if is_store {
        if args.out.is_some() {
            return refused("--out", "files; a database has its --url");
        }
        export::available()?;
    } else {
        for (flag, given) in [
            ("--url", args.url.is_some()),
            ("--table", args.table.is_some()),
        ] {
            if given {
                return refused(flag, "--to pgvector and --to qdrant");
            }
        }
    }
    if args.index.is_some() && args.to != TargetName::Pgvector {
        return refused("--index", "--to pgvector");
    }
    if args.overwrite && !is_store && args.to != TargetName::Huggingface {
        return refused("--overwrite", "databases and folders; files are replaced");
    }
    if is_store {
        return Ok(());
    }
    let out = file(args)?;
    check_output(Some(out), &[])?;
    check_apart(Some(out), &args.run)?;
    let is_table = matches!(
        args.to,
        TargetName::Parquet | TargetName::Milvus | TargetName::Lancedb
    );
    if is_table && out.extension().is_none() && !atomic::is_stream(out) {
        // It is read again to be counted, and forms are known by their endings.
        return Err(Failure::usage(format!(
            "{}: tables are written as .parquet; name the file so",
            out.display()
        )));
    }
    let (what, ending) = match args.to {
        TargetName::Parquet | TargetName::Milvus | TargetName::Lancedb => {
            ("tables are written", "parquet")
        }
        TargetName::Onnx => ("models are written", "onnx"),
        TargetName::Faiss if out.extension().is_none_or(|e| e != "index") => {
            ("indexes of faiss are written (or .index)", "faiss")
        }
        _ => return Ok(()),
    };
    Ok(check_ending(Some(out), what, ending)?)
}

fn file(args: &Export) -> Result<&Path, Failure> {
    args.out
        .as_deref()
        .ok_or_else(|| Failure::usage("say where it goes with --out"))
}

fn store(args: &Export, secret: &str, at: &Context) -> Result<Store, Failure> {
    let url = args.url.clone().ok_or_else(|| {
        let example = match args.to {
            TargetName::Qdrant => "http://localhost:6333",
            _ => "postgres://me@localhost:5432/database",
        };
        Failure::usage(format!(
            "say where the database is with --url, such as {example}"
        ))
    })?;
    Ok(Store {
        url,
        secret: std::env::var(secret)
            .ok()
            .filter(|secret| !secret.is_empty()),
        table: args.table.clone().unwrap_or_else(|| TABLE.to_owned()),
        index: args.index.map_or(IndexKind::Hnsw, IndexKind::from),
        overwrite: args.overwrite,
        seed: at.common.seed,
    })
}

fn tell(report: &Report) -> Result<(), Failure> {
    let vectors = format!("{} dimensions, {}", report.dimensions, report.compared);
    let arrived = match (report.items, report.written, report.counted) {
        (Some(items), Some(written), Some(counted)) if written < items => {
            format!("{written} of {items} items (the others were there), {counted} counted, ")
        }
        (Some(items), _, Some(counted)) => format!("{items} items, {counted} counted, "),
        (Some(items), ..) => format!("{items} items, "),
        _ => String::new(),
    };
    output::line(format!("{}: {arrived}{vectors}", plain::name(&report.to)))?;
    if let Some(recall) = report.recall {
        output::line(format!(
            "recall@{} {:.4}: what its index finds of the true neighbours of {} items",
            recall.k, recall.value, recall.queries
        ))?;
    }
    output::line("")?;
    report.usage.iter().try_for_each(output::line)
}
