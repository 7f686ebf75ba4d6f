//! `likewise search`

use likewise_study::plain;
use likewise_study::query::{self, Answer, Query};
use likewise_study::run_folder::RunFolder;
use likewise_study::source::Source;
use likewise_study::table::aligned;

use crate::args::Search;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &Search, at: &Context) -> Result<(), Failure> {
    let query = match (&args.id, &args.query) {
        (Some(id), _) => Query::Id(id.clone()),
        (None, Some(path)) => {
            let read = args.images.read_as(None, args.view.as_deref());
            Query::Data(Source::open(path, read)?)
        }
        (None, None) => return Err(Failure::usage("ask with --query FILE or --id ID")),
    };
    let answers = RunFolder::read_by(&args.run, |run| {
        query::search(run, &query, args.k, args.exact, &at.env)
    })?;
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
