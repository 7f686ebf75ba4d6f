//! A file while it is being written: beside its target, under a name of its own, and locked.
//!
//! A writer that is killed leaves its file behind, but no lock. The next writer of the same
//! target knows by this which ones nobody works on any more.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::path::Path;

use tempfile::{Builder, TempPath};

use crate::{Error, Result};

const END: &str = ".part";
/// Letters and digits drawn for a name: so many that no name of a person's own looks alike.
const DRAWN: usize = 12;

/// What a name begins with: it is hidden, and tells the target.
fn start(target: &Path) -> OsString {
    let mut start = OsString::from(".");
    start.push(target.file_name().unwrap_or_default());
    start.push(".");
    start
}

/// A new file in `folder` to write what will be `target`. It is locked until it is closed.
pub(super) fn make(folder: &Path, target: &Path) -> Result<(File, TempPath)> {
    let start = start(target);
    let mut builder = Builder::new();
    builder.prefix(&start).suffix(END).rand_bytes(DRAWN);
    // The default is readable by the owner alone; a result is an ordinary file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    loop {
        let made = builder.tempfile_in(folder).map_err(|e| {
            Error::from(e).within(format!("cannot write into folder {}", folder.display()))
        })?;
        let (file, place) = made.into_parts();
        match file.try_lock() {
            // Between making and locking, another writer may have taken it for a leftover.
            Ok(()) if !place.exists() => {}
            // Some network drives know no locks: there nothing is ever removed.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok((file, place)),
            Err(TryLockError::WouldBlock) => {}
        }
    }
}

/// Removes what killed writers of `target` left in `folder`: files of such a name that nobody
/// holds.
pub(super) fn sweep(folder: &Path, target: &Path) {
    let start = start(target);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file || !is_ours(&entry.file_name(), &start) {
            continue;
        }
        let path = entry.path();
        // One that cannot be opened or removed does no harm.
        if let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether a name is one that [`make`] gives to a file of this start.
fn is_ours(name: &OsStr, start: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let drawn = name
        .strip_prefix(start.as_encoded_bytes())
        .and_then(|rest| rest.strip_suffix(END.as_bytes()));
    drawn.is_some_and(|drawn| drawn.len() == DRAWN && drawn.iter().all(u8::is_ascii_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_holds_of_this_target_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let target = folder.join("a.bin");
        let leave = |name: &str| {
            std::fs::write(folder.join(name), b"half").unwrap();
            folder.join(name)
        };
        let (held, place) = make(folder, &target).unwrap();
        let left = leave(".a.bin.abcDEF012345.part");
        let own = [
            "a.bin",
            "a.bin.part",
            ".a.bin.part",
            ".a.bin.backup.part",
            ".a.bin.abcDEF-12345.part",
            ".a.bin.abcDEF012345.part.old",
            ".a.bin2.abcDEF012345.part",
            ".b.bin.abcDEF012345.part",
            "a.bin.abcDEF012345.part",
        ]
        .map(leave);
        std::fs::create_dir(folder.join(".a.bin.aFolder00000.part")).unwrap();
        sweep(folder, &target);
        assert!(!left.exists());
        assert!(place.exists());
        assert!(folder.join(".a.bin.aFolder00000.part").exists());
        for path in own {
            assert!(path.exists(), "{}", path.display());
        }
        // As of a writer that was killed: the file stays, the lock is gone.
        let place = place.keep().unwrap();
        drop(held);
        sweep(folder, &target);
        assert!(!place.exists());
        sweep(&folder.join("no such folder"), &target);
    }

    #[test]
    fn writers_side_by_side_do_not_disturb_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a");
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let target = &target;
                scope.spawn(move || {
                    for _ in 0..25 {
                        crate::atomic::write(target, |file| {
                            Ok(std::io::Write::write_all(file, &[thread; 5000])?)
                        })
                        .unwrap();
                    }
                });
            }
        });
        let bytes = std::fs::read(&target).unwrap();
        assert!(bytes.len() == 5000 && bytes.iter().all(|b| *b == bytes[0]));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
