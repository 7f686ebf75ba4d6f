//! The one way in which experiments run: which data are here, which cells are missing, what is
//! written when.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use likewise::Monitor;
use likewise::error::Hint;
use likewise::eval::bootstrap::Estimate;
use serde::Serialize;

use super::Request;
use super::hold::Hold;
use super::page::Skipped;
use super::set::Set;
use super::store::{Kept, Store, check_folder};
use crate::environment::Environment;
use crate::{Error, Result, failed, usage};

/// A kind of experiment: what its file says, and how its cells are measured.
pub(super) trait Kind: Kept + Sized {
    /// A data set as the file says it.
    type Data: Set;

    fn read(path: &Path) -> Result<Self>;

    fn sets(&self) -> &[Self::Data];

    /// Computes the cells of a data set that are not there yet.
    fn fill(&self, data: &Self::Data, asked: &Asked, store: &mut Store<Self>) -> Result<()>;

    /// What was found, in numbers.
    fn found(&self, store: &Store<Self>) -> Result<Found>;

    /// Writes the page and its figures.
    fn publish(&self, store: &Store<Self>, skipped: &[Skipped]) -> Result<()>;
}

/// What is asked of the cells of a data set.
pub(super) struct Asked<'a> {
    pub(super) places: &'a [PathBuf],
    /// Draws, where others are asked for than the experiment says.
    pub(super) draws: Option<usize>,
    pub(super) at: &'a Environment<'a>,
}

impl Asked<'_> {
    /// Where a file of the experiment is.
    pub(super) fn find(&self, file: &Path) -> Option<PathBuf> {
        let places = self.places.iter().map(|folder| folder.join(file));
        places.into_iter().find(|place| place.exists())
    }
}

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
    #[serde(flatten)]
    found: Found,
}

/// The numbers of an answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Found {
    /// `data | method | setting` -> mean accuracy.
    Accuracy(BTreeMap<String, Average>),
    /// Data set -> method -> metric -> mean.
    Metrics(BTreeMap<String, BTreeMap<String, BTreeMap<String, Average>>>),
}

/// A mean over draws.
#[derive(Debug, Serialize)]
pub(super) struct Average {
    pub(super) mean: f64,
    /// Ends of its 95 % interval; `null` where there is none.
    pub(super) ci: Option<[f64; 2]>,
    pub(super) draws: usize,
}

impl Average {
    /// The mean of so many draws; an interval that is NaN is none.
    pub(super) fn of(mean: &Estimate, draws: usize) -> Self {
        Self {
            mean: mean.value,
            ci: (!mean.low.is_nan()).then_some([mean.low, mean.high]),
            draws,
        }
    }
}

impl Answer {
    /// Cells that were computed now, all that there are, and sets that were left out.
    pub fn counts(&self) -> [usize; 3] {
        [self.computed, self.cells, self.skipped.len()]
    }
}

/// Computes the cells of an experiment that are not there yet, and writes results and page.
pub(super) fn run<K: Kind>(request: &Request, at: &Environment) -> Result<Answer> {
    let experiment = K::read(&request.experiment)?;
    check_names(experiment.sets(), &request.only)?;
    let (folder, places) = (request.folder(), request.places());
    check_folder(&folder)?;
    let _hold = Hold::take(&folder)?;
    let mut store = Store::open(&folder, &experiment, at.monitor)?;
    let asked = Asked {
        places: &places,
        draws: request.draws.map(std::num::NonZeroUsize::get),
        at,
    };
    let mut skipped = Vec::new();
    for data in experiment.sets() {
        let reason = left_out(data, &request.only, &asked, at.monitor);
        if let Some(reason) = reason {
            if store.data(data.name()).is_none() {
                let name = data.name().to_owned();
                skipped.push(Skipped { name, reason });
            }
            continue;
        }
        if let Err(e) = experiment.fill(data, &asked, &mut store) {
            // What was reached is kept for the next time.
            if store.new > 0 {
                store.write(&experiment)?;
            }
            return Err(e.within(data.name()));
        }
    }
    if store.count() == 0 {
        return Err(none_here(&request.experiment, &places, &skipped));
    }
    store.write(&experiment)?;
    experiment.publish(&store, &skipped)?;
    Ok(Answer {
        title: experiment.head().title.clone(),
        folder,
        computed: store.new,
        cells: store.count(),
        skipped: (skipped.into_iter())
            .map(|set| (set.name, set.reason))
            .collect(),
        found: experiment.found(&store)?,
    })
}

/// Why a data set is not looked at, if it is not.
fn left_out<S: Set>(data: &S, only: &[String], asked: &Asked, monitor: &Monitor) -> Option<String> {
    if !only.is_empty() && !only.iter().any(|name| data.is_called(name)) {
        return Some("not asked for".into());
    }
    let files = data.files();
    let missing = files.iter().find(|file| asked.find(file).is_none())?;
    let reason = format!("{} is in none of the folders of data", missing.display());
    monitor.warn(format!("{} skipped: {reason}", data.name()));
    Some(reason)
}

/// Fails where no data set or group is called so.
fn check_names<S: Set>(sets: &[S], only: &[String]) -> Result<()> {
    let unknown = |name: &&String| !sets.iter().any(|data| data.is_called(name));
    let Some(name) = only.iter().find(unknown) else {
        return Ok(());
    };
    let names: Vec<&str> = sets.iter().map(Set::name).collect();
    Err(usage(format!(
        "{name}: no data set or group of this name; there are: {}",
        names.join(", ")
    )))
}

/// That no data set of an experiment is in any of the folders.
fn none_here(experiment: &Path, folders: &[PathBuf], skipped: &[Skipped]) -> Error {
    let looked = folders.iter().map(|folder| match folder.as_os_str() {
        here if here.is_empty() => ".".to_owned(),
        other => Path::new(other).display().to_string(),
    });
    let looked: Vec<String> = looked.collect();
    let first = skipped.first();
    let first = first.map(|set| format!(" (\"{}\": {})", set.name, set.reason));
    let message = format!(
        "{}: none of its data is here{}; looked in {}",
        experiment.display(),
        first.unwrap_or_default(),
        looked.join(", ")
    );
    failed(message).hint(Hint::NameData)
}
