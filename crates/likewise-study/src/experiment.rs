//! Experiments: a study of a paper as a TOML file, its results as JSON and Markdown.
//!
//! There are two kinds: [`transduction`] measures pseudo-labels, [`retrieval`] recipes.

mod cell;
mod data_record;
mod definition;
mod figure;
mod hold;
mod markdown;
mod method;
mod prepared;
pub mod request;
pub mod retrieval;
mod spread;
mod store;
mod summary;
pub mod transduction;

use serde::Serialize;

pub use self::request::Request;
use crate::Result;
use crate::environment::Environment;

/// What an experiment found.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// Of one on retrieval.
    Retrieval(retrieval::Answer),
    /// Of one on transduction.
    Transduction(transduction::Answer),
}

impl Answer {
    /// Cells that were computed now, all that there are, and sets that were left out.
    pub fn counts(&self) -> [usize; 3] {
        match self {
            Self::Retrieval(a) => a.counts(),
            Self::Transduction(a) => a.counts(),
        }
    }
}

/// Computes the cells of an experiment that are not there yet, and writes results and page.
///
/// Interrupted, it goes on where it stopped. Fails on a broken file, on names that it does not
/// have, and where none of its data is here.
pub fn run(request: &Request, at: &Environment) -> Result<Answer> {
    let text = likewise_io::read_text(&request.experiment, crate::text::MOST)?;
    if retrieval::is_kind(&text) {
        retrieval::run(request, at).map(Answer::Retrieval)
    } else {
        transduction::run(request, at).map(Answer::Transduction)
    }
}
