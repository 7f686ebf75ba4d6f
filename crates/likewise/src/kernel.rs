//! Kernels: similarities of rows, which are products in some other space.
//!
//! ```text
//! linear       x . y
//! polynomial   (x . y + offset)^degree
//! cosine       (x . y / (|x| |y|) + 1) / 2         a row of zeros: 1 with another such, else 1/2
//! rbf          exp(-|x - y|^2 / width)
//! ```
//!
//! The width of an RBF kernel is a number, or follows from the rows it is
//! [fitted](Kernel::fitted) to: from their mean squared distance (the default, which scales with
//! the features), or from their mean distance in the two ways that Liang et al. may be read. A
//! distance below a squared one does not scale: at widths as printed, nearly all products of
//! features of usual size are 0, and a warning says so.
//!
//! What is made of kernels:
//!
//! | | does |
//! |---|---|
//! | [`Omks`] | learns a similarity of several kernels from triplets, exactly; memory O(n^2) a kernel |
//! | [`Explicit`] | learns the same in coordinates of each kernel; memory O(r^2) a kernel |
//! | [`Nystrom`], [`Fourier`], [`Cosine`] | such coordinates |

mod compared;
pub mod cosine;
pub mod explicit;
pub mod fourier;
pub mod learner;
pub mod nystrom;
pub mod omks;
mod seen;

pub use cosine::Cosine;
pub use explicit::{Coordinates, Explicit, Mapped};
pub use fourier::Fourier;
pub use learner::{ExplicitOmksLearner, OmksLearner};
pub use nystrom::Nystrom;
pub use omks::{Omks, Order, Similarity, Source, Theta};

use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::matrix::{check_finite, product, product_of_many};
use crate::solve::{exp_of_negative, vectorised};
use crate::{Error, Monitor, Result, parallel};

/// Rows whose distances the widths are taken from, at most.
const SEEN: usize = 2048;
/// Below this a product is nothing.
const NOTHING: f64 = 1e-12;

/// A kernel; see [`kernel`](self).
///
/// ```
/// use likewise::{Monitor, kernel::{Kernel, Width}};
/// let x = ndarray::array![[0.0, 0.0], [3.0, 4.0], [6.0, 8.0_f32]];
/// let rbf = Kernel::Rbf { width: Width::MeanSquare(1.0) }.fitted(x.view(), &Monitor::silent())?;
/// let k = rbf.gram(x.view(), x.view())?;
/// assert!((k[(0, 1)] - (-0.5_f64).exp()).abs() < 1e-12);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Kernel {
    /// The product of the rows.
    Linear,
    /// A power of the product and an offset.
    Polynomial {
        /// At least 1.
        degree: u32,
        /// At least 0.
        offset: f64,
    },
    /// The cosine, shifted to lie between 0 and 1.
    Cosine,
    /// A Gaussian of the distance.
    Rbf {
        /// What the squared distance is divided by.
        width: Width,
    },
}

/// The width of an RBF kernel, by the distances of different rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Width {
    /// The number itself.
    Fixed(f64),
    /// So many times the mean squared distance.
    MeanSquare(f64),
    /// `sigma` times the mean distance.
    Mean(f64),
    /// `sigma^2` times the mean distance, as printed.
    Printed(f64),
}

impl Width {
    fn factor(self) -> f64 {
        match self {
            Self::Fixed(factor)
            | Self::MeanSquare(factor)
            | Self::Mean(factor)
            | Self::Printed(factor) => factor,
        }
    }
}

impl Kernel {
    /// The four kernels of a view: three RBF of a quarter, one and four times the mean squared
    /// distance, and the cosine.
    pub const ALL_FOUR: [Self; 4] = [
        Self::Rbf {
            width: Width::MeanSquare(0.25),
        },
        Self::Rbf {
            width: Width::MeanSquare(1.0),
        },
        Self::Rbf {
            width: Width::MeanSquare(4.0),
        },
        Self::Cosine,
    ];

