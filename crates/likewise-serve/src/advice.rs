//! What the labels of a run, as they are now, say of more labels and of what is the same.

use std::sync::{Arc, PoisonError};

use likewise::advise::threshold::{Finder, Threshold};
use likewise_study::advise::{self, Told, Worth};

use crate::answer::not_yet;
use crate::open::{Means, One, Open};
use crate::problem::Answered;

impl One {
    /// What a budget of labels is worth, or why that cannot be told. The first who asks after a label measures it,
    /// others wait for that.
    pub(crate) fn worth(&self, open: &Open, budget: usize, means: &Means) -> Answered<Told<Worth>> {
        let mut last = self.curve.lock().unwrap_or_else(PoisonError::into_inner);
        let (sequence, labels) = self.labels(open)?;
        let curve = match &*last {
            Some((of, curve)) if *of == sequence => curve.clone(),
            _ => {
                let start = || self.before(means)?.whitened_items();
                let measured = labels.curve(start, &[], open.record.seed, &means.monitor)?;
                let curve = Arc::new(measured.map(|measured| measured.curve));
                *last = Some((sequence, curve.clone()));
                curve
            }
        };
        let curve = curve.as_ref().as_ref();
        Ok(curve
            .map(|curve| labels.worth(curve, budget))
            .map_err(Clone::clone))
    }

    /// The similarity from which on two items are the same at this precision, or why there is none.
    pub(crate) fn threshold(
        &self,
        open: &Open,
        precision: f64,
        means: &Means,
    ) -> Answered<Told<Threshold>> {
        let finder = Finder::new(precision).seed(open.record.seed);
        finder.check()?;
        let (_, labels) = self.labels(open)?;
        let (rows, similarity) = (self.engine.searched.rows(), self.engine.similarity());
        let told = labels.threshold(&finder, rows, similarity, &means.monitor);
        means.monitor.check()?;
        Ok(told)
    }

    /// The labels as they are now, and up to which entry of the journal they go.
    fn labels(&self, open: &Open) -> Answered<(u64, advise::Shown)> {
        let shown = open.shown().ok_or_else(not_yet)?;
        let rows = shown.labeled().rows(open.items.rows());
        let mut each = rows.iter().zip(open.items.rows());
        let given = each.any(|(now, fitted)| now.label != fitted.label);
        Ok((
            shown.sequence(),
            advise::Shown::of(&self.engine.run, &rows, given)?,
        ))
    }
}
