//! Flags of `likewise embed`.

use std::path::PathBuf;

use clap::Args;

use super::data::Data;
use super::dry_run::DryRun;

/// `likewise embed`
#[derive(Debug, Args)]
pub(crate) struct Embed {
    /// Folder of a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Where the embeddings go: .npy; or .parquet, with ids, labels and what is believed.
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) only: DryRun,
    #[command(flatten)]
    pub(crate) data: Data,
}
