//! A search index, built of a run or of embeddings alone.

use std::path::{Path, PathBuf};

use likewise::distance::Metric;
use likewise::index::Kind;
use likewise_io::items::ItemRow;

use crate::environment::Environment;
use crate::estimate::Estimate;
use crate::run_folder::{IndexCard, IndexFolder, RunFolder, check_output, rows_of, write_index};
use crate::source::{ReadAs, Source};
use crate::{Error, Result, usage};

/// Neighbours at which recall is measured, unless another number is asked for.
const RECALL_AT: usize = 10;

/// An index that is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Folder of a run, or a file of embeddings.
    pub source: PathBuf,
    /// Its kind.
    pub kind: Kind,
    /// Neighbours at which its recall is measured; `None`: 10, or all of fewer items.
    pub k: Option<usize>,
    /// A folder of its own, with a copy of the embeddings; `None`: that of the run.
    pub out: Option<PathBuf>,
    /// Seed of the build and of the sample that recall is measured on.
    pub seed: u64,
}

/// What is known before anything is read.
struct Opened {
    source: Source,
    k: usize,
    needed: Estimate,
}

impl Request {
    /// What the index will cost.
    ///
    /// Fails for a folder that cannot hold it, for a run whose model an index cannot compare by, and for a `k`
    /// out of range.
    pub fn estimate(&self, at: &Environment) -> Result<Estimate> {
        let is_run = self.source.is_dir();
        let run = is_run.then(|| RunFolder::open(&self.source)).transpose()?;
        Ok(self.open(run.as_ref(), at)?.needed)
    }

    /// Builds the index, measures its recall, and writes it.
    ///
    /// Fails as [`estimate`](Self::estimate) does, for embeddings without a folder to write to, where another
    /// process writes there, where the memory does not suffice, and when cancelled.
    pub fn run(&self, at: &Environment) -> Result<IndexCard> {
        // Who writes elsewhere only reads here.
        let (run, _lock) = match (self.source.is_dir(), &self.out) {
            (false, _) => (None, None),
            (true, Some(_)) => (Some(RunFolder::open(&self.source)?), None),
            (true, None) => {
                let (run, lock) = RunFolder::hold(&self.source)?;
                (Some(run), Some(lock))
            }
        };
        let Opened { source, k, needed } = self.open(run.as_ref(), at)?;
        needed.check(at.max_memory)?;
        let (kind, seed, monitor) = (self.kind, self.seed, at.monitor);
        match (run, &self.out) {
            (Some(run), None) => {
                let of_run = run.file("embeddings.npy");
                let embeddings = run.embeddings()?;
                let rows = (embeddings.view(), Some(of_run.as_path()));
                write_index(&run.file("index"), rows, kind, k, seed, monitor)
            }
            (Some(run), Some(out)) => {
                let (items, rows) = (run.items()?, run.embeddings()?);
                IndexFolder::write(out, &items, rows.view(), kind, k, seed, monitor)
            }
            (None, Some(out)) => {
                let collection = source.load(at)?;
                let mut items = rows_of(&collection);
                add_beliefs(&self.source, &mut items);
                let x = collection.into_view(None)?.matrix;
                IndexFolder::write(out, &items, x.view(), kind, k, seed, monitor)
            }
            (None, None) => Err(usage("name a folder for the index with `out`")),
        }
    }

    fn open(&self, run: Option<&RunFolder>, at: &Environment) -> Result<Opened> {
        self.check_out()?;
        if let Some(run) = run {
            self.check_compared(run)?;
        }
        let source = run.map_or_else(|| self.source.clone(), |run| run.file("embeddings.npy"));
        let source = Source::open(&source, ReadAs::default())?;
        let shape = source.shape(at)?;
        let (n, d) = (shape.items as f64, shape.views[0].1 as f64);
        let k = self.neighbors(shape.items)?;
        // The answers of the queries that recall is measured on.
        let needed = Estimate::new().resident(4.0 * n * d + 32.0 * 1000.0 * k as f64);
        let needed = needed.index(self.kind, n, d);
        Ok(Opened { source, k, needed })
    }

    /// Fails where the folder holds what would be lost.
    fn check_out(&self) -> Result<()> {
        let Some(out) = &self.out else { return Ok(()) };
        for name in ["index.json", "embeddings.npy", "items.parquet"] {
            check_output(Some(&out.join(name)), &[Some(&self.source)])?;
        }
        IndexFolder::check(out)?;
        if RunFolder::is_meant(out) {
            return Err(usage(format!(
                "{}: a run has its index in a folder of its own; name another folder",
                out.display()
            )));
        }
        Ok(())
    }

    /// Fails for an index that compares otherwise than the run does.
    fn check_compared(&self, run: &RunFolder) -> Result<()> {
        let apart = self.out.is_some();
        let approximate = self.kind == Kind::Hnsw;
        if run.similarity()?.metric() == Metric::Cosine || !(apart || approximate) {
            return Ok(());
        }
        let what = if apart {
            "an index of its own"
        } else {
            "an approximate index"
        };
        Err(usage(format!(
            "{}: its model compares by a learned metric, and {what} by the cosine alone; search in the \
             run itself, which compares with every item",
            self.source.display()
        )))
    }

    /// The neighbours that were asked for. Fails for none, and for more than there are.
    fn neighbors(&self, items: usize) -> Result<usize> {
        let Some(k) = self.k else {
            return Ok(RECALL_AT.min(items));
        };
        match k {
            0 => Err(Error::parameter("k", k, "must be at least 1")),
            k if k > items => {
                let rule = format!("must be at most {items}, as there are so many items");
                Err(Error::parameter("k", k, &rule))
            }
            k => Ok(k),
        }
    }
}

/// Adds what a table that `embed` wrote says is believed of its items: it is no feature, and not among what is read as
/// data. Any other file says nothing of it.
fn add_beliefs(source: &Path, items: &mut [ItemRow]) {
    if source.extension().is_none_or(|ending| ending != "parquet") {
        return;
    }
    let Ok(told) = likewise_io::items::read(source) else {
        return;
    };
    for (item, told) in items.iter_mut().zip(told) {
        if item.id == told.id {
            item.pseudo_label = told.pseudo_label;
            item.confidence = told.confidence;
        }
    }
}
