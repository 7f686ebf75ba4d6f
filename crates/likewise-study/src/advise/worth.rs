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
    /// Whether there are fewer than three labels a class: all of this is then likely more.
    pub few: bool,
}

/// What must be said of a curve.
const ON_THE_START: &str = "what labels are worth is measured on the whitened features, which have learned from none; the run's own \
                            beliefs are often better. On public sets with labels at random, three a class or more, the \
                            interval held the true share in 50 of 55 curves and the true gain in 73 of 80";
/// What must be said of it where classes have few labels.
const FEW: &str = "there are fewer than three labels a class: both the share and what more labels are worth are likely more than that";

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
            few: curve.few,
        }
    }

    /// What must be said of it.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let few = self.few.then_some(FEW);
        [Some(ON_THE_START), few]
            .into_iter()
            .flatten()
            .map(str::to_owned)
    }
}
