//! Least angle regression, in the form that gives the whole path of the lasso.
//!
//! ```text
//! minimise |y - X b|^2 + ridge |b|^2 + lambda |b|_1      for falling lambda, no centring
//! c = X^T (y - X b) - ridge b                            correlations; active: the largest |c|
//! direction: all active correlations fall alike
//! step: to where another column is as large, or an active coefficient is 0, which leaves
//! ```
//!
//! **Use it** to find the few columns that say the most about a number. **Not** to predict: the
//! coefficients are shrunk.
//!
//! Cost: O(n D) a step and the cube of the number of active columns; as many steps as columns are
//! asked for, and some more where columns leave. Memory O(n D).
//!
//! Source: Efron, Hastie, Johnstone and Tibshirani, "Least angle regression", Annals of Statistics
//! 2004, with the lasso's modification; the ridge as in Cai, Zhang and He 2010.

use ndarray::{Array1, Array2, Axis};

use crate::linear::spd::Cholesky;
use crate::parallel;

/// Share of the first correlation below which nothing is left to explain.
const NOTHING: f64 = 1e-12;

/// The coefficients where a column more than `cardinality` would join, or the path ends.
/// `columns` is `D x n`, a column of the features a row; ties go to the earlier one.
pub(crate) fn coefficients(
    columns: &Array2<f64>,
    y: &Array1<f64>,
    ridge: f64,
    cardinality: usize,
) -> Array1<f64> {
    let d = columns.nrows();
    let mut found = Array1::<f64>::zeros(d);
    let mut rest = y.clone();
    let mut active: Vec<usize> = Vec::new();
    let mut gram: Vec<Vec<f64>> = Vec::new();
    // What just left has the largest correlation still, and must not come back at once.
    let mut left: Option<usize> = None;
    let mut first = None;
    let along = |v: &Array1<f64>| parallel::map_rows(d, |j| columns.row(j).dot(v));
    for _ in 0..8 * (cardinality.min(d) + 1) {
        let mut correlations = along(&rest);
        for &j in &active {
            correlations[j] -= ridge * found[j];
        }
        let outside = |j: &usize| !active.contains(j) && Some(*j) != left;
        let best = (0..d).filter(outside).max_by(|&i, &j| {
            let size = |j: usize| correlations[j].abs();
            size(i).total_cmp(&size(j)).then(j.cmp(&i))
        });
        let most = active
            .iter()
            .map(|&j| correlations[j].abs())
            .fold(0.0, f64::max);
        let away = left.take();
        if away.is_none()
            && let Some(j) = best
        {
            let size = correlations[j].abs();
            let least = NOTHING * *first.get_or_insert(size);
            if size.max(most) <= least || size <= 0.0 || active.len() == cardinality {
                break;
            }
            // Dependent columns cannot move by themselves.
            let mut row: Vec<f64> = active
                .iter()
                .map(|&i| columns.row(i).dot(&columns.row(j)))
                .collect();
            row.push(columns.row(j).dot(&columns.row(j)) + ridge);
            active.push(j);
            gram.push(row);
        } else if active.is_empty() {
            break;
        }
        let level = active
            .iter()
            .map(|&j| correlations[j].abs())
            .fold(0.0, f64::max);
        let signs = active.iter().map(|&j| correlations[j].signum());
        let Some(direction) = even_fall(&gram, signs) else {
            break;
        };
        let mut moved = Array1::<f64>::zeros(y.len());
        for (&j, &by) in active.iter().zip(&direction) {
            moved.scaled_add(by, &columns.row(j));
        }
        let falls = along(&moved);
        let outside = (0..d).filter(|j| !active.contains(j));
        let mut step = first_to_join(outside, (&correlations, &falls), level, away);
        let mut leaves = None;
        for (at, (&j, &by)) in active.iter().zip(&direction).enumerate() {
            let candidate = -found[j] / by;
            if candidate > NOTHING * level && candidate < step {
                (step, leaves) = (candidate, Some(at));
            }
        }
        for (&j, &by) in active.iter().zip(&direction) {
            found[j] += step * by;
        }
        rest.scaled_add(-step, &moved);
        if let Some(at) = leaves {
            let j = active.remove(at);
            found[j] = 0.0;
            gram.remove(at);
            for row in &mut gram[at..] {
                row.remove(at);
            }
            left = Some(j);
        } else if step >= level {
            break;
        }
    }
    found
}

