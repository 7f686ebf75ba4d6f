//! What is asked of an experiment.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// What is asked of an experiment.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its file.
    pub experiment: PathBuf,
    /// Folder of the results; `None`: results/ and the name of the experiment.
    pub out: Option<PathBuf>,
    /// Folder of the data, before all others.
    pub data: Option<PathBuf>,
    /// Draws of the labels, instead of as many as the experiment says.
    pub draws: Option<NonZeroUsize>,
    /// Only the data sets or groups of these names; empty: all.
    pub only: Vec<String>,
}

impl Request {
    /// Where the results go.
    pub fn folder(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| {
            let name = self.experiment.file_stem().unwrap_or_default();
            Path::new("results").join(name)
        })
    }

    /// Where data are looked for; the first folder that has them wins: the one that was named,
    /// `$LIKEWISE_DATA`, that of the experiment, and data/ beside it.
    pub fn places(&self) -> Vec<PathBuf> {
        let own = self.experiment.parent().unwrap_or(Path::new(""));
        let variable = std::env::var_os("LIKEWISE_DATA").map(PathBuf::from);
        (self.data.clone().into_iter())
            .chain(variable)
            .chain([own.to_owned(), own.join("../data")])
            .collect()
    }
}
