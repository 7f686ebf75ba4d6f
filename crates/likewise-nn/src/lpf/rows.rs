//! The rows of a view: scaled features, the means of the classes in them, and who is kept back.

use likewise::matrix::{self, check_finite};
use likewise::seed;
use ndarray::{Array2, ArrayView1, ArrayView2};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// What the features become before all else, by all rows, labeled or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Each column with mean 0 and standard deviation 1.
    #[default]
    Standard,
    /// Rows of length 1, less their mean.
    Unit,
    /// As they are.
    None,
}

/// The rows of one view: one row an item, of those too that lack it.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// `n x d`; rows of items without the view are not looked at.
    pub rows: ArrayView2<'a, f32>,
    /// Which items have the view; none: all.
    pub present: Option<&'a [bool]>,
}

impl<'a> Rows<'a> {
    /// Rows that all items have.
    pub fn all(rows: ArrayView2<'a, f32>) -> Self {
        Self {
            rows,
            present: None,
        }
    }

    /// The items that have the view, ascending.
    pub(super) fn items(&self) -> Vec<usize> {
        let has = |&i: &usize| self.present.is_none_or(|present| present[i]);
        (0..self.rows.nrows()).filter(has).collect()
    }

    /// The scaled rows of these items, which are those that have the view.
    ///
    /// Fails on NaN.
    pub(super) fn scaled(&self, items: &[usize], scale: Scale, name: &str) -> Result<Array2<f32>> {
        let rows = matrix::select_rows(self.rows, items);
        check_finite(rows.view(), name)?;
        Ok(match scale {
            Scale::None => rows,
            Scale::Unit => matrix::centered(matrix::l2_normalize(rows).view()),
            Scale::Standard => {
                let mut rows = matrix::centered(rows.view());
                for mut column in rows.columns_mut() {
                    let n = column.len().max(1) as f64;
                    let square: f64 = column.iter().map(|&v| f64::from(v).powi(2)).sum();
                    let deviation = (square / n).sqrt();
                    if deviation >= 1e-8 {
                        column.mapv_inplace(|v| (f64::from(v) / deviation) as f32);
                    }
                }
                rows
            }
        })
    }
}

/// Keeps a share of the labeled items of each class back: at least one of a class of two or more.
/// Gives which items are.
pub(super) fn kept_back(
    labels: &[Option<u32>],
    classes: usize,
    share: f64,
    seed: u64,
) -> Vec<bool> {
    let mut kept = vec![false; labels.len()];
    if share == 0.0 {
        return kept;
    }
    let mut rng = seed::stream(seed, "labels kept back");
    for class in 0..classes {
        let mut items: Vec<usize> = (0..labels.len())
            .filter(|&i| labels[i] == Some(class as u32))
            .collect();
        items.shuffle(&mut rng);
        let n = (share * items.len() as f64).round().max(1.0) as usize;
        let n = n.min(items.len().saturating_sub(1));
        for &item in &items[..n] {
            kept[item] = true;
        }
    }
    kept
}

/// The means of the rows of each class, and which classes have a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Means {
    sum: Array2<f64>,
    count: Vec<f64>,
}

impl Means {
    /// Of rows of these classes; those of none are passed over.
    pub(super) fn of(rows: ArrayView2<f32>, class: &[Option<u32>], classes: usize) -> Self {
        let mut sum = Array2::zeros((classes, rows.ncols()));
        let mut count = vec![0.0; classes];
        for (row, class) in rows.rows().into_iter().zip(class) {
            if let Some(class) = class {
                let mut sum = sum.row_mut(*class as usize);
                sum.zip_mut_with(&row, |s, &v| *s += f64::from(v));
                count[*class as usize] += 1.0;
            }
        }
        Self { sum, count }
    }

    /// The class whose mean is nearest, the first of several; `without` is taken out of the mean of
    /// its class before. `None` where no class has a row.
    pub(super) fn nearest(&self, row: ArrayView1<f32>, without: Option<u32>) -> Option<u32> {
        let mut best = None;
        let mut least = f64::INFINITY;
        for (class, (sum, &count)) in self.sum.rows().into_iter().zip(&self.count).enumerate() {
            let out = f64::from(u8::from(without == Some(class as u32)));
            if count - out < 0.5 {
                continue;
            }
            let square: f64 = (sum.iter().zip(row))
                .map(|(&s, &v)| ((s - out * f64::from(v)) / (count - out) - f64::from(v)).powi(2))
                .sum();
            if square < least {
                (best, least) = (Some(class as u32), square);
            }
        }
        best
    }

    /// Share of these rows whose own class has the nearest mean, each without itself; 0 where none
    /// of them has a class.
    pub(super) fn leave_one_out(&self, rows: ArrayView2<f32>, class: &[Option<u32>]) -> f64 {
        let each = rows.rows().into_iter().zip(class);
        let (mut right, mut all) = (0.0, 0.0_f64);
        for (row, class) in each.filter(|(_, class)| class.is_some()) {
            all += 1.0;
            right += f64::from(u8::from(self.nearest(row, *class) == *class));
        }
        right / all.max(1.0)
    }
}

