//! What stands before every route: who asks, how much at once, how long; and the headers of all answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::problem::Problem;

/// How long the work on one request may take.
const LONGEST: Duration = Duration::from_secs(30);

/// What scripts, styles and pictures the page may have: our own.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; frame-src 'self'";

/// Answers, or says why not.
pub(crate) async fn front(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = known(request.method());
    let path = request.extensions().get::<MatchedPath>();
    let path = path.map_or("(other)", MatchedPath::as_str).to_owned();
    let mut response = match app.guard.check(&request) {
        Err(problem) => problem.into_response(),
        Ok(()) => within_limits(&app, request, next).await,
    };
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    for (name, value) in [
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        (
            "permissions-policy",
            "camera=(), geolocation=(), microphone=()",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let status = response.status().as_u16();
    app.meters.asked(method, &path, status, begun.elapsed());
    response
}

/// The method of a request as it is counted: anybody can send any word.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        _ => "other",
    }
}

async fn within_limits(app: &App, request: Request, next: Next) -> Response {
    // Who asks how the server is must hear that it is busy, and not that it is gone.
    let is_asked_after = request.uri().path() == "/healthz";
    let permit = app.at_once.try_acquire();
    if permit.is_err() && !is_asked_after {
        return Problem::busy().into_response();
    }
    if let Ok(response) = tokio::time::timeout(LONGEST, next.run(request)).await {
        response
    } else {
        let status = StatusCode::REQUEST_TIMEOUT;
        let problem = Problem::new(status, "this took too long");
        problem
            .hint("ask again, or for less at once; a change that had begun is made all the same, and /run tells the last one")
            .into_response()
    }
}
