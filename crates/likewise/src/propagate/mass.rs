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

use super::known::Known;

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
}

impl Mass {
    /// The share of every labeled class; `None` without normalisation.
    pub(super) fn prior(self, known: &Known) -> Option<Vec<f64>> {
        match self {
            Mass::None => None,
            Mass::Uniform => Some(vec![1.0 / known.n_classes() as f64; known.n_classes()]),
            Mass::Labeled => Some(known.prior()),
        }
    }
}

/// Scales the columns of `scores` (`n x C`) so that the positive scores of the `reached`
/// rows sum to `prior[c]` times the number of these rows.
pub fn normalise(mut scores: ArrayViewMut2<f64>, prior: &[f64], reached: &[bool]) {
    let factors = factors(scores.view(), prior, reached);
    for mut row in scores.rows_mut() {
        for (score, factor) in row.iter_mut().zip(&factors) {
            *score *= factor;
        }
    }
}

/// What [`normalise`] multiplies each column by.
pub(super) fn factors(scores: ArrayView2<f64>, prior: &[f64], reached: &[bool]) -> Vec<f64> {
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
        normalise(
            scores.view_mut(),
            &[0.5, 0.25, 0.15, 0.1],
            &[true, true, false],
        );
        assert_eq!(scores.row(0).to_vec(), [0.75, 0.5, -1.0, 0.0]);
        assert_eq!(scores.row(1).to_vec(), [0.25, -1.0, -1.0, 0.0]);
    }
}
