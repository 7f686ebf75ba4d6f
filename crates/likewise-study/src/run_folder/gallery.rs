//! Embeddings that are searched, with the index beside them.

use std::path::PathBuf;

use likewise::distance::Metric;
use likewise::error::Hint;
use likewise::index::{Exact, Hit, Hnsw, Index, Kind as IndexKind, nearest};
use likewise::{Monitor, Similarity};
use ndarray::ArrayView2;

use super::index::{HNSW_FILE, IndexCard};
use crate::{Result, failed};

/// Most queries that are compared with every item rather than asked of an index that must be
/// read first.
const FEW_QUERIES: usize = 16;

/// Embeddings that are searched, with the index beside them.
pub(super) struct Gallery {
    /// The folder, for messages.
    pub(super) root: PathBuf,
    /// The file of the embeddings.
    pub(super) embeddings: PathBuf,
    /// The folder of the index.
    pub(super) index: PathBuf,
    /// How they compare.
    pub(super) similarity: Similarity,
    /// What tells the embeddings from others, where that is known.
    pub(super) own: Option<String>,
}

impl Gallery {
    /// The nearest of the `items` to each query. A few queries compare with every item where it
    /// lies in its file: reading the index would take longer. Many are asked of the index, unless
    /// `exact`.
    pub(super) fn search(
        &self,
        queries: ArrayView2<f32>,
        k: usize,
        items: usize,
        exact: bool,
        monitor: &Monitor,
    ) -> Result<Vec<Vec<Hit>>> {
        let card = self.check(items)?;
        let asking = self.similarity.asking(queries);
        let queries = asking.as_ref().map_or(queries, |rows| rows.view());
        let metric = self.similarity.metric();
        if queries.nrows() <= FEW_QUERIES
            && metric == Metric::Cosine
            && let Some(mapped) = likewise_io::Mapped::npy(&self.embeddings)?
        {
            self.check_items(mapped.view().nrows(), items)?;
            if let Some(card) = &card {
                card.check_dimensions(mapped.view().ncols(), &self.root)?;
            }
            return nearest(mapped.view(), queries, k, monitor);
        }
        let index = self.index_of(card.as_ref().filter(|_| !exact))?;
        self.check_items(index.len(), items)?;
        if let Some(card) = &card {
            card.check_dimensions(index.dimensions(), &self.root)?;
        }
        index.search(queries, k, monitor)
    }

    /// The card of the index, which must be of these embeddings and of so many items.
    pub(super) fn check(&self, items: usize) -> Result<Option<IndexCard>> {
        let card = self.card()?;
        self.check_items(card.as_ref().map_or(items, |card| card.items), items)?;
        self.check_own(card.as_ref())?;
        Ok(card)
    }

    /// Fails where the index that this card describes is of other embeddings.
    fn check_own(&self, card: Option<&IndexCard>) -> Result<()> {
        match (card, &self.own) {
            (Some(card), Some(own)) if card.embeddings.as_ref() != Some(own) => {
                let message = format!("{}: the index is of other embeddings", self.root.display());
                Err(failed(message).hint(Hint::Index))
            }
            _ => Ok(()),
        }
    }

    fn check_items(&self, held: usize, items: usize) -> Result<()> {
        if held == items {
            return Ok(());
        }
        let message = format!(
            "{}: the index holds {held} items, the run {items}",
            self.root.display(),
        );
        Err(failed(message).hint(Hint::Index))
    }

    /// The index that stands beside the embeddings, or the exact one.
    pub(super) fn index(&self) -> Result<Box<dyn Index + Send + Sync>> {
        self.index_of(self.card()?.as_ref())
    }

    /// What is asked for the nearest of many queries.
    pub(super) fn kind(&self) -> Result<IndexKind> {
        let hnsw = self.card()?.is_some_and(|card| card.kind == "hnsw");
        Ok(if hnsw {
            IndexKind::Hnsw
        } else {
            IndexKind::Flat
        })
    }

    fn card(&self) -> Result<Option<IndexCard>> {
        IndexCard::read(&self.index)
    }

    /// What the index is, and its graph where it has one.
    pub(super) fn read(&self) -> Result<(IndexCard, Option<Hnsw>)> {
        let card = self.card()?.ok_or_else(|| {
            failed(format!("{}: no index.json", self.root.display())).hint(Hint::Index)
        })?;
        self.check_own(Some(&card))?;
        let graph = (card.kind == "hnsw")
            .then(|| self.graph(&card))
            .transpose()?;
        Ok((card, graph))
    }

    /// The graph that this card describes, checked byte for byte.
    fn graph(&self, card: &IndexCard) -> Result<Hnsw> {
        let path = self.index.join(HNSW_FILE);
        if Some(likewise_io::digest(&path)?) != card.sha256 {
            let message = format!("{}: not the file that index.json describes", path.display());
            return Err(failed(message).hint(Hint::Index));
        }
        let bytes = likewise_io::read_file(&path, likewise_io::memory::allowed(None))?;
        let graph = Hnsw::from_bytes(&bytes)?;
        let held = graph.search_effort();
        if card.effort.is_some_and(|effort| effort != held) {
            let message = format!(
                "{}: index.json says another effort than the {held} of the index",
                self.root.display()
            );
            return Err(failed(message).hint(Hint::Index));
        }
        card.check_dimensions(graph.dimensions(), &self.root)?;
        Ok(graph)
    }

    /// The index that this card describes; the exact one without.
    fn index_of(&self, card: Option<&IndexCard>) -> Result<Box<dyn Index + Send + Sync>> {
        match card {
            Some(card) if card.kind == "hnsw" => Ok(Box::new(self.graph(card)?)),
            _ => Ok(Box::new(Exact::new(
                likewise_io::read_matrix(&self.embeddings, None)?.view(),
                &self.similarity,
            )?)),
        }
    }
}
