//! Flags of `likewise compare`.

use std::path::PathBuf;

use clap::Args;

use super::dry_run::DryRun;

/// `likewise compare`
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Folder of a run.
    #[arg(value_name = "RUN1")]
    pub(crate) first: PathBuf,
    /// Folder of another, on the same items and with the same split.
    #[arg(value_name = "RUN2")]
    pub(crate) second: PathBuf,
    /// Where a page with the queries that changed most goes: .html, with pictures where the data of
    /// the runs are images.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) only: DryRun,
}
