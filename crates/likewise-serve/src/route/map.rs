//! The map of all items.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use likewise::{Label, Part};
use likewise_study::live::{Plane, Shown};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::IntoParams;

use crate::answer::not_yet;
use crate::app::App;
use crate::extract::Asked;
use crate::open::Open;
use crate::problem::{Answered, Problem};

/// The parts of a split, by the numbers that the map has for them.
const SPLITS: [Part; 5] = [
    Part::Train,
    Part::Validation,
    Part::Test,
    Part::Query,
    Part::Gallery,
];
/// Of an item that is in no part.
const NO_SPLIT: u8 = 255;
/// Of an item without a class.
const NONE: i32 = -1;
const OUTSIDE: i32 = -2;

/// In which form.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asks {
    /// `binary`, if not said, or `json`.
    #[param(value_type = Option<String>)]
    form: Option<Form>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    Binary,
    Json,
}

#[derive(Serialize)]
struct Columns<'a> {
    x: &'a [f32],
    y: &'a [f32],
    label: Vec<i32>,
    belief: Vec<i32>,
    confidence: &'a [f32],
    split: Vec<u8>,
    ids: Vec<&'a str>,
}

/// Where all items lie, with label, belief, confidence and split.
#[utoipa::path(get, path = "/map", params(Asks), responses((status = 200, body = Vec<u8>, content_type = "application/octet-stream"), (status = 409, body = Problem)))]
pub(crate) async fn map(
    State(app): State<Arc<App>>,
    Asked(Asks { form }): Asked<Asks>,
) -> Answered<Response> {
    let form = form.unwrap_or(Form::Binary);
    let work = move |_: &App, open: &Open| {
        let plane = open.plane()?.ok_or_else(|| {
            Problem::conflict("a run across views has no map: its views have spaces of their own")
        })?;
        let shown = open.shown().ok_or_else(not_yet)?;
        match form {
            Form::Json => as_json(open, plane, &shown),
            Form::Binary => as_bytes(open, plane, &shown),
        }
    };
    let kind = match form {
        Form::Json => "application/json",
        Form::Binary => "application/octet-stream",
    };
    let body = app.work(work).await?;
    Ok(([(header::CONTENT_TYPE, kind)], body).into_response())
}

fn head(open: &Open, plane: &Plane, shown: &Shown) -> Map<String, Value> {
    let splits = SPLITS.map(likewise::Part::name);
    let values = [
        ("items", json!(plane.x.len())),
        ("sequence", json!(shown.sequence())),
        ("model", json!(open.number)),
        ("share", json!(plane.share)),
        ("classes", json!(shown.labeled().classes())),
        ("splits", json!(splits)),
    ];
    values
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

fn columns<'a>(plane: &'a Plane, shown: &'a Shown) -> Columns<'a> {
    let class = |class: Option<u32>| class.map_or(NONE, |class| class as i32);
    let labels = shown.labeled().labels();
    let rows = shown.items().rows();
    let split = |part: Option<Part>| {
        let place = SPLITS.iter().position(|own| Some(*own) == part);
        place.map_or(NO_SPLIT, |place| place as u8)
    };
    Columns {
        x: &plane.x,
        y: &plane.y,
        label: (labels.iter())
            .map(|label| match label {
                Label::Outside => OUTSIDE,
                label => class(label.class()),
            })
            .collect(),
        belief: (shown.beliefs().iter().zip(labels))
            .map(|(belief, label)| match label {
                Label::Outside => OUTSIDE,
                _ => class(*belief),
            })
            .collect(),
        confidence: shown.confidence(),
        split: rows.iter().map(|row| split(row.split)).collect(),
        ids: rows.iter().map(|row| row.id.as_str()).collect(),
    }
}

fn as_json(open: &Open, plane: &Plane, shown: &Shown) -> Answered<Vec<u8>> {
    let unwritten = |e: serde_json::Error| Problem::internal(format!("the map: {e}"));
    let mut whole = head(open, plane, shown);
    let columns = serde_json::to_value(columns(plane, shown)).map_err(unwritten)?;
    if let Value::Object(columns) = columns {
        whole.extend(columns);
    }
    serde_json::to_vec(&whole).map_err(unwritten)
}

/// A header of JSON behind its length, then the columns, each from a multiple of 4 on.
fn as_bytes(open: &Open, plane: &Plane, shown: &Shown) -> Answered<Vec<u8>> {
    let unwritten = |e: serde_json::Error| Problem::internal(format!("the map: {e}"));
    let all = columns(plane, shown);
    let floats = |values: &[f32]| {
        values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let whole = |values: &[i32]| {
        values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let ids = serde_json::to_vec(&all.ids).map_err(unwritten)?;
    let sections = [
        ("x", floats(all.x)),
        ("y", floats(all.y)),
        ("label", whole(&all.label)),
        ("belief", whole(&all.belief)),
        ("confidence", floats(all.confidence)),
        ("split", all.split),
        ("ids", ids),
    ];
    let mut header = head(open, plane, shown);
    // The places stand in the header, whose length they depend on: so many digits are set aside.
    let described = |start: usize| {
        let mut at = start;
        let places = sections.iter().map(|(name, bytes)| {
            let place = json!({"offset": at, "length": bytes.len()});
            at += bytes.len().next_multiple_of(4);
            ((*name).to_owned(), place)
        });
        Value::Object(places.collect())
    };
    header.insert("sections".into(), described(0));
    let room = serde_json::to_vec(&header).map_err(unwritten)?.len() + 20 * sections.len();
    let start = (4 + room).next_multiple_of(4);
    header.insert("sections".into(), described(start));
    let mut bytes = vec![0; 4];
    bytes.extend(serde_json::to_vec(&header).map_err(unwritten)?);
    // JSON may end with spaces.
    bytes.resize(start, b' ');
    bytes[..4].copy_from_slice(&(start as u32 - 4).to_le_bytes());
    for (_, section) in sections {
        bytes.extend(section);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    Ok(bytes)
}
