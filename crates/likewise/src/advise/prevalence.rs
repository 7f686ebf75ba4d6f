//! How common each class is among items that nobody labeled.
//!
//! Counting what a classifier says is wrong wherever it errs: a class that is rarely recognised seems
//! rare. So its errors are counted too, on labeled items that it did not see, and taken back:
//!
//! ```text
//! Q(c, k) = (n(c, k) + 3 q(c, k)) / (sum over k of n(c, k) + 3)    items of class c that are taken for k
//! p(c) <- w l(c) + sum over k of m(k) p(c) Q(c, k) / sum over c' of p(c') Q(c', k),   divided by its sum
//! ```
//!
//! `q(c, k)` is the share of labeled items that are taken for their own class, in the mean of the classes, where
//! `k = c`, and the rest by the counts of the predictions; `m(k)` unlabeled items are taken for `k`, counted as at most ten
//! a label, since that is as far as `Q` is known; `l(c)` items of `c` are labeled. The iteration begins at
//! the shares of the labels and stays there where the classifier tells nothing. The labels themselves
//! are evidence where they were drawn as they came (`w = 2`), and hardly any where each class has about as
//! many (`w = 0.3`), as they were drawn by class then: where their numbers vary less than a quarter
//! of what chance would make them.
//!
//! **Use it** to weigh classes by their items, and where the number of a class's items must be known. **Not**
//! with one label a class, which says nothing of errors; nor where the labels are the rarest items of
//! their class, since the errors on them are not those on the others.
//!
//! On twelve sets, whole and with classes cut to 10:1, the R-precision of raw features estimated with
//! these sizes missed the truth by .10 and .08 in the mean with 5 and 10 labels a class (by .11 and .08
//! with the counts of the predictions), and by .05 and .03 with 8 and 15 % of the items labeled at random
//! (by .09 and .06).
//!
//! Cost: O(C^2) a step, at most 500.
//!
//! Source: the iteration of Saerens, Latinne & Decaestecker (2002) for shares that differ from those fitted,
//! over decisions and their errors as in Lipton, Wang & Smola (2018); the weights are ours.

use ndarray::Array2;

use crate::{Error, Result};

/// Labeled items that the guess of a class's errors counts as.
const GUESS: f64 = 3.0;
/// Unlabeled items that a labeled one speaks for.
const SPEAKS_FOR: f64 = 10.0;
/// What a label counts that was drawn as it came, and one that was drawn by class.
const AS_IT_CAME: f64 = 2.0;
const BY_CLASS: f64 = 0.3;
const STEPS: usize = 500;

/// The share of each class among unlabeled items, which sum to 1.
///
/// `taken_for` holds, of labeled items that the classifier did not see, the class and what it is taken
/// for, if anything; `predicted` how many unlabeled items are taken for each class; `labeled` how many
/// labels it has. A class without a label has no share.
///
/// Fails on classes out of range, where the numbers of classes differ, and without a label.
///
/// ```
/// use likewise::advise::prevalence::prevalence;
/// // All of class 0 are recognised, of class 1 two of four: those that are seen are half of those there are.
/// let seen = [(0, Some(0)); 40].into_iter();
/// let half = (0..40).map(|i| (1, Some(i % 2)));
/// let known: Vec<(u32, Option<u32>)> = seen.chain(half).collect();
/// let found = prevalence(&known, &[750.0, 250.0], &[40, 40])?;
/// assert!((found[1] - 0.5).abs() < 0.05);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn prevalence(
    taken_for: &[(u32, Option<u32>)],
    predicted: &[f64],
    labeled: &[usize],
) -> Result<Vec<f64>> {
    let classes = labeled.len();
    let labels = labeled.iter().sum::<usize>() as f64;
    let fits = |class: u32| (class as usize) < classes;
    let all_fit = (taken_for.iter()).all(|&(own, other)| fits(own) && other.is_none_or(fits));
    if predicted.len() != classes || !all_fit || labels == 0.0 {
        return Err(Error::data(format!(
            "shares of {classes} classes need a label, a count of each, and known items of these classes alone"
        )));
    }
    let start: Vec<f64> = labeled.iter().map(|&n| n as f64 / labels).collect();
    let counted: f64 = predicted.iter().sum();
    if counted <= 0.0 {
        return Ok(start);
    }
    let errors = errors(taken_for, predicted, classes);
    let scale = (SPEAKS_FOR * labels / counted).min(1.0);
    let weight = if drawn_by_class(labeled) {
        BY_CLASS
    } else {
        AS_IT_CAME
    };
    let mut shares = start;
    for _ in 0..STEPS {
        let mut next: Vec<f64> = labeled.iter().map(|&n| weight * n as f64).collect();
        for (column, &times) in errors.columns().into_iter().zip(predicted) {
            let joint = shares.iter().zip(column).map(|(p, q)| p * q);
            let all: f64 = joint.clone().sum();
            if all > 0.0 {
                for (next, joint) in next.iter_mut().zip(joint) {
                    *next += scale * times * joint / all;
                }
            }
        }
        let sum: f64 = next.iter().sum();
        for share in &mut next {
            *share /= sum;
        }
        let moved = shares.iter().zip(&next).map(|(a, b)| (a - b).abs());
        let most = moved.fold(0.0, f64::max);
        shares = next;
        if most < 1e-9 {
            break;
        }
    }
    Ok(shares)
}

