//! Flags of `likewise index`.

use std::path::PathBuf;

use clap::Args;
use likewise::index::Kind;

use super::dry_run::DryRun;
use super::named::{Named, named};

/// Kinds of index.
pub(super) const KINDS: [Named<Kind>; 2] = [
    ("flat", "Exact: compares with every item", Kind::Flat),
    ("hnsw", "Approximate, fast on large collections", Kind::Hnsw),
];

/// `likewise index`
#[derive(Debug, Args)]
pub(crate) struct Index {
    /// Folder of a run, or a file of embeddings: .npy, .parquet or another form of DATA.
    #[arg(value_name = "RUN|EMB")]
    pub(crate) source: PathBuf,
    /// Kind of index.
    #[arg(long, value_parser = named(&KINDS), default_value = "hnsw")]
    pub(crate) kind: Kind,
    /// Where the index goes, with a copy of the embeddings and the ids, so that it can be searched
    /// by itself. Default: index/ in the run's folder.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Neighbours at which recall against exact search is measured. Default: 10, or all of
    /// fewer items.
    #[arg(short, value_name = "K")]
    pub(crate) k: Option<usize>,
    #[command(flatten)]
    pub(crate) only: DryRun,
}
