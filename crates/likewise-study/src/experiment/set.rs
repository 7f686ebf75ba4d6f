//! A data set as the file of an experiment says it.

use std::path::PathBuf;

/// A data set of an experiment.
pub(super) trait Set {
    fn name(&self) -> &str;

    /// A name for several sets.
    fn group(&self) -> Option<&str> {
        None
    }

    /// All that is read of it.
    fn files(&self) -> Vec<&PathBuf>;

    /// Fails with what is wrong in it, if anything.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    fn is_called(&self, name: &str) -> bool {
        self.name() == name || self.group() == Some(name)
    }
}
