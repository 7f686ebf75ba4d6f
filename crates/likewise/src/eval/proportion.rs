//! Intervals of shares and of the difference of two shares on the same items.
//!
//! [`wilson`] for one share `p = x / n`:
//! ```text
//! (x + z²/2 ± z sqrt(n p (1 - p) + z²/4)) / (n + z²),   z = 1.96
//! ```
//! [`paired`] for two systems that were asked the same questions: the Wilson intervals of both,
//! joined with their correlation. [`paired_mean`] for differences that are not only -1, 0 and 1.
//!
//! **Use them** for counts of right and wrong answers, above all for few. **Not** where the
//! answers come in groups (several photographs of one object): the intervals are then too
//! narrow. They say how the number would change with other items like these; nothing of
//! other label draws.
//!
//! Cost: O(n).
//!
//! Source: Wilson 1927; Newcombe, "Improved confidence intervals for the difference between
//! binomial proportions based on paired data", 1998, method 10.

use super::estimate::Estimate;

/// The normal quantile of 95 % intervals.
const Z: f64 = 1.959_963_984_540_054;

/// The share of right answers with its 95 % interval; `None` without any answer.
///
/// ```
/// let share = likewise::eval::proportion::wilson(9, 10).unwrap();
/// assert!((share.low - 0.595_85).abs() < 1e-5 && (share.high - 0.982_12).abs() < 1e-5);
/// ```
pub fn wilson(right: usize, n: usize) -> Option<Estimate> {
    wilson_mean(right as f64 / n as f64, n)
}

/// The same of a mean of `n` numbers from 0 to 1, which vary at most as much as answers that are right
/// or wrong; `None` without any. It says what can be said where all happen to be 1.
///
/// ```
/// let all = likewise::eval::proportion::wilson_mean(1.0, 40).unwrap();
/// assert!((all.low - 0.9124).abs() < 1e-4 && all.high == 1.0);
/// ```
pub fn wilson_mean(value: f64, n: usize) -> Option<Estimate> {
    wilson_of(value, value * (1.0 - value), n, Z)
}

/// The interval of [`wilson_mean`] for numbers whose variance is known, and of another normal quantile.
pub(super) fn wilson_of(value: f64, variance: f64, n: usize, z: f64) -> Option<Estimate> {
    if n == 0 || !(0.0..=1.0).contains(&value) {
        return None;
    }
    let n = n as f64;
    let x = value * n;
    let half = z * (n * variance.max(0.0) + z * z / 4.0).sqrt();
    let end = |sign: f64| (x + z * z / 2.0 + sign * half) / (n + z * z);
    Some(Estimate {
        value,
        low: end(-1.0).clamp(0.0, value),
        high: end(1.0).clamp(value, 1.0),
    })
}

/// The mean of `n` differences from -1 to 1 whose squares have the mean `square`, with its 95 % interval; `None`
/// without any.
///
/// Half an answer that only one of the two has right is added for each: where all answers are equal that is no
/// proof that the next ones are.
///
/// Source: Agresti & Min, "Simple improved confidence intervals for comparing matched proportions", 2005, of whose
/// counts of unequal answers these squares take the place.
///
/// ```
/// let none = likewise::eval::proportion::paired_mean(0.0, 0.0, 15).unwrap();
/// assert!((none.high - 1.959_964 / 17.0).abs() < 1e-6 && none.low == -none.high);
/// ```
pub fn paired_mean(value: f64, square: f64, n: usize) -> Option<Estimate> {
    paired_of(value, square, n, Z)
}

/// The interval of [`paired_mean`], of another normal quantile.
pub(super) fn paired_of(value: f64, square: f64, n: usize, z: f64) -> Option<Estimate> {
    if n == 0 || !(-1.0..=1.0).contains(&value) || square.is_nan() {
        return None;
    }
    let (n, more) = (n as f64, n as f64 + 2.0);
    let unequal = n * square + 1.0 - (n * value).powi(2) / more;
    let half = z * unequal.max(0.0).sqrt() / more;
    Some(Estimate {
        value,
        low: (value - half).max(-1.0),
        high: (value + half).min(1.0),
    })
}

