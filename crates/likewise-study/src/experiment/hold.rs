//! One writer at a time in a folder of results.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::run_folder::lock::Lock;

/// Holds the folder of an experiment's results until it is dropped. Folders that were made for
/// it and stayed empty go again: an experiment without results leaves nothing.
#[derive(Debug)]
pub(super) struct Hold {
    lock: Option<Lock>,
    /// Folders that were made, the innermost first.
    made: Vec<PathBuf>,
}

impl Hold {
    /// Makes the folder where it is not there, and fails at once where another process holds it.
    pub(super) fn take(folder: &Path) -> Result<Self> {
        let missing = folder
            .ancestors()
            .take_while(|at| !at.as_os_str().is_empty() && !at.exists());
        let mut hold = Self {
            lock: None,
            made: missing.map(Path::to_owned).collect(),
        };
        likewise_io::atomic::make_folder(folder)?;
        hold.lock = Some(Lock::take(folder)?);
        Ok(hold)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.lock = None;
        for folder in &self.made {
            // One that holds something stays.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_one_writer_and_empty_folders_go_again() {
        let scene = tempfile::tempdir().unwrap();
        let folder = scene.path().join("results/e");
        let first = Hold::take(&folder).unwrap();
        let refused = Hold::take(&folder).unwrap_err().to_string();
        assert!(
            refused.contains("another process") && refused.contains("results/e"),
            "{refused}"
        );
        drop(first);
        assert!(!scene.path().join("results").exists());
        let second = Hold::take(&folder).unwrap();
        std::fs::write(folder.join("results.json"), "{}").unwrap();
        drop(second);
        let entries = std::fs::read_dir(&folder).unwrap();
        assert_eq!(entries.count(), 1, "the results stay, the lock goes");
    }
}
