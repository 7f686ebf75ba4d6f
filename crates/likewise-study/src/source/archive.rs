//! Archives of images, unpacked into the cache, or for as long as they are read.

use std::path::{Component, Path, PathBuf};

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

/// How many times its own size an archive may take unpacked, beside [`ALWAYS`]. What it holds is not
/// packed; it grows where small files and folders take whole blocks of the disk.
const EXPANDS: u64 = 64;
const ALWAYS: u64 = 64 << 20;
/// Bytes of the disk that a file or a folder takes at least, on most systems.
const BLOCK: u64 = 4096;

fn unpack(archive: &Path, to: &Path) -> std::io::Result<()> {
    let file = std::fs::File::open(archive)?;
    let own = file.metadata()?.len();
    let most = own.saturating_mul(EXPANDS).saturating_add(ALWAYS);
    unpack_within(file, to, most)
}

/// Unpacks what takes no more than `most` bytes of the disk.
fn unpack_within(archive: std::fs::File, to: &Path, most: u64) -> std::io::Result<()> {
    let other = std::io::Error::other::<String>;
    let mut archive = tar::Archive::new(std::io::BufReader::new(archive));
    let mut folders = Vec::new();
    let mut left = most;
    let mut before = PathBuf::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        if entry.header().entry_type().is_gnu_sparse() {
            // A header of 512 bytes may ask for any number of zeros.
            return Err(other(format!(
                "\"{}\" is a sparse file, which may unpack to any size; pack the images as plain files",
                path.display()
            )));
        }
        let content = entry.size().div_ceil(BLOCK).saturating_mul(BLOCK);
        let taken = content.saturating_add(new_places(&before, &path) * BLOCK);
        left = left.checked_sub(taken).ok_or_else(|| {
            other(format!(
                "it unpacks to more than {most} bytes, far more than its own size (at \"{}\"); \
                 unpack it yourself and give the folder",
                path.display()
            ))
        })?;
        // As the library does: folders at the end, so that what they forbid is forbidden last.
        if entry.header().entry_type().is_dir() {
            folders.push(entry);
        } else {
            entry.unpack_in(to)?;
        }
        before = path;
    }
    folders.sort_by(|a, b| b.path_bytes().cmp(&a.path_bytes()));
    for mut folder in folders {
        folder.unpack_in(to)?;
    }
    Ok(())
}

/// How many files and folders a path may add to those of the one `before` it.
fn new_places(before: &Path, path: &Path) -> u64 {
    fn names(path: &Path) -> impl Iterator<Item = Component<'_>> {
        path.components()
            .filter(|part| matches!(part, Component::Normal(_)))
    }
    let shared = names(before).zip(names(path)).take_while(|(a, b)| a == b);
    (names(path).count() - shared.count()) as u64
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
    /// What is left of an archive that cannot be unpacked: why, and how many files are in the cache.
    fn refused(archive: &Path, cache: &Path) -> (String, usize) {
        let why = unpacked(archive, Some(cache)).unwrap_err().to_string();
        let kept = std::fs::read_dir(cache.join(UNPACKED)).unwrap();
        (why, kept.count())
    }

    #[test]
    fn an_archive_with_holes_is_refused_and_nothing_is_left_of_it() {
        let scene = tempfile::tempdir().unwrap();
        let path = scene.path().join("s.tar");
        let mut tar = tar::Builder::new(std::fs::File::create(&path).unwrap());
        let mut plain = tar::Header::new_gnu();
        plain.set_size(1);
        tar.append_data(&mut plain, "cat/a.png", &b"a"[..]).unwrap();
        let mut header = tar::Header::new_gnu();
        header.set_path("cat/hole.png").unwrap();
        header.set_entry_type(tar::EntryType::GNUSparse);
        header.set_size(0);
        let gnu = header.as_gnu_mut().unwrap();
        gnu.set_real_size(1 << 20);
        // One stretch of nothing, at the end: all before it are zeros.
        gnu.sparse[0].set_offset(1 << 20);
        gnu.sparse[0].set_length(0);
        header.set_cksum();
        tar.append(&header, &b""[..]).unwrap();
        tar.finish().unwrap();
        let (why, left) = refused(&path, &scene.path().join("cache"));
        assert!(
            why.contains("s.tar: \"cat/hole.png\" is a sparse file"),
            "{why}"
        );
        assert_eq!(left, 0);
    }

    #[test]
    fn an_archive_that_grows_without_measure_is_refused() {
        let scene = tempfile::tempdir().unwrap();
        let path = scene.path().join("deep.tar");
        let mut tar = tar::Builder::new(std::fs::File::create(&path).unwrap());
        for first in 0..20 {
            let mut header = tar::Header::new_gnu();
            header.set_size(0);
            let name = format!("{first}{}/a.png", "/d".repeat(40));
            tar.append_data(&mut header, name, &b""[..]).unwrap();
        }
        tar.finish().unwrap();
        let open = || std::fs::File::open(&path).unwrap();
        let to = scene.path().join("to");
        std::fs::create_dir(&to).unwrap();
        unpack_within(open(), &to, 20 * 42 * BLOCK).unwrap();
        let e = unpack_within(open(), &to, 20 * 42 * BLOCK - 1).unwrap_err();
        assert!(e.to_string().contains("at \"19/d/d"), "{e}");
        // A size that the archive does not have.
        let mut header = tar::Header::new_gnu();
        header.set_path("cat/large.png").unwrap();
        header.set_size(1 << 40);
        header.set_cksum();
        std::fs::write(&path, header.as_bytes()).unwrap();
        let (why, left) = refused(&path, &scene.path().join("cache"));
        assert!(why.contains("deep.tar: it unpacks to more than"), "{why}");
        assert_eq!(left, 0);
    }
}
