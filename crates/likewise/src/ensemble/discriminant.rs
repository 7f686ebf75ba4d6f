//! Linear discriminants of equal Gaussians.
//!
//! ```text
//! S = sum_i (x_i - m_c(i)) (x_i - m_c(i))^T / (n - K)       m_c: mean of class c
//! class of x = the largest of x S^-1 m_c - m_c S^-1 m_c / 2 - ln K
//! ```
//!
//! All classes are taken to be as frequent as each other. `shrunk` moves `S` towards equal variances, by as much
//! as its rows ask for (Ledoit and Wolf). `plain` takes it as it is; where it is singular (an eigenvalue of
//! at most 1e-10 of the largest), a thousandth of the mean variance is added in every direction.
//! `pseudo` takes it as it is, and looks only at the directions in which rows do vary within classes.
//!
//! Both of these are far off where labels less classes are about as many as columns: there `S` has an inverse, of
//! directions that hardly vary by chance. Of eight views of digits and photographs, 50 columns, ten classes and six labels
//! a class, the shrunk one names 33 to 97 % right, the plain one 15 to 51 %; with two to twelve labels it is never below.
//!
//! **Use it** as one of several that vote. **Not** as a learner, which [`Lda`](crate::linear::Lda) is, nor with one label a
//! class: nothing varies within, and the nearest class mean wins.
//!
//! Cost: O(n d^2 + d^3).
//!
//! Source: Fisher 1936; Rao 1948; Ledoit & Wolf, J. Multivariate Analysis 2004. The ridge is ours.

use ndarray::{Array1, Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::classify::{Classifier, Classify, Lesson};
use crate::linear::scatter::Scatter;
use crate::linear::spd;
use crate::{Monitor, Result};

/// Least eigenvalue, beside the largest, of a covariance that is not singular.
const SINGULAR: f64 = 1e-10;
/// Share of the mean variance that is added to a singular covariance.
const RIDGE: f64 = 1e-3;

/// How the covariance within classes is made to have an inverse.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Covariance {
    /// Moved towards equal variances, by as much as the rows ask for.
    #[default]
    Shrunk,
    /// As it is; a thousandth of the mean variance in every direction where it is singular.
    Plain,
    /// The inverse of the directions in which rows vary, and nothing of the others.
    Pseudo,
}

/// Parameters of discriminant analysis; see [`discriminant`](self).
///
/// ```
/// use likewise::ensemble::{Classify, Discriminant, Lesson};
/// use likewise::{Labels, Monitor};
/// let x = ndarray::array![[0.0, 0.0], [4.0, 0.3], [0.0, 1.0], [4.0, 1.1], [9.0, 1.0_f32]];
/// let labels = Labels::parse(["a", "a", "b", "b", ""]);
/// let lesson = Lesson { rows: x.view(), labels: &labels };
/// // The first column varies within classes, and says nothing.
/// let fitted = Discriminant::new().fit(&lesson, 1, &Monitor::silent())?;
/// assert_eq!(fitted.classes(x.view())?[..4], [0, 0, 1, 1]);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Discriminant {
    covariance: Covariance,
}

impl Discriminant {
    /// By the shrunk covariance.
    pub fn new() -> Self {
        Self::default()
    }

    /// How the covariance within classes is made to have an inverse.
    #[must_use]
    pub fn covariance(self, covariance: Covariance) -> Self {
        Self { covariance }
    }

