//! One number that turns confidences into probabilities: `p = confidence^(1 / T)`.
//!
//! Confidences of propagation are entropies of scores whose scale differs from method to
//! method: those of harmonic propagation are about 1e-7 on items of which 8 in 10 are right.
//! `T` above 1 says that the method is better than its confidence, below 1 that it is worse.
//! The order of the items and the pseudo-labels stay as they are, as do 0 and 1.
//!
//! `T` minimises the negative log-likelihood of held-out labels,
//! `-sum [right ln p + wrong ln (1 - p)]`, which is convex in `1 / T`: labels that are known
//! but were hidden from the propagation, as [`diagnosis`](super::diagnosis) does. One right
//! and one wrong item of middle confidence (the geometric mean) are added, so that a few labels
//! that are all right do not make everything certain.
//!
//! Why the power of the confidence and not a softmax of scores over `T`: scores have no common
//! scale, may be negative, and their largest is not always the pseudo-label. On six views
//! of handwritten digits (5 labels a class, 3 draws) the error of calibration fell from .77
//! to .05 (harmonic), .61 to .07 (LGC) and .13 to .09 (mixed). Adding the chance level `1 / C`
//! gained nothing, ranks in place of confidences had the better likelihood and the larger error.
//!
//! **Use it** where a confidence is shown to people or compared with a threshold. **Not**
//! to make training weights: they need no probabilities. **Never** fit it on the labels that
//! it is judged by, nor on labels that the propagation was given. Folds see a few labels less
//! than the final run, so `T` is slightly too pessimistic or optimistic for it.
//!
//! How good the probabilities are is asked of labels that the temperature was not fitted on ([`Calibrated`]): one half of
//! the held-out labels is judged by the temperature of the other half, and the other way round. The error is that of
//! [`Calibration`], before and after. Of few labels it is too large, before and after alike: also of perfect
//! probabilities a bin of ten labels is off by a tenth by luck.
//!
//! Cost: O(held-out items).
//!
//! Source: temperature scaling is Guo et al. 2017; they divide logits, we take a power of
//! the confidence, for the reason above.

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::eval::calibration::Calibration;
use crate::{Beliefs, Error, Result, seed};

/// Fewest held-out labels that a temperature is fitted on.
pub const LEAST: usize = 10;
/// Confidences are kept this far from 0 and 1, where a single item would decide.
const LOW: f64 = 1e-12;
/// The upper end.
const HIGH: f64 = 1.0 - 1e-6;
/// Halvings of the interval of `ln (1 / T)`.
const HALVINGS: usize = 60;

/// A fitted temperature.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Temperature {
    /// `T`, above 0.
    pub value: f64,
    /// Held-out labels that it was fitted on.
    pub fitted_on: usize,
    /// Mean negative log-likelihood of these at `T = 1`, in nats.
    pub before: f64,
    /// The same at the fitted `T`.
    pub after: f64,
}

impl Temperature {
    /// Fits the temperature on held-out items: the confidence of each pseudo-label, and
    /// whether it is right. `None` for fewer than [`LEAST`].
    ///
    /// Fails on a confidence that does not lie within 0 to 1.
    ///
    /// ```
    /// use likewise::advise::temperature::Temperature;
    /// // 0.01 everywhere, though 8 of 10 are right.
    /// let held_out: Vec<_> = (0..100).map(|i| (0.01, i % 5 > 0)).collect();
    /// let t = Temperature::fit(&held_out)?.expect("enough labels");
    /// assert!((t.apply(0.01) - 0.8).abs() < 0.01 && t.apply(0.02) > t.apply(0.01));
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn fit(held_out: &[(f32, bool)]) -> Result<Option<Self>> {
        if let Some((c, _)) = held_out.iter().find(|(c, _)| !(0.0..=1.0).contains(c)) {
            return Err(Error::data(format!(
                "temperature: a held-out confidence is {c}, not from 0 to 1"
            )));
        }
        if held_out.len() < LEAST {
            return Ok(None);
        }
        let mut items: Vec<(f64, bool)> = (held_out.iter())
            .map(|&(c, right)| (f64::from(c).clamp(LOW, HIGH).ln(), right))
            .collect();
        let middle = items.iter().map(|i| i.0).sum::<f64>() / items.len() as f64;
        items.extend([(middle, true), (middle, false)]);
        let (mut low, mut high) = (-12.0_f64, 12.0_f64);
        for _ in 0..HALVINGS {
            let at = f64::midpoint(low, high);
            if slope(&items, at.exp()) > 0.0 {
                high = at;
            } else {
                low = at;
            }
        }
        let inverse = f64::midpoint(low, high).exp();
        let held_out = &items[..items.len() - 2];
        Ok(Some(Self {
            value: 1.0 / inverse,
            fitted_on: held_out.len(),
            before: loss(held_out, 1.0),
            after: loss(held_out, inverse),
        }))
    }

