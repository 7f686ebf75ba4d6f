//! Experiments: a study of a paper as a TOML file, its results as JSON and Markdown.
//!
//! One engine runs three kinds of them: `transduction` measures pseudo-labels, `retrieval` recipes, and
//! `across` learners that search from one view to another.

mod across;
mod draws;
mod engine;
mod hold;
mod page;
pub mod request;
mod results;
mod retrieval;
mod set;
mod store;
mod transduction;
mod written;

pub use self::engine::Answer;
pub use self::request::Request;
use crate::Result;
use crate::environment::Environment;

/// Computes the cells of an experiment that are not there yet, and writes results and page.
///
/// Interrupted, it goes on where it stopped. Fails on a broken file, on names that it does not
/// have, and where none of its data is here.
pub fn run(request: &Request, at: &Environment) -> Result<Answer> {
    let text = likewise_io::read_text(&request.experiment, crate::text::MOST)?;
    match kind(&text).as_deref() {
        Some("retrieval") => engine::run::<retrieval::Experiment>(request, at),
        Some("across") => engine::run::<across::Experiment>(request, at),
        _ => engine::run::<transduction::Experiment>(request, at),
    }
}

/// The kind that the file of an experiment names; what cannot be read is told by the kind that has no
/// name.
fn kind(text: &str) -> Option<String> {
    let table = text.parse::<toml::Table>().ok()?;
    Some(table.get("kind")?.as_str()?.to_owned())
}
