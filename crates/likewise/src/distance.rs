//! Similarities of rows: of a pair, and of whole blocks by matrix product.
//!
//! Everything that searches exactly ([`crate::eval::ranking`], [`crate::eval::leak`],
//! [`crate::index::Flat`]) goes through one engine, [`Searched`], so they all agree on
//! what a similarity is and how ties fall.

pub(crate) mod grid;
mod searched;
pub(crate) mod tile;

use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

pub use searched::Searched;

/// How two rows are compared. Larger is more similar for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Inner product of the rows scaled to unit length, -1 to 1. A row of zeros has
    /// similarity 0 to everything, itself included.
    #[default]
    Cosine,
    /// Minus the squared Euclidean distance, at most 0.
    Euclidean,
    /// Inner product of the rows as they are. Long rows win everywhere; use it only
    /// where length means something.
    InnerProduct,
}

impl Metric {
    /// Similarity of one pair, in `f64`: the definition, and slow.
    ///
    /// Rows of different length are compared over the shorter one.
    ///
    /// ```
    /// use likewise::distance::Metric;
    /// use ndarray::array;
    /// let (a, b) = (array![1.0, 0.0], array![3.0, 4.0]);
    /// assert!((Metric::Cosine.similarity(a.view(), b.view()) - 0.6).abs() < 1e-12);
    /// assert_eq!(Metric::Euclidean.similarity(a.view(), b.view()), -20.0);
    /// assert_eq!(Metric::InnerProduct.similarity(a.view(), b.view()), 3.0);
    /// ```
    pub fn similarity(self, a: ArrayView1<f32>, b: ArrayView1<f32>) -> f64 {
        let sum = |x: ArrayView1<f32>, y: ArrayView1<f32>, f: fn(f64, f64) -> f64| -> f64 {
            x.iter()
                .zip(y)
                .map(|(&p, &q)| f(f64::from(p), f64::from(q)))
                .sum()
        };
        let dot = |x, y| sum(x, y, |p, q| p * q);
        match self {
            Metric::InnerProduct => dot(a, b),
            Metric::Euclidean => -sum(a, b, |p, q| (p - q).powi(2)),
            Metric::Cosine => {
                let norms = (dot(a, a) * dot(b, b)).sqrt();
                if norms > 0.0 { dot(a, b) / norms } else { 0.0 }
            }
        }
    }
}
