//! The classes: which there are, and changes to them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::answer::{Changed, ClassNow, not_yet};
use crate::app::App;
use crate::command::{ClassChange, Command};
use crate::extract::{Body, checked};
use crate::open::Open;
use crate::problem::{Answered, Problem};

/// All classes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Classes {
    /// The last entry of the journal.
    sequence: u64,
    /// Items that are known to be none of them.
    outside: usize,
    classes: Vec<ClassNow>,
}

fn now(open: &Open) -> Answered<Classes> {
    let now = open.look(|shown| {
        let (classes, outside) = shown.classes();
        Classes {
            sequence: shown.sequence(),
            outside,
            classes: classes.into_iter().map(ClassNow::from).collect(),
        }
    });
    now.ok_or_else(not_yet)
}

/// The classes.
#[utoipa::path(get, path = "/classes", responses((status = 200, body = Classes)))]
pub(crate) async fn classes(State(app): State<Arc<App>>) -> Answered<Json<Classes>> {
    app.work(|_, open| now(open)).await.map(Json)
}

/// A change of the classes: one of `add`, `rename`, `merge`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// The name of a new class.
    add: Option<String>,
    /// A class gets another name.
    rename: Option<Rename>,
    /// The labels of a class become those of another.
    merge: Option<Merge>,
    /// Who says so.
    who: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rename {
    /// Its name.
    from: String,
    /// Its new name.
    to: String,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Merge {
    /// The class that goes.
    from: String,
    /// The class that gets its labels.
    into: String,
}

/// Adds, renames or merges classes.
#[utoipa::path(post, path = "/classes", request_body(content = Change, example = json!({"add": "owl"})), responses((status = 200, body = Changed), (status = 400, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn change(
    State(app): State<Arc<App>>,
    Body(asked): Body<Change>,
) -> Answered<Json<Changed>> {
    let change = match (asked.add, asked.rename, asked.merge) {
        (Some(name), None, None) => ClassChange::Add(name),
        (None, Some(Rename { from, to }), None) => ClassChange::Rename { from, to },
        (None, None, Some(Merge { from, into })) => ClassChange::Merge { from, into },
        _ => return Err(Problem::bad("say one of add, rename and merge")),
    };
    let who = checked(asked.who)?;
    let done = app.ask(|reply| Command::Class { change, who, reply });
    let mut done = done.await?;
    done.classes = Some(now(&app.open())?.classes);
    Ok(Json(done))
}
