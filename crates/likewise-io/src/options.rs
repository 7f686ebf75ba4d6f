//! What every reader is asked for.

use std::path::PathBuf;

use crate::{Error, Result};

/// What to read of a file, and how much memory that may take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// A file of labels; they replace those in the data. See [`read_labels`](crate::read_labels).
    pub labels: Option<PathBuf>,
    /// The only view to read; all views if there is no name here.
    pub view: Option<String>,
    /// Most bytes that the features may take in memory; no limit if `None`.
    pub max_memory: Option<u64>,
}

impl ReadOptions {
    pub(crate) fn wants(&self, view: &str) -> bool {
        self.view.as_deref().is_none_or(|name| name == view)
    }

    /// Fails unless the view that is asked for is among `names`.
    pub(crate) fn choose(&self, names: &[&str]) -> Result<()> {
        match &self.view {
            Some(name) if !names.contains(&name.as_str()) => Err(Error::parameter(format!(
                "no view \"{name}\"; there are: {}",
                names.join(", ")
            ))),
            _ => Ok(()),
        }
    }
}
