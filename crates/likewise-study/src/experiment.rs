//! Experiments: a study of a paper as a TOML file, its results as JSON and Markdown.
//!
//! One engine runs two kinds of them: `transduction` measures pseudo-labels, `retrieval` recipes.

mod engine;
mod hold;
mod page;
pub mod request;
mod retrieval;
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
    if is_retrieval(&text) {
        engine::run::<retrieval::Experiment>(request, at)
    } else {
        engine::run::<transduction::Experiment>(request, at)
    }
}

/// Whether a file of an experiment is one on retrieval; what cannot be read is told by the other
/// kind.
fn is_retrieval(text: &str) -> bool {
    let table = text.parse::<toml::Table>();
    table.is_ok_and(|t| t.get("kind").and_then(toml::Value::as_str) == Some("retrieval"))
}
