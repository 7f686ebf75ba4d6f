//! What a fit that is made again knows of the run that was there.

use std::path::PathBuf;

use likewise_io::items::ItemRow;
use likewise_nn::Model;

use crate::journal::Place;
use crate::run_folder::Config;
use crate::{Result, failed};

/// A run that is made again: what was chosen when it was made, and what is known by now.
#[derive(Debug, Clone)]
pub struct Again {
    /// Its folder.
    pub(super) run: PathBuf,
    pub(super) config: Config,
    /// Whether its labels choose the recipe again: one that merely stood where nothing could be compared. One that was
    /// chosen is kept from then on: the record of the next run, in which nothing is compared, says that its labels choose none.
    pub(super) chooses: bool,
    /// Its items, with all labels that are known.
    pub(super) items: Vec<ItemRow>,
    /// How many of these were given on its page since it was fitted.
    pub(super) given: usize,
    /// The place in its journal that these follow.
    pub(super) journal: Option<Place>,
    /// Whether the new run will be a model of this one, and must be of the same items.
    pub(super) as_model: bool,
    /// Whether labels were asked for, by advice or on its page.
    pub(super) asked_for: bool,
    /// Digest of the data it was made of.
    pub(super) data: String,
    /// The model that learning goes on from, where it does.
    pub(super) model: Option<Model>,
    /// Files of triplets that it has learned from.
    pub(super) learned: usize,
    /// Items that were added to it since.
    pub(super) added: usize,
}

impl Again {
    /// Fails where items would be lost by a run in its place.
    pub(super) fn check_whole(&self) -> Result<()> {
        if self.added == 0 {
            return Ok(());
        }
        Err(failed(format!(
            "{}: {} items were added since it was fitted, which a fit of its data would leave out; fit data \
             that hold them all, or write another run: `out FOLDER`",
            self.run.display(),
            self.added
        )))
    }
}
