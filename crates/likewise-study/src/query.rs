//! Asking a run: embeddings of new data, and the nearest items of a query.

mod before;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use likewise::Collection;
use likewise::index::Hit;
use likewise_io::items::ItemRow;
use likewise_nn::Model;
use likewise_nn::net::Deep;
use ndarray::{Array2, ArrayView1, ArrayView2};
use serde::Serialize;

pub use self::before::{Before, Space, whitened};

use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::graph::DataShape;
use crate::run_folder::{Config, IndexFolder, OUTSIDE, RunFolder, rows_of};
use crate::source::{self, Encoded, ReadAs, Source, Trained};
use crate::{Result, failed, usage};

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
    Data(Box<Source>),
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
    estimate_of_search(run, query, k, at)?.check(at.max_memory)?;
    let items = run.items()?;
    let (names, queries, own) = queries(run, query, &items, at)?;
    let wanted = asked(k, items.len(), own);
    let hits = run.search(queries.view(), wanted, items.len(), exact, at.monitor)?;
    Ok(answers(names, &hits, &items, own, k))
}

/// What was found for each query, by its name.
fn answers(
    names: Vec<String>,
    hits: &[Vec<Hit>],
    items: &[ItemRow],
    own: Option<usize>,
    k: usize,
) -> Vec<Answer> {
    let each = names.into_iter().zip(hits).map(|(query, hits)| Answer {
        query,
        hits: found(hits, items, own, k),
    });
    each.collect()
}

/// The `k` items of an index of given embeddings that are nearest to each query, whose rows are
/// compared as they are.
///
/// Fails for `k` of 0, an id that the index does not have, data of another number of columns, and
/// where the index is damaged.
pub fn search_index(
    index: &IndexFolder,
    query: &Query,
    k: usize,
    exact: bool,
    at: &Environment,
) -> Result<Vec<Answer>> {
    estimate_of_index(index, query, k, at)?.check(at.max_memory)?;
    let items = index.items()?;
    let (names, queries, own) = match query {
        Query::Id(id) => {
            let row = row_of(id, &items, "index")?;
            (vec![id.clone()], index.embedding(row)?, Some(row))
        }
        Query::Data(source) => {
            if let Some(points) = source.points().first() {
                return Err(usage(format!(
                    "{}: words of {} are learned from a set of images, and an index of embeddings \
                     does not keep them; search a run that was fitted with this encoder",
                    source.path().display(),
                    points.name()
                )));
            }
            let view = source.read_as().view.as_deref();
            let (collection, name) = source::with_view(source.load(at)?, view, at.monitor)?;
            let x = &collection.view(Some(&name))?.matrix;
            let columns = dimensions(&index.embeddings(), at)?.1;
            if x.ncols() != columns {
                return Err(failed(format!(
                    "{}: view {name} has {} columns, the embeddings of the index {columns}; embed \
                     these items by the same model first",
                    source.path().display(),
                    x.ncols()
                )));
            }
            (collection.ids().to_vec(), x.clone(), None)
        }
    };
    let wanted = asked(k, items.len(), own);
    let hits = index.search(queries.view(), wanted, items.len(), exact, at.monitor)?;
    Ok(answers(names, &hits, &items, own, k))
}

/// What [`search_index`] will cost.
pub fn estimate_of_index(
    index: &IndexFolder,
    query: &Query,
    k: usize,
    at: &Environment,
) -> Result<Estimate> {
    if k == 0 {
        return Err(likewise::Error::parameter("k", 0, "must be at least 1"));
    }
    let (items, columns) = dimensions(&index.embeddings(), at)?;
    let (n, d) = (items as f64, columns as f64);
    let needed =
        Estimate::new().resident(200.0 * n + likewise_io::Mapped::memory(items, columns) as f64);
    Ok(match query {
        Query::Id(_) => needed,
        Query::Data(source) => {
            let asks = DataShape::of(source, at)?;
            let answers = ANSWER * (k as f64).min(n);
            needed
                .resident(asks.items * (4.0 * d + answers))
                .stage(4.0 * asks.items * asks.all_columns + asks.making, 0.0)
                .search(index.kind()?, asks.items, n, d)
        }
    })
}

