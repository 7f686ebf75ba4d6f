//! Flags of `likewise doctor`.

use std::num::NonZeroUsize;

use clap::Args;

use super::data::Data;
use super::dry_run::DryRun;

/// `likewise doctor`
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Neighbours for the look at isolated items. Default: 10.
    #[arg(short, value_name = "K")]
    pub(crate) k: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) only: DryRun,
    #[command(flatten)]
    pub(crate) data: Data,
}
