//! `likewise search`

use likewise::index::Hit;
use likewise_io::items::ItemRow;
use ndarray::{Array2, Axis};
use serde::Serialize;

use super::Context;
use crate::args::Search;
use crate::failure::Failure;
use crate::output;
use crate::run_folder::RunFolder;

#[derive(Serialize)]
struct Answer<'a> {
    query: String,
    hits: Vec<Found<'a>>,
}

#[derive(Serialize)]
struct Found<'a> {
    rank: usize,
    id: &'a str,
    similarity: f32,
    label: Option<&'a str>,
    pseudo_label: Option<&'a str>,
    confidence: Option<f32>,
}

pub(crate) fn run(args: &Search, at: &Context) -> Result<(), Failure> {
    let run = RunFolder::open(&args.run)?;
    let items = run.items()?;
    let (names, queries, own) = queries(args, &run, &items, at)?;
    let index = run.index(args.exact)?;
    if index.len() != items.len() {
        return Err(Failure::failed(format!(
            "{}: the index holds {} items, the run {}; build it anew with `likewise index {0}`",
            args.run.display(),
            index.len(),
            items.len()
        )));
    }
    // An item that asks finds itself first; one more answer makes up for it.
    let hits = index.search(
        queries.view(),
        args.k + usize::from(own.is_some()),
        at.monitor,
    )?;
    let answers: Vec<Answer> = names
        .into_iter()
        .zip(hits)
        .map(|(query, hits)| Answer {
            query,
            hits: found(&hits, &items, own, args.k),
        })
        .collect();
    if at.common.json {
        return output::json(&answers);
    }
    for answer in &answers {
        print(answer)?;
    }
    Ok(())
}

/// Names and embeddings of the queries, and the row of the item that asks, if one does.
type Queries = (Vec<String>, Array2<f32>, Option<usize>);

/// What is asked for: an item of the run, or other data.
fn queries(
    args: &Search,
    run: &RunFolder,
    items: &[ItemRow],
    at: &Context,
) -> Result<Queries, Failure> {
    if args.k == 0 {
        return Err(likewise::Error::parameter("k", 0, "must be at least 1").into());
    }
    if let Some(id) = &args.id {
        let row = items
            .iter()
            .position(|item| item.id == *id)
            .ok_or_else(|| Failure::failed(format!("the run has no item with id \"{id}\"")))?;
        let query = run.embeddings()?.select(Axis(0), &[row]);
        return Ok((vec![id.clone()], query, Some(row)));
    }
    let Some(path) = &args.query else {
        return Err(Failure::usage("ask with --query FILE or --id ID"));
    };
    let view = args.view.as_deref();
    let (ids, embedded) = super::embed::embedded(run, path, view, &args.images, at)?;
    Ok((ids, embedded, None))
}

fn found<'a>(hits: &[Hit], items: &'a [ItemRow], own: Option<usize>, k: usize) -> Vec<Found<'a>> {
    let others = hits.iter().filter(|hit| Some(hit.item) != own).take(k);
    others
        .zip(1..)
        .map(|(hit, rank)| {
            let item = &items[hit.item];
            Found {
                rank,
                id: &item.id,
                similarity: hit.similarity,
                label: item.label.as_deref(),
                pseudo_label: item.pseudo_label.as_deref(),
                confidence: item.confidence,
            }
        })
        .collect()
}

fn print(answer: &Answer) -> Result<(), Failure> {
    output::line(format!("query {}", answer.query))?;
    let mut lines = vec![
        ["rank", "id", "similarity", "label", "believed"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for hit in &answer.hits {
        let believed = match (hit.pseudo_label, hit.confidence) {
            (Some(label), Some(confidence)) => format!("{label} ({confidence:.2})"),
            _ => "-".into(),
        };
        lines.push(vec![
            hit.rank.to_string(),
            hit.id.to_owned(),
            format!("{:.4}", hit.similarity),
            hit.label.unwrap_or("-").to_owned(),
            believed,
        ]);
    }
    output::line(output::aligned(&lines))
}
