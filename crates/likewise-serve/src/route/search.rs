//! Search and embedding.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::HeaderMap;
use likewise::ErrorKind;
use likewise_study::across::{Ask, Way};
use likewise_study::query::Space;
use likewise_study::run_folder::Models;
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedSemaphorePermit;
use utoipa::{IntoParams, ToSchema};

use crate::answer::{Hit, Hits, not_yet};
use crate::app::App;
use crate::extract::{Asked, is_json, media_type, not_json, of_json, unread};
use crate::open::{Earlier, Engine, Of, One, Open};
use crate::problem::{Answered, Problem};

/// Most hits of a query.
const MOST: usize = 1000;
/// Hits of a query that does not say how many.
const USUAL: usize = 10;
/// What a query without an id is called.
const NAMELESS: &str = "query";

/// What asks: one of `id`, `vector`, `text`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    /// An item of the run.
    id: Option<String>,
    /// Features as the run was fitted on.
    vector: Option<Vec<f32>>,
    /// A text, in a run across views.
    text: Option<String>,
    /// Hits, 10 if not said.
    k: Option<usize>,
    /// The view of the query, in a run across views.
    from: Option<String>,
    /// The view that is searched, in a run across views.
    to: Option<String>,
    /// Whether to compare with every item where the index is approximate.
    #[serde(default)]
    exact: bool,
    /// Whether each hit comes with the whole item.
    #[serde(default)]
    items: bool,
    /// An earlier model.
    model: Option<u32>,
    /// In what an item is compared: of the model, if not said.
    space: Option<SpaceName>,
}

/// In what items are compared.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SpaceName {
    /// The features as they are.
    Raw,
    /// The features, whitened without any label.
    Whitened,
}

impl From<SpaceName> for Space {
    fn from(name: SpaceName) -> Self {
        match name {
            SpaceName::Raw => Self::Raw,
            SpaceName::Whitened => Self::Whitened,
        }
    }
}

/// How an image asks.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ByImage {
    /// Hits of an image, 10 if not said.
    k: Option<usize>,
    /// Whether each hit of an image comes with the whole item.
    #[serde(default)]
    items: bool,
}

enum Query {
    Id(String),
    Vector(Vec<f32>),
    Text(String),
    Image { bytes: Bytes, kind: String },
}

impl Search {
    fn query(&mut self) -> Answered<Query> {
        match (self.id.take(), self.vector.take(), self.text.take()) {
            (Some(id), None, None) => Ok(Query::Id(id)),
            (None, Some(vector), None) => Ok(Query::Vector(vector)),
            (None, None, Some(text)) => Ok(Query::Text(text)),
            _ => Err(Problem::bad("ask with one of id, vector and text")),
        }
    }
}

/// The body: JSON, or an image.
fn read(
    headers: &HeaderMap,
    asked: &ByImage,
    body: Result<Bytes, BytesRejection>,
) -> Answered<(Query, Search)> {
    let bytes = body.map_err(|e| unread(&e))?;
    if is_json(headers) {
        if asked.k.is_some() || asked.items {
            return Err(Problem::bad(
                "k and items stand in the body, beside what asks",
            ));
        }
        let mut search: Search = of_json(&bytes)?;
        return Ok((search.query()?, search));
    }
    match media_type(headers).filter(|kind| kind.starts_with("image/")) {
        Some(kind) if !bytes.is_empty() => {
            let search = Search {
                k: asked.k,
                items: asked.items,
                ..Search::default()
            };
            Ok((Query::Image { bytes, kind }, search))
        }
        Some(_) => Err(Problem::bad("the image is empty")),
        None => Err(not_json()),
    }
}

