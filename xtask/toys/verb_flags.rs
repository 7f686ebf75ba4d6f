//! Flags of `likewise toy-verb`.

use clap::Args;

/// `likewise toy-verb`
#[derive(Debug, Args)]
pub(crate) struct ToyVerb {
    /// What is printed.
    pub(crate) word: String,
}
