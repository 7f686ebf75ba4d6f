//! `likewise search`

use likewise::index::Hit;
use likewise_io::items::ItemRow;
use ndarray::Array2;
use serde::Serialize;

use super::Context;
use crate::args::Search;
use crate::data;
use crate::estimate::Estimate;
use crate::failure::Failure;
use crate::output;
use crate::plain;
use crate::run_folder::RunFolder;

/// How the files of a run call items that are known to be none of the classes.
const OUTSIDE: &str = "outside";

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
    if args.k == 0 {
        return Err(likewise::Error::parameter("k", 0, "must be at least 1").into());
    }
    let run = RunFolder::open(&args.run)?;
    let kind = run.index_kind()?;
    let embeddings = run.file("embeddings.npy");
    let shape = data::inspect(&embeddings, None, &args.images, at)?;
    let (n, d) = (shape.items as f64, shape.views[0].1 as f64);
    // Ids and beliefs of all items are read whole.
    let needed = Estimate::new().resident(200.0 * n);
    let few = args.id.is_some();
    let needed = if few {
        needed
    } else {
        needed.search(kind, n, d)
    };
    needed.check(at)?;
    let items = run.items()?;
    let (names, queries, own) = queries(args, &run, &items, at)?;
    let k = asked(args.k, items.len(), own);
    let hits = run.search(queries.view(), k, items.len(), args.exact, at.monitor)?;
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
    if let Some(id) = &args.id {
        let row = items
            .iter()
            .position(|item| item.id == *id)
            .ok_or_else(|| Failure::failed(format!("the run has no item with id \"{id}\"")))?;
        let query = run.embedding(row)?;
        return Ok((vec![id.clone()], query, Some(row)));
    }
    let Some(path) = &args.query else {
        return Err(Failure::usage("ask with --query FILE or --id ID"));
    };
    let view = args.view.as_deref();
    let (ids, embedded) = super::embed::embedded(run, path, view, &args.images, at)?;
    Ok((ids, embedded, None))
}

/// How many hits are asked for. No answer has more than there are items. An item that asks
/// finds itself first; one more makes up for it.
fn asked(k: usize, items: usize, own: Option<usize>) -> usize {
    k.min(items) + usize::from(own.is_some())
}

fn found<'a>(hits: &[Hit], items: &'a [ItemRow], own: Option<usize>, k: usize) -> Vec<Found<'a>> {
    let others = hits.iter().filter(|hit| Some(hit.item) != own).take(k);
    others
        .zip(1..)
        .map(|(hit, rank)| {
            let item = &items[hit.item];
            // What is known to be none of the classes is not believed to be one.
            let outside = item.label.as_deref() == Some(OUTSIDE);
            Found {
                rank,
                id: &item.id,
                similarity: hit.similarity,
                label: item.label.as_deref(),
                pseudo_label: item.pseudo_label.as_deref().filter(|_| !outside),
                confidence: item.confidence.filter(|_| !outside),
            }
        })
        .collect()
}

fn print(answer: &Answer) -> Result<(), Failure> {
    output::line(format!("query {}", plain::name(&answer.query)))?;
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
    output::text(output::aligned(&lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_hits_may_be_asked_for() {
        assert_eq!(asked(usize::MAX, 7, Some(3)), 8);
        assert_eq!((asked(5, 7, None), asked(5, 7, Some(0))), (5, 6));
    }

    #[test]
    fn items_outside_are_not_believed_to_be_anything() {
        let item = |label: &str| ItemRow {
            id: label.into(),
            label: Some(label.into()),
            pseudo_label: Some("cat".into()),
            confidence: Some(0.5),
            ..ItemRow::default()
        };
        let items = [item("cat"), item("outside"), item("dog")];
        let hits = [1, 0, 2].map(|item| Hit {
            item,
            similarity: 1.0,
        });
        let found = found(&hits, &items, Some(2), 5);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].label, found[0].pseudo_label),
            (Some("outside"), None)
        );
        assert_eq!(
            (found[0].confidence, found[1].confidence),
            (None, Some(0.5))
        );
        assert_eq!(found[1].pseudo_label, Some("cat"));
    }
}
