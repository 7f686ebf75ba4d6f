//! What labels are worth, by a curve of them.

use likewise::advise::curve::{Curve, Point};
use likewise::eval::bootstrap::Estimate as Interval;
use serde::Serialize;

/// What labels are worth, in shares of beliefs that are right.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Worth {
    /// What was measured, by the number of labels.
    pub points: Vec<Point>,
    /// Labels that were kept back in turn.
    pub tested: usize,
    /// With the labels at hand.
    pub now: Point,
    /// With those of the budget as well, had they been drawn at random.
    pub then: Point,
    /// By how much it grows on the way.
    pub gain: Interval,
}

impl Worth {
    /// Of a budget beside so many labels.
    pub(super) fn of(curve: &Curve, labels: usize, budget: usize) -> Self {
        let point = |labels: usize| Point {
            labels,
            right: curve.at(labels),
        };
        Self {
            now: point(labels),
            then: point(labels + budget),
            gain: curve.gain(labels, labels + budget),
            tested: curve.tested,
            points: curve.points.clone(),
        }
    }
}
