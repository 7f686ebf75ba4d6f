//! Indexes: exact, and HNSW with a measured recall.

use std::path::PathBuf;

use likewise::distance::Metric;
use likewise::index::{Flat, Hit, Hnsw, Index as _, Kind};
use likewise::{Error, Result};
use likewise_io::items::ItemRow;
use likewise_study::run_folder::{IndexCard, IndexFolder, build_index};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::failure::{exception, json};
use crate::work::{How, run};

/// Neighbours at which the recall of an approximate index is measured.
const RECALL_AT: usize = 10;

enum Built {
    Flat(Flat),
    Hnsw(Hnsw),
}

/// An index of rows.
#[pyclass(frozen, module = "likewise._likewise")]
pub(crate) struct Index {
    built: Built,
    card: IndexCard,
}

/// Rows of the items that were found, and how similar they are.
type Found<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f32>>);

fn metric(name: &str) -> Result<Metric> {
    match name {
        "cosine" => Ok(Metric::Cosine),
        "euclidean" => Ok(Metric::Euclidean),
        "inner_product" => Ok(Metric::InnerProduct),
        _ => {
            let rule = "must be \"cosine\", \"euclidean\" or \"inner_product\"";
            Err(Error::parameter("metric", format!("\"{name}\""), rule))
        }
    }
}

#[pymethods]
impl Index {
    /// Indexes the rows of `x`.
    #[staticmethod]
    fn build(
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f32>,
        kind: &str,
        metric: &str,
        seed: u64,
        how: How,
    ) -> PyResult<Self> {
        let x = x.as_array();
        run(py, &how, |monitor| {
            let by = self::metric(metric)?;
            let kind = match kind {
                "flat" => Kind::Flat,
                "hnsw" if by == Metric::Cosine => Kind::Hnsw,
                "hnsw" => {
                    let rule = "an approximate index compares by the cosine; take kind=\"flat\"";
                    return Err(Error::parameter("metric", format!("\"{metric}\""), rule));
                }
                _ => {
                    let rule = "must be \"flat\" or \"hnsw\"";
                    return Err(Error::parameter("kind", format!("\"{kind}\""), rule));
                }
            };
            let k = RECALL_AT.min(x.nrows());
            let (card, graph) = build_index(x, kind, k, seed, monitor)?;
            let built = match graph {
                Some(graph) => Built::Hnsw(graph),
                None => Built::Flat(Flat::new(x, by)?),
            };
            Ok(Self { built, card })
        })
    }

    /// The index in a folder, and the rows that it is of.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, how: How) -> PyResult<(Self, Bound<'_, PyArray2<f32>>)> {
        let (index, rows) = run(py, &how, |_| {
            let folder = IndexFolder::open(&path)?;
            let (card, graph) = folder.read()?;
            let rows = likewise_io::read_matrix(folder.embeddings(), None)?;
            let built = match graph {
                Some(graph) => Built::Hnsw(graph),
                None => Built::Flat(Flat::new(rows.view(), Metric::Cosine)?),
            };
            Ok((Self { built, card }, rows))
        })?;
        Ok((index, rows.into_pyarray(py)))
    }

    /// Writes the index and the rows that it is of into a folder.
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        x: PyReadonlyArray2<'_, f32>,
        how: How,
    ) -> PyResult<()> {
        let x = x.as_array();
        run(py, &how, |_| {
            let row = |id: usize| ItemRow {
                id: id.to_string(),
                ..ItemRow::default()
            };
            let rows: Vec<ItemRow> = (0..x.nrows()).map(row).collect();
            let graph = match &self.built {
                Built::Flat(_) => None,
                Built::Hnsw(graph) => Some(graph),
            };
            IndexFolder::keep(&path, &rows, x, self.card.clone(), graph)?;
            Ok(())
        })
    }

    /// The `k` nearest of each query, best first: -1 where there are no more.
    fn search<'py>(
        &self,
        py: Python<'py>,
        queries: PyReadonlyArray2<'py, f32>,
        k: usize,
        how: How,
    ) -> PyResult<Found<'py>> {
        let queries = queries.as_array();
        let width = k.min(self.card.items);
        let (ids, similarities) = run(py, &how, |monitor| {
            let hits = match &self.built {
                Built::Flat(flat) => flat.search(queries, k, monitor),
                Built::Hnsw(graph) => graph.search(queries, k, monitor),
            }?;
            let hit = |(row, rank): (usize, usize)| hits[row].get(rank);
            let shape = (hits.len(), width);
            let item = |hit: &Hit| hit.item as i64;
            Ok((
                Array2::from_shape_fn(shape, |at| hit(at).map_or(-1, item)),
                Array2::from_shape_fn(shape, |at| {
                    hit(at).map_or(f32::NEG_INFINITY, |h| h.similarity)
                }),
            ))
        })?;
        Ok((ids.into_pyarray(py), similarities.into_pyarray(py)))
    }

    /// What it is, as JSON.
    #[getter]
    fn card(&self) -> PyResult<String> {
        serde_json::to_string(&self.card).map_err(|e| exception(&json(e)))
    }
}
