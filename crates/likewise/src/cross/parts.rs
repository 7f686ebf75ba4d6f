//! What cross-modal learners share: labeled rows, centred; products; the kernel.

use ndarray::{Array1, Array2, Axis};
use rand::Rng as _;
use rand::RngExt;

use super::Views;
use crate::matrix::{product, product_of_many};
use crate::{Error, Result, parallel, seed};

/// The labeled rows of one modality: those whose class has a weight above 0.
pub(super) struct Side {
    /// Which rows they are, ascending.
    pub(super) rows: Vec<usize>,
    /// The rows less their mean.
    pub(super) x: Array2<f64>,
    /// The weighted mean.
    pub(super) mean: Array1<f64>,
    /// The class of each, from 0 without gaps.
    pub(super) class: Vec<usize>,
    /// The weight of each.
    pub(super) weight: Vec<f64>,
    /// The object of each.
    pub(super) object: Vec<usize>,
}

impl Side {
    /// Of modality `t`, whose classes are numbered by `classes`. Fails without a labeled row.
    pub(super) fn labeled(views: &Views, t: usize, classes: &[u32]) -> Result<Self> {
        let weight_of = |row: &usize| f64::from(views.weight()[views.object(t)[*row]]);
        let rows: Vec<usize> = (0..views.rows(t).nrows())
            .filter(|row| weight_of(row) > 0.0)
            .collect();
        if rows.is_empty() {
            return Err(Error::data(format!(
                "no row of modality {t} has a class of a weight above 0; label some of them"
            )));
        }
        let weight: Vec<f64> = rows.iter().map(weight_of).collect();
        let object: Vec<usize> = rows.iter().map(|&row| views.object(t)[row]).collect();
        let number = |&object: &usize| {
            let class = views.class()[object];
            classes.partition_point(|&c| c < class)
        };
        let class = object.iter().map(number).collect();
        let x = views.rows(t).select(Axis(0), &rows).mapv(f64::from);
        let mean = mean(&x, &weight);
        Ok(Self {
            rows,
            x: x - &mean,
            mean,
            class,
            weight,
            object,
        })
    }

    /// Sides of all modalities, and the number of classes among them.
    pub(super) fn all(views: &Views) -> Result<(Vec<Self>, usize)> {
        let classes = classes(views);
        let side = |t| Self::labeled(views, t, &classes);
        let sides = (0..views.n_modalities()).map(side).collect::<Result<_>>()?;
        Ok((sides, classes.len()))
    }
}

/// The classes that some object has with a weight above 0, ascending.
pub(super) fn classes(views: &Views) -> Vec<u32> {
    let known = views.class().iter().zip(views.weight());
    let mut classes: Vec<u32> = known.filter(|(_, w)| **w > 0.0).map(|(&c, _)| c).collect();
    classes.sort_unstable();
    classes.dedup();
    classes
}

/// The weighted mean of rows; 0 where all weights are.
pub(super) fn mean(x: &Array2<f64>, weight: &[f64]) -> Array1<f64> {
    let mut mean = Array1::zeros(x.ncols());
    for (row, &w) in x.rows().into_iter().zip(weight) {
        mean.scaled_add(w, &row);
    }
    let whole: f64 = weight.iter().sum();
    if whole > 0.0 { mean / whole } else { mean }
}

/// The rows of `x`, each times its number.
pub(super) fn scaled(x: &Array2<f64>, by: &[f64]) -> Array2<f64> {
    let mut out = x.as_standard_layout().into_owned();
    for (mut row, &factor) in out.rows_mut().into_iter().zip(by) {
        row *= factor;
    }
    out
}

/// Sums of the rows of each class, with weights: `classes x d`.
pub(super) fn class_sums(
    x: &Array2<f64>,
    class: &[usize],
    weight: &[f64],
    classes: usize,
) -> Array2<f64> {
    let mut sums = Array2::zeros((classes, x.ncols()));
    for ((row, &class), &w) in x.rows().into_iter().zip(class).zip(weight) {
        sums.row_mut(class).scaled_add(w, &row);
    }
    sums
}

/// `A B`, on all threads, with the same bits on any number of them.
pub(super) fn times(a: &Array2<f64>, b: &Array2<f64>) -> Array2<f64> {
    product_of_many(&standard(a), &transposed(b))
}

