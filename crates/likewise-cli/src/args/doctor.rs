//! Flags of `likewise doctor`.

use std::num::NonZeroUsize;

use clap::Args;

use super::data::Data;

/// `likewise doctor`
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Neighbours for the look at isolated items. Default: 10.
    #[arg(short, value_name = "K")]
    pub(crate) k: Option<NonZeroUsize>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}