/// Fails unless views and labels are of the same items, and name two classes or more.
pub(super) fn check(views: &[Rows], labels: &[Option<u32>], classes: usize) -> Result<()> {
    if views.is_empty() {
        return Err(Error::data("label prediction needs the rows of a view"));
    }
    for (t, view) in views.iter().enumerate() {
        let n = view.rows.nrows();
        if n != labels.len() || view.present.is_some_and(|p| p.len() != n) {
            return Err(Error::data(format!(
                "view {t} has {n} rows, and there are {} labels; give one of each an item, and \
                 mark those without the view as not present",
                labels.len()
            )));
        }
        if view.rows.ncols() == 0 {
            return Err(Error::data(format!("view {t} has no columns")));
        }
        let labeled = |i: &usize| labels[*i].is_some();
        if !view.items().iter().any(labeled) {
            return Err(Error::data(format!(
                "view {t}: no labeled item has it, so it cannot learn; leave it out, or label one"
            )));
        }
    }
    let mut seen = vec![false; classes];
    for (i, class) in labels.iter().enumerate() {
        let Some(class) = class else { continue };
        match seen.get_mut(*class as usize) {
            Some(seen) => *seen = true,
            None => {
                return Err(Error::data(format!(
                    "item {i} is of class {class}, but there are {classes} classes, from 0"
                )));
            }
        }
    }
    if seen.iter().filter(|seen| **seen).count() < 2 {
        return Err(Error::data(
            "label prediction needs labels of two classes; label items of another class",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn scales_by_hand() {
        let x = array![[1.0, 5.0], [f32::NAN, 0.0], [3.0, 5.0]];
        let present = [true, false, true];
        let rows = Rows {
            rows: x.view(),
            present: Some(&present),
        };
        assert_eq!(rows.items(), [0, 2]);
        let scaled = |scale| rows.scaled(&[0, 2], scale, "x").unwrap();
        assert_eq!(scaled(Scale::Standard), array![[-1.0, 0.0], [1.0, 0.0]]);
        assert_eq!(scaled(Scale::None), array![[1.0, 5.0], [3.0, 5.0]]);
        let unit = scaled(Scale::Unit);
        assert!((unit[[0, 0]] + unit[[1, 0]]).abs() < 1e-6 && unit[[0, 0]] < -0.1);
        assert!(
            Rows::all(x.view())
                .scaled(&[0, 1], Scale::None, "x")
                .is_err()
        );
    }

    #[test]
    fn a_share_of_each_class_is_kept_back() {
        let labels: Vec<Option<u32>> = (0..30)
            .map(|i| match i {
                0..15 => Some(0),
                15..17 => Some(1),
                17 => Some(2),
                _ => None,
            })
            .collect();
        let kept = kept_back(&labels, 4, 0.2, 1);
        let of = |class| {
            (0..30)
                .filter(|&i| kept[i] && labels[i] == Some(class))
                .count()
        };
        assert_eq!((of(0), of(1), of(2)), (3, 1, 0));
        assert_eq!(kept.iter().filter(|k| **k).count(), 4);
        assert_ne!(kept, kept_back(&labels, 4, 0.2, 2));
        assert!(kept_back(&labels, 4, 0.0, 1).iter().all(|k| !k));
    }

    #[test]
    fn nearest_means_by_hand() {
        let x = array![[0.0], [2.0], [10.0], [4.0], [5.5]];
        let class = [Some(0), Some(0), Some(2), Some(2), None];
        let means = Means::of(x.view(), &class, 3);
        // Means 1 and 7; the middle of both is 4, and of equals the first is taken.
        assert_eq!(means.nearest(array![5.5].view(), None), Some(2));
        assert_eq!(means.nearest(array![4.0].view(), None), Some(0));
        // Without itself the mean of class 2 is 10, and 4 is nearer to 1.
        assert_eq!(means.nearest(array![4.0].view(), Some(2)), Some(0));
        assert!((means.leave_one_out(x.view(), &class) - 0.75).abs() < 1e-12);
        let none = Means::of(x.view(), &[None; 5], 3);
        assert_eq!(none.nearest(array![1.0].view(), None), None);
        assert!(none.leave_one_out(x.view(), &[None; 5]).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let x = Array2::<f32>::zeros((3, 1));
        let all = [Rows::all(x.view())];
        let labels = [Some(0), Some(1), None];
        check(&all, &labels, 2).unwrap();
        let said = |views: &[Rows], labels: &[Option<u32>], classes| {
            check(views, labels, classes).unwrap_err().to_string()
        };
        assert!(said(&[], &labels, 2).contains("needs the rows"));
        assert!(said(&all, &labels[..2], 2).contains("3 rows"));
        assert!(said(&all, &labels, 1).contains("class 1"));
        assert!(said(&all, &[Some(0), Some(0), None], 2).contains("two classes"));
        let empty = Rows {
            present: Some(&[false, false, true]),
            ..all[0]
        };
        assert!(said(&[all[0], empty], &labels, 2).contains("view 1"));
        let wide = Array2::<f32>::zeros((3, 0));
        assert!(said(&[Rows::all(wide.view())], &labels, 2).contains("no columns"));
    }
}
