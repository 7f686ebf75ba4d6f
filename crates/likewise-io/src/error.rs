//! The one error type of this crate.

use std::fmt;
use std::io;

use likewise::error::Hint;

/// What went wrong, coarse enough to choose an exit code or a retry by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such file or folder.
    NotFound,
    /// The operating system failed: no permission, disk full, a device went away ...
    Io,
    /// The bytes are not the format they claim to be, or end early, or contradict themselves.
    Format,
    /// The format is right, but a value cannot be used: NaN, a duplicate id, a bad label ...
    Value,
    /// What was asked for does not exist or is not supported, such as an unknown view.
    Parameter,
    /// The data need more memory than they were given.
    Memory,
    /// The caller asked to stop.
    Cancelled,
}

/// An error with a kind and a message for people: which file, where in it, what to do.
///
/// The type is opaque on purpose: messages may improve without breaking callers,
/// who decide by [`Error::kind`].
///
/// ```
/// let e = likewise_io::read_matrix("no/such.npy", None).unwrap_err();
/// assert_eq!(e.kind(), likewise_io::ErrorKind::NotFound);
/// assert!(e.to_string().starts_with("no/such.npy: "));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    /// What the numerics below said can be done about it.
    hint: Option<Hint>,
    /// Whether the message says where: the file, the row. Messages of this crate do, and those
    /// of the numerics once they are led by a place.
    placed: bool,
}

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error of the given kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            placed: true,
        }
    }

    pub(crate) fn format(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Format, message)
    }

    pub(crate) fn value(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Value, message)
    }

    pub(crate) fn parameter(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Parameter, message)
    }

    /// The same error, its message led by the place it happened in.
    #[must_use]
    pub fn within(mut self, place: impl fmt::Display) -> Self {
        if self.kind != ErrorKind::Cancelled {
            self.message = format!("{place}: {}", self.message);
            self.placed = true;
        }
        self
    }

    /// The same error, with more behind its message.
    #[must_use]
    pub(crate) fn with(mut self, more: &str) -> Self {
        self.message.push_str(more);
        self
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What can be done about it, where that is known.
    pub fn what_to_do(&self) -> Option<Hint> {
        self.hint
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<likewise::Error> for Error {
    fn from(e: likewise::Error) -> Self {
        let kind = match e.kind() {
            likewise::ErrorKind::Parameter => ErrorKind::Parameter,
            likewise::ErrorKind::Memory => ErrorKind::Memory,
            likewise::ErrorKind::Cancelled => ErrorKind::Cancelled,
            _ => ErrorKind::Value,
        };
        Self {
            hint: e.what_to_do(),
            placed: e.is_placed(),
            ..Self::new(kind, e.to_string())
        }
    }
}

impl From<Error> for likewise::Error {
    fn from(e: Error) -> Self {
        let kind = match e.kind() {
            ErrorKind::Parameter => likewise::ErrorKind::Parameter,
            ErrorKind::Memory => likewise::ErrorKind::Memory,
            ErrorKind::Cancelled => likewise::ErrorKind::Cancelled,
            ErrorKind::NotFound | ErrorKind::Io | ErrorKind::Format | ErrorKind::Value => {
                likewise::ErrorKind::Data
            }
        };
        let mut error = Self::new(kind, e.message);
        if let Some(hint) = e.hint {
            error = error.hint(hint);
        }
        if e.placed { error.placed() } else { error }
    }
}

/// What the system said, without the hidden name that a temporary file would have had.
fn said(e: &io::Error) -> String {
    let text = e.to_string();
    match (e.get_ref(), text.split_once(" at path \"")) {
        (Some(_), Some((said, _))) => said.to_owned(),
        _ => text,
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Self {
        let said = said(&e);
        match e.kind() {
            io::ErrorKind::NotFound => {
                Self::new(ErrorKind::NotFound, "no such file; check the path")
            }
            io::ErrorKind::UnexpectedEof => {
                Self::format("the file ends early; it is truncated, fetch or write it again")
            }
            // Decoders report broken streams with these two.
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => Self::format(format!(
                "the file is damaged ({e}); fetch or write it again"
            )),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::new(
                ErrorKind::Io,
                format!("{said}; make room, or write to another place"),
            ),
            io::ErrorKind::PermissionDenied => Self::new(
                ErrorKind::Io,
                format!(
                    "{said}; change the rights of the file and its folder (ls -ld shows them), or name \
                     another place"
                ),
            ),
            io::ErrorKind::ReadOnlyFilesystem => Self::new(
                ErrorKind::Io,
                format!("{said}; nothing can be written there, name another place"),
            ),
            io::ErrorKind::OutOfMemory => Self::new(ErrorKind::Memory, said),
            _ => Self::new(ErrorKind::Io, said),
        }
    }
}

impl From<zip::result::ZipError> for Error {
    fn from(e: zip::result::ZipError) -> Self {
        match e {
            zip::result::ZipError::Io(e) => e.into(),
            zip::result::ZipError::UnsupportedArchive(zip::result::ZipError::PASSWORD_REQUIRED) => {
                Self::format("the zip archive is encrypted; write it without a password")
            }
            zip::result::ZipError::UnsupportedArchive(_)
            | zip::result::ZipError::CompressionMethodNotSupported(_) => Self::format(format!(
                "{e}; write it with numpy.savez or numpy.savez_compressed"
            )),
            e => Self::format(format!("not a usable zip archive ({e})")),
        }
    }
}

impl From<parquet::errors::ParquetError> for Error {
    fn from(e: parquet::errors::ParquetError) -> Self {
        match e {
            // What reading or writing said, not what the file holds.
            parquet::errors::ParquetError::External(e) => match e.downcast::<io::Error>() {
                Ok(e) => (*e).into(),
                Err(e) => Self::format(format!("not a usable parquet file ({e})")),
            },
            e => Self::format(format!("not a usable parquet file ({e})")),
        }
    }
}

impl From<csv::Error> for Error {
    fn from(e: csv::Error) -> Self {
        match e.kind() {
            csv::ErrorKind::UnequalLengths {
                pos,
                expected_len,
                len,
            } => {
                let line = pos.as_ref().map_or(0, csv::Position::line);
                Self::format(format!(
                    "line {line} has {len} fields, but the first line has {expected_len}; \
                     every line must have the same columns"
                ))
            }
            _ => match e.into_kind() {
                csv::ErrorKind::Io(e) => e.into(),
                other => Self::format(format!("not a usable csv file ({other:?})")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_system_cannot_write_comes_with_advice() {
        let e = Error::from(io::Error::from(io::ErrorKind::ReadOnlyFilesystem));
        assert_eq!(e.kind(), ErrorKind::Io);
        assert!(e.to_string().contains("name another place"), "{e}");
        let none = tempfile::tempfile_in("no/such/folder").unwrap_err();
        assert!(!said(&none).contains("no/such"), "{none}");
    }

    #[test]
    fn a_hint_and_whether_the_message_says_where_are_kept_both_ways() {
        let below = likewise::Error::data("several views").hint(Hint::ChooseView);
        let own = Error::from(below.clone());
        assert_eq!(own.what_to_do(), Some(Hint::ChooseView));
        assert_eq!(likewise::Error::from(own.clone()), below);
        let placed = likewise::Error::from(own.within("a.npz").with("; two"));
        assert_eq!(placed.to_string(), "a.npz: several views; two");
        assert_eq!(placed.what_to_do(), Some(Hint::ChooseView));
        assert!(placed.is_placed());
        assert_eq!(likewise::Error::from(Error::from(placed.clone())), placed);
        // What this crate finds by itself says where, and has no hint.
        let own = likewise::Error::from(Error::value("row 3: not a number"));
        assert!(own.is_placed() && own.what_to_do().is_none());
    }

    #[test]
    fn what_the_rights_forbid_comes_with_advice() {
        let e = Error::from(io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(e.kind(), ErrorKind::Io);
        assert!(
            e.to_string()
                .contains("permission denied; change the rights")
        );
    }
}
