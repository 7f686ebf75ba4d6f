//! Failures of the program: one message, one exit code.

use std::process::ExitCode;

use crate::plain;

/// What ends the program early.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// The work failed (exit code 1).
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self {
            code: 1,
            message: message.into(),
        }
    }

    /// The command is wrong (exit code 2).
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            code: 2,
            message: message.into(),
        }
    }

    /// The result is not good enough (exit code 3).
    pub(crate) fn gate(message: impl Into<String>) -> Self {
        Self {
            code: 3,
            message: message.into(),
        }
    }

    /// The same failure, said of a part of the work.
    pub(crate) fn within(mut self, part: &str) -> Self {
        self.message = format!("{part}: {}", self.message);
        self
    }

    /// The same failure, and what can be done about it.
    pub(crate) fn then(mut self, how: &str) -> Self {
        self.message = format!("{}; {how}", self.message);
        self
    }

    /// Prints the message and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("error: {}", plain::message(&self.message));
        ExitCode::from(self.code)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

fn of_kind(kind: likewise::ErrorKind, message: String) -> Failure {
    match kind {
        likewise::ErrorKind::Parameter => Failure::usage(message),
        _ => Failure::failed(message),
    }
}

impl From<likewise::Error> for Failure {
    fn from(e: likewise::Error) -> Self {
        of_kind(e.kind(), e.to_string())
    }
}

impl From<likewise_nn::Error> for Failure {
    fn from(e: likewise_nn::Error) -> Self {
        of_kind(e.kind(), e.to_string())
    }
}

impl From<likewise_io::Error> for Failure {
    fn from(e: likewise_io::Error) -> Self {
        match e.kind() {
            likewise_io::ErrorKind::Parameter => Self::usage(e.to_string()),
            _ => Self::failed(e.to_string()),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Self {
        Self::failed(e.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(e: serde_json::Error) -> Self {
        Self::failed(format!("cannot write JSON: {e}"))
    }
}
