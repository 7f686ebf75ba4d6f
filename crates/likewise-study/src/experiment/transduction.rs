//! Experiments on transduction: how many pseudo-labels a propagation gets right.
//!
//! Cells (data set x method x setting x draw) are kept as long as their data set and their
//! method stay as they were.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::cell::Cell;
use super::definition::{Data, Experiment};
use super::hold::Hold;
use super::markdown::{self, Skipped};
use super::prepared::{Prepared, find, none_here};
use super::store::{Store, check_folder, key, replace};
use super::{Request, figure, summary};
use crate::environment::Environment;
use crate::{Result, usage};

/// What an experiment found.
#[derive(Debug, Serialize)]
pub struct Answer {
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

impl Answer {
    pub(super) fn counts(&self) -> [usize; 3] {
        [self.computed, self.cells, self.skipped.len()]
    }
}

#[derive(Debug, Serialize)]
struct Average {
    mean: f64,
    /// `null` from one draw.
    ci: Option<[f64; 2]>,
    draws: usize,
}

pub(super) fn run(request: &Request, at: &Environment) -> Result<Answer> {
    let experiment = Experiment::read(&request.experiment)?;
    check_names(&experiment, &request.only)?;
    let (folder, places) = (request.folder(), request.places());
    check_folder(&folder)?;
    let _hold = Hold::take(&folder)?;
    let mut store = Store::open(&folder, &experiment, at.monitor)?;
    let mut skipped = Vec::new();
    for data in &experiment.data {
        if !wanted(data, &request.only) {
            if store.data(&data.name).is_none() {
                skipped.push(Skipped {
                    name: data.name.clone(),
                    reason: "not asked for".into(),
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
        let ended = cells_of(data, &experiment, &places, request, &mut store, at);
        if let Err(e) = ended {
            // What was reached is kept for the next time.
            if store.new > 0 {
                store.write(&experiment)?;
            }
            return Err(e.within(&data.name));
        }
    }
    let answer = answer(&experiment, &store, &folder, &skipped);
    if answer.cells == 0 {
        return Err(none_here(&request.experiment, &places));
    }
    store.write(&experiment)?;
    let figure = figure::svg(&experiment, &store)?;
    if let Some(figure) = &figure {
        replace(&folder.join("figure.svg"), figure)?;
    }
    let page = markdown::document(&experiment, &store, &skipped, figure.is_some());
    replace(&folder.join("README.md"), &page)?;
    Ok(answer)
}

fn wanted(data: &Data, only: &[String]) -> bool {
    let named = |name: &String| data.name == *name || data.group.as_ref() == Some(name);
    only.is_empty() || only.iter().any(named)
}

fn check_names(experiment: &Experiment, only: &[String]) -> Result<()> {
    for name in only {
        if !experiment
            .data
            .iter()
            .any(|data| wanted(data, std::slice::from_ref(name)))
        {
            let names: Vec<&str> = experiment.data.iter().map(|d| d.name.as_str()).collect();
            return Err(usage(format!(
                "{name}: no data set or group of this name; there are: {}",
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
    request: &Request,
    store: &mut Store,
    at: &Environment,
) -> Result<()> {
    let place = |file: &Path| find(file, places).unwrap_or_default();
    let path = place(&data.file);
    let labels = data.labels.as_deref().map(place);
    let encoder = data.encoder.as_deref().map(place);
    let draws = experiment.draws_of(data, request.draws.unwrap_or(experiment.draws).get());
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
