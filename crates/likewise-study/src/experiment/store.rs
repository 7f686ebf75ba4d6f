//! Results of an experiment on disk: `results.json`, which the same experiment on the same
//! data always gives to the byte, and `times.json`, which no two runs share.
//!
//! Both are complete files at any moment. A cell is kept as long as its data set and its
//! method stand in the experiment as they did; other changes of the experiment leave it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use likewise::Monitor;
use serde::{Deserialize, Serialize};

use super::cell::Cell;
use super::data_record::DataRecord;
use super::definition::Experiment;
use super::method::Setting;
use crate::{Result, failed, no_json, usage};

/// The pause between two writes, in times of a write: they take a fiftieth of the time.
const PAUSE: u32 = 50;

/// The cells of one method on one data set, by draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) data: String,
    pub(crate) method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) setting: Option<Setting>,
    /// The method with all parameters; in the file its place among the rows.
    row: serde_json::Value,
    pub(crate) draws: Vec<u64>,
    pub(crate) accuracy: Vec<f64>,
    pub(crate) hidden: Vec<f64>,
    pub(crate) reached: Vec<f64>,
    pub(crate) iterations: Vec<usize>,
    /// Draws whose solver did not converge.
    pub(crate) unconverged: Vec<u64>,
}

/// The file of results.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Results {
    likewise: String,
    title: String,
    /// SHA-256 of the file of the experiment.
    #[serde(default)]
    experiment: String,
    data: BTreeMap<String, DataRecord>,
    /// The methods of the runs, each once.
    #[serde(default)]
    rows: Vec<serde_json::Value>,
    runs: Vec<Run>,
}

/// Seconds of the graphs and of the cells, `data | method | setting` -> seconds by draw.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Times {
    /// What they were measured on.
    pub(crate) machine: String,
    pub(crate) graphs: BTreeMap<String, f64>,
    pub(crate) cells: BTreeMap<String, BTreeMap<u64, f64>>,
}

/// Results in memory and in their folder.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    results: Results,
    pub(crate) times: Times,
    /// Cells that were computed now.
    pub(crate) new: usize,
    written: Instant,
    writing: Duration,
}

/// The name of a run in `times.json`.
pub(crate) fn key(data: &str, method: &str, setting: Option<&Setting>) -> String {
    match setting {
        None => format!("{data} | {method}"),
        Some(s) => format!("{data} | {method} | {} = {}", s.parameter, s.value),
    }
}

impl Store {
    /// What an earlier run left in the folder, without the cells that no longer stand in the
    /// experiment, and without those of another version, of which it warns.
    ///
    /// Fails if a file there is not one of results: it will not be written over.
    pub(crate) fn open(folder: &Path, experiment: &Experiment, monitor: &Monitor) -> Result<Self> {
        let mut results: Results = read(&folder.join("results.json"))?.unwrap_or_default();
        let mut times: Times = read(&folder.join("times.json"))?.unwrap_or_default();
        let version = env!("CARGO_PKG_VERSION");
        if results.likewise != version {
            let cells = results.runs.iter().map(|run| run.draws.len()).sum();
            tell_of_others(folder, &results.likewise, cells, monitor);
            results = Results::default();
        }
        let wanted = |name: &str| experiment.data.iter().find(|data| data.name == name);
        results.data.retain(|name, record| {
            wanted(name).is_some_and(|data| {
                record.definition == *data
                    && record.labels_per_class == experiment.labels_per_class.get()
                    && record.k == experiment.k_of(data)
                    && record.gamma.to_bits() == experiment.gamma.to_bits()
                    && record.seed == experiment.seed
            })
        });
        let mut runs = std::mem::take(&mut results.runs);
        let rows = std::mem::take(&mut results.rows);
        for run in &mut runs {
            if let Some(place) = run.row.as_u64() {
                run.row = rows.get(place as usize).cloned().unwrap_or_default();
            }
        }
        runs.retain(|run| {
            let method = experiment.methods.iter().find(|m| m.name == run.method);
            let rows = method.map_or(&[][..], |m| &m.rows);
            results.data.contains_key(&run.data)
                && (rows.iter()).any(|(setting, row)| {
                    *setting == run.setting
                        && serde_json::to_value(row).is_ok_and(|row| row == run.row)
                })
        });
        results.runs = runs;
        version.clone_into(&mut results.likewise);
        results.title.clone_from(&experiment.title);
        results.experiment.clone_from(&experiment.sha256);
        let machine = machine();
        if times.machine != machine {
            times = Times::default();
        }
        times.machine = machine;
        let kept: Vec<String> = (results.runs.iter())
            .map(|run| key(&run.data, &run.method, run.setting.as_ref()))
            .collect();
        times.cells.retain(|key, _| kept.contains(key));
        times
            .graphs
            .retain(|name, _| results.data.contains_key(name));
        Ok(Self {
            folder: folder.to_owned(),
            results,
            times,
            new: 0,
            written: Instant::now(),
            writing: Duration::ZERO,
        })
    }

