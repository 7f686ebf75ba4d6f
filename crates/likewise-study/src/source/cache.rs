//! The folder where features of images and unpacked archives are kept between runs.

use std::path::{Path, PathBuf};

use likewise_image::is_kept_features;
use serde::Serialize;

use crate::{Error, Result, failed};

/// The variable that names this program's own cache.
const OWN: &str = "LIKEWISE_CACHE";

/// Where archives are unpacked.
pub(super) const UNPACKED: &str = "unpacked";
/// What the name of one begins with that is being unpacked, and how many letters and digits follow.
pub(super) const PART: &str = ".unpacking-";
pub(super) const DRAWN: usize = 12;
/// Digits of the digest that an unpacked archive is named by.
const DIGITS: usize = 64;

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
    /// What is kept now. Fails where there is no place to keep anything.
    pub fn find() -> Result<Self> {
        let nowhere = "nothing is kept: neither LIKEWISE_CACHE nor HOME names a folder";
        Self::of(cache_folder().ok_or_else(|| failed(nowhere))?)
    }

    fn of(folder: PathBuf) -> Result<Self> {
        let mut features = Kept::default();
        for file in features_in(&folder)? {
            features.add(&file)?;
        }
        let mut unpacked = Kept::default();
        for archive in unpacked_in(&folder)? {
            unpacked.add_all(&archive)?;
        }
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
        for archive in unpacked_in(&self.folder)? {
            std::fs::remove_dir_all(&archive).map_err(|e| of_path(&archive, &e))?;
        }
        // It stays where it holds something else.
        let _ = std::fs::remove_dir(self.folder.join(UNPACKED));
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
    let all = inside(folder)?.into_iter();
    Ok(all.filter(|path| is_kept_features(path)).collect())
}

/// The folders of unpacked archives, and those that a program was killed in while it unpacked.
fn unpacked_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let is_named = |name: &str| {
        let whole = name.len() == DIGITS && name.bytes().all(is_digit);
        let drawn = name.strip_prefix(PART);
        whole
            || drawn.is_some_and(|drawn| {
                drawn.len() == DRAWN && drawn.bytes().all(|b| b.is_ascii_alphanumeric())
            })
    };
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(is_named) && path.symlink_metadata().is_ok_and(|about| about.is_dir())
    };
    let all = inside(&folder.join(UNPACKED))?.into_iter();
    Ok(all.filter(is_ours).collect())
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
        let write = |name: &str, bytes: &[u8]| {
            let path = at.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        write("features-00000000000000ff.bin", b"likewise-cache 1, rows");
        write("features-0123456789abcdef.bin", b"likewise-cache 1");
        let archive = "0f".repeat(32);
        write(&format!("unpacked/{archive}/cat/x.png"), &[0; 7]);
        write("unpacked/.unpacking-abcDEF012345/y.png", &[0; 2]);
        let theirs = [
            "features-00.bin".to_owned(),
            "features-00000000000000fe.bin".to_owned(),
            "mine.txt".to_owned(),
            format!("unpacked/{}/z.png", "0F".repeat(32)),
            "unpacked/.unpacking-/z.png".to_owned(),
            format!("unpacked/more/{archive}/z.png"),
        ];
        for name in &theirs {
            write(name, &[0; 16]);
        }
        write("features-00.bin", b"likewise-cache 1");
        let cache = Cache::of(at.clone()).unwrap();
        assert_eq!((cache.features.files, cache.features.bytes), (2, 38));
        assert_eq!((cache.unpacked.files, cache.unpacked.bytes), (2, 9));
        cache.clear().unwrap();
        let cleared = Cache::of(at.clone()).unwrap();
        assert_eq!(cleared.features, Kept::default());
        assert_eq!(cleared.unpacked, Kept::default());
        for name in &theirs {
            assert!(at.join(name).is_file(), "{name}");
        }
        let none = Cache::of(at.join("none")).unwrap();
        assert_eq!(none.features, Kept::default());
        none.clear().unwrap();
    }

    #[test]
    fn a_cache_that_was_cleared_is_an_empty_folder() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join(UNPACKED).join("a0".repeat(32));
        std::fs::create_dir_all(archive).unwrap();
        let cache = Cache::of(folder.path().to_owned()).unwrap();
        cache.clear().unwrap();
        assert!(inside(folder.path()).unwrap().is_empty());
    }
}
