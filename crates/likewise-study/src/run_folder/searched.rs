//! A run that is kept open for one query after another: nothing is read anew.

use likewise::distance::Metric;
use likewise::index::{Hit, Index, Kind as IndexKind, nearest};
use likewise::{Monitor, Similarity};
use likewise_io::Mapped;
use ndarray::{Array2, ArrayView2, Axis};

use super::gallery::Gallery;
use crate::{Result, failed};

/// The embeddings of a run where they lie in their file, and its index in memory.
///
/// The file stays that of this run when another one takes its place.
pub struct Searched {
    rows: Rows,
    similarity: Similarity,
    kind: IndexKind,
    /// None where the rows are compared in their file.
    index: Option<Box<dyn Index + Send + Sync>>,
}

enum Rows {
    Mapped(Mapped),
    /// Of a file that cannot be mapped.
    Read(Array2<f32>),
}

impl Searched {
    /// Opens what is searched, and checks that all of it is of `items` items.
    pub(super) fn open(of: &Gallery, items: usize) -> Result<Self> {
        let card = of.check(items)?;
        let rows = match Mapped::npy(&of.embeddings)? {
            Some(mapped) => Rows::Mapped(mapped),
            None => Rows::Read(likewise_io::read_matrix(&of.embeddings, None)?),
        };
        let kind = of.kind()?;
        let in_file = kind == IndexKind::Flat && of.similarity.metric() == Metric::Cosine;
        let index = (!in_file).then(|| of.index()).transpose()?;
        let opened = Self {
            rows,
            similarity: of.similarity.clone(),
            kind,
            index,
        };
        let held = opened.rows().nrows();
        let indexed = opened.index.as_ref().map_or(held, |index| index.len());
        if held != items || indexed != items {
            return Err(failed(format!(
                "{}: {items} items, embeddings of {held}, an index of {indexed}; fit again",
                of.root.display()
            )));
        }
        if let Some(card) = card {
            card.check_dimensions(opened.rows().ncols(), &of.root)?;
        }
        Ok(opened)
    }

    /// One row an item.
    pub fn rows(&self) -> ArrayView2<'_, f32> {
        match &self.rows {
            Rows::Mapped(mapped) => mapped.view(),
            Rows::Read(rows) => rows.view(),
        }
    }

    /// The row of one item (`1 x d`). Panics where there is no such item.
    pub fn row(&self, item: usize) -> Array2<f32> {
        self.rows().select(Axis(0), &[item])
    }

    /// How rows compare.
    pub fn similarity(&self) -> &Similarity {
        &self.similarity
    }

    /// What is asked, unless `exact`.
    pub fn kind(&self) -> IndexKind {
        self.kind
    }

    /// The nearest `k` items to each of a few queries (`m x d`), embedded by the model of the run, best
    /// first; by comparison with every item where `exact`.
    ///
    /// Fails on another number of columns, on NaN, for k = 0, and when cancelled.
    pub fn search(
        &self,
        queries: ArrayView2<f32>,
        k: usize,
        exact: bool,
        monitor: &Monitor,
    ) -> Result<Vec<Vec<Hit>>> {
        match &self.index {
            Some(index) if !exact || self.kind == IndexKind::Flat => {
                let asking = self.similarity.asking(queries);
                index.search(asking.as_ref().map_or(queries, |q| q.view()), k, monitor)
            }
            // An approximate index compares by the cosine, and so does what has none.
            _ => nearest(self.rows(), queries, k, monitor),
        }
    }
}
