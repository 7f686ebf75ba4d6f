//! What several draws say together: means, and differences that are paired by draw.

use std::collections::BTreeMap;

use likewise::eval::bootstrap::{Estimate, t_interval};

/// The mean with its 95 % t interval; of one draw the bare mean, whose interval is NaN, and of none
/// nothing.
pub(super) fn mean(values: &[f64]) -> Option<Estimate> {
    let value = values.iter().sum::<f64>() / values.len() as f64;
    let alone = (!values.is_empty()).then_some(Estimate {
        value,
        low: f64::NAN,
        high: f64::NAN,
    });
    t_interval(values).or(alone)
}

/// The mean of `a - b`, values by draw, over the draws that both have; `None` without two of them.
pub(super) fn paired(
    a: impl IntoIterator<Item = (u64, f64)>,
    b: impl IntoIterator<Item = (u64, f64)>,
) -> Option<Estimate> {
    let b: BTreeMap<u64, f64> = b.into_iter().collect();
    let pairs = a.into_iter();
    let differences: Vec<f64> = pairs
        .filter_map(|(draw, value)| Some(value - b.get(&draw)?))
        .collect();
    t_interval(&differences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_draw_has_no_interval() {
        let one = mean(&[0.25]).unwrap();
        assert!((one.value - 0.25).abs() < 1e-12 && one.low.is_nan() && one.high.is_nan());
        assert!(mean(&[]).is_none());
    }

    #[test]
    fn differences_are_of_the_draws_that_both_have() {
        let a = [(0, 0.5), (1, 0.7), (2, 0.9), (4, 0.1)];
        let b = [(1, 0.6), (2, 0.7), (3, 0.0)];
        let d = paired(a, b).unwrap();
        // 0.1 and 0.2: mean 0.15, t(1) = 12.706, half width 12.706 * 0.0707 / sqrt 2.
        assert!((d.value - 0.15).abs() < 1e-12);
        assert!((d.high - d.value - 12.706_2 * 0.05).abs() < 1e-3);
        assert_eq!(paired(a, [(2, 0.7)]), None);
    }
}
