//! `likewise index`

use likewise_study::index::Request;
use likewise_terminal::{Context, Failure, output};

use crate::args::Index;

pub(crate) fn run(args: &Index, at: &Context) -> Result<(), Failure> {
    let request = Request {
        source: args.source.clone(),
        kind: args.kind,
        k: args.k,
        out: args.out.clone(),
        seed: at.common.seed,
    };
    if args.only.dry_run {
        return at.print(request.estimate(&at.env)?);
    }
    at.tell(&request.run(&at.env)?, |card| {
        output::line(format!(
            "{} index of {} items, {} dimensions, recall@{} {:.4}",
            card.kind, card.items, card.dimensions, card.k, card.recall
        ))
    })
}
