//! Where bytes come from: a file, or memory.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::{Error, ErrorKind, Result};

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
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(Error::new(
                ErrorKind::Io,
                "not a regular file; folders and pipes cannot be read here",
            ));
        }
        Ok(Self {
            len: metadata.len(),
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
