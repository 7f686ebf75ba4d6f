//! The similarity that OMKS has learned.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::{Array2, ArrayView2, Axis, Slice};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::learned::{Learned, Triplet};
use super::parameters::{Omks, Order, Source};
use crate::kernel::check_columns;
use crate::matrix::{check_finite, product_of_many};
use crate::{Error, Monitor, Result, Triplets, parallel, seed};

/// Share of a kernel below which it is not asked.
const SILENT: f64 = 1e-12;
/// Rows of the gallery that are answered together.
const GALLERY: usize = 1024;

/// What was learned: answers, and can be written down and learn on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Similarity {
    pub(super) omks: Omks,
    pub(super) sources: Vec<Source>,
    pub(super) learned: Vec<Learned>,
    /// The rows of each view.
    pub(super) rows: Vec<Array2<f32>>,
    pub(super) seen: u64,
}

impl Similarity {
    /// Learns on from more triplets of the same rows. In the [given](Order::Given) order this is
    /// what one call with all of them would have learned, if those before fill their last
    /// [minibatch](Omks::minibatch).
    ///
    /// Fails on triplets that do not [fit](Triplets::check) the rows, and when cancelled; nothing is
    /// learned then. For that, what was learned before is kept beside what is learned.
    pub fn learn(&mut self, triplets: &Triplets, seed: u64, monitor: &Monitor) -> Result<()> {
        *self = self.clone().taught(triplets, seed, monitor)?;
        Ok(())
    }

    /// As [`learn`](Self::learn), without a second copy of what was learned.
    pub(crate) fn taught(
        mut self,
        triplets: &Triplets,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Self> {
        self.check()?;
        let n = self.rows.first().map_or(0, Array2::nrows);
        triplets.check(n)?;
        let all: Vec<Triplet> = (triplets.iter())
            .filter(|triplet| triplet.3 > 0.0)
            .map(|(a, p, n, w)| (a as usize, p as usize, n as usize, f64::from(w)))
            .collect();
        let omks = self.omks;
        let whole = (omks.epochs * all.len() * self.sources.len()) as u64;
        monitor.start("multiple kernel similarity", whole);
        let order = |epoch: usize| -> Cow<'_, [Triplet]> {
            match omks.order {
                Order::Given => Cow::Borrowed(all.as_slice()),
                Order::Shuffled => {
                    let mut rng = seed::stream(seed, &format!("order of triplets {epoch}"));
                    let mut order = all.clone();
                    order.shuffle(&mut rng);
                    Cow::Owned(order)
                }
            }
        };
        let done = AtomicU64::new(0);
        let counted = |count: usize| {
            let before = done.fetch_add(count as u64, Ordering::Relaxed);
            monitor.step(before + count as u64)
        };
        let learned = std::mem::take(&mut self.learned);
        let both = self.sources.iter().zip(learned);
        self.learned = parallel::try_map(both, |(&Source { view, kernel }, mut learned)| {
            let k = kernel.own(&self.rows[view].mapv(f64::from));
            for epoch in 0..omks.epochs {
                learned.pass(&omks, &k, &order(epoch), counted)?;
            }
            Ok(learned)
        })?;
        self.seen += (omks.epochs * all.len()) as u64;
        monitor.end();
        Ok(self)
    }

    /// Whether the triplets that were learned from fill their last minibatch: then those that come begin
    /// another, as they would in one pass over all.
    pub(crate) fn fills_minibatches(&self) -> bool {
        self.seen.is_multiple_of(self.omks.minibatch as u64)
    }

    /// The rows that were learned from, of each view.
    pub fn rows(&self) -> &[Array2<f32>] {
        &self.rows
    }

    /// The parameters.
    pub fn parameters(&self) -> Omks {
        self.omks
    }