/// Rows and columns of a matrix in its file.
fn dimensions(path: &Path, at: &Environment) -> Result<(usize, usize)> {
    let shape = Source::open(path, ReadAs::default())?.shape(at)?;
    Ok((shape.items, shape.views[0].1))
}

pub(crate) fn row_of(id: &str, items: &[ItemRow], place: &str) -> Result<usize> {
    (items.iter().position(|item| item.id == *id))
        .ok_or_else(|| failed(format!("the {place} has no item with id \"{id}\"")))
}

/// What [`search`] will cost, beside what makes the features of images that ask.
///
/// Fails for `k` of 0, and where the run or the data cannot be read.
pub fn estimate_of_search(
    run: &RunFolder,
    query: &Query,
    k: usize,
    at: &Environment,
) -> Result<Estimate> {
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
    Ok(match query {
        Query::Id(_) => needed,
        Query::Data(source) => {
            let source = &run.as_fitted(source)?;
            let asks = DataShape::of(source, at)?;
            // What the queries are made of goes; they and their answers stay.
            let features = 4.0 * asks.items * (asks.all_columns + asks.columns);
            let answers = ANSWER * (k as f64).min(n);
            needed
                .resident(asks.items * (4.0 * d + answers))
                .stage(features + asks.making, 0.0)
                .search(kind, asks.items, n, d)
        }
    })
}

/// Names and embeddings of the queries, and the row of the item that asks, if one does.
type Queries = (Vec<String>, Array2<f32>, Option<usize>);

fn queries(run: &RunFolder, query: &Query, items: &[ItemRow], at: &Environment) -> Result<Queries> {
    match query {
        Query::Id(id) => {
            let row = row_of(id, items, "run")?;
            Ok((vec![id.clone()], run.embedding(row)?, Some(row)))
        }
        Query::Data(source) => {
            let embedded = embedded(run, source, at)?;
            Ok((embedded.ids(), embedded.rows, None))
        }
    }
}

/// How many hits are asked for. No answer has more than there are items. An item that asks
/// finds itself first; one more makes up for it.
fn asked(k: usize, items: usize, own: Option<usize>) -> usize {
    k.min(items) + usize::from(own.is_some())
}

