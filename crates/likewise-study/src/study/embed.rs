//! Embeddings of a ground's items by the models of its trainings.

use likewise::learn::Start;
use likewise::{Embedding, Monitor, Similarity, matrix};
use likewise_nn::Model;
use likewise_nn::net::Deep;
use ndarray::Array2;

use super::ground::Ground;
use super::kept::Kept;
use crate::{Error, Result};

pub(super) fn no_images() -> Error {
    Error::data("a network reads images, but there are none")
}

impl Ground<'_> {
    /// The tested items as they are, by their distance; `None` unless the recipe learns on them so.
    pub(super) fn by_distance(&self) -> Option<Embedding> {
        let rows = || Embedding::new(self.tested.clone(), &Similarity::Euclidean);
        self.recipe.start.as_given.then(rows)
    }

    /// Embeddings of the queries and the gallery.
    pub(super) fn embed_tested(&self, kept: &Kept, monitor: &Monitor) -> Result<Embedding> {
        self.embed_tested_by(&kept.model, &kept.start, monitor)
    }

    /// Embeddings of the queries and the gallery by a model that began at `start`.
    pub(super) fn embed_tested_by(
        &self,
        model: &Model,
        start: &Start,
        monitor: &Monitor,
    ) -> Result<Embedding> {
        let rows = if let Model::Network(_) = model {
            let rows = self.start_rows(start, &self.tested_items)?;
            self.embed(model, &rows, &self.tested_items, monitor)?
        } else {
            model.embed(self.tested.view(), &self.plan.device)?
        };
        Ok(Embedding::new(rows, &model.similarity()))
    }

    /// The embedding of items; `rows` are their unit rows of the start, which need not be
    /// computed again where a model reads these.
    pub(super) fn embed(
        &self,
        model: &Model,
        rows: &Array2<f32>,
        items: &[usize],
        monitor: &Monitor,
    ) -> Result<Array2<f32>> {
        let device = &self.plan.device;
        match (model, &self.images) {
            (Model::Head(head), _) => Ok(head.embed_start(rows.clone())),
            (Model::Network(network), Some(images)) => {
                let learned = network.learned(images.as_ref(), items, device, monitor)?;
                Ok(match &network.start {
                    Some(start) => start.join(rows.clone(), learned),
                    None => learned,
                })
            }
            (Model::Network(_), None) => Err(no_images()),
            (Model::Closed(_), _) => {
                let features = matrix::select_rows(self.plan.features, items);
                model.embed(features.view(), device)
            }
        }
    }
}

/// A model without its orthonormal map, where an encoder makes the rows before it.
pub(super) fn before_map(model: Model) -> Model {
    match model {
        Model::Network(network) => Model::Network(Deep {
            map: None,
            ..network
        }),
        Model::Head(_) | Model::Closed(_) => model,
    }
}