    /// The four as printed: sigma .01, .02 and .04, and the cosine.
    pub const PAPER: [Self; 4] = [
        Self::Rbf {
            width: Width::Printed(0.01),
        },
        Self::Rbf {
            width: Width::Printed(0.02),
        },
        Self::Rbf {
            width: Width::Printed(0.04),
        },
        Self::Cosine,
    ];

    /// Checks the numbers.
    pub fn validate(&self) -> Result<()> {
        let finite = |value: f64| value.is_finite();
        match *self {
            Self::Polynomial { degree: 0, .. } => {
                Err(Error::parameter("kernel.degree", 0, "must be at least 1"))
            }
            Self::Polynomial { offset, .. } if !(finite(offset) && offset >= 0.0) => {
                let rule = "must be at least 0";
                Err(Error::parameter("kernel.offset", offset, rule))
            }
            Self::Rbf { width } if !(finite(width.factor()) && width.factor() > 0.0) => {
                let rule = "must be above 0";
                Err(Error::parameter("kernel.width", width.factor(), rule))
            }
            _ => Ok(()),
        }
    }

    /// The same kernel with the width that these rows give. Of more than 2048 rows, as many at
    /// even steps are looked at; where all are the same, the width is 1.
    ///
    /// Fails on NaN and on numbers out of range. O(m^2 d) for m rows that are looked at.
    pub fn fitted(self, x: ArrayView2<f32>, monitor: &Monitor) -> Result<Self> {
        self.validate()?;
        check_finite(x, "kernel")?;
        let Self::Rbf { width } = self else {
            return Ok(self);
        };
        let found = Distances::of(x);
        let by = |size: f64| if size > 0.0 { size } else { 1.0 };
        let fixed = match width {
            Width::Fixed(_) => return Ok(self),
            Width::MeanSquare(factor) => factor * by(found.mean_square),
            Width::Mean(sigma) => sigma * by(found.mean),
            Width::Printed(sigma) => sigma * sigma * by(found.mean),
        };
        if found.median_square > -NOTHING.ln() * fixed {
            monitor.warn(format!(
                "an RBF kernel of width {fixed:.3e} is 0 for most pairs of rows, whose squared \
                 distance is {:.3e} in the middle; scale the features down or take a width by \
                 mean-square",
                found.median_square
            ));
        }
        Ok(Self::Rbf {
            width: Width::Fixed(fixed),
        })
    }

    /// The kernel of every row of `x` with every row of `y`: `x rows` by `y rows`.
    ///
    /// Fails on NaN, where columns differ in number, and where a width was not
    /// [fitted](Self::fitted). O(n m d).
    pub fn gram(self, x: ArrayView2<f32>, y: ArrayView2<f32>) -> Result<Array2<f64>> {
        self.validate()?;
        check_finite(x, "kernel")?;
        check_finite(y, "kernel")?;
        if x.ncols() != y.ncols() {
            return Err(Error::data(format!(
                "a kernel compares rows of as many columns, but these have {} and {}",
                x.ncols(),
                y.ncols()
            )));
        }
        if let Self::Rbf { width } = self
            && !matches!(width, Width::Fixed(_))
        {
            return Err(Error::data(
                "the width of the kernel depends on rows that it was not fitted to",
            ));
        }
        Ok(self.of_rows(&x.mapv(f64::from), &y.mapv(f64::from)))
    }

    /// As [`gram`](Self::gram), of rows that were checked. A width that was not fitted counts as
    /// it is.
    pub(crate) fn of_rows(self, x: &Array2<f64>, y: &Array2<f64>) -> Array2<f64> {
        let mut k = product_of_many(x, y);
        let squares = |x: &Array2<f64>| -> Vec<f64> {
            x.rows().into_iter().map(|row| row.dot(&row)).collect()
        };
        let (mut left, mut right) = (squares(x), squares(y));
        if self == Self::Cosine {
            for square in left.iter_mut().chain(&mut right) {
                *square = if *square > 0.0 {
                    square.sqrt().recip()
                } else {
                    0.0
                };
            }
        }
        parallel::each_row(&mut k, |i, mut row| {
            if let Some(row) = row.as_slice_mut() {
                vectorised(|| self.finish(row, left[i], &right));
            }
        });
        k
    }

