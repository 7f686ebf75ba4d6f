//! What can be asked: one file a kind of thing.

mod advise;
mod classes;
mod items;
mod labels;
mod map;
mod models;
mod queue;
mod report;
mod run;
mod search;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use axum::{Json, Router};
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{ContentBuilder, Ref, ResponseBuilder};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::front::front;
use crate::page;
use crate::problem::Problem;

/// Most bytes of a body of JSON.
const BODY: usize = 1 << 20;
/// Most bytes of an image, or of a vector, that asks.
const IMAGE: usize = 32 << 20;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "likewise serve",
        description = "Search in a run, label its items, and fit it again. Every error is \
                       {\"error\", \"hint\"}."
    ),
    components(schemas(Problem)),
    modifiers(&Tokens)
)]
struct Described;

/// How a request says the token, where the server asks for one.
struct Tokens;

impl Modify for Tokens {
    fn modify(&self, described: &mut utoipa::openapi::OpenApi) {
        let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let cookie = ApiKeyValue::with_description(
            "likewise_PORT",
            "set by `/?token=TOKEN`; PORT is that of the server",
        );
        let cookie = SecurityScheme::ApiKey(ApiKey::Cookie(cookie));
        let components = described.components.get_or_insert_default();
        components.add_security_scheme("bearer", bearer);
        components.add_security_scheme("cookie", cookie);
        // At this machine alone none is needed.
        let none = SecurityRequirement::default();
        let one = |name: &str| SecurityRequirement::new::<_, [&str; 0], &str>(name, []);
        described.security = Some(vec![none, one("bearer"), one("cookie")]);
    }
}

/// What any request may be told, whatever it asks: it is refused, too large, too long or one too many.
const EVERYWHERE: [(StatusCode, &str); 6] = [
    (StatusCode::UNAUTHORIZED, "the token is missing or wrong"),
    (
        StatusCode::FORBIDDEN,
        "asked by another page, or under another name",
    ),
    (StatusCode::REQUEST_TIMEOUT, "this took too long"),
    (StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"),
    (
        StatusCode::INTERNAL_SERVER_ERROR,
        "a fault of the server, or of its disk",
    ),
    (StatusCode::SERVICE_UNAVAILABLE, "too much at once"),
];
/// What whoever sends a body may be told as well.
const OF_BODIES: (StatusCode, &str) = (
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    "the body is not of a kind that is read",
);

/// Adds to every request what any of them may be told.
fn with_common_errors(mut described: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    for path in described.paths.paths.values_mut() {
        let each = [
            &mut path.get,
            &mut path.post,
            &mut path.delete,
            &mut path.put,
        ];
        for operation in each.into_iter().flatten() {
            let of_bodies = operation.request_body.is_some().then_some(OF_BODIES);
            for (status, why) in EVERYWHERE.into_iter().chain(of_bodies) {
                let of_problem = ContentBuilder::new()
                    .schema(Some(Ref::from_schema_name("Problem")))
                    .build();
                let response = ResponseBuilder::new()
                    .description(why)
                    .content("application/json", of_problem)
                    .build();
                let listed = &mut operation.responses.responses;
                listed
                    .entry(status.as_str().to_owned())
                    .or_insert(response.into());
            }
        }
    }
    described
}

/// Everything that can be asked.
pub(crate) fn router(app: Arc<App>) -> Router {
    let asking = OpenApiRouter::new()
        .routes(routes!(search::search))
        .routes(routes!(search::embed))
        .layer(DefaultBodyLimit::max(IMAGE));
    let (router, described) = OpenApiRouter::with_openapi(Described::openapi())
        .routes(routes!(run::run))
        .routes(routes!(run::healthz))
        .routes(routes!(run::metrics))
        .routes(routes!(run::events))
        .routes(routes!(items::items))
        .routes(routes!(items::item))
        .routes(routes!(items::image))
        .routes(routes!(labels::label))
        .routes(routes!(labels::undo))
        .routes(routes!(labels::csv))
        .routes(routes!(classes::classes, classes::change))
        .routes(routes!(queue::queue))
        .routes(routes!(advise::advise))
        .routes(routes!(models::refit_state, models::refit))
        .routes(routes!(models::cancel))
        .routes(routes!(models::models))
        .routes(routes!(models::restore))
        .routes(routes!(map::map))
        .routes(routes!(report::report))
        .routes(routes!(report::page))
        .layer(DefaultBodyLimit::max(BODY))
        .merge(asking)
        .split_for_parts();
    let described = with_common_errors(described);
    router
        .route(
            "/openapi.json",
            get(move || std::future::ready(Json(described.clone()))),
        )
        .route("/", get(page::index))
        .route("/page/{name}", get(page::part))
        .fallback(|| async { Problem::missing("there is nothing here").hint("see /openapi.json") })
        .method_not_allowed_fallback(|| async {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this cannot be asked so")
                .hint("see /openapi.json")
        })
        .layer(from_fn_with_state(app.clone(), front))
        .with_state(app)
}
