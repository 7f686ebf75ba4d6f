//! A model that compares rows itself.

use std::fmt::Debug;
use std::sync::Arc;

use ndarray::{Array2, ArrayView2};

use crate::{Monitor, Result};

/// A model that compares rows itself.
pub trait Scores: Debug + Send + Sync {
    /// Columns of a row.
    fn columns(&self) -> usize;

    /// How alike each query (`q x d`) is to each row of the gallery (`g x d`): `q x g`, more is more
    /// alike. The gallery is the whole of what is searched, since scores may depend on all of it;
    /// the scores of a query do not depend on the other queries.
    ///
    /// Fails on NaN, on another number of columns, and when cancelled.
    fn scores(
        &self,
        queries: ArrayView2<f32>,
        gallery: ArrayView2<f32>,
        monitor: &Monitor,
    ) -> Result<Array2<f64>>;
}

/// A model that [scores](Scores), shared by all that ask it.
#[derive(Debug, Clone)]
pub struct Scorer(Arc<dyn Scores>);

impl Scorer {
    /// Shares a model.
    pub fn new(model: Arc<dyn Scores>) -> Self {
        Self(model)
    }

    /// The model.
    pub fn model(&self) -> &dyn Scores {
        self.0.as_ref()
    }
}

/// Whether it is the same model, not one like it.
impl PartialEq for Scorer {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
