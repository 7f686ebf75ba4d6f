//! What a run says of itself: `config.json` and `run.json`.

use std::collections::BTreeMap;

use likewise_io::Layout;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::parts::Parts;
use crate::inputs::Inputs;
use crate::journal::Place;
use crate::recipe::Recipe;
use crate::source::{Encoded, encoded};
use crate::study::Protocol;
use crate::{Result, usage};

/// `config.json` and `run.json`.
pub(super) const CONFIG: &str = "config.json";
pub(super) const RECORD: &str = "run.json";
pub(super) const EMBEDDINGS: &str = "embeddings.npy";
/// Folder of the words of descriptors of points.
pub(super) const WORDS: &str = "words";
pub(super) const CODES: &str = "codes.npy";

/// What `read_as` says where items may have several labels each.
pub const SEVERAL_LABELS: &str = "; several labels, ";

impl Record {
    /// Whether labels by the ids of a run are of the same items in this one.
    pub(super) fn has_same_items(&self, other: &Self) -> bool {
        have_same_items(self.data_of(), other.data_of())
    }

    /// What tells its data.
    pub(crate) fn data_of(&self) -> DataOf<'_> {
        (&self.data_sha256, self.named_by.as_deref())
    }

    /// Fails where the items of the run may have several labels each, of which `what` knows nothing.
    pub fn check_single_labels(&self, what: &str) -> Result<()> {
        if !self.read_as.contains(SEVERAL_LABELS) {
            return Ok(());
        }
        Err(usage(format!(
            "{what} goes by one label an item, and the items of this run have several each; search it, or fit \
             the data with the one that matters"
        )))
    }
}

/// `config.json`: all choices, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Version of the program that wrote it.
    pub version: String,
    /// View that was fitted on; of a run across views their names with `+` between.
    pub view: String,
    /// Columns of that view, or of all of them.
    pub dimensions: usize,
    /// How the columns of the table became features, where the data were one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<Layout>,
    /// Names of the columns of each view, of arrays that had some.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, Vec<String>>,
    /// How many columns each of several views has that were fitted side by side. Absent in runs of older versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub widths: BTreeMap<String, usize>,
    /// What made the features, where the data were images; nothing for pixels.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "encoded")]
    pub encoder: Vec<Encoded>,
    /// The recipe.
    pub recipe: Recipe,
    /// The protocol.
    pub protocol: Protocol,
}

impl Config {
    /// The view that was fitted, or the several side by side in their order, and how many columns each had; nothing where
    /// that is not known.
    pub(crate) fn widths_in_order(&self) -> Vec<(String, usize)> {
        if !self.view.contains('+') {
            return vec![(self.view.clone(), self.dimensions)];
        }
        let width = |name: &str| Some((name.to_owned(), *self.widths.get(name)?));
        let each: Option<Vec<_>> = self.view.split('+').map(width).collect();
        each.unwrap_or_default()
    }

    /// Whether it says the same as that of another run; what runs of older versions do not say is not compared.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        if other.widths.is_empty() && !self.widths.is_empty() {
            let widths = BTreeMap::new();
            return Self {
                widths,
                ..self.clone()
            } == *other;
        }
        self == other
    }
}