/// `A B^T`, on all threads.
pub(super) fn times_transposed(a: &Array2<f64>, b: &Array2<f64>) -> Array2<f64> {
    product_of_many(&standard(a), &standard(b))
}

/// `A^T`, row by row in memory.
pub(super) fn transposed(a: &Array2<f64>) -> Array2<f64> {
    a.t().as_standard_layout().into_owned()
}

fn standard(a: &Array2<f64>) -> Array2<f64> {
    a.as_standard_layout().into_owned()
}

/// Sum of the squares of all values.
pub(super) fn square(a: &Array2<f64>) -> f64 {
    a.iter().map(|v| v * v).sum()
}

/// `exp(-|x - z|^2 / s2)` of all rows of `x` with all rows of `z`, on this thread.
pub(super) fn kernel(x: &Array2<f64>, z: &Array2<f64>, s2: f64) -> Array2<f64> {
    let squares =
        |a: &Array2<f64>| -> Vec<f64> { a.rows().into_iter().map(|r| r.dot(&r)).collect() };
    let (own, other) = (squares(x), squares(z));
    let mut out = product(&standard(x), &standard(z));
    for (mut row, own) in out.rows_mut().into_iter().zip(own) {
        for (v, other) in row.iter_mut().zip(&other) {
            // Rounding may leave a distance of two equal rows below 0.
            *v = (-(own + other - 2.0 * *v).max(0.0) / s2).exp();
        }
    }
    out
}

/// As [`kernel`], on all threads: each block of rows is one task.
pub(super) fn kernel_of_many(x: &Array2<f64>, z: &Array2<f64>, s2: f64) -> Array2<f64> {
    const ROWS: usize = 256;
    let mut out = Array2::zeros((x.nrows(), z.nrows()));
    let outs = out.axis_chunks_iter_mut(Axis(0), ROWS);
    let blocks = outs.zip(x.axis_chunks_iter(Axis(0), ROWS));
    parallel::each(blocks, |(mut out, x)| {
        out.assign(&kernel(&x.to_owned(), z, s2));
    });
    out
}

/// Signs as 1 and -1; that of 0 is 1.
pub(super) fn signs(a: &Array2<f64>) -> Array2<f64> {
    a.mapv(|v| if v >= 0.0 { 1.0 } else { -1.0 })
}

/// Uniform numbers from 0 to 1, row by row.
pub(super) fn uniform(shape: (usize, usize), rng: &mut seed::Rng) -> Array2<f64> {
    Array2::from_shape_simple_fn(shape, || rng.random())
}

/// Standard normal numbers, row by row, by the method of Box and Muller.
pub(super) fn normal(shape: (usize, usize), rng: &mut seed::Rng) -> Array2<f64> {
    Array2::from_shape_simple_fn(shape, || {
        let (u, v): (f64, f64) = (rng.random(), rng.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    })
}

/// 1 or -1 with equal odds, row by row.
pub(super) fn random_signs(shape: (usize, usize), rng: &mut seed::Rng) -> Array2<f64> {
    Array2::from_shape_simple_fn(shape, || if rng.next_u32() & 1 == 1 { 1.0 } else { -1.0 })
}

/// Fails unless `bits` is from 1 to 4096.
pub(super) fn check_bits(field: &str, bits: usize) -> Result<()> {
    if (1..=4096).contains(&bits) {
        return Ok(());
    }
    Err(Error::parameter(field, bits, "must be from 1 to 4096"))
}

/// Fails unless `value` is finite and above 0.
pub(super) fn check_positive(field: &str, value: f64) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::parameter(field, value, "must be finite and above 0"))
}

/// Fails unless `value` is finite and at least 0.
pub(super) fn check_not_negative(field: &str, value: f64) -> Result<()> {
    if value >= 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::parameter(
        field,
        value,
        "must be finite and at least 0",
    ))
}