    fn logits(self, x: ArrayView2<f32>, class: &[u32], n_classes: usize) -> Result<Logits> {
        let (n, d) = x.dim();
        let x = x.mapv(f64::from);
        let mut means = Array2::<f64>::zeros((n_classes, d));
        let mut count = vec![0.0; n_classes];
        for (row, &class) in x.rows().into_iter().zip(class) {
            means.row_mut(class as usize).scaled_add(1.0, &row);
            count[class as usize] += 1.0;
        }
        for (mut mean, &count) in means.rows_mut().into_iter().zip(&count) {
            mean /= f64::max(count, 1.0);
        }
        let rest =
            Array2::from_shape_fn((n, d), |(i, j)| x[(i, j)] - means[(class[i] as usize, j)]);
        let present = count.iter().filter(|&&count| count > 0.0).count();
        let free = (n - present).max(1) as f64;
        let inverse = self.inverse(&rest, free)?;
        let matrix = means.dot(&inverse);
        let bias = (0..n_classes).map(|c| {
            if count[c] > 0.0 {
                -means.row(c).dot(&matrix.row(c)) / 2.0 - (present as f64).ln()
            } else {
                f64::NEG_INFINITY
            }
        });
        Ok(Logits {
            bias: bias.collect(),
            matrix,
        })
    }

    /// The inverse of the covariance of rows around the mean of their class.
    fn inverse(self, rest: &Array2<f64>, free: f64) -> Result<Array2<f64>> {
        let (n, d) = rest.dim();
        if self.covariance == Covariance::Shrunk {
            let scatter = Scatter::of(&vec![1.0; n], d, |i, out| {
                out.iter_mut()
                    .zip(rest.row(i))
                    .for_each(|(out, &v)| *out = v);
            })?;
            let varies = scatter.mean > 0.0;
            return Ok(if varies {
                scatter.power(scatter.shrinkage(free), -1.0)
            } else {
                Array2::eye(d)
            });
        }
        let covariance = spd::cross(rest, rest) / free;
        let eigen = spd::eigen(&covariance)?;
        let largest = eigen.largest();
        let least = SINGULAR * largest;
        // Nothing varies within classes: no direction is better than another.
        if largest <= 0.0 {
            return Ok(Array2::eye(d));
        }
        let ridge = if eigen.values[0] > least {
            0.0
        } else {
            RIDGE * covariance.diag().sum() / d as f64
        };
        Ok(eigen.matrix(|v| match self.covariance {
            Covariance::Pseudo if v > least => v.recip(),
            Covariance::Pseudo => 0.0,
            Covariance::Plain | Covariance::Shrunk => (v.max(0.0) + ridge).recip(),
        }))
    }
}

impl Classify for Discriminant {
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn fit(&self, lesson: &Lesson, _: u64, _: &Monitor) -> Result<Box<dyn Classifier>> {
        let (x, class) = lesson.labeled();
        let logits = self.logits(x.view(), &class, lesson.labels.n_classes())?;
        Ok(Box::new(logits))
    }
}

/// `x matrix^T + bias`, a column a class.
struct Logits {
    matrix: Array2<f64>,
    bias: Array1<f64>,
}

impl Classifier for Logits {
    fn classes(&self, rows: ArrayView2<f32>) -> Result<Vec<u32>> {
        let class = |row: ndarray::ArrayView1<f32>| {
            let logits = self.matrix.dot(&row.mapv(f64::from)) + &self.bias;
            let best = (0..logits.len()).fold(0, |b, c| if logits[c] > logits[b] { c } else { b });
            best as u32
        };
        Ok(rows.rows().into_iter().map(class).collect())
    }
}

#[cfg(test)]
#[allow(clippy::unreadable_literal)] // Printed values.
mod tests {
    use super::*;
    use crate::linear::Lda;
    use crate::linear::check_values::{iris, relative_error};
    use ndarray::array;

    fn plain() -> Discriminant {
        Discriminant::new().covariance(Covariance::Plain)
    }

