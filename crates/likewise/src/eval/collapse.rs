//! Collapse: did training push all embeddings onto a point or a line?
//!
//! A collapsed embedding can have a low loss and still be useless, and its cosines all
//! look excellent. Two numbers show it:
//!
//! - **effective rank** `exp(-sum p ln p)` over the variances `p = l_i / sum l` (the
//!   eigenvalues of the centred covariance of the rows as they are): how many directions
//!   the embedding really uses, from 1 to d. Roy & Vetterli 2007 define it with singular
//!   values of the uncentred matrix instead of variances, which gives larger numbers.
//! - **mean cosine** over all pairs of different items, from the sum of the unit rows in
//!   O(n d): 0 for directions spread evenly, 1 if all are the same.
//!
//! Cost: O(n d m + m^3) with m the smaller of n and d: the eigenvalues alone, without their
//! directions. Of many rows a [`sample`] tells as much.

use ndarray::{Array1, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::linear::whitening;
use crate::{Result, seed};

/// What the numbers mean, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing to worry about.
    Healthy,
    /// Mean cosine of at least 0.9, or effective rank below 3: most pairs look alike.
    /// Raw network features are often like this; centring or whitening helps.
    Narrow,
    /// Mean cosine of at least 0.99, or effective rank below 1.5: nearly a point or line.
    Collapsed,
}

/// The state of an embedding.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Collapse {
    /// Number of directions in use, 1 to d; 0 if all rows are equal.
    pub effective_rank: f64,
    /// Mean cosine over pairs of different items, -1 to 1; rows of zeros count as 0.
    pub mean_cosine: f64,
    /// Number of dimensions.
    pub dimensions: usize,
}

impl Collapse {
    /// Measures the rows of `x` (`n x d`).
    ///
    /// Fails on NaN and without rows or columns. A single row has mean cosine 0.
    ///
    /// ```
    /// use likewise::eval::collapse::{Collapse, Verdict};
    /// let x = ndarray::array![[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]];
    /// let c = Collapse::measure(x.view())?;
    /// assert!((c.effective_rank - 1.0).abs() < 1e-9);
    /// assert_eq!(c.verdict(), Verdict::Collapsed);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn measure(x: ArrayView2<f32>) -> Result<Self> {
        let variances = whitening::variances(x)?;
        let total = variances.sum();
        let shares = variances.iter().map(|v| v / total);
        let entropy: f64 = shares.filter(|&p| p > 0.0).map(|p| -p * p.ln()).sum();
        Ok(Self {
            effective_rank: if total > 0.0 { entropy.exp() } else { 0.0 },
            mean_cosine: mean_cosine(x),
            dimensions: x.ncols(),
        })
    }

    /// The verdict on the thresholds that [`Verdict`] states.
    ///
    /// The rank is not judged where there are fewer dimensions than the threshold.
    pub fn verdict(&self) -> Verdict {
        let below = |rank: f64| self.effective_rank < rank.min(self.dimensions as f64 * 0.75);
        if self.mean_cosine >= 0.99 || below(1.5) {
            Verdict::Collapsed
        } else if self.mean_cosine >= 0.9 || below(3.0) {
            Verdict::Narrow
        } else {
            Verdict::Healthy
        }
    }
}

/// At most `most` of `n` rows to [measure](Collapse::measure), ascending: drawn without
/// replacement, because the first rows of sorted data are of one class. The same for the same
/// `n`, `most` and `seed`.
///
/// ```
/// use likewise::eval::collapse::sample;
/// let rows = sample(1000, 10, 0);
/// assert!(rows.len() == 10 && rows.is_sorted() && rows[9] > 10);
/// assert_eq!(sample(3, 10, 0), [0, 1, 2]);
/// ```
pub fn sample(n: usize, most: usize, seed: u64) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    let mut rng = seed::stream(seed, "rows of the collapse meter");
    let mut rows = rand::seq::index::sample(&mut rng, n, most).into_vec();
    rows.sort_unstable();
    rows
}

