//! What a fit that is made again knows of the run that was there.

use std::path::PathBuf;

use likewise_io::items::ItemRow;
use likewise_nn::Model;

use crate::run_folder::Config;
use crate::{Result, failed};

/// A run that is made again: what was chosen when it was made, and what is known by now.
#[derive(Debug, Clone)]
pub struct Again {
    /// Its folder.
    pub(super) run: PathBuf,
    pub(super) config: Config,
    /// Whether its recipe is still to be chosen by labels.
    pub(super) chooses: bool,
    /// Whether recipes were compared for it: one that merely stood where nothing could be is chosen anew.
    pub(super) compared: bool,
    /// Its items, with all labels that are known.
    pub(super) items: Vec<ItemRow>,
    /// How many of these were given on its page since it was fitted.
    pub(super) given: usize,
    /// The last entry of its journal among these.
    pub(super) journal: u64,
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
    /// Whether its labels choose the recipe again. One that was chosen is kept from then on: the record of the
    /// next run, in which nothing is compared, says that its labels choose none.
    pub(super) fn chooses(&self) -> bool {
        self.chooses && !self.compared
    }

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
