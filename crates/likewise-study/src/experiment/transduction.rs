//! Experiments on transduction: how many pseudo-labels a propagation gets right.
//!
//! Cells (data set x method x setting x draw) are kept as long as their data set and their
//! method stay as they were.

mod cell;
mod cells;
mod data_record;
mod definition;
mod figure;
mod method;
mod page;
mod prepared;
mod spread;
mod summary;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use self::cell::Cell;
use self::cells::{Run, Store, key};
use self::data_record::DataRecord;
use self::definition::Data;
pub(super) use self::definition::Experiment;
use self::prepared::Prepared;
use super::draws;
use super::engine::{Asked, Average, Found, Kind};
use super::page::Skipped;
use super::results::What;
use super::set::Set;
use super::store::{FIGURE, Kept, replace};
use super::written::Head;
use crate::Result;

impl Set for Data {
    fn name(&self) -> &str {
        &self.name
    }

    fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    fn files(&self) -> Vec<&PathBuf> {
        let beside = self.labels.iter().chain(&self.encoder);
        beside.chain([&self.file]).collect()
    }

    fn check(&self) -> Result<(), String> {
        match self.imbalance {
            Some(ratio) if !(ratio.is_finite() && ratio >= 1.0) => {
                Err(format!("imbalance = {ratio}: must be at least 1"))
            }
            _ => Ok(()),
        }
    }
}

impl Kept for Experiment {
    type Record = DataRecord;
    type Run = Run;
    const TIMED: bool = true;

    fn head(&self) -> &Head {
        &self.head
    }

    fn keeps_data(&self, name: &str, record: &DataRecord) -> bool {
        let data = self.data.iter().find(|data| data.name == name);
        data.is_some_and(|data| {
            record.definition == *data
                && record.labels_per_class == self.labels_per_class.get()
                && record.k == self.k_of(data)
                && record.gamma.to_bits() == self.gamma.to_bits()
                && record.seed == self.head.seed
        })
    }

    fn keeps_run(&self, run: &Run) -> bool {
        let method = self.methods.iter().find(|m| m.name == run.method);
        let rows = method.map_or(&[][..], |m| &m.rows);
        (rows.iter()).any(|(setting, row)| {
            *setting == run.setting && What::of(row).is_ok_and(|row| row == run.row)
        })
    }

    fn place(&self, run: &Run) -> [Option<usize>; 3] {
        let data = self.data.iter().position(|d| d.name == run.data);
        let method = self.methods.iter().position(|m| m.name == run.method);
        let rows = method.map_or(&[][..], |m| &self.methods[m].rows);
        let setting = rows.iter().position(|(s, _)| *s == run.setting);
        [data, method, setting]
    }
}

impl Kind for Experiment {
    type Data = Data;

    fn read(path: &Path) -> Result<Self> {
        Self::read(path)
    }

    fn sets(&self) -> &[Data] {
        &self.data
    }

    fn fill(&self, data: &Data, asked: &Asked, store: &mut Store) -> Result<()> {
        let monitor = asked.at.monitor;
        let place = |file: &PathBuf| asked.find(file).unwrap_or_default();
        let path = place(&data.file);
        let draws = self.draws_of(data, asked.draws.unwrap_or(self.draws.get()));
        let rows: Vec<_> = (self.methods.iter())
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
        let labels = data.labels.as_ref().map(place);
        let encoder = data.encoder.as_ref().map(place);
        let beside = (labels.as_deref(), encoder.as_deref());
        let prepared = Prepared::read(&path, beside, data, self, asked.at)?;
        store.put_data(&data.name, prepared.record.clone());
        let graphs = &mut store.times.graphs;
        graphs.insert(data.name.clone(), prepared.seconds);
        monitor.start(data.name.clone(), missing(store) as u64);
        let mut done = 0;
        for draw in draws {
            let shown = prepared.visible(self.labels_per_class.get(), draw);
            for &(name, row) in &rows {
                if store.has(&data.name, name, row.0.as_ref(), draw) {
                    continue;
                }
                let cell = Cell::run(&row.1, &prepared, &shown, draw, &monitor.quiet())
                    .map_err(|e| e.within(name))?;
                store.put(&data.name, name, row, draw, &cell, self)?;
                done += 1;
                monitor.step(done)?;
            }
        }
        monitor.end();
        Ok(())
    }

    fn found(&self, store: &Store) -> Result<Found> {
        let mut accuracy = BTreeMap::new();
        for run in &store.runs {
            let Some(mean) = draws::mean(&run.accuracy) else {
                continue;
            };
            let key = key(&run.data, &run.method, run.setting.as_ref());
            accuracy.insert(key, Average::of(&mean, run.draws.len()));
        }
        Ok(Found::Accuracy(accuracy))
    }

    fn publish(&self, store: &Store, skipped: &[Skipped]) -> Result<()> {
        let figure = figure::svg(self, store)?;
        if let Some(figure) = &figure {
            replace(&store.folder().join(FIGURE), figure)?;
        }
        let page = page::document(self, store, skipped, figure.is_some());
        replace(&store.folder().join("README.md"), &page)
    }
}
