//! Confidence in a row of scores: `omega = 1 - H / log C`, with the entropy `H` of the
//! scores as probabilities.
//!
//! Scores below 0 count as 0 and the rest is divided by its sum. A row without any
//! positive score says nothing: its confidence is 0. With one class it is 1.
//! The value tells how peaked a row is, not how often its argmax is right: it is not
//! calibrated.
//!
//! Source: Zhuang and Moulin 2023, eq. (21); the clamp follows Iscen et al. 2019.

use ndarray::ArrayView2;

use crate::parallel;

/// Sums below this are rounding.
const NOTHING: f64 = 1e-300;

/// Confidence of every row of `scores` (`n x C`), 0 to 1. Costs O(n C).
///
/// ```
/// let scores = ndarray::array![[1.0, -0.2], [0.5, 0.5], [-1.0, 0.0]];
/// let omega = likewise::propagate::parts::confidence::confidence(scores.view());
/// assert_eq!(omega, [1.0, 0.0, 0.0]);
/// ```
pub fn confidence(scores: ArrayView2<f64>) -> Vec<f32> {
    parallel::map_rows(scores.nrows(), |i| of_row(scores.row(i).iter().copied()))
}

/// Confidence of one row.
pub(crate) fn of_row(row: impl ExactSizeIterator<Item = f64> + Clone) -> f32 {
    let classes = row.len();
    let sum: f64 = row.clone().map(|s| s.max(0.0)).sum();
    if sum < NOTHING {
        return 0.0;
    }
    let entropy = (row.map(|s| s.max(0.0) / sum))
        .filter(|&p| p > 0.0)
        .map(|p| -p * p.ln())
        .sum();
    omega(entropy, classes) as f32
}

/// `1 - H / log C`, clipped to 0..1 against rounding; 1 for a single class.
fn omega(entropy: f64, classes: usize) -> f64 {
    if classes < 2 {
        1.0
    } else {
        (1.0 - entropy / (classes as f64).ln()).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    #[test]
    fn by_hand() {
        // p = (3/4, 1/4): H = 0.562335 nats, log 2 = 0.693147.
        let omega = confidence(array![[3.0, 1.0], [7.5, 2.5]].view());
        assert!((omega[0] - 0.188_721_88).abs() < 1e-6);
        assert!((omega[0] - omega[1]).abs() < 1e-7);
    }

    #[test]
    fn degenerate_rows() {
        let rows = array![
            [0.0, 0.0, 0.0],
            [-1.0, -2.0, -3.0],
            [1e-310, 0.0, 0.0],
            [0.0, 9.0, -5.0]
        ];
        assert_eq!(confidence(rows.view()), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(confidence(array![[2.0], [0.0]].view()), [1.0, 0.0]);
        assert!(confidence(Array2::zeros((0, 3)).view()).is_empty());
    }
}
