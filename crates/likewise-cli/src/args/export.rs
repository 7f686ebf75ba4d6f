//! Flags of `likewise export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::index::IndexName;

/// What a run is exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetName {
    /// A table of Postgres with pgvector.
    Pgvector,
    /// A collection of Qdrant.
    Qdrant,
    /// A table that lancedb takes in.
    Lancedb,
    /// A table that Milvus imports.
    Milvus,
    /// An index file of faiss, exact.
    Faiss,
    /// A table of vectors, labels and beliefs.
    Parquet,
    /// The model as ONNX: a network, or what embeds features.
    Onnx,
    /// A folder with the model and its card, as Hugging Face has it.
    Huggingface,
}

/// `likewise export`
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Folder of a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// What it is exported to.
    #[arg(long, value_enum, value_name = "TARGET")]
    pub(crate) to: TargetName,
    /// The file; a folder for huggingface.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Address of the database: postgres://USER@HOST:PORT/DATABASE, <http://HOST:6333>.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The table, or collection, of the database. Default: likewise.
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,
    /// Of a run across views, the one whose side is exported.
    #[arg(long, value_name = "NAME")]
    pub(crate) view: Option<String>,
    /// The index that pgvector builds; flat is none, and compares with every item. Default: hnsw.
    #[arg(long, value_enum)]
    pub(crate) index: Option<IndexName>,
    /// Drop what an older export left in the table or the folder.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Only print the estimated time and memory.
    #[arg(long)]
    pub(crate) dry_run: bool,
}
