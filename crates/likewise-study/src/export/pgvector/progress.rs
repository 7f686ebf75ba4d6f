//! How far an export to a table is.

use likewise::error::Hint;
use postgres::Client;

use super::connection::in_words;
use super::copy::COLUMNS;
use super::table::Table;
use crate::export::contents::Contents;
use crate::export::store::Store;
use crate::{Result, failed, usage};

/// How many items the table holds already, of this run; it is made where it is not there.
pub(super) fn begin(
    client: &mut Client,
    table: &Table,
    store: &Store,
    contents: &Contents,
    place: &str,
) -> Result<usize> {
    let said = |e: postgres::Error| failed(format!("{place}: {}", in_words(&e)));
    let foreign = |what: String, hint: bool| {
        let message = format!("{place}: the table {} {what}", store.table);
        if hint {
            usage(message).hint(Hint::OverwriteTable)
        } else {
            usage(format!("{message}; name another table"))
        }
    };
    client
        .batch_execute(&format!(
            "CREATE TABLE IF NOT EXISTS {} (place text PRIMARY KEY, run text NOT NULL, \
             done bigint NOT NULL)",
            table.progress
        ))
        .map_err(said)?;
    let mut transaction = client.transaction().map_err(said)?;
    let column = "SELECT format_type(atttypid, atttypmod) FROM pg_attribute \
                  WHERE attrelid = to_regclass($1::text) AND attname = 'embedding'";
    let there = "SELECT to_regclass($1::text) IS NOT NULL";
    let there: bool = transaction
        .query_one(there, &[&table.name])
        .map_err(said)?
        .get(0);
    let column = transaction
        .query_opt(column, &[&table.name])
        .map_err(said)?;
    let column: Option<String> = column.map(|row| row.get(0));
    let known = format!("SELECT run, done FROM {} WHERE place = $1", table.progress);
    let known = transaction.query_opt(&known, &[&table.key]).map_err(said)?;
    let known: Option<(String, i64)> = known.map(|row| (row.get(0), row.get(1)));
    if let (true, None) = (there, &known) {
        return Err(foreign(
            "was not made by an export, and is left alone".into(),
            false,
        ));
    }
    let names = "SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute \
                 WHERE attrelid = to_regclass($1::text) AND attnum > 0 AND NOT attisdropped";
    let names: Option<Vec<String>> = transaction
        .query_one(names, &[&table.name])
        .map_err(said)?
        .get(0);
    if there && store.overwrite && names.is_none_or(|names| names != COLUMNS) {
        return Err(foreign(
            "has other columns than an export makes, and is left alone".into(),
            false,
        ));
    }
    if let (true, true, Some((run, done))) = (there, store.overwrite, &known) {
        // One that was begun goes on.
        let is_same = column.as_deref() == Some(&table.column) && *run == contents.mark;
        let counted = is_same.then(|| table.count(&mut transaction)).transpose();
        if counted.map_err(said)? == usize::try_from(*done).ok()
            && (*done as usize) < contents.items.len()
        {
            return Ok(*done as usize);
        }
    }
    if let (true, false, Some((run, done))) = (there, store.overwrite, &known) {
        if column.as_deref() != Some(&table.column) {
            let column = column.as_deref().unwrap_or("no vectors");
            return Err(foreign(
                format!("holds {column}, the run {}", table.column),
                true,
            ));
        }
        if *run != contents.mark {
            return Err(foreign(
                "holds another run, or an older state of it".into(),
                true,
            ));
        }
        drop(transaction);
        let counted = table.count(client).map_err(said)?;
        if counted as i64 != *done {
            let what = format!("holds {counted} rows where {done} were written");
            return Err(foreign(what, true));
        }
        return Ok(counted);
    }
    let make = format!(
        "DROP TABLE IF EXISTS {name}; CREATE TABLE {name} (id text PRIMARY KEY, label text, \
         pseudo_label text, confidence real, split text, embedding {column} NOT NULL)",
        name = table.name,
        column = table.column
    );
    transaction.batch_execute(&make).map_err(said)?;
    let note = format!(
        "INSERT INTO {} VALUES ($1, $2, 0) ON CONFLICT (place) DO UPDATE SET run = $2, done = 0",
        table.progress
    );
    transaction
        .execute(&note, &[&table.key, &contents.mark])
        .map_err(said)?;
    transaction.commit().map_err(said)?;
    Ok(0)
}
