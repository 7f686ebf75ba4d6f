//! Flags of `likewise features`.

use std::path::PathBuf;

use clap::Args;

use super::data::Data;

/// `likewise features`
#[derive(Debug, Args)]
pub(crate) struct Features {
    /// Where the features go: .npy; or .parquet, with ids and labels.
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) out: Option<PathBuf>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}
