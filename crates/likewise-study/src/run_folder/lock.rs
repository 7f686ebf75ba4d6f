//! One writer at a time in a run folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
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

/// Digits of the largest number of a process, and one more.
const LONGEST: u64 = 21;

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
            is_ours(&path)?;
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
            // Another name of a file of somebody else's looks like any file, but for what it holds.
            let mut held = Vec::new();
            (&file)
                .take(LONGEST)
                .read_to_end(&mut held)
                .map_err(cannot)?;
            if !held.iter().all(u8::is_ascii_digit) {
                return Err(foreign(&path));
            }
            let _ = file.set_len(0);
            let _ = file.rewind();
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

/// Fails where something else than a file stands at the name of the lock: through a link, the file of somebody
/// else would be written and removed.
fn is_ours(path: &Path) -> Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => Err(foreign(path)),
        _ => Ok(()),
    }
}

fn foreign(path: &Path) -> crate::Error {
    failed(format!(
        "{}: not a lock that was left here by a run; take it away, or name another folder",
        path.display()
    ))
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
    of(file.metadata()) == of(std::fs::symlink_metadata(path))
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
        // A killed process has left its number, and nobody holds it.
        std::fs::write(folder.path().join(NAME), "4294967295").unwrap();
        drop(Lock::take(folder.path()).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_lock_is_neither_written_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (theirs, lock) = (folder.path().join("keys"), folder.path().join(NAME));
        let refused = || {
            let said = Lock::take(folder.path()).unwrap_err().to_string();
            assert!(said.contains("not a lock"), "{said}");
            assert!(std::fs::symlink_metadata(&lock).is_ok());
        };
        std::fs::write(&theirs, "ssh-ed25519 AAAA").unwrap();
        std::os::unix::fs::symlink(&theirs, &lock).unwrap();
        refused();
        std::fs::remove_file(&lock).unwrap();
        std::fs::hard_link(&theirs, &lock).unwrap();
        refused();
        assert_eq!(std::fs::read(&theirs).unwrap(), b"ssh-ed25519 AAAA");
        std::fs::remove_file(&lock).unwrap();
        std::fs::create_dir(&lock).unwrap();
        refused();
    }
}
