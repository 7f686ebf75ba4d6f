//! A run for other programs: tables, indexes, models, and databases that serve it.
//!
//! | target | what is written |
//! |---|---|
//! | [`parquet`](files::table), `milvus`, `lancedb` | a table of ids, vectors, labels and beliefs |
//! | [`faiss`](files::faiss) | an index file |
//! | [`onnx`](files::onnx) | the model |
//! | [`huggingface`](huggingface::write) | a folder with the model and its card |
//! | `pgvector`, `qdrant` | a table of a database (feature `export`) |
//!
//! Files appear whole or not at all. An export to a database that was interrupted goes on where it
//! stopped, and no item comes twice. What arrived is counted in the end.

mod columns;
mod contents;
mod database;
pub mod files;
mod folder;
pub mod huggingface;
mod milvus;
#[cfg(feature = "export")]
mod pgvector;
#[cfg(feature = "export")]
mod qdrant;
#[cfg(feature = "export")]
mod recall;
mod report;
mod request;
mod store;
mod views;

pub use contents::{Compared, Contents, Vectors, estimate};
pub use database::write;
pub use report::{Recall, Report};
pub use request::{Request, Target};
pub use store::{Store, StoreKind, available};
