//! A run is a folder: what `fit` leaves and the other verbs read.

mod lock;
mod parts;
mod work;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

use likewise::index::{Flat, Hit, Hnsw, HnswOptions, Index, measured_recall, nearest};
use likewise::{Collection, Monitor, distance::Metric, seed};
use likewise_io::atomic;
use likewise_io::items::ItemRow;
use likewise_nn::study::{Protocol, Study};
use likewise_nn::{Model, Recipe};
use ndarray::{Array2, ArrayView2, Axis};
use rand::seq::index::sample;
use serde::{Deserialize, Serialize};

use self::lock::Lock;
pub(crate) use self::parts::Parts;
use self::work::{COMPLETE, UNFINISHED, has_begun, move_up};
pub(crate) use self::work::{Origin, Rights, Work, begun};
use crate::args::IndexName;
use crate::data;
use crate::failure::Failure;

/// `config.json`: all choices, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Config {
    /// Version of the program that wrote it.
    pub(crate) version: String,
    /// View that was fitted on.
    pub(crate) view: String,
    /// Columns of that view.
    pub(crate) dimensions: usize,
    /// The recipe.
    pub(crate) recipe: Recipe,
    /// The protocol.
    pub(crate) protocol: Protocol,
}

/// `run.json`: how the run came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) version: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) data: String,
    pub(crate) data_sha256: String,
    pub(crate) items: usize,
    pub(crate) seconds: BTreeMap<String, f64>,
    /// The same time by stage of the work.
    #[serde(default)]
    pub(crate) stages: BTreeMap<String, f64>,
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) threads: usize,
    /// How the data were read; together with their digest it tells them from others.
    #[serde(default)]
    pub(crate) read_as: String,
    /// What tells the files of this run from those of another.
    #[serde(default)]
    pub(crate) parts: Parts,
}

/// `index/index.json`: what the index is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct IndexCard {
    /// `flat` or `hnsw`.
    pub(crate) kind: String,
    /// Indexed items.
    pub(crate) items: usize,
    /// Length of an embedding.
    pub(crate) dimensions: usize,
    /// Neighbours at which recall was measured.
    pub(crate) k: usize,
    /// Share of the true neighbours that it finds.
    pub(crate) recall: f64,
    /// Candidates that a search looks at (ef), chosen for a recall of .99; none for `flat`.
    #[serde(default)]
    pub(crate) effort: Option<usize>,
    /// Digest of the index file; none for `flat`, which has no file.
    pub(crate) sha256: Option<String>,
    /// What tells the embeddings that it was built of from others; none outside of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) embeddings: Option<String>,
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

/// `config.json` and `run.json`.
const CONFIG: &str = "config.json";
const RECORD: &str = "run.json";
const EMBEDDINGS: &str = "embeddings.npy";

/// The folder of a finished run.
#[derive(Debug, Clone)]
pub(crate) struct RunFolder {
    root: PathBuf,
    parts: Parts,
}

impl RunFolder {
    /// Whether a folder holds a finished run: its record says so, which no other program writes.
    pub(crate) fn is_run(path: &Path) -> bool {
        record(path).is_ok()
    }

    /// Whether a folder is meant to be a run, be it unfinished or damaged.
    pub(crate) fn is_meant(path: &Path) -> bool {
        let complete = path.join(COMPLETE).join(RECORD);
        path.join(RECORD).exists() || complete.exists() || has_begun(path)
    }

