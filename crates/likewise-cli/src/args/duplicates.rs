//! Flags of `likewise duplicates`.

use std::path::PathBuf;

use clap::Args;

use super::data::Data;
use super::dry_run::DryRun;

/// `likewise duplicates`
#[derive(Debug, Args)]
pub(crate) struct Duplicates {
    /// Cosine from which two items are nearly the same; 1 finds little but copies.
    #[arg(long, default_value_t = likewise_study::duplicates::THRESHOLD, value_name = "S")]
    pub(crate) threshold: f32,
    /// Where the groups go: .csv, or .html as a page, with pictures where the data are images.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) only: DryRun,
    #[command(flatten)]
    pub(crate) data: Data,
}
