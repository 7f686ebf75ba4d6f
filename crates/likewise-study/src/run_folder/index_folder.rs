//! An index of embeddings that belong to no run: a folder that can be searched by itself.

use std::path::{Path, PathBuf};

use likewise::error::Hint;
use likewise::index::{Hit, Hnsw, Kind as IndexKind};
use likewise::{Monitor, Similarity};
use likewise_io::items::{self, ItemRow};
use ndarray::{Array2, ArrayView2, Axis};

use super::gallery::Gallery;
use super::index::{HNSW_FILE, IndexCard, build_index, old_index, write_built};
use super::lock::Lock;
use super::output::check_output;
use super::record::EMBEDDINGS;
use super::{RunFolder, parts};
use crate::{Result, failed, usage};

const ITEMS: &str = "items.parquet";
const CARD: &str = "index.json";

/// A folder with an index, the embeddings that it is of, and the ids and labels of their items.
#[derive(Debug, Clone)]
pub struct IndexFolder {
    root: PathBuf,
    /// What tells its ids and labels from others; nothing in one of an earlier version.
    ids: Option<String>,
}

impl IndexFolder {
    /// Whether a folder holds an index, and no run.
    pub fn is_one(path: &Path) -> bool {
        path.join(CARD).exists() && !RunFolder::is_meant(path)
    }

    /// The folder of an index. Fails where it holds an index alone, without its embeddings, and where the
    /// ids and labels are not those of the index.
    pub fn open(path: &Path) -> Result<Self> {
        for name in [EMBEDDINGS, ITEMS] {
            if !path.join(name).exists() {
                return Err(failed(format!(
                    "{}: an index without its {name}; where it is of a run, search in that",
                    path.display()
                ))
                .hint(Hint::Index));
            }
        }
        let index = Self {
            root: path.to_owned(),
            ids: IndexCard::read(path)?.and_then(|card| card.ids),
        };
        index.check_ids()?;
        Ok(index)
    }

    /// Fails where `out` holds files of these names that are of no index: they would be lost; where they
    /// are those of a run; and where another process is writing them.
    pub fn check(out: &Path) -> Result<()> {
        for name in [CARD, EMBEDDINGS, ITEMS] {
            check_output(Some(&out.join(name)), &[])?;
        }
        Lock::is_free(out)?;
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
    /// [`build_index`]. Until it is complete, what stands there is no index that can be searched, and no
    /// other process may write there.
    pub fn write(
        out: &Path,
        rows: &[ItemRow],
        x: ArrayView2<f32>,
        kind: IndexKind,
        k: usize,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<IndexCard> {
        let held = Self::write_items(out, rows, x)?;
        let (card, index) = build_index(x, kind, k, seed, monitor)?;
        Self::complete(held, card, index.as_ref())
    }

    /// The same of an index that was [built](super::build_index) of the rows before.
    pub fn keep(
        out: &Path,
        rows: &[ItemRow],
        x: ArrayView2<f32>,
        card: IndexCard,
        index: Option<&Hnsw>,
    ) -> Result<IndexCard> {
        Self::complete(Self::write_items(out, rows, x)?, card, index)
    }

    /// Writes what the index is of.
    fn write_items<'a>(out: &'a Path, rows: &[ItemRow], x: ArrayView2<f32>) -> Result<Held<'a>> {
        Self::check(out)?;
        let held = Held::take(out)?;
        // An older index of other embeddings says so from here on.
        likewise_io::write_npy(out.join(EMBEDDINGS), x)?;
        items::write(out.join(ITEMS), rows)?;
        Ok(held)
    }

    /// Writes the index of what stands in the folder.
    fn complete(held: Held, mut card: IndexCard, index: Option<&Hnsw>) -> Result<IndexCard> {
        let out = held.out;
        card.ids = Some(parts::mark(&out.join(ITEMS))?);
        let card = write_built(out, card, index, Some(&out.join(EMBEDDINGS)))?;
        held.keep();
        Ok(card)
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

    /// Ids and labels of the items. Fails where they are damaged, or of another index.
    pub fn items(&self) -> Result<Vec<ItemRow>> {
        self.check_ids()?;
        Ok(items::read(self.root.join(ITEMS))?)
    }

    fn check_ids(&self) -> Result<()> {
        let path = self.root.join(ITEMS);
        if let Some(ids) = &self.ids
            && parts::mark(&path)? != *ids
        {
            return Err(failed(format!(
                "{}: not of the index beside it: it is damaged, or of another one",
                path.display()
            ))
            .hint(Hint::Index));
        }
        Ok(())
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
        let card = IndexCard::read(&self.root)?;
        if card.is_some_and(|card| card.ids != self.ids) {
            return Err(failed(format!(
                "{}: another index took its place while it was read; ask again",
                self.root.display()
            )));
        }
        Ok(Gallery {
            similarity: Similarity::Cosine,
            root: self.root.clone(),
            embeddings: self.embeddings(),
            index: self.root.clone(),
            own: Some(parts::mark(&self.embeddings())?),
        })
    }
}

/// A folder that is held while an index is written into it. Where that fails, a folder that was made for it goes.
struct Held<'a> {
    out: &'a Path,
    is_new: bool,
    lock: Option<Lock>,
}

