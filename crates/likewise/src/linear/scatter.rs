//! A covariance that is shrunk towards equal variances by as much as its rows ask for.
//!
//! ```text
//! T = (1 - g) S + g tr(S)/d I         g: from how much the squares of rows vary around S
//! ```
//!
//! Source: Ledoit & Wolf, J. Multivariate Analysis 2004, formula (14), with weights.

use ndarray::Array2;

use super::whitening::Spectrum;
use crate::Result;

/// A covariance with weights, and what its shrinkage needs.
pub(crate) struct Scatter {
    spectrum: Spectrum,
    /// Mean variance of a direction, of all `d`.
    pub(crate) mean: f64,
    /// Mean fourth power of the rows' lengths.
    fourth: f64,
    d: usize,
}

impl Scatter {
    /// Of rows that are centred already, and which `row` writes.
    pub(crate) fn of(
        weight: &[f64],
        d: usize,
        row: impl Fn(usize, &mut [f64]) + Sync,
    ) -> Result<Self> {
        let whole: f64 = weight.iter().sum();
        let spectrum = Spectrum::of_centered(weight.len(), d, |place, out| {
            row(place, out);
            // The spectrum divides by the number of rows, which here count by their weight.
            let factor = (weight[place] * weight.len() as f64 / whole).sqrt();
            for value in out {
                *value *= factor;
            }
        })?;
        let mut buffer = vec![0.0; d];
        let fourths = weight.iter().enumerate().map(|(place, weight)| {
            row(place, &mut buffer);
            weight * buffer.iter().map(|v| v * v).sum::<f64>().powi(2)
        });
        let fourth = fourths.sum::<f64>() / whole;
        Ok(Self {
            mean: spectrum.variances.sum() / d as f64,
            spectrum,
            fourth,
            d,
        })
    }

    /// Ledoit and Wolf's, of so many observations.
    pub(crate) fn shrinkage(&self, seen: f64) -> f64 {
        let square = self.spectrum.variances.mapv(|v| v * v).sum();
        let from_identity = square - self.d as f64 * self.mean * self.mean;
        let noise = (self.fourth - square).max(0.0) / seen;
        // Without it, directions that no row varies in would be believed to the last bit.
        let least = 1e-6;
        if from_identity > 0.0 {
            (noise / from_identity).clamp(least, 1.0)
        } else {
            1.0
        }
    }

    /// `T` to this power.
    pub(crate) fn power(&self, shrinkage: f64, power: f64) -> Array2<f64> {
        let floor = shrinkage * self.mean;
        let along = (self.spectrum.variances).mapv(|v| ((1.0 - shrinkage) * v + floor).powf(power));
        self.spectrum.symmetric(&along, floor.powf(power))
    }
}