    /// Whether the parts fit together, which a file may have broken.
    pub(super) fn check(&self) -> Result<()> {
        let n = self.rows.first().map_or(0, Array2::nrows);
        let fits = |learned: &Learned| {
            [&learned.weights, &learned.carried]
                .iter()
                .all(|m| m.dim() == (n, n))
        };
        let sound = self.learned.len() == self.sources.len()
            && self.learned.iter().all(fits)
            && self.rows.iter().all(|rows| rows.nrows() == n)
            && self
                .sources
                .iter()
                .all(|source| source.view < self.rows.len());
        if sound {
            return self.omks.validate();
        }
        Err(Error::data(
            "the parts of the similarity do not fit together; learn it anew",
        ))
    }

    /// The kernels, with the widths that the rows gave.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The weight of each kernel; they add up to 1.
    pub fn theta(&self) -> Vec<f64> {
        let mistakes: Vec<u64> = self.mistakes().collect();
        self.omks
            .theta
            .weights(&mistakes, self.seen, self.omks.beta)
    }

    /// Triplets that each kernel had the wrong way round when they came.
    pub fn mistakes(&self) -> impl Iterator<Item = u64> + '_ {
        self.learned.iter().map(|learned| learned.mistakes)
    }

    /// Triplets that changed each kernel.
    pub fn updates(&self) -> impl Iterator<Item = u64> + '_ {
        self.learned.iter().map(|learned| learned.updates)
    }

    /// `f` of every query with every row of the gallery, `queries x gallery`; more is more
    /// alike. Both have the views that were learned from.
    ///
    /// Fails on NaN, and where views differ in number or columns. O(q n + g n + q g) a kernel and
    /// times their columns or `n`; beside the answer, memory for 1024 rows of the gallery.
    pub fn scores(
        &self,
        queries: &[ArrayView2<f32>],
        gallery: &[ArrayView2<f32>],
    ) -> Result<Array2<f64>> {
        self.check()?;
        let (q, g) = (self.check_like(queries)?, self.check_like(gallery)?);
        let mut f = Array2::<f64>::zeros((q, g));
        for (i, theta) in self.theta().into_iter().enumerate() {
            if theta < SILENT {
                continue;
            }
            let Source { view, kernel } = self.sources[i];
            let rows = self.rows[view].mapv(f64::from);
            let of_queries = queries[view].mapv(f64::from);
            let common = kernel.of_rows(&of_queries, &rows);
            for from in (0..g).step_by(GALLERY) {
                let end = (from + GALLERY).min(g);
                let some = Slice::from(from..end);
                let of_gallery = gallery[view].slice_axis(Axis(0), some).mapv(f64::from);
                let bent = product_of_many(
                    &kernel.of_rows(&of_gallery, &rows),
                    &self.learned[i].weights,
                );
                let found =
                    kernel.of_rows(&of_queries, &of_gallery) + product_of_many(&common, &bent);
                f.slice_axis_mut(Axis(1), some).scaled_add(theta, &found);
            }
        }
        Ok(f)
    }

    /// Fails unless the views are like those that were learned from; their number of rows.
    fn check_like(&self, views: &[ArrayView2<f32>]) -> Result<usize> {
        let n = check_views(views)?;
        if views.len() != self.rows.len() {
            return Err(Error::data(format!(
                "{} views were learned from, but there are {}",
                self.rows.len(),
                views.len()
            )));
        }
        for (view, rows) in views.iter().zip(&self.rows) {
            check_columns(view.len_of(Axis(1)), rows.ncols())?;
        }
        Ok(n)
    }
}

/// Fails on NaN and where views differ in their number of rows, which it gives.
pub(crate) fn check_views(views: &[ArrayView2<f32>]) -> Result<usize> {
    let n = views.first().map_or(0, ArrayView2::nrows);
    for (at, view) in views.iter().enumerate() {
        check_finite(*view, "a view")?;
        if view.nrows() != n {
            return Err(Error::data(format!(
                "view 0 has {n} rows, but view {at} has {}; all must be of the same items",
                view.nrows()
            )));
        }
    }
    Ok(n)
}
