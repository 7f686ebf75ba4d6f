//! Whether labeled items lie nearer to the middle of their classes than the other items do.
//!
//! ```text
//! r(i) = rank of |x(i) - mean of its class| among the M items of the class, m of them labeled
//! z    = sum over classes of (sum of r over the labeled - m (M - 1) / 2)
//!        / square root of the sum over classes of m (M - m) (M + 1) / 12
//! ```
//!
//! Labels that were drawn blindly have a `z` of 0 on average, and one below -3 once in a thousand draws. Labels of
//! items that were easy to name, or of one part of the items, are nearer to the middle: what is measured by them
//! is higher than the truth.
//!
//! **Use it** with believed classes of all items, those of labeled ones by the labels of others: wrong members of a
//! class are far from its middle, and items of a known class look near beside them (with known classes for these, 6
//! of 10 blind draws of 20 to 100 weak classes were called central). **Not** to find labels of items that are harder
//! than most: believed classes leave items out that are hard to tell.
//!
//! Cost: one pass over the items, and a sort.
//!
//! Source: the test of ranks of Wilcoxon 1945, stratified by class as in van Elteren 1960.

use ndarray::{Array2, ArrayView2};

use crate::{Error, Result};

/// Labels that are further than this below a blind draw, in standard deviations, are no blind draw. On four public
/// sets, 5 to 20 labels a class, none of 48 draws that were blind was called so, all 48 of the third of a class
/// that is nearest to its middle were, and 38 of 48 of the third nearest to one of its items.
const CLEAR: f64 = -3.0;

/// How far labeled items are from the middle of their classes, beside the others of these classes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Central {
    /// Standard deviations from a blind draw; below 0 they are nearer to the middle.
    pub z: f64,
    /// The share of its class that is nearer to the middle than a labeled item is, on average: a half where the
    /// draw was blind.
    pub nearer: f64,
}

impl Central {
    /// Of the rows of `x`, their known or believed classes, and which of them are labeled; `None` where no class
    /// has both labeled and other items.
    ///
    /// Fails on lengths that do not fit.
    ///
    /// ```
    /// use likewise::advise::central::Central;
    /// let x = ndarray::Array2::from_shape_fn((200, 1), |(i, _)| i as f32);
    /// let class = vec![Some(0); 200];
    /// let of = |labeled: &dyn Fn(usize) -> bool| {
    ///     let labeled: Vec<bool> = (0..200).map(labeled).collect();
    ///     Central::of(x.view(), &class, &labeled)
    /// };
    /// let middle = of(&|i| (90..110).contains(&i))?.unwrap();
    /// assert!(middle.is_clear() && middle.nearer < 0.1);
    /// let blind = of(&|i| i % 10 == 0)?.unwrap();
    /// assert!(!blind.is_clear() && (blind.nearer - 0.5).abs() < 0.05);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn of(x: ArrayView2<f32>, class: &[Option<u32>], labeled: &[bool]) -> Result<Option<Self>> {
        let n = x.nrows();
        if class.len() != n || labeled.len() != n {
            return Err(Error::data(format!(
                "{n} rows, {} classes and {} marks of labels; there must be one each",
                class.len(),
                labeled.len()
            )));
        }
        let classes = class.iter().flatten().max().map_or(0, |&c| c as usize + 1);
        let mut members = vec![Vec::new(); classes];
        for (i, class) in class.iter().enumerate() {
            if let Some(class) = class {
                members[*class as usize].push(i);
            }
        }
        let (mut more, mut variance, mut nearer, mut count) = (0.0, 0.0, 0.0, 0.0);
        for members in members {
            let of_labels = members.iter().filter(|&&i| labeled[i]).count();
            if of_labels == 0 || of_labels == members.len() {
                continue;
            }
            let (all, m) = (members.len() as f64, of_labels as f64);
            let ranks = ranks(&distances(x, &members));
            let sum: f64 = (members.iter().zip(&ranks))
                .filter(|(i, _)| labeled[**i])
                .map(|(_, rank)| rank)
                .sum();
            more += sum - m * (all - 1.0) / 2.0;
            variance += m * (all - m) * (all + 1.0) / 12.0;
            nearer += sum / (all - 1.0);
            count += m;
        }
        Ok((variance > 0.0).then(|| Self {
            z: more / variance.sqrt(),
            nearer: nearer / count,
        }))
    }

    /// Whether they are nearer than blindly drawn ones would be.
    pub fn is_clear(&self) -> bool {
        self.z < CLEAR
    }
}

