//! What a fit that is made again knows of the run that was there.

use std::path::PathBuf;

use likewise_io::items::ItemRow;
use likewise_nn::Model;

use crate::journal::Place;
use crate::run_folder::{Config, DataOf, have_same_items};
use crate::study::Results;
use crate::{Result, failed};

/// A run that is made again: what was chosen when it was made, and what is known by now.
#[derive(Debug, Clone)]
pub struct Again {
    /// Its folder.
    pub(super) run: PathBuf,
    pub(super) config: Config,
    /// Whether labels choose its recipe.
    pub(super) chosen: Chosen,
    /// Its items, with all labels that are known.
    pub(super) items: Vec<ItemRow>,
    /// How many of these are others than it was fitted with, by its page.
    pub(super) given: usize,
    /// The place in its journal that these follow.
    pub(super) journal: Option<Place>,
    /// Whether the new run will be a model of this one, and must be of the same items.
    pub(super) as_model: bool,
    /// Whether labels were asked for, by advice or on its page.
    pub(super) asked_for: bool,
    /// Digest of the data it was made of.
    pub(super) data: String,
    /// What its items went by, where that is known.
    pub(super) named_by: Option<String>,
    /// The parts of that digest which are not of labels.
    pub(super) items_sha256: Vec<String>,
    /// The model that learning goes on from, where it does.
    pub(super) model: Option<Model>,
    /// Files of triplets that it has learned from.
    pub(super) learned: usize,
    /// Items that were added to it since.
    pub(super) added: usize,
}

/// Whether labels choose the recipe of a run that is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chosen {
    /// It was named.
    Named,
    /// They did, then or before: it is kept from then on, and the record of the next run, in which nothing is compared, says
    /// that its labels choose none.
    Before,
    /// They do now: one stood that nothing could be compared with.
    Now,
}

impl Chosen {
    /// By the results of the run, and whether its record says that its labels choose.
    pub(super) fn of(then: &Results, chooses: bool) -> Self {
        let by_labels = then.answers.sure.is_some_and(|sure| sure.chosen_once);
        if by_labels || !then.tried.is_empty() {
            Self::Before
        } else if chooses {
            Self::Now
        } else {
            Self::Named
        }
    }
}

impl Again {
    /// Whether an id is of the same item in these data.
    pub(super) fn is_of(&self, items: DataOf) -> bool {
        have_same_items((&self.data, self.named_by.as_deref()), items)
    }

    /// Whether data of this digest have the same items with the same features; `of_file` where a file of labels is in it.
    pub(super) fn has_items_of(&self, digest: &str, of_file: bool) -> bool {
        self.items_sha256 == without_labels(digest, of_file)
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

/// The parts of a digest that are not of labels: the second one is that of their file, where there is one.
pub(super) fn without_labels(digest: &str, of_file: bool) -> Vec<String> {
    let own = digest.split(';').next().unwrap_or_default();
    let mut parts: Vec<String> = own.split('+').map(str::to_owned).collect();
    if of_file && parts.len() > 1 {
        parts.remove(1);
    }
    parts
}
