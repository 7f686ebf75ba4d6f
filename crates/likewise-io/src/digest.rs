//! Fingerprints of data files, for the record of a run.

use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::input::Input;
use crate::{Error, Result};

/// The SHA-256 of a file, as 64 hexadecimal digits; for a folder, of all that is in it.
///
/// A file's digest is that of `sha256sum`. A folder's is the SHA-256 over the lines
/// `<digest> <relative path>` of all files below it, sorted by path, with `/` between
/// folders; links to folders are not followed, and pipes and devices are passed over.
/// Streams, 64 KiB at a time.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("a"), "abc")?;
/// let digest = likewise_io::digest(folder.path().join("a"))?;
/// assert!(digest.starts_with("ba7816bf8f01cfea"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn digest(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    let digest = if path.is_dir() {
        of_folder(path)
    } else {
        of_file(path)
    };
    digest.map_err(|e| e.within(path.display()))
}

/// The SHA-256 of bytes in memory, one part after the other, as 64 hexadecimal digits.
///
/// ```
/// let digest = likewise_io::digest_parts([&b"a"[..], b"bc"]);
/// assert!(digest.starts_with("ba7816bf8f01cfea"));
/// ```
pub fn digest_parts(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_ref());
    }
    hex(&hash.finalize())
}

fn of_file(path: &Path) -> Result<String> {
    let mut file = Input::open(path)?.stream();
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            n => hash.update(&buffer[..n]),
        }
    }
}

fn of_folder(folder: &Path) -> Result<String> {
    let mut files = Vec::new();
    collect(folder, &[], &mut files)?;
    files.sort();
    let mut hash = Sha256::new();
    for (name, path) in files {
        let file = of_file(&path).map_err(|e| e.within(String::from_utf8_lossy(&name)))?;
        hash.update(file);
        hash.update(b" ");
        hash.update(&name);
        hash.update(b"\n");
    }
    Ok(hex(&hash.finalize()))
}

fn collect(folder: &Path, prefix: &[u8], files: &mut Vec<(Vec<u8>, PathBuf)>) -> Result<()> {
    let within = |e: std::io::Error| Error::from(e).within(String::from_utf8_lossy(prefix));
    for entry in std::fs::read_dir(folder).map_err(within)? {
        let entry = entry.map_err(within)?;
        // A name that is no text has bytes all the same.
        let name = [prefix, entry.file_name().as_encoded_bytes()].concat();
        if entry.file_type().map_err(within)?.is_dir() {
            collect(&entry.path(), &[&name[..], b"/"].concat(), files)?;
        } else if entry.path().is_file() {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_depends_on_names_and_contents_alone() {
        let make = |names: &[(&str, &str)]| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join("sub")).unwrap();
            for (name, text) in names {
                std::fs::write(folder.path().join(name), text).unwrap();
            }
            digest(folder.path()).unwrap()
        };
        let a = make(&[("x", "1"), ("sub/y", "2")]);
        assert_eq!(a, make(&[("sub/y", "2"), ("x", "1")]));
        assert_ne!(a, make(&[("x", "2"), ("sub/y", "1")]));
        assert_ne!(a, make(&[("sub/x", "1"), ("sub/y", "2")]));
        assert_eq!(a.len(), 64);
        assert!(digest("no/such").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_name_that_is_no_text_counts_as_well() {
        use std::os::unix::ffi::OsStrExt;
        let of = |name: &[u8]| {
            let folder = tempfile::tempdir().unwrap();
            let name = std::ffi::OsStr::from_bytes(name);
            std::fs::write(folder.path().join(name), "1").unwrap();
            digest(folder.path()).unwrap()
        };
        assert_ne!(of(b"\xff"), of(b"\xfe"));
    }
}
