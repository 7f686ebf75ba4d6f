//! The report of the run.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::app::App;

/// The report has styles and pictures of its own, and may do nothing else.
const POLICY: &str =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'";

/// What was measured of the run: its `metrics.json`.
#[utoipa::path(get, path = "/report", responses((status = 200, body = Object)))]
pub(crate) async fn report(State(app): State<Arc<App>>) -> impl IntoResponse {
    let head = [(header::CONTENT_TYPE, "application/json")];
    (head, app.open().metrics.clone())
}

/// The report of the run as a page.
#[utoipa::path(get, path = "/report.html", responses((status = 200, body = String, content_type = "text/html")))]
pub(crate) async fn page(State(app): State<Arc<App>>) -> impl IntoResponse {
    let head = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    (head, app.open().report.clone())
}
