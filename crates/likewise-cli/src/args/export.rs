//! Flags of `likewise export`.

use std::path::PathBuf;

use clap::Args;
use likewise::index::Kind;
use likewise_study::export::files::Table;
use likewise_study::export::{StoreKind, Target};

use super::dry_run::DryRun;
use super::index::KINDS;
use super::named::{Named, named};

const TARGETS: [Named<Target>; 8] = [
    (
        "pgvector",
        "A table of Postgres with pgvector",
        Target::Store(StoreKind::Pgvector),
    ),
    (
        "qdrant",
        "A collection of Qdrant",
        Target::Store(StoreKind::Qdrant),
    ),
    (
        "lancedb",
        "A table that lancedb takes in",
        Target::Table(Table::Lancedb),
    ),
    (
        "milvus",
        "A table that Milvus imports",
        Target::Table(Table::Milvus),
    ),
    ("faiss", "An index file of faiss, exact", Target::Faiss),
    (
        "parquet",
        "A table of vectors, labels and beliefs",
        Target::Table(Table::Parquet),
    ),
    (
        "onnx",
        "The model as ONNX: a network, or what embeds features",
        Target::Onnx,
    ),
    (
        "huggingface",
        "A folder with the model and its card, as Hugging Face has it",
        Target::Huggingface,
    ),
];

/// `likewise export`
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Folder of a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// What it is exported to.
    #[arg(long, value_parser = named(&TARGETS), value_name = "TARGET")]
    pub(crate) to: Target,
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
    #[arg(long, value_parser = named(&KINDS))]
    pub(crate) index: Option<Kind>,
    /// Drop what an older export left in the table or the folder.
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) only: DryRun,
}
