//! `--dry-run`, wherever work takes a while.

use clap::Args;

/// Whether work is only estimated.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct DryRun {
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
}
