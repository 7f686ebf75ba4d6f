//! Flags of `likewise demo`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

/// `likewise demo`
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Folder to write the run into.
    #[arg(short, long, default_value = "likewise-demo", value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// Which of the six feature sets of the digits.
    #[arg(long, default_value = "fac", value_name = "NAME")]
    pub(crate) view: String,
    /// Labels a class.
    #[arg(long, default_value_t = NonZeroUsize::new(5).expect("5 is not 0"), value_name = "M")]
    pub(crate) labels_per_class: NonZeroUsize,
    /// Label draws.
    #[arg(long, default_value_t = NonZeroUsize::new(5).expect("5 is not 0"), value_name = "N")]
    pub(crate) draws: NonZeroUsize,
}