    /// `confidence^(1 / T)`.
    pub fn apply(&self, confidence: f32) -> f32 {
        f64::from(confidence).powf(1.0 / self.value) as f32
    }

    /// The confidences of `beliefs` as probabilities; labeled items keep 1.
    pub fn calibrated(&self, beliefs: &Beliefs) -> Vec<f32> {
        let confidences = beliefs.confidence.iter().zip(&beliefs.labeled);
        confidences
            .map(|(&c, &labeled)| if labeled { c } else { self.apply(c) })
            .collect()
    }
}

/// Expected error of calibration before and after a temperature, on labels that it was not fitted on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    /// Labels that it was measured on.
    pub labels: usize,
    /// Of the confidences as the method gives them, 0 to 1.
    pub before: f64,
    /// Of the probabilities.
    pub after: f64,
}

impl Calibrated {
    /// By held-out labels alone, as [`Temperature::fit`] takes them: cut into two halves at random, each of which is
    /// judged by the temperature of the other. `None` for fewer than twice [`LEAST`].
    ///
    /// Fails on a confidence that does not lie within 0 to 1.
    ///
    /// ```
    /// use likewise::advise::temperature::Calibrated;
    /// let held_out: Vec<_> = (0..100).map(|i| (0.01, i % 5 > 0)).collect();
    /// let found = Calibrated::cross_fit(&held_out, 1)?.expect("enough labels");
    /// assert!((found.before - 0.79).abs() < 1e-6 && found.after < 0.3);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn cross_fit(held_out: &[(f32, bool)], seed: u64) -> Result<Option<Self>> {
        let [one, other] = halves(held_out.len(), seed)
            .map(|half| -> Vec<_> { half.into_iter().map(|place| held_out[place]).collect() });
        let mut after = Vec::with_capacity(held_out.len());
        for (fitted_on, judged) in [(&one, &other), (&other, &one)] {
            let Some(temperature) = Temperature::fit(fitted_on)? else {
                return Ok(None);
            };
            after.extend((judged.iter()).map(|&(c, right)| (temperature.apply(c), right)));
        }
        let [before, after] = [Calibration::of(held_out)?, Calibration::of(&after)?];
        Ok(Self::between(&before, &after))
    }

    /// Of the same items before and after; `None` where nothing was measured.
    pub fn between(before: &Calibration, after: &Calibration) -> Option<Self> {
        Some(Self {
            labels: after.measured,
            before: before.expected_error?,
            after: after.expected_error?,
        })
    }
}

/// The places of so many held-out labels, cut into two halves at random.
pub(super) fn halves(labels: usize, seed: u64) -> [Vec<usize>; 2] {
    let mut order: Vec<usize> = (0..labels).collect();
    order.shuffle(&mut seed::stream(seed, "halves of held-out labels"));
    let other = order.split_off(labels / 2);
    [order, other]
}

/// Mean negative log-likelihood of items `(ln confidence, right)` at `s = 1 / T`.
fn loss(items: &[(f64, bool)], s: f64) -> f64 {
    let sum: f64 = (items.iter())
        .map(|&(l, right)| {
            if right {
                -s * l
            } else {
                -(-(s * l).exp_m1()).ln()
            }
        })
        .sum();
    sum / items.len().max(1) as f64
}

