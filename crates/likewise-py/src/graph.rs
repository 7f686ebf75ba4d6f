//! The graph of nearest neighbours.

use likewise::graph::{KnnGraph, Symmetrize};
use likewise::linear::even_or;
use likewise::neighbor::{Neighbors, Precision};
use likewise::{Error, Result};
use likewise_study::graph::Settings;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::failure::{json, named};
use crate::wording::N_NEIGHBORS;
use crate::work::{How, run};

/// Row pointers, columns and weights of a CSR matrix.
type Csr<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<f32>>,
);

/// Means and scales of columns.
type Scales<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// What becomes of pairs of which one lists the other: a rule by its name, or the share of the weight that they keep.
#[derive(FromPyObject)]
enum OfOneSide {
    Share(f64),
    Rule(String),
}

/// How a graph is built.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    n_neighbors: usize,
    gamma: f64,
    symmetrize: OfOneSide,
    center: bool,
    recall: Option<f64>,
    seed: u64,
}

impl Asked {
    fn settings(&self) -> Result<Settings> {
        let symmetrize = match &self.symmetrize {
            OfOneSide::Share(share) => Symmetrize::OneSided(*share),
            OfOneSide::Rule(word) => {
                serde_json::from_value(word.as_str().into()).map_err(|_| {
                    let rule =
                        "must be \"sum\", \"mutual\", \"max\", \"mean\" or a share of 0 to 1";
                    Error::parameter("symmetrize", format!("\"{word}\""), rule)
                })?
            }
        };
        Ok(Settings {
            graph: KnnGraph::new()
                .k(self.n_neighbors)
                .gamma(self.gamma)
                .symmetrize(symmetrize),
            fuse: None,
            center: self.center,
            // Columns are brought to one scale before (`scales`), so that new rows can be, too.
            standardize: Some(false),
            approximate: self.recall,
            precision: Precision::Auto,
            seed: self.seed,
        })
    }
}

/// What is taken off each column and what the rest is multiplied by, so that all vary alike: always or never as
/// `said`, by itself only where one column outweighs all others. `None` where columns stay as they are.
#[pyfunction]
#[pyo3(signature = (x, said, how))]
pub(crate) fn scales<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'_, f32>,
    said: Option<bool>,
    how: How,
) -> PyResult<Option<Scales<'py>>> {
    let x = x.as_array();
    let (mean, scale) = run(py, &how, |_| Ok(even_or(x, said)))?;
    let same = |scale: &f64| (scale - 1.0).abs() <= f64::EPSILON;
    let scaled = !scale.iter().all(same);
    Ok(scaled.then(|| (mean.into_pyarray(py), scale.into_pyarray(py))))
}

/// A symmetric affinity graph, and the neighbours that it was made of where it was built here.
#[pyclass(frozen, module = "likewise._likewise")]
pub(crate) struct Graph {
    pub(crate) graph: likewise::Graph,
    pub(crate) neighbors: Option<Neighbors>,
    search: String,
}

#[pymethods]
impl Graph {
    /// The graph of the rows of `x`.
    #[staticmethod]
    fn build(
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f32>,
        asked: Asked,
        how: How,
    ) -> PyResult<Self> {
        let x = x.as_array();
        run(py, &how, |monitor| {
            let built = asked.settings()?.build(x, monitor);
            let built = built.map_err(|e| named(e, "k", N_NEIGHBORS));
            let built = built.map_err(|e| named(e, "symmetrize.one_sided", "symmetrize"))?;
            Ok(Self {
                search: serde_json::to_string(&built.search).map_err(json)?,
                graph: built.graph,
                neighbors: Some(built.neighbors),
            })
        })
    }

    /// The graph of a CSR matrix, whose invariants are checked.
    #[staticmethod]
    fn from_csr(
        py: Python<'_>,
        indptr: PyReadonlyArray1<'_, i64>,
        indices: PyReadonlyArray1<'_, i64>,
        weights: PyReadonlyArray1<'_, f32>,
        how: How,
    ) -> PyResult<Self> {
        let (indptr, indices, weights) =
            (indptr.as_array(), indices.as_array(), weights.as_array());
        run(py, &how, |_| {
            let wrong = |what: &str| Error::data(format!("the graph has {what}"));
            let pointer = |&p: &i64| usize::try_from(p).map_err(|_| wrong("negative row pointers"));
            let column = |&c: &i64| u32::try_from(c).map_err(|_| wrong("columns out of range"));
            let indptr = indptr.iter().map(pointer).collect::<Result<_>>()?;
            let indices = indices.iter().map(column).collect::<Result<_>>()?;
            Ok(Self {
                graph: likewise::Graph::new(indptr, indices, weights.to_vec())?,
                neighbors: None,
                search: "{}".into(),
            })
        })
    }

    /// Row pointers, columns and weights.
    fn csr<'py>(&self, py: Python<'py>) -> Csr<'py> {
        let pointers: Vec<i64> = self.graph.indptr().iter().map(|&p| p as i64).collect();
        (
            pointers.into_pyarray(py),
            self.graph.indices().to_vec().into_pyarray(py),
            self.graph.weights().to_vec().into_pyarray(py),
        )
    }

    /// Number of nodes.
    #[getter]
    fn n(&self) -> usize {
        self.graph.n()
    }

    /// How the neighbours were found, as JSON.
    #[getter]
    fn search(&self) -> &str {
        &self.search
    }
}
