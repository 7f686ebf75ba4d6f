//! A run is a folder: what `fit` leaves and the other verbs read.

use std::collections::BTreeMap;
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

use crate::args::IndexName;
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
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    pub(crate) version: &'static str,
    pub(crate) arguments: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) data: String,
    pub(crate) data_sha256: String,
    pub(crate) items: usize,
    pub(crate) seconds: BTreeMap<&'static str, f64>,
    /// The same time by stage of the work.
    pub(crate) stages: BTreeMap<String, f64>,
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) threads: usize,
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

/// The folder of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunFolder(pub(crate) PathBuf);

impl RunFolder {
    /// Makes the folder for a new run. A folder that holds something else is refused.
    pub(crate) fn create(path: &Path, resume: bool) -> Result<Self, Failure> {
        let folder = Self(path.to_owned());
        let shown = path.display();
        let cannot = |e: std::io::Error| Failure::failed(format!("{shown}: {e}"));
        if path.exists() {
            let mut entries = std::fs::read_dir(path).map_err(cannot)?;
            let ours = ["config.json", "run.json"];
            if entries.next().is_some() && !ours.iter().any(|file| path.join(file).exists()) {
                return Err(Failure::usage(format!(
                    "{shown} holds something else than a run; name another folder"
                )));
            }
        }
        std::fs::create_dir_all(folder.checkpoints()).map_err(cannot)?;
        if !resume {
            std::fs::remove_dir_all(folder.checkpoints()).map_err(cannot)?;
            std::fs::create_dir_all(folder.checkpoints()).map_err(cannot)?;
        }
        // Results of an older run must not stand beside those of this one, nor its events,
        // which TensorBoard would show as if they were of this one.
        if !resume && folder.config().is_ok() {
            match std::fs::remove_dir_all(folder.file("events")) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(cannot(e)),
                _ => {}
            }
        }
        for file in ["run.json", "metrics.json", "report.html"] {
            match std::fs::remove_file(path.join(file)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(cannot(e)),
                _ => {}
            }
        }
        folder.sweep();
        Ok(folder)
    }

    /// Removes temporary files that a killed process left.
    fn sweep(&self) {
        for folder in [self.0.clone(), self.checkpoints(), self.0.join("index")] {
            let Ok(entries) = std::fs::read_dir(folder) else {
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                if name.starts_with('.') && name.ends_with(".part") {
                    // One that stays does no harm.
                    let _ = std::fs::remove_file(entry.path());
                }
            }
        }
    }

    /// Takes back what stands there when the work cannot be done at all.
    pub(crate) fn abandon(&self) {
        // Whatever cannot be removed does no harm: a new run replaces it.
        let _ = std::fs::remove_dir_all(self.checkpoints());
        let _ = std::fs::remove_file(self.file("config.json"));
        let _ = std::fs::remove_dir(&self.0);
    }

    /// The folder of an existing run.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        if path.join("config.json").is_file() {
            return Ok(Self(path.to_owned()));
        }
        Err(Failure::failed(format!(
            "{}: not a run; `likewise fit DATA -o {0}` makes one",
            path.display()
        )))
    }

    pub(crate) fn checkpoints(&self) -> PathBuf {
        self.0.join("checkpoints")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(value)?;
        text.push('\n');
        self.write(name, text.as_bytes())
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        Ok(atomic::write(self.file(name), |file| {
            Ok(file.write_all(bytes)?)
        })?)
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Failure> {
        let path = self.file(name);
        std::fs::read(&path).map_err(|e| {
            let unfinished = if e.kind() == std::io::ErrorKind::NotFound {
                "; the run is not finished: go on with `likewise fit ... --resume`"
            } else {
                ""
            };
            Failure::failed(format!("{}: {e}{unfinished}", path.display()))
        })
    }

    fn read_json<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, Failure> {
        serde_json::from_slice(&self.read(name)?)
            .map_err(|e| Failure::failed(format!("{}: broken: {e}", self.file(name).display())))
    }

    pub(crate) fn config(&self) -> Result<Config, Failure> {
        self.read_json("config.json")
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
        Ok(likewise_io::items::read(self.file("items.parquet"))?)
    }

    pub(crate) fn embeddings(&self) -> Result<Array2<f32>, Failure> {
        Ok(likewise_io::read_matrix(self.file("embeddings.npy"), None)?)
    }

    /// Writes everything that a study leaves, but for `run.json`, which comes last.
    pub(crate) fn save(&self, study: &Study, collection: &Collection) -> Result<(), Failure> {
        self.write("model.safetensors", &study.model.to_safetensors()?)?;
        likewise_io::items::write(self.file("items.parquet"), &rows(study, collection))?;
        likewise_io::write_npy(self.file("embeddings.npy"), study.embeddings.view())?;
        let ids: Vec<String> = study
            .train
            .iter()
            .map(|&i| collection.ids()[i].clone())
            .collect();
        likewise_io::beliefs::write(
            self.file("beliefs.npz"),
            &study.beliefs,
            &study.classes,
            &ids,
        )?;
        self.write_json("metrics.json", &study.results)
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
        Ok(likewise_io::Mapped::npy(self.file("embeddings.npy"))?)
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
                self.0.display(),
            )))
        };
        check(card.as_ref().map_or(items, |card| card.items))?;
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
                        self.0.display()
                    )));
                }
                let bytes = std::fs::read(&path)?;
                Ok(Box::new(Hnsw::from_bytes(&bytes)?))
            }
            _ => Ok(Box::new(Flat::new(
                self.embeddings()?.view(),
                Metric::Cosine,
            )?)),
        }
    }
}

/// The kind of index that suits a collection of this size.
pub(crate) fn suitable(items: usize) -> IndexName {
    if items >= APPROXIMATE_FROM {
        IndexName::Hnsw
    } else {
        IndexName::Flat
    }
}

/// Builds an index, measures its recall and writes both into `folder`.
pub(crate) fn write_index(
    folder: &Path,
    embeddings: ArrayView2<f32>,
    kind: IndexName,
    k: usize,
    seed: u64,
    monitor: &Monitor,
) -> Result<IndexCard, Failure> {
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
