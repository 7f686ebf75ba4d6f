//! Files that are either complete or not there.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use crate::{Error, Result};

/// Writes a file through `fill`, atomically.
///
/// The bytes go to a temporary file in the same folder, are flushed and synced to the
/// device, and only then take the name `path`, replacing an older file. When `fill` or a
/// write fails, the temporary file is removed and an older file stays as it was. The
/// folder must exist. Not for appending, and not for pipes or devices.
///
/// ```
/// use std::io::Write;
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("note.txt");
/// likewise_io::atomic::write(&path, |file| Ok(file.write_all(b"done")?))?;
/// assert_eq!(std::fs::read(&path)?, b"done");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(
    path: impl AsRef<Path>,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    let path = path.as_ref();
    replace(path, fill).map_err(|e| e.within(path.display()))
}

fn replace(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    let name = path.file_name().ok_or_else(|| {
        Error::parameter("this is not the name of a file; give a file name to write to")
    })?;
    if path.is_dir() {
        return Err(Error::parameter(
            "this is a folder; give a file name to write to",
        ));
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    builder.prefix(&prefix).suffix(".part");
    // The default is readable by the owner alone; a result is an ordinary file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let temporary = builder.tempfile_in(folder).map_err(|e| {
        Error::from(e).within(format!("cannot write into folder {}", folder.display()))
    })?;
    let (file, place) = temporary.into_parts();
    let mut writer = BufWriter::with_capacity(1 << 17, file);
    fill(&mut writer)?;
    let file = writer
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    file.sync_all()?;
    place.persist(path).map_err(|e| e.error)?;
    // The new name itself must reach the device too; not every file system can be asked.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        write(&path, |f| Ok(f.write_all(b"old")?)).unwrap();
        let e = write(&path, |f| {
            f.write_all(&vec![0; 1 << 20])?;
            Err(Error::value("no"))
        })
        .unwrap_err();
        assert_eq!(e.to_string(), format!("{}: no", path.display()));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a.bin"]);
        write(&path, |f| Ok(f.write_all(b"new")?)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn bad_places_are_named() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write(folder.path(), |_| Ok(())).is_err());
        let e = write(folder.path().join("no/such.npy"), |_| Ok(())).unwrap_err();
        assert_eq!(e.kind(), crate::ErrorKind::NotFound);
        assert!(write("", |_| Ok(())).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_result_is_readable_like_any_other_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        std::fs::write(&plain, b"").unwrap();
        let path = folder.path().join("a");
        write(&path, |_| Ok(())).unwrap();
        let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
    }
}
