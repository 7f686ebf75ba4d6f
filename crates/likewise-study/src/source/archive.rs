//! Archives of images, and the folder where such things are kept between runs.

use std::path::{Path, PathBuf};

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
    let folder = cache.join("unpacked").join(likewise_io::digest(archive)?);
    if folder.is_dir() {
        return Ok(folder);
    }
    let parent = cache.join("unpacked");
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

/// The variable that names this program's own cache.
const OWN: &str = "LIKEWISE_CACHE";

/// Where features are kept: `$LIKEWISE_CACHE`, else `likewise` in the user's folder of caches.
pub(super) fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| {
        let value = std::env::var_os(name).map(PathBuf::from);
        // A relative one would leave files wherever a command happens to run.
        value.filter(|path| path.is_absolute() || (name == OWN && !path.as_os_str().is_empty()))
    };
    folder(OWN).or_else(|| {
        let caches = folder("XDG_CACHE_HOME")
            .or_else(|| folder("LOCALAPPDATA"))
            .or_else(|| folder("HOME").map(|home| home.join(".cache")));
        caches.map(|caches| caches.join("likewise"))
    })
}