    /// Notes a data set that was read; its old cells go if it is not what it was.
    pub(crate) fn put_data(&mut self, record: DataRecord, seconds: f64) {
        let name = record.definition.name.clone();
        if self.results.data.get(&name) != Some(&record) {
            self.results.runs.retain(|run| run.data != name);
            self.results.data.insert(name.clone(), record);
        }
        self.times.graphs.insert(name, seconds);
    }

    /// The data set as it was noted.
    pub(crate) fn data(&self, name: &str) -> Option<&DataRecord> {
        self.results.data.get(name)
    }

    /// Whether the cell is there.
    pub(crate) fn has(
        &self,
        data: &str,
        method: &str,
        setting: Option<&Setting>,
        draw: u64,
    ) -> bool {
        (self.run(data, method, setting)).is_some_and(|run| run.draws.contains(&draw))
    }

    /// All cells of a method on a data set.
    pub(crate) fn run(&self, data: &str, method: &str, setting: Option<&Setting>) -> Option<&Run> {
        (self.results.runs.iter()).find(|run| is(run, data, method, setting))
    }

    /// Adds a cell, and writes the files if the last time is long enough ago.
    pub(crate) fn put(
        &mut self,
        data: &str,
        method: &str,
        (setting, row): &(Option<Setting>, super::method::Row),
        draw: u64,
        cell: &Cell,
        experiment: &Experiment,
    ) -> Result<()> {
        let runs = &mut self.results.runs;
        let found = runs
            .iter()
            .position(|run| is(run, data, method, setting.as_ref()));
        let place = if let Some(place) = found {
            place
        } else {
            runs.push(Run {
                data: data.to_owned(),
                method: method.to_owned(),
                setting: setting.clone(),
                row: serde_json::to_value(row).map_err(no_json)?,
                draws: vec![],
                accuracy: vec![],
                hidden: vec![],
                reached: vec![],
                iterations: vec![],
                unconverged: vec![],
            });
            runs.len() - 1
        };
        let run = &mut runs[place];
        let at = run.draws.partition_point(|&d| d < draw);
        run.draws.insert(at, draw);
        run.accuracy.insert(at, cell.accuracy);
        run.hidden.insert(at, cell.hidden);
        run.reached.insert(at, cell.reached);
        run.iterations.insert(at, cell.iterations);
        if !cell.converged {
            let at = run.unconverged.partition_point(|&d| d < draw);
            run.unconverged.insert(at, draw);
        }
        let times = &mut self.times.cells;
        let times = times
            .entry(key(data, method, setting.as_ref()))
            .or_default();
        times.insert(draw, (cell.seconds * 1e4).round() / 1e4);
        self.new += 1;
        if self.written.elapsed() > self.writing * PAUSE {
            self.write(experiment)?;
        }
        Ok(())
    }

    /// Writes both files, one line a run, in the order of the experiment.
    pub(crate) fn write(&mut self, experiment: &Experiment) -> Result<()> {
        let start = Instant::now();
        let place = |run: &Run| {
            let data = experiment.data.iter().position(|d| d.name == run.data);
            let method = experiment.methods.iter().position(|m| m.name == run.method);
            let rows = method.map_or(&[][..], |m| &experiment.methods[m].rows);
            (
                data,
                method,
                rows.iter().position(|(s, _)| *s == run.setting),
            )
        };
        self.results.runs.sort_by_key(place);
        let results = &self.results;
        let head = [&results.likewise, &results.title, &results.experiment];
        let files = Files {
            folder: &self.folder,
            times: &self.times,
        };
        files.write(
            head,
            &results.data,
            ["rows", "runs"],
            &results.runs,
            |run| &mut run.row,
        )?;
        self.written = Instant::now();
        self.writing = start.elapsed();
        Ok(())
    }
}

