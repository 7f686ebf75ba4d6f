//! Flags of `likewise explain`.

use clap::Args;

/// `likewise explain`
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Name of a method; without it, all names.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}
