//! A toy learner of a graph alone: directions of the start, by what neighbours say of each.
//!
//! **Use it** to see what a learner of a graph has to say of itself. **Not** to learn:
//! it sees one direction at a time.
//!
//! Cost: O(d) for each edge.
//!
//! Source: none.

use ndarray::Array1;
use serde::{Deserialize, Serialize};

use super::affine::Affine;
use crate::learn::{Evidence, Fit, Need};
use crate::model::Model;
use crate::{Error, Monitor, Result};

/// The toy learner of the graph of the items; see [`toy_graph`](self).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToyGraph {}

impl Fit for ToyGraph {
    fn needs(&self) -> &'static [Need] {
        &[Need::Graph]
    }

    fn gives_distance(&self) -> bool {
        false
    }

    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn fit(&self, evidence: &Evidence, _: u64, _: &Monitor) -> Result<Model> {
        let graph = evidence.graph.ok_or_else(|| Error::data("there is no graph"))?;
        let columns = evidence.rows.ncols();
        let mut apart: Array1<f32> = Array1::zeros(columns);
        for (item, neighbor, weight) in graph.edges() {
            let [a, b] = [item, neighbor].map(|place| evidence.rows.row(place as usize));
            apart += &((&a - &b).mapv(f32::abs) * weight);
        }
        // Where neighbours differ more than they do in the mean column, a column counts a little less.
        let mean = apart.mean().unwrap_or(0.0).max(f32::MIN_POSITIVE);
        let weigh = apart.mapv(|sum| 1.0 / (1.0 + sum / mean));
        let Affine { mean, matrix } = evidence.start.whitening.clone();
        let matrix = matrix * &weigh.mapv(f64::from);
        Ok(Model::linear(evidence.start.reading, Affine { mean, matrix }))
    }
}