/// Where results and times are written.
pub(super) struct Files<'a> {
    pub(super) folder: &'a Path,
    pub(super) times: &'a Times,
}

impl Files<'_> {
    /// Writes both files, each as a whole. In `results.json` stand version, title and digest of
    /// the experiment, the data sets by name, and under the two `names` what the runs did, each
    /// once, and the runs, which tell it by its place; `done` is that part of a run.
    pub(super) fn write<D: Serialize, R: Serialize + Clone>(
        &self,
        head: [&String; 3],
        data: &BTreeMap<String, D>,
        names: [&str; 2],
        runs: &[R],
        done: impl Fn(&mut R) -> &mut serde_json::Value,
    ) -> Result<()> {
        likewise_io::atomic::make_folder(self.folder)?;
        let data = lines(data.iter().map(|(name, record)| {
            let name = serde_json::to_string(name)?;
            Ok(format!("{name}: {}", serde_json::to_string(record)?))
        }))
        .map_err(no_json)?;
        let mut once: Vec<serde_json::Value> = Vec::new();
        let mut short = Vec::new();
        for run in runs {
            let mut run = run.clone();
            let what = done(&mut run).take();
            let place = once.iter().position(|known| *known == what);
            *done(&mut run) = place.unwrap_or(once.len()).into();
            if place.is_none() {
                once.push(what);
            }
            short.push(run);
        }
        let [likewise, title, experiment] = head.map(serde_json::to_string);
        let text = format!(
            "{{\n\"likewise\": {},\n\"title\": {},\n\"experiment\": {},\n\"data\": {{\n{data}\n}},\n\
             \"{}\": [\n{}\n],\n\"{}\": [\n{}\n]\n}}\n",
            likewise.map_err(no_json)?,
            title.map_err(no_json)?,
            experiment.map_err(no_json)?,
            names[0],
            lines(once.iter().map(serde_json::to_string)).map_err(no_json)?,
            names[1],
            lines(short.iter().map(serde_json::to_string)).map_err(no_json)?
        );
        replace(&self.folder.join("results.json"), &text)?;
        let text = serde_json::to_string(self.times).map_err(no_json)? + "\n";
        replace(&self.folder.join("times.json"), &text)
    }
}

/// One line each, with commas between them.
fn lines(
    of: impl Iterator<Item = Result<String, serde_json::Error>>,
) -> Result<String, serde_json::Error> {
    Ok(of.collect::<Result<Vec<_>, _>>()?.join(",\n"))
}

fn is(run: &Run, data: &str, method: &str, setting: Option<&Setting>) -> bool {
    run.data == data && run.method == method && run.setting.as_ref() == setting
}

/// Fails where a folder holds a page that is not of an experiment's results: it would be
/// written over.
pub(crate) fn check_folder(folder: &Path) -> Result<()> {
    let ours = folder.join("results.json").exists();
    let page = folder.join("README.md");
    if !ours && page.exists() {
        return Err(usage(format!(
            "{}: not a page of results; name another folder with -o",
            page.display()
        )));
    }
    Ok(())
}

/// Warns of the cells of another version, which are made anew: what it computed may differ.
pub(super) fn tell_of_others(folder: &Path, version: &str, cells: usize, monitor: &Monitor) {
    if cells > 0 {
        monitor.warn(format!(
            "{}: {cells} cell(s) are of likewise {version} and are made anew by likewise {}; to \
             keep them, stop and name another folder with -o",
            folder.join("results.json").display(),
            env!("CARGO_PKG_VERSION")
        ));
    }
}

/// Writes a text file atomically.
pub(crate) fn replace(path: &Path, text: &str) -> Result<()> {
    likewise_io::atomic::write(path, |file| Ok(file.write_all(text.as_bytes())?))?;
    Ok(())
}

pub(super) fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let text = match std::fs::read_to_string(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|e| failed(format!("{}: {e}", path.display())))?,
    };
    serde_json::from_str(&text).map(Some).map_err(|e| {
        failed(format!(
            "{}: {e}; this is no file of results, remove it or choose another folder with -o",
            path.display()
        ))
    })
}

/// The processor and the number of threads.
pub(super) fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let model = model.and_then(|line| line.split_once(':'));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    format!("{model}, {} thread(s)", rayon::current_num_threads())
}
