//! A run is a folder: what `fit` leaves and the other verbs read.

mod across;
mod amend;
mod exchange;
mod fitted;
mod gallery;
mod index;
mod index_folder;
mod links;
pub(crate) mod lock;
mod models;
mod output;
mod parts;
mod record;
mod save;
mod searched;
mod work;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use likewise::error::Hint;
use likewise::index::{Hit, Kind as IndexKind};
use likewise::{Collection, Label, Monitor, Similarity};
use likewise_image::Vocabulary;
use likewise_io::items::ItemRow;
use likewise_nn::Model;
use ndarray::{Array2, ArrayView2, Axis};

pub use self::across::{AcrossFolder, open_across, save_across};
pub(crate) use self::amend::Amendment;
use self::exchange::{COMPLETE, UNFINISHED, move_up};
pub use self::exchange::{are_of_others, begun, has_begun};
use self::gallery::Gallery;
pub use self::index::{IndexCard, build_index, suitable, write_index};
pub use self::index_folder::IndexFolder;
use self::lock::Lock;
pub(crate) use self::models::GRAPH;
pub use self::models::{Kept, Models};
pub use self::output::{check_apart, check_ending, check_output, ending_of, is_part, is_same};
pub use self::parts::Parts;
use self::record::{CODES, CONFIG, EMBEDDINGS, RECORD, WORDS};
pub use self::record::{Config, Origin, Record, SEVERAL_LABELS, data_alone};
pub(crate) use self::record::{DataOf, have_same_items};
pub use self::save::save;
pub use self::searched::Searched;
pub use self::work::{Rights, Work};
use crate::recipe::Learner;
use crate::source::Encoded;
use crate::study::Results;
use crate::{Result, failed};

/// How the files of a run call items that are known to be none of the classes.
pub(crate) use likewise::eval::by_class::OUTSIDE;

fn warn_of_aside(aside: &Path, monitor: &Monitor) {
    monitor.warn(format!(
        "labels that were given to the run of other data that stood here are in {} now",
        aside.display()
    ));
}

/// Ids and labels of the items of some data.
pub fn rows_of(collection: &Collection) -> Vec<ItemRow> {
    let name = |item: usize| {
        let labels = collection.labels.as_ref()?;
        match labels[item] {
            Label::Known(class) => Some(labels.classes()[class as usize].clone()),
            Label::Outside => Some(OUTSIDE.to_owned()),
            Label::Unknown => None,
        }
    };
    let rows = (collection.ids().iter().enumerate()).map(|(item, id)| ItemRow {
        id: id.clone(),
        label: name(item),
        ..ItemRow::default()
    });
    rows.collect()
}

/// How often a run may be replaced while it is read.
const EXCHANGES: usize = 20;

/// Whether a run is just taking the place of another one, and what tells its files from others.
fn state(path: &Path) -> (bool, Option<Parts>) {
    let exchange = path.join(COMPLETE).exists();
    (exchange, record(path).ok().map(|record| record.parts))
}

