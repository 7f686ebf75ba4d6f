//! `likewise eval`

use std::num::NonZeroUsize;
use std::path::Path;

use likewise_study::data::Data;
use likewise_study::evaluation::{Measured, Outcome, Request};
use likewise_study::study::Results;
use likewise_study::{plain, table};
use likewise_terminal::{Context, Failure, output};

use super::across;
use crate::args::{Eval, read_as};

pub(crate) fn run(args: &Eval, at: &Context) -> Result<(), Failure> {
    let request = request(args, at)?;
    if args.only.dry_run {
        return at.print(request.estimate(&at.env)?);
    }
    output::beside(args.classes.as_deref());
    output::beside(args.confusion.as_deref());
    let outcome = request.run(&at.env)?;
    match &outcome {
        Outcome::Embeddings(measured) => at.tell(&**measured, print_measured)?,
        Outcome::Run(results, _) => at.tell(&**results, print)?,
        Outcome::Across(results, _) => across::show(results, at)?,
    }
    Ok(outcome.check(&request.gates)?)
}

/// What is asked for.
fn request(args: &Eval, at: &Context) -> Result<Request, Failure> {
    let side = |path: &Path, labels: Option<&Path>| -> Result<Data, Failure> {
        let (path, seed) = (path.to_owned(), at.common.seed);
        let read = read_as(labels, &args.view, &args.table, &args.images, seed)?;
        Ok(Data { path, read })
    };
    let searched = |path| side(path, args.gallery_labels.as_deref());
    Ok(Request {
        data: side(&args.source, args.labels.as_deref())?,
        several_labels: args.several.separator(),
        gallery: args.gallery.as_deref().map(searched).transpose()?,
        metric: args.metric,
        ks: args.at.iter().copied().map(NonZeroUsize::get).collect(),
        nmi: !args.no_nmi,
        losses: args.loss.clone(),
        classes: args.classes.clone(),
        confusion: args.confusion.clone(),
        gates: args.gate.clone(),
        seed: at.common.seed,
    })
}

fn print_measured(measured: &Measured) -> Result<(), Failure> {
    let summary = &measured.summary;
    output::text(table::of(&[("embeddings", summary)]))?;
    let sample = summary.n_queries_drawn_from.map_or(String::new(), |all| {
        format!(", a sample of {all} in the shares of the classes")
    });
    output::line(format!(
        "{} queries{sample} ({} without a relevant item), gallery of {}",
        summary.n_queries, summary.n_lone, summary.n_gallery
    ))?;
    for (name, value) in &measured.loss {
        output::line(format!("loss {name:18}{value:.8}"))?;
    }
    Ok(())
}

/// The table and the verdict of a run.
pub(super) fn print(results: &Results) -> Result<(), Failure> {
    if results.summary.n_queries > 0 {
        output::text(table::of(&results.rows()))?;
    }
    print_answers(results)
}

/// The verdict, and what was selected.
pub(super) fn print_answers(results: &Results) -> Result<(), Failure> {
    let selected = [results.columns_in_words(), results.selections_in_words()];
    for line in results.verdict.iter().chain(selected.iter().flatten()) {
        // In runs of before, names in it may be of any length.
        output::line(plain::message(line))?;
    }
    Ok(())
}
