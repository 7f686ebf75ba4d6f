//! Do the pseudo-labels pile up on a few classes?
//!
//! The classes of the pseudo-labels of unlabeled items are counted. The effective number of
//! classes is `exp(H)` of their shares: `C` if all are equally frequent, 1 if one takes
//! everything. A class is suspicious where it takes several times its share of the given
//! labels: in propagation this is often a hub or a dense region, not a large class.
//!
//! **Use it** after every propagation; it needs no truth. **Not** as proof: where the
//! labels were drawn equally from classes of unequal size, a large class is rightly above
//! its share of the labels.
//!
//! Cost: O(n + C).
//!
//! Source: the effective number is Hill's (1973) of order 1; the limits are ours.

use serde::{Deserialize, Serialize};

use crate::{Beliefs, Error, Labels, Result};

/// Times its share of the labels from which a class is suspicious ...
const RATIO: f64 = 3.0;
/// ... if it has also this many standard deviations (of a Poisson count) too many items.
const DEVIATIONS: f64 = 3.0;

/// A class that takes more than its share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Excess {
    /// Index of the class.
    pub class: usize,
    /// Its share of the pseudo-labels.
    pub share: f64,
    /// Its share of the given labels.
    pub expected: f64,
}

/// The classes of the pseudo-labels of unlabeled items.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Balance {
    /// Unlabeled items that got this class as pseudo-label, by class.
    pub counts: Vec<usize>,
    /// `counts` over their sum; zeros if it is 0.
    pub shares: Vec<f64>,
    /// Effective number of classes, from 1 to C; 0 without any pseudo-label.
    pub effective_classes: f64,
    /// The class with the largest share over its share of the labels (ties: smaller class).
    pub largest: Option<Excess>,
    /// Classes with a label that no unlabeled item got.
    pub empty: Vec<usize>,
    /// What looks wrong, in words.
    pub warning: Option<String>,
}

