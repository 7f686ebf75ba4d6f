//! Asking a run: embeddings of new data, and the nearest items of a query.

use likewise::index::Hit;
use likewise_io::items::ItemRow;
use likewise_nn::Model;
use likewise_nn::net::Deep;
use ndarray::Array2;
use serde::Serialize;

use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::graph::DataShape;
use crate::run_folder::RunFolder;
use crate::source::{self, ReadAs, Source, Trained};
use crate::{Result, failed, usage};

/// How the files of a run call items that are known to be none of the classes.
const OUTSIDE: &str = "outside";

/// Bytes of one item among the answers, with its words.
const ANSWER: f64 = 200.0;

/// One answer to a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// Id of what was asked for.
    pub query: String,
    /// The nearest items, best first.
    pub hits: Vec<Found>,
}

/// One of the items that were found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// Place among the answers, from 1.
    pub rank: usize,
    /// Id of the item.
    pub id: String,
    /// Similarity to the query; larger is more similar.
    pub similarity: f32,
    /// Its label, where it has one.
    pub label: Option<String>,
    /// The class that it is believed to be of.
    pub pseudo_label: Option<String>,
    /// How much that belief is worth, from 0 to 1.
    pub confidence: Option<f32>,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub enum Query {
    /// An item of the run, by its id; it is left out of the answer.
    Id(String),
    /// Every item of these data.
    Data(Source),
}

/// The `k` items of a run that are nearest to each query; a few queries compare with every
/// item, many use the index, unless `exact`.
///
/// Fails for `k` of 0, an id that the run does not have, data of another kind than the run
/// was fitted on, and where the run is damaged.
pub fn search(
    run: &RunFolder,
    query: &Query,
    k: usize,
    exact: bool,
    at: &Environment,
) -> Result<Vec<Answer>> {
    if k == 0 {
        return Err(likewise::Error::parameter("k", 0, "must be at least 1"));
    }
    let kind = run.index_kind()?;
    let embeddings = Source::open(&run.file("embeddings.npy"), ReadAs::default())?;
    let shape = embeddings.shape(at)?;
    let (n, d) = (shape.items as f64, shape.views[0].1 as f64);
    // Ids and beliefs of all items are read whole, and small embeddings.
    let held = likewise_io::Mapped::memory(shape.items, shape.views[0].1) as f64;
    let needed = Estimate::new().resident(200.0 * n + held);
    let needed = match query {
        Query::Id(_) => needed,
        Query::Data(source) => {
            let asks = DataShape::of(source, at)?;
            // What the queries are made of goes; they and their answers stay.
            let features = 4.0 * asks.items * (asks.all_columns + asks.columns);
            let answers = ANSWER * (k as f64).min(n);
            needed
                .resident(asks.items * (4.0 * d + answers))
                .stage(features + asks.making, 0.0)
                .search(kind, n, d)
        }
    };
    needed.check(at.max_memory)?;
    let items = run.items()?;
    let (names, queries, own) = queries(run, query, &items, at)?;
    let wanted = asked(k, items.len(), own);
    let hits = run.search(queries.view(), wanted, items.len(), exact, at.monitor)?;
    let answers = names.into_iter().zip(hits).map(|(query, hits)| Answer {
        query,
        hits: found(&hits, &items, own, k),
    });
    Ok(answers.collect())
}

/// Names and embeddings of the queries, and the row of the item that asks, if one does.
type Queries = (Vec<String>, Array2<f32>, Option<usize>);

fn queries(run: &RunFolder, query: &Query, items: &[ItemRow], at: &Environment) -> Result<Queries> {
    match query {
        Query::Id(id) => {
            let row = (items.iter().position(|item| item.id == *id))
                .ok_or_else(|| failed(format!("the run has no item with id \"{id}\"")))?;
            Ok((vec![id.clone()], run.embedding(row)?, Some(row)))
        }
        Query::Data(source) => {
            let (ids, embedded) = embedded(run, source, at)?;
            Ok((ids, embedded, None))
        }
    }
}

