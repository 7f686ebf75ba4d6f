//! A table of `PostgreSQL` with pgvector.
//!
//! Items go in blocks, each in a transaction that also says how far the export is, in a table
//! `likewise_exports` beside. So what a killed export had written is known to the item, and the next
//! one goes on behind it.

mod connection;
mod copy;
mod progress;
mod recall;
mod table;

use likewise::error::Hint;
use likewise::index::Kind as IndexKind;
use postgres::Client;

use self::connection::{connect, in_words};
use self::table::Table;
use super::contents::{Compared, Contents, Vectors};
use super::report::{Report, lines};
use super::store::Store;
use crate::environment::Environment;
use crate::{Result, failed, usage};

/// Most numbers of a vector that the server holds, and that its index takes.
const MOST: usize = 16_000;
const MOST_INDEXED: usize = 2000;

/// What asks a table of bits, of a row of the ONNX file of the view that asks.
const BITS: &str = "\n-- $1, in Python: \"\".join(map(str, (embedding[0] >= 0).astype(int)))";

/// Writes the contents, builds the index, and counts.
pub(super) fn write(store: &Store, contents: &Contents, at: &Environment) -> Result<Report> {
    check(store, contents)?;
    let table = Table::of(store, contents);
    let (mut client, place) = connect(store)?;
    let said = |e: postgres::Error| failed(format!("{place}: {}", in_words(&e)));
    check_extension(&mut client, contents, &place)?;
    let done = progress::begin(&mut client, &table, store, contents, &place)?;
    let n = contents.items.len();
    let written = copy::items(&mut client, &table, contents, done, at.monitor)
        .map_err(|e| e.into_error(&place))?;
    at.monitor.start("index", None);
    match store.index {
        IndexKind::Hnsw => build_index(&mut client, &table),
        IndexKind::Flat => drop_index(&mut client, &table),
    }
    .map_err(said)?;
    let analyze = format!("ANALYZE {}", table.name);
    client.batch_execute(&analyze).map_err(said)?;
    at.monitor.end();
    let counted = table.count(&mut client).map_err(said)?;
    if counted != n {
        return Err(failed(format!(
            "{place}: the table {} holds {counted} rows where {n} were written; something else wrote to \
             it",
            store.table
        ))
        .hint(Hint::OverwriteTable));
    }
    let recall = recall::measure(&mut client, &table, contents, store.seed, at.monitor)
        .map_err(|e| e.into_error(&place))?;
    Ok(Report {
        target: "pgvector",
        to: format!("{place}, table {}", store.table),
        items: Some(n),
        written: Some(written),
        counted: Some(counted),
        dimensions: contents.vectors.dimensions(),
        compared: contents.compared.name(),
        recall: Some(recall),
        usage: lines(&format!(
            "SELECT id, label FROM {} ORDER BY embedding {} $1 LIMIT 10{}",
            table.name,
            table.operator,
            if contents.compared == Compared::Hamming {
                BITS
            } else {
                ""
            }
        )),
    })
}

/// Fails for what the server could not hold.
fn check(store: &Store, contents: &Contents) -> Result<()> {
    if let Vectors::Rows(rows) = &contents.vectors {
        let d = rows.ncols();
        if d > MOST {
            return Err(failed(format!(
                "vectors of {d} numbers, and pgvector holds at most {MOST}"
            )));
        }
        if d > MOST_INDEXED && store.index == IndexKind::Hnsw {
            return Err(usage(format!(
                "vectors of {d} numbers, and an index of pgvector takes at most {MOST_INDEXED}; export \
                 without one: `index flat`"
            )));
        }
    }
    for (row, item) in contents.items.iter().enumerate() {
        let texts = [
            Some(&item.id),
            item.label.as_ref(),
            item.pseudo_label.as_ref(),
        ];
        if texts.into_iter().flatten().any(|text| text.contains('\0')) {
            return Err(failed(format!(
                "item {row} of the run has an id or a class with a zero byte, which no text of \
                 PostgreSQL holds; rename it"
            )));
        }
    }
    Ok(())
}

fn check_extension(client: &mut Client, contents: &Contents, place: &str) -> Result<()> {
    // An export that was killed far away may hold its rows until the server knows.
    let made = client.batch_execute(
        "SET client_min_messages = warning; SET lock_timeout = '60s'; \
         CREATE EXTENSION IF NOT EXISTS vector",
    );
    made.map_err(|e| {
        failed(format!(
            "{place}: {}; install pgvector on the server, and let a superuser create the extension \
             vector",
            in_words(&e)
        ))
    })?;
    if contents.compared != Compared::Hamming {
        return Ok(());
    }
    let version = "SELECT extversion FROM pg_extension WHERE extname = 'vector'";
    let said = |e: postgres::Error| failed(format!("{place}: {}", in_words(&e)));
    let version: String = client.query_one(version, &[]).map_err(said)?.get(0);
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
    let (major, minor): (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if (major, minor) < (0, 7) {
        return Err(failed(format!(
            "{place}: its pgvector is {version}, and compares bits from 0.7 on; update it"
        )));
    }
    Ok(())
}

/// Builds the index where the vectors have none.
fn build_index(client: &mut Client, table: &Table) -> std::result::Result<(), postgres::Error> {
    let there = "SELECT count(*) FROM pg_index i JOIN pg_attribute a \
                 ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) \
                 WHERE i.indrelid = to_regclass($1::text) AND a.attname = 'embedding'";
    let there: i64 = client.query_one(there, &[&table.name])?.get(0);
    if there > 0 {
        return Ok(());
    }
    client.batch_execute(&format!(
        "CREATE INDEX ON {} USING hnsw (embedding {})",
        table.name, table.class
    ))
}

/// Removes the index that an export made before, by which the server would not compare with all.
fn drop_index(client: &mut Client, table: &Table) -> std::result::Result<(), postgres::Error> {
    let there = "SELECT i.indexrelid::regclass::text FROM pg_index i \
                 JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam \
                 WHERE i.indrelid = to_regclass($1::text) AND m.amname = 'hnsw' \
                 AND c.relname LIKE '%\\_embedding\\_idx'";
    for row in client.query(there, &[&table.name])? {
        let name: String = row.get(0);
        client.batch_execute(&format!("DROP INDEX {name}"))?;
    }
    Ok(())
}
