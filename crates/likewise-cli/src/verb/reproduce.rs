//! `likewise reproduce`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Context;
use crate::args::Reproduce;
use crate::data;
use crate::experiment::cell::Cell;
use crate::experiment::definition::{Data, Experiment};
use crate::experiment::markdown::{self, Skipped};
use crate::experiment::prepared::{Prepared, find, folders, none_here, results_folder};
use crate::experiment::store::{Store, check_folder, key, replace};
use crate::experiment::{figure, retrieval, summary};
use crate::failure::Failure;
use crate::output;

/// What `--json` prints.
#[derive(Serialize)]
struct Answer {
    title: String,
    folder: PathBuf,
    /// Cells that were computed now, and all that the experiment has.
    computed: usize,
    cells: usize,
    /// Sets without results, and why.
    skipped: BTreeMap<String, String>,
    /// `data | method | setting` -> mean accuracy, ends of its 95 % interval, draws.
    accuracy: BTreeMap<String, Average>,
}

#[derive(Serialize)]
struct Average {
    mean: f64,
    /// `null` from one draw.
    ci: Option<[f64; 2]>,
    draws: usize,
}

pub(crate) fn run(args: &Reproduce, at: &Context) -> Result<(), Failure> {
    let text = likewise_io::read_text(&args.experiment, data::MOST_TEXT)?;
    if retrieval::is_kind(&text) {
        return retrieval::run(args, at);
    }
    let experiment = Experiment::read(&args.experiment)?;
    check_names(&experiment, &args.only)?;
    let folder = results_folder(args);
    let places = folders(args.data.as_deref(), &args.experiment);
    check_folder(&folder)?;
    let mut store = Store::open(&folder, &experiment)?;
    let mut skipped = Vec::new();
    for data in &experiment.data {
        if !wanted(data, &args.only) {
            if store.data(&data.name).is_none() {
                skipped.push(Skipped {
                    name: data.name.clone(),
                    reason: "left out by --only".into(),
                });
            }
            continue;
        }
        let beside = data.labels.iter().chain(&data.encoder);
        let missing = beside
            .chain([&data.file])
            .find(|file| find(file, &places).is_none());
        if let Some(file) = missing {
            let reason = format!("{} is in none of the folders of data", file.display());
            at.monitor.warn(format!("{} skipped: {reason}", data.name));
            if store.data(&data.name).is_none() {
                skipped.push(Skipped {
                    name: data.name.clone(),
                    reason,
                });
            }
            continue;
        }
        let ended = cells_of(data, &experiment, &places, args, &mut store, at);
        if ended.is_err() {
            // What was reached is kept for the next time.
            if store.new > 0 {
                store.write(&experiment)?;
            }
            return ended.map_err(|e| e.within(&data.name));
        }
    }
    let answer = answer(&experiment, &store, &folder, &skipped);
    if answer.cells == 0 {
        return Err(none_here(&args.experiment, &places));
    }
    store.write(&experiment)?;
    let figure = figure::svg(&experiment, &store)?;
    if let Some(figure) = &figure {
        replace(&folder.join("figure.svg"), figure)?;
    }
    let page = markdown::document(&experiment, &store, &skipped, figure.is_some());
    replace(&folder.join("README.md"), &page)?;
    if at.common.json {
        return output::json(&answer);
    }
    output::line(format!(
        "{} cells, {} of them computed now; {} set(s) skipped; look at {}",
        answer.cells,
        answer.computed,
        skipped.len(),
        folder.join("README.md").display()
    ))
}

fn wanted(data: &Data, only: &[String]) -> bool {
    let named = |name: &String| data.name == *name || data.group.as_ref() == Some(name);
    only.is_empty() || only.iter().any(named)
}

fn check_names(experiment: &Experiment, only: &[String]) -> Result<(), Failure> {
    for name in only {
        if !experiment
            .data
            .iter()
            .any(|data| wanted(data, std::slice::from_ref(name)))
        {
            let names: Vec<&str> = experiment.data.iter().map(|d| d.name.as_str()).collect();
            return Err(Failure::usage(format!(
                "--only {name}: no data set or group of this name; there are: {}",
                names.join(", ")
            )));
        }
    }
    Ok(())
}

/// Computes the cells of a data set that are not there yet.
fn cells_of(
    data: &Data,
    experiment: &Experiment,
    places: &[PathBuf],
    args: &Reproduce,
    store: &mut Store,
    at: &Context,
) -> Result<(), Failure> {
    let place = |file: &Path| find(file, places).unwrap_or_default();
    let path = place(&data.file);
    let labels = data.labels.as_deref().map(place);
    let encoder = data.encoder.as_deref().map(place);
    let draws = experiment.draws_of(data, args.draws.unwrap_or(experiment.draws).get());
    let rows: Vec<_> = (experiment.methods.iter())
        .flat_map(|method| method.rows.iter().map(move |row| (&method.name, row)))
        .collect();
    let missing = |store: &Store| -> usize {
        let cells = draws
            .clone()
            .flat_map(|draw| rows.iter().map(move |row| (draw, row)));
        cells
            .filter(|(draw, (name, (setting, _)))| {
                !store.has(&data.name, name, setting.as_ref(), *draw)
            })
            .count()
    };
    // All there, of these very bytes: no graph is needed.
    if missing(store) == 0
        && let Some(record) = store.data(&data.name)
        && record.sha256 == likewise_io::digest(&path)?
    {
        return Ok(());
    }
    let prepared = Prepared::read(
        &path,
        (labels.as_deref(), encoder.as_deref()),
        data,
        experiment,
        at,
    )?;
    store.put_data(prepared.record.clone(), prepared.seconds);
    let total = missing(store) as u64;
    at.monitor.start(data.name.clone(), total);
    let mut done = 0;
    for draw in draws {
        let shown = prepared.visible(experiment.labels_per_class.get(), draw);
        for &(name, row) in &rows {
            if store.has(&data.name, name, row.0.as_ref(), draw) {
                continue;
            }
            let cell = Cell::run(&row.1, &prepared, &shown, draw, &at.monitor.quiet())
                .map_err(|e| e.within(name))?;
            store.put(&data.name, name, row, draw, &cell, experiment)?;
            done += 1;
            at.monitor.step(done)?;
        }
    }
    at.monitor.end();
    Ok(())
}

fn answer(experiment: &Experiment, store: &Store, folder: &Path, skipped: &[Skipped]) -> Answer {
    let mut accuracy = BTreeMap::new();
    let mut cells = 0;
    for data in &experiment.data {
        for method in &experiment.methods {
            for (setting, _) in &method.rows {
                let Some(run) = store.run(&data.name, &method.name, setting.as_ref()) else {
                    continue;
                };
                let Some(mean) = summary::mean(&run.accuracy) else {
                    continue;
                };
                cells += run.draws.len();
                let mean = Average {
                    mean: mean.value,
                    ci: (!mean.low.is_nan()).then_some([mean.low, mean.high]),
                    draws: run.draws.len(),
                };
                accuracy.insert(key(&data.name, &method.name, setting.as_ref()), mean);
            }
        }
    }
    Answer {
        title: experiment.title.clone(),
        folder: folder.to_owned(),
        computed: store.new,
        cells,
        skipped: (skipped.iter())
            .map(|s| (s.name.clone(), s.reason.clone()))
            .collect(),
        accuracy,
    }
}