/// What `read` gives of the run at a path, once no other run takes its place meanwhile.
fn read_with<T>(path: &Path, read: impl Fn() -> Result<T>) -> Result<T> {
    // An exchange takes milliseconds; more than a few in a row is something else.
    for _ in 0..EXCHANGES {
        let before = state(path);
        let done = read();
        if done.is_ok() || (before == state(path) && !before.0) {
            return done;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    read()
}

/// The folder of a finished run.
#[derive(Debug, Clone)]
pub struct RunFolder {
    root: PathBuf,
    parts: Parts,
}

impl RunFolder {
    /// Whether a folder holds a finished run: its record says so, which no other program writes.
    pub fn is_run(path: &Path) -> bool {
        record(path).is_ok()
    }

    /// Whether a folder is meant to be a run, be it unfinished or damaged.
    pub fn is_meant(path: &Path) -> bool {
        let complete = path.join(COMPLETE).join(RECORD);
        path.join(RECORD).exists() || complete.exists() || has_begun(path)
    }

    /// Whether a folder was a run, but for the record that says so.
    pub fn has_lost_its_record(path: &Path) -> bool {
        let parts = [CONFIG, "metrics.json", "README.md"];
        !Self::is_meant(path) && parts.iter().all(|part| path.join(part).exists())
    }

    /// The folder of a finished run within one view. Fails on one [across](AcrossFolder) views.
    pub fn open(path: &Path) -> Result<Self> {
        let run = Self::open_any(path)?;
        let views = run.record()?.views;
        if views.is_empty() {
            return Ok(run);
        }
        Err(failed(format!(
            "{}: the run searches from one view to another ({}), so it has no embeddings of one \
             kind; search and eval read it",
            path.display(),
            views.join(", ")
        )))
    }

    /// The folder of a finished run of either kind.
    pub(crate) fn open_any(path: &Path) -> Result<Self> {
        if !Self::is_meant(path) {
            let message = format!("{}: not a run", path.display());
            return Err(failed(message).hint(Hint::Fit));
        }
        Ok(Self {
            root: path.to_owned(),
            parts: record(path)?.parts,
        })
    }

    /// What `work` makes of the run in a folder. Where another run takes its place meanwhile, the
    /// work begins anew, on that one.
    pub fn read_by<T>(path: &Path, work: impl Fn(&Self) -> Result<T>) -> Result<T> {
        read_with(path, || Self::open(path).and_then(|run| work(&run)))
    }

    /// The same, held against other writers until the lock is dropped.
    pub fn hold(path: &Path) -> Result<(Self, Lock)> {
        Self::open(path)?;
        let lock = Lock::take(path)?;
        links::check_none(path)?;
        move_up(path, None)?;
        Ok((Self::open(path)?, lock))
    }

    /// Moves up what a killed process has left of a complete run, unless another one works there; says where labels are
    /// then that were given to a run of other data.
    ///
    /// Fails where the folder cannot be written.
    pub fn settle(path: &Path, monitor: &Monitor) -> Result<()> {
        if !path.join(COMPLETE).exists() {
            return Ok(());
        }
        let Ok(_lock) = Lock::take(path) else {
            return Ok(());
        };
        links::check_none(path)?;
        if let Some(aside) = move_up(path, None)? {
            warn_of_aside(&aside, monitor);
        }
        Ok(())
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `run.json`. Fails where it is damaged.
    pub fn record(&self) -> Result<Record> {
        record(&self.root)
    }

    /// Where a file of the run lies.
    pub fn file(&self, name: &str) -> PathBuf {
        place(&self.root, name)
    }

    /// The same, of a file that stands in the record: it must be that of this run.
    pub(crate) fn part(&self, name: &str) -> Result<PathBuf> {
        let path = self.file(name);
        if let Some(mark) = self.parts.get(name)
            && parts::mark(&path)? != *mark
        {
            return Err(failed(format!(
                "{}: not the file that {RECORD} tells of: it is damaged, or of another run; fit \
                 again",
                path.display()
            )));
        }
        Ok(path)
    }

    /// Fails where a file that the record tells of is missing, damaged or of another run.
    pub fn check(&self) -> Result<()> {
        self.parts
            .keys()
            .try_for_each(|name| self.part(name).map(drop))
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.part(name)?;
        Ok(likewise_io::read_file(
            &path,
            likewise_io::memory::allowed(None),
        )?)
    }

    fn read_json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T> {
        serde_json::from_slice(&self.read(name)?)
            .map_err(|e| failed(format!("{}: broken: {e}", self.file(name).display())))
    }

    /// `config.json`. Fails where it is damaged or of another run.
    pub fn config(&self) -> Result<Config> {
        self.read_json(CONFIG)
    }

    /// The words of the descriptors of points that made the features. Fails where they are damaged
    /// or of another run.
    pub fn vocabularies(&self) -> Result<Vec<Arc<Vocabulary>>> {
        let mut all = Vec::new();
        for encoded in self.config()?.encoder {
            let Encoded::Descriptor {
                descriptor,
                words: Some(digest),
            } = encoded
            else {
                continue;
            };
            let path = self.file(&words_of(descriptor.name()));
            let words = Vocabulary::open(&path)?;
            if *words.descriptor() != descriptor || words.digest() != digest {
                return Err(failed(format!(
                    "{}: not the words that {CONFIG} tells of: damaged, or of another run; fit \
                     again",
                    path.display()
                )));
            }
            all.push(Arc::new(words));
        }
        Ok(all)
    }

    /// `metrics.json`. Fails where it is damaged or of another run.
    pub fn metrics(&self) -> Result<Results> {
        let broken = |e: &dyn std::fmt::Display| {
            failed(format!("{}: {e}", self.file("metrics.json").display()))
        };
        let bytes = self.read("metrics.json")?;
        let text = std::str::from_utf8(&bytes).map_err(|e| broken(&e))?;
        Results::read(text).map_err(|e| broken(&e))
    }

    /// The fitted model. Fails where it is damaged or of another run.
    pub fn model(&self) -> Result<Model> {
        let bytes = self.read("model.safetensors")?;
        Model::open(&bytes).map_err(|e| e.within(self.file("model.safetensors").display()))
    }

    /// Ids, labels and beliefs of the items. Fails where they are damaged or of another run.
    pub fn items(&self) -> Result<Vec<ItemRow>> {
        Ok(likewise_io::items::read(self.part("items.parquet")?)?)
    }

    /// Embeddings of the items. Fails where they are damaged or of another run.
    pub fn embeddings(&self) -> Result<Array2<f32>> {
        Ok(likewise_io::read_matrix(self.part(EMBEDDINGS)?, None)?)
    }

    /// What tells the items and their rows, or those of one view of them, from others.
    pub(crate) fn mark_of_rows(&self, view: &str) -> Result<String> {
        let mut all = view.to_owned();
        for name in [EMBEDDINGS, CODES, "items.parquet"] {
            let path = self.file(name);
            if path.exists() {
                all.extend(["\n", name, " ", &parts::mark(&path)?]);
            }
        }
        let digest = likewise_io::digest_parts(std::iter::once(all.as_bytes()));
        Ok(digest[..32].to_owned())
    }

    /// The embedding of one item, of which no others are read.
    pub fn embedding(&self, row: usize) -> Result<Array2<f32>> {
        let row = match self.mapped()? {
            Some(mapped) if row < mapped.view().nrows() => mapped.view().select(Axis(0), &[row]),
            _ => self.embeddings()?.select(Axis(0), &[row]),
        };
        Ok(row)
    }

    fn mapped(&self) -> Result<Option<likewise_io::Mapped>> {
        Ok(likewise_io::Mapped::npy(self.part(EMBEDDINGS)?)?)
    }

    /// The nearest of the `items` of this run to each query. A few queries compare with every
    /// item where it lies in its file: reading the index would take longer. Many are asked of
    /// the index, unless `exact`.
    ///
    /// The queries are rows as the model embeds them, whatever its similarity: a bilinear form is applied here. An
    /// [index](likewise::index::Index) of rows, which knows no model, takes rows
    /// [as they ask](likewise::similarity::Similarity::asking) instead.
    pub fn search(
        &self,
        queries: ArrayView2<f32>,
        k: usize,
        items: usize,
        exact: bool,
        monitor: &Monitor,
    ) -> Result<Vec<Vec<Hit>>> {
        self.gallery()?.search(queries, k, items, exact, monitor)
    }

    /// What is searched of the run, kept open for one query after another.
    ///
    /// Fails where it is damaged or of another run than its `items`.
    pub fn searched(&self, items: usize) -> Result<Searched> {
        Searched::open(&self.gallery()?, items)
    }

    /// What tells the files of the run in a folder, of either kind, from those of another.
    pub fn read_parts(path: &Path) -> Result<Parts> {
        Ok(record(path)?.parts)
    }

    /// How the embeddings of the run compare.
    pub fn similarity(&self) -> Result<Similarity> {
        // What gradients made compares by its cosine, and may be large to read.
        match self.config()?.recipe.learner {
            Learner::Gradient(_) => Ok(Similarity::Cosine),
            Learner::Closed(_) | Learner::Cross(_) => Ok(self.model()?.similarity()),
        }
    }

    fn gallery(&self) -> Result<Gallery> {
        Ok(Gallery {
            similarity: self.similarity()?,
            root: self.root.clone(),
            embeddings: self.part(EMBEDDINGS)?,
            index: self.file("index"),
            own: self.parts.get(EMBEDDINGS).cloned(),
        })
    }

    /// What is asked for the nearest of many queries.
    pub fn index_kind(&self) -> Result<IndexKind> {
        self.gallery()?.kind()
    }
}

/// The file of the words of a descriptor.
fn words_of(descriptor: &str) -> String {
    format!("{WORDS}/{descriptor}.safetensors")
}

/// The place of a file of a run: below, while a new run has not moved up altogether.
fn place(root: &Path, name: &str) -> PathBuf {
    let complete = root.join(COMPLETE);
    let below = complete.join(name);
    // A folder of somebody else's may have this name.
    if below.exists() && complete.join(RECORD).exists() {
        below
    } else {
        root.join(name)
    }
}

fn record(root: &Path) -> Result<Record> {
    let path = place(root, RECORD);
    if !path.exists() && root.join(UNFINISHED).exists() {
        let shown = root.display();
        return Err(failed(format!("{shown}: the run is not finished")).hint(Hint::Unfinished));
    }
    let bytes = likewise_io::read_file(&path, crate::text::MOST)?;
    serde_json::from_slice(&bytes).map_err(|e| failed(format!("{}: broken: {e}", path.display())))
}

/// Most memory that this process has held, where the system tells.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