/// Squared distances of some rows to their mean.
fn distances(x: ArrayView2<f32>, members: &[usize]) -> Vec<f64> {
    let rows = Array2::from_shape_fn((members.len(), x.ncols()), |(row, column)| {
        f64::from(x[[members[row], column]])
    });
    let mean = rows.sum_axis(ndarray::Axis(0)) / members.len() as f64;
    let apart = |row: ndarray::ArrayView1<f64>| -> f64 {
        row.iter().zip(&mean).map(|(a, b)| (a - b).powi(2)).sum()
    };
    rows.outer_iter().map(apart).collect()
}

/// The place of each value in their order, from 0; equal ones share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut place = 0;
    for equal in order.chunk_by(|&a, &b| values[a].total_cmp(&values[b]).is_eq()) {
        let rank = place as f64 + (equal.len() - 1) as f64 / 2.0;
        for &i in equal {
            ranks[i] = rank;
        }
        place += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use rand::seq::index;

    /// Items of three classes around as many corners.
    fn items(seed: u64) -> (Array2<f32>, Vec<Option<u32>>) {
        let mut rng = crate::seed::stream(seed, "central test");
        let class: Vec<Option<u32>> = (0..600).map(|i| Some(i % 3)).collect();
        let x = Array2::from_shape_fn((600, 4), |(i, j)| {
            f32::from(u8::from(i % 3 == j)) * 3.0 + rng.random_range(-1.0_f32..1.0)
        });
        (x, class)
    }

    #[test]
    fn blind_draws_are_as_far_as_the_others_and_none_is_called_central() {
        let draws = 300;
        let of = |seed: u64| {
            let (x, class) = items(seed % 7);
            let mut rng = crate::seed::stream(seed, "blind draw");
            let mut labeled = vec![false; 600];
            for i in index::sample(&mut rng, 600, 24) {
                labeled[i] = true;
            }
            Central::of(x.view(), &class, &labeled).unwrap().unwrap()
        };
        let all: Vec<Central> = (0..draws).map(of).collect();
        let mean = all.iter().map(|c| c.z).sum::<f64>() / draws as f64;
        let spread = (all.iter().map(|c| c.z.powi(2)).sum::<f64>() / draws as f64).sqrt();
        assert!(mean.abs() < 0.25, "{mean}");
        assert!((0.8..1.2).contains(&spread), "{spread}");
        assert!(all.iter().filter(|c| c.is_clear()).count() <= 3);
    }

    #[test]
    fn labels_of_the_middle_or_of_one_part_are_called_central() {
        let (x, class) = items(1);
        let nearest_to = |center: &dyn Fn(usize) -> Vec<f32>| {
            let mut labeled = vec![false; 600];
            for c in 0..3 {
                let center = center(c);
                let mut own: Vec<usize> = (0..600).filter(|i| i % 3 == c).collect();
                let apart = |i: &usize| -> f32 {
                    let row = x.row(*i);
                    row.iter().zip(&center).map(|(a, b)| (a - b).powi(2)).sum()
                };
                own.sort_by(|a, b| apart(a).total_cmp(&apart(b)));
                own.iter()
                    .step_by(6)
                    .take(8)
                    .for_each(|&i| labeled[i] = true);
            }
            Central::of(x.view(), &class, &labeled).unwrap().unwrap()
        };
        let corner = |c: usize| (0..4).map(|j| if j == c { 3.0 } else { 0.0 }).collect();
        assert!(nearest_to(&corner).is_clear());
        let beside = |c: usize| {
            let mut center: Vec<f32> = corner(c);
            center[3] = 0.3;
            center
        };
        assert!(nearest_to(&beside).is_clear());
    }

    #[test]
    fn classes_that_are_labeled_whole_or_not_at_all_say_nothing() {
        let (x, class) = items(2);
        let of = |labeled: &[bool]| Central::of(x.view(), &class, labeled).unwrap();
        assert_eq!(of(&[true; 600]), None);
        assert_eq!(of(&[false; 600]), None);
        let nobody = Central::of(x.view(), &[None; 600], &[true; 600]).unwrap();
        assert_eq!(nobody, None);
        assert!(Central::of(x.view(), &class, &[true; 3]).is_err());
        // Equal items have no order, and are all in the middle of it.
        let equal = Array2::zeros((600, 2));
        let first: Vec<bool> = (0..600).map(|i| i < 30).collect();
        let found = Central::of(equal.view(), &class, &first).unwrap().unwrap();
        assert!(found.z.abs() < 1e-9 && (found.nearer - 0.5).abs() < 1e-9);
    }
}
