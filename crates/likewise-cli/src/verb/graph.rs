//! `likewise graph`

use likewise::neighbor::Precision;
use likewise_study::graph::{Request, Searched, Summary, fuse_in_words, parts_in_words};
use likewise_terminal::{Context, Failure, output};

use crate::args::{Graph, NEIGHBORS};

pub(crate) fn run(args: &Graph, at: &Context) -> Result<(), Failure> {
    args.flags.check()?;
    let request = Request {
        data: args.data.asked(at.common.seed)?,
        k: args.flags.k,
        settings: args.flags.settings(NEIGHBORS, at.common.seed),
        out: args.out.clone(),
    };
    output::beside(args.out.as_deref());
    if args.only.dry_run {
        return at.print(request.estimate(&at.env)?);
    }
    at.tell(&request.run(&at.env)?, print)
}

fn print(built: &Summary) -> Result<(), Failure> {
    output::line(format!(
        "{} items, {} edges{}{}, {}, {:.1} s",
        built.items,
        built.edges,
        fuse_in_words(built.fuse),
        parts_in_words(built.components, built.isolated, 0),
        in_words(&built.search),
        built.seconds
    ))?;
    built.report.verdict.iter().try_for_each(output::line)
}

fn in_words(search: &Searched) -> String {
    match search {
        Searched::Exact(s) if s.precision == Precision::I16 => {
            "exact (candidates in 16 bits, then f32)".into()
        }
        Searched::Exact(_) => "exact".into(),
        Searched::Approximate(p) => format!(
            "approximate: {} of {} cells, recall {:.3} on {} items",
            p.probes, p.cells, p.recall, p.sampled
        ),
    }
}
