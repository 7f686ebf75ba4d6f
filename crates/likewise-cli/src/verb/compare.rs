//! `likewise compare`

use likewise_study::compare::{Compared, Request};
use likewise_study::table::aligned;
use likewise_terminal::{Context, Failure, output};

use crate::args::Compare;

/// Queries that are printed.
const SHOWN: usize = 10;

pub(crate) fn run(args: &Compare, at: &Context) -> Result<(), Failure> {
    let request = Request {
        first: args.first.clone(),
        second: args.second.clone(),
        out: args.out.clone(),
        seed: at.common.seed,
    };
    output::beside(args.out.as_deref());
    if args.only.dry_run {
        return at.print(request.estimate(&at.env)?);
    }
    at.tell(&request.run(&at.env)?, print)
}

fn print(compared: &Compared) -> Result<(), Failure> {
    output::line(compared.in_words())?;
    let mut lines = vec![
        ["metric", "first", "second", "difference"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (name, both) in &compared.metrics {
        let e = both.difference;
        lines.push(vec![
            name.clone(),
            format!("{:.3}", both.first),
            format!("{:.3}", both.second),
            format!("{:+.3} [{:+.3}, {:+.3}]", e.value, e.low, e.high),
        ]);
    }
    output::text(aligned(&lines))?;
    if compared.changed.is_empty() {
        return Ok(());
    }
    output::line("the queries that changed most, by MAP@R:")?;
    let mut lines = vec![
        ["id", "label", "first", "second"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for query in compared.changed.iter().take(SHOWN) {
        lines.push(vec![
            query.id.clone(),
            query.label.clone(),
            format!("{:.3}", query.first),
            format!("{:.3}", query.second),
        ]);
    }
    output::text(aligned(&lines))
}
