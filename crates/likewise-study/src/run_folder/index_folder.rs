//! An index of embeddings that belong to no run: a folder that can be searched by itself.

use std::path::{Path, PathBuf};

use likewise::index::{Hit, Hnsw, Kind as IndexKind};
use likewise::{Monitor, Similarity};
use likewise_io::items::{self, ItemRow};
use ndarray::{Array2, ArrayView2, Axis};

use super::gallery::Gallery;
use super::index::{IndexCard, old_index, write_built, write_index};
use super::record::EMBEDDINGS;
use super::{RunFolder, parts};
use crate::{Result, failed, usage};

const ITEMS: &str = "items.parquet";
const CARD: &str = "index.json";

/// A folder with an index, the embeddings that it is of, and the ids and labels of their items.
#[derive(Debug, Clone)]
pub struct IndexFolder {
    root: PathBuf,
}

impl IndexFolder {
    /// Whether a folder holds an index, and no run.
    pub fn is_one(path: &Path) -> bool {
        path.join(CARD).exists() && !RunFolder::is_meant(path)
    }

    /// The folder of an index. Fails where it holds an index alone, without its embeddings.
    pub fn open(path: &Path) -> Result<Self> {
        for name in [EMBEDDINGS, ITEMS] {
            if !path.join(name).exists() {
                return Err(failed(format!(
                    "{}: an index without its {name}; build it anew with `likewise index EMB -o \
                     FOLDER`, or search in the run that it is of",
                    path.display()
                )));
            }
        }
        Ok(Self {
            root: path.to_owned(),
        })
    }

    /// Fails where `out` holds files of these names that are of no index: they would be lost.
    pub fn check(out: &Path) -> Result<()> {
        old_index(out)?;
        let card = out.join(CARD).exists();
        for name in [EMBEDDINGS, ITEMS] {
            let path = out.join(name);
            if path.symlink_metadata().is_ok() && !card {
                return Err(usage(format!(
                    "{}: not of an index of ours, and would be replaced; move it elsewhere, or \
                     name another folder",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    /// Builds the index of the rows of `x`, one an item, and writes all of it into `out`; see
    /// [`write_index`]. Until it is complete, what stands there is no index that can be searched.
    pub fn write(
        out: &Path,
        rows: &[ItemRow],
        x: ArrayView2<f32>,
        kind: IndexKind,
        k: usize,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<IndexCard> {
        Self::write_items(out, rows, x)?;
        write_index(
            out,
            (x, Some(&out.join(EMBEDDINGS))),
            kind,
            k,
            seed,
            monitor,
        )
    }

    /// The same of an index that was [built](super::build_index) of the rows before.
    pub fn keep(
        out: &Path,
        rows: &[ItemRow],
        x: ArrayView2<f32>,
        card: IndexCard,
        index: Option<&Hnsw>,
    ) -> Result<IndexCard> {
        Self::write_items(out, rows, x)?;
        write_built(out, card, index, Some(&out.join(EMBEDDINGS)))
    }

    fn write_items(out: &Path, rows: &[ItemRow], x: ArrayView2<f32>) -> Result<()> {
        Self::check(out)?;
        likewise_io::atomic::make_folder(out)?;
        // An older index of other embeddings says so from here on.
        likewise_io::write_npy(out.join(EMBEDDINGS), x)?;
        Ok(items::write(out.join(ITEMS), rows)?)
    }

    /// What the index is, and its graph where it has one, checked byte for byte.
    ///
    /// Fails on a broken index, and on one of other embeddings than lie beside it.
    pub fn read(&self) -> Result<(IndexCard, Option<Hnsw>)> {
        self.gallery()?.read()
    }

    /// Where the embeddings lie.
    pub fn embeddings(&self) -> PathBuf {
        self.root.join(EMBEDDINGS)
    }

    /// Ids and labels of the items.
    pub fn items(&self) -> Result<Vec<ItemRow>> {
        Ok(items::read(self.root.join(ITEMS))?)
    }

    /// The embedding of one item, of which no others are read.
    pub fn embedding(&self, row: usize) -> Result<Array2<f32>> {
        let embeddings = self.embeddings();
        let row = match likewise_io::Mapped::npy(&embeddings)? {
            Some(mapped) if row < mapped.view().nrows() => mapped.view().select(Axis(0), &[row]),
            _ => likewise_io::read_matrix(embeddings, None)?.select(Axis(0), &[row]),
        };
        Ok(row)
    }

    /// What is asked for the nearest of many queries.
    pub fn kind(&self) -> Result<IndexKind> {
        self.gallery()?.kind()
    }

    /// The nearest of the `items` to each query; as [`RunFolder::search`].
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

    fn gallery(&self) -> Result<Gallery> {
        Ok(Gallery {
            similarity: Similarity::Cosine,
            root: self.root.clone(),
            embeddings: self.embeddings(),
            index: self.root.clone(),
            own: Some(parts::mark(&self.embeddings())?),
        })
    }
}
