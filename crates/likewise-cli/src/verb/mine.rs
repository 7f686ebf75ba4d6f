//! `likewise mine`

use std::num::NonZeroUsize;

use likewise_study::mine::{Mined, Request};
use likewise_terminal::{Context, Failure, output};

use crate::args::Mine;

pub(crate) fn run(args: &Mine, at: &Context) -> Result<(), Failure> {
    let request = Request {
        data: args.data.asked(at.common.seed)?,
        from: args.from.clone(),
        kind: args.kind,
        per_item: args.per_item.map(NonZeroUsize::get),
        labels_per_class: args.labels_per_class.map(NonZeroUsize::get),
        k: args.k,
        out: args.out.clone(),
        seed: at.common.seed,
    };
    output::beside(args.out.as_deref());
    if args.only.dry_run {
        return at.print(request.estimate(&at.env)?);
    }
    at.tell(&request.run(&at.env)?, print)
}

fn print(mined: &Mined) -> Result<(), Failure> {
    let sorts = match (mined.alike, mined.unlike) {
        (Some(alike), Some(unlike)) => format!(" ({alike} alike, {unlike} unlike)"),
        _ => String::new(),
    };
    output::line(format!(
        "{} {}{sorts} of {} items, mean weight {:.3}, {:.1} s",
        mined.tuples, mined.kind, mined.items, mined.mean_weight, mined.seconds
    ))
}
