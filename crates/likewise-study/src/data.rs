//! Data that something is asked of, before they are opened.

use std::path::{Path, PathBuf};

use crate::run_folder::{RunFolder, check_output};
use crate::source::{ReadAs, Source};
use crate::{Result, usage};

/// Data: where they are, and how they are read.
#[derive(Debug, Clone, Default)]
pub struct Data {
    /// Where they are.
    pub path: PathBuf,
    /// How they are read.
    pub read: ReadAs,
}

impl Data {
    /// What is there.
    ///
    /// Fails on a run, which would be read as images otherwise, and as [`Source::open`] does.
    pub fn open(&self) -> Result<Source> {
        if RunFolder::is_meant(&self.path) {
            return Err(usage(format!(
                "{}: a run, not data; name the data that it was made of",
                self.path.display()
            )));
        }
        Source::open(&self.path, self.read.clone())
    }

    /// Fails on an output that is one of their files, as [`check_output`] does.
    pub fn check_output(&self, out: Option<&Path>) -> Result<()> {
        check_output(out, &[Some(&self.path), self.read.labels.as_deref()])
    }
}
