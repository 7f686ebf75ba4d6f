//! Flags of `likewise reproduce`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

/// `likewise reproduce`
#[derive(Debug, Args)]
pub(crate) struct Reproduce {
    /// The experiment: a TOML file.
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiment: PathBuf,
    /// Folder of the results. Default: results/ and the name of the experiment.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Folder of the data. Also looked in: `$LIKEWISE_DATA`, the experiment's folder,
    /// and data/ beside it.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: Option<PathBuf>,
    /// Draws of the labels, instead of as many as the experiment says.
    #[arg(long, value_name = "N")]
    pub(crate) draws: Option<NonZeroUsize>,
    /// Only the data set or the group of this name; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
}
