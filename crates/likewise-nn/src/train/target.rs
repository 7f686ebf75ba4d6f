//! What a loss that looks at the whole set is told of a batch: targets of all items, and their links.

use burn::tensor::{Device, Tensor};
use likewise::Monitor;
use likewise::learn::Evidence;
use ndarray::{Array2, Axis, concatenate};

use super::learner::Gradient;
use super::state::State;
use super::steps::Step;
use crate::loss::{Batch, Classes, Dec, Linked};
use crate::net::to_matrix;
use crate::{Error, Result};

/// Rows of a head that are computed together; of an encoder it is a batch.
const TOGETHER: usize = 1024;

/// What stands still within an epoch.
pub(super) struct Whole<'a> {
    dec: &'a Dec,
    /// The place of every fitted item in `targets`; none of weight 0 has one.
    place: Vec<Option<usize>>,
    targets: Array2<f32>,
    links: Option<Linked>,
}

impl<'a> Whole<'a> {
    /// The targets of this epoch, where the loss has such.
    pub(super) fn of(
        how: &Gradient<'a>,
        state: &State,
        evidence: &Evidence,
        monitor: &Monitor,
    ) -> Result<Option<Self>> {
        let (Some(dec), Some(centers)) = (how.loss.dec(), state.proxy_rows().pop()) else {
            return Ok(None);
        };
        let weights = &evidence.targets.weight;
        let items: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
        let mut place = vec![None; weights.len()];
        for (at, &item) in items.iter().enumerate() {
            place[item] = Some(at);
        }
        let together = how.encoder.map_or(TOGETHER, |_| how.train.batch);
        let centers = to_matrix(centers);
        let mut assigned = Vec::new();
        for some in items.chunks(together) {
            monitor.check()?;
            let rows = state.unit_rows(how.inputs(evidence, some, None)?)?;
            let rows = to_matrix(state.mapped(rows));
            assigned.push(dec.assigned(rows.view(), centers.view())?);
        }
        let parts: Vec<_> = assigned.iter().map(|q| q.view()).collect();
        if parts.is_empty() {
            return Ok(None);
        }
        let q = concatenate(Axis(0), &parts)
            .map_err(|e| Error::data(format!("targets of the whole set: {e}")))?;
        let counted: Vec<f32> = items.iter().map(|&item| weights[item]).collect();
        let links = evidence.pairs.filter(|_| dec.lambda > 0.0);
        Ok(Some(Self {
            dec,
            place,
            targets: dec.targets(q.view(), &counted)?.mapv(|p| p as f32),
            links: links.map(|pairs| Linked::new(pairs, weights.len())),
        }))
    }

    /// Puts the targets of a step's items in the place of their classes.
    pub(super) fn tell(&self, step: &Step, batch: &mut Batch, device: &Device) -> Result<()> {
        let Some(classes) = &batch.classes else {
            return Ok(());
        };
        let places: Vec<usize> = (step.items.iter())
            .filter_map(|&item| self.place[item])
            .collect();
        let shares = self.targets.select(Axis(0), &places);
        let weights = classes.weights.clone();
        let weights = weights
            .try_into_vec_as::<f32>()
            .map_err(|e| Error::data(format!("weights of a batch: {e:?}")))?;
        batch.classes = Some(Classes::soft(shares.view(), &weights, device)?);
        Ok(())
    }

    /// What the links of a step's items add to its loss.
    pub(super) fn linked(&self, embedded: &Tensor<2>, step: &Step) -> Option<Tensor<1>> {
        let links = self.links.as_ref()?;
        self.dec.linked(embedded, &step.items, links)
    }
}
