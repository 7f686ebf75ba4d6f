//! How the rows that a model makes of items compare.
//!
//! Most models compare rows by a metric, and search, index and evaluation need nothing else of them.
//! A model that no metric of rows can stand for is asked itself: it [scores](Scores) queries against
//! the whole gallery, block by block, wherever rows would be compared.

mod scorer;
mod searchable;

use ndarray::{Array2, ArrayView2};

pub use scorer::{Scorer, Scores};
pub use searchable::Searchable;

use crate::Result;
use crate::distance::Metric;
use crate::matrix::product;

/// How the rows of a model compare.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Similarity {
    /// The cosine of rows, which have length 1.
    #[default]
    Cosine,
    /// Minus the squared Euclidean distance: what a learned Mahalanobis metric asks for.
    Euclidean,
    /// `q W x` with this `W` (`d x d`), which need not be symmetric: the row of the query stands on
    /// the left.
    Bilinear(Array2<f64>),
    /// The model itself is asked; rows tell nothing without it.
    Scored(Scorer),
}

impl Similarity {
    /// How rows are compared once those that ask are [`asking`](Self::asking). Scores of a model count
    /// as products: they have a scale of their own, and no length.
    pub fn metric(&self) -> Metric {
        match self {
            Self::Cosine => Metric::Cosine,
            Self::Euclidean => Metric::Euclidean,
            Self::Bilinear(_) | Self::Scored(_) => Metric::InnerProduct,
        }
    }

    /// The model that is to be asked, where no metric of rows can stand for it.
    pub fn scorer(&self) -> Option<&Scorer> {
        match self {
            Self::Scored(scorer) => Some(scorer),
            Self::Cosine | Self::Euclidean | Self::Bilinear(_) => None,
        }
    }

    /// The rows of `x` with these indices, ready to be searched. O(n d).
    ///
    /// Fails as [`Searchable::new`] does.
    pub fn searchable(&self, x: ArrayView2<f32>, rows: &[usize]) -> Result<Searchable> {
        Searchable::new(x, rows, self.metric(), self.scorer())
    }

    /// Rows (`n x d`) as they ask, where these are others than those that are searched. O(n d^2).
    pub fn asking(&self, rows: ArrayView2<f32>) -> Option<Array2<f32>> {
        match self {
            Self::Cosine | Self::Euclidean | Self::Scored(_) => None,
            Self::Bilinear(w) => {
                // The product takes the transpose of its second factor.
                let transposed = w.t().as_standard_layout().into_owned();
                let asking = product(&rows.mapv(f64::from), &transposed);
                Some(asking.mapv(|v| v as f32))
            }
        }
    }
}

/// Rows of items by a model, ready to be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// The rows that are searched (`n x d`).
    pub rows: Array2<f32>,
    /// The rows that ask, where these are others.
    asking: Option<Array2<f32>>,
    /// How both are compared.
    pub metric: Metric,
    /// The model that is asked in place of the metric.
    scorer: Option<Scorer>,
}

impl Embedding {
    /// Whether the distances of its rows are what was learned, so that it can be clustered: not where rows that
    /// ask are others than those that are searched, or the model itself is asked.
    pub fn has_distances(&self) -> bool {
        self.asking.is_none() && self.scorer.is_none()
    }

    /// Rows that a model with this similarity made.
    ///
    /// ```
    /// use likewise::similarity::{Embedding, Similarity};
    /// let w = ndarray::array![[0.0, 1.0], [0.0, 0.0]];
    /// let made = Embedding::new(ndarray::array![[1.0, 2.0_f32]], &Similarity::Bilinear(w));
    /// // q W = (0, 1): the second column of what is searched counts.
    /// assert_eq!(made.asking().row(0).to_vec(), [0.0, 1.0]);
    /// ```
    pub fn new(rows: Array2<f32>, similarity: &Similarity) -> Self {
        Self {
            asking: similarity.asking(rows.view()),
            metric: similarity.metric(),
            scorer: similarity.scorer().cloned(),
            rows,
        }
    }

    /// The rows as they ask.
    pub fn asking(&self) -> ArrayView2<'_, f32> {
        self.asking.as_ref().unwrap_or(&self.rows).view()
    }

    /// The model that is asked in place of the metric, if there is one.
    pub fn scorer(&self) -> Option<&Scorer> {
        self.scorer.as_ref()
    }
}

/// Rows that are compared by their cosine.
impl From<Array2<f32>> for Embedding {
    fn from(rows: Array2<f32>) -> Self {
        Self::new(rows, &Similarity::Cosine)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn only_a_bilinear_form_asks_by_other_rows() {
        let x = array![[3.0, 4.0], [1.0, 0.0_f32]];
        for (similarity, metric) in [
            (Similarity::Cosine, Metric::Cosine),
            (Similarity::Euclidean, Metric::Euclidean),
        ] {
            let made = Embedding::new(x.clone(), &similarity);
            assert_eq!((made.asking(), made.metric), (x.view(), metric));
        }
        let w = array![[1.0, 2.0], [0.0, 1.0]];
        let made = Embedding::new(x.clone(), &Similarity::Bilinear(w));
        // (3, 4) W = (3, 10), and of x it is the product with (1, 0) that counts.
        assert_eq!(made.asking().row(0).to_vec(), [3.0, 10.0]);
        assert_eq!(made.metric, Metric::InnerProduct);
        // Nobody may cluster its rows.
        assert!(!made.has_distances());
        assert!(Embedding::from(x).has_distances());
    }
}
