//! `likewise describe`

use likewise_study::describe::Request;
use likewise_terminal::{Context, Failure, output};

use crate::args::Describe;

pub(crate) fn run(args: &Describe, at: &Context) -> Result<(), Failure> {
    let request = Request {
        data: args.data.asked(at.common.seed)?,
        with: args.with.clone(),
        out: args.out.clone(),
    };
    output::beside(args.out.as_deref());
    if args.only.dry_run {
        return at.print(request.estimate(&at.env)?);
    }
    at.tell(&request.run(&at.env)?, |described| {
        described.views.iter().try_for_each(|view| {
            let (name, columns) = (&view.view, view.columns);
            output::line(format!(
                "view {name}: {} items, {columns} columns",
                described.items
            ))
        })
    })
}
