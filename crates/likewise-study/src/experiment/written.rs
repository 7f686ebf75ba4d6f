//! What the files of both kinds of experiments say alike.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de};

use crate::{Error, Result, usage};

/// Where the printed numbers stand.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paper {
    /// Authors, venue and year.
    pub(super) source: String,
    /// The table or figure.
    pub(super) table: String,
}

/// What stands at the head of an experiment.
#[derive(Debug)]
pub(crate) struct Head {
    /// SHA-256 of its file.
    pub(super) sha256: String,
    pub(super) title: String,
    pub(super) paper: Option<Paper>,
    pub(super) protocol: String,
    pub(super) reading: String,
    pub(super) seed: u64,
}

/// The file of a data set. Without a name it would be the folder of data itself.
pub(super) fn file<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    let file = PathBuf::deserialize(from)?;
    if file.as_os_str().is_empty() {
        return Err(de::Error::custom(
            "file: must be the name of a file or a folder",
        ));
    }
    Ok(file)
}

/// What a file says, and the name of a place in it: the file and the line.
pub(super) fn written<W: serde::de::DeserializeOwned>(
    path: &Path,
) -> Result<(W, impl Fn(usize) -> String), Error> {
    let text = likewise_io::read_text(path, crate::text::MOST)?;
    let written = toml::from_str(&text).map_err(|e| {
        let wrong = crate::text::wrong_toml(&e, &text);
        usage(format!("{}: {wrong}", path.display()))
    })?;
    let at = move |start: usize| {
        let line = text.get(..start).map_or(0, |t| t.matches('\n').count()) + 1;
        format!("{}:{line}", path.display())
    };
    Ok((written, at))
}
