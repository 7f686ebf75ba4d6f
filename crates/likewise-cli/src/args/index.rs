//! Flags of `likewise index`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use likewise::index;

/// Kinds of index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IndexName {
    /// Exact: compares with every item.
    Flat,
    /// Approximate, fast on large collections.
    Hnsw,
}

impl From<IndexName> for index::Kind {
    fn from(name: IndexName) -> Self {
        match name {
            IndexName::Flat => Self::Flat,
            IndexName::Hnsw => Self::Hnsw,
        }
    }
}

/// `likewise index`
#[derive(Debug, Args)]
pub(crate) struct Index {
    /// Folder of a run, or a file of embeddings: .npy, .parquet or another form of DATA.
    #[arg(value_name = "RUN|EMB")]
    pub(crate) source: PathBuf,
    /// Kind of index.
    #[arg(long, value_enum, default_value = "hnsw")]
    pub(crate) kind: IndexName,
    /// Where the index goes, with a copy of the embeddings and the ids, so that it can be searched
    /// by itself. Default: index/ in the run's folder.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Neighbours at which recall against exact search is measured. Default: 10, or all of
    /// fewer items.
    #[arg(short, value_name = "K")]
    pub(crate) k: Option<usize>,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
}