/// The move of the active coefficients by which all their correlations fall by one; `None` where
/// their columns depend on each other. `gram` holds the lower half of their products.
fn even_fall(gram: &[Vec<f64>], signs: impl Iterator<Item = f64>) -> Option<Array1<f64>> {
    let k = gram.len();
    let whole = Array2::from_shape_fn((k, k), |(i, j)| gram[i.max(j)][i.min(j)]);
    let solved = Cholesky::of(&whole)?;
    let column = Array1::from_iter(signs).insert_axis(Axis(1));
    let direction = solved.upper_solve(solved.lower_solve(column));
    Some(direction.column(0).to_owned())
}

/// How far the correlations fall from `level` until that of a column outside is as large;
/// `level` where none is before nothing is left.
fn first_to_join(
    outside: impl Iterator<Item = usize>,
    (correlations, falls): (&[f64], &[f64]),
    level: f64,
    away: Option<usize>,
) -> f64 {
    let mut step = level;
    for j in outside {
        // What just left is as large as the others and falls faster: by rounding it would join again.
        let leaving = away == Some(j);
        let above = (level - correlations[j]) / (1.0 - falls[j]);
        let below = (level + correlations[j]) / (1.0 + falls[j]);
        for (candidate, is_own) in [
            (above, correlations[j] > 0.0),
            (below, correlations[j] < 0.0),
        ] {
            if candidate > NOTHING * level && candidate < step && !(leaving && is_own) {
                step = candidate;
            }
        }
    }
    step
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::seed;

    /// Whether the path of drawn columns ends where a minimum of the lasso is: all that count are
    /// as large, with the sign of their coefficient.
    fn ends_at_a_minimum(n: usize, d: usize, cardinality: usize, number: u64) -> bool {
        let mut rng = seed::stream(number, "lars");
        let x = Array2::from_shape_fn((d, n), |_| rng.random_range(-1.0_f64..1.0));
        let y = Array1::from_shape_fn(n, |_| rng.random_range(-1.0_f64..1.0));
        let ridge = 1e-3;
        let b = coefficients(&x, &y, ridge, cardinality);
        let rest = &y - &x.t().dot(&b);
        let c = x.dot(&rest) - &b * ridge;
        let most = c.iter().fold(0.0_f64, |most, c| most.max(c.abs()));
        let counts = b.iter().zip(&c).filter(|(b, _)| **b != 0.0);
        counts.clone().count() <= cardinality
            && counts
                .clone()
                .all(|(b, c)| (c - most * b.signum()).abs() < 1e-8 * (1.0 + most))
    }

    proptest! {
        #[test]
        fn every_point_of_the_path_is_a_lasso(
            n in 3_usize..30, d in 1_usize..12, cardinality in 1_usize..8, number in any::<u64>(),
        ) {
            prop_assert!(ends_at_a_minimum(n, d, cardinality, number));
        }
    }

    /// One path in a few thousand of more columns than rows has a column that leaves where another
    /// joins; it joined again by rounding, with the wrong sign.
    #[test]
    fn what_left_does_not_join_again_by_rounding() {
        assert!(ends_at_a_minimum(6, 11, 7, 16_295_135_800_191_259_208));
        for number in 0..3000 {
            assert!(
                ends_at_a_minimum(4 + number as usize % 4, 11, 7, number),
                "{number}"
            );
        }
    }

    #[test]
    fn nothing_to_explain_and_equal_columns() {
        let x = ndarray::array![[1.0, 2.0, -1.0], [1.0, 2.0, -1.0], [0.0, 0.0, 0.0]];
        let none = coefficients(&x, &Array1::zeros(3), 1e-3, 2);
        assert_eq!(none, Array1::<f64>::zeros(3));
        let b = coefficients(&x, &ndarray::array![1.0, 1.0, 1.0], 1e-3, 3);
        assert!(b.iter().all(|b| b.is_finite()));
    }
}