/// `(|sum u|^2 - sum |u|^2) / (n (n - 1))` for the unit rows u.
fn mean_cosine(x: ArrayView2<f32>) -> f64 {
    let mut sum = Array1::<f64>::zeros(x.ncols());
    let mut units = 0.0;
    for row in x.rows() {
        let norm = row
            .iter()
            .map(|&v| f64::from(v).powi(2))
            .sum::<f64>()
            .sqrt();
        if norm > 0.0 {
            sum.zip_mut_with(&row, |s, &v| *s += f64::from(v) / norm);
            units += 1.0;
        }
    }
    let n = x.nrows() as f64;
    if n < 2.0 {
        return 0.0;
    }
    ((sum.dot(&sum) - units) / (n * (n - 1.0))).clamp(-1.0, 1.0)
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;
    use crate::{distance::Metric, seed};
    use ndarray::Array2;
    use rand::RngExt;

    #[test]
    fn mean_cosine_is_that_of_all_pairs() {
        let mut rng = seed::stream(1, "collapse");
        let mut x = Array2::from_shape_fn((30, 4), |_| rng.random_range(-1.0_f32..2.0));
        x.row_mut(7).fill(0.0);
        let mut sum = 0.0;
        for i in 0..30 {
            for j in (0..30).filter(|&j| j != i) {
                sum += Metric::Cosine.similarity(x.row(i), x.row(j));
            }
        }
        assert!((mean_cosine(x.view()) - sum / (30.0 * 29.0)).abs() < 1e-9);
    }

    #[test]
    fn effective_rank_counts_even_directions() {
        // Plus and minus each unit vector: equal variance in 4 of 6 directions.
        let x = Array2::from_shape_fn((8, 6), |(i, j)| {
            if i / 2 == j {
                if i % 2 == 0 { 1.0 } else { -1.0 }
            } else {
                0.0
            }
        });
        let c = Collapse::measure(x.view()).unwrap();
        assert!((c.effective_rank - 4.0).abs() < 1e-9);
        assert_eq!(c.verdict(), Verdict::Healthy);
        // Variances 3/4 and 1/4: exp of the entropy by hand.
        let x = ndarray::array![
            [3_f32.sqrt(), 0.0],
            [-3_f32.sqrt(), 0.0],
            [0.0, 1.0],
            [0.0, -1.0]
        ];
        let c = Collapse::measure(x.view()).unwrap();
        let entropy = -(0.75 * 0.75_f64.ln() + 0.25 * 0.25_f64.ln());
        assert!((c.effective_rank - entropy.exp()).abs() < 1e-6);
    }

    #[test]
    fn a_sample_of_sorted_rows_is_like_all_of_them() {
        // Sorted by class: the first rows all lie on one axis.
        let x = Array2::from_shape_fn((6000, 6), |(i, j)| {
            let noise = ((i * 31 + j * 17) % 101) as f32 / 1000.0;
            noise + f32::from(u8::from(i / 1000 == j))
        });
        let of = |rows: &[usize]| {
            let x = crate::matrix::select_rows(x.view(), rows);
            Collapse::measure(x.view()).unwrap()
        };
        let all = Collapse::measure(x.view()).unwrap();
        let drawn = of(&sample(6000, 500, 3));
        assert!((drawn.effective_rank - all.effective_rank).abs() < 0.1);
        assert!((drawn.mean_cosine - all.mean_cosine).abs() < 0.02);
        let first = of(&(0..500).collect::<Vec<_>>());
        assert!((first.mean_cosine - all.mean_cosine).abs() > 0.5);
        assert_ne!(sample(6000, 500, 3), sample(6000, 500, 4));
    }

    #[test]
    fn variances_alone_are_those_of_the_spectrum() {
        let mut rng = seed::stream(2, "collapse");
        for (n, d) in [(300, 40), (30, 80)] {
            let x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..2.0));
            let spectrum = crate::linear::whitening::Spectrum::fit(x.view()).unwrap();
            let alone = whitening::variances(x.view()).unwrap();
            assert_eq!(alone.len(), spectrum.variances.len());
            let error = (&alone - &spectrum.variances).mapv(f64::abs);
            assert!(error.iter().all(|&e| e < 1e-12 * alone[0]));
        }
    }

    #[test]
    fn verdicts() {
        let with = |effective_rank, mean_cosine| Collapse {
            effective_rank,
            mean_cosine,
            dimensions: 64,
        };
        assert_eq!(with(20.0, 0.3).verdict(), Verdict::Healthy);
        assert_eq!(with(20.0, 0.95).verdict(), Verdict::Narrow);
        assert_eq!(with(2.0, 0.1).verdict(), Verdict::Narrow);
        assert_eq!(with(20.0, 0.995).verdict(), Verdict::Collapsed);
        assert_eq!(with(1.2, 0.0).verdict(), Verdict::Collapsed);
        let c = Collapse::measure(Array2::ones((5, 3)).view()).unwrap();
        assert_eq!((c.effective_rank, c.verdict()), (0.0, Verdict::Collapsed));
        assert!(Collapse::measure(Array2::zeros((0, 3)).view()).is_err());
        let one = Collapse::measure(ndarray::array![[1.0, 0.0]].view()).unwrap();
        assert_eq!(one.mean_cosine, 0.0);
    }
}
