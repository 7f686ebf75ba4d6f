//! Embeddings with what is known of their items: a Parquet table that other programs load.

use std::path::Path;

use ndarray::Array2;

use crate::items::ItemRow;
use crate::parquet::{self, Column};
use crate::{Error, Result, atomic};

/// One vector an item.
#[derive(Debug, Clone, PartialEq)]
pub enum Vectors {
    /// Of numbers, `n x d`.
    Numbers(Array2<f32>),
    /// Of bits, eight a byte, `n x bytes`.
    Bytes(Array2<u8>),
}

/// What stands for a label, a class or a confidence that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Null.
    Null,
    /// Nothing: an empty text, and 0; for readers that know no null.
    Empty,
}

impl Vectors {
    /// Items, and numbers or bytes of each.
    pub fn dim(&self) -> (usize, usize) {
        match self {
            Self::Numbers(rows) => rows.dim(),
            Self::Bytes(rows) => rows.dim(),
        }
    }
}

/// Writes a Parquet table of `id`, `vector` (a list of `f32`), `label`, `pseudo_label` (text) and
/// `confidence` (`f32`), null where unknown; `split` (text) where an item has one; atomically. Equal
/// rows give equal bytes.
///
/// [`read`](crate::read()) gives back the vectors as the view `vector`, with ids and labels; what
/// is believed of the items is no feature, and left out.
///
/// Fails where there is not one item a row, and for vectors of no numbers. Costs O(n d), and a
/// copy of a block of the rows.
///
/// ```
/// use likewise_io::{embeddings, items::ItemRow};
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("x.parquet");
/// let item = |id: &str| ItemRow { id: id.into(), confidence: Some(0.5), ..ItemRow::default() };
/// let x = ndarray::array![[1.0, 2.0], [3.0, 4.0]];
/// embeddings::write(&path, &[item("a"), item("b")], x.clone())?;
/// let monitor = likewise::Monitor::silent();
/// let read = likewise_io::read(&path, &likewise_io::ReadOptions::default(), &monitor)?;
/// assert_eq!(read.ids(), ["a", "b"]);
/// assert_eq!(read.view(Some("vector"))?.matrix, x);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(path: impl AsRef<Path>, items: &[ItemRow], rows: Array2<f32>) -> Result<()> {
    write_as(path, items, Vectors::Numbers(rows), Unknown::Null)
}

/// As [`write()`], of vectors of either sort; those of bits are lists of `u8`.
pub fn write_as(
    path: impl AsRef<Path>,
    items: &[ItemRow],
    vectors: Vectors,
    unknown: Unknown,
) -> Result<()> {
    let path = path.as_ref();
    let (n, d) = vectors.dim();
    if items.len() != n || d == 0 {
        return Err(Error::value(format!(
            "{n} vectors of {d} numbers for {} items; there must be one each, of 1 number or more",
            items.len()
        ))
        .within(path.display()));
    }
    let filled = unknown == Unknown::Empty;
    let text = |value: fn(&ItemRow) -> Option<String>| {
        let known = items.iter().map(value);
        Column::Text(if filled {
            known.map(|text| Some(text.unwrap_or_default())).collect()
        } else {
            known.collect()
        })
    };
    let confidence = items.iter().map(|item| item.confidence);
    let confidence = if filled {
        confidence.map(|c| Some(c.unwrap_or(0.0))).collect()
    } else {
        confidence.collect()
    };
    let vectors = match vectors {
        Vectors::Numbers(rows) => Column::Vectors(rows),
        Vectors::Bytes(rows) => Column::Bytes(rows),
    };
    let columns = [
        ("id", text(|item| Some(item.id.clone()))),
        ("vector", vectors),
        ("label", text(|item| item.label.clone())),
        ("pseudo_label", text(|item| item.pseudo_label.clone())),
        ("confidence", Column::Float(confidence)),
    ];
    let mut columns = Vec::from(columns.map(|(name, column)| (name.to_owned(), column)));
    if filled || items.iter().any(|item| item.split.is_some()) {
        let split = text(|item| item.split.map(|part| part.name().to_owned()));
        columns.push(("split".to_owned(), split));
    }
    atomic::write(path, |file| parquet::write(file, &columns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReadOptions;
    use likewise::Monitor;

    #[test]
    fn vectors_labels_and_ids_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.parquet");
        // More than one block.
        let x = Array2::from_shape_fn((30_000, 40), |(i, j)| (i * 40 + j) as f32);
        let items: Vec<ItemRow> = (0..30_000)
            .map(|i| ItemRow {
                id: format!("i{i}"),
                label: (i % 3 == 0).then(|| "cat".to_owned()),
                pseudo_label: (i % 2 == 0).then(|| "dog".to_owned()),
                confidence: Some(0.25),
                ..ItemRow::default()
            })
            .collect();
        write(&path, &items, x.clone()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let read = crate::read(&path, &ReadOptions::default(), &Monitor::silent()).unwrap();
        assert_eq!(read.views().len(), 1);
        assert_eq!(read.view(None).unwrap().matrix, x);
        assert_eq!(read.labels.as_ref().unwrap().n_known(), 10_000);
        assert_eq!(read.ids()[29_999], "i29999");
        write(&path, &items, x.clone()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        // The same table tells of its items.
        assert_eq!(crate::items::read(&path).unwrap(), items);
        assert!(write(&path, &items[1..], x).is_err());
        assert!(write(&path, &[], Array2::zeros((0, 0))).is_err());
    }

    #[test]
    fn without_nulls_what_is_unknown_is_empty_and_bits_are_lists_of_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.parquet");
        let item = |id: &str, label: Option<&str>| ItemRow {
            id: id.into(),
            label: label.map(str::to_owned),
            split: Some(likewise::Part::Train),
            ..ItemRow::default()
        };
        let items = [item("a", Some("cat")), item("b", None)];
        let bytes = ndarray::array![[1_u8, 255], [0, 7]];
        write_as(&path, &items, Vectors::Bytes(bytes), Unknown::Empty).unwrap();
        let read = crate::read(&path, &ReadOptions::default(), &Monitor::silent()).unwrap();
        let expected = ndarray::array![[1.0, 255.0], [0.0, 7.0]];
        assert_eq!(read.view(Some("vector")).unwrap().matrix, expected);
        assert_eq!(read.labels.as_ref().unwrap().n_known(), 1);
    }
}
