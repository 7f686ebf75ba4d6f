//! The table of items of a run: `items.parquet`.

use std::path::Path;

use likewise::Part;

use crate::budget::Budget;
use crate::input::Input;
use crate::number::reserve;
use crate::parquet::{self, Column, Table};
use crate::{Error, Result, atomic};

/// One item of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ItemRow {
    /// The id of the item.
    pub id: String,
    /// Name of the class, where it is known.
    pub label: Option<String>,
    /// The part of the split it belongs to.
    pub split: Option<Part>,
    /// Name of the class that propagation gave it.
    pub pseudo_label: Option<String>,
    /// Confidence in the pseudo-label, 0 to 1.
    pub confidence: Option<f32>,
    /// The draws that its label was shown in, ascending, where labels were hidden: `0 2 3`.
    pub drawn: Option<String>,
    /// Of a run across views, the numbers of those that it has, ascending: `0 1`; absent where all
    /// items have all views.
    pub views: Option<String>,
}

/// Writes the items as a Parquet table, atomically. Equal items give equal bytes.
///
/// Columns `id`, `label`, `split`, `pseudo_label` (text) and `confidence` (f32), null where
/// unknown; compressed with zstd. Columns `drawn` and `views` (text) where an item has one. Costs O(n) and one copy of the columns.
///
/// ```
/// use likewise_io::items::{self, ItemRow};
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("items.parquet");
/// let rows = [ItemRow { id: "a".into(), label: Some("cat".into()), ..ItemRow::default() }];
/// items::write(&path, &rows)?;
/// assert_eq!(items::read(&path)?, rows);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(path: impl AsRef<Path>, rows: &[ItemRow]) -> Result<()> {
    let text =
        |value: fn(&ItemRow) -> Option<String>| Column::Text(rows.iter().map(value).collect());
    let columns = [
        ("id", text(|r| Some(r.id.clone()))),
        ("label", text(|r| r.label.clone())),
        ("split", text(|r| r.split.map(|p| p.name().to_owned()))),
        ("pseudo_label", text(|r| r.pseudo_label.clone())),
        (
            "confidence",
            Column::Float(rows.iter().map(|r| r.confidence).collect()),
        ),
    ];
    let mut columns = Vec::from(columns.map(|(name, column)| (name.to_owned(), column)));
    if rows.iter().any(|row| row.drawn.is_some()) {
        columns.push(("drawn".into(), text(|r| r.drawn.clone())));
    }
    if rows.iter().any(|row| row.views.is_some()) {
        columns.push(("views".into(), text(|r| r.views.clone())));
    }
    atomic::write(path, |file| parquet::write(file, &columns))
}

/// Reads a table of items; all columns but `id` may be missing.
///
/// Fails on null ids, on words that are no part of a split, and on a damaged file.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<ItemRow>> {
    let path = path.as_ref();
    let rows = || from(Input::open(path)?);
    rows().map_err(|e: Error| e.within(path.display()))
}

/// Reads items from bytes in memory; as [`read`], but messages do not name a file.
pub fn read_bytes(bytes: &[u8]) -> Result<Vec<ItemRow>> {
    from(Input::memory(bytes))
}

fn from(input: Input) -> Result<Vec<ItemRow>> {
    let mut budget = Budget::new(None);
    let table = Table::open(input, &budget)?;
    let ids = table.words("id", &mut budget)?;
    budget.values(ids.len(), size_of::<ItemRow>() as u64)?;
    let mut rows = Vec::new();
    reserve(&mut rows, ids.len())?;
    for (row, id) in ids.into_iter().enumerate() {
        let id = id.ok_or_else(|| Error::value(format!("row {row}, column \"id\" is null")))?;
        rows.push(ItemRow {
            id,
            ..ItemRow::default()
        });
    }
    let mut words = |name| {
        if table.has(name) {
            table.words(name, &mut budget)
        } else {
            Ok(Vec::new())
        }
    };
    for (row, word) in rows.iter_mut().zip(words("label")?) {
        row.label = word;
    }
    for (row, word) in rows.iter_mut().zip(words("pseudo_label")?) {
        row.pseudo_label = word;
    }
    for (row, word) in rows.iter_mut().zip(words("drawn")?) {
        row.drawn = word;
    }
    for (row, word) in rows.iter_mut().zip(words("views")?) {
        row.views = word;
    }
    for (i, (row, word)) in rows.iter_mut().zip(words("split")?).enumerate() {
        row.split = match word {
            None => None,
            Some(word) => Some(Part::parse(&word).ok_or_else(|| {
                Error::value(format!(
                    "row {i}: split \"{word}\" is none of train, validation, query, gallery, test"
                ))
            })?),
        };
    }
    if table.has("confidence") {
        for (row, value) in rows
            .iter_mut()
            .zip(table.numbers("confidence", &mut budget)?)
        {
            row.confidence = value;
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_the_file_and_nulls_stay_nulls() {
        let rows: Vec<ItemRow> = (0..9000)
            .map(|i| ItemRow {
                id: format!("item-{i}"),
                label: (i % 3 == 0).then(|| format!("class {}", i % 7)),
                split: [None, Some(Part::Train), Some(Part::Query)][i % 3],
                pseudo_label: (i % 5 > 0).then(|| "ü".to_owned()),
                confidence: (i % 4 > 0).then_some(i as f32 / 9000.0),
                drawn: (i % 6 == 0).then(|| "0 2".to_owned()),
                views: (i % 8 == 0).then(|| "0 1".to_owned()),
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("items.parquet");
        write(&path, &rows).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(read(&path).unwrap(), rows);
        write(&path, &rows).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        write(&path, &[]).unwrap();
        assert_eq!(read(&path).unwrap(), []);
        // A table of items labels a collection.
        let ids = ["item-3", "item-6"].map(str::to_owned);
        write(&path, &rows[3..7]).unwrap();
        let e = crate::read_labels(&path, &ids).unwrap_err();
        assert!(
            e.to_string()
                .contains("row 1: no item has the id \"item-4\""),
            "{e}"
        );
    }
}
