//! What the labels near an item say of it, as shares that sum to 1.
//!
//! The labels spread over the graph by [`Lgc`] with `a = .8`, so that near ones count most, and each row
//! of scores is divided by its sum. An item that no label reaches has a row of zeros.
//!
//! **Use it** where beliefs of one scale are needed for every item: margins, votes, advice. **Not** as
//! probabilities: see [`temperature`](super::temperature).
//!
//! Cost: one propagation, O(iterations x entries x C) time and O(n C) memory.
//!
//! Source: Zhou et al. 2003 for the propagation; the division is ours.

use ndarray::Array2;

use crate::propagate::{Lgc, Propagate};
use crate::{Graph, Labels, Monitor, Result, parallel};

/// Weight of the labels in the propagation: `a = .8`, so that near labels count most. With the
/// usual .99 a label of the far end of a class hides the neighbours.
const MU: f64 = 0.25;

/// The share of each class in what reaches each item (`n x C`).
///
/// Fails where the numbers of labels and nodes differ, and when cancelled.
///
/// ```
/// use likewise::{Graph, Labels, Monitor, advise::shares::shares};
/// let path = Graph::new(vec![0, 1, 3, 4], vec![1, 0, 2, 1], vec![1.0; 4])?;
/// let found = shares(&path, &Labels::parse(["a", "", "b"]), &Monitor::silent())?;
/// assert!((found[[1, 0]] - 0.5).abs() < 1e-9 && (found[[1, 1]] - 0.5).abs() < 1e-9);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn shares(graph: &Graph, labels: &Labels, monitor: &Monitor) -> Result<Array2<f64>> {
    if labels.n_known() == 0 && labels.len() == graph.n() {
        return Ok(Array2::zeros((graph.n(), labels.n_classes())));
    }
    let beliefs = Lgc::new().mu(MU).propagate(graph, labels, monitor)?;
    let mut shares = beliefs.scores;
    parallel::each_row(&mut shares, |_, mut row| {
        row.mapv_inplace(|score| score.max(0.0));
        let sum = row.sum();
        if sum > 0.0 {
            row /= sum;
        }
    });
    Ok(shares)
}

/// The two largest shares of a row and their classes; none where no label reaches it.
pub(super) fn first_two(row: ndarray::ArrayView1<f64>) -> [Option<(u32, f64)>; 2] {
    let mut two = [None::<(u32, f64)>; 2];
    for (class, &share) in row.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        let own = Some((class as u32, share));
        if two[0].is_none_or(|(_, best)| share > best) {
            two = [own, two[0]];
        } else if two[1].is_none_or(|(_, best)| share > best) {
            two[1] = own;
        }
    }
    two
}

/// How far the first class leads the second, 0 where no label reaches to 1 where all agree.
pub(super) fn margin(row: ndarray::ArrayView1<f64>) -> f64 {
    let [first, second] = first_two(row).map(|of| of.map_or(0.0, |(_, share)| share));
    first - second
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Thirds and halves are exact enough where compared so.
mod tests {
    use ndarray::array;

    use super::*;
    use crate::reference::{path, path_labels};

    #[test]
    fn rows_sum_to_one_or_are_empty() {
        let found = shares(&path(), &path_labels(), &Monitor::silent()).unwrap();
        assert!(
            found
                .rows()
                .into_iter()
                .all(|r| (r.sum() - 1.0).abs() < 1e-12)
        );
        assert!(found[[1, 0]] > found[[1, 1]]);
        // Items 2 and 3 are reached by no label.
        let graph = Graph::new(vec![0, 1, 2, 2, 2], vec![1, 0], vec![1.0, 1.0]).unwrap();
        let labels = Labels::parse(["a", "", "", ""]);
        let found = shares(&graph, &labels, &Monitor::silent()).unwrap();
        assert_eq!(found.row(1).to_vec(), [1.0]);
        assert_eq!(found.row(2).to_vec(), [0.0]);
        let none = shares(&graph, &Labels::unknown(4), &Monitor::silent()).unwrap();
        assert_eq!(none.dim(), (4, 0));
        assert!(shares(&graph, &Labels::unknown(3), &Monitor::silent()).is_err());
    }

    #[test]
    fn the_first_two_are_in_order_and_ties_fall_to_the_first_class() {
        let row = array![0.2, 0.4, 0.0, 0.4];
        assert_eq!(first_two(row.view()), [Some((1, 0.4)), Some((3, 0.4))]);
        assert_eq!(margin(row.view()), 0.0);
        assert_eq!(first_two(array![0.0, 1.0].view()), [Some((1, 1.0)), None]);
        assert_eq!(margin(array![0.0, 1.0].view()), 1.0);
        assert_eq!(first_two(array![0.0, 0.0].view()), [None, None]);
    }
}
