//! One writer at a time in a run folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::{Result, failed};

/// Holds a folder for this process; others are refused until it is dropped, or the process
/// ends, however that comes about.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// Locked by the system.
    file: File,
}

pub(super) const NAME: &str = ".lock";

impl Lock {
    /// Fails at once where another process holds the folder.
    pub(crate) fn take(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        let cannot = |e: std::io::Error| {
            failed(
                likewise_io::Error::from(e)
                    .within(path.display())
                    .to_string(),
            )
        };
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = options.open(&path).map_err(cannot)?;
            match file.try_lock() {
                // Some network drives know no locks: better no protection than no work.
                Ok(()) | Err(TryLockError::Error(_)) => {}
                Err(TryLockError::WouldBlock) => return Err(is_held(folder, &mut file)),
            }
            // Between opening and locking, its last holder may have removed the file.
            if !is_at(&file, &path) {
                continue;
            }
            let _ = file.set_len(0);
            let _ = write!(file, "{}", std::process::id());
            return Ok(Self { path, file });
        }
    }

    /// Fails where another process holds the folder; takes and writes nothing.
    pub(super) fn is_free(folder: &Path) -> Result<()> {
        let path = folder.join(NAME);
        // A pipe of another's would wait for a writer.
        let file = path.is_file().then(|| File::open(path).ok()).flatten();
        let Some(mut file) = file else {
            return Ok(());
        };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(is_held(folder, &mut file)),
            // Closing it lets go of it.
            _ => Ok(()),
        }
    }
}

fn is_held(folder: &Path, lock: &mut File) -> crate::Error {
    let mut holder = String::new();
    let _ = lock.read_to_string(&mut holder);
    failed(format!(
        "{}: another process{} is writing into this folder; wait for it, or name another folder",
        folder.display(),
        match holder.trim() {
            "" => String::new(),
            id => format!(" ({id})"),
        }
    ))
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is still locked: whoever waits at the old file finds that it is gone.
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

/// Whether this file is the one of that name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let of = |m: std::io::Result<std::fs::Metadata>| m.ok().map(|m| (m.dev(), m.ino()));
    of(file.metadata()) == of(std::fs::metadata(path))
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path()).unwrap();
        let refused = Lock::take(folder.path()).unwrap_err().to_string();
        let own = std::process::id().to_string();
        assert!(refused.contains("another process") && refused.contains(&own));
        drop(first);
        assert!(!folder.path().join(NAME).exists());
        drop(Lock::take(folder.path()).unwrap());
    }
}
