//! Errors of the library as exceptions of Python, in the words of Python.

use likewise::error::Hint;
use likewise::{Error, ErrorKind};
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};

use crate::wording::{N_NEIGHBORS, in_python};

/// The exception of an error: `ValueError` of parameters and data, `MemoryError`,
/// `KeyboardInterrupt` of work that was stopped, and `RuntimeError` of what no input explains.
pub(crate) fn exception(e: &Error) -> PyErr {
    exception_in(e, N_NEIGHBORS)
}

/// The same, where `k` neighbours are called otherwise.
pub(crate) fn exception_in(e: &Error, k: &str) -> PyErr {
    let said = in_python(&e.to_string(), k);
    let message = match e.what_to_do().and_then(words) {
        Some(what) => format!("{said}; {what}"),
        None => said,
    };
    match e.kind() {
        ErrorKind::Memory => PyMemoryError::new_err(message),
        ErrorKind::Cancelled => PyKeyboardInterrupt::new_err(message),
        ErrorKind::Internal => PyRuntimeError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// What to do, by the keywords of the package.
fn words(hint: Hint) -> Option<&'static str> {
    Some(match hint {
        Hint::GiveLabels => "give some in y, with -1 where nothing is known",
        Hint::ChooseView => "give one matrix",
        Hint::GiveEncoder | Hint::NameEncoder => {
            "learn from images with the command `likewise fit`, or give features here"
        }
        Hint::SkipBadImages => "leave such images out",
        Hint::BuildVulkan => "build the package with the cargo feature vulkan to have it",
        Hint::BuildNetworks => "install the package with the cargo feature networks to have them",
        Hint::Fit => "Study(X, y).save(path) makes one",
        Hint::Overwrite | Hint::ResumeOrOverwrite | Hint::SameOrOverwrite | Hint::Unfinished => {
            "overwrite=True replaces it when the new one is complete, or name another folder"
        }
        Hint::OverwriteTable => {
            "overwrite=True drops it first and writes it anew, or name another table"
        }
        Hint::Index => "build it anew with Index(X).save(path)",
        Hint::ListNames => "likewise.names(\"topics\") lists all names",
        Hint::LimitMemory => "give fewer items or columns",
        _ => return None,
    })
}

/// The same error of a parameter that has another name in Python.
pub(crate) fn named(e: Error, inside: &str, outside: &str) -> Error {
    let message = e.to_string();
    let Some(rest) = message.strip_prefix(inside) else {
        return e;
    };
    if e.kind() != ErrorKind::Parameter || !rest.starts_with(" = ") {
        return e;
    }
    let said = Error::new(e.kind(), format!("{outside}{rest}"));
    match e.what_to_do() {
        Some(hint) => said.hint(hint),
        None => said,
    }
}

/// JSON that the Python side wrote, or that an answer cannot be written as.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
pub(crate) fn json(e: serde_json::Error) -> Error {
    Error::new(ErrorKind::Parameter, e.to_string())
}