impl<'a> Held<'a> {
    fn take(out: &'a Path) -> Result<Self> {
        let is_new = !out.exists();
        likewise_io::atomic::make_folder(out)?;
        let lock = Lock::take(out)?;
        // Since the first look another process may have written its index here.
        let files = std::fs::read_dir(out).into_iter().flatten().count();
        Ok(Self {
            out,
            is_new: is_new && files == 1,
            lock: Some(lock),
        })
    }

    /// What was written stays.
    fn keep(mut self) {
        self.is_new = false;
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.is_new {
            for name in [CARD, EMBEDDINGS, ITEMS, HNSW_FILE] {
                let _ = std::fs::remove_file(self.out.join(name));
            }
        }
        drop(self.lock.take());
        if self.is_new {
            // It stays where there is something of others in it.
            let _ = std::fs::remove_dir(likewise_io::atomic::resolved(self.out));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of three items whose ids begin so.
    fn write(out: &Path, begin: &str) -> Result<IndexCard> {
        let row = |item: usize| ItemRow {
            id: format!("{begin}{item}"),
            ..ItemRow::default()
        };
        let rows: Vec<ItemRow> = (0..3).map(row).collect();
        let (x, silent) = (Array2::<f32>::eye(3), Monitor::silent());
        IndexFolder::write(out, &rows, x.view(), IndexKind::Flat, 1, 0, &silent)
    }

    #[test]
    fn ids_of_another_index_are_not_taken_for_its_own() {
        let scene = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| scene.path().join(name));
        write(&one, "a").unwrap();
        let open = IndexFolder::open(&one).unwrap();
        assert_eq!(open.items().unwrap()[1].id, "a1");
        write(&other, "b").unwrap();
        std::fs::copy(other.join(ITEMS), one.join(ITEMS)).unwrap();
        let refused = IndexFolder::open(&one).unwrap_err().to_string();
        assert!(refused.contains("not of the index beside it"), "{refused}");
        assert!(open.items().is_err());
        // One that took its place altogether is whole, but not the one that was opened.
        write(&one, "b").unwrap();
        assert!(open.read().is_err());
        assert!(IndexFolder::open(&one).unwrap().read().is_ok());
        // An earlier version did not say whose they are.
        let card = std::fs::read_to_string(one.join(CARD)).unwrap();
        let mut card: serde_json::Value = serde_json::from_str(&card).unwrap();
        card.as_object_mut().unwrap().remove("ids").unwrap();
        std::fs::write(one.join(CARD), card.to_string()).unwrap();
        let open = IndexFolder::open(&one).unwrap();
        assert_eq!(open.items().unwrap()[1].id, "b1");
        assert!(open.read().is_ok());
    }

    #[test]
    fn an_index_has_one_writer() {
        let scene = tempfile::tempdir().unwrap();
        let out = scene.path().join("index");
        write(&out, "a").unwrap();
        let before = std::fs::read(out.join(ITEMS)).unwrap();
        let lock = Lock::take(&out).unwrap();
        let refused = write(&out, "b").unwrap_err().to_string();
        assert!(refused.contains("another process"), "{refused}");
        assert_eq!(std::fs::read(out.join(ITEMS)).unwrap(), before);
        drop(lock);
        write(&out, "b").unwrap();
        assert_ne!(std::fs::read(out.join(ITEMS)).unwrap(), before);
    }

    #[test]
    fn the_index_of_a_run_is_not_replaced_by_one_of_other_rows() {
        let run = tempfile::tempdir().unwrap();
        std::fs::write(run.path().join("run.json"), "{}").unwrap();
        for out in [run.path().to_owned(), run.path().join("index")] {
            let refused = write(&out, "a").unwrap_err().to_string();
            assert!(refused.contains("belongs to the run"), "{refused}");
        }
        assert!(!run.path().join("index").exists());
    }
}
