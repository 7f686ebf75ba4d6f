//! Labels: given, taken away, taken back, and all of them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use likewise_study::live::Shown;
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use crate::answer::{Changed, not_yet};
use crate::app::App;
use crate::command::Command;
use crate::extract::{Body, checked};
use crate::problem::{Answered, Problem};

/// Most items that are labeled at once.
const MOST: usize = 10_000;

/// A label for an item, or for several.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Label {
    /// The item.
    id: Option<String>,
    /// Or several.
    ids: Option<Vec<String>>,
    /// A class, `outside` for none of them, or null for no label.
    #[serde(deserialize_with = "said")]
    #[schema(value_type = Option<String>, required)]
    label: Option<String>,
    /// Who says so.
    who: Option<String>,
}

/// A value that may be null, but must be there.
fn said<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(from)
}

/// Gives items a label, or takes it away. The answer comes when that is on the disk.
#[utoipa::path(post, path = "/label", request_body(content = Label, example = json!({"id": "42", "label": "3"})), responses((status = 200, body = Changed), (status = 400, body = Problem), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn label(
    State(app): State<Arc<App>>,
    Body(asked): Body<Label>,
) -> Answered<Json<Changed>> {
    let ids = match (asked.id, asked.ids) {
        (Some(id), None) => vec![id],
        (None, Some(ids)) if !ids.is_empty() => ids,
        _ => return Err(Problem::bad("name the item by id, or several by ids")),
    };
    if ids.len() > MOST {
        let said = format!("{} items: at most {MOST} are labeled at once", ids.len());
        return Err(Problem::bad(said));
    }
    let (label, who) = (asked.label, checked(asked.who)?);
    let done = app.ask(|reply| Command::Label {
        ids,
        label,
        who,
        reply,
    });
    done.await.map(Json)
}

/// What is taken back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undo {
    /// Whose last change; if not said, the last of all.
    who: Option<String>,
}

/// Takes back the last change that was not taken back yet.
#[utoipa::path(post, path = "/undo", request_body(content = Undo, example = json!({})), responses((status = 200, body = Changed), (status = 400, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn undo(
    State(app): State<Arc<App>>,
    Body(Undo { who }): Body<Undo>,
) -> Answered<Json<Changed>> {
    let who = checked(who)?;
    let done = app.ask(|reply| Command::Undo { who, reply });
    done.await.map(Json)
}

/// `id,label` of all items with a label.
#[utoipa::path(get, path = "/labels.csv", responses((status = 200, body = String, content_type = "text/csv")))]
pub(crate) async fn csv(State(app): State<Arc<App>>) -> Answered<impl IntoResponse> {
    let work = |_: &App, open: &crate::open::Open| open.look(Shown::csv).ok_or_else(not_yet);
    let head = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"labels.csv\"",
        ),
    ];
    Ok((head, app.work(work).await?))
}