/// How many hits are asked for. No answer has more than there are items. An item that asks
/// finds itself first; one more makes up for it.
fn asked(k: usize, items: usize, own: Option<usize>) -> usize {
    k.min(items) + usize::from(own.is_some())
}

fn found(hits: &[Hit], items: &[ItemRow], own: Option<usize>, k: usize) -> Vec<Found> {
    let others = hits.iter().filter(|hit| Some(hit.item) != own).take(k);
    others
        .zip(1..)
        .map(|(hit, rank)| {
            let item = &items[hit.item];
            // What is known to be none of the classes is not believed to be one.
            let outside = item.label.as_deref() == Some(OUTSIDE);
            Found {
                rank,
                id: item.id.clone(),
                similarity: hit.similarity,
                label: item.label.clone(),
                pseudo_label: item.pseudo_label.clone().filter(|_| !outside),
                confidence: item.confidence.filter(|_| !outside),
            }
        })
        .collect()
}

/// Ids of some data, and their embeddings by the model of a run.
///
/// Fails on data of another kind than the run was fitted on.
pub fn embedded(
    run: &RunFolder,
    source: &Source,
    at: &Environment,
) -> Result<(Vec<String>, Array2<f32>)> {
    let (model, config) = (run.model()?, run.config()?);
    let shape = DataShape::of(source, at)?;
    let needed = match &model {
        Model::Network(network) if source.is_images() => {
            let held = network.config.memory_to_embed() as f64;
            Estimate::new().stage(shape.decoding + held, 0.0)
        }
        _ => shape.read(),
    };
    let rows = 4.0 * shape.items * model.output_dim() as f64;
    needed.resident(rows).check(at.max_memory)?;
    let place = source.path().display();
    if let (Model::Network(network), true) = (&model, source.is_images()) {
        return of_images(network, source, at).map_err(|e| e.within(place));
    }
    let source = with_fitted_view(source, &config.view, at)?;
    let collection = source.load(at)?;
    let view = source.read_as().view.as_deref();
    let (collection, name) = source::with_view(collection, view, at.monitor)?;
    let rows = model.embed(collection.view(Some(&name))?.matrix.view(), at.device);
    let rows = rows.map_err(|e| e.within(place))?;
    Ok((collection.ids().to_vec(), rows))
}

/// A network that was trained reads the images themselves.
fn of_images(
    network: &Deep,
    source: &Source,
    at: &Environment,
) -> Result<(Vec<String>, Array2<f32>)> {
    let (images, ids) = Trained::open(source.path(), &network.config, at.max_memory)?;
    let all: Vec<usize> = (0..ids.len()).collect();
    let rows = network.embed_images(&images, &all, at.device, at.monitor)?;
    Ok((ids, rows))
}

/// The data with the view to use: the one asked for; else the run's, where the data have
/// several. Images have the one of their encoder, which must be that of the run.
fn with_fitted_view(source: &Source, fitted: &str, at: &Environment) -> Result<Source> {
    if source.read_as().view.is_some() {
        return Ok(source.clone());
    }
    let shape = source.shape(at)?;
    if source.is_images() && shape.views[0].0 != fitted {
        return Err(usage(format!(
            "{}: the run was fitted on view {fitted}, these images give {}; choose the same \
             encoder and side, squeezed or not",
            source.path().display(),
            shape.views[0].0
        )));
    }
    let view = (shape.views.len() > 1).then(|| fitted.to_owned());
    Ok(source.with_view(view))
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
            (found[0].label.as_deref(), found[0].pseudo_label.as_deref()),
            (Some("outside"), None)
        );
        assert_eq!(
            (found[0].confidence, found[1].confidence),
            (None, Some(0.5))
        );
        assert_eq!(found[1].pseudo_label.as_deref(), Some("cat"));
    }
}