    /// Turns products into the kernel; `left` and `right` are squared lengths, or one over
    /// lengths for the cosine.
    #[expect(
        clippy::inline_always,
        reason = "must be compiled with the features of its caller"
    )]
    #[inline(always)]
    fn finish(self, row: &mut [f64], left: f64, right: &[f64]) {
        match self {
            Self::Linear => {}
            Self::Polynomial { degree, offset } => {
                for value in row {
                    *value = (*value + offset).powi(degree.cast_signed());
                }
            }
            Self::Cosine => {
                for (value, &right) in row.iter_mut().zip(right) {
                    let cosine = (*value * left * right).clamp(-1.0, 1.0);
                    let both = left + right > 0.0;
                    *value = if both { 0.5 * cosine + 0.5 } else { 1.0 };
                }
            }
            Self::Rbf { width } => {
                let each = width.factor().recip();
                for (value, &right) in row.iter_mut().zip(right) {
                    let square = left + right - 2.0 * *value;
                    let power = if square > 0.0 { -square * each } else { 0.0 };
                    let found = exp_of_negative(if power > -708.0 { power } else { -708.0 });
                    *value = if power > -708.0 { found } else { 0.0 };
                }
            }
        }
    }

    /// The kernel of rows with themselves, symmetric to the last bit and 1 on the diagonal where
    /// that is so.
    pub(crate) fn own(self, x: &Array2<f64>) -> Array2<f64> {
        let mut k = self.of_rows(x, x);
        for i in 0..k.nrows() {
            if matches!(self, Self::Cosine | Self::Rbf { .. }) {
                k[(i, i)] = 1.0;
            }
            for j in 0..i {
                k[(j, i)] = k[(i, j)];
            }
        }
        k
    }
}

/// Fails unless rows have as many columns as those that were learned from.
fn check_columns(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::data(format!(
        "rows of {expected} columns were learned from, but these have {found}"
    )))
}

/// Of pairs of different rows.
struct Distances {
    mean: f64,
    mean_square: f64,
    median_square: f64,
}

