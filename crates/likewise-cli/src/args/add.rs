//! Flags of `likewise add`.

use std::path::PathBuf;

use clap::Args;

use super::data::Data;
use super::dry_run::DryRun;

/// `likewise add`
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// Folder of a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// What stands before each id of the new items, where the data number them, as .npy does.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prefix: Option<String>,
    #[command(flatten)]
    pub(crate) only: DryRun,
    #[command(flatten)]
    pub(crate) data: Data,
}
