//! Disagreement: several that know the classes do not know a new one, and guess differently.
//!
//! ```text
//! votes     T - max_k (votes for k)
//! soft      1 - max_k (1/T) sum_v p_v(k)
//! spread    H((1/T) sum_v p_v) - (1/T) sum_v H(p_v)             Jensen-Shannon divergence
//! ```
//!
//! of `T` votes on the class of an item, or of `T` probabilities. Of the nearest class mean, that are
//! `softmax(-|x - m_k|^2 / t)` with `t` the median over known items of the squared distance to the own
//! mean ([`of_means`]).
//!
//! **Use it** with views that see different sides of an item: no density is estimated. **Not** with votes
//! that are copies of each other.
//!
//! Cost: O(n T C).
//!
//! Source: the divergence is Lin, "Divergence measures based on the Shannon entropy", IEEE Transactions
//! on Information Theory 1991, as is usual in query by committee; its use for new classes here is ours.

use ndarray::{Array2, ArrayView2};

use crate::matrix::check_finite;
use crate::{Error, Result};

/// Votes against the class that has most of them, for each item; `votes` has one list a voter.
///
/// Fails without a voter, and on lists of different lengths.
pub fn votes(votes: &[&[u32]]) -> Result<Vec<f64>> {
    let n = same(votes.iter().map(|v| v.len()))?;
    let against = |i: usize| {
        let most = votes
            .iter()
            .map(|own| votes.iter().filter(|v| v[i] == own[i]).count());
        (votes.len() - most.max().unwrap_or(0)) as f64
    };
    Ok((0..n).map(against).collect())
}

/// `1 - max_k mean_v p_v(k)` for each item; `p` has an `n x C` matrix of probabilities a voter.
///
/// Fails without a voter, on matrices of different shapes, and on NaN.
pub fn soft(p: &[ArrayView2<f32>]) -> Result<Vec<f64>> {
    let mean = mean(p)?;
    let of = |row: ndarray::ArrayView1<f64>| 1.0 - row.fold(0.0_f64, |a, &b| a.max(b));
    Ok(mean.rows().into_iter().map(of).collect())
}

/// The Jensen-Shannon divergence of the probabilities of each item, 0 where all agree to `log T`.
/// Fails as [`soft`].
pub fn divergence(p: &[ArrayView2<f32>]) -> Result<Vec<f64>> {
    let mean = mean(p)?;
    let term = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
    let of = |i: usize| {
        let whole: f64 = mean.row(i).iter().map(|&p| term(p)).sum();
        let own = p
            .iter()
            .map(|p| p.row(i).iter().map(|&p| term(f64::from(p))).sum::<f64>());
        (whole - own.sum::<f64>() / p.len() as f64).max(0.0)
    };
    Ok((0..mean.nrows()).map(of).collect())
}

/// Class probabilities (`n x C`) by the distance of each row from the means of `classes` classes of
/// known items; 0 of a class without any.
///
/// Fails without a known item, on NaN, on another number of columns or classes, and on a class that
/// is not below `classes`.
pub fn of_means(
    known: ArrayView2<f32>,
    class: &[u32],
    classes: usize,
    x: ArrayView2<f32>,
) -> Result<Array2<f32>> {
    let (m, d) = known.dim();
    let fits = class.len() == m && x.ncols() == d && class.iter().all(|&c| (c as usize) < classes);
    if m == 0 || !fits {
        return Err(Error::data(format!(
            "{m} known items of {d} columns and {} classes of {classes}, and rows of {} columns: \
             they do not fit",
            class.len(),
            x.ncols()
        )));
    }
    check_finite(known, "known items")?;
    check_finite(x, "rows")?;
    let mut means = Array2::<f64>::zeros((classes, d));
    let mut count = vec![0.0; classes];
    for (row, &k) in known.rows().into_iter().zip(class) {
        let mut mean = means.row_mut(k as usize);
        mean.zip_mut_with(&row, |s, &v| *s += f64::from(v));
        count[k as usize] += 1.0;
    }
    for (mut mean, &n) in means.rows_mut().into_iter().zip(&count) {
        mean /= f64::max(n, 1.0);
    }
    let square = |row: ndarray::ArrayView1<f32>, k: usize| -> f64 {
        let each = row.iter().zip(means.row(k));
        each.map(|(&v, m)| (f64::from(v) - m).powi(2)).sum()
    };
    let each = known.rows().into_iter().zip(class);
    let mut own: Vec<f64> = each.map(|(row, &k)| square(row, k as usize)).collect();
    own.sort_by(f64::total_cmp);
    // Where most items are their class's mean, any other distance is a large one.
    let t = f64::midpoint(own[(m - 1) / 2], own[m / 2]).max(1e-12);
    let mut p = Array2::zeros((x.nrows(), classes));
    for (row, mut p) in x.rows().into_iter().zip(p.rows_mut()) {
        let squares: Vec<Option<f64>> = (0..classes)
            .map(|k| (count[k] > 0.0).then(|| square(row, k)))
            .collect();
        let least = squares
            .iter()
            .flatten()
            .fold(f64::INFINITY, |a, &b| a.min(b));
        let weights: Vec<f64> = (squares.iter())
            .map(|s| s.map_or(0.0, |s| (-(s - least) / t).exp()))
            .collect();
        let sum: f64 = weights.iter().sum();
        p.iter_mut()
            .zip(weights)
            .for_each(|(p, w)| *p = (w / sum) as f32);
    }
    Ok(p)
}

