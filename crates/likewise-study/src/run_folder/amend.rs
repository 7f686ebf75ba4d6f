//! Files of a finished run that others take the place of, all at one stroke; the rest stays.

use std::path::{Path, PathBuf};

use super::exchange::{COMPLETE, UNFINISHED, has_begun, move_up, remove, sync};
use super::links;
use super::lock::Lock;
use super::record::{RECORD, Record};
use super::{RunFolder, parts};
use crate::{Result, failed, no_json, usage};

/// A finished run, held by this process while some of its files are written anew.
pub(crate) struct Amendment {
    root: PathBuf,
    pub(crate) run: RunFolder,
    /// Whether there is nothing to tidy up any more.
    over: bool,
    /// Dropped last.
    _lock: Lock,
}

impl Amendment {
    /// Takes a finished run.
    ///
    /// Fails where another process works in its folder, where a fit was interrupted in it, which
    /// would be lost, and where it is damaged.
    pub(crate) fn begin(path: &Path) -> Result<Self> {
        let (run, lock) = RunFolder::hold(path)?;
        if has_begun(path) {
            return Err(usage(format!(
                "{} holds a fit that was interrupted; finish that first, or begin it anew",
                path.display()
            )));
        }
        links::check_own(path)?;
        run.check()?;
        let amendment = Self {
            root: path.to_owned(),
            run,
            over: false,
            _lock: lock,
        };
        remove(&path.join(UNFINISHED))?;
        let made = std::fs::create_dir(path.join(UNFINISHED));
        made.map_err(|e| failed(format!("{}: {e}", path.display())))?;
        Ok(amendment)
    }

    /// The place of a file that will take the place of another.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.join(UNFINISHED).join(name)
    }

    /// Puts the files, all of which are written, in the place of the old ones, and `record` with
    /// what tells them from others.
    pub(crate) fn finish(mut self, mut record: Record) -> Result<()> {
        for (name, mark) in &mut record.parts {
            let new = self.file(name);
            if new.exists() {
                *mark = parts::mark(&new)?;
            }
        }
        let mut text = serde_json::to_string_pretty(&record).map_err(no_json)?;
        text.push('\n');
        likewise_io::atomic::write(self.file(RECORD), |file| {
            Ok(std::io::Write::write_all(file, text.as_bytes())?)
        })?;
        let unfinished = self.root.join(UNFINISHED);
        std::fs::rename(&unfinished, self.root.join(COMPLETE))
            .map_err(|e| failed(format!("{}: {e}", unfinished.display())))?;
        // From here on the folder holds the new run; who comes next moves up what is left.
        self.over = true;
        sync(&self.root);
        move_up(&self.root, None).map(drop)
    }
}

impl Drop for Amendment {
    fn drop(&mut self) {
        if !self.over {
            // Whatever stays does no harm: the next writer removes it.
            let _ = remove(&self.root.join(UNFINISHED));
        }
    }
}
