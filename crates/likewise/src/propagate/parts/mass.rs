//! Class-mass normalisation: every class gets the share of the scores that a prior says.
//!
//! Column `c` is scaled by `q_c / m_c`, where `m_c` is the sum of its positive scores over
//! the reached items, and `q_c` the prior. A strong and cheap correction where the prior
//! is right, since plain propagation favours the classes whose labels lie in dense
//! regions. **Not** where classes are unbalanced in a way that is not known: it moves
//! items from the large classes to the small ones.
//!
//! Source: Zhu, Ghahramani and Lafferty 2003, section 4. Since scores of mixed
//! propagation may be negative, only the positive ones are counted. A class whose scores
//! are nowhere positive is left as it is.

use ndarray::{ArrayView2, ArrayViewMut2};
use serde::{Deserialize, Serialize};

/// The prior of class-mass normalisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mass {
    /// No normalisation: no assumption about the sizes of the classes.
    #[default]
    None,
    /// All classes are equally large.
    Uniform,
    /// Classes are as large as their share of the labels.
    Labeled,
    /// As [`Labeled`](Self::Labeled) first; then classes are as large as the scores say:
    /// positive scores, each row brought to sum 1, summed up. For sizes that are not known:
    /// with the same number of labels a class it moves from equal sizes towards those that
    /// the graph shows. One step only: more steps let large classes take all. As
    /// [`Uniform`](Self::Uniform) where no class has a second label: a single one says more of where
    /// it lies than of how large its class is.
    Estimated,
}

impl Mass {
    /// What the columns of `scores` (`n x C`) are multiplied by, over the `reached` rows, where
    /// each class has so many `labels`; `None` without normalisation.
    pub(crate) fn scale(
        self,
        labels: &[f64],
        scores: ArrayView2<f64>,
        reached: &[bool],
    ) -> Option<Vec<f64>> {
        let all: f64 = labels.iter().sum();
        let labeled = || -> Vec<f64> { labels.iter().map(|labels| labels / all).collect() };
        let uniform = || vec![1.0 / labels.len() as f64; labels.len()];
        let prior = match self {
            Mass::None => return None,
            Mass::Uniform => uniform(),
            Mass::Labeled => labeled(),
            Mass::Estimated if labels.iter().all(|&labels| labels < 2.0) => uniform(),
            Mass::Estimated => {
                let first = factors(scores, &labeled(), reached);
                shares(scores, &first, reached)
            }
        };
        Some(factors(scores, &prior, reached))
    }
}

/// Share of each class in the positive scores of the `reached` rows, scaled and then each of
/// sum 1; rows without any are passed over. Equal shares where all are.
fn shares(scores: ArrayView2<f64>, scale: &[f64], reached: &[bool]) -> Vec<f64> {
    let mut shares = vec![0.0; scores.ncols()];
    for (row, _) in scores.rows().into_iter().zip(reached).filter(|&(_, &r)| r) {
        let positive = || row.iter().zip(scale).map(|(s, scale)| s.max(0.0) * scale);
        let sum: f64 = positive().sum();
        if sum > 0.0 {
            for (share, s) in shares.iter_mut().zip(positive()) {
                *share += s / sum;
            }
        }
    }
    let all: f64 = shares.iter().sum();
    let equal = 1.0 / shares.len().max(1) as f64;
    (shares.into_iter())
        .map(|share| if all > 0.0 { share / all } else { equal })
        .collect()
}

/// Scales the columns of `scores` (`n x C`) so that the positive scores of the `reached`
/// rows sum to `prior[c]` times the number of these rows.
pub fn normalize(scores: ArrayViewMut2<f64>, prior: &[f64], reached: &[bool]) {
    let factors = factors(scores.view(), prior, reached);
    multiply(scores, &factors);
}

fn multiply(mut scores: ArrayViewMut2<f64>, factors: &[f64]) {
    for mut row in scores.rows_mut() {
        for (score, factor) in row.iter_mut().zip(factors) {
            *score *= factor;
        }
    }
}

/// What [`normalise`] multiplies each column by.
fn factors(scores: ArrayView2<f64>, prior: &[f64], reached: &[bool]) -> Vec<f64> {
    let n = reached.iter().filter(|&&r| r).count() as f64;
    let mut factor = vec![0.0; prior.len()];
    for (row, _) in scores.rows().into_iter().zip(reached).filter(|r| *r.1) {
        for (mass, score) in factor.iter_mut().zip(row) {
            *mass += score.max(0.0);
        }
    }
    for (factor, q) in factor.iter_mut().zip(prior) {
        *factor = if *factor > 0.0 { q * n / *factor } else { 1.0 };
    }
    factor
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn columns_get_their_share_and_others_stay() {
        let mut scores = array![
            [3.0, 1.0, -1.0, 0.0],
            [1.0, -2.0, -1.0, 0.0],
            [100.0, 100.0, 100.0, 0.0]
        ];
        normalize(
            scores.view_mut(),
            &[0.5, 0.25, 0.15, 0.1],
            &[true, true, false],
        );
        assert_eq!(scores.row(0).to_vec(), [0.75, 0.5, -1.0, 0.0]);
        assert_eq!(scores.row(1).to_vec(), [0.25, -1.0, -1.0, 0.0]);
    }

    #[test]
    fn shares_count_each_reached_row_once() {
        let scores = array![[3.0, 1.0], [0.2, -5.0], [-1.0, 0.0], [0.0, 9.0]];
        let found = shares(scores.view(), &[1.0; 2], &[true, true, true, false]);
        assert_eq!(found, [0.875, 0.125]);
        assert_eq!(shares(scores.view(), &[1.0; 2], &[false; 4]), [0.5, 0.5]);
    }

    #[test]
    fn the_estimate_is_the_labels_share_moved_once_to_that_of_the_scores() {
        // Labels two to two. Columns brought to 3/2 each: rows (3/4, 3/14), (3/4, 3/14),
        // (0, 15/14). Rows brought to sum 1: class 0 has 7/9 + 7/9 of 3.
        let labels = [2.0, 2.0];
        let mut scores = array![[1.0, 0.1], [1.0, 0.1], [0.0, 0.5]];
        let scale = Mass::Estimated.scale(&labels, scores.view(), &[true; 3]);
        multiply(scores.view_mut(), &scale.unwrap());
        let sums = scores.sum_axis(ndarray::Axis(0));
        assert!((sums[0] - 14.0 / 9.0).abs() < 1e-12 && (sums[1] - 13.0 / 9.0).abs() < 1e-12);
        assert_eq!(Mass::None.scale(&labels, scores.view(), &[true; 3]), None);
    }

    #[test]
    fn one_label_a_class_estimates_nothing() {
        let scores = array![[1.0, 0.1], [1.0, 0.1], [0.0, 0.5]];
        let scale = |mass: Mass, labels: [f64; 2]| mass.scale(&labels, scores.view(), &[true; 3]);
        let equal = scale(Mass::Uniform, [1.0, 1.0]);
        assert_eq!(scale(Mass::Estimated, [1.0, 1.0]), equal);
        assert_ne!(scale(Mass::Estimated, [2.0, 1.0]), equal);
    }
}
