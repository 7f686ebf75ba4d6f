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
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::results::{Cells, File, Written};
use super::written::Head;
use crate::{Result, failed, no_json, usage};

/// The figure beside the page.
pub(super) const FIGURE: &str = "figure.svg";

/// The pause between two writes, in times of a write: they take a fiftieth of the time.
const PAUSE: u32 = 50;

/// What of an experiment its results need: what its cells hold, and which of them still count.
pub(super) trait Kept {
    /// A data set as it was when its cells were made.
    type Record: Serialize + DeserializeOwned + PartialEq + Clone;
    /// The cells of one method on one data set.
    type Run: Cells;
    /// Whether the page compares seconds, so that those of two machines must not mix.
    const TIMED: bool;

    fn head(&self) -> &Head;

    /// Whether the experiment still says the same of this data set.
    fn keeps_data(&self, name: &str, record: &Self::Record) -> bool;

    /// Whether the experiment still has what this run did.
    fn keeps_run(&self, run: &Self::Run) -> bool;

    /// Where the run stands in the order of the experiment.
    fn place(&self, run: &Self::Run) -> [Option<usize>; 3];
}

/// Seconds of the graphs and of the cells, `data | method | setting` -> seconds by draw.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Times {
    /// What they were measured on.
    pub(super) machine: String,
    pub(super) graphs: BTreeMap<String, f64>,
    pub(super) cells: BTreeMap<String, BTreeMap<u64, f64>>,
}

/// Results in memory and in their folder.
pub(super) struct Store<K: Kept> {
    folder: PathBuf,
    data: BTreeMap<String, K::Record>,
    pub(super) runs: Vec<K::Run>,
    pub(super) times: Times,
    /// Cells that were computed now.
    pub(super) new: usize,
    written: Instant,
    writing: Duration,
}

/// The name of a run in `times.json`.
pub(super) fn key(data: &str, method: &str) -> String {
    format!("{data} | {method}")
}

impl<K: Kept> Store<K> {
    /// What an earlier run left in the folder, without the cells that no longer stand in the
    /// experiment, and without those of another version, of which it warns.
    ///
    /// Fails if a file there is not one of results: it will not be written over.
    pub(super) fn open(folder: &Path, experiment: &K, monitor: &Monitor) -> Result<Self> {
        let path = folder.join("results.json");
        let (mut data, mut runs) = (BTreeMap::new(), Vec::new());
        if let Some(file) = read::<File<K::Record, K::Run>>(&path)? {
            (data, runs) = (file.data, file.runs);
            if file.likewise != env!("CARGO_PKG_VERSION") {
                let cells = runs.iter().map(Cells::count).sum();
                tell_of_others(&path, &file.likewise, cells, monitor);
                (data, runs) = (BTreeMap::new(), Vec::new());
            }
        }
        data.retain(|name, record| experiment.keeps_data(name, record));
        runs.retain(|run| data.contains_key(run.data()) && experiment.keeps_run(run));
        let mut times: Times = read(&folder.join("times.json"))?.unwrap_or_default();
        if K::TIMED && times.machine != machine() {
            times = Times {
                machine: machine(),
                ..Times::default()
            };
        }
        let kept: Vec<String> = runs.iter().map(Cells::key).collect();
        times.cells.retain(|key, _| kept.contains(key));
        times.graphs.retain(|name, _| data.contains_key(name));
        Ok(Self {
            folder: folder.to_owned(),
            data,
            runs,
            times,
            new: 0,
            written: Instant::now(),
            writing: Duration::ZERO,
        })
    }

    /// Where the results are.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// All cells.
    pub(super) fn count(&self) -> usize {
        self.runs.iter().map(Cells::count).sum()
    }

    /// Notes a data set that was read; its old cells go if it is not what it was.
    pub(super) fn put_data(&mut self, name: &str, record: K::Record) {
        if self.data.get(name) != Some(&record) {
            self.runs.retain(|run| run.data() != name);
            self.data.insert(name.to_owned(), record);
        }
    }

    /// The data set as it was noted.
    pub(super) fn data(&self, name: &str) -> Option<&K::Record> {
        self.data.get(name)
    }

    /// The run that `is` names; `new` where there is none yet.
    pub(super) fn run_mut(
        &mut self,
        is: impl Fn(&K::Run) -> bool,
        new: impl FnOnce() -> Result<K::Run>,
    ) -> Result<&mut K::Run> {
        let place = if let Some(place) = self.runs.iter().position(is) {
            place
        } else {
            self.runs.push(new()?);
            self.runs.len() - 1
        };
        Ok(&mut self.runs[place])
    }