/// Derivative by `s` of the sum; grows with `s`.
fn slope(items: &[(f64, bool)], s: f64) -> f64 {
    (items.iter())
        .map(|&(l, right)| if right { -l } else { l / (-s * l).exp_m1() })
        .sum()
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::RngExt;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn no_other_temperature_is_better(
            items in proptest::collection::vec((0.0_f32..=1.0, any::<bool>()), 10..80),
        ) {
            let t = Temperature::fit(&items).unwrap().unwrap();
            let mut all: Vec<(f64, bool)> = (items.iter())
                .map(|&(c, r)| (f64::from(c).clamp(LOW, HIGH).ln(), r))
                .collect();
            let middle = all.iter().map(|i| i.0).sum::<f64>() / all.len() as f64;
            all.extend([(middle, true), (middle, false)]);
            let best = loss(&all, 1.0 / t.value);
            for step in -40..=40 {
                prop_assert!(best <= loss(&all, (f64::from(step) / 5.0).exp()) + 1e-9);
            }
            // Monotone, and within 0 to 1.
            for c in 0..100 {
                let (a, b) = (t.apply(c as f32 / 100.0), t.apply((c + 1) as f32 / 100.0));
                prop_assert!((0.0..=1.0).contains(&a) && a <= b);
            }
        }
    }

    #[test]
    fn too_sure_and_too_modest_methods_are_told_apart() {
        let value = |c: f32, right: usize| {
            let items: Vec<_> = (0..100).map(|i| (c, i < right)).collect();
            Temperature::fit(&items).unwrap().unwrap()
        };
        let (sure, modest) = (value(0.9, 50), value(1e-7, 80));
        assert!(sure.value < 1.0 && (sure.apply(0.9) - 0.5).abs() < 0.01);
        assert!(modest.value > 1.0 && (modest.apply(1e-7) - 0.8).abs() < 0.01);
        assert!(modest.after < modest.before && sure.after < sure.before);
        assert_eq!((modest.apply(0.0), modest.apply(1.0)), (0.0, 1.0));
    }

    #[test]
    fn each_half_is_judged_by_the_temperature_of_the_other() {
        // All are wrong, one half of .9 and the other of .2: with the one right item that is added the temperature of
        // each half makes 1/22 of its own confidence, 1.92 the power of the other and 29.3 that of the first.
        let [one, other] = halves(40, 3);
        let mut items = vec![(0.9_f32, false); 40];
        for &place in &other {
            items[place].0 = 0.2;
        }
        let fit = |half: &[usize]| {
            let half: Vec<(f32, bool)> = half.iter().map(|&place| items[place]).collect();
            Temperature::fit(&half).unwrap().unwrap()
        };
        let (first, second) = (fit(&one), fit(&other));
        assert!((first.apply(0.9) - 1.0 / 22.0).abs() < 1e-4);
        assert!((second.apply(0.2) - 1.0 / 22.0).abs() < 1e-4);
        let found = Calibrated::cross_fit(&items, 3).unwrap().unwrap();
        let expected = f64::from(second.apply(0.9) + first.apply(0.2)) / 2.0;
        assert!((found.after - expected).abs() < 1e-6, "{found:?}");
        assert!((expected - 0.408).abs() < 1e-3, "{expected}");
        assert_eq!(found.labels, 40);
        assert!((found.before - 0.55).abs() < 1e-6, "{}", found.before);
        // Other halves, other temperatures.
        let mixed = Calibrated::cross_fit(&items, 4).unwrap().unwrap();
        assert!(mixed.after < expected - 0.1, "{mixed:?}");
    }

    #[test]
    fn confidences_that_mean_nothing_get_no_better() {
        // By a temperature that luck has fitted.
        let mut rng = seed::stream(5, "test confidences");
        let blind: Vec<(f32, bool)> = (0..40).map(|_| (rng.random(), rng.random())).collect();
        let blind = Calibrated::cross_fit(&blind, 1).unwrap().unwrap();
        assert!(blind.after > 0.05 && blind.labels == 40, "{blind:?}");
    }

    #[test]
    fn halves_of_too_few_labels_tell_nothing() {
        let items = |count| vec![(0.5_f32, true); count];
        assert_eq!(Calibrated::cross_fit(&items(19), 0).unwrap(), None);
        assert_eq!(Calibrated::cross_fit(&[], 0).unwrap(), None);
        let found = Calibrated::cross_fit(&items(20), 0).unwrap().unwrap();
        assert_eq!((found.labels, found.before), (20, 0.5));
        assert!(found.after < 0.5);
        assert!(Calibrated::cross_fit(&[(f32::NAN, true); 20], 0).is_err());
    }

    #[test]
    fn all_right_all_wrong_zeros_and_ones_stay_finite() {
        for (c, right) in [
            (1.0, true),
            (1.0, false),
            (0.0, true),
            (0.0, false),
            (0.4, true),
        ] {
            let t = Temperature::fit(&[(c, right); 12]).unwrap().unwrap();
            assert!(t.value.is_finite() && t.value > 0.0 && t.after.is_finite());
        }
        assert_eq!(Temperature::fit(&[(0.5, true); 9]).unwrap(), None);
        assert!(Temperature::fit(&[(f32::NAN, true)]).is_err());
        assert!(Temperature::fit(&[(1.5, true)]).is_err());
    }
}
