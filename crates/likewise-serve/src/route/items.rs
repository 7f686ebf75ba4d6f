//! The items of the run.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use likewise_study::live::Sorted;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{ItemNow, ItemWhy, not_yet};
use crate::app::App;
use crate::command::Command;
use crate::extract::{Asked, Named};
use crate::picture;
use crate::problem::{Answered, Problem};

/// Most items of an answer.
const MOST: usize = 1000;

/// Which items, and how many.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    /// Items that are left out at the beginning.
    #[serde(default)]
    offset: usize,
    /// Most items, 100 if not said.
    limit: Option<usize>,
    /// Those of this label, `outside` too.
    label: Option<String>,
    /// Those of this label, or believed to be of it where they have none.
    class: Option<String>,
    /// Those of this part of the split.
    split: Option<String>,
    /// Those whose id holds this.
    text: Option<String>,
    /// Those with a label, or without.
    labeled: Option<bool>,
}

/// Some of the items.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Items {
    /// How many match in all.
    total: usize,
    offset: usize,
    limit: usize,
    items: Vec<ItemNow>,
}

/// The items of the run, page by page.
#[utoipa::path(get, path = "/items", params(Page), responses((status = 200, body = Items), (status = 400, body = Problem)))]
pub(crate) async fn items(
    State(app): State<Arc<App>>,
    Asked(page): Asked<Page>,
) -> Answered<Json<Items>> {
    let limit = page.limit.unwrap_or(100);
    if !(1..=MOST).contains(&limit) {
        return Err(Problem::bad(format!(
            "limit = {limit}: must be from 1 to {MOST}"
        )));
    }
    let work = move |_: &App, open: &crate::open::Open| {
        let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let (label, class) = (said(&page.label), said(&page.class));
        let (split, text) = (said(&page.split), said(&page.text));
        let sorted = Sorted {
            label: label.as_deref(),
            class: class.as_deref(),
            split: split.as_deref(),
            text: text.as_deref(),
            labeled: page.labeled,
        };
        let rows = open.look(|shown| shown.rows(&sorted)).ok_or_else(not_yet)?;
        let shown = rows.iter().skip(page.offset).take(limit).copied();
        Ok(Items {
            total: rows.len(),
            offset: page.offset,
            limit,
            items: open.items_now(shown)?,
        })
    };
    app.work(work).await.map(Json)
}

/// An item, and why it is believed to be what it is.
#[utoipa::path(get, path = "/items/{id}", params(("id" = String, Path)), responses((status = 200, body = ItemWhy), (status = 404, body = Problem)))]
pub(crate) async fn item(
    State(app): State<Arc<App>>,
    Named(id): Named<String>,
) -> Answered<Json<ItemWhy>> {
    let open = app.open();
    let row = open.items.row(&id).ok_or_else(|| Problem::no_item(&id))?;
    let run = open.serial;
    let why = (app.ask(|reply| Command::Why { run, row, reply })).await?;
    let item = open.items_now([row])?.swap_remove(0);
    Ok(Json(ItemWhy { item, why }))
}

/// How large a picture.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edge {
    /// Longest edge in pixels, 128 if not said.
    edge: Option<usize>,
}

/// The picture of an item, where its data are images that are still there, of 40 million pixels at most.
#[utoipa::path(get, path = "/items/{id}/image", params(("id" = String, Path), Edge), responses((status = 200, body = Vec<u8>, content_type = "image/png"), (status = 404, body = Problem)))]
pub(crate) async fn image(
    State(app): State<Arc<App>>,
    Named(id): Named<String>,
    Asked(Edge { edge }): Asked<Edge>,
    headers: HeaderMap,
) -> Answered<Response> {
    let edge = edge.unwrap_or(128);
    if !(16..=1024).contains(&edge) {
        return Err(Problem::bad(format!(
            "edge = {edge}: must be from 16 to 1024"
        )));
    }
    let open = app.open();
    open.items.row(&id).ok_or_else(|| Problem::no_item(&id))?;
    let mark = [open.record.data_sha256.as_str(), &id, &edge.to_string()].join("\n");
    let mark = format!("\"{}\"", &likewise_io::digest_parts([mark])[..16]);
    let head = [
        (header::CONTENT_TYPE, "image/png".to_owned()),
        (header::CACHE_CONTROL, "private, max-age=3600".to_owned()),
        (header::ETAG, mark.clone()),
    ];
    if headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| *known == *mark)
    {
        return Ok((StatusCode::NOT_MODIFIED, head).into_response());
    }
    let place = app.place_of_picture().await?;
    let small = app.work(move |_, open| {
        // Held until it is decoded, also where nobody waits any more.
        let _place = place;
        let missing = || Problem::missing("the items of this run have no pictures");
        picture::small(open.photos.as_ref().ok_or_else(missing)?, &id, edge)
    });
    Ok((head, small.await?).into_response())
}
