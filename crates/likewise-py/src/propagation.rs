//! Label propagation by every method of the list.

use likewise::graph::Symmetrize;
use likewise::propagate::{Given, Method, NegativeEdges, Propagate as _};
use likewise_study::propagation::{Choice, Parameters};
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyString};

use crate::failure::{exception, json};
use crate::graph::Graph;
use crate::labels::{self, codes};
use crate::work::{How, run};

/// Spreads labels over a graph. `parameters` is a JSON object of those of the method that are not the
/// usual ones; `negatives` are pairs of items known to be unlike with their weights, `excluded` pairs
/// `(item, class)`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "what a propagation is given")]
pub(crate) fn propagate<'py>(
    py: Python<'py>,
    graph: &Bound<'py, Graph>,
    given: labels::Given<'py>,
    method: &str,
    parameters: &str,
    negatives: Option<(PyReadonlyArray2<'py, u32>, PyReadonlyArray1<'py, f64>)>,
    excluded: Option<PyReadonlyArray2<'py, u32>>,
    how: How,
) -> PyResult<Bound<'py, PyDict>> {
    let graph = graph.get();
    let labels = labels::labels(&given)?;
    let negatives: Option<Vec<(u32, u32, f64)>> = negatives.map(|(pairs, weights)| {
        let (pairs, weights) = (pairs.as_array(), weights.as_array());
        (pairs.rows().into_iter().zip(weights))
            .map(|(pair, &w)| (pair[0], pair[1], w))
            .collect()
    });
    let excluded: Vec<(u32, u32)> = excluded.map_or_else(Vec::new, |pairs| {
        let pairs = pairs.as_array();
        pairs.rows().into_iter().map(|of| (of[0], of[1])).collect()
    });
    let (beliefs, found) = run(py, &how, |monitor| {
        let choice = Choice {
            name: Some(method.to_owned()),
            parameters: Parameters::from_json(parameters)?,
            ..Choice::default()
        };
        let method = choice.method(negatives.is_some())?;
        let known = negatives
            .as_ref()
            .map(|pairs| NegativeEdges::from_pairs(&graph.graph, pairs.iter().copied()));
        let known = known.transpose()?;
        let given = Given {
            neighbors: graph.neighbors.as_ref(),
            negatives: known.as_ref(),
            excluded: &excluded,
            ..Given::new(&graph.graph, &labels)
        };
        let spread = method.spread(&given, monitor)?;
        let edges = spread.negatives.map(|negatives| {
            let (mut pairs, mut weights) = (Vec::new(), Vec::new());
            for (i, j, w) in negatives.edges(&graph.graph) {
                pairs.extend([i, j]);
                weights.push(w as f32);
            }
            (pairs, weights)
        });
        Ok((spread.beliefs, edges))
    })?;
    let answer = PyDict::new(py);
    let convergence = serde_json::to_string(&beliefs.convergence);
    let convergence = convergence.map_err(|e| exception(&json(e)))?;
    answer.set_item("scores", beliefs.scores.into_pyarray(py))?;
    answer.set_item(
        "pseudo_label",
        codes(&beliefs.pseudo_label).into_pyarray(py),
    )?;
    answer.set_item("confidence", beliefs.confidence.into_pyarray(py))?;
    answer.set_item("convergence", convergence)?;
    if let Some((pairs, weights)) = found {
        answer.set_item("negative_pairs", pairs.into_pyarray(py))?;
        answer.set_item("negative_weights", weights.into_pyarray(py))?;
    }
    Ok(answer)
}

/// What an edge of the graph of this method weighs that both, or only one, of its ends list, unless people say so:
/// the name of a rule, or the share of one-sided edges.
#[pyfunction]
pub(crate) fn symmetrize<'py>(py: Python<'py>, method: &str) -> PyResult<Bound<'py, PyAny>> {
    let method = Method::named(method).map_err(|e| exception(&e))?;
    let name = match method.symmetrize() {
        Symmetrize::OneSided(share) => return Ok(PyFloat::new(py, share).into_any()),
        Symmetrize::Sum => "sum",
        Symmetrize::Mutual => "mutual",
        Symmetrize::Max => "max",
        Symmetrize::Mean => "mean",
    };
    Ok(PyString::new(py, name).into_any())
}

/// The parameters of this method with the values that they have unless people say so, as a JSON object.
#[pyfunction]
pub(crate) fn parameters(method: &str) -> PyResult<String> {
    let usual = Method::named(method);
    let usual = usual.and_then(|method| serde_json::to_string(&method).map_err(json));
    usual.map_err(|e| exception(&e))
}
