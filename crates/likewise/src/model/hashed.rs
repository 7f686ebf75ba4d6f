//! Binary codes, and features where codes are equally far.

use ndarray::{Array1, Array2, s};

use crate::arrays::{Arrays, Values};
use crate::matrix::{Reading, l2_normalize, less_mean, product};
use crate::{Error, Result};

/// Binary codes of features, and the features themselves for items whose codes are equally far.
///
/// ```text
/// c = (x - mean) scale                           x: the features as they are read
/// code = sign(c W + b)                           +1 or -1, h columns
/// z = [ sqrt((h+1)/(h+2)) code / sqrt(h), sqrt(1/(h+2)) c / |c| ]
/// ```
///
/// The cosine of two rows goes by the number of bits that differ: one bit less outweighs whatever the
/// features say, and among equally many the features decide.
#[derive(Debug, Clone, PartialEq)]
pub struct Hashed {
    /// How features are read.
    pub reading: Reading,
    /// Mean of the features, `d`.
    pub mean: Array1<f64>,
    /// What the centred features are multiplied by, `d`.
    pub scale: Array1<f64>,
    /// `W`, `d x h`.
    pub matrix: Array2<f64>,
    /// `b`, `h`.
    pub bias: Array1<f64>,
}

impl Hashed {
    /// Fails where the arrays do not fit each other.
    pub fn new(
        reading: Reading,
        (mean, scale): (Array1<f64>, Array1<f64>),
        (matrix, bias): (Array2<f64>, Array1<f64>),
    ) -> Result<Self> {
        let (d, h) = matrix.dim();
        if d == 0 || h == 0 || mean.len() != d || scale.len() != d || bias.len() != h {
            return Err(Error::data(
                "start.mean, start.scale, latent.matrix and latent.bias do not fit",
            ));
        }
        Ok(Self {
            reading,
            mean,
            scale,
            matrix,
            bias,
        })
    }

    /// Number of bits.
    pub fn bits(&self) -> usize {
        self.bias.len()
    }

    pub(super) fn output_dim(&self) -> usize {
        self.bits() + self.mean.len()
    }

    fn centered(&self, x: Array2<f32>) -> Array2<f64> {
        let read = self.reading.rows(x);
        less_mean(read.view(), &self.mean) * &self.scale
    }

    /// What the bits are signs of (`n x h`), from features (`n x d`): for
    /// [`Codes`](crate::code::Codes).
    pub fn latent(&self, x: Array2<f32>) -> Array2<f64> {
        self.latent_of(&self.centered(x))
    }

    fn latent_of(&self, centered: &Array2<f64>) -> Array2<f64> {
        // The product takes the transpose of its second factor.
        let transposed = self.matrix.t().as_standard_layout().into_owned();
        product(centered, &transposed) + &self.bias
    }

    pub(super) fn rows(&self, x: Array2<f32>) -> Array2<f32> {
        let centered = self.centered(x);
        let h = self.bits() as f64;
        let bit = ((h + 1.0) / (h + 2.0) / h).sqrt();
        let mut rows = Array2::zeros((centered.nrows(), self.output_dim()));
        let latent = self.latent_of(&centered);
        let codes = latent.mapv(|v| if v >= 0.0 { bit as f32 } else { -bit as f32 });
        rows.slice_mut(s![.., ..self.bits()]).assign(&codes);
        let unit = l2_normalize(centered.mapv(|v| v as f32));
        let share = (h + 2.0).recip().sqrt() as f32;
        rows.slice_mut(s![.., self.bits()..])
            .assign(&(unit * share));
        // A row on the mean has no direction, and only the length of its code.
        l2_normalize(rows)
    }

    /// `start.mean` (`d`), `start.scale` (`d`) unless all are 1, `latent.matrix` (`d x h`) and
    /// `latent.bias` (`h`).
    pub(super) fn put(&self, arrays: &mut Arrays) {
        let mut vector = |name: &str, values: &Array1<f64>| {
            arrays.put(name, &[values.len()], Values::F64(values.to_vec()));
        };
        vector("start.mean", &self.mean);
        if self.scale != Array1::<f64>::ones(self.scale.len()) {
            vector("start.scale", &self.scale);
        }
        vector("latent.bias", &self.bias);
        arrays.put_matrix("latent.matrix", &self.matrix);
    }

    pub(super) fn of(reading: Reading, arrays: &Arrays) -> Result<Self> {
        let mean = arrays.vector64("start.mean")?;
        let scale = match arrays.get("start.scale") {
            Ok(_) => arrays.vector64("start.scale")?,
            Err(_) => Array1::ones(mean.len()),
        };
        let latent = (
            arrays.matrix64("latent.matrix")?,
            arrays.vector64("latent.bias")?,
        );
        Self::new(reading, (mean, scale), latent)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, array};

    use super::*;

    #[test]
    fn bits_come_first_and_features_decide_among_them() {
        let of = Hashed::new(
            Reading::default(),
            (array![1.0, 0.0], Array1::ones(2)),
            (array![[1.0, 0.0], [0.0, 1.0]], array![0.0, -0.5]),
        )
        .unwrap();
        let x = array![[2.0, 1.0], [9.0, 1.0], [2.0, 0.4], [0.9, 8.0_f32]];
        let z = of.rows(x.clone());
        assert_eq!(z.dim(), (4, 4));
        let signs = of.latent(x).mapv(|v| v >= 0.0);
        let expected = array![[true, true], [true, true], [true, false], [false, true]];
        assert_eq!(signs, expected);
        let cosine = |a: usize, b: usize| z.row(a).dot(&z.row(b));
        // Of the same code but far in direction, before one bit less of nearly the same direction.
        assert!(cosine(0, 1) > cosine(0, 2));
        // By hand: 3/4 of (1 - 1) / 2, and 1/4 of the cosine of (1, 1) and (1, .4).
        let expected = 1.4_f32 / (2.0_f32.sqrt() * 1.16_f32.sqrt()) / 4.0;
        assert!((cosine(0, 2) - expected).abs() < 1e-6, "{}", cosine(0, 2));
        for row in z.axis_iter(Axis(0)) {
            assert!((row.dot(&row) - 1.0).abs() < 1e-6);
        }
        let wrong = Hashed::new(
            Reading::default(),
            (array![1.0], Array1::ones(1)),
            (array![[1.0], [2.0]], array![0.0]),
        );
        assert!(wrong.is_err());
    }
}
