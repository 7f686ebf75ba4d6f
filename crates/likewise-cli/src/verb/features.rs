//! `likewise features`

use likewise_study::features::Request;
use likewise_terminal::{Context, Failure, output};

use crate::args::Features;

pub(crate) fn run(args: &Features, at: &Context) -> Result<(), Failure> {
    let request = Request {
        data: args.data.asked(at.common.seed)?,
        out: args.out.clone(),
    };
    output::beside(args.out.as_deref());
    if args.only.dry_run {
        return at.print(request.estimate(&at.env)?);
    }
    at.tell(&request.run(&at.env)?, |written| {
        output::line(format!(
            "view {}: {} items, {} columns",
            written.view, written.items, written.columns
        ))
    })
}