    /// Notes that a cell was computed, in so many seconds, and writes the files if the last time
    /// is long enough ago.
    pub(super) fn computed(
        &mut self,
        key: String,
        draw: u64,
        seconds: f64,
        experiment: &K,
    ) -> Result<()> {
        self.times
            .cells
            .entry(key)
            .or_default()
            .insert(draw, seconds);
        // Trainings take hours, on the machines that there are.
        let (name, machines) = (machine(), &mut self.times.machine);
        if machines.is_empty() {
            *machines = name;
        } else if !machines.split("; ").any(|machine| machine == name) {
            *machines = format!("{machines}; {name}");
        }
        self.new += 1;
        if self.written.elapsed() > self.writing * PAUSE {
            self.write(experiment)?;
        }
        Ok(())
    }

    /// Writes both files, each as a whole, one line a run, in the order of the experiment.
    pub(super) fn write(&mut self, experiment: &K) -> Result<()> {
        let start = Instant::now();
        likewise_io::atomic::make_folder(&self.folder)?;
        self.runs.sort_by_key(|run| experiment.place(run));
        let text = self.text(experiment)?;
        replace(&self.folder.join("results.json"), &text)?;
        let text = serde_json::to_string(&self.times).map_err(no_json)? + "\n";
        replace(&self.folder.join("times.json"), &text)?;
        self.written = Instant::now();
        self.writing = start.elapsed();
        Ok(())
    }

    /// The bytes of `results.json`.
    fn text(&self, experiment: &K) -> Result<Vec<u8>> {
        let head = experiment.head();
        let file = Written {
            title: &head.title,
            experiment: &head.sha256,
            data: &self.data,
            runs: &self.runs,
        };
        file.text().map_err(no_json)
    }
}

/// To six digits: what is beyond tells nothing.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Fails where a folder holds a page or a figure that is not of an experiment's results: it would
/// be written over.
pub(super) fn check_folder(folder: &Path) -> Result<()> {
    if folder.join("results.json").exists() {
        return Ok(());
    }
    for (name, what) in [("README.md", "page"), (FIGURE, "figure")] {
        let path = folder.join(name);
        if path.exists() {
            return Err(usage(format!(
                "{}: not a {what} of results; name another folder: `out FOLDER`",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Warns of the cells of another version, which are made anew: what it computed may differ.
fn tell_of_others(path: &Path, version: &str, cells: usize, monitor: &Monitor) {
    if cells > 0 {
        monitor.warn(format!(
            "{}: {cells} cell(s) are of likewise {version} and are made anew by likewise {}; to \
             keep them, stop and name another folder: `out FOLDER`",
            path.display(),
            env!("CARGO_PKG_VERSION")
        ));
    }
}

/// Writes a text file atomically.
pub(super) fn replace(path: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    likewise_io::atomic::write(path, |file| Ok(file.write_all(text.as_ref())?))?;
    Ok(())
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    // Of a pipe nothing is awaited.
    let text = match likewise_io::read_file(path, likewise_io::memory::allowed(None)) {
        Err(e) if e.kind() == likewise_io::ErrorKind::NotFound => return Ok(None),
        text => text?,
    };
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|e| no_results(path, &e))
}

fn no_results(path: &Path, e: &serde_json::Error) -> crate::Error {
    failed(format!(
        "{}: {e}; this is no file of results, remove it or name another folder: `out FOLDER`",
        path.display()
    ))
}

/// The processor and the number of threads.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let model = model.and_then(|line| line.split_once(':'));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    format!("{model}, {} thread(s)", rayon::current_num_threads())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::engine::Kind;
    use super::super::{across, kind, retrieval, transduction};
    use super::*;

    /// The results in a folder as they would be written now.
    fn again<K: Kind>(experiment: &Path, folder: &Path) -> String {
        let experiment = K::read(experiment).unwrap();
        let store = Store::open(folder, &experiment, &Monitor::silent()).unwrap();
        String::from_utf8(store.text(&experiment).unwrap()).unwrap()
    }

    /// All cells are kept, also those of a time when recipes had fewer fields, and none changes.
    #[test]
    fn every_result_of_this_repository_is_written_again_to_the_byte() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut seen = 0;
        for entry in fs::read_dir(root.join("experiments")).unwrap() {
            let path = entry.unwrap().path();
            // What makes the data of an experiment stands beside it.
            if path.extension().is_none_or(|ending| ending != "toml") {
                continue;
            }
            let folder = root.join("results").join(path.file_stem().unwrap());
            // One that was not run yet has none.
            let Ok(written) = fs::read_to_string(folder.join("results.json")) else {
                continue;
            };
            let again = match kind(&fs::read_to_string(&path).unwrap()).as_deref() {
                Some("retrieval") => again::<retrieval::Experiment>(&path, &folder),
                Some("across") => again::<across::Experiment>(&path, &folder),
                _ => again::<transduction::Experiment>(&path, &folder),
            };
            // Line by line: they are long.
            let differs = written
                .lines()
                .zip(again.lines())
                .find(|(old, new)| old != new);
            assert_eq!(differs, None, "{path:?}");
            assert_eq!(written.len(), again.len(), "{path:?}");
            seen += 1;
        }
        assert!(seen > 10, "{seen}");
    }
}
