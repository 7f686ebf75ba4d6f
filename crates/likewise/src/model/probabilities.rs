//! Class probabilities beside the features.

use ndarray::{Array1, Array2, ArrayViewMut1, Axis};

use crate::matrix::{Reading, l2_normalize, less_mean, product};

/// The square roots of class probabilities, beside the discriminants of the centred features where there are some, and
/// beside these features unless another model has them.
///
/// ```text
/// c = (x - mean) scale                                x: the features as they are read
/// p = softmax(c V + b)
/// u = c D
/// z = [ sqrt(share) sqrt(p), sqrt(rest) u / |u|, sqrt(rest) c / |c| ]
/// ```
///
/// The cosine of two items is then `share` times the Bhattacharyya coefficient of their
/// probabilities and `rest` times the cosines of their discriminants and of their centred features: `rest` is half of
/// `1 - share`, or all of it where one of the two is not there. A part whose share is 0 is left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Probabilities {
    /// How features are read.
    pub reading: Reading,
    /// Mean of the features, `d`.
    pub mean: Array1<f64>,
    /// What the centred features are multiplied by, `d`.
    pub scale: Array1<f64>,
    /// `V`, `d x C`.
    pub matrix: Array2<f64>,
    /// `b`, `C`.
    pub bias: Array1<f64>,
    /// `D`, `d x r`: directions in which classes differ, as long as what varies within classes asks for.
    pub discriminants: Option<Array2<f64>>,
    /// Whether the centred features are a part.
    pub features: bool,
    /// Share of the probabilities in the cosine, from 0 to 1.
    pub share: f64,
}

impl Probabilities {
    /// Share of each part beside the probabilities.
    pub fn rest(&self) -> f64 {
        let parts = u8::from(self.discriminants.is_some()) + u8::from(self.features);
        (1.0 - self.share) / f64::from(parts.max(1))
    }

    pub(super) fn output_dim(&self) -> usize {
        let (d, classes) = self.matrix.dim();
        let discriminants = self.discriminants.as_ref().map_or(0, Array2::ncols);
        usize::from(self.share > 0.0) * classes
            + usize::from(self.share < 1.0) * (discriminants + usize::from(self.features) * d)
    }

    pub(super) fn rows(&self, x: Array2<f32>) -> Array2<f32> {
        let read = self.reading.rows(x);
        let centered = less_mean(read.view(), &self.mean) * &self.scale;
        let times = |matrix: &Array2<f64>| {
            product(&centered, &matrix.t().as_standard_layout().into_owned())
        };
        let beside =
            |part: &Array2<f64>| l2_normalize(part.mapv(|v| v as f32)) * self.rest().sqrt() as f32;
        let mut parts = Vec::new();
        if self.share > 0.0 {
            let mut p = times(&self.matrix) + &self.bias;
            for mut row in p.rows_mut() {
                softmax(row.view_mut());
                row.mapv_inplace(|p| (self.share * p).sqrt());
            }
            parts.push(p.mapv(|v| v as f32));
        }
        if self.share < 1.0 {
            parts.extend(self.discriminants.as_ref().map(|of| beside(&times(of))));
            parts.extend(self.features.then(|| beside(&centered)));
        }
        let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
        // A row on the mean has no direction, and only the length of its probabilities.
        match ndarray::concatenate(Axis(1), &views) {
            Ok(rows) => l2_normalize(rows),
            Err(_) => unreachable!("parts of the same rows"),
        }
    }
}

/// Logits to probabilities, in place.
pub(crate) fn softmax(mut row: ArrayViewMut1<f64>) {
    let most = row.fold(f64::NEG_INFINITY, |most, &v| most.max(v));
    row.mapv_inplace(|v| (v - most).exp());
    let sum = row.sum();
    row /= sum;
}
