//! Flags of `likewise search`.

use std::path::PathBuf;

use clap::Args;

use super::data::Images;
use super::dry_run::DryRun;
use super::table::Table;

/// `likewise search`
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("asked").required(true))]
pub(crate) struct Search {
    /// Folder of a run, or of an index that `likewise index EMB -o INDEX` made.
    #[arg(value_name = "RUN|INDEX")]
    pub(crate) run: PathBuf,
    /// Search for each item of this data (same view as the run was fitted on; for an index,
    /// embeddings by the same model).
    #[arg(long, value_name = "DATA", group = "asked")]
    pub(crate) query: Option<PathBuf>,
    /// Search for the item of the run with this id (it is left out of the answer).
    #[arg(long, value_name = "ID", group = "asked")]
    pub(crate) id: Vec<String>,
    /// The feature matrix of --query to use; given again, these side by side. Default: the run's.
    #[arg(long, value_name = "NAME")]
    pub(crate) view: Vec<String>,
    /// In a run across views: search for this text, in a view of texts.
    #[arg(long, value_name = "TEXT", group = "asked")]
    pub(crate) query_text: Option<String>,
    /// In a run across views: the view that the query is of. A file of --query may hold that view
    /// alone.
    #[arg(long, value_name = "VIEW")]
    pub(crate) from: Option<String>,
    /// In a run across views: the view that is searched. Of two, the other one.
    #[arg(long, value_name = "VIEW")]
    pub(crate) to: Option<String>,
    /// In a run across views that has codes: compare the numbers behind the bits of what asks with them, so that
    /// fewer items are equally near.
    #[arg(long)]
    pub(crate) asymmetric: bool,
    /// Answers a query.
    #[arg(short, default_value_t = 10, value_name = "K")]
    pub(crate) k: usize,
    /// Compare with every item instead of using the index.
    #[arg(long)]
    pub(crate) exact: bool,
    #[command(flatten)]
    pub(crate) only: DryRun,
    #[command(flatten)]
    pub(crate) table: Table,
    #[command(flatten)]
    pub(crate) images: Images,
}
