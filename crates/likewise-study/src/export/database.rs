//! Writing to a database: which one, where the build has them.

use super::contents::Contents;
use super::report::Report;
use super::store::{Store, StoreKind, available, check_table};
use crate::Result;
use crate::environment::Environment;

/// Writes the contents into a table, goes on where an interrupted export stopped, and counts.
///
/// Fails where the server cannot be reached, where the table holds something else, and in a build
/// without the feature `export`.
pub fn write(
    kind: StoreKind,
    store: &Store,
    contents: &Contents,
    at: &Environment,
) -> Result<Report> {
    available()?;
    check_table(&store.table)?;
    written(kind, store, contents, at)
}

#[cfg(feature = "export")]
fn written(
    kind: StoreKind,
    store: &Store,
    contents: &Contents,
    at: &Environment,
) -> Result<Report> {
    match kind {
        StoreKind::Pgvector => super::pgvector::write(store, contents, at),
        StoreKind::Qdrant => super::qdrant::write(store, contents, at),
    }
}

#[cfg(not(feature = "export"))]
fn written(_: StoreKind, _: &Store, _: &Contents, _: &Environment) -> Result<Report> {
    Err(super::store::absent())
}
