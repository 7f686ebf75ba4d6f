//! What every reader is asked for.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::layout::{Decimal, Layout, Missing};
use crate::{Error, Result};

/// What to read of a file, and how much memory that may take.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadOptions {
    /// A file of labels; they replace those in the data. See [`read_labels`](crate::read_labels).
    pub labels: Option<PathBuf>,
    /// The only view to read; all views if there is no name here. `a+b`: these two.
    pub view: Option<String>,
    /// Most bytes that the features may take in memory; no limit if `None`.
    pub max_memory: Option<u64>,
    /// What the columns of a table mean, where they do not say so themselves.
    pub table: TableOptions,
    /// How another table was read: this one is read in the same way. Of no effect where the data
    /// are no table.
    pub layout: Option<Arc<Layout>>,
    /// The number of columns from which on whoever reads a table brings them to one scale where one outweighs the
    /// others, so that this is not warned of. `None`: nobody does.
    pub scaled_from: Option<usize>,
}

impl ReadOptions {
    pub(crate) fn wants(&self, view: &str) -> bool {
        (self.view.as_deref()).is_none_or(|name| name == view || name.split('+').any(|n| n == view))
    }

    /// Fails unless the view that is asked for is among `names`.
    pub(crate) fn choose(&self, names: &[&str]) -> Result<()> {
        match &self.view {
            Some(name) if !names.contains(&name.as_str()) => {
                match name.split('+').find(|name| !names.contains(name)) {
                    Some(name) => Err(Error::parameter(format!(
                        "no view \"{name}\"; there are: {}",
                        names.join(", ")
                    ))),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

/// What the columns of a table mean, where they do not say so themselves. Nothing is asked for by
/// default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableOptions {
    /// The only columns to take as features; none: all that can be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Columns to leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<String>,
    /// The column of ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_column: Option<String>,
    /// The column of labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_column: Option<String>,
    /// What stands between the labels of an item in one cell, where items may have several; a table may
    /// then name an id again, too. `None`: a cell is one label, whatever stands in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_separator: Option<char>,
    /// What is done where a number is missing. If given, words in a column of numbers count as
    /// missing, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// What stands between the columns of a text; `None`: it is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sep: Option<char>,
    /// What stands before the fraction of a number in a text; `None`: it is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decimal: Option<Decimal>,
    /// Whether text is taken, by the hashes of its triples of letters.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub text: bool,
}

impl TableOptions {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a table of nothing but numbers is read as without these.
    pub(crate) fn suits_numbers(&self) -> bool {
        self.missing.is_none() && self.decimal.is_none() && !self.text
    }

    /// Fails where something is asked for: it has no effect on `what`.
    pub fn check_none(&self, what: &str) -> Result<()> {
        self.refuse(&ALL, what)
    }

    /// Fails on what a fitted table has decided for all others. Where its ids and labels are, each says for itself.
    pub fn check_fitted(&self) -> Result<()> {
        let decided = ["columns", "drop", "missing", "text"];
        self.refuse(&decided, "a table that is read as the fitted one was")
    }

    /// Fails on the first of the settings that are given and named in `without`: they have no
    /// effect on `what`.
    pub(crate) fn refuse(&self, without: &[&str], what: &str) -> Result<()> {
        let given = [
            ("columns", !self.columns.is_empty()),
            ("drop", !self.drop.is_empty()),
            ("id_column", self.id_column.is_some()),
            ("label_column", self.label_column.is_some()),
            ("missing", self.missing.is_some()),
            ("sep", self.sep.is_some()),
            ("decimal", self.decimal.is_some()),
            ("text", self.text),
        ];
        let refused = |&&(name, given): &&(&str, bool)| given && without.contains(&name);
        match given.iter().find(refused) {
            None => Ok(()),
            Some((name, _)) => Err(Error::parameter(format!(
                "`{name}` has no effect on {what}; leave it out"
            ))),
        }
    }
}

/// All settings of tables, for [`TableOptions::refuse`].
pub(crate) const ALL: [&str; 8] = [
    "columns",
    "drop",
    "id_column",
    "label_column",
    "missing",
    "sep",
    "decimal",
    "text",
];