    /// The folder of a finished run.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if !Self::is_meant(path) {
            return Err(Failure::failed(format!(
                "{}: not a run; `likewise fit DATA -o {0}` makes one",
                path.display()
            )));
        }
        Ok(Self {
            root: path.to_owned(),
            parts: record(path)?.parts,
        })
    }

    /// The same, held against other writers until the lock is dropped.
    pub(crate) fn hold(path: &Path) -> Result<(Self, Lock), Failure> {
        Self::open(path)?;
        let lock = Lock::take(path)?;
        move_up(path)?;
        Ok((Self::open(path)?, lock))
    }

    pub(crate) fn record(&self) -> Result<Record, Failure> {
        record(&self.root)
    }

    /// Where a file of the run lies.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        place(&self.root, name)
    }

    /// The same, of a file that stands in the record: it must be that of this run.
    fn part(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.file(name);
        if let Some(mark) = self.parts.get(name)
            && parts::mark(&path)? != *mark
        {
            return Err(Failure::failed(format!(
                "{}: not the file that {RECORD} tells of: it is damaged, or of another run; fit \
                 again",
                path.display()
            )));
        }
        Ok(path)
    }

    /// Fails where a file that the record tells of is missing, damaged or of another run.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.parts
            .keys()
            .try_for_each(|name| self.part(name).map(drop))
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Failure> {
        let path = self.part(name)?;
        Ok(likewise_io::read_file(
            &path,
            likewise_io::memory::allowed(None),
        )?)
    }

    fn read_json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, Failure> {
        serde_json::from_slice(&self.read(name)?)
            .map_err(|e| Failure::failed(format!("{}: broken: {e}", self.file(name).display())))
    }

    pub(crate) fn config(&self) -> Result<Config, Failure> {
        self.read_json(CONFIG)
    }

    pub(crate) fn metrics(&self) -> Result<serde_json::Value, Failure> {
        self.read_json("metrics.json")
    }

    pub(crate) fn model(&self) -> Result<Model, Failure> {
        let config = self.config()?;
        let bytes = self.read("model.safetensors")?;
        Model::from_safetensors(&config.recipe, &bytes).map_err(|e| {
            Failure::failed(format!("{}: {e}", self.file("model.safetensors").display()))
        })
    }

    pub(crate) fn items(&self) -> Result<Vec<ItemRow>, Failure> {
        Ok(likewise_io::items::read(self.part("items.parquet")?)?)
    }

    pub(crate) fn embeddings(&self) -> Result<Array2<f32>, Failure> {
        Ok(likewise_io::read_matrix(self.part(EMBEDDINGS)?, None)?)
    }

    /// The embedding of one item, of which no others are read.
    pub(crate) fn embedding(&self, row: usize) -> Result<Array2<f32>, Failure> {
        let row = match self.mapped()? {
            Some(mapped) if row < mapped.view().nrows() => mapped.view().select(Axis(0), &[row]),
            _ => self.embeddings()?.select(Axis(0), &[row]),
        };
        Ok(row)
    }

    fn mapped(&self) -> Result<Option<likewise_io::Mapped>, Failure> {
        Ok(likewise_io::Mapped::npy(self.part(EMBEDDINGS)?)?)
    }

    /// The nearest of the `items` of this run to each query. A few queries compare with every
    /// item where it lies in its file: reading the index would take longer. Many are asked of
    /// the index, unless `exact`.
    pub(crate) fn search(
        &self,
        queries: ArrayView2<f32>,
        k: usize,
        items: usize,
        exact: bool,
        monitor: &Monitor,
    ) -> Result<Vec<Vec<Hit>>, Failure> {
        let card = self.index_card()?;
        let check = |held: usize| {
            if held == items {
                return Ok(());
            }
            Err(Failure::failed(format!(
                "{}: the index holds {held} items, the run {items}; build it anew with \
                 `likewise index {0}`",
                self.root.display(),
            )))
        };
        check(card.as_ref().map_or(items, |card| card.items))?;
        let own = self.parts.get(EMBEDDINGS);
        if let (Some(card), Some(own)) = (&card, own)
            && card.embeddings.as_ref() != Some(own)
        {
            return Err(Failure::failed(format!(
                "{}: the index is of other embeddings; build it anew with `likewise index {0}`",
                self.root.display(),
            )));
        }
        if queries.nrows() <= FEW_QUERIES
            && let Some(mapped) = self.mapped()?
        {
            check(mapped.view().nrows())?;
            return Ok(nearest(mapped.view(), queries, k, monitor)?);
        }
        let index = self.index(card.as_ref().filter(|_| !exact))?;
        check(index.len())?;
        Ok(index.search(queries, k, monitor)?)
    }

    /// What is asked for the nearest of many queries.
    pub(crate) fn index_kind(&self) -> Result<IndexName, Failure> {
        let card = self.index_card()?;
        let hnsw = card.is_some_and(|card| card.kind == "hnsw");
        Ok(if hnsw {
            IndexName::Hnsw
        } else {
            IndexName::Flat
        })
    }

    fn index_card(&self) -> Result<Option<IndexCard>, Failure> {
        if self.file("index/index.json").exists() {
            Ok(Some(self.read_json("index/index.json")?))
        } else {
            Ok(None)
        }
    }

    /// The index that this card describes, checked byte for byte; the exact one without.
    fn index(&self, card: Option<&IndexCard>) -> Result<Box<dyn Index>, Failure> {
        match card {
            Some(card) if card.kind == "hnsw" => {
                let path = self.file("index").join(HNSW_FILE);
                if Some(likewise_io::digest(&path)?) != card.sha256 {
                    return Err(Failure::failed(format!(
                        "{}: not the file that index.json describes; build it anew with \
                         `likewise index {}`",
                        path.display(),
                        self.root.display()
                    )));
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

fn record(root: &Path) -> Result<Record, Failure> {
    let path = place(root, RECORD);
    if !path.exists() && root.join(UNFINISHED).exists() {
        let shown = root.display();
        return Err(Failure::failed(format!(
            "{shown}: the run is not finished: go on with `likewise fit ... -o {shown} --resume`"
        )));
    }
    let bytes = likewise_io::read_file(&path, data::MOST_TEXT)?;
    serde_json::from_slice(&bytes)
        .map_err(|e| Failure::failed(format!("{}: broken: {e}", path.display())))
}

/// Writes everything that a study leaves, but for `run.json`, which comes last.
pub(crate) fn save(to: &Work, study: &Study, collection: &Collection) -> Result<(), Failure> {
    to.write("model.safetensors", &study.model.to_safetensors()?)?;
    likewise_io::items::write(to.file("items.parquet"), &rows(study, collection))?;
    likewise_io::write_npy(to.file(EMBEDDINGS), study.embeddings.view())?;
    let ids: Vec<String> = study
        .train
        .iter()
        .map(|&i| collection.ids()[i].clone())
        .collect();
    likewise_io::beliefs::write(to.file("beliefs.npz"), &study.beliefs, &study.classes, &ids)?;
    to.write_json("metrics.json", &study.results)
}

/// Whether both are the same folder.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| {
        let here = path.as_os_str().is_empty();
        std::fs::canonicalize(if here { Path::new(".") } else { path }).ok()
    };
    whole(a).is_some() && whole(a) == whole(b)
}

/// Whether this is a file of a run, or of its index.
pub(crate) fn is_part(path: &Path) -> bool {
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
pub(crate) fn suitable(items: usize) -> IndexName {
    if items >= APPROXIMATE_FROM {
        IndexName::Hnsw
    } else {
        IndexName::Flat
    }
}

/// Builds an index, measures its recall and writes both into `folder`; `of_run` is the file of
/// the embeddings, where they belong to a run.
pub(crate) fn write_index(
    folder: &Path,
    (embeddings, of_run): (ArrayView2<f32>, Option<&Path>),
    kind: IndexName,
    k: usize,
    seed: u64,
    monitor: &Monitor,
) -> Result<IndexCard, Failure> {
    let card = folder.join("index.json");
    let foreign = |path: &Path| {
        Failure::usage(format!(
            "{}: not of an index of ours; name another folder",
            path.display()
        ))
    };
    if !card.exists() && folder.join(HNSW_FILE).exists() {
        return Err(foreign(&folder.join(HNSW_FILE)));
    }
    if card.exists() {
        let text = likewise_io::read_file(&card, data::MOST_TEXT)?;
        if serde_json::from_slice::<IndexCard>(&text).is_err() {
            return Err(foreign(&card));
        }
    }
    std::fs::create_dir_all(folder)
        .map_err(|e| Failure::failed(format!("{}: {e}", folder.display())))?;
    let n = embeddings.nrows();
    let mut card = IndexCard {
        kind: "flat".into(),
        items: n,
        dimensions: embeddings.ncols(),
        k,
        recall: 1.0,
        effort: None,
        sha256: None,
        embeddings: of_run.map(parts::mark).transpose()?,
    };
    if kind == IndexName::Hnsw {
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
        let bytes = index.to_bytes()?;
        let path = folder.join(HNSW_FILE);
        atomic::write(&path, |file| Ok(file.write_all(&bytes)?))?;
        card.sha256 = Some(likewise_io::digest(&path)?);
    }
    let mut json = serde_json::to_string_pretty(&card)?;
    json.push('\n');
    atomic::write(folder.join("index.json"), |file| {
        Ok(file.write_all(json.as_bytes())?)
    })?;
    if card.sha256.is_none() {
        // One of an older index; where it stays it is not read.
        let _ = std::fs::remove_file(folder.join(HNSW_FILE));
    }
    Ok(card)
}

fn rows(study: &Study, collection: &Collection) -> Vec<ItemRow> {
    let mut rows: Vec<ItemRow> = (0..collection.len())
        .map(|i| ItemRow {
            id: collection.ids()[i].clone(),
            label: collection
                .labels
                .as_ref()
                .and_then(|labels| match labels[i] {
                    likewise::Label::Known(c) => Some(labels.classes()[c as usize].clone()),
                    likewise::Label::Outside => Some("outside".into()),
                    likewise::Label::Unknown => None,
                }),
            split: Some(study.parts[i]),
            ..ItemRow::default()
        })
        .collect();
    for (row, &item) in study.train.iter().enumerate() {
        rows[item].pseudo_label =
            study.beliefs.pseudo_label[row].map(|c| study.classes[c as usize].clone());
        rows[item].confidence = Some(study.beliefs.confidence[row]);
    }
    rows
}

/// Most memory that this process has held, where the system tells.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}
