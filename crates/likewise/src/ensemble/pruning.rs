//! Margin-based pruning: which classifiers vote best together, on items of known class.
//!
//! ```text
//! L_ij = 1 where classifier j is right on item i, else -1
//! w    = the minimum of |1 - L w|^2 + lambda |w|^2 = (L^T L + lambda I)^-1 L^T 1
//! kept = the first B classifiers by descending w, with B the number whose plain majority is right
//!        most often, the smallest of several
//! ```
//!
//! `L w` are margins by how much right voters outweigh wrong ones. With a `lambda` as large as that of
//! the source, `w` is next to `L^T 1 / lambda`, and the order is that of how often each is right.
//!
//! **Use it** where some views or classifiers are poor, and items of known class were kept back.
//! **Not** on the items that the classifiers learned from: there the best learner by heart wins.
//!
//! Cost: O(n m^2 + m^3) for `m` classifiers and `n` items, and O(n m^2 log m) for the majorities.
//!
//! Source: Li, Hu, Wu and Yu, "Exploration of classification confidence in ensemble learning",
//! Pattern Recognition 2014, as Liang et al. (TMM 2017) print it, equations (10) to (13). Printed
//! is the norm of `w` itself, with which `w` is 0 for the printed `lambda` of 10,000 and up to
//! a hundred items; its square is what the text (ridge regression) is about.

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use super::ballot::Ballot;
use crate::linear::spd::{Cholesky, cross};
use crate::{Error, Result};

/// Parameters of margin-based pruning; see [`pruning`](self).
///
/// ```
/// use likewise::ensemble::Pruning;
/// // Three classifiers on two items of class 1; the last is always wrong.
/// let votes = ndarray::array![[1, 1, 0], [1, 0, 0]];
/// let kept = Pruning::new().prune(&votes, |_, said| said == 1)?;
/// assert_eq!((kept.order, kept.kept, kept.accuracy), (vec![0, 1, 2], vec![0], 1.0));
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pruning {
    lambda: f64,
}

impl Default for Pruning {
    fn default() -> Self {
        Self { lambda: 1e4 }
    }
}

/// What pruning found.
#[derive(Debug, Clone, PartialEq)]
pub struct Pruned {
    /// Weight of each classifier.
    pub weights: Vec<f64>,
    /// How often each is right, 0 to 1.
    pub accuracies: Vec<f64>,
    /// The classifiers by descending weight.
    pub order: Vec<usize>,
    /// Those that are kept, in the same order.
    pub kept: Vec<usize>,
    /// How often the majority of the first is right, by their number less one.
    pub curve: Vec<f64>,
    /// How often the majority of those that are kept is right.
    pub accuracy: f64,
}

impl Pruning {
    /// A `lambda` of 10,000, as printed.
    pub fn new() -> Self {
        Self::default()
    }

    /// What large weights cost, above 0.
    #[must_use]
    pub fn lambda(self, lambda: f64) -> Self {
        Self { lambda }
    }

    /// Checks `lambda`.
    pub fn validate(&self) -> Result<()> {
        if self.lambda.is_finite() && self.lambda > 0.0 {
            return Ok(());
        }
        let rule = "must be finite and above 0";
        Err(Error::parameter("pruning.lambda", self.lambda, rule))
    }

    /// Prunes by what each classifier says (a column) of each item (a row); `is_right` is asked of
    /// an item and what is said of it.
    ///
    /// Fails without items or classifiers, and on a `lambda` out of its range.
    pub fn prune(
        &self,
        votes: &Array2<u32>,
        is_right: impl Fn(usize, u32) -> bool,
    ) -> Result<Pruned> {
        self.validate()?;
        let (n, m) = votes.dim();
        if n == 0 || m == 0 {
            return Err(Error::data(format!(
                "pruning needs classifiers and items of known class, but there are {m} and {n}"
            )));
        }
        let right = |i: usize, j: usize| is_right(i, votes[(i, j)]);
        let signs = Array2::from_shape_fn((n, m), |(i, j)| if right(i, j) { 1.0 } else { -1.0 });
        let weights = self.weights(&signs)?;
        let share = |j: usize| f64::midpoint(1.0, signs.column(j).sum() / n as f64);
        let mut order: Vec<usize> = (0..m).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let majority = |first: usize| {
            let winner = |i: usize| {
                let vote = |&j: &usize| (votes[(i, j)], weights[j]);
                Ballot::count(order[..first].iter().map(vote)).winner
            };
            (0..n).filter(|&i| is_right(i, winner(i))).count()
        };
        let counts: Vec<usize> = (1..=m).map(majority).collect();
        let best = (0..m).fold(
            0,
            |best, at| if counts[at] > counts[best] { at } else { best },
        );
        let curve: Vec<f64> = counts.iter().map(|&c| c as f64 / n as f64).collect();
        Ok(Pruned {
            accuracies: (0..m).map(share).collect(),
            kept: order[..=best].to_vec(),
            accuracy: curve[best],
            weights: weights.to_vec(),
            order,
            curve,
        })
    }

