//! Metrics of search and of clusters.

use likewise::distance::Metric;
use likewise::eval::bootstrap::Bootstrap;
use likewise::eval::collapse::Collapse;
use likewise::eval::ranking::{self, Protocol, Ranking};
use likewise::eval::summary::{Run, Summary};
use likewise::{Error, Labels, Monitor, Result};
use ndarray::ArrayView2;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure::json;
use crate::labels;
use crate::work::{How, run};

/// Who asks, who is searched, and how.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    /// Rows that ask, and rows that are searched.
    queries: Vec<usize>,
    gallery: Vec<usize>,
    ks: Vec<usize>,
    metric: String,
    /// Whether every query asks, of however many.
    all_queries: bool,
}

impl Asked {
    fn protocol<'a>(&'a self, x: ArrayView2<'a, f32>, labels: &'a Labels) -> Result<Protocol<'a>> {
        let metric = match self.metric.as_str() {
            "cosine" => Metric::Cosine,
            "euclidean" => Metric::Euclidean,
            "inner_product" => Metric::InnerProduct,
            other => {
                let rule = "must be \"cosine\", \"euclidean\" or \"inner_product\"";
                return Err(Error::parameter("metric", format!("\"{other}\""), rule));
            }
        };
        let protocol = Protocol::new(x, labels, &self.queries, &self.gallery).metric(metric);
        Ok(if self.all_queries {
            protocol.all_queries()
        } else {
            protocol
        })
    }

    fn rank(&self, x: ArrayView2<f32>, labels: &Labels, monitor: &Monitor) -> Result<Ranking> {
        ranking::evaluate(&self.protocol(x, labels)?, &self.ks, monitor)
    }
}

/// Every metric of search: its mean (`None` where no query counts) and its value for each query.
#[pyfunction]
pub(crate) fn rank<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'py, f32>,
    given: labels::Given<'py>,
    asked: Asked,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let (x, labels) = (x.as_array(), labels::labels(&given)?);
    let ranking = run(py, &how, |monitor| asked.rank(x, &labels, monitor))?;
    let (means, values) = (PyDict::new(py), PyDict::new(py));
    for measure in ranking.measures() {
        let name = measure.to_string();
        means.set_item(&name, ranking.mean(measure))?;
        let of_queries = ranking.values(measure).unwrap_or_default();
        values.set_item(&name, of_queries.to_vec().into_pyarray(py))?;
    }
    let queries: Vec<i64> = ranking.queries.iter().map(|&q| q as i64).collect();
    let relevant: Vec<i64> = ranking.relevant.iter().map(|&r| r as i64).collect();
    let answer = PyDict::new(py);
    answer.set_item("means", means)?;
    answer.set_item("values", values)?;
    answer.set_item("queries", queries.into_pyarray(py))?;
    answer.set_item("relevant", relevant.into_pyarray(py))?;
    Ok(answer)
}

/// The numbers of `likewise eval --json` that need no baselines, with 95 % intervals, as JSON.
#[pyfunction]
pub(crate) fn summary(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, f32>,
    given: labels::Given<'_>,
    asked: Asked,
    nmi: bool,
    seed: u64,
    how: How,
) -> PyResult<String> {
    let (x, labels) = (x.as_array(), labels::labels(&given)?);
    run(py, &how, |monitor| {
        let protocol = asked.protocol(x, &labels)?;
        let nmi = nmi.then(|| likewise::eval::nmi::evaluate(&protocol, seed, monitor));
        let of = Run {
            ranking: asked.rank(x, &labels, monitor)?,
            nmi: nmi.transpose()?,
        };
        let summary = Summary::of(&[of], &Bootstrap::new().seed(seed))?;
        serde_json::to_string(&summary).map_err(json)
    })
}

/// Normalised mutual information of two partitions.
#[pyfunction]
pub(crate) fn nmi(
    py: Python<'_>,
    classes: PyReadonlyArray1<'_, u32>,
    clusters: PyReadonlyArray1<'_, u32>,
    how: How,
) -> PyResult<f64> {
    let (classes, clusters) = (classes.as_array().to_vec(), clusters.as_array().to_vec());
    run(py, &how, |_| likewise::eval::nmi::nmi(&classes, &clusters))
}

/// Whether embeddings shrank to a point, as JSON.
#[pyfunction]
pub(crate) fn collapse(py: Python<'_>, x: PyReadonlyArray2<'_, f32>, how: How) -> PyResult<String> {
    let x = x.as_array();
    run(py, &how, |_| {
        serde_json::to_string(&Collapse::measure(x)?).map_err(json)
    })
}