/// Data for the tests of all learners.
#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::code::Codes;
    use crate::cross::{Embedding, Model};

    /// The generator that the published check values start from.
    pub(in crate::cross) struct SplitMix(pub(in crate::cross) u64);

    impl SplitMix {
        pub(in crate::cross) fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ z >> 31
        }

        /// From 0 to 1.
        pub(in crate::cross) fn uniform(&mut self) -> f64 {
            (self.next() >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// Twelve uniform numbers less 6.
        pub(in crate::cross) fn bell(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }

        pub(in crate::cross) fn uniforms(&mut self, shape: (usize, usize)) -> Array2<f64> {
            Array2::from_shape_simple_fn(shape, || self.uniform())
        }

        pub(in crate::cross) fn bells(&mut self, shape: (usize, usize)) -> Array2<f64> {
            Array2::from_shape_simple_fn(shape, || self.bell())
        }
    }

    #[test]
    fn the_reference_generator() {
        let mut rng = SplitMix(42);
        assert_eq!(rng.next(), 13_679_457_532_755_275_413);
        assert_eq!(rng.next(), 2_949_826_092_126_892_291);
        assert!((SplitMix(1).uniform() - 0.566_561_575_172_280_9).abs() < 1e-15);
        assert!((SplitMix(1).bell() - 1.424_348_090_515_651_1).abs() < 1e-12);
    }

    /// Two modalities of `each` rows of each class around random centres, class by class.
    pub(in crate::cross) fn two_modalities(
        classes: usize,
        each: usize,
        noise: f64,
        seed: u64,
    ) -> ([Array2<f32>; 2], Vec<u32>) {
        let mut rng = SplitMix(seed);
        let class: Vec<u32> = (0..classes * each).map(|i| (i / each) as u32).collect();
        let sides = [6, 4].map(|d| {
            let centers = rng.bells((classes, d));
            let mut x = rng.bells((class.len(), d)) * noise;
            for (mut row, &c) in x.rows_mut().into_iter().zip(&class) {
                row += &centers.row(c as usize);
            }
            x.mapv(|v| v as f32)
        });
        (sides, class)
    }

    /// Share of rows of modality 0 whose nearest row of modality 1 has their class.
    pub(in crate::cross) fn found(model: &Model, x: &[Array2<f32>; 2], class: &[u32]) -> f64 {
        let both = [0, 1].map(|t| model.encode(t, x[t].view()).unwrap());
        let score = |i: usize, j: usize| match &both {
            [Embedding::Real(a), Embedding::Real(b)] => {
                let (a, b) = (a.row(i), b.row(j));
                f64::from(a.dot(&b) / (b.dot(&b)).sqrt().max(1e-9))
            }
            [Embedding::Bits(a), Embedding::Bits(b)] => {
                (0..a.bits()).map(|k| a.sign(i, k) * b.sign(j, k)).sum()
            }
            _ => unreachable!("encoders of one kind"),
        };
        let right = (0..class.len()).filter(|&i| {
            let best = (0..class.len()).max_by(|&a, &b| score(i, a).total_cmp(&score(i, b)));
            best.is_some_and(|j| class[j] == class[i])
        });
        right.count() as f64 / class.len() as f64
    }

    /// The codes as 1 and -1, in `f64`.
    pub(in crate::cross) fn as_signs(codes: &Codes) -> Array2<f64> {
        codes.to_signs().mapv(f64::from)
    }

    pub(in crate::cross) fn close(a: &Array2<f64>, b: &Array2<f64>, tolerance: f64) -> bool {
        a.dim() == b.dim() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance)
    }

    #[test]
    fn the_kernel_by_hand() {
        let x = ndarray::array![[0.0, 0.0], [3.0, 4.0]];
        let k = kernel_of_many(&x, &x, 5.0);
        assert!(close(
            &k,
            &ndarray::array![[1.0, (-5.0_f64).exp()], [(-5.0_f64).exp(), 1.0]],
            1e-15
        ));
    }

    #[test]
    fn random_numbers_are_what_they_are_called() {
        let mut rng = seed::stream(1, "test");
        let normal = normal((100, 100), &mut rng);
        assert!(normal.mean().unwrap().abs() < 0.03 && (square(&normal) / 1e4 - 1.0).abs() < 0.05);
        let signs = random_signs((100, 100), &mut rng);
        assert!(signs.sum().abs() < 300.0 && (square(&signs) - 1e4).abs() < 1e-9);
    }
}
