//! Label propagation by every method of the list.

use likewise::propagate::{Given, Method, NegativeEdges, Propagate as _};
use likewise::{Error, ErrorKind, Result};
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

use crate::failure::json;
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
        let method = named(method, parameters, negatives.is_some())?;
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
    let convergence = convergence.map_err(|e| crate::failure::exception(&json(e)))?;
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

/// The method of this name with these parameters, as the command has it.
fn named(name: &str, parameters: &str, given_negatives: bool) -> Result<Method> {
    Method::named(name)?;
    let mut fields: Map<String, Value> = serde_json::from_str(parameters).map_err(json)?;
    let own = |e: serde_json::Error| {
        Error::new(
            ErrorKind::Parameter,
            format!("parameters of method=\"{name}\": {e}"),
        )
    };
    let changed: Vec<String> = fields.keys().cloned().collect();
    if name == "lgc" {
        // The strongest simple method; as published is mass="none".
        fields.entry("mass").or_insert_with(|| "uniform".into());
    }
    fields.insert("method".into(), name.into());
    let method: Method = serde_json::from_value(Value::Object(fields)).map_err(own)?;
    let (idle, why) = method.idle(given_negatives);
    match idle
        .iter()
        .find(|idle| changed.iter().any(|own| own == *idle))
    {
        None => Ok(method),
        Some(idle) => Err(Error::new(
            ErrorKind::Parameter,
            format!("{idle} has no effect with method=\"{name}\": {why}; leave it out"),
        )),
    }
}