impl Balance {
    /// Counts the pseudo-labels in `beliefs`, which were propagated from `labels`.
    ///
    /// Fails if the two differ in length or a pseudo-label is none of the classes.
    ///
    /// ```
    /// use likewise::{Beliefs, Convergence, Labels, advise::balance::Balance};
    /// let beliefs = Beliefs {
    ///     scores: ndarray::Array2::zeros((6, 2)),
    ///     pseudo_label: vec![Some(0), Some(1), Some(1), Some(1), Some(1), Some(0)],
    ///     confidence: vec![1.0; 6],
    ///     labeled: vec![true, true, false, false, false, false],
    ///     convergence: Convergence::default(),
    /// };
    /// let labels = Labels::parse(["cat", "dog", "", "", "", ""]);
    /// let balance = Balance::measure(&beliefs, &labels)?;
    /// assert_eq!(balance.counts, [1, 3]);
    /// assert!((balance.effective_classes - 1.7548).abs() < 1e-4);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn measure(beliefs: &Beliefs, labels: &Labels) -> Result<Self> {
        let n = labels.len();
        if beliefs.pseudo_label.len() != n || beliefs.labeled.len() != n {
            return Err(Error::data(format!(
                "class balance: {n} labels for {} beliefs; there must be one each",
                beliefs.pseudo_label.len()
            )));
        }
        let mut counts = vec![0_usize; labels.n_classes()];
        let items = beliefs.pseudo_label.iter().zip(&beliefs.labeled);
        for (class, _) in items.filter(|&(_, &labeled)| !labeled) {
            let Some(class) = *class else { continue };
            match counts.get_mut(class as usize) {
                Some(count) => *count += 1,
                None => {
                    return Err(Error::data(format!(
                        "class balance: pseudo-label {class}, but there are only {} classes",
                        labels.n_classes()
                    )));
                }
            }
        }
        let given: Vec<usize> = labels.by_class().iter().map(Vec::len).collect();
        let mut balance = Self::of(counts, &given);
        balance.warning = balance.warn(labels);
        Ok(balance)
    }

    fn of(counts: Vec<usize>, given: &[usize]) -> Self {
        let share = |counts: &[usize]| -> Vec<f64> {
            let total = counts.iter().sum::<usize>().max(1) as f64;
            counts.iter().map(|&c| c as f64 / total).collect()
        };
        let (shares, expected) = (share(&counts), share(given));
        let entropy: f64 = (shares.iter().filter(|&&p| p > 0.0))
            .map(|p| -p * p.ln())
            .sum();
        let mut largest: Option<Excess> = None;
        let seen = shares.iter().zip(&expected).enumerate();
        for (class, (&share, &expected)) in seen.filter(|(_, (s, e))| **s > 0.0 && **e > 0.0) {
            let before = largest.as_ref().map_or(0.0, |l| l.share / l.expected);
            if share / expected > before {
                largest = Some(Excess {
                    class,
                    share,
                    expected,
                });
            }
        }
        let any = counts.iter().any(|&c| c > 0);
        let empty = (0..counts.len()).filter(|&c| any && counts[c] == 0 && given[c] > 0);
        Self {
            empty: empty.collect(),
            effective_classes: if any { entropy.exp() } else { 0.0 },
            shares,
            largest,
            counts,
            warning: None,
        }
    }

    fn warn(&self, labels: &Labels) -> Option<String> {
        let total = self.counts.iter().sum::<usize>() as f64;
        let largest = self.largest.as_ref().filter(|l| {
            let expected = total * l.expected;
            let limit = DEVIATIONS * expected.max(1.0).sqrt();
            l.share >= RATIO * l.expected && total * l.share - expected > limit
        })?;
        Some(format!(
            "class \"{}\" takes {:.0} % of the pseudo-labels and has {:.0} % of the labels ({:.1} \
             times): fine only if it is that large; else try class-mass normalisation or another k",
            labels.classes()[largest.class],
            100.0 * largest.share,
            100.0 * largest.expected,
            largest.share / largest.expected
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Convergence, Label};
    use ndarray::Array2;

    fn measure(guesses: &[Option<u32>], given: &[u32], classes: usize) -> Result<Balance> {
        let n = given.len() + guesses.len();
        let labeled = |i: usize| i < given.len();
        let beliefs = Beliefs {
            scores: Array2::zeros((n, classes)),
            pseudo_label: (given.iter().map(|&c| Some(c)))
                .chain(guesses.iter().copied())
                .collect(),
            confidence: vec![0.5; n],
            labeled: (0..n).map(labeled).collect(),
            convergence: Convergence::default(),
        };
        let items = (given.iter().map(|&c| Label::Known(c)))
            .chain(guesses.iter().map(|_| Label::Unknown))
            .collect();
        let names = (0..classes).map(|c| format!("c{c}")).collect();
        Balance::measure(&beliefs, &Labels::new(names, items)?)
    }

    #[test]
    fn even_pseudo_labels_have_all_classes_and_no_warning() {
        let guesses: Vec<_> = (0..300).map(|i| Some(i % 3)).collect();
        let balance = measure(&guesses, &[0, 1, 2], 3).unwrap();
        assert!((balance.effective_classes - 3.0).abs() < 1e-12);
        assert_eq!((balance.warning, balance.empty), (None, vec![]));
    }

    #[test]
    fn one_class_that_takes_everything_is_named() {
        let guesses = vec![Some(2); 50];
        let balance = measure(&guesses, &[0, 1, 2, 3], 5).unwrap();
        assert!((balance.effective_classes - 1.0).abs() < 1e-12);
        // Class 4 has no label: nobody expects it.
        assert_eq!(balance.empty, [0, 1, 3]);
        let warning = balance.warning.unwrap();
        assert!(warning.contains("\"c2\" takes 100 %") && warning.contains("25 %"));
        // Half of the labels: taking all is twice the share only.
        assert_eq!(measure(&guesses, &[1, 2], 3).unwrap().warning, None);
        // Two items of four expected ones are no finding.
        assert_eq!(
            measure(&[Some(0); 2], &[0, 1, 2, 3], 4).unwrap().warning,
            None
        );
    }

    #[test]
    fn nothing_counted_and_bad_input() {
        let balance = measure(&[None, None], &[0], 2).unwrap();
        assert_eq!((balance.counts, balance.largest), (vec![0, 0], None));
        assert!(balance.effective_classes.abs() < 1e-12 && balance.empty.is_empty());
        assert!(measure(&[Some(7)], &[0], 2).is_err());
        let beliefs = crate::Beliefs {
            scores: Array2::zeros((0, 0)),
            pseudo_label: vec![],
            confidence: vec![],
            labeled: vec![],
            convergence: Convergence::default(),
        };
        assert!(Balance::measure(&beliefs, &Labels::unknown(3)).is_err());
    }
}
