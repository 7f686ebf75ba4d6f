//! Does a confidence mean what it says?
//!
//! Items are sorted into ten bins by the confidence of their pseudo-label; in each bin,
//! the mean confidence is compared with the share of pseudo-labels that are right. The
//! expected calibration error is the mean gap, weighted by the size of the bins
//! (Naeini, Cooper & Hauskrecht 2015). It depends on the bins; look at them as well.
//!
//! Confidences of propagation are weights, not probabilities: a high error does not make
//! them useless as long as accuracy rises from bin to bin.

use serde::{Deserialize, Serialize};

use crate::{Beliefs, Error, Label, Labels, Result};

/// Number of bins, each `1 / 10` wide; the last one includes 1.
pub const BINS: usize = 10;

/// One bin of confidence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Number of items.
    pub count: usize,
    /// Mean confidence of the items, 0 if there are none.
    pub confidence: f64,
    /// Share of right pseudo-labels, 0 if there are none.
    pub accuracy: f64,
}

/// Calibration of pseudo-labels against the true labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The bins, from low to high confidence.
    pub bins: [Bin; BINS],
    /// Expected calibration error, 0 to 1; `None` if nothing was measured.
    pub expected_error: Option<f64>,
    /// Share of right pseudo-labels among all measured; `None` if nothing was.
    pub accuracy: Option<f64>,
    /// Items that were measured.
    pub measured: usize,
    /// Items without a pseudo-label, because no label reaches them. Not measured.
    pub unreached: usize,
    /// Items whose own label was given (their confidence is 1 by rule), and items whose
    /// true label is unknown. Not measured.
    pub skipped: usize,
}