/// The one number; fails where there is none or another.
fn same<T: PartialEq + Copy>(mut all: impl Iterator<Item = T>) -> Result<T> {
    let first = all.next();
    match first {
        Some(first) if all.all(|other| other == first) => Ok(first),
        _ => Err(Error::data(
            "agreement needs a voter or more, each on the same items and classes",
        )),
    }
}

fn mean(p: &[ArrayView2<f32>]) -> Result<Array2<f64>> {
    let dim = same(p.iter().map(ArrayView2::dim))?;
    let mut mean = Array2::<f64>::zeros(dim);
    for p in p {
        check_finite(*p, "probabilities")?;
        mean.zip_mut_with(p, |m, &p| *m += f64::from(p));
    }
    Ok(mean / p.len() as f64)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn scores_by_hand() {
        let four: [&[u32]; 4] = [&[1, 1, 0], &[1, 2, 1], &[1, 1, 2], &[1, 2, 3]];
        assert_eq!(votes(&four).unwrap(), [0.0, 2.0, 3.0]);
        let p = [
            array![[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]],
            array![[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]],
        ];
        let p = [p[0].view(), p[1].view()];
        assert_eq!(soft(&p).unwrap(), [0.0, 0.5, 0.5]);
        let spread = divergence(&p).unwrap();
        let ln2 = 2.0_f64.ln();
        assert!(
            spread
                .iter()
                .zip([0.0, ln2, 0.0])
                .all(|(a, b)| (a - b).abs() < 1e-12)
        );
    }

    #[test]
    fn probabilities_of_means_by_hand() {
        // Means 1 and 11; squared distances to the own mean are 1: t = 1. Class 1 has no item.
        let known = array![[0.0], [2.0], [10.0], [12.0]];
        let p = of_means(
            known.view(),
            &[0, 0, 2, 2],
            3,
            array![[1.0], [6.0], [5.9]].view(),
        )
        .unwrap();
        assert!((p[[0, 0]] - 1.0).abs() < 1e-6 && p[[0, 1]] == 0.0);
        assert!((p[[1, 0]] - 0.5).abs() < 1e-6 && (p[[1, 2]] - 0.5).abs() < 1e-6);
        // 4.9^2 and 5.1^2 differ by 2.
        let expected = 1.0 / (1.0 + (-2.0_f64).exp());
        assert!((f64::from(p[[2, 0]]) - expected).abs() < 1e-5);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(votes(&[]).is_err() && votes(&[&[0], &[0, 1]]).is_err());
        assert!(soft(&[]).is_err());
        let (a, b) = (array![[1.0_f32]], array![[f32::NAN]]);
        assert!(divergence(&[a.view(), array![[0.5, 0.5]].view()]).is_err());
        assert!(soft(&[b.view()]).is_err());
        assert!(of_means(a.view(), &[1], 1, a.view()).is_err());
        assert!(of_means(a.view(), &[0], 1, array![[0.5, 0.5]].view()).is_err());
        // All items on the mean of their class.
        let p = of_means(a.view(), &[0], 1, array![[3.0]].view()).unwrap();
        assert_eq!(p, array![[1.0]]);
    }
}
