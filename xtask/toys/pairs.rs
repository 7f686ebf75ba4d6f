//! A toy learner of given pairs alone: directions of the start, by what given pairs say of each.
//!
//! **Use it** to see what a learner of given pairs has to say of itself. **Not** to
//! learn: it sees one direction at a time.
//!
//! Cost: O(d) for each pair.
//!
//! Source: none.

use ndarray::Array1;
use serde::{Deserialize, Serialize};

use super::affine::Affine;
use crate::learn::{Evidence, Fit, Need};
use crate::model::Model;
use crate::{Error, Monitor, Result};

/// The toy learner of given pairs; see [`toy_pairs`](self).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToyPairs {}

impl Fit for ToyPairs {
    fn needs(&self) -> &'static [Need] {
        &[Need::Pairs]
    }

    fn gives_distance(&self) -> bool {
        false
    }

    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn fit(&self, evidence: &Evidence, _: u64, _: &Monitor) -> Result<Model> {
        let targets = evidence.targets;
        let pairs = evidence.pairs.ok_or_else(|| Error::data("there are no pairs"))?;
        if targets.triplets.is_some() {
            return Err(Error::data("a learner of pairs alone was given others"));
        }
        let columns = evidence.rows.ncols();
        let mut apart: Array1<f32> = Array1::zeros(columns);
        for (a, b, _, weight) in pairs.iter().filter(|(_, _, alike, _)| *alike) {
            let [a, b] = [a, b].map(|place| evidence.rows.row(place as usize));
            apart += &((&a - &b).mapv(f32::abs) * weight);
        }
        // Where alike items differ, a column counts less.
        let weigh = apart.mapv(|sum| 1.0 / (1.0 + sum));
        let Affine { mean, matrix } = evidence.start.whitening.clone();
        let matrix = matrix * &weigh.mapv(f64::from);
        Ok(Model::linear(evidence.start.reading, Affine { mean, matrix }))
    }
}