    fn weights(self, signs: &Array2<f64>) -> Result<Array1<f64>> {
        let mut system = cross(signs, signs);
        system.diag_mut().mapv_inplace(|v| v + self.lambda);
        let system = Cholesky::of_metric(&system, "the classifiers", "give a larger lambda")?;
        let sums = signs.sum_axis(ndarray::Axis(0));
        let solved = system.upper_solve(system.lower_solve(sums.insert_axis(ndarray::Axis(1))));
        Ok(solved.column(0).to_owned())
    }
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use super::*;
    use crate::seed;
    use ndarray::array;
    use proptest::prelude::*;
    use rand::RngExt;

    /// Six items of class 1 and five classifiers: 1 where one is right.
    fn tiny() -> Array2<u32> {
        array![
            [1, 1, 0, 1, 0],
            [1, 0, 1, 1, 0],
            [1, 1, 1, 0, 0],
            [0, 1, 1, 1, 1],
            [1, 1, 0, 0, 1],
            [1, 0, 1, 1, 0],
        ]
    }

    #[test]
    fn the_check_values_of_six_items() {
        let check = |lambda: f64, expected: [f64; 5]| {
            let found = Pruning::new().lambda(lambda);
            let found = found.prune(&tiny(), |_, said| said == 1).unwrap();
            let off = found.weights.iter().zip(expected);
            let off = off.map(|(a, b)| (a - b).abs() / b.abs());
            assert!(off.fold(0.0, f64::max) < 1e-9, "{:?}", found.weights);
            found
        };
        let small = [
            0.99441685712,
            0.499680547653,
            0.497825686761,
            0.497825686761,
            0.494111327823,
        ];
        check(0.01, small);
        let one = [
            0.673835125448,
            0.440143369176,
            0.359856630824,
            0.359856630824,
            0.179211469534,
        ];
        check(1.0, one);
        let large = [
            0.000399680319655,
            0.00019999987223,
            0.000199840191744,
            0.000199840191744,
            -0.00019968038354,
        ];
        let found = check(1e4, large);
        let shares = [5.0 / 6.0, 4.0 / 6.0, 4.0 / 6.0, 4.0 / 6.0, 2.0 / 6.0];
        let off = found.accuracies.iter().zip(shares);
        assert!(off.map(|(a, b)| (a - b).abs()).all(|e| e < 1e-12));
        // By hand: the first alone, then with the second (ties go to the heavier first), then
        // three of which two are right on every item.
        let curve = [5.0 / 6.0, 5.0 / 6.0, 1.0];
        assert!(
            found
                .curve
                .iter()
                .zip(curve)
                .all(|(a, b)| (a - b).abs() < 1e-12)
        );
        assert_eq!((found.kept.len(), found.accuracy), (3, 1.0));
        assert_eq!(found.kept[..2], [0, 1]);
    }

    #[test]
    fn nothing_to_prune_by_is_said() {
        let of = |n, m| Pruning::new().prune(&Array2::zeros((n, m)), |_, _| true);
        assert!(of(0, 3).is_err() && of(3, 0).is_err());
        let one = of(2, 1).unwrap();
        assert_eq!((one.kept, one.accuracy), (vec![0], 1.0));
        assert!(Pruning::new().lambda(0.0).validate().is_err());
        assert!(Pruning::new().lambda(f64::NAN).validate().is_err());
    }

    proptest! {
        #[test]
        fn weights_are_the_minimum(n in 1_usize..12, m in 1_usize..8, lambda in 0.1_f64..50.0, number: u64) {
            let mut rng = seed::stream(number, "pruning");
            let votes = Array2::from_shape_fn((n, m), |_| rng.random_range(0..2));
            let found = Pruning::new().lambda(lambda).prune(&votes, |_, said| said == 1).unwrap();
            let value = |w: &[f64]| {
                let margin = |i: usize| -> f64 {
                    (0..m).map(|j| w[j] * (2.0 * f64::from(votes[(i, j)]) - 1.0)).sum()
                };
                let miss: f64 = (0..n).map(|i| (1.0 - margin(i)).powi(2)).sum();
                miss + lambda * w.iter().map(|w| w * w).sum::<f64>()
            };
            let least = value(&found.weights);
            for j in 0..m {
                for step in [-1e-3, 1e-3] {
                    let mut other = found.weights.clone();
                    other[j] += step;
                    prop_assert!(value(&other) > least);
                }
            }
            // No shorter list is right as often.
            let best = found.curve.iter().copied().fold(0.0, f64::max);
            let first = found.curve.iter().position(|&c| c >= best).unwrap();
            prop_assert_eq!(found.kept.len(), first + 1);
        }
    }
}
