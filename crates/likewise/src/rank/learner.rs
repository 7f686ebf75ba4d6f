//! Manifold ranking as a learner: it keeps the landmarks, and ranks whatever is searched.

use ndarray::Array2;

use super::Emr;
use crate::learn::{Evidence, Fit, Need};
use crate::model::{By, Model, Scored, Seen};
use crate::{Monitor, Result};

impl Fit for Emr {
    /// No label is used.
    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn gives_distance(&self) -> bool {
        false
    }

    fn validate(&self) -> Result<()> {
        Emr::validate(self)
    }

    /// The landmarks of the fitted items.
    fn fit(&self, evidence: &Evidence, seed: u64, monitor: &Monitor) -> Result<Model> {
        let rows: Array2<f32> = evidence.coordinates()?;
        let landmarks = self.landmarks_of(rows.view(), seed, monitor)?;
        let start = evidence.start;
        let seen = Seen {
            columns: 0..evidence.features.ncols(),
            map: (!start.as_given).then(|| start.whitening.clone()),
        };
        let by = By::Manifold(landmarks);
        Ok(Model::Scored(Scored::new(start.reading, vec![seen], by)?))
    }
}