/// The items that are most similar to an item, a vector, a text or an image.
#[utoipa::path(post, path = "/search", params(ByImage), request_body(content(
        (Search = "application/json", example = json!({"id": "42", "k": 3})),
        (Vec<u8> = "image/*")
    )), responses((status = 200, body = Hits), (status = 400, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn search(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Asked(asked): Asked<ByImage>,
    body: Result<Bytes, BytesRejection>,
) -> Answered<Json<Hits>> {
    let (query, search) = read(&headers, &asked, body)?;
    let k = search.k.unwrap_or(USUAL);
    if !(1..=MOST).contains(&k) {
        return Err(Problem::bad(format!("k = {k}: must be from 1 to {MOST}")));
    }
    let place = place_of(&app, &query).await?;
    let work = move |app: &App, open: &Open| {
        // Held until it is decoded, also where nobody waits any more.
        let _place = place;
        answer(app, open, query, &search, k)
    };
    app.work(work).await.map(Json)
}

/// The place that an image needs.
async fn place_of(app: &App, query: &Query) -> Answered<Option<OwnedSemaphorePermit>> {
    match query {
        Query::Image { .. } => app.place_of_image().await.map(Some),
        _ => Ok(None),
    }
}

fn answer(app: &App, open: &Open, query: Query, search: &Search, k: usize) -> Answered<Hits> {
    let way = Way {
        from: search.from.clone(),
        to: search.to.clone(),
        asymmetric: false,
    };
    let mut hits = match &open.of {
        Of::One(_) if way != Way::default() => {
            return Err(Problem::bad(
                "from and to go with a run across views, and this is none",
            ));
        }
        Of::One(one) => within(app, open, one, query, search, k)?,
        Of::Across(run) => {
            if search.model.is_some() {
                return Err(Problem::conflict(
                    "a run across views keeps no earlier models",
                ));
            }
            if search.space.is_some() {
                return Err(Problem::conflict(
                    "a run across views has no features that are searched as they are",
                ));
            }
            let means = app.quiet();
            let answer = match query {
                Query::Id(id) => {
                    open.items.row(&id).ok_or_else(|| Problem::no_item(&id))?;
                    Open::search_across(run, &Ask::Query(&Open::by_id(&id)), &way, k, &means)?
                }
                Query::Text(text) => Open::search_across(run, &Ask::Text(&text), &way, k, &means)?,
                Query::Vector(_) | Query::Image { .. } => {
                    return Err(Problem::conflict(
                        "a run across views is asked by id or text",
                    ));
                }
            };
            Hits::from(answer)
        }
    };
    if search.items {
        with_items(open, &mut hits.hits)?;
    }
    Ok(hits)
}

fn with_items(open: &Open, hits: &mut [Hit]) -> Answered<()> {
    let rows = hits.iter().filter_map(|hit| open.items.row(&hit.id));
    let items = open.items_now(rows.collect::<Vec<_>>())?;
    for (hit, item) in hits.iter_mut().zip(items) {
        hit.item = Some(item);
    }
    Ok(())
}

/// In a run within one view.
fn within(
    app: &App,
    open: &Open,
    one: &One,
    query: Query,
    search: &Search,
    k: usize,
) -> Answered<Hits> {
    let (name, own) = match &query {
        Query::Id(id) => {
            let row = open.items.row(id).ok_or_else(|| Problem::no_item(id))?;
            (id.clone(), Some(row))
        }
        _ => (NAMELESS.to_owned(), None),
    };
    // An item that asks finds itself first; one more makes up for it.
    let wanted = k.min(open.items.rows().len()) + usize::from(own.is_some());
    let quiet = app.monitor().quiet();
    let hits = if let Some(space) = search.space {
        let (Some(own), None) = (own, search.model) else {
            return Err(Problem::bad("space goes with id, and without model"));
        };
        let before = one.before(&app.quiet()).map_err(no_features)?;
        let hits = before.search(space.into(), own, wanted, &quiet)?;
        hits.ok_or_else(|| Problem::conflict(format!("the data of the run do not hold {name}")))?
    } else {
        let earlier = match search.model.filter(|&number| number != open.number) {
            None => None,
            Some(number) => Some(earlier(app, open, number)?),
        };
        let engine = earlier.as_ref().map_or(&one.engine, |kept| &kept.engine);
        let rows = asking(app, open, engine, query, own)?;
        let hits = engine
            .searched
            .search(rows.view(), wanted, search.exact, &quiet)?;
        hits.into_iter().next().unwrap_or_default()
    };
    let answer = open.look(|shown| shown.answer(name, &hits, own, k));
    Ok(Hits::from(answer.ok_or_else(not_yet)?))
}

/// Why the items cannot be compared by their features: with this run, unless there is no room just now.
fn no_features(e: likewise::Error) -> Problem {
    match e.kind() {
        ErrorKind::Memory | ErrorKind::Cancelled => Problem::from(e),
        _ => Problem::conflict(e.to_string()),
    }
}

/// A model that is kept, of the same items.
fn earlier(app: &App, open: &Open, number: u32) -> Answered<Arc<Earlier>> {
    let kept = app.refits.opened(number, || {
        let folder = Models::of(&app.run).folder(number);
        if !folder.exists() {
            return Err(Problem::missing(format!("there is no model {number}")));
        }
        Ok(Earlier::read(&folder)?)
    })?;
    let same = kept.items.rows().len() == open.items.rows().len()
        && (kept.items.rows().iter().zip(open.items.rows())).all(|(a, b)| a.id == b.id);
    if !same {
        return Err(Problem::conflict(format!(
            "model {number} is of other items"
        )));
    }
    Ok(kept)
}

/// The embedding of what asks.
fn asking(
    app: &App,
    open: &Open,
    engine: &Engine,
    query: Query,
    own: Option<usize>,
) -> Answered<Array2<f32>> {
    match query {
        Query::Id(id) => match own {
            Some(row) => Ok(engine.searched.row(row)),
            None => Err(Problem::no_item(&id)),
        },
        Query::Vector(vector) => {
            let columns = engine.columns();
            if vector.len() != columns {
                return Err(Problem::bad(format!(
                    "the vector has {} values, the run was fitted on {columns}",
                    vector.len()
                )));
            }
            let x = Array2::from_shape_vec((1, columns), vector);
            let x = x.map_err(|e| Problem::bad(format!("vector: {e}")))?;
            Ok(engine.embed(x.view(), &app.quiet())?)
        }
        Query::Image { .. } if !open.takes_images() => Err(Problem::conflict(
            "this run was fitted on features, and nothing here makes features of an image",
        )
        .hint(format!(
            "ask by the id of an item, or by a vector of {} values",
            engine.columns()
        ))),
        Query::Image { bytes, kind } => engine.embed_image(&bytes, &kind, &app.quiet()),
        Query::Text(_) => Err(Problem::conflict(
            "texts can ask in a run across views with a view of texts, and this is none",
        )),
    }
}

/// What is embedded: one of `id`, `vector`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Embed {
    /// An item of the run.
    id: Option<String>,
    /// Features as the run was fitted on.
    vector: Option<Vec<f32>>,
    /// Not embedded: texts have no features.
    text: Option<String>,
}

/// An embedding.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Embedding {
    embedding: Vec<f32>,
}

