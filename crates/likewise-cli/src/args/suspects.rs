//! Flags of `likewise suspects`.

use std::path::PathBuf;

use clap::Args;

use super::dry_run::DryRun;

/// `likewise suspects`
#[derive(Debug, Args)]
pub(crate) struct Suspects {
    /// Folder of a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Where they go: .csv, or .html as a page, with pictures where the data of the run are images.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) only: DryRun,
}
