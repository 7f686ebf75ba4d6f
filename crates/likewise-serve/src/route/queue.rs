//! What to look at next.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use likewise_study::live::{self, Kind, Queued};
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::{IntoParams, ToSchema};

use crate::answer::{ItemNow, not_yet};
use crate::app::App;
use crate::extract::Asked;
use crate::open::{One, Open};
use crate::problem::{Answered, Problem};
use crate::queues::Of;

/// Most items of an answer.
const MOST: usize = 500;

/// The names of the kinds.
fn kinds() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(Kind::ALL.map(Kind::name)))
        .build()
}

/// Which queue, and how much of it.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// What the items are of.
    #[param(schema_with = kinds)]
    kind: Kind,
    /// Items, 20 if not said.
    n: Option<usize>,
    /// Items that are left out at the beginning.
    #[serde(default)]
    offset: usize,
}

/// An item to look at.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QueuedItem {
    #[serde(flatten)]
    item: ItemNow,
    /// How urgent it is; larger is more so.
    score: f64,
    /// The class to look at.
    suggested: Option<String>,
    /// Ids of the items that it stands beside.
    with: Vec<String>,
}

/// Items to look at, the most urgent first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Queue {
    #[schema(schema_with = kinds)]
    kind: Kind,
    /// The labels up to here are taken into account.
    sequence: u64,
    /// How many there are in all.
    total: usize,
    items: Vec<QueuedItem>,
}

/// The items to look at next.
#[utoipa::path(get, path = "/queue", params(Wanted), responses((status = 200, body = Queue), (status = 400, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn queue(
    State(app): State<Arc<App>>,
    Asked(wanted): Asked<Wanted>,
) -> Answered<Json<Queue>> {
    let n = wanted.n.unwrap_or(20);
    if !(1..=MOST).contains(&n) {
        return Err(Problem::bad(format!("n = {n}: must be from 1 to {MOST}")));
    }
    let work = move |app: &App, open: &Open| {
        let (sequence, queued) = found(app, open, wanted.kind)?;
        Ok(Queue {
            kind: wanted.kind,
            sequence,
            total: queued.len(),
            items: items(open, queued.iter().skip(wanted.offset).take(n))?,
        })
    };
    app.work(work).await.map(Json)
}

pub(super) fn items<'a>(
    open: &Open,
    queued: impl Iterator<Item = &'a Queued> + Clone,
) -> Answered<Vec<QueuedItem>> {
    let now = open.items_now(queued.clone().map(|queued| queued.row))?;
    let id = |&row: &usize| open.items.rows()[row].id.clone();
    let each = queued.zip(now).map(|(queued, item)| QueuedItem {
        item,
        score: queued.score,
        suggested: queued.suggested.clone(),
        with: queued.with.iter().take(MOST).map(id).collect(),
    });
    Ok(each.collect())
}

pub(super) fn one_view(open: &Open) -> Answered<&One> {
    (open.one_view()).ok_or_else(|| Problem::conflict("a run across views has no queue"))
}

/// A queue by the labels as they are now.
pub(super) fn found(app: &App, open: &Open, kind: Kind) -> Answered<(u64, Arc<Vec<Queued>>)> {
    let one = one_view(open)?;
    app.queues.found(
        kind,
        || {
            let shown = open.shown().ok_or_else(not_yet)?;
            let of = Of {
                run: open.serial,
                sequence: shown.sequence(),
            };
            Ok((of, shown))
        },
        |shown| {
            let quiet = app.monitor().quiet();
            let by = one.compared(open.record.seed);
            Ok(live::queue(kind, &shown, &by, &quiet)?)
        },
    )
}