/// `Q(c, k)`: what share of the items of a class are taken for another.
fn errors(taken_for: &[(u32, Option<u32>)], predicted: &[f64], classes: usize) -> Array2<f64> {
    let mut times = Array2::<f64>::zeros((classes, classes));
    for &(own, other) in taken_for {
        if let Some(other) = other {
            times[[own as usize, other as usize]] += 1.0;
        }
    }
    // Of each class as much as of another: one that holds nearly all items would speak for all.
    let known = times.rows().into_iter().enumerate();
    let right: Vec<f64> = known
        .filter(|(_, row)| row.sum() > 0.0)
        .map(|(own, row)| (row[own] + 1.0) / (row.sum() + 2.0))
        .collect();
    let right = (right.iter().sum::<f64>() + 0.5) / (right.len() as f64 + 1.0);
    let counted: f64 = predicted.iter().sum();
    for (own, mut row) in times.rows_mut().into_iter().enumerate() {
        let all = row.sum() + GUESS;
        for (other, times) in row.iter_mut().enumerate() {
            let own = f64::from(u8::from(own == other));
            let guess = right * own + (1.0 - right) * predicted[other] / counted;
            *times = (*times + GUESS * guess) / all;
        }
    }
    times
}

/// Whether labels were drawn by class: their numbers vary less than chance would make them.
fn drawn_by_class(labeled: &[usize]) -> bool {
    let each: Vec<f64> = (labeled.iter().filter(|n| **n > 0))
        .map(|&n| n as f64)
        .collect();
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    let varies: f64 = each.iter().map(|n| (n - mean).powi(2) / mean).sum();
    varies < (each.len() as f64 - 1.0) / 4.0
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Where nothing moves, nothing moves.
mod tests {
    use super::*;

    /// Known items: of each class, so many that are taken for each.
    fn known(times: &[&[usize]]) -> Vec<(u32, Option<u32>)> {
        let pairs = (0..).zip(times).flat_map(|(own, row)| {
            let each = (0..).zip(*row);
            each.flat_map(move |(other, &n)| std::iter::repeat_n((own, Some(other)), n))
        });
        pairs.collect()
    }

    #[test]
    fn errors_are_taken_back() {
        let truth = [0.8, 0.15, 0.05];
        let errors: [&[usize]; 3] = [&[50, 30, 20], &[10, 80, 10], &[10, 10, 80]];
        let predicted: Vec<f64> = (0..3)
            .map(|k| {
                (0..3)
                    .map(|c| 1e4 * truth[c] * errors[c][k] as f64 / 100.0)
                    .sum()
            })
            .collect();
        let found = prevalence(&known(&errors), &predicted, &[100; 3]).unwrap();
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        for (found, truth) in found.iter().zip(truth) {
            assert!((found - truth).abs() < 0.1, "{found} {truth}");
        }
        assert!(predicted[0] < 0.5e4, "the counts alone are wrong");
    }

    #[test]
    fn a_classifier_that_tells_nothing_leaves_the_shares_of_the_labels() {
        let blind: [&[usize]; 3] = [&[92, 0, 0], &[14, 0, 0], &[7, 0, 0]];
        let found = prevalence(&known(&blind), &[787.0, 0.0, 0.0], &[92, 14, 7]).unwrap();
        for (found, labels) in found.iter().zip([92.0, 14.0, 7.0]) {
            assert!((found - labels / 113.0).abs() < 0.05, "{found}");
        }
        let unseen = prevalence(&[], &[0.0; 2], &[3, 1]).unwrap();
        assert_eq!(unseen, [0.75, 0.25]);
    }

    #[test]
    fn equal_numbers_of_labels_are_no_evidence_and_others_are() {
        assert!(drawn_by_class(&[10, 10, 10, 9]) && drawn_by_class(&[5; 30]));
        assert!(!drawn_by_class(&[92, 14, 7]) && !drawn_by_class(&[12, 8, 15, 5]));
        let errors: [&[usize]; 2] = [&[8, 2], &[2, 8]];
        let by_class = prevalence(&known(&errors), &[900.0, 100.0], &[10, 10]).unwrap();
        let as_they_came = prevalence(&known(&errors), &[900.0, 100.0], &[6, 14]).unwrap();
        assert!(by_class[0] > 0.85 && as_they_came[0] < by_class[0]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(prevalence(&[(2, None)], &[1.0; 2], &[1; 2]).is_err());
        assert!(prevalence(&[(0, Some(2))], &[1.0; 2], &[1; 2]).is_err());
        assert!(prevalence(&[], &[1.0; 3], &[1; 2]).is_err());
        assert!(prevalence(&[], &[1.0; 2], &[0; 2]).is_err());
        assert_eq!(prevalence(&[], &[1.0, 5.0], &[1, 0]).unwrap(), [1.0, 0.0]);
    }
}
