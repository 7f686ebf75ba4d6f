//! Archives of images, unpacked into the cache, or for as long as they are read.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::cache::{DRAWN, PART, UNPACKED, cache_folder};
use crate::{Error, Result};

/// A folder of images, which is there as long as this is.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Of an archive that no cache keeps: it goes with this.
    _held: Option<TempDir>,
}

impl Folder {
    fn of(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            _held: None,
        }
    }

    fn held(folder: TempDir) -> Self {
        Self {
            path: folder.path().to_owned(),
            _held: Some(folder),
        }
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// The folder of images at `path`, or the one that an archive there holds.
pub(crate) fn folder(path: &Path) -> Result<Folder> {
    if path.extension().is_some_and(|e| e == "tar") {
        return unpacked(path, cache_folder().as_deref());
    }
    Ok(Folder::of(path))
}

/// The folder that an archive of images holds: unpacked once into the cache, or where there is none that
/// can be written, into a folder that only this user can write, so that nobody has filled it before.
fn unpacked(archive: &Path, cache: Option<&Path>) -> Result<Folder> {
    let within = |e: std::io::Error| Error::data(e.to_string()).within(archive.display());
    let digest = likewise_io::digest(archive)?;
    let folder = cache.map(|cache| cache.join(UNPACKED).join(digest));
    if let Some(folder) = folder.as_deref().filter(|folder| folder.is_dir()) {
        return Ok(Folder::of(folder));
    }
    let cached = folder.and_then(|folder| Some((part_of(&folder)?, folder)));
    let Some((part, folder)) = cached else {
        let own = private().map_err(within)?;
        unpack(archive, own.path()).map_err(within)?;
        return Ok(Folder::held(own));
    };
    unpack(archive, part.path()).map_err(within)?;
    // Whatever the moment of a kill, the folder is whole or not there.
    match std::fs::rename(part.path(), &folder) {
        // Else another process was faster.
        Err(_) if !folder.is_dir() => Ok(Folder::held(part)),
        _ => Ok(Folder::of(&folder)),
    }
}

/// A folder that is to become this one of the cache, if it can be made.
fn part_of(folder: &Path) -> Option<TempDir> {
    let parent = folder.parent()?;
    std::fs::create_dir_all(parent).ok()?;
    let mut part = tempfile::Builder::new();
    part.prefix(PART).rand_bytes(DRAWN);
    part.tempdir_in(parent).ok()
}

/// A folder that nobody else can read or write.
fn private() -> std::io::Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    folder.prefix("likewise-");
    #[cfg(unix)]
    folder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    folder.tempdir()
}

fn unpack(archive: &Path, to: &Path) -> std::io::Result<()> {
    let file = std::fs::File::open(archive)?;
    tar::Archive::new(std::io::BufReader::new(file)).unpack(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive with one file.
    fn archive(scene: &Path) -> PathBuf {
        std::fs::create_dir(scene.join("photos")).unwrap();
        std::fs::write(scene.join("photos/a.txt"), "a").unwrap();
        let path = scene.join("photos.tar");
        let mut tar = tar::Builder::new(std::fs::File::create(&path).unwrap());
        tar.append_dir_all("cat", scene.join("photos")).unwrap();
        tar.finish().unwrap();
        path
    }

    #[test]
    fn an_archive_is_unpacked_once_where_there_is_a_cache() {
        let scene = tempfile::tempdir().unwrap();
        let (archive, cache) = (archive(scene.path()), scene.path().join("cache"));
        let first = unpacked(&archive, Some(&cache)).unwrap();
        assert!(first.path().join("cat/a.txt").is_file());
        std::fs::write(first.path().join("seen"), "").unwrap();
        let second = unpacked(&archive, Some(&cache)).unwrap();
        assert!(second.path().join("seen").is_file());
        assert_eq!(first.path(), second.path());
        // Nothing else is left there.
        let kept = std::fs::read_dir(cache.join(UNPACKED)).unwrap();
        assert_eq!(kept.count(), 1);
    }

    #[test]
    fn without_a_cache_it_is_unpacked_where_nobody_else_can_write() {
        let scene = tempfile::tempdir().unwrap();
        let archive = archive(scene.path());
        // A file stands where the folder of the cache should be, as it cannot be written.
        let full = scene.path().join("full");
        std::fs::write(&full, "").unwrap();
        for cache in [None, Some(full.as_path())] {
            let [one, other] = [(); 2].map(|()| unpacked(&archive, cache).unwrap());
            assert!(one.path().join("cat/a.txt").is_file());
            assert_ne!(one.path(), other.path(), "each has its own");
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                let mode = std::fs::metadata(one.path()).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o700);
            }
            let path = one.path().to_owned();
            drop(one);
            assert!(!path.exists());
        }
    }
}
