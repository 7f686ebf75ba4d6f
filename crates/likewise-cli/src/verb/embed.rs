//! `likewise embed`

use likewise_study::embed::Request;
use likewise_terminal::{Context, Failure, output};

use crate::args::Embed;

pub(crate) fn run(args: &Embed, at: &Context) -> Result<(), Failure> {
    let request = Request {
        run: args.run.clone(),
        data: args.data.asked(at.common.seed)?,
        out: args.out.clone(),
    };
    output::beside(args.out.as_deref());
    if args.only.dry_run {
        return at.print(request.estimate(&at.env)?);
    }
    at.tell(&request.run(&at.env)?, |written| {
        output::line(format!(
            "{} items, {} dimensions",
            written.items, written.dimensions
        ))
    })
}
