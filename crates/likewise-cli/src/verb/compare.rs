//! `likewise compare`

use likewise_study::compare::{self, Compared, Runs};
use likewise_study::run_folder::{RunFolder, check_apart, check_ending, check_output, is_same};
use likewise_study::table::aligned;

use crate::args::Compare;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Queries that are printed.
const SHOWN: usize = 10;

pub(crate) fn run(args: &Compare, at: &Context) -> Result<(), Failure> {
    let out = args.out.as_deref();
    check_output(out, &[])?;
    check_ending(out, "what runs are compared by is written", "html")?;
    for run in [&args.first, &args.second] {
        check_apart(out, run)?;
    }
    if is_same(&args.first, &args.second) {
        return Err(Failure::usage(format!(
            "{}: both runs are the same folder; name two",
            args.first.display()
        )));
    }
    output::beside(out);
    let both = |first: &RunFolder| {
        RunFolder::read_by(&args.second, |second| {
            let runs = [first, second];
            if args.dry_run {
                return Ok((Some(compare::estimate(runs, &at.env)?), None));
            }
            let runs = Runs::open(runs, &at.env)?;
            let compared = runs.compare(at.common.seed, &at.env)?;
            let page = out.map(|_| runs.page(&compared)).transpose()?;
            Ok((None, Some((compared, page))))
        })
    };
    let (estimate, done) = RunFolder::read_by(&args.first, both)?;
    if let Some(estimate) = estimate {
        return at.print(estimate);
    }
    let Some((compared, page)) = done else {
        return Ok(());
    };
    if let (Some(out), Some(page)) = (out, page) {
        likewise_io::atomic::write(out, |file| {
            Ok(std::io::Write::write_all(file, page.as_bytes())?)
        })?;
    }
    if at.common.json {
        return output::json(&compared);
    }
    print(&compared)
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