/// Nothing may stand behind the path.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// The embedding of an item, a vector or an image.
#[utoipa::path(post, path = "/embed", request_body(content(
        (Embed = "application/json", example = json!({"id": "42"})),
        (Vec<u8> = "image/*")
    )), responses((status = 200, body = Embedding), (status = 400, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn embed(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Asked(Nothing {}): Asked<Nothing>,
    body: Result<Bytes, BytesRejection>,
) -> Answered<Json<Embedding>> {
    let query = if is_json(&headers) {
        let embed: Embed = of_json(&body.map_err(|e| unread(&e))?)?;
        let mut search = Search {
            id: embed.id,
            vector: embed.vector,
            text: embed.text,
            ..Search::default()
        };
        search.query()?
    } else {
        let asked = ByImage {
            k: None,
            items: false,
        };
        read(&headers, &asked, body)?.0
    };
    let place = place_of(&app, &query).await?;
    let work = move |app: &App, open: &Open| {
        let _place = place;
        let one = open
            .one_view()
            .ok_or_else(|| Problem::conflict("a run across views has no embeddings of one kind"))?;
        let own = match &query {
            Query::Id(id) => open.items.row(id),
            _ => None,
        };
        let row = asking(app, open, &one.engine, query, own)?;
        Ok(Embedding {
            embedding: row.into_iter().collect(),
        })
    };
    app.work(work).await.map(Json)
}
