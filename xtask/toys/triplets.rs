//! A toy learner of given triplets alone: directions of the start, by what given triplets say of each.
//!
//! **Use it** to see what a learner of given triplets has to say of itself. **Not** to
//! learn: it sees one direction at a time.
//!
//! Cost: O(d) for each triplet.
//!
//! Source: none.

use ndarray::Array1;
use serde::{Deserialize, Serialize};

use super::affine::Affine;
use crate::learn::{Evidence, Fit, Need};
use crate::model::Model;
use crate::{Error, Monitor, Result};

/// The toy learner of given triplets; see [`toy_triplets`](self).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToyTriplets {}

impl Fit for ToyTriplets {
    fn needs(&self) -> &'static [Need] {
        &[Need::Triplets]
    }

    fn gives_distance(&self) -> bool {
        false
    }

    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn fit(&self, evidence: &Evidence, _: u64, _: &Monitor) -> Result<Model> {
        let targets = evidence.targets;
        let triplets = targets.triplets.as_ref();
        let triplets = triplets.ok_or_else(|| Error::data("there are no triplets"))?;
        if evidence.pairs.is_some() {
            return Err(Error::data("a learner of triplets alone was given others"));
        }
        let columns = evidence.rows.ncols();
        let mut nearer: Array1<f32> = Array1::zeros(columns);
        for (anchor, positive, negative, weight) in triplets.iter() {
            let [a, p, n] = [anchor, positive, negative].map(|i| evidence.rows.row(i as usize));
            nearer += &(((&a - &n).mapv(f32::abs) - (&a - &p).mapv(f32::abs)) * weight);
        }
        // A column that tells the two items apart as the triplets do counts more.
        let weigh = nearer.mapv(|sum| 1.0 + sum.max(0.0));
        let Affine { mean, matrix } = evidence.start.whitening.clone();
        let matrix = matrix * &weigh.mapv(f64::from);
        Ok(Model::linear(evidence.start.reading, Affine { mean, matrix }))
    }
}