/// The difference `a - b` of the shares of right answers to the same questions, one pair
/// `(a right, b right)` a question, with its 95 % interval; `None` without any.
///
/// ```
/// use likewise::eval::proportion::paired;
/// let gain = paired(&[(true, true), (true, false), (true, false), (false, false)]).unwrap();
/// assert!(gain.value == 0.5 && gain.low < 0.0 && gain.high > 0.5);
/// ```
pub fn paired(answers: &[(bool, bool)]) -> Option<Estimate> {
    let count = |wanted| answers.iter().filter(|&&pair| pair == wanted).count();
    let [both, only_a, only_b, neither] =
        [(true, true), (true, false), (false, true), (false, false)].map(count);
    let a = wilson(both + only_a, answers.len())?;
    let b = wilson(both + only_b, answers.len())?;
    let [e, f, g, h] = [both, only_a, only_b, neither].map(|c| c as f64);
    let margins = ((e + f) * (g + h) * (e + g) * (f + h)).sqrt();
    // A positive correlation narrows the interval, so it is corrected downwards.
    let product = e * h - f * g;
    let corrected = if product > 0.0 {
        (product - answers.len() as f64 / 2.0).max(0.0)
    } else {
        product
    };
    let correlation = if margins > 0.0 {
        corrected / margins
    } else {
        0.0
    };
    let reach = |x: f64, y: f64| (x * x - 2.0 * correlation * x * y + y * y).max(0.0).sqrt();
    let value = a.value - b.value;
    Some(Estimate {
        value,
        low: value - reach(a.value - a.low, b.high - b.value),
        high: value + reach(a.high - a.value, b.value - b.low),
    })
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;
    use crate::seed;
    use rand::RngExt;

    fn answers(counts: [usize; 4]) -> Vec<(bool, bool)> {
        let kinds = [(true, true), (true, false), (false, true), (false, false)];
        (kinds.into_iter().zip(counts))
            .flat_map(|(kind, count)| std::iter::repeat_n(kind, count))
            .collect()
    }

    #[test]
    fn ends_stay_within_the_possible() {
        let all = wilson(7, 7).unwrap();
        assert!(all.high == 1.0 && (all.low - 0.645_66).abs() < 1e-5);
        let none = wilson(0, 7).unwrap();
        assert!(none.low == 0.0 && (none.high - (1.0 - all.low)).abs() < 1e-12);
        assert!(wilson(0, 0).is_none() && wilson(2, 1).is_none() && paired(&[]).is_none());
        let won = paired(&answers([0, 30, 0, 0])).unwrap();
        assert!(won.value == 1.0 && won.high == 1.0 && won.low > 0.8);
    }

    #[test]
    fn numbers_of_the_largest_variance_are_answers_right_or_wrong() {
        for (right, n) in [(0, 5), (3, 8), (40, 40)] {
            let share = right as f64 / n as f64;
            let as_numbers = wilson_of(share, share * (1.0 - share), n, Z);
            assert_eq!(wilson(right, n), as_numbers);
        }
        let narrow = wilson_of(0.5, 0.01, 50, Z).unwrap();
        let wide = wilson(25, 50).unwrap();
        assert!(narrow.low > wide.low && narrow.high < wide.high);
        // Worked by hand: 7 won and 2 lost of 40; 1.96 sqrt(10 - 25 / 42) / 42.
        let won = paired_mean(5.0 / 40.0, 9.0 / 40.0, 40).unwrap();
        assert!((won.high - won.value - 0.143_110).abs() < 1e-5, "{won:?}");
        assert!(paired_mean(0.0, 0.0, 0).is_none() && paired_mean(f64::NAN, 0.0, 3).is_none());
    }

    #[test]
    fn exchanging_the_two_turns_the_interval_round() {
        let ab = paired(&answers([20, 9, 3, 12])).unwrap();
        let ba = paired(&answers([20, 3, 9, 12])).unwrap();
        assert!((ab.low + ba.high).abs() < 1e-12 && (ab.high + ba.low).abs() < 1e-12);
        // Worked by hand: phi = (20 12 - 3 9 - 22) / sqrt(29 15 23 21) = 0.416692.
        assert!((ab.value - 6.0 / 44.0).abs() < 1e-12);
        let same = paired(&answers([20, 0, 0, 12])).unwrap();
        assert!(same.value == 0.0 && same.low < 0.0 && same.high == -same.low);
    }

    #[test]
    fn intervals_hold_the_truth_about_95_times_of_100() {
        let mut rng = seed::stream(3, "coverage");
        // P(both) .45, P(only a) .25, P(only b) .1: the difference is .15.
        let mut held = [0, 0];
        for _ in 0..4000 {
            let drawn: Vec<(bool, bool)> = (0..40)
                .map(|_| match rng.random::<f64>() {
                    u if u < 0.45 => (true, true),
                    u if u < 0.70 => (true, false),
                    u if u < 0.80 => (false, true),
                    _ => (false, false),
                })
                .collect();
            let gain = paired(&drawn).unwrap();
            held[0] += usize::from(gain.low <= 0.15 && 0.15 <= gain.high);
            let right = drawn.iter().filter(|pair| pair.0).count();
            let share = wilson(right, 40).unwrap();
            held[1] += usize::from(share.low <= 0.7 && 0.7 <= share.high);
        }
        for held in held {
            let coverage = held as f64 / 4000.0;
            assert!((0.93..0.98).contains(&coverage), "{coverage}");
        }
    }
}