/// `run.json`: how the run came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the program that wrote it.
    pub version: String,
    /// What was asked for.
    pub arguments: Vec<String>,
    /// Seed of every random step.
    pub seed: u64,
    /// The data, in words.
    pub data: String,
    /// Their digest.
    pub data_sha256: String,
    /// What the items go by: `own` ids, `column NAME` of a table where one was asked for, or the numbers of `N rows`; where
    /// lines with gaps are left out, `N rows without gaps in` and a digest of the columns and how they are read. Where this
    /// differs, the same file may give an id to another item. Absent in runs of older versions, and of arrays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named_by: Option<String>,
    /// Items of the run.
    pub items: usize,
    /// How many of them, the last ones, were added since it was fitted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub added: usize,
    /// The place in the journal of its page up to which it was fitted with its labels and names of classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<Place>,
    /// Seconds by step: reading, the study, writing.
    pub seconds: BTreeMap<String, f64>,
    /// The same time by stage of the work.
    #[serde(default)]
    pub stages: BTreeMap<String, f64>,
    /// Most memory that the process held, where the system tells.
    pub peak_memory_bytes: Option<u64>,
    /// Threads that worked.
    pub threads: usize,
    /// How the data were read; together with their digest it tells them from others.
    #[serde(default)]
    pub read_as: String,
    /// The files that it was made of, so that the same fit can be made again; none of arrays in memory, and of
    /// files whose names are no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    /// Views that are searched from one to another, in the order of the files; none in a run within
    /// one view.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<String>,
    /// What tells the files of this run from those of another.
    pub parts: Parts,
}

/// What of a record is read where one run takes the place of another.
///
/// No more than that: a [`Record`] has fields that those of older versions lack, and their run must be known
/// and replaced all the same.
#[derive(Debug, Deserialize)]
pub(super) struct Known {
    /// Version of the program that wrote it, by which it is told from a `run.json` of another program.
    #[serde(rename = "version")]
    _version: String,
    /// The digest of its data.
    #[serde(default)]
    pub(super) data_sha256: Option<String>,
    /// What its items go by.
    #[serde(default)]
    pub(super) named_by: Option<String>,
    /// The files that are its parts.
    #[serde(default)]
    #[expect(
        clippy::zero_sized_map_values,
        reason = "it is an object in the file, and a set is read from a list"
    )]
    pub(super) parts: BTreeMap<String, IgnoredAny>,
}

fn is_zero<T: PartialEq + Default>(n: &T) -> bool {
    *n == T::default()
}

/// What tells the data of a run from others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Their digest.
    pub data_sha256: String,
    /// What their items go by, as in a [`Record`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named_by: Option<String>,
    /// What was taken of them, and how.
    pub read_as: String,
}

/// The digest of the data of a run, and what their items go by where that is known.
pub(crate) type DataOf<'a> = (&'a str, Option<&'a str>);

/// What tells the data of a run from others: other labels of theirs, or another encoder, make no other items.
pub fn data_alone(digest: &str) -> &str {
    let end = digest.find(['+', ';']).unwrap_or(digest.len());
    &digest[..end]
}

/// Whether an id is of the same item in both.
pub(crate) fn have_same_items(a: DataOf, b: DataOf) -> bool {
    let agree = a.1.is_none() || b.1.is_none() || a.1 == b.1;
    data_alone(a.0) == data_alone(b.0) && agree
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(view: &str, widths: &[(&str, usize)]) -> Config {
        Config {
            version: "1".into(),
            view: view.into(),
            dimensions: 9,
            table: None,
            columns: BTreeMap::new(),
            widths: widths.iter().map(|&(name, n)| (name.into(), n)).collect(),
            encoder: vec![],
            recipe: Recipe::default(),
            protocol: Protocol::default(),
        }
    }

    #[test]
    fn what_an_older_run_does_not_say_is_not_compared() {
        let new = config("b+a", &[("a", 6), ("b", 3)]);
        assert!(new.agrees_with(&config("b+a", &[])));
        assert!(!new.agrees_with(&config("b+a", &[("a", 3), ("b", 6)])));
        assert!(!new.agrees_with(&config("a+b", &[])));
        assert!(!config("b+a", &[]).agrees_with(&new));
    }

    #[test]
    fn widths_are_in_the_order_of_the_fit() {
        let new = config("b+a", &[("a", 6), ("b", 3)]);
        let order: Vec<(String, usize)> = vec![("b".into(), 3), ("a".into(), 6)];
        assert_eq!(new.widths_in_order(), order);
        assert!(config("b+a", &[("a", 6)]).widths_in_order().is_empty());
    }
}
