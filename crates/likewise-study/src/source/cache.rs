//! The folder where features of images and unpacked archives are kept between runs.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::{Error, Result};

/// The variable that names this program's own cache.
const OWN: &str = "LIKEWISE_CACHE";

/// Where archives are unpacked.
pub(super) const UNPACKED: &str = "unpacked";

/// What is kept between runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// The folder, whether it exists or not.
    pub folder: PathBuf,
    /// Files of features: one for each encoder and its settings.
    pub features: Kept,
    /// Files of unpacked archives.
    pub unpacked: Kept,
}

/// Files, and how much they hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// How many.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl Cache {
    /// What is kept now; `None` where there is no place to keep anything.
    pub fn find() -> Result<Option<Self>> {
        cache_folder().map(Self::of).transpose()
    }

    fn of(folder: PathBuf) -> Result<Self> {
        let mut features = Kept::default();
        for file in features_in(&folder)? {
            features.add(&file)?;
        }
        let mut unpacked = Kept::default();
        unpacked.add_all(&folder.join(UNPACKED))?;
        Ok(Self {
            folder,
            features,
            unpacked,
        })
    }

    /// Removes what is kept, and nothing else that may lie in the folder.
    pub fn clear(&self) -> Result<()> {
        for file in features_in(&self.folder)? {
            std::fs::remove_file(&file).map_err(|e| of_path(&file, &e))?;
        }
        let unpacked = self.folder.join(UNPACKED);
        if unpacked.is_dir() {
            std::fs::remove_dir_all(&unpacked).map_err(|e| of_path(&unpacked, &e))?;
        }
        Ok(())
    }
}

impl Kept {
    fn add(&mut self, file: &Path) -> Result<()> {
        let length = std::fs::symlink_metadata(file).map_err(|e| of_path(file, &e))?;
        self.files += 1;
        self.bytes += length.len();
        Ok(())
    }

    /// Adds all files below, without following links.
    fn add_all(&mut self, folder: &Path) -> Result<()> {
        for path in inside(folder)? {
            let is_folder = std::fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir());
            if is_folder {
                self.add_all(&path)?;
            } else {
                self.add(&path)?;
            }
        }
        Ok(())
    }
}

/// The files of features in the folder.
fn features_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_ours = |path: &PathBuf| {
        let name = path.file_stem().and_then(|name| name.to_str());
        let named = name.is_some_and(|name| name.starts_with("features-"));
        named && path.extension().is_some_and(|ending| ending == "bin")
    };
    Ok(inside(folder)?.into_iter().filter(is_ours).collect())
}

/// What stands in a folder, in the order of the names; nothing where there is none.
fn inside(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|e| of_path(folder, &e))?,
    };
    let paths = entries.map(|entry| Ok(entry.map_err(|e| of_path(folder, &e))?.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<Result<_>>()?;
    paths.sort_unstable();
    Ok(paths)
}

fn of_path(path: &Path, e: &std::io::Error) -> Error {
    Error::data(e.to_string()).within(path.display())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_ours_is_counted_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().to_owned();
        let write = |name: &str, bytes: usize| {
            let path = at.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, vec![0; bytes]).unwrap();
        };
        write("features-00ff.bin", 10);
        write("features-00fe.bin", 5);
        write("unpacked/ab/cd/x.png", 7);
        write("mine.txt", 3);
        let cache = Cache::of(at.clone()).unwrap();
        assert_eq!((cache.features.files, cache.features.bytes), (2, 15));
        assert_eq!((cache.unpacked.files, cache.unpacked.bytes), (1, 7));
        cache.clear().unwrap();
        let left: Vec<_> = inside(&at).unwrap();
        assert_eq!(left, [at.join("mine.txt")]);
        let none = Cache::of(at.join("none")).unwrap();
        assert_eq!(none.features, Kept::default());
        none.clear().unwrap();
    }
}
