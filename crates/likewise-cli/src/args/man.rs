//! Flags of `likewise man`.

use std::path::PathBuf;

use clap::Args;

/// `likewise man`
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Folder for the pages.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
}
