//! Flags of `likewise completions`.

use clap::Args;

/// `likewise completions`
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}
