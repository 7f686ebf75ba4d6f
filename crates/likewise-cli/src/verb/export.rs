//! `likewise export`

use likewise_study::export::{Report, Request, StoreKind, Target};
use likewise_study::plain;
use likewise_terminal::{Context, Failure, output};

use crate::args::Export;

pub(crate) fn run(args: &Export, at: &Context) -> Result<(), Failure> {
    let request = Request {
        run: args.run.clone(),
        view: args.view.clone(),
        to: args.to,
        out: args.out.clone(),
        url: args.url.clone(),
        table: args.table.clone(),
        secret: secret(args.to),
        index: args.index,
        overwrite: args.overwrite,
        seed: at.common.seed,
    };
    output::beside(args.out.as_deref());
    if args.only.dry_run {
        return at.print(request.estimate()?);
    }
    at.tell(&request.run(&at.env)?, print)
}

/// The password or the key of a database, where it is not to be seen among the processes of the machine.
fn secret(to: Target) -> Option<String> {
    let Target::Store(kind) = to else { return None };
    let name = match kind {
        StoreKind::Pgvector => "PGPASSWORD",
        StoreKind::Qdrant => "QDRANT_API_KEY",
    };
    std::env::var(name).ok().filter(|secret| !secret.is_empty())
}

fn print(report: &Report) -> Result<(), Failure> {
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