impl Calibration {
    /// Compares the pseudo-labels in `beliefs` with `truth`.
    ///
    /// Items that truly are [`Outside`](Label::Outside) all classes are measured, and
    /// every pseudo-label of theirs is wrong. O(n).
    ///
    /// Fails if the lengths differ or a confidence lies outside 0 to 1.
    ///
    /// ```
    /// use likewise::{Beliefs, Convergence, Labels, eval::calibration::Calibration};
    /// let beliefs = Beliefs {
    ///     scores: ndarray::Array2::zeros((3, 2)),
    ///     pseudo_label: vec![Some(0), Some(1), Some(1)],
    ///     confidence: vec![0.95, 0.85, 0.45],
    ///     labeled: vec![false; 3],
    ///     convergence: Convergence::default(),
    /// };
    /// let truth = Labels::parse(["a", "b", "a"]);
    /// let c = Calibration::measure(&beliefs, &truth)?;
    /// assert_eq!(c.bins[4].accuracy, 0.0);
    /// assert!((c.expected_error.unwrap() - (0.05 + 0.15 + 0.45) / 3.0).abs() < 1e-6);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn measure(beliefs: &Beliefs, truth: &Labels) -> Result<Self> {
        let n = truth.len();
        let lengths = [
            beliefs.pseudo_label.len(),
            beliefs.confidence.len(),
            beliefs.labeled.len(),
        ];
        if lengths.iter().any(|&l| l != n) {
            return Err(Error::data(format!(
                "calibration: {n} true labels for {} beliefs; there must be one each",
                lengths[0]
            )));
        }
        let (mut unreached, mut skipped) = (0, 0);
        let mut judged = Vec::new();
        for item in 0..n {
            let confidence = f64::from(beliefs.confidence[item]);
            if !(0.0..=1.0).contains(&confidence) {
                return Err(Error::data(format!(
                    "calibration: the confidence of item {item} is {confidence}, not from 0 to 1"
                )));
            }
            if beliefs.labeled[item] || truth[item] == Label::Unknown {
                skipped += 1;
                continue;
            }
            let Some(guess) = beliefs.pseudo_label[item] else {
                unreached += 1;
                continue;
            };
            judged.push((beliefs.confidence[item], truth[item] == Label::Known(guess)));
        }
        Ok(Self {
            unreached,
            skipped,
            ..Self::of(&judged)?
        })
    }

    /// Of confidences, each with whether its pseudo-label is right. O(n).
    ///
    /// Fails if a confidence lies outside 0 to 1.
    ///
    /// ```
    /// use likewise::eval::calibration::Calibration;
    /// let found = Calibration::of(&[(0.75, true), (0.75, false)])?;
    /// assert_eq!((found.measured, found.expected_error), (2, Some(0.25)));
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn of(judged: &[(f32, bool)]) -> Result<Self> {
        let mut bins = [Bin::default(); BINS];
        for &(confidence, right) in judged {
            let confidence = f64::from(confidence);
            if !(0.0..=1.0).contains(&confidence) {
                return Err(Error::data(format!(
                    "calibration: a confidence is {confidence}, not from 0 to 1"
                )));
            }
            let bin = &mut bins[((confidence * BINS as f64) as usize).min(BINS - 1)];
            bin.count += 1;
            bin.confidence += confidence;
            bin.accuracy += f64::from(u8::from(right));
        }
        let measured: usize = bins.iter().map(|b| b.count).sum();
        let gaps: f64 = bins.iter().map(|b| (b.confidence - b.accuracy).abs()).sum();
        let right: f64 = bins.iter().map(|b| b.accuracy).sum();
        for bin in &mut bins {
            bin.confidence /= bin.count.max(1) as f64;
            bin.accuracy /= bin.count.max(1) as f64;
        }
        let share = |sum: f64| (measured > 0).then(|| sum / measured as f64);
        Ok(Self {
            bins,
            expected_error: share(gaps),
            accuracy: share(right),
            measured,
            unreached: 0,
            skipped: 0,
        })
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;
    use crate::Convergence;

    fn beliefs(guesses: &[(Option<u32>, f32, bool)]) -> Beliefs {
        Beliefs {
            scores: ndarray::Array2::zeros((guesses.len(), 2)),
            pseudo_label: guesses.iter().map(|g| g.0).collect(),
            confidence: guesses.iter().map(|g| g.1).collect(),
            labeled: guesses.iter().map(|g| g.2).collect(),
            convergence: Convergence::default(),
        }
    }

    #[test]
    fn a_case_by_hand() {
        let b = beliefs(&[
            (Some(0), 0.25, false), // right
            (Some(1), 0.29, false), // wrong
            (Some(1), 1.0, false),  // right, last bin
            (Some(0), 0.0, false),  // outside, so wrong, first bin
            (None, 0.0, false),     // unreached
            (Some(0), 1.0, true),   // labeled
            (Some(0), 0.5, false),  // unknown truth
        ]);
        let truth = Labels::parse(["a", "a", "b", "-2", "a", "a", ""]);
        let c = Calibration::measure(&b, &truth).unwrap();
        assert_eq!((c.measured, c.unreached, c.skipped), (4, 1, 2));
        assert_eq!(c.bins[2].count, 2);
        assert!((c.bins[2].confidence - 0.27).abs() < 1e-7);
        assert_eq!(c.bins[2].accuracy, 0.5);
        assert_eq!((c.bins[0].count, c.bins[9].count), (1, 1));
        assert!((c.expected_error.unwrap() - (2.0 * 0.23) / 4.0).abs() < 1e-7);
        assert_eq!(c.accuracy, Some(0.5));
    }

    #[test]
    fn nothing_to_measure_and_bad_input() {
        let c = Calibration::measure(&beliefs(&[]), &Labels::unknown(0)).unwrap();
        assert_eq!(c.expected_error, None);
        let b = beliefs(&[(Some(0), 1.5, false)]);
        assert!(Calibration::measure(&b, &Labels::parse(["a"])).is_err());
        let b = beliefs(&[(Some(0), f32::NAN, false)]);
        assert!(Calibration::measure(&b, &Labels::parse(["a"])).is_err());
        assert!(Calibration::measure(&b, &Labels::unknown(2)).is_err());
        assert_eq!(Calibration::of(&[]).unwrap(), c);
        assert!(Calibration::of(&[(1.5, true)]).is_err());
        assert!(Calibration::of(&[(f32::NAN, true)]).is_err());
    }
}
