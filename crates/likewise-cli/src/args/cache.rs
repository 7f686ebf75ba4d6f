//! Flags of `likewise cache`.

use clap::Args;

/// `likewise cache`
#[derive(Debug, Args)]
pub(crate) struct Cache {
    /// Remove it: features and unpacked archives are made again when they are needed.
    #[arg(long)]
    pub(crate) clear: bool,
}
