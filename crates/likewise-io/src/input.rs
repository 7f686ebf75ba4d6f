//! Where bytes come from: a file, or memory.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::{Error, ErrorKind, Result};

/// What stands at a path and is no regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    Folder,
    Pipe,
    Socket,
    /// A device of characters: a terminal, `/dev/null`, `/dev/zero`.
    Device,
    /// A device of blocks.
    Disk,
    Other,
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Folder => "a folder",
            Self::Pipe => "a pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Disk => "a disk",
            Self::Other => "something else",
        })
    }
}

/// What this is, if it is no regular file.
pub(crate) fn special(metadata: &Metadata) -> Option<Special> {
    if metadata.is_file() {
        return None;
    }
    if metadata.is_dir() {
        return Some(Special::Folder);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        for (is, what) in [
            (kind.is_fifo(), Special::Pipe),
            (kind.is_socket(), Special::Socket),
            (kind.is_char_device(), Special::Device),
            (kind.is_block_device(), Special::Disk),
        ] {
            if is {
                return Some(what);
            }
        }
    }
    Some(Special::Other)
}

fn regular(path: &Path) -> Result<()> {
    match special(&std::fs::metadata(path)?) {
        None => Ok(()),
        Some(Special::Folder) => Err(Error::new(
            ErrorKind::Io,
            "a folder, not a regular file; name a file in it",
        )),
        Some(what) => Err(Error::new(
            ErrorKind::Io,
            format!("{what}, not a regular file; save what it gives and name that file"),
        )),
    }
}

/// Opens a regular file for reading; its length.
///
/// Pipes, sockets and devices, the standard input among them, are refused before they are
/// opened, so this never waits for a writer. Links are followed.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a");
/// std::fs::write(&path, "abc")?;
/// assert_eq!(likewise_io::open(&path)?.1, 3);
/// let refused = likewise_io::open(folder.path()).unwrap_err();
/// assert!(refused.to_string().contains("not a regular file"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(path: impl AsRef<Path>) -> Result<(File, u64)> {
    let path = path.as_ref();
    open_unnamed(path).map_err(|e| e.within(path.display()))
}

fn open_unnamed(path: &Path) -> Result<(File, u64)> {
    regular(path)?;
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Error::new(ErrorKind::Io, "it changed while it was opened"));
    }
    Ok((file, metadata.len()))
}

/// Reads a whole small file: a recipe, a configuration, a card.
///
/// Fails where it holds more than `limit` bytes, and for all but regular files, see [`open`].
pub fn read_file(path: impl AsRef<Path>, limit: u64) -> Result<Vec<u8>> {
    let path = path.as_ref();
    let read = || {
        let (file, length) = open_unnamed(path)?;
        let mut bytes = Vec::new();
        // Some files are longer than they say.
        if length <= limit {
            file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        }
        if length.max(bytes.len() as u64) > limit {
            return Err(Error::value(format!(
                "the file holds more than {limit} bytes, which is too much here; is it the right \
                 file?"
            )));
        }
        Ok(bytes)
    };
    read().map_err(|e| e.within(path.display()))
}

/// As [`read_file`], of text in UTF-8.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("recipe.toml");
/// std::fs::write(&path, "epochs = 3")?;
/// assert_eq!(likewise_io::read_text(&path, 1 << 20)?, "epochs = 3");
/// assert!(likewise_io::read_text(&path, 9).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_text(path: impl AsRef<Path>, limit: u64) -> Result<String> {
    let path = path.as_ref();
    String::from_utf8(read_file(path, limit)?).map_err(|_| {
        Error::format("not text in UTF-8; save the file as UTF-8").within(path.display())
    })
}

/// A seekable stream of bytes.
pub(crate) trait Stream: Read + Seek {}
impl<T: Read + Seek> Stream for T {}

/// One source of bytes of known length.
pub(crate) struct Input {
    body: Body,
    pub(crate) len: u64,
}

enum Body {
    File(File),
    Memory(Bytes),
}

impl Input {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let (file, len) = open_unnamed(path)?;
        Ok(Self {
            len,
            body: Body::File(file),
        })
    }

    pub(crate) fn memory(bytes: &[u8]) -> Self {
        Self {
            len: bytes.len() as u64,
            body: Body::Memory(Bytes::copy_from_slice(bytes)),
        }
    }

    pub(crate) fn stream(self) -> Box<dyn Stream> {
        self.buffered(1 << 16)
    }

    /// A stream that reads this many bytes at a time.
    pub(crate) fn buffered(self, bytes: usize) -> Box<dyn Stream> {
        match self.body {
            Body::File(file) => Box::new(BufReader::with_capacity(bytes, file)),
            Body::Memory(bytes) => Box::new(Cursor::new(bytes)),
        }
    }

    /// The file itself, if it is one.
    pub(crate) fn file(&self) -> Option<&File> {
        match &self.body {
            Body::File(file) => Some(file),
            Body::Memory(_) => None,
        }
    }

    /// A second handle on the same bytes. Handles on a file share their position: seek
    /// before reading, and do not take turns.
    pub(crate) fn again(&self) -> Result<Self> {
        let body = match &self.body {
            Body::File(file) => Body::File(file.try_clone()?),
            Body::Memory(bytes) => Body::Memory(bytes.clone()),
        };
        Ok(Self {
            body,
            len: self.len,
        })
    }

    pub(crate) fn parquet(self) -> Result<Box<dyn FileReader>> {
        Ok(match self.body {
            Body::File(file) => Box::new(SerializedFileReader::new(file)?),
            Body::Memory(bytes) => Box::new(SerializedFileReader::new(bytes)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_are_read_whole_and_others_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        std::fs::write(&path, [b'a', 0xff, b'b']).unwrap();
        assert_eq!(read_file(&path, 3).unwrap().len(), 3);
        let said = read_file(&path, 2).unwrap_err().to_string();
        assert!(said.contains("a.toml: the file holds more than 2 bytes"));
        let said = read_text(&path, 3).unwrap_err().to_string();
        assert!(said.contains("a.toml: not text in UTF-8"), "{said}");
        let none = folder.path().join("none");
        assert_eq!(read_file(&none, 3).unwrap_err().kind(), ErrorKind::NotFound);
        let said = read_file(folder.path(), 3).unwrap_err().to_string();
        assert!(said.contains("a folder"), "{said}");
    }

    /// A file of the system says that it has no length.
    #[test]
    fn a_length_of_zero_is_not_believed() {
        let path = Path::new("/proc/self/status");
        if path.exists() {
            assert!(read_file(path, 1 << 20).unwrap().len() > 100);
            assert!(read_file(path, 100).is_err());
        } else {
            println!("there are no files of the system here");
        }
    }
}
