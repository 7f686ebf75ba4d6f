//! `likewise search`

use likewise_study::across::Way;
use likewise_study::data::Data;
use likewise_study::plain;
use likewise_study::query::Answer;
use likewise_study::search::{Asked, Request};
use likewise_study::table::aligned;
use likewise_terminal::{Context, Failure, output};

use crate::args::{Search, read_as};

pub(crate) fn run(args: &Search, at: &Context) -> Result<(), Failure> {
    let request = Request {
        run: args.run.clone(),
        asked: asked(args, at)?,
        way: Way {
            from: args.from.clone(),
            to: args.to.clone(),
            asymmetric: args.asymmetric,
        },
        k: args.k,
        exact: args.exact,
    };
    if args.only.dry_run {
        return at.print(request.estimate(&at.env)?);
    }
    at.tell(&request.run(&at.env)?, |answers| {
        answers.iter().try_for_each(print)
    })
}

/// What asks. Fails on flags that it has no use for.
fn asked(args: &Search, at: &Context) -> Result<Asked, Failure> {
    if let [_, other, ..] = args.id.as_slice() {
        let other = plain::name(other);
        return Err(Failure::usage(format!(
            "--id {other}: one item at a time; leave the others out, or ask for many with --query FILE"
        )));
    }
    match (args.id.first(), &args.query, &args.query_text) {
        (Some(id), ..) => {
            let why = "--id: the item of the run is embedded already; leave it out, or ask with --query FILE";
            check_unread(args, why)?;
            args.table.options().check_none("an id")?;
            Ok(Asked::Id(id.clone()))
        }
        (None, Some(path), _) => {
            let seed = at.common.seed;
            let read = read_as(None, &args.view, &args.table, &args.images, seed)?;
            Ok(Asked::Data(Box::new(Data {
                path: path.clone(),
                read,
            })))
        }
        (None, None, Some(text)) => {
            let why = "--query-text, which asks in the view of --from; leave it out";
            check_unread(args, why)?;
            args.table.options().check_none("a typed text")?;
            Ok(Asked::Text(text.clone()))
        }
        (None, None, None) => Err(Failure::usage(
            "ask with --query FILE or --id ID, in a run across views also with --query-text TEXT",
        )),
    }
}

/// Fails on a flag of how data are read, where none are.
fn check_unread(args: &Search, why: &str) -> Result<(), Failure> {
    let view = (!args.view.is_empty()).then_some("--view");
    match view.or(args.images.first()) {
        Some(flag) => Err(Failure::usage(format!("{flag} has no effect with {why}"))),
        None => Ok(()),
    }
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
