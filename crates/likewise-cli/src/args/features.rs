//! Flags of `likewise features`.

use std::path::PathBuf;

use clap::Args;

use super::data::Data;
use super::dry_run::DryRun;

/// `likewise features`
#[derive(Debug, Args)]
pub(crate) struct Features {
    /// Where the features go: .npy; or .parquet, with ids and labels.
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) only: DryRun,
    #[command(flatten)]
    pub(crate) data: Data,
}
