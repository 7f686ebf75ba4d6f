//! Large margin nearest neighbours: keeps rows of other classes a margin farther than the
//! nearest rows of the own class.
//!
//! ```text
//! targets(i): the k nearest rows of the class of i, fixed      d_il = |L (x_i - x_l)|^2
//! minimise over L
//!   (1 - push) sum_i w_i sum_{j in targets(i)} d_ij
//!     + push sum_i w_i sum_{j in targets(i)} sum_{l of another class} w_l max(0, 1 + d_ij - d_il)
//! z_i = L x_i
//! ```
//!
//! Only what is near a row counts, so classes may be of any form and lie in several places.
//!
//! **Use it** where nearest neighbours already find most of the class and a better scale of the
//! columns would find the rest; some tens of labels a class. **Not** with one or two labels a class
//! (there is no near target to speak of), nor for classes that it has not seen: the margin is
//! fitted to those it knows. Labels that are wrong, or features that tell nothing of the classes,
//! make far rows intrude everywhere; the map then shrinks toward zero.
//!
//! # Cost
//! Each round of at most 25 steps searches all rows for intruders once, O(n^2 r); a step costs
//! O(n d (d + r) + m (d + r)) for the `m` intruders that were ever near, which are held in 4 m bytes.
//! Where these are more than 32 million, none are held and each step searches anew. All in `f64`;
//! memory O(n d) besides. Fewer rows than columns are first rotated into the directions that they
//! vary in, which changes nothing but the cost.
//!
//! Source: Weinberger and Saul, "Distance metric learning for large margin nearest neighbor
//! classification", JMLR 10, 2009, with the active set of its section 3.4.1 grown from round to
//! round, so that no intruder is forgotten. Where we differ: the steps are those of L-BFGS on `L`
//! instead of gradient descent on `L^T L`, which reaches a lower objective in fewer steps. Rows
//! are brought to targets at a mean squared distance of 1 before the start (the margin is 1, the
//! problem convex in `L^T L`, and a scale is only a better start; it is part of the result). A
//! weight counts a row as anchor and as intruder; targets are the nearest rows of any weight above
//! 0. Ties go to the earlier row.

mod margin;
#[cfg(test)]
mod tests;

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use self::margin::{Margin, Targets};
use super::classed::{Classed, rank_among};
use crate::learn::{Evidence, Fit, Need, Size};
use crate::model::Model;
use crate::{Error, Monitor, Result};

/// Parameters of large margin nearest neighbours; see [`lmnn`](self).
///
/// ```
/// use likewise::{Monitor, linear::Lmnn};
/// let x = ndarray::array![[0.0, 0.0], [4.0, 0.1], [0.0, 1.0], [4.0, 1.1_f32]];
/// let learner = Lmnn::new().neighbors(1);
/// let l = learner.fit_weighted(x.view(), &[0, 0, 1, 1], &[1.0; 4], &Monitor::silent())?;
/// // Only the second column tells the classes apart.
/// let length = |j: usize| l.column(j).dot(&l.column(j));
/// assert!(length(1) > 10.0 * length(0));
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lmnn {
    neighbors: usize,
    push: f64,
    rank: Option<usize>,
    iterations: usize,
    tolerance: f64,
}

impl Default for Lmnn {
    fn default() -> Self {
        Self {
            neighbors: 3,
            push: 0.5,
            rank: None,
            iterations: 500,
            tolerance: 1e-4,
        }
    }
}

impl Lmnn {
    /// Three targets, pull and push of equal weight, as published; at most 500 steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Targets of a row, at least 1; a class of fewer others gives what it has.
    #[must_use]
    pub fn neighbors(mut self, neighbors: usize) -> Self {
        self.neighbors = neighbors;
        self
    }

    /// Weight of pushing intruders out against pulling targets in, between 0 and 1.
    #[must_use]
    pub fn push(mut self, push: f64) -> Self {
        self.push = push;
        self
    }

    /// Rows of `L`, which then starts from the first principal directions; absent: as many as
    /// columns, from the identity.
    #[must_use]
    pub fn rank(mut self, rank: Option<usize>) -> Self {
        self.rank = rank;
        self
    }

