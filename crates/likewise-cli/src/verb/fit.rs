//! `likewise fit`

mod request;

use std::time::Instant;

use likewise_study::fit::{Outcome, Request};
use likewise_study::run_folder::IndexCard;
use likewise_study::study::Results;
use likewise_study::{plain, table};
use likewise_terminal::{Context, Failure, aside, output};

use super::{across, refit};
use crate::args::Fit;

pub(crate) fn run(args: &Fit, at: &Context) -> Result<(), Failure> {
    let clock = Instant::now();
    let request = match refit::request(args, at)? {
        Some(again) => again,
        None => request::of(args, at)?,
    };
    if args.dry_run {
        return at.print(request.estimate(&at.env)?);
    }
    let outcome = request.run(&at.env)?;
    tell(&request, &outcome, at).map_err(|e| match &request.out {
        Some(out) => e.then(&format!("the run is finished, in {}", out.display())),
        None => e,
    })?;
    if matches!(outcome, Outcome::Made(..)) && !at.common.quiet {
        let total = clock.elapsed().as_secs_f64();
        aside(plain::message(&at.env.stages.in_words(total)));
    }
    Ok(outcome.check(&request.gates)?)
}

/// Prints the results, and what stands in the folder.
fn tell(request: &Request, outcome: &Outcome, at: &Context) -> Result<(), Failure> {
    match outcome {
        Outcome::Made(results, card) if !at.common.json => {
            print(results)?;
            tell_of_folder(request, card)
        }
        Outcome::Found(results) if !at.common.json => super::eval::print(results),
        Outcome::Made(results, _) | Outcome::Found(results) => output::json(results),
        Outcome::FoundAcross(results) => across::show(results, at),
        Outcome::MadeAcross(study) => {
            across::show(&study.results, at)?;
            match &request.out {
                Some(out) if !at.common.json => across::tell(study, out),
                _ => Ok(()),
            }
        }
    }
}

fn tell_of_folder(request: &Request, card: &IndexCard) -> Result<(), Failure> {
    let Some(out) = &request.out else {
        return Ok(());
    };
    output::line("")?;
    output::line(format!(
        "{}: model, embeddings, {} index (recall@{} {:.3}), report.html",
        out.display(),
        card.kind,
        card.k,
        card.recall
    ))
}

/// The table and the verdict.
pub(super) fn print(results: &Results) -> Result<(), Failure> {
    if !results.tried.is_empty() {
        output::text(table::aligned(&results.choices()))?;
        output::line("")?;
    }
    if results.tells() {
        output::text(table::of(&results.rows()))?;
        output::line("")?;
    }
    super::eval::print_answers(results)
}
