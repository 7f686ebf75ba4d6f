//! Archives of images, unpacked into the cache.

use std::path::{Path, PathBuf};

use super::cache::{UNPACKED, cache_folder};
use crate::{Error, Result};

/// The folder of images at `path`, or the one that an archive there holds.
pub(crate) fn folder(path: &Path) -> Result<PathBuf> {
    if path.extension().is_some_and(|e| e == "tar") {
        return unpacked(path);
    }
    Ok(path.to_owned())
}

/// The folder that an archive of images holds, unpacked once into the cache.
fn unpacked(archive: &Path) -> Result<PathBuf> {
    let within = |e: std::io::Error| Error::data(e.to_string()).within(archive.display());
    let cache = cache_folder().unwrap_or_else(std::env::temp_dir);
    let folder = cache.join(UNPACKED).join(likewise_io::digest(archive)?);
    if folder.is_dir() {
        return Ok(folder);
    }
    let parent = cache.join(UNPACKED);
    std::fs::create_dir_all(&parent).map_err(within)?;
    // Whatever the moment of a kill, the folder is whole or not there.
    let part = tempfile::tempdir_in(&parent).map_err(within)?;
    let file = std::fs::File::open(archive).map_err(within)?;
    let reader = std::io::BufReader::new(file);
    tar::Archive::new(reader)
        .unpack(part.path())
        .map_err(within)?;
    match std::fs::rename(part.path(), &folder) {
        // Another process may have been faster.
        Err(e) if !folder.is_dir() => Err(within(e)),
        _ => Ok(folder),
    }
}
