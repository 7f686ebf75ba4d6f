//! Refits, and the models that they leave.

use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use likewise_study::Result;
use likewise_study::environment::moment;
use likewise_study::run_folder::{AcrossFolder, Models, Record, RunFolder};
use likewise_study::{journal, live};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::app::App;
use crate::command::Cause;
use crate::extract::{Body, Named, checked};
use crate::problem::{Answered, Problem};
use crate::refit::{self, Next};
use crate::refits::{self, Stand};

/// Nothing else is asked, but for who asks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Please {
    /// Who asks.
    who: Option<String>,
}

/// How far the refit is.
#[utoipa::path(get, path = "/refit", responses((status = 200, body = refits::State)))]
pub(crate) async fn refit_state(State(app): State<Arc<App>>) -> Json<refits::State> {
    Json(app.refits.state())
}

/// Fits the run again with the labels as they are now; goes on in the background.
#[utoipa::path(post, path = "/refit", request_body(content = Please, example = json!({})), responses((status = 202, body = refits::State), (status = 409, body = Problem)))]
pub(crate) async fn refit(
    State(app): State<Arc<App>>,
    Body(Please { who }): Body<Please>,
) -> Answered<(StatusCode, Json<refits::State>)> {
    let who = checked(who)?;
    let begun = tokio::task::spawn_blocking(move || refit::begin(&app, who)).await;
    let state = begun.map_err(|_| Problem::internal("the refit could not begin"))??;
    Ok((StatusCode::ACCEPTED, Json(state)))
}

/// Asks the refit to stop.
#[utoipa::path(post, path = "/refit/cancel", request_body(content = Please, example = json!({})), responses((status = 200, body = refits::State), (status = 409, body = Problem)))]
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    Body(Please { who }): Body<Please>,
) -> Answered<Json<refits::State>> {
    let who = checked(who)?;
    if !app.refits.cancel(who) {
        return Err(match app.refits.state().state {
            Stand::Running => Problem::conflict("it is too late: the new model is taking over"),
            _ => Problem::conflict("no refit runs"),
        });
    }
    Ok(Json(app.refits.state()))
}

/// The models of the run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AllModels {
    /// The number of the one that answers.
    current: u32,
    /// Items with a label in the journal that the model which answers has not: those labels are kept, and not
    /// shown; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    unseen_labels: Option<usize>,
    models: Vec<ModelNow>,
}

/// A model of the run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelNow {
    number: u32,
    /// Whether it answers.
    current: bool,
    recipe: Option<String>,
    items: usize,
    /// Labels that it learned from, where its report says so.
    labels: Option<u64>,
    /// When, in Greenwich.
    made: Option<String>,
    /// What was measured: `map_at_r`, `r_precision`, `nmi`, `recall@1`.
    #[schema(value_type = Object)]
    metrics: Map<String, Value>,
    /// What of its files cannot be read, and is left out above; absent where all can.
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<String>,
}

fn all(app: &App) -> Answered<AllModels> {
    let models = Models::of(&app.run);
    let current = app.open().number;
    let mut found: Vec<ModelNow> = (models.list().into_iter())
        .map(|kept| ModelNow::of(kept.number, current, &kept.folder, &kept.record))
        .collect();
    if !found.iter().any(|model| model.current) {
        let open = app.open();
        found.push(ModelNow::of(current, current, &app.run, &open.record));
    }
    found.sort_by_key(|model| model.number);
    let unseen = live::unseen(&journal::entries(&app.run)?, &app.open().items);
    Ok(AllModels {
        current,
        unseen_labels: Some(unseen).filter(|&items| items > 0),
        models: found,
    })
}

/// What the report of a model says of it.
#[derive(Default)]
struct Measured {
    labels: Option<u64>,
    metrics: Map<String, Value>,
}

impl Measured {
    /// Fails where `metrics.json` is damaged or of another run.
    fn read(folder: &Path, record: &Record) -> Result<Self> {
        if !record.views.is_empty() {
            // What is measured from one view to another is of each direction, and has no one number.
            let results = AcrossFolder::read_by(folder, AcrossFolder::metrics)?;
            return Ok(Self {
                labels: results.per_draw.first().map(|draw| draw.labeled as u64),
                metrics: Map::new(),
            });
        }
        let results = RunFolder::read_by(folder, RunFolder::metrics)?;
        let summary = &results.summary;
        let values = [
            ("map_at_r", summary.map_at_r),
            ("r_precision", summary.r_precision),
            ("nmi", summary.nmi),
            ("recall@1", summary.recall.get(&1).copied()),
        ];
        let known = values.into_iter();
        let known = known.filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
        Ok(Self {
            labels: results.per_draw.first().map(|draw| draw.labels as u64),
            metrics: known.collect(),
        })
    }
}

/// The name of the recipe of a model. Fails where `config.json` is damaged or of another run.
fn recipe(folder: &Path, record: &Record) -> Result<String> {
    let config = if record.views.is_empty() {
        RunFolder::read_by(folder, RunFolder::config)?
    } else {
        AcrossFolder::read_by(folder, AcrossFolder::config)?
    };
    Ok(config.recipe.name)
}

impl ModelNow {
    /// A model is listed whatever of it is damaged: it says so.
    fn of(number: u32, current: u32, folder: &Path, record: &Record) -> Self {
        let mut damaged = None;
        let recipe = recipe(folder, record);
        let recipe = recipe.map_err(|e| damaged = Some(e.to_string())).ok();
        let measured = Measured::read(folder, record);
        let measured = measured.map_err(|e| damaged = Some(e.to_string()));
        let Measured { labels, metrics } = measured.unwrap_or_default();
        let written = std::fs::metadata(folder.join("model.safetensors"))
            .and_then(|meta| meta.modified())
            .ok();
        let written = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self {
            number,
            current: number == current,
            recipe,
            items: record.items,
            labels,
            made: written.map(|passed| moment(passed.as_secs())),
            metrics,
            damaged,
        }
    }
}

/// The models of the run.
#[utoipa::path(get, path = "/models", responses((status = 200, body = AllModels)))]
pub(crate) async fn models(State(app): State<Arc<App>>) -> Answered<Json<AllModels>> {
    app.work(|app, _| all(app)).await.map(Json)
}

/// Puts an earlier model in the place of the one that answers; labels stay as they are.
#[utoipa::path(post, path = "/models/{n}/restore", params(("n" = u32, Path)), request_body(content = Please, example = json!({})), responses((status = 200, body = AllModels), (status = 404, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn restore(
    State(app): State<Arc<App>>,
    Named(number): Named<u32>,
    Body(Please { who }): Body<Please>,
) -> Answered<Json<AllModels>> {
    let who = checked(who)?;
    let work = move |app: &App, open: &crate::open::Open| {
        let Ok(_changing) = app.changing.try_lock() else {
            return Err(Problem::conflict(
                "a refit runs, or another model is being restored",
            ));
        };
        if number != open.number {
            let models = Models::of(&app.run);
            if !models.list().iter().any(|kept| kept.number == number) {
                return Err(Problem::missing(format!("there is no model {number}")));
            }
            let cause = Cause {
                why: "restore",
                who,
            };
            let top = models.current()?;
            let next = Next::read(app, &models.folder(number), number, &app.quiet())?;
            if models.current()? != top {
                return Err(refit::displaces("opened"));
            }
            next.put(app, &models, top, cause)?;
        }
        all(app)
    };
    app.work(work).await.map(Json)
}
