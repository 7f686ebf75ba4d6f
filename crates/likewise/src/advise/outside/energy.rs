//! Scores of logits: a classifier that knows an item has a large one.
//!
//! ```text
//! energy     -T log sum_k exp(z_k / T)
//! largest    -max_k z_k
//! ```
//!
//! Both are nearly the same where one logit leads; the energy also counts the others.
//!
//! Features that no network has seen have no logits: [`Classifier`] gives them some, by the labeled items alone.
//!
//! **Use it** first: of logits that are there it costs nothing. **Not** on a classifier that was taught to be
//! sure of unlabeled items, by an entropy loss or by pseudo-labels: it is sure of new classes as well then. Nor
//! where a new class lies on the far side of a known one, which a linear classifier is the surer of the farther
//! off it is: there [`mahalanobis`](super::mahalanobis) sees it.
//!
//! Cost: O(n C) of logits. Of features in addition some hundred passes of O(M D C) over the M known items.
//!
//! Source: Liu, Wang, Owens and Li, "Energy-based out-of-distribution detection", `NeurIPS` 2020, eq. 3;
//! Hendrycks et al., "Scaling out-of-distribution detection for real-world settings", ICML 2022 (largest
//! logit).

use ndarray::{Array1, Array2, ArrayView2};

use crate::linear::Logistic;
use crate::matrix::{check_finite, column_means, less_mean, product_of_many};
use crate::model::Probabilities;
use crate::{Error, Monitor, Result};

/// A classifier of known items by their features: multinomial logistic regression, as
/// [`logistic`](crate::linear::logistic) has it, on the columns as they are.
///
/// Its logits add up to 0 in each row, so that an item that speaks for no class has small ones. Rows are to be
/// of about one length, such as those that learning starts from: a longer row has larger logits, whatever it is.
///
/// ```
/// use likewise::Monitor;
/// use likewise::advise::outside::energy::{Classifier, energy};
/// let x = ndarray::array![[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9_f32]];
/// let known = Classifier::fit(x.view(), &[0, 0, 1, 1], &Monitor::silent())?;
/// let asked = known.logits(ndarray::array![[1.0, 0.0], [-0.5, -0.5]].view())?;
/// let scores = energy(asked.view(), 1.0)?;
/// assert!(scores[1] > scores[0]); // As near to the one class as to the other.
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Classifier(Probabilities);

impl Classifier {
    /// Of known items `x` (`M x D`) and the class of each; classes need not be numbered without gaps.
    ///
    /// Fails on NaN, where numbers differ, without two classes, and when cancelled.
    pub fn fit(x: ArrayView2<f32>, class: &[u32], monitor: &Monitor) -> Result<Self> {
        let mut names = class.to_vec();
        names.sort_unstable();
        names.dedup();
        let place = |class: &u32| names.partition_point(|name| name < class) as u32;
        let class: Vec<u32> = class.iter().map(place).collect();
        let columns = (column_means(x), Array1::ones(x.ncols()));
        let weights = vec![1.0; class.len()];
        let of = (class.as_slice(), weights.as_slice(), class.len());
        let fitted = Logistic::new().fit_scaled(x, columns, of, monitor)?;
        Ok(Self(fitted))
    }

    /// The logits of each row (`n x C`), of classes in the order of their numbers. Fails on NaN and on another
    /// number of columns.
    pub fn logits(&self, x: ArrayView2<f32>) -> Result<Array2<f32>> {
        let Probabilities {
            mean, matrix, bias, ..
        } = &self.0;
        if x.ncols() != mean.len() {
            return Err(Error::data(format!(
                "these rows have {} columns, the known items {}",
                x.ncols(),
                mean.len()
            )));
        }
        check_finite(x, "rows")?;
        let classes = matrix.t().as_standard_layout().into_owned();
        let logits = product_of_many(&less_mean(x, mean), &classes) + bias;
        Ok(logits.mapv(|z| z as f32))
    }
}

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
    fn a_classifier_is_sure_of_what_lies_with_its_classes() {
        // Two classes on either side of the mean, (0, 0), each the mirror image of the other.
        let x = array![[1.0, 0.2], [1.0, -0.2], [-1.0, 0.2], [-1.0, -0.2]];
        let fit = |class: &[u32]| Classifier::fit(x.view(), class, &Monitor::silent());
        let known = fit(&[2, 2, 7, 7]).unwrap();
        let asked = array![[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -3.0]];
        let logits = known.logits(asked.view()).unwrap();
        assert_eq!(logits.dim(), (4, 2));
        let near = |a: f32, b: f32| (a - b).abs() < 1e-3;
        assert!(logits.rows().into_iter().all(|row| near(row.sum(), 0.0)));
        assert!(near(logits[(0, 0)], logits[(1, 1)]) && logits[(0, 0)] > 1.0);
        // What the classes have alike says nothing, however far off.
        let scores = energy(logits.view(), 1.0).unwrap();
        let even = -2.0_f64.ln();
        assert!(
            scores[2..].iter().all(|s| (s - even).abs() < 1e-3),
            "{scores:?}"
        );
        assert!(scores[..2].iter().all(|s| *s < even - 0.3), "{scores:?}");
        assert!(fit(&[1; 4]).is_err() && fit(&[0, 1]).is_err());
        assert!(known.logits(array![[1.0]].view()).is_err());
        assert!(known.logits(array![[1.0, f32::NAN]].view()).is_err());
    }

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
