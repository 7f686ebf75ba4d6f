//! The page, which is a part of the program.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use include_dir::{Dir, include_dir};
use serde::Deserialize;

use crate::app::App;
use crate::extract::{Asked, Named};
use crate::problem::{Answered, Problem};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/page/app");

/// What may stand behind the path of the page.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entrance {
    token: Option<String>,
}

/// `GET /`: the page; with the token, the cookie that lets the browser in.
pub(crate) async fn index(
    State(app): State<Arc<App>>,
    Asked(entrance): Asked<Entrance>,
    headers: HeaderMap,
) -> Answered<Response> {
    let Some(token) = entrance.token else {
        return file("index.html", &headers);
    };
    if !app.guard.is_token(&token) {
        return Err(
            Problem::new(StatusCode::UNAUTHORIZED, "this is not the token")
                .hint("open the address that the program printed, with its token"),
        );
    }
    // On to an address without the token, which nobody need see.
    let to = [
        (header::LOCATION, "/".to_owned()),
        (header::SET_COOKIE, app.guard.set_cookie(&token)),
    ];
    Ok((StatusCode::SEE_OTHER, to).into_response())
}

/// `GET /page/NAME`.
pub(crate) async fn part(Named(name): Named<String>, headers: HeaderMap) -> Answered<Response> {
    file(&name, &headers)
}

fn file(name: &str, asked: &HeaderMap) -> Answered<Response> {
    let missing = || Problem::missing("the page has no such file");
    let file = FILES.get_file(name).ok_or_else(missing)?;
    let kind = media_type(name).ok_or_else(missing)?;
    let mark = format!(
        "\"{}\"",
        &likewise_io::digest_parts([file.contents()])[..16]
    );
    let head = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
        (header::ETAG, mark.clone()),
    ];
    if asked
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| *known == *mark)
    {
        return Ok((StatusCode::NOT_MODIFIED, head).into_response());
    }
    Ok((head, file.contents()).into_response())
}

fn media_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" | "map" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        "wasm" => "application/wasm",
        "woff2" => "font/woff2",
        _ => return None,
    })
}
