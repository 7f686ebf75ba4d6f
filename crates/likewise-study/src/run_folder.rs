//! A run is a folder: what `fit` leaves and the other verbs read.

mod exchange;
pub(crate) mod lock;
mod parts;
mod record;
mod save;
mod work;

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

use likewise::error::Hint;
use likewise::index::{
    Flat, Hit, Hnsw, HnswOptions, Index, Kind as IndexKind, measured_recall, nearest,
};
use likewise::{Monitor, distance::Metric, seed};
use likewise_io::atomic;
use likewise_io::items::ItemRow;
use likewise_nn::Model;
use ndarray::{Array2, ArrayView2, Axis};
use rand::seq::index::sample;
use serde::{Deserialize, Serialize};

pub use self::exchange::begun;
use self::exchange::{COMPLETE, UNFINISHED, has_begun, move_up};
use self::lock::Lock;
pub use self::parts::Parts;
use self::record::{CONFIG, EMBEDDINGS, RECORD};
pub use self::record::{Config, Origin, Record};
pub use self::save::save;
pub use self::work::{Rights, Work};
use crate::study::Results;
use crate::{Result, failed, no_json, usage};

/// `index/index.json`: what the index is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexCard {
    /// `flat` or `hnsw`.
    pub kind: String,
    /// Indexed items.
    pub items: usize,
    /// Length of an embedding.
    pub dimensions: usize,
    /// Neighbours at which recall was measured.
    pub k: usize,
    /// Share of the true neighbours that it finds.
    pub recall: f64,
    /// Candidates that a search looks at (ef), chosen for a recall of .99; none for `flat`.
    #[serde(default)]
    pub effort: Option<usize>,
    /// Digest of the index file; none for `flat`, which has no file.
    pub sha256: Option<String>,
    /// Digest of the index file that stood here before, where another takes its place: a writer
    /// that is killed in between leaves it, and it is ours all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// What tells the embeddings that it was built of from others; none outside of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embeddings: Option<String>,
}

/// From this many items on, `fit` builds an approximate index. Below, comparing with every
/// item takes about ten milliseconds a query, and nothing need be built nor read.
const APPROXIMATE_FROM: usize = 200_000;
/// Share of the true neighbours that an approximate index should find.
const RECALL: f64 = 0.99;
/// Most queries that are compared with every item rather than asked of an index that must be
/// read first.
const FEW_QUERIES: usize = 16;

const HNSW_FILE: &str = "hnsw.usearch";

/// How often a run may be replaced while it is read.
const EXCHANGES: usize = 20;

