//! `likewise add`

use likewise_study::add;
use likewise_study::run_folder::RunFolder;
use likewise_terminal::{Context, Failure, output};

use crate::args::Add;

pub(crate) fn run(args: &Add, at: &Context) -> Result<(), Failure> {
    let source = args.data.source(at.common.seed)?;
    if args.only.dry_run {
        let estimate = RunFolder::read_by(&args.run, |run| add::estimate(run, &source, &at.env))?;
        return at.print(estimate);
    }
    let prefix = args.prefix.as_deref().unwrap_or_default();
    let added = add::add(&args.run, &source, prefix, &at.env)?;
    at.tell(&added, |added| {
        output::line(format!(
            "{} items added, {} of them believed to be of a class by their neighbours; the run has {} \
             items",
            added.added, added.believed, added.items
        ))
    })
}
