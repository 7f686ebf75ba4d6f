//! `likewise search`

use likewise_study::across::{Ask, estimate_of_search};
use likewise_study::plain;
use likewise_study::query::{self, Answer, Query};
use likewise_study::run_folder::{AcrossFolder, IndexFolder, RunFolder};
use likewise_study::table::aligned;

use crate::args::{Search, open, read_as};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Search, at: &Context) -> Result<(), Failure> {
    if let [_, other, ..] = args.id.as_slice() {
        let other = plain::name(other);
        return Err(Failure::usage(format!(
            "--id {other}: one item at a time; leave the others out, or ask for many with --query FILE"
        )));
    }
    let query = match (args.id.first(), &args.query, &args.query_text) {
        (Some(id), ..) => {
            let view = (!args.view.is_empty()).then_some("--view");
            if let Some(flag) = view.or(args.images.first()) {
                return Err(Failure::usage(format!(
                    "{flag} has no effect with --id: the item of the run is embedded already; \
                     leave it out, or ask with --query FILE"
                )));
            }
            args.table.options().check_none("an id")?;
            Query::Id(id.clone())
        }
        (None, Some(path), _) => {
            let seed = at.common.seed;
            let read = read_as(None, &args.view, &args.table, &args.images, seed)?;
            Query::Data(Box::new(open(path, read)?))
        }
        (None, None, Some(text)) if AcrossFolder::is_one(&args.run) => {
            let view = (!args.view.is_empty()).then_some("--view");
            if let Some(flag) = view.or(args.images.first()) {
                return Err(Failure::usage(format!(
                    "{flag} has no effect with --query-text, which asks in the view of --from; leave it out"
                )));
            }
            args.table.options().check_none("a typed text")?;
            return tell(&super::across::search(args, Ask::Text(text), at)?, at);
        }
        (None, None, Some(_)) => {
            return Err(Failure::usage(format!(
                "--query-text goes with a run across views, and {} is none; ask with --query FILE or \
                 --id ID",
                args.run.display()
            )));
        }
        (None, None, None) => {
            return Err(Failure::usage(
                "ask with --query FILE or --id ID, in a run across views also with --query-text TEXT",
            ));
        }
    };
    if AcrossFolder::is_one(&args.run) {
        if args.dry_run {
            return at.print(AcrossFolder::read_by(&args.run, estimate_of_search)?);
        }
        return tell(&super::across::search(args, Ask::Query(&query), at)?, at);
    }
    let across = [("--from", &args.from), ("--to", &args.to)];
    // What is no run is said as such below.
    let is_known = RunFolder::is_run(&args.run) || IndexFolder::is_one(&args.run);
    if let Some((flag, _)) = across.iter().find(|(_, view)| view.is_some() && is_known) {
        return Err(Failure::usage(format!(
            "{flag} goes with a run across views, and {} is none; leave it out",
            args.run.display()
        )));
    }
    if IndexFolder::is_one(&args.run) {
        let index = IndexFolder::open(&args.run)?;
        if args.dry_run {
            return at.print(query::estimate_of_index(&index, &query, args.k, &at.env)?);
        }
        let answers = query::search_index(&index, &query, args.k, args.exact, &at.env)?;
        return tell(&answers, at);
    }
    if args.dry_run {
        let estimate = RunFolder::read_by(&args.run, |run| {
            query::estimate_of_search(run, &query, args.k, &at.env)
        })?;
        return at.print(estimate);
    }
    let answers = RunFolder::read_by(&args.run, |run| {
        query::search(run, &query, args.k, args.exact, &at.env)
    })?;
    tell(&answers, at)
}

fn tell(answers: &[Answer], at: &Context) -> Result<(), Failure> {
    if at.common.json {
        return output::json(&answers);
    }
    answers.iter().try_for_each(print)
}

fn print(answer: &Answer) -> Result<(), Failure> {
    output::line(format!("query {}", plain::name(&answer.query)))?;
    let mut lines = vec![
        ["rank", "id", "similarity", "label", "believed"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for hit in &answer.hits {
        let believed = match (&hit.pseudo_label, hit.confidence) {
            (Some(label), Some(confidence)) => format!("{label} ({confidence:.2})"),
            _ => "-".into(),
        };
        lines.push(vec![
            hit.rank.to_string(),
            hit.id.clone(),
            format!("{:.4}", hit.similarity),
            hit.label.clone().unwrap_or_else(|| "-".into()),
            believed,
        ]);
    }
    output::text(aligned(&lines))
}
