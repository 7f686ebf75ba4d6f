//! The table in the words of SQL.

use postgres::GenericClient;

use crate::export::contents::{Compared, Contents};
use crate::export::store::Store;

/// Where the table is, in the words of SQL.
pub(super) struct Table {
    /// Its name, in quotes.
    pub(super) name: String,
    /// The table that says how far exports are.
    pub(super) progress: String,
    /// The name under which it stands there.
    pub(super) key: String,
    /// `vector(64)`, or `bit(64)`.
    pub(super) column: String,
    /// What compares two vectors, and the class of operators of an index.
    pub(super) operator: &'static str,
    pub(super) class: &'static str,
}

impl Table {
    pub(super) fn of(store: &Store, contents: &Contents) -> Self {
        let (schema, table) = match store.table.split_once('.') {
            Some((schema, table)) => (format!("\"{schema}\"."), table),
            None => (String::new(), store.table.as_str()),
        };
        let (kind, operator, class) = match contents.compared {
            Compared::Cosine => ("vector", "<=>", "vector_cosine_ops"),
            Compared::Euclidean => ("vector", "<->", "vector_l2_ops"),
            Compared::InnerProduct => ("vector", "<#>", "vector_ip_ops"),
            Compared::Hamming => ("bit", "<~>", "bit_hamming_ops"),
        };
        Self {
            name: format!("{schema}\"{table}\""),
            progress: format!("{schema}\"likewise_exports\""),
            key: table.to_owned(),
            column: format!("{kind}({})", contents.vectors.dimensions()),
            operator,
            class,
        }
    }

    /// Rows that it holds.
    pub(super) fn count(&self, client: &mut impl GenericClient) -> Result<usize, postgres::Error> {
        let count = format!("SELECT count(*) FROM {}", self.name);
        let counted: i64 = client.query_one(&count, &[])?.get(0);
        Ok(usize::try_from(counted).unwrap_or_default())
    }
}
