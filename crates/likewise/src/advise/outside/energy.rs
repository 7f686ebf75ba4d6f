//! Scores of logits: a classifier that knows an item has a large one.
//!
//! ```text
//! energy     -T log sum_k exp(z_k / T)
//! largest    -max_k z_k
//! ```
//!
//! Both are nearly the same where one logit leads; the energy also counts the others.
//!
//! **Use it** first: it costs nothing. **Not** on a classifier that was taught to be sure of unlabeled
//! items, by an entropy loss or by pseudo-labels: it is sure of new classes as well then.
//!
//! Cost: O(n C).
//!
//! Source: Liu, Wang, Owens and Li, "Energy-based out-of-distribution detection", `NeurIPS` 2020, eq. 3;
//! Hendrycks et al., "Scaling out-of-distribution detection for real-world settings", ICML 2022 (largest
//! logit).

use ndarray::ArrayView2;

use crate::matrix::check_finite;
use crate::{Error, Result};

/// `-T log sum_k exp(z_k / T)` of each row of `logits` (`n x C`).
///
/// Fails without a column, on NaN, and unless the temperature is above 0.
///
/// ```
/// use likewise::advise::outside::energy::energy;
/// let scores = energy(ndarray::array![[0.0, 0.0], [9.0, 0.0]].view(), 1.0)?;
/// assert!((scores[0] + 2.0_f64.ln()).abs() < 1e-12 && scores[1] < -9.0);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn energy(logits: ArrayView2<f32>, temperature: f64) -> Result<Vec<f64>> {
    check(logits)?;
    if !(temperature.is_finite() && temperature > 0.0) {
        return Err(Error::parameter(
            "temperature",
            temperature,
            "must be above 0",
        ));
    }
    let of = |row: ndarray::ArrayView1<f32>| {
        let largest = f64::from(row.fold(f32::NEG_INFINITY, |a, &b| a.max(b)));
        let sum: f64 = row
            .iter()
            .map(|&z| ((f64::from(z) - largest) / temperature).exp())
            .sum();
        -largest - temperature * sum.ln()
    };
    Ok(logits.rows().into_iter().map(of).collect())
}

/// `-max_k z_k` of each row of `logits` (`n x C`). Fails without a column and on NaN.
pub fn largest_logit(logits: ArrayView2<f32>) -> Result<Vec<f64>> {
    check(logits)?;
    let of =
        |row: ndarray::ArrayView1<f32>| -f64::from(row.fold(f32::NEG_INFINITY, |a, &b| a.max(b)));
    Ok(logits.rows().into_iter().map(of).collect())
}

fn check(logits: ArrayView2<f32>) -> Result<()> {
    if logits.ncols() == 0 {
        return Err(Error::data("logits of no class"));
    }
    check_finite(logits, "logits")
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    #[test]
    fn scores_by_hand() {
        let z = array![[1.0, 2.0, 3.0], [1e4, 0.0, 0.0]];
        let scores = energy(z.view(), 1.0).unwrap();
        assert!((scores[0] + 3.407_605_964_444_38).abs() < 1e-12);
        assert!((scores[1] + 1e4).abs() < 1e-9);
        // -2 log(e^.5 + e^1 + e^1.5)
        let warm = energy(z.view(), 2.0).unwrap()[0];
        let expected = -2.0 * (0.5_f64.exp() + 1.0_f64.exp() + 1.5_f64.exp()).ln();
        assert!((warm - expected).abs() < 1e-12);
        assert_eq!(largest_logit(z.view()).unwrap(), [-3.0, -1e4]);
        assert!(energy(z.view(), 0.0).is_err());
        assert!(energy(Array2::zeros((2, 0)).view(), 1.0).is_err());
        assert!(largest_logit(array![[f32::NAN]].view()).is_err());
    }
}
