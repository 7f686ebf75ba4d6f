//! What a request says, read strictly: unknown fields are errors, and all errors are JSON.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// A body of JSON.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            return Err(not_json());
        }
        let bytes = Bytes::from_request(request, state).await;
        of_json(&bytes.map_err(|e| unread(&e))?).map(Self)
    }
}

/// Values of JSON, in the words of the field that is wrong.
pub(crate) fn of_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // A list would be read as the fields in their order, which nobody means.
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(Problem::bad("the body is not a JSON object")
            .hint("GET /openapi.json describes every request"));
    }
    let read = &mut serde_json::Deserializer::from_slice(bytes);
    let found = serde_path_to_error::deserialize(&mut *read).map_err(|e| e.to_string());
    let found = found.and_then(|found| match read.end() {
        Ok(()) => Ok(found),
        Err(e) => Err(e.to_string()),
    });
    found.map_err(|said| {
        let said = format!("the body is not as it should be: {}", in_words(&said));
        Problem::bad(said).hint("GET /openapi.json describes every request")
    })
}

/// What readers say of values, without the types of the program.
fn in_words(said: &str) -> String {
    const WHOLE: &str = "a whole number of 0 or more";
    let words = [
        ("expected usize", format!("expected {WHOLE}")),
        ("expected u32", format!("expected {WHOLE}")),
        ("expected u64", format!("expected {WHOLE}")),
        ("expected f32", "expected a number".to_owned()),
        ("expected f64", "expected a number".to_owned()),
        ("invalid digit found in string", format!("must be {WHOLE}")),
        (
            "cannot parse integer from empty string",
            format!("must be {WHOLE}"),
        ),
        (
            "number too large to fit in target type",
            "is too large".to_owned(),
        ),
        ("invalid float literal", "must be a number".to_owned()),
        (
            "provided string was not `true` or `false`",
            "must be true or false".to_owned(),
        ),
    ];
    (words.iter()).fold(said.to_owned(), |said, (of_type, word)| {
        said.replace(of_type, word)
    })
}

/// Whether the body says that it is JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    media_type(headers).is_some_and(|kind| kind == "application/json")
}

/// The type of the body, without its parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let kind = text.split(';').next()?;
    Some(kind.trim().to_ascii_lowercase())
}

pub(crate) fn not_json() -> Problem {
    let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    Problem::new(status, "the body is not JSON").hint("send Content-Type: application/json")
}

/// A body that could not be read.
pub(crate) fn unread(e: &BytesRejection) -> Problem {
    if e.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return Problem::new(e.status(), "the body is too large");
    }
    Problem::bad("the body could not be read to its end")
}

/// The parameters behind the path.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let read = Query::try_from_uri(&parts.uri);
        let Query(asked) = read.map_err(|e| {
            Problem::bad(format!(
                "the parameters of the address are wrong: {}",
                in_words(&inner(&e))
            ))
        })?;
        Ok(Self(asked))
    }
}

/// The part of the path that varies.
pub(crate) struct Named<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(named)) => Ok(Self(named)),
            Err(_) => Err(Problem::missing("there is nothing of this name")),
        }
    }
}

/// What is below the words of the framework.
fn inner(e: &dyn std::error::Error) -> String {
    match e.source() {
        Some(below) => inner(below),
        None => e.to_string(),
    }
}

/// Who changes something: a name of up to 100 letters.
pub(crate) fn checked(who: Option<String>) -> Result<Option<String>, Problem> {
    match who {
        Some(name) if !likewise_study::plain::is_shown(&name) => {
            Err(Problem::bad("who holds letters that nobody sees"))
        }
        Some(name) if name.chars().count() > 100 => {
            Err(Problem::bad("who is longer than 100 letters"))
        }
        Some(name) if name.is_empty() => Ok(None),
        who => Ok(who),
    }
}