/// Whether a run is just taking the place of another one, and what tells its files from others.
fn state(path: &Path) -> (bool, Option<Parts>) {
    let exchange = path.join(COMPLETE).exists();
    (exchange, record(path).ok().map(|record| record.parts))
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

    /// The folder of a finished run.
    pub fn open(path: &Path) -> Result<Self> {
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
        // An exchange takes milliseconds; more than a few in a row is something else.
        for _ in 0..EXCHANGES {
            let before = state(path);
            let done = Self::open(path).and_then(|run| work(&run));
            if done.is_ok() || (before == state(path) && !before.0) {
                return done;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        work(&Self::open(path)?)
    }

    /// The same, held against other writers until the lock is dropped.
    pub fn hold(path: &Path) -> Result<(Self, Lock)> {
        Self::open(path)?;
        let lock = Lock::take(path)?;
        move_up(path)?;
        Ok((Self::open(path)?, lock))
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
    fn part(&self, name: &str) -> Result<PathBuf> {
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
    pub fn search(
        &self,
        queries: ArrayView2<f32>,
        k: usize,
        items: usize,
        exact: bool,
        monitor: &Monitor,
    ) -> Result<Vec<Vec<Hit>>> {
        let card = self.index_card()?;
        let check = |held: usize| {
            if held == items {
                return Ok(());
            }
            let message = format!(
                "{}: the index holds {held} items, the run {items}",
                self.root.display(),
            );
            Err(failed(message).hint(Hint::Index))
        };
        check(card.as_ref().map_or(items, |card| card.items))?;
        let own = self.parts.get(EMBEDDINGS);
        if let (Some(card), Some(own)) = (&card, own)
            && card.embeddings.as_ref() != Some(own)
        {
            let message = format!("{}: the index is of other embeddings", self.root.display());
            return Err(failed(message).hint(Hint::Index));
        }
        if queries.nrows() <= FEW_QUERIES
            && let Some(mapped) = self.mapped()?
        {
            check(mapped.view().nrows())?;
            return nearest(mapped.view(), queries, k, monitor);
        }
        let index = self.index(card.as_ref().filter(|_| !exact))?;
        check(index.len())?;
        index.search(queries, k, monitor)
    }

    /// What is asked for the nearest of many queries.
    pub fn index_kind(&self) -> Result<IndexKind> {
        let card = self.index_card()?;
        let hnsw = card.is_some_and(|card| card.kind == "hnsw");
        Ok(if hnsw {
            IndexKind::Hnsw
        } else {
            IndexKind::Flat
        })
    }

    fn index_card(&self) -> Result<Option<IndexCard>> {
        if self.file("index/index.json").exists() {
            Ok(Some(self.read_json("index/index.json")?))
        } else {
            Ok(None)
        }
    }

    /// The index that this card describes, checked byte for byte; the exact one without.
    fn index(&self, card: Option<&IndexCard>) -> Result<Box<dyn Index>> {
        match card {
            Some(card) if card.kind == "hnsw" => {
                let path = self.file("index").join(HNSW_FILE);
                if Some(likewise_io::digest(&path)?) != card.sha256 {
                    let message =
                        format!("{}: not the file that index.json describes", path.display());
                    return Err(failed(message).hint(Hint::Index));
                }
                let bytes = likewise_io::read_file(&path, likewise_io::memory::allowed(None))?;
                Ok(Box::new(Hnsw::from_bytes(&bytes)?))
            }
            _ => Ok(Box::new(Flat::new(
                self.embeddings()?.view(),
                Metric::Cosine,
            )?)),
        }
    }
}

/// The place of a file of a run: below, while a new run has not moved up altogether.
fn place(root: &Path, name: &str) -> PathBuf {
    let below = root.join(COMPLETE).join(name);
    if below.exists() {
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

/// Whether both are the same folder.
pub fn is_same(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| {
        let here = path.as_os_str().is_empty();
        std::fs::canonicalize(if here { Path::new(".") } else { path }).ok()
    };
    whole(a).is_some() && whole(a) == whole(b)
}

/// Refuses an output that is one of the inputs, which would be gone, or a part of a run.
pub fn check_output(out: Option<&Path>, inputs: &[Option<&Path>]) -> Result<()> {
    let Some(out) = out else { return Ok(()) };
    if is_part(out) {
        return Err(usage(format!(
            "{}: this belongs to the run in its folder; name another file",
            out.display()
        )));
    }
    for input in inputs.iter().flatten() {
        if atomic::same_file(out, input) {
            return Err(usage(format!(
                "{}: this is read, so it cannot be written too; name another file",
                out.display()
            )));
        }
    }
    Ok(())
}

/// Whether this is a file of a run, or of its index.
pub fn is_part(path: &Path) -> bool {
    let within = |folder: Option<&Path>| {
        folder.is_some_and(|folder| {
            let here = folder.as_os_str().is_empty();
            RunFolder::is_meant(if here { Path::new(".") } else { folder })
        })
    };
    let name = path.file_name().unwrap_or_default();
    let own = [
        CONFIG,
        RECORD,
        EMBEDDINGS,
        "model.safetensors",
        "items.parquet",
        "beliefs.npz",
        "metrics.json",
        "report.html",
        "README.md",
    ];
    let folder = path.parent();
    let of_index = folder.is_some_and(|folder| {
        folder.file_name() == Some(OsStr::new("index")) && within(folder.parent())
    });
    of_index || own.iter().any(|own| name == *own) && within(folder)
}

/// The kind of index that suits a collection of this size.
pub fn suitable(items: usize) -> IndexKind {
    if items >= APPROXIMATE_FROM {
        IndexKind::Hnsw
    } else {
        IndexKind::Flat
    }
}

/// Builds an index, measures its recall and writes both into `folder`; `of_run` is the file of
/// the embeddings, where they belong to a run.
pub fn write_index(
    folder: &Path,
    (embeddings, of_run): (ArrayView2<f32>, Option<&Path>),
    kind: IndexKind,
    k: usize,
    seed: u64,
    monitor: &Monitor,
) -> Result<IndexCard> {
    // Before the work, which takes a while.
    old_index(folder)?;
    atomic::make_folder(folder)?;
    let n = embeddings.nrows();
    let mut card = IndexCard {
        kind: "flat".into(),
        items: n,
        dimensions: embeddings.ncols(),
        k,
        recall: 1.0,
        effort: None,
        sha256: None,
        replaced: None,
        embeddings: of_run.map(parts::mark).transpose()?,
    };
    let mut bytes = Vec::new();
    if kind == IndexKind::Hnsw {
        let mut index = Hnsw::build(embeddings, HnswOptions::default(), monitor)?;
        let mut rng = seed::stream(seed, "recall sample");
        let mut asked = sample(&mut rng, n, n.min(1000)).into_vec();
        asked.sort_unstable();
        // Some choose the effort of a search, the others measure the recall.
        let every_other =
            |first: usize| -> Vec<usize> { asked.iter().copied().skip(first).step_by(2).collect() };
        let (choose, measure) = (every_other(usize::from(n > 1)), every_other(0));
        let exact = Flat::new(embeddings, Metric::Cosine)?;
        let queries = embeddings.select(Axis(0), &choose);
        // A little more than is asked for: another sample may do worse.
        let wanted = RECALL + (1.0 - RECALL) / 4.0;
        index.tune(&exact, queries.view(), k, wanted, monitor)?;
        card.effort = Some(index.search_effort());
        let queries = embeddings.select(Axis(0), &measure);
        card.recall = measured_recall(&index, &exact, queries.view(), k, monitor)?;
        card.kind = "hnsw".into();
        // The bytes are as much once more.
        drop(exact);
        bytes = index.to_bytes()?;
        let digest = likewise_io::digest_parts(std::iter::once(bytes.as_slice()));
        card.sha256 = Some(digest);
    }
    card.replaced = old_index(folder)?.filter(|old| card.sha256.as_ref() != Some(old));
    let mut json = serde_json::to_string_pretty(&card).map_err(no_json)?;
    json.push('\n');
    // First the card: it knows the old file and the new one, so that either is known for ours.
    atomic::write(folder.join("index.json"), |file| {
        Ok(file.write_all(json.as_bytes())?)
    })?;
    let path = folder.join(HNSW_FILE);
    if card.sha256.is_some() {
        atomic::write(path, |file| Ok(file.write_all(&bytes)?))?;
    } else if card.replaced.is_some() {
        // Where it stays it is not read.
        let _ = std::fs::remove_file(path);
    }
    Ok(card)
}

/// Digest of the index file that stands in `folder`, if one does.
///
/// Fails where a file of such a name is not one that we wrote: it would be lost.
fn old_index(folder: &Path) -> Result<Option<String>> {
    let (card, path) = (folder.join("index.json"), folder.join(HNSW_FILE));
    let foreign = |path: &Path| {
        usage(format!(
            "{}: not of an index of ours, and would be replaced; move it elsewhere, or name \
             another folder",
            path.display()
        ))
    };
    let known = if card.exists() {
        let text = likewise_io::read_file(&card, crate::text::MOST)?;
        let card: IndexCard = serde_json::from_slice(&text).map_err(|_| foreign(&card))?;
        [card.sha256, card.replaced]
    } else {
        [None, None]
    };
    // Also a link that leads nowhere.
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let digest = likewise_io::digest(&path)?;
    if !known.iter().flatten().any(|known| *known == digest) {
        return Err(foreign(&path));
    }
    Ok(Some(digest))
}

/// Most memory that this process has held, where the system tells.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
