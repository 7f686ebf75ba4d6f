//! What to label next, what that is worth, and from which similarity on two items are the same.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use likewise::advise::next::Strategy;
use likewise::advise::threshold::Threshold;
use likewise_study::advise::{Told, Worth};
use likewise_study::live::{BATCH, Kind};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::queue::{QueuedItem, found, items, one_view};
use crate::answer::not_yet;
use crate::app::App;
use crate::extract::Asked;
use crate::open::Open;
use crate::problem::{Answered, Problem};

/// How many labels somebody would give, and what else is to be told of them.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    /// Labels, 50 if not said.
    budget: Option<usize>,
    /// Whether to measure what labels are worth. That takes a while for the first who asks after a label, and 408
    /// may come of it: ask again then, the work goes on.
    #[serde(default)]
    curve: bool,
    /// Of what precision the threshold is to be, above 0 and below 1; without it none is sought.
    precision: Option<f64>,
}

/// What to label next.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Advice {
    budget: usize,
    /// How they were chosen.
    method: &'static str,
    sequence: u64,
    /// Labels that it goes by: none that is tested on.
    labeled: usize,
    /// Items without a label that may be asked for.
    unlabeled: usize,
    /// The best first.
    items: Vec<QueuedItem>,
    /// The share of beliefs that are right by the number of labels, and what those of the budget add to it.
    #[schema(value_type = Option<Object>)]
    curve: Option<Worth>,
    /// The similarity from which on two items are the same, and what that was seen to be worth.
    #[schema(value_type = Option<Object>)]
    threshold: Option<Threshold>,
    /// Why one of these two was asked for and is not there, and what must be said of it.
    notes: Vec<String>,
}

/// What to label next; on demand also what that is worth, and when two items are the same.
#[utoipa::path(get, path = "/advise", params(Wanted), responses((status = 200, body = Advice), (status = 400, body = Problem), (status = 409, body = Problem)))]
pub(crate) async fn advise(
    State(app): State<Arc<App>>,
    Asked(wanted): Asked<Wanted>,
) -> Answered<Json<Advice>> {
    let budget = wanted.budget.unwrap_or(50);
    if !(1..=BATCH).contains(&budget) {
        return Err(Problem::bad(format!(
            "budget = {budget}: must be from 1 to {BATCH}; for more ask the command line"
        )));
    }
    let work = move |app: &App, open: &Open| {
        let one = one_view(open)?;
        let mut notes = vec![];
        let threshold = match wanted.precision {
            None => None,
            Some(precision) => noted(one.threshold(open, precision, &app.quiet())?, &mut notes),
        };
        let curve = if wanted.curve {
            noted(one.worth(open, budget, &app.quiet())?, &mut notes)
        } else {
            None
        };
        notes.extend(curve.iter().flat_map(Worth::notes));
        let (sequence, queued) = found(app, open, Kind::Informative)?;
        let counted = open.look(|shown| {
            let labels = shown.labeled().labels();
            (one.labeled(labels), one.open(labels).count())
        });
        let (labeled, unlabeled) = counted.ok_or_else(not_yet)?;
        Ok(Advice {
            budget,
            method: Strategy::Auto.resolved().name(),
            sequence,
            labeled,
            unlabeled,
            items: items(open, queued.iter().take(budget))?,
            curve,
            threshold,
            notes,
        })
    };
    app.work(work).await.map(Json)
}

/// What was found, or else why not, among the notes.
fn noted<T>(told: Told<T>, notes: &mut Vec<String>) -> Option<T> {
    told.map_err(|why| notes.push(why)).ok()
}