pub(crate) fn found(hits: &[Hit], items: &[ItemRow], own: Option<usize>, k: usize) -> Vec<Found> {
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

/// Items of some data, and their embeddings by the model of a run.
#[derive(Debug)]
pub struct Embedded {
    /// Ids, and labels where the data have some.
    pub items: Vec<ItemRow>,
    /// One row an item.
    pub rows: Array2<f32>,
}

impl Embedded {
    fn ids(&self) -> Vec<String> {
        self.items.iter().map(|item| item.id.clone()).collect()
    }

    /// Adds what a run knows of its own items: of those with the id and the embedding of one.
    /// Rows of other data may have the same numbers for ids.
    ///
    /// Fails where the run is damaged.
    pub fn with_known(mut self, run: &RunFolder) -> Result<Self> {
        let own = run.items()?;
        let places: HashMap<&str, usize> = own
            .iter()
            .enumerate()
            .map(|(i, item)| (item.id.as_str(), i))
            .collect();
        if !self
            .items
            .iter()
            .any(|item| places.contains_key(item.id.as_str()))
        {
            return Ok(self);
        }
        let fitted = run.embeddings()?;
        for (item, row) in self.items.iter_mut().zip(self.rows.rows()) {
            let Some(&place) = places.get(item.id.as_str()) else {
                continue;
            };
            let Some(same) = (place < fitted.nrows()).then(|| fitted.row(place)) else {
                continue;
            };
            // Rows that compare by a distance may be of any length.
            let length = row.iter().fold(1.0_f32, |most, v| most.max(v.abs()));
            if same
                .iter()
                .zip(row)
                .all(|(a, b)| (a - b).abs() < SAME * length)
            {
                let known = &own[place];
                item.label = item.label.take().or_else(|| known.label.clone());
                item.pseudo_label.clone_from(&known.pseudo_label);
                item.confidence = known.confidence;
            }
        }
        Ok(self)
    }
}

/// Largest difference of two embeddings of the same item, made in blocks of other sizes, beside their
/// largest value where that is above 1.
const SAME: f32 = 1e-3;

/// Some data, embedded by the model of a run.
///
/// Fails on data of another kind than the run was fitted on.
pub fn embedded(run: &RunFolder, source: &Source, at: &Environment) -> Result<Embedded> {
    let (model, config) = (run.model()?, run.config()?);
    let source = &run.as_fitted(source)?;
    needed(&model, source, at)?.check(at.max_memory)?;
    let place = source.path().display();
    if let (Model::Network(network), true) = (&model, source.is_images()) {
        return of_images(network, source, at).map_err(|e| e.within(place));
    }
    let (collection, name) = features(source, &config, at)?;
    let features = collection.view(Some(&name))?.matrix.view();
    let rows = model.embed(features, at.device);
    let rows = rows.map_err(|e| e.within(&place))?;
    if is_embedded_already(run, features, rows.view())? {
        at.monitor.warn(format!(
            "{place}: these are embeddings of the run itself, which were embedded once more as if they \
             were features; give the features of the items"
        ));
    }
    Ok(Embedded {
        items: rows_of(&collection),
        rows,
    })
}

/// The items of some data, and the name of the view that a run was fitted on.
fn features(source: &Source, run: &Config, at: &Environment) -> Result<(Collection, String)> {
    let source = with_fitted_view(source, run, at)?;
    let collection = source.load(at)?;
    let view = source.read_as().view.as_deref();
    let (collection, name) = source::with_view(collection, view, at.monitor)?;
    // Views by name were compared with those of the fit where they were read; a run that does not know how many columns each
    // had goes by the name.
    let compared = if source.read_as().widths.is_empty() {
        name == run.view
    } else {
        !collection.columns().is_empty()
    };
    if is_several(run) && !source.is_images() && !compared {
        let rows = collection.view(Some(&name))?.matrix.view();
        check_joined(rows, run, &name, source.path())?;
    }
    Ok((collection, name))
}

/// Whether the first row is the embedding of the run's first item, and no longer is once it is embedded.
fn is_embedded_already(
    run: &RunFolder,
    features: ArrayView2<f32>,
    rows: ArrayView2<f32>,
) -> Result<bool> {
    if features.dim() != rows.dim() || features.is_empty() {
        return Ok(false);
    }
    let own = run.embedding(0)?;
    if own.ncols() != features.ncols() {
        return Ok(false);
    }
    let same = |row: ArrayView2<f32>| {
        let pairs = own.iter().zip(row.row(0));
        pairs.fold(0.0_f32, |most, (a, b)| most.max((a - b).abs())) < SAME
    };
    Ok(same(features) && !same(rows))
}

/// What [`embedded`] will cost.
pub fn estimate_of_embedding(
    run: &RunFolder,
    source: &Source,
    at: &Environment,
) -> Result<Estimate> {
    needed(&run.model()?, &run.as_fitted(source)?, at)
}

fn needed(model: &Model, source: &Source, at: &Environment) -> Result<Estimate> {
    let shape = DataShape::of(source, at)?;
    let needed = match model {
        Model::Network(network) if source.is_images() => {
            let held = network.config.memory_to_embed() as f64;
            Estimate::new().stage(shape.decoding + held, 0.0)
        }
        // A map, or the two of a residual head.
        _ => {
            let products = 8.0 * shape.items * shape.columns * model.output_dim() as f64;
            shape.read().stage(0.0, products)
        }
    };
    let rows = 4.0 * shape.items * model.output_dim() as f64;
    Ok(needed.resident(rows))
}

/// A network that was trained reads the images themselves.
fn of_images(network: &Deep, source: &Source, at: &Environment) -> Result<Embedded> {
    let (images, ids) = Trained::open(source.path(), &network.config, at.max_memory)?;
    let all: Vec<usize> = (0..ids.len()).collect();
    let rows = network.embed_images(&images, &all, at.device, at.monitor)?;
    let items = ids.into_iter().map(|id| ItemRow {
        id,
        ..ItemRow::default()
    });
    Ok(Embedded {
        items: items.collect(),
        rows,
    })
}

/// The data with the view to use: the one asked for; else the run's, where the data have
/// several. Images have those of their encoder, which must be that of the run.
fn with_fitted_view(source: &Source, run: &Config, at: &Environment) -> Result<Source> {
    let fitted = run.view.as_str();
    if source.is_images() {
        let shape = source.with_view(None).shape(at)?;
        let mut given: Vec<&str> = shape.views.iter().map(|view| view.0.as_str()).collect();
        let named = given.join(", ");
        let mut wanted: Vec<&str> = fitted.split('+').collect();
        given.sort_unstable();
        wanted.sort_unstable();
        if given != wanted {
            let networks = run.encoder.iter().filter_map(|encoded| match encoded {
                Encoded::Network { file, .. } => Some(file.display().to_string()),
                Encoded::Descriptor { .. } => None,
            });
            let networks: Vec<String> = networks.collect();
            let by = match networks.join(", ").as_str() {
                "" => String::new(),
                files => format!(" by {files}"),
            };
            return Err(usage(format!(
                "{}: the run was fitted on view {fitted}{by}, these images give {named}; name no \
                 encoder, as the run knows its own, or the same one and side, squeezed or not",
                source.path().display(),
            )));
        }
    }
    let several = is_several(run);
    if let Some(asked) = &source.read_as().view {
        // In whatever order they are named, they are read in that of the fit.
        let set = |names: &str| names.split('+').map(str::to_owned).collect::<BTreeSet<_>>();
        let same = several && set(asked) == set(fitted);
        return Ok(source.with_view(Some(if same { fitted } else { asked }.to_owned())));
    }
    if several {
        let all = source.with_view(Some(fitted.to_owned()));
        let Err(lacking) = all.shape(at) else {
            return Ok(all);
        };
        // Those of all views side by side may be one array.
        return match source.shape(at)?.views.as_slice() {
            [(_, columns)] if *columns == run.dimensions => Ok(source.clone()),
            _ => Err(lacking),
        };
    }
    let shape = source.shape(at)?;
    let view = (shape.views.len() > 1).then(|| fitted.to_owned());
    Ok(source.with_view(view))
}

/// Whether a run was fitted on several views side by side. What one encoder made is one, whatever its name.
fn is_several(run: &Config) -> bool {
    run.encoder.len() != 1 && run.view.contains('+') && !run.view.split('+').any(str::is_empty)
}

/// Fails where one view is given for several and its rows are not these side by side, each of length 1.
fn check_joined(rows: ArrayView2<f32>, run: &Config, given: &str, place: &Path) -> Result<()> {
    let views = run.view.split('+').count() as f32;
    // What sees views apart reads them as they are, which no length tells.
    let apart = run.recipe.sees_views();
    // An item may lack views.
    let is_joined = |row: ArrayView1<f32>| {
        let present = row.dot(&row) * views;
        (present - present.round()).abs() < SAME * views && present < views + 0.5
    };
    if !apart && rows.rows().into_iter().all(is_joined) {
        return Ok(());
    }
    let written = if apart {
        ""
    } else {
        ", or what `likewise features` wrote of them in this order"
    };
    Err(usage(format!(
        "{}: its view {given} is not what the run was fitted on, which is {}, each of rows of its own; give them by these names, \
         such as the arrays of an .npz{written}",
        place.display(),
        run.view.replace('+', ", "),
    )))
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
