//! The one error type of this crate.

use std::fmt;

/// What went wrong, coarse enough to choose an exit code or a retry by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A parameter is outside its range, or two parameters exclude each other.
    Parameter,
    /// The data cannot be used as they are: NaN, wrong dimension, no labels ...
    Data,
    /// The work would need more memory than it was given.
    Memory,
    /// The caller asked to stop.
    Cancelled,
    /// A library below failed in a way that the input does not explain.
    Internal,
}

/// An error with a kind and a message for people: what, where, and what to do.
///
/// The type is opaque on purpose: messages may improve without breaking callers,
/// who decide by [`Error::kind`].
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
    ///
    /// ```
    /// let e = likewise::Error::parameter("k", 0, "must be at least 1");
    /// assert_eq!(e.to_string(), "k = 0: must be at least 1");
    /// ```
    pub fn parameter(field: &str, value: impl fmt::Display, rule: &str) -> Self {
        Self::new(ErrorKind::Parameter, format!("{field} = {value}: {rule}"))
    }

    /// Data that cannot be used as they are.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Data, message)
    }

    /// The answer to a cancelled [`Monitor`](crate::Monitor).
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "interrupted")
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
