//! Answers as tables for people and for spreadsheets.

use std::path::Path;

use crate::{Result, atomic};

/// Writes a table of comma-separated text with a line of names, atomically. Cells are quoted where
/// they must be.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("t.csv");
/// likewise_io::write_lines(&path, &["id", "group"], [["a, b".to_owned(), "1".to_owned()]])?;
/// assert_eq!(std::fs::read_to_string(&path)?, "id,group\n\"a, b\",1\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_lines<const N: usize>(
    path: impl AsRef<Path>,
    names: &[&str; N],
    lines: impl IntoIterator<Item = [String; N]>,
) -> Result<()> {
    atomic::write(path, |file| {
        let mut csv = ::csv::Writer::from_writer(file);
        csv.write_record(names)?;
        for line in lines {
            csv.write_record(&line)?;
        }
        Ok(csv.flush()?)
    })
}
