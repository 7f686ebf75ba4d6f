//! The one error type of this crate.

use std::fmt;

pub use likewise::ErrorKind;

/// An error with a kind and a message for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error of the given kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// A parameter outside its range: names the field, its value and the rule.
    pub fn parameter(field: &str, value: impl fmt::Display, rule: &str) -> Self {
        likewise::Error::parameter(field, value, rule).into()
    }

    /// Data or files that cannot be used as they are.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Data, message)
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
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
        Self::new(e.kind(), e.to_string())
    }
}
