//! The work of one study.

use std::path::PathBuf;

use likewise::Collection;
use likewise::images::Images;
use likewise::tuple::Tuples;
use likewise_nn::net::Weights;
use likewise_nn::{Device, Model};
use ndarray::ArrayView2;

use super::protocol::Protocol;
use crate::recipe::Recipe;
use crate::{Error, Result};

/// The work of one study.
pub struct Plan<'a> {
    /// The items; labels are needed for all splits but folds.
    pub collection: &'a Collection,
    /// Features of all items: the view that is used.
    pub features: ArrayView2<'a, f32>,
    /// What the recipe's encoder reads, in the order of the items; `None`: the features are
    /// pixels.
    pub images: Option<&'a dyn Images>,
    /// Pairs or triplets that are given, by the places of their items.
    pub tuples: Option<&'a Tuples>,
    /// The model that an earlier fit of the same plan delivered, and from how many of the tuples, the
    /// first ones; `None`: learning begins anew.
    pub before: Option<(&'a Model, usize)>,
    /// The recipe.
    pub recipe: &'a Recipe,
    /// Whether it was chosen among others, so that none of these is worth another try.
    pub chosen: bool,
    /// Whether labels were asked for, so that they are of harder items than most.
    pub asked_for: bool,
    /// The protocol.
    pub protocol: &'a Protocol,
    /// Weights that the recipe's encoder starts from; `None`: random ones.
    pub pretrained: Option<Weights>,
    /// Where unfinished trainings are kept; `None`: nowhere.
    pub checkpoints: Option<PathBuf>,
    /// Where the trainings log every step and epoch, each in a folder of its own, as lines of
    /// JSON and for `TensorBoard`; `None`: nowhere.
    pub events: Option<PathBuf>,
    /// What tells these data from others: files, view, and how images were read. A checkpoint
    /// of other data is not resumed.
    pub data_digest: String,
    /// Where the tensors live.
    pub device: Device,
}

impl<'a> Plan<'a> {
    /// The work on features alone, of which nothing is kept before it is done.
    pub fn of(
        collection: &'a Collection,
        features: ArrayView2<'a, f32>,
        recipe: &'a Recipe,
        protocol: &'a Protocol,
        device: Device,
    ) -> Self {
        Self {
            collection,
            features,
            images: None,
            tuples: None,
            before: None,
            recipe,
            chosen: false,
            asked_for: false,
            protocol,
            pretrained: None,
            checkpoints: None,
            events: None,
            data_digest: String::new(),
            device,
        }
    }

    /// Fails where its parts are of different items, and on a protocol that no study of one view has.
    pub(super) fn check(&self) -> Result<()> {
        let items = self.collection.len();
        let labels = self.collection.labels.as_ref();
        let counted = [
            ("features", Some(self.features.nrows())),
            ("labels", labels.map(likewise::Labels::len)),
            ("split", self.collection.split.as_ref().map(Vec::len)),
        ];
        for (what, rows) in counted {
            if let Some(rows) = rows.filter(|&rows| rows != items) {
                return Err(Error::data(format!(
                    "{what}: {rows} rows, but there are {items} items"
                )));
            }
        }
        self.protocol.check()
    }
}
