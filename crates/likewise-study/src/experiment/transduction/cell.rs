//! One cell of an experiment: a method on a data set with the labels of one draw.

use likewise::{Beliefs, Labels, Monitor};

use super::method::Row;
use super::prepared::Prepared;
use crate::Result;
use crate::experiment::store::rounded;

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    /// Share of all items whose pseudo-label is right, labeled ones included (eq. 36 of Zhuang & Moulin); those
    /// that no label reaches are wrong.
    pub(super) accuracy: f64,
    /// The same of the items whose label was hidden.
    pub(super) hidden: f64,
    /// Share of the items that a label reaches.
    pub(super) reached: f64,
    pub(super) iterations: usize,
    pub(super) converged: bool,
    /// Time of the propagation, without that of the graph.
    pub(super) seconds: f64,
}

impl Cell {
    /// Runs the method.
    pub(super) fn run(
        row: &Row,
        data: &Prepared,
        labels: &Labels,
        draw: u64,
        monitor: &Monitor,
    ) -> Result<Self> {
        let start = std::time::Instant::now();
        let beliefs = row.run(data, labels, draw, monitor)?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(Self::measure(&beliefs, &data.truth, seconds))
    }

    fn measure(beliefs: &Beliefs, truth: &Labels, seconds: f64) -> Self {
        let n = truth.len();
        let right = |i: &usize| beliefs.pseudo_label[*i] == truth[*i].class();
        let hidden: Vec<usize> = (0..n).filter(|&i| !beliefs.labeled[i]).collect();
        let reached = beliefs.pseudo_label.iter().flatten().count();
        let share = |part: usize, whole: usize| rounded(part as f64 / whole.max(1) as f64);
        Self {
            accuracy: share((0..n).filter(right).count(), n),
            hidden: share(hidden.iter().filter(|i| right(i)).count(), hidden.len()),
            reached: share(reached, n),
            iterations: beliefs.convergence.iterations,
            converged: beliefs.convergence.converged,
            seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use likewise::Convergence;

    #[test]
    fn labeled_items_count_in_one_share_and_not_in_the_other() {
        let beliefs = Beliefs {
            scores: ndarray::Array2::zeros((4, 2)),
            pseudo_label: vec![Some(0), Some(1), Some(1), None],
            confidence: vec![1.0; 4],
            labeled: vec![true, false, false, false],
            convergence: Convergence::default(),
        };
        let truth = Labels::parse(["a", "b", "a", "b"]);
        let cell = Cell::measure(&beliefs, &truth, 0.0);
        let found = [cell.accuracy, cell.hidden, cell.reached];
        assert!((found[0] - 0.5).abs() < 1e-9);
        assert!((found[1] - 0.333_333).abs() < 1e-9);
        assert!((found[2] - 0.75).abs() < 1e-9);
    }
}
