//! Learners side by side by the labels of one draw: what experiments measure.

use std::collections::BTreeMap;
use std::time::Instant;

use likewise::Monitor;
use likewise_nn::cross::Learner;

use super::believe::believed;
use super::believed::{hits, told_apart};
use super::fitted::Ground;
use super::measured::Measured;
use super::plan::CrossPlan;
use crate::study::selection::Selection;
use crate::{Result, source};

/// What a learner finds by the labels of one draw.
#[derive(Debug)]
pub(crate) struct CrossCell {
    /// Metric -> its mean over the directions; `map50 A_to_B` is one direction.
    pub(crate) metrics: BTreeMap<String, f64>,
    /// Labels that were fitted.
    pub(crate) labels: usize,
    /// Items without a label that got a class, how many of these have a class that is known to us, and
    /// how many of these the right one.
    pub(crate) believed: [usize; 3],
    /// What label prediction selected, one selection after the other; none of another source.
    pub(crate) selections: Vec<Selection>,
    /// How well the source tells unlabeled items whose class is not known to us, where it asks.
    pub(crate) told_apart: Option<f64>,
    /// Seconds of the pseudo-labels, the fit and the search.
    pub(crate) seconds: f64,
}

impl CrossPlan<'_> {
    /// What each of these learners finds by the labels of draw number `draw`, and by what the recipe
    /// believes of the other items, which is asked once; the recipe's own learner takes no part.
    /// `found` is told of each at once.
    ///
    /// Fails as [`run`](Self::run) does, and as `found`.
    pub(crate) fn side_by_side(
        &self,
        draw: u64,
        learners: &[Learner],
        mut found: impl FnMut(usize, CrossCell) -> Result<()>,
        monitor: &Monitor,
    ) -> Result<()> {
        let clock = Instant::now();
        let labels = source::labels(self.collection)?;
        let parts = self.divide(labels)?;
        let sides = self.sides(&parts, monitor)?;
        let ground = Ground::new(self, &sides, labels, &parts)?;
        ground.check_tested()?;
        let truth = ground.fitted_labels();
        let seed = self.protocol.seed.wrapping_add(draw);
        let known = self.draws(&truth, &ground, monitor).0(seed);
        let believed = believed(self, &ground, &known, seed, monitor)?;
        let of_all = hits(&believed, &known, &truth);
        let told_apart = told_apart(&believed, &known, &truth);
        let before = clock.elapsed().as_secs_f64();
        for (place, learner) in learners.iter().enumerate() {
            let clock = Instant::now();
            let within = |e: crate::Error| e.within(learner.name());
            let model = ground
                .fit(learner, &believed, seed, monitor)
                .map_err(within)?;
            let measured = ground.measure(&model, monitor).map_err(within)?;
            let cell = CrossCell {
                metrics: means(&measured),
                labels: known.n_known(),
                believed: of_all,
                selections: believed.selections.clone(),
                told_apart,
                seconds: before + clock.elapsed().as_secs_f64(),
            };
            found(place, cell)?;
        }
        Ok(())
    }
}

/// Means over queries, then over directions.
fn means(measured: &Measured) -> BTreeMap<String, f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let mut means = BTreeMap::new();
    for (metric, by_direction) in &measured.0 {
        let each: Vec<f64> = by_direction.values().map(|values| mean(values)).collect();
        if metric == "map50" {
            let ways = by_direction.keys().zip(&each);
            means.extend(ways.map(|(way, &value)| (format!("map50 {way}"), value)));
        }
        means.insert(metric.clone(), mean(&each));
    }
    means
}
