//! A table of a database, and what a build without databases says.

use likewise::error::Hint;
use likewise::index::Kind as IndexKind;

use crate::{Error, Result, usage};

/// A table of a database to write to.
#[derive(Clone)]
pub struct Store {
    /// Where the server is; may hold a password, and is never shown whole.
    pub url: String,
    /// A password of `PostgreSQL` that the address lacks, or the key of Qdrant.
    pub secret: Option<String>,
    /// The table, or collection.
    pub table: String,
    /// The index to build.
    pub index: IndexKind,
    /// Whether what an older export left in it may be dropped.
    pub overwrite: bool,
    /// Seed of the sample that recall is measured on.
    pub seed: u64,
}

/// The databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// `PostgreSQL` with pgvector.
    Pgvector,
    /// Qdrant, by its REST interface.
    Qdrant,
}

/// Fails in a build that cannot write to databases.
pub fn available() -> Result<()> {
    if cfg!(feature = "export") {
        return Ok(());
    }
    Err(absent())
}

pub(super) fn absent() -> Error {
    usage("this build cannot write to databases").hint(Hint::BuildExport)
}

/// Fails for a name of other signs than letters, digits and `_`.
pub(super) fn check_table(name: &str) -> Result<()> {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let part = |part: &str| {
        part.starts_with(letter)
            && part.chars().all(|c| letter(c) || c.is_ascii_digit())
            && part.len() <= 63
    };
    let parts: Vec<&str> = name.split('.').collect();
    if parts.len() <= 2 && parts.into_iter().all(part) {
        return Ok(());
    }
    Err(likewise::Error::parameter(
        "table",
        format!("{name:?}"),
        "must be a name of letters, digits and _, perhaps with its schema and a dot before it",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_plain_name() {
        for good in ["items", "_a1", "public.items", "A"] {
            check_table(good).unwrap();
        }
        let long = "a".repeat(64);
        for bad in [
            "",
            "a b",
            "1a",
            "a.b.c",
            "a\"; drop table x",
            "a.",
            "ä",
            &long,
        ] {
            let said = check_table(bad).unwrap_err().to_string();
            assert!(said.starts_with("table = "), "{said}");
        }
    }
}