    /// Most steps, at least 1.
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// Share of the objective that a round of 25 steps must gain for another one, at least 0.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Checks all fields.
    pub fn validate(&self) -> Result<()> {
        if self.neighbors == 0 {
            return Err(Error::parameter("lmnn.neighbors", 0, "must be at least 1"));
        }
        if !(self.push > 0.0 && self.push < 1.0) {
            let rule = "must be between 0 and 1, both excluded";
            return Err(Error::parameter("lmnn.push", self.push, rule));
        }
        if self.rank == Some(0) {
            return Err(Error::parameter("lmnn.rank", 0, "must be at least 1"));
        }
        if self.iterations == 0 {
            return Err(Error::parameter("lmnn.iterations", 0, "must be at least 1"));
        }
        if !(self.tolerance.is_finite() && self.tolerance >= 0.0) {
            let rule = "must be at least 0";
            return Err(Error::parameter("lmnn.tolerance", self.tolerance, rule));
        }
        Ok(())
    }

    /// The map `L` (`r x d`) from rows (`n x d`), a class and a weight of at least 0 for each;
    /// `z = L x`. Rows of weight 0 are left out.
    ///
    /// Without two rows of one class nothing is pulled: the identity (or principal directions),
    /// and a warning. Fails on NaN, where numbers of rows, classes and weights differ, without two
    /// classes of some weight, on a parameter out of its range, and when cancelled.
    pub fn fit_weighted(
        &self,
        x: ArrayView2<f32>,
        classes: &[u32],
        weights: &[f32],
        monitor: &Monitor,
    ) -> Result<Array2<f64>> {
        self.validate()?;
        let rows = Classed::new(x, classes, weights, "large margin nearest neighbours")?;
        self.fit_classed(rows, monitor)
    }

    /// Warns where a class has fewer others of a row than it is to be near to.
    fn warn_of_few(&self, rows: &Classed, monitor: &Monitor) {
        let least = rows.own.iter().map(ExactSizeIterator::len).min();
        let others = least.unwrap_or_default().saturating_sub(1);
        if others < self.neighbors {
            monitor.warn(format!(
                "large margin nearest neighbours: {} neighbors are asked for, and the smallest class has {others} \
                 beside a row; where there are fewer, all are taken",
                self.neighbors
            ));
        }
    }

    fn fit_classed(&self, mut rows: Classed, monitor: &Monitor) -> Result<Array2<f64>> {
        let targets = Targets::of(&rows, self.neighbors);
        let mean = targets.mean_distance(&rows.x);
        rows.center()?;
        let start = rows.start(self.rank, "lmnn.rank")?;
        if mean > 0.0 {
            rows.rescale(mean.sqrt().recip());
        } else {
            monitor.warn(
                "large margin nearest neighbours: no two different rows of one class; the map is \
                 where it starts",
            );
            return Ok(rows.whole(start, self.rank));
        }
        self.warn_of_few(&rows, monitor);
        let margin = Margin {
            rows: &rows,
            targets,
            push: self.push,
            monitor,
        };
        let map = margin.minimise(start.clone(), self.iterations, self.tolerance)?;
        if map.iter().map(|v| v * v).sum::<f64>() > f64::EPSILON {
            return Ok(rows.whole(map, self.rank));
        }
        monitor.warn(
            "large margin nearest neighbours: rows of other classes are as near as those of the \
             own, and nothing is the best map; it is left where it starts",
        );
        Ok(rows.whole(start, self.rank))
    }
}

impl Fit for Lmnn {
    fn needs(&self) -> &'static [Need] {
        &[Need::Classes]
    }

    fn gives_distance(&self) -> bool {
        true
    }

    /// About a step in five searches for intruders among all rows.
    fn operations(&self, of: &Size) -> f64 {
        let (m, d) = (of.labeled, of.columns);
        let search = m * m * d / 25.0 * 2.0;
        self.iterations as f64 * (search + 8.0 * m * d * d)
    }

    fn validate(&self) -> Result<()> {
        Lmnn::validate(self)
    }

    fn fit(&self, evidence: &Evidence, _: u64, monitor: &Monitor) -> Result<Model> {
        let all = evidence.start.whitening.matrix.ncols();
        evidence.map_of_classes(monitor, |x, class, weight| {
            let own = self.rank(rank_among(self.rank, x.ncols(), all));
            own.fit_weighted(x, class, weight, monitor)
        })
    }
}
