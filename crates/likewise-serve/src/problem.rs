//! What went wrong with a request: a state, what is wrong, and what to do.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use likewise::ErrorKind;
use likewise::error::Hint;
use serde::Serialize;
use utoipa::ToSchema;

/// The answer to a request that failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Problem {
    #[serde(skip)]
    pub(crate) status: StatusCode,
    /// What is wrong.
    #[schema(example = "the run has no item with id \"x\"")]
    pub(crate) error: String,
    /// What to do.
    pub(crate) hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self {
            status,
            error: error.into(),
            hint: None,
        }
    }

    /// The request is wrong.
    pub(crate) fn bad(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    /// What is asked for is not there.
    pub(crate) fn missing(error: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, error)
    }

    /// There is no item of this id.
    pub(crate) fn no_item(id: &str) -> Self {
        Self::missing(format!("the run has no item with id \"{id}\""))
            .hint("ask GET /items for the ids")
    }

    /// Not now, or not with this run.
    pub(crate) fn conflict(error: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, error)
    }

    /// Too much at once.
    pub(crate) fn busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "too many requests at once")
            .hint("ask again in a second")
    }

    /// A fault of the server.
    pub(crate) fn internal(error: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<likewise::Error> for Problem {
    fn from(e: likewise::Error) -> Self {
        let status = match e.kind() {
            ErrorKind::Parameter | ErrorKind::Data => StatusCode::BAD_REQUEST,
            ErrorKind::Memory | ErrorKind::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self {
            status,
            error: e.to_string(),
            hint: e.what_to_do().map(|hint| in_words(hint).to_owned()),
        }
    }
}

fn in_words(hint: Hint) -> &'static str {
    match hint {
        Hint::BuildNetworks => "serve the run by a program that was built with networks",
        Hint::NameEncoder | Hint::GiveEncoder => {
            "put the file of the encoder where the fit found it"
        }
        Hint::GiveLabels => "label some items first",
        Hint::LimitMemory => "start the server with more memory",
        Hint::Index | Hint::Fit | Hint::Unfinished => "fit the run again",
        _ => "see docs/serve.md",
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status;
        let mut response = (status, Json(self)).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let again = axum::http::HeaderValue::from_static("1");
            response.headers_mut().insert(header::RETRY_AFTER, again);
        }
        response
    }
}

/// The answer to a request, or what went wrong.
pub(crate) type Answered<T> = Result<T, Problem>;
