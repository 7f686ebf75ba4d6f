//! Flags of `likewise advise`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use likewise::advise::next::Strategy;

use super::dry_run::DryRun;

/// `likewise advise`
#[derive(Debug, Args)]
pub(crate) struct Advise {
    /// Folder of a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// Items to label next.
    #[arg(long, default_value_t = NonZeroUsize::new(50).expect("50 is not 0"), value_name = "N")]
    pub(crate) budget: NonZeroUsize,
    /// How they are chosen; `likewise explain advise` tells when to use which.
    #[arg(long, default_value = "auto", value_parser = strategies(), value_name = "NAME")]
    pub(crate) strategy: String,
    /// Share of the items that are taken for the same that must be, above 0 and below 1.
    #[arg(long, default_value_t = 0.95, value_name = "P")]
    pub(crate) precision: f64,
    /// Where what to label goes: .csv with `id` and an empty `label` to be filled in, for
    /// `fit RUN --add-labels`.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace FILE where it is there; what was filled in is lost.
    #[arg(long, requires = "out")]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) only: DryRun,
}

fn strategies() -> PossibleValuesParser {
    PossibleValuesParser::new(Strategy::ALL.map(Strategy::name))
}
