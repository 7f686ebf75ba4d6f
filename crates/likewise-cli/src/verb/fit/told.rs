//! What a fit says: its numbers, its folder, its gates.

use std::path::Path;
use std::time::Instant;

use likewise_study::gate::{Gate, Losses};
use likewise_study::run_folder::{IndexCard, Work};
use likewise_study::study::{Protocol, Results};
use likewise_study::{plain, table};

use crate::args::Fit;
use crate::aside::aside;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

/// Fails on gates that no fit measures.
pub(super) fn check_gates(args: &Fit) -> Result<(), Failure> {
    let measured = |gate: &Gate| gate.measured(&Protocol::default().ks, true, &[]);
    Ok(args.gate.iter().try_for_each(measured)?)
}

/// Prints the results, and what stands in the folder.
pub(super) fn tell(
    results: &Results,
    card: &IndexCard,
    out: &Path,
    at: &Context,
) -> Result<(), Failure> {
    if at.common.json {
        return output::json(results);
    }
    print(results)?;
    output::line("")?;
    output::line(format!(
        "{}: model, embeddings, {} index (recall@{} {:.3}), report.html",
        out.display(),
        card.kind,
        card.k,
        card.recall
    ))
}

/// Prints the numbers of a run that was finished before.
pub(super) fn show(results: &Results, args: &Fit, at: &Context) -> Result<(), Failure> {
    if at.common.json {
        output::json(results)?;
    } else {
        crate::verb::eval::print(results)?;
    }
    gates(args, results)
}

pub(super) fn gates(args: &Fit, results: &Results) -> Result<(), Failure> {
    let check = |gate: &Gate| gate.check(&results.summary, &Losses::new());
    Ok(args.gate.iter().try_for_each(check)?)
}

/// The table and the verdict.
pub(in crate::verb) fn print(results: &Results) -> Result<(), Failure> {
    if !results.tried.is_empty() {
        output::text(table::aligned(&results.choices()))?;
        output::line("")?;
    }
    if results.tells() {
        output::text(table::of(&results.rows()))?;
        output::line("")?;
    }
    for line in &results.verdict {
        // In runs of before, names in it may be of any length.
        output::line(plain::message(line))?;
    }
    Ok(())
}

/// Says where there is nothing to go on with.
pub(super) fn tell_of_resume(args: &Fit, work: &Work, out: &Path, at: &Context) {
    if !args.resume || work.resumes() || at.common.quiet {
        return;
    }
    let what = match work.finished() {
        Some(_) => "the run is finished, there is nothing to resume",
        None => "there is no interrupted fit to resume; this one begins anew",
    };
    let said = format!("{}: {what}", out.display());
    aside!("{}", plain::message(&said));
}

pub(super) fn tell_of_time(since: Instant, at: &Context) {
    if !at.common.quiet {
        let total = since.elapsed().as_secs_f64();
        aside!("{}", plain::message(&at.env.stages.in_words(total)));
    }
}
