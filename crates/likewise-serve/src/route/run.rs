//! The run that answers, and how the server is.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use likewise::Similarity;
use likewise::index::Kind;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::problem::{Answered, Problem};
use crate::refit;

/// The run that answers.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Run {
    /// The name of its folder.
    name: String,
    /// Tells its data and its folder from others: labels that were not sent are kept by it.
    data: String,
    items: usize,
    /// Columns of a vector that can ask.
    dimensions: usize,
    /// The view that it was fitted on.
    view: String,
    /// The name of its recipe.
    recipe: String,
    /// How items compare.
    similarity: &'static str,
    /// How they are found: `flat` or `hnsw`.
    index: &'static str,
    /// Views, of a run across views.
    views: Vec<String>,
    /// Whether items have pictures.
    images: bool,
    /// How `/search` can be asked.
    takes: Vec<&'static str>,
    /// Whether labels can be given.
    labels: bool,
    /// Why the run cannot be fitted again with its labels; null where it can.
    no_refit: Option<Problem>,
    /// Number of the model.
    model: u32,
    /// The last entry of the journal.
    sequence: u64,
    version: &'static str,
}

impl Run {
    pub(crate) fn of(app: &App) -> Self {
        let open = app.open();
        let one = open.one_view();
        let folder = app.run.canonicalize().ok();
        let folder = folder.as_deref().unwrap_or(&app.run);
        let name = folder.file_name();
        // Labels that are added change the rest.
        let read = open
            .record
            .data_sha256
            .split(';')
            .next()
            .unwrap_or_default();
        let data = likewise_io::digest_parts([read, &*folder.to_string_lossy()]);
        let mut takes = vec!["id"];
        takes.push(if one.is_some() { "vector" } else { "text" });
        if open.takes_images() {
            takes.push("image");
        }
        Self {
            name: name.map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            data: data[..16].to_owned(),
            items: open.items.rows().len(),
            dimensions: one.map_or(open.config.dimensions, |one| one.engine.columns()),
            view: open.config.view.clone(),
            recipe: open.config.recipe.name.clone(),
            similarity: one.map_or("across", |one| match one.engine.similarity() {
                Similarity::Cosine => "cosine",
                Similarity::Euclidean => "euclidean",
                _ => "learned",
            }),
            index: one.map_or("flat", |one| match one.engine.searched.kind() {
                Kind::Flat => "flat",
                Kind::Hnsw => "hnsw",
            }),
            views: open.views().to_vec(),
            images: open.photos.is_some(),
            takes,
            labels: one.is_some(),
            no_refit: refit::refused(app, &open),
            model: open.number,
            sequence: open
                .look(likewise_study::live::Shown::sequence)
                .unwrap_or(0),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// The run that answers.
#[utoipa::path(get, path = "/run", responses((status = 200, body = Run)))]
pub(crate) async fn run(State(app): State<Arc<App>>) -> Json<Run> {
    Json(Run::of(&app))
}

/// How the server is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    #[schema(example = "ok")]
    status: &'static str,
    model: u32,
    sequence: u64,
}

/// Whether the server answers, and can write labels.
#[utoipa::path(get, path = "/healthz", responses((status = 200, body = Health), (status = 503, body = Problem)))]
pub(crate) async fn healthz(State(app): State<Arc<App>>) -> Answered<Json<Health>> {
    if let Some(fault) = app.takes_no_labels() {
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, fault);
        return Err(problem.hint("labels that were acknowledged stand in the journal"));
    }
    let open = app.open();
    Ok(Json(Health {
        status: "ok",
        model: open.number,
        sequence: open
            .look(likewise_study::live::Shown::sequence)
            .unwrap_or(0),
    }))
}

/// What is counted, for Prometheus.
#[utoipa::path(get, path = "/metrics", responses((status = 200, body = String, content_type = "text/plain")))]
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Answered<impl IntoResponse> {
    let open = app.open();
    let sequence = open
        .look(likewise_study::live::Shown::sequence)
        .unwrap_or(0);
    let listeners = app.events.listeners();
    let text = app
        .meters
        .text(open.items.rows().len(), sequence, listeners);
    let text = text.ok_or_else(|| Problem::internal("the numbers cannot be written"))?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text))
}

/// What happens, as it happens: `hello`, `label`, `refit`, `model`, `lagged`.
#[utoipa::path(get, path = "/events", responses((status = 200, body = String, content_type = "text/event-stream"), (status = 503, body = Problem)))]
pub(crate) async fn events(State(app): State<Arc<App>>) -> Answered<impl IntoResponse> {
    let hello = || serde_json::to_string(&Run::of(&app)).unwrap_or_default();
    app.events.listen(&hello).ok_or_else(Problem::busy)
}