impl Distances {
    fn of(x: ArrayView2<f32>) -> Self {
        let m = x.nrows().min(SEEN);
        let rows: Vec<usize> = (0..m).map(|i| i * x.nrows() / m).collect();
        let seen = x.select(Axis(0), &rows).mapv(f64::from);
        let squares: Vec<f64> = seen.rows().into_iter().map(|row| row.dot(&row)).collect();
        let products = product(&seen, &seen);
        let mut found = Vec::with_capacity(m * m.saturating_sub(1) / 2);
        for i in 0..m {
            for j in 0..i {
                found.push((squares[i] + squares[j] - 2.0 * products[(i, j)]).max(0.0));
            }
        }
        let count = found.len().max(1);
        Self {
            mean: found.iter().map(|square| square.sqrt()).sum::<f64>() / count as f64,
            mean_square: found.iter().sum::<f64>() / count as f64,
            median_square: if found.is_empty() {
                0.0
            } else {
                *found.select_nth_unstable_by(count / 2, f64::total_cmp).1
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::seed;

    #[test]
    fn three_points_on_a_line() {
        let x = ndarray::array![[0.0, 0.0], [3.0, 4.0], [6.0, 8.0_f32]];
        let silent = Monitor::silent();
        let found = Distances::of(x.view());
        assert!((found.mean - 20.0 / 3.0).abs() < 1e-12);
        assert!((found.mean_square - 50.0).abs() < 1e-12);
        let at = |width, i, j| {
            let kernel = Kernel::Rbf { width }.fitted(x.view(), &silent).unwrap();
            kernel.gram(x.view(), x.view()).unwrap()[(i, j)]
        };
        assert!((at(Width::MeanSquare(1.0), 0, 1) - 0.606_530_659_713).abs() < 1e-12);
        assert!((at(Width::MeanSquare(1.0), 0, 2) - 0.135_335_283_237).abs() < 1e-12);
        assert!(at(Width::Printed(0.04), 0, 1).abs() < 1e-300);
        // Wider ones: exp(-25 / (20 / 3 / 2)) and exp(-25 / (20 / 3 / 4)).
        let same = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
        assert!(same(at(Width::Mean(0.5), 0, 1), 5.530_843_701_478_336e-4));
        assert!(same(
            at(Width::Printed(0.5), 0, 1),
            3.059_023_205_018_258e-7
        ));
        let k = Kernel::Cosine.own(&x.mapv(f64::from));
        assert!((k[(1, 2)] - 1.0).abs() < 1e-15);
        assert!((k[(0, 1)] - 0.5).abs() < 1e-15 && (k[(0, 0)] - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_width_that_leaves_nothing_is_said() {
        let x = Array2::from_shape_fn((9, 2), |(i, j)| (i + 3 * j) as f32);
        let heard = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = heard.clone();
        let monitor = Monitor::new(move |event| {
            if matches!(event, crate::Event::Warning(_)) {
                count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        });
        for kernel in Kernel::ALL_FOUR {
            kernel.fitted(x.view(), &monitor).unwrap();
        }
        assert_eq!(heard.load(std::sync::atomic::Ordering::Relaxed), 0);
        for kernel in Kernel::PAPER {
            kernel.fitted(x.view(), &monitor).unwrap();
        }
        assert_eq!(heard.load(std::sync::atomic::Ordering::Relaxed), 3);
        let rbf = Kernel::Rbf {
            width: Width::MeanSquare(1.0),
        };
        assert!(rbf.gram(x.view(), x.view()).is_err());
        assert!(
            Kernel::Linear
                .gram(x.view(), Array2::zeros((2, 3)).view())
                .is_err()
        );
        let wrong = Kernel::Rbf {
            width: Width::Fixed(-1.0),
        };
        assert!(wrong.fitted(x.view(), &monitor).is_err());
        let wrong = Kernel::Polynomial {
            degree: 0,
            offset: 1.0,
        };
        assert!(wrong.validate().is_err());
        let same = Array2::from_elem((4, 2), 3.0_f32);
        let k = rbf
            .fitted(same.view(), &monitor)
            .unwrap()
            .gram(same.view(), same.view());
        assert!(k.unwrap().iter().all(|&k| (k - 1.0).abs() < 1e-12));
        let text = serde_json::to_string(&Kernel::ALL_FOUR).unwrap();
        assert!(
            text.contains(r#"{"kind":"rbf","width":{"mean-square":0.25}}"#),
            "{text}"
        );
        assert_eq!(
            serde_json::from_str::<Vec<Kernel>>(&text).unwrap(),
            Kernel::ALL_FOUR
        );
    }

    proptest! {
        #[test]
        fn every_kernel_is_its_formula(
            n in 1_usize..12, m in 1_usize..300, d in 1_usize..9, number in any::<u64>(),
        ) {
            let mut rng = seed::stream(number, "kernel");
            let mut rows = |n| Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f64..1.0));
            let (x, y) = (rows(n), rows(m));
            let kernels = [
                Kernel::Linear,
                Kernel::Polynomial { degree: 3, offset: 0.5 },
                Kernel::Cosine,
                Kernel::Rbf { width: Width::Fixed(0.01) },
            ];
            for kernel in kernels {
                let k = kernel.of_rows(&x, &y);
                for ((i, j), k) in k.indexed_iter() {
                    let (x, y) = (x.row(i), y.row(j));
                    let e = &x - &y;
                    let expected = match kernel {
                        Kernel::Linear => x.dot(&y),
                        Kernel::Polynomial { .. } => (x.dot(&y) + 0.5).powi(3),
                        Kernel::Cosine => {
                            0.5 + 0.5 * x.dot(&y) / (x.dot(&x) * y.dot(&y)).sqrt()
                        }
                        Kernel::Rbf { .. } => (-e.dot(&e) / 0.01).exp(),
                    };
                    prop_assert!((k - expected).abs() < 1e-11, "{kernel:?} {k} {expected}");
                }
            }
        }
    }
}