    #[test]
    fn the_check_values_of_irises() {
        let (x, class) = iris();
        let x = x.mapv(|v| v as f32);
        let found = plain().logits(x.view(), &class, 3).unwrap();
        let matrix = array![
            [23.5441667229, 23.5878704956, -16.4306390229, -17.3984107816],
            [15.698209076, 7.0725098373, 5.21145093416, 6.43422920041],
            [12.4458489938, 3.68527961208, 12.7665449735, 21.0791130134],
        ];
        // The features are single precision.
        assert!(relative_error(&found.matrix, &matrix) < 1e-6);
        let bias = [-86.3084699737, -72.8526074006, -104.368319986];
        let off = found.bias.iter().zip(bias).map(|(a, b)| (a - b).abs());
        assert!(off.fold(0.0, f64::max) < 1e-4, "{}", found.bias);
        let first = found.matrix.dot(&x.row(0).mapv(f64::from)) + &found.bias;
        let scores = [89.8417502593, 40.5449204656, -5.90702591029];
        let off = first.iter().zip(scores).map(|(a, b)| (a - b).abs());
        assert!(off.fold(0.0, f64::max) < 1e-4, "{first}");
        let classes = found.classes(x.view()).unwrap();
        let wrong: Vec<usize> = (0..150).filter(|&i| classes[i] != class[i]).collect();
        assert_eq!(wrong, [70, 83, 133]);
    }

    #[test]
    fn singular_covariances_by_hand() {
        // Within classes only the first column varies: S = diag(2, 0).
        let x = array![[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0_f32]];
        let class = [0, 0, 1, 1];
        let of = |how| {
            let own = Discriminant::new().covariance(how);
            own.logits(x.view(), &class, 2).unwrap()
        };
        // The ridge is a thousandth of 1: the second column counts by 1 / .001.
        let ridge = of(Covariance::Plain);
        let expected = array![[1.0 / 2.001, 0.0], [1.0 / 2.001, 1000.0]];
        assert!(
            relative_error(&ridge.matrix, &expected) < 1e-9,
            "{}",
            ridge.matrix
        );
        assert_eq!(ridge.classes(x.view()).unwrap(), class);
        let pseudo = of(Covariance::Pseudo);
        let expected = array![[0.5, 0.0], [0.5, 0.0]];
        assert!(relative_error(&pseudo.matrix, &expected) < 1e-9);
        // A class that no row has is never said.
        let gap = Discriminant::new()
            .logits(x.view(), &[0, 0, 2, 2], 3)
            .unwrap();
        assert!(gap.classes(x.view()).unwrap().iter().all(|&c| c != 1));
    }

    #[test]
    fn labels_less_classes_as_many_as_columns_do_not_turn_the_shrunk_one() {
        // Two classes in 12 columns, apart in the first; 7 rows each are 12 more than classes.
        let noise = |i: usize, j: usize| ((i * 31 + j * 17 + i * j * 7) % 23) as f32 / 23.0;
        let row =
            |i: usize, j: usize| noise(i, j) + f32::from(u8::from(j == 0 && i.is_multiple_of(2)));
        let x = Array2::from_shape_fn((14, 12), |(i, j)| row(i, j));
        let asked = Array2::from_shape_fn((200, 12), |(i, j)| row(i + 14, j));
        let class: Vec<u32> = (0..14).map(|i| i % 2).collect();
        let right = |by: Discriminant| {
            let said = by.logits(x.view(), &class, 2).unwrap();
            let said = said.classes(asked.view()).unwrap();
            (0..200).filter(|&i| said[i] == i as u32 % 2).count()
        };
        let (shrunk, plain) = (right(Discriminant::new()), right(plain()));
        assert!(shrunk >= 170 && plain < shrunk - 10, "{shrunk}, {plain}");
    }

    #[test]
    fn the_shrunk_one_is_lda_but_for_the_scale() {
        let (x, class) = iris();
        let x = x.mapv(|v| v as f32);
        let found = Discriminant::new().logits(x.view(), &class, 3).unwrap();
        let lda = Lda::new().fit_weighted(x.view(), &class, &[1.0; 150], 150);
        let lda = lda.unwrap().matrix.reversed_axes();
        assert!(relative_error(&found.matrix, &lda) < 1e-6);
        // The same rows twice: nothing varies, and no class is better.
        let same = array![[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0_f32]];
        let found = Discriminant::new()
            .logits(same.view(), &[0, 0, 1, 1], 2)
            .unwrap();
        assert!(found.classes(same.view()).unwrap().iter().all(|&c| c == 0));
    }
}
