//! The cells of one method on one data set, by draw.

use serde::{Deserialize, Serialize};

use super::cell::Cell;
use super::definition::Experiment;
use super::method::{Row, Setting};
use crate::experiment::results::{Cells, What};
use crate::experiment::store;
use crate::{Result, no_json};

pub(super) type Store = store::Store<Experiment>;

/// The cells of one method on one data set, by draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(super) data: String,
    pub(super) method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) setting: Option<Setting>,
    /// The method with all parameters; in the file its place among the rows.
    pub(super) row: What,
    pub(super) draws: Vec<u64>,
    pub(super) accuracy: Vec<f64>,
    pub(super) hidden: Vec<f64>,
    pub(super) reached: Vec<f64>,
    pub(super) iterations: Vec<usize>,
    /// Draws whose solver did not converge.
    pub(super) unconverged: Vec<u64>,
}

/// The name of a run in `times.json`.
pub(super) fn key(data: &str, method: &str, setting: Option<&Setting>) -> String {
    let key = store::key(data, method);
    match setting {
        None => key,
        Some(s) => format!("{key} | {} = {}", s.parameter, s.value),
    }
}

impl Cells for Run {
    const NAMES: [&'static str; 2] = ["rows", "runs"];

    fn data(&self) -> &str {
        &self.data
    }

    fn key(&self) -> String {
        key(&self.data, &self.method, self.setting.as_ref())
    }

    fn what(&mut self) -> &mut What {
        &mut self.row
    }

    fn count(&self) -> usize {
        self.draws.len()
    }
}

impl Run {
    fn is(&self, data: &str, method: &str, setting: Option<&Setting>) -> bool {
        self.data == data && self.method == method && self.setting.as_ref() == setting
    }

    /// The accuracy of each draw.
    pub(super) fn by_draw(&self) -> impl Iterator<Item = (u64, f64)> {
        let draws = self.draws.iter().copied();
        draws.zip(self.accuracy.iter().copied())
    }

    fn insert(&mut self, draw: u64, cell: &Cell) {
        let at = self.draws.partition_point(|&d| d < draw);
        self.draws.insert(at, draw);
        self.accuracy.insert(at, cell.accuracy);
        self.hidden.insert(at, cell.hidden);
        self.reached.insert(at, cell.reached);
        self.iterations.insert(at, cell.iterations);
        if !cell.converged {
            let at = self.unconverged.partition_point(|&d| d < draw);
            self.unconverged.insert(at, draw);
        }
    }
}

impl Store {
    /// Whether the cell is there.
    pub(super) fn has(
        &self,
        data: &str,
        method: &str,
        setting: Option<&Setting>,
        draw: u64,
    ) -> bool {
        (self.run(data, method, setting)).is_some_and(|run| run.draws.contains(&draw))
    }

    /// All cells of a method on a data set.
    pub(super) fn run(&self, data: &str, method: &str, setting: Option<&Setting>) -> Option<&Run> {
        self.runs.iter().find(|run| run.is(data, method, setting))
    }

    /// Adds a cell.
    pub(super) fn put(
        &mut self,
        data: &str,
        method: &str,
        (setting, row): &(Option<Setting>, Row),
        draw: u64,
        cell: &Cell,
        experiment: &Experiment,
    ) -> Result<()> {
        let new = || {
            Ok(Run {
                data: data.to_owned(),
                method: method.to_owned(),
                setting: setting.clone(),
                row: What::of(row).map_err(no_json)?,
                draws: vec![],
                accuracy: vec![],
                hidden: vec![],
                reached: vec![],
                iterations: vec![],
                unconverged: vec![],
            })
        };
        self.run_mut(|run| run.is(data, method, setting.as_ref()), new)?
            .insert(draw, cell);
        let seconds = (cell.seconds * 1e4).round() / 1e4;
        self.computed(
            key(data, method, setting.as_ref()),
            draw,
            seconds,
            experiment,
        )
    }
}
