//! Flags of `likewise describe`.

use std::path::PathBuf;

use clap::Args;

use super::data::Data;
use super::dry_run::DryRun;

/// `likewise describe`
#[derive(Debug, Args)]
pub(crate) struct Describe {
    /// Descriptors, with commas between: hist, glcm, lbp, gist, phog; sift, dsift, surf, gb as
    /// visual words; net:FILE for a network. `likewise explain hist` tells of one.
    #[arg(long, value_name = "LIST")]
    pub(crate) with: String,
    /// Where the features go: .npz, with ids, labels and split.
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) only: DryRun,
    #[command(flatten)]
    pub(crate) data: Data,
}
