//! A learned metric as classifiers ask it: the nearest and the farthest of some rows.

use ndarray::{Array2, ArrayView2};

use crate::matrix::squared_distance;
use crate::model::Model;
use crate::{Result, parallel};

/// A metric, and the labeled rows in it.
pub struct Metric {
    /// Absent for the Euclidean distance.
    model: Option<Model>,
    rows: Array2<f32>,
    class: Vec<u32>,
}

impl Metric {
    /// The metric of a model, or the Euclidean distance without one, and labeled rows (`l x d`) with
    /// their classes.
    pub(super) fn new(
        model: Option<Model>,
        labeled: ArrayView2<f32>,
        class: Vec<u32>,
    ) -> Result<Self> {
        let rows = embed(model.as_ref(), labeled)?;
        Ok(Self { model, rows, class })
    }

    /// Rows as the metric sees them, to be compared by their Euclidean distance.
    pub fn embed(&self, rows: ArrayView2<f32>) -> Result<Array2<f32>> {
        embed(self.model.as_ref(), rows)
    }

    /// For each row the class of the nearest labeled one.
    pub(super) fn near_classes(&self, rows: ArrayView2<f32>) -> Result<Vec<u32>> {
        let rows = self.embed(rows)?;
        let found = extremes(rows.view(), self.rows.view(), |_| None);
        Ok(found.map(|(near, _)| self.class[near]).collect())
    }

    /// For each row the class of the farthest labeled one.
    pub fn far_classes(&self, rows: ArrayView2<f32>) -> Result<Vec<u32>> {
        let rows = self.embed(rows)?;
        let found = extremes(rows.view(), self.rows.view(), |_| None);
        Ok(found.map(|(_, far)| self.class[far]).collect())
    }

    /// For each row the places of the nearest and of the farthest of `peers`, but that at `own`.
    pub fn peers(
        &self,
        rows: ArrayView2<f32>,
        peers: ArrayView2<f32>,
        own: &[usize],
    ) -> Result<Vec<(u32, u32)>> {
        let (rows, peers) = (self.embed(rows)?, self.embed(peers)?);
        let found = extremes(rows.view(), peers.view(), |row| Some(own[row]));
        Ok(found.map(|(near, far)| (near as u32, far as u32)).collect())
    }
}

fn embed(model: Option<&Model>, rows: ArrayView2<f32>) -> Result<Array2<f32>> {
    match model {
        Some(model) => model.embed(rows),
        None => Ok(rows.as_standard_layout().into_owned()),
    }
}

/// For each row the places of the nearest and of the farthest of `pool`, the first of several, but
/// that which is left out for it. The pool has one row more than are left out.
fn extremes(
    rows: ArrayView2<f32>,
    pool: ArrayView2<f32>,
    left_out: impl Fn(usize) -> Option<usize> + Sync,
) -> impl Iterator<Item = (usize, usize)> {
    let found = parallel::map_rows(rows.nrows(), |at| {
        let skipped = left_out(at);
        let (mut near, mut far) = ((f64::INFINITY, 0), (f64::NEG_INFINITY, 0));
        for (place, other) in pool.rows().into_iter().enumerate() {
            if Some(place) == skipped {
                continue;
            }
            let square = squared_distance(rows.row(at), other);
            if square < near.0 {
                near = (square, place);
            }
            if square > far.0 {
                far = (square, place);
            }
        }
        (near.1, far.1)
    });
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::seed;

    proptest! {
        #[test]
        fn extremes_as_by_sorting(n in 2_usize..9, d in 1_usize..20, number: u64) {
            let mut rng = seed::stream(number, "nearest");
            let x = Array2::from_shape_fn((n, d), |_| rng.random_range(0..4_u8).into());
            let found: Vec<_> = extremes(x.view(), x.view(), Some).collect();
            for i in 0..n {
                let square = |j: usize| -> f64 {
                    (0..d).map(|c| f64::from(x[(i, c)] - x[(j, c)]).powi(2)).sum()
                };
                let mut others: Vec<usize> = (0..n).filter(|&j| j != i).collect();
                others.sort_by(|&a, &b| square(a).total_cmp(&square(b)).then(a.cmp(&b)));
                prop_assert_eq!(found[i].0, others[0]);
                others.sort_by(|&a, &b| square(b).total_cmp(&square(a)).then(a.cmp(&b)));
                prop_assert_eq!(found[i].1, others[0]);
            }
        }
    }
}
