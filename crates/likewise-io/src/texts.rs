//! Folders of texts: a file is an item, and its folder the class.

use std::path::{Path, PathBuf};

use likewise::Monitor;

use crate::assemble::{Parts, Shape};
use crate::budget::Budget;
use crate::options::ReadOptions;
use crate::places::Places;
use crate::table::ngrams;
use crate::{Error, ErrorKind, Result};

/// Ending of the names of the files.
const ENDING: &str = "txt";
/// Name of the view of features.
const VIEW: &str = "text";
/// Features of a text: documents hold more words than the cells of a table.
const DIMENSIONS: usize = 1024;
/// Longest text, bytes.
const LONGEST: u64 = 16 << 20;

/// Whether a folder is one of texts, so that [`read`](crate::read) can read it: two of the files in it and below it are texts
/// (`.txt`) or more, and most of them.
///
/// Hidden files and folders (leading dot) do not count, and links to folders are not followed.
pub fn is_text_folder(folder: impl AsRef<Path>) -> Result<bool> {
    let folder = folder.as_ref();
    let (mut texts, mut others) = (0, 0);
    let counted = count(folder, &mut texts, &mut others).map_err(Error::from);
    counted.map_err(|e| e.within(folder.display()))?;
    Ok(texts > others.max(1))
}

/// The text beside a file: the one of the same name that ends in `.txt`; `None` where there is none, or nothing
/// in it.
///
/// Fails on what is no text in UTF-8, or longer than 16 MiB.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let photo = folder.path().join("tom.jpg");
/// assert_eq!(likewise_io::text_beside(&photo)?, None);
/// std::fs::write(folder.path().join("tom.txt"), "A grey cat.")?;
/// assert_eq!(likewise_io::text_beside(&photo)?.as_deref(), Some("A grey cat."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn text_beside(file: impl AsRef<Path>) -> Result<Option<String>> {
    let beside = file.as_ref().with_extension(ENDING);
    if !beside.is_file() {
        return Ok(None);
    }
    let text = crate::read_text(&beside, LONGEST)?;
    Ok((!text.trim().is_empty()).then_some(text))
}

fn is_text(path: &Path) -> bool {
    let ending = path.extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING)) && path.is_file()
}

fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(b".")
}

fn count(folder: &Path, texts: &mut usize, others: &mut usize) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if is_hidden(&path) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            // A folder below that cannot be read is said when its texts are.
            count(&path, texts, others).unwrap_or_default();
        } else if is_text(&path) {
            *texts += 1;
        } else {
            *others += 1;
        }
    }
    Ok(())
}

/// The texts below a folder, by their ids: their paths below it, sorted.
struct Listed(Vec<(String, PathBuf)>);

impl Listed {
    fn of(folder: &Path) -> Result<Self> {
        let mut files = Vec::new();
        list(folder, "", &mut files)?;
        files.sort_unstable();
        Ok(Self(files))
    }

    fn ids(&self) -> Vec<String> {
        self.0.iter().map(|(id, _)| id.clone()).collect()
    }

    /// What the texts take on disk.
    fn bytes(&self) -> u64 {
        let length = |(_, path): &(String, PathBuf)| std::fs::metadata(path).map_or(0, |m| m.len());
        self.0.iter().map(length).sum()
    }
}

fn list(folder: &Path, below: &str, files: &mut Vec<(String, PathBuf)>) -> Result<()> {
    let within = |e: std::io::Error| Error::from(e).within(format!("folder {below}"));
    for entry in std::fs::read_dir(folder).map_err(within)? {
        let entry = entry.map_err(within)?;
        let path = entry.path();
        if is_hidden(&path) {
            continue;
        }
        let is_folder = entry.file_type().map_err(within)?.is_dir();
        if !is_folder && !is_text(&path) {
            continue;
        }
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            let shown = name.display();
            let message = format!("the name {shown} is not Unicode; rename it");
            return Err(Error::value(message));
        };
        if is_folder {
            list(&path, &format!("{below}{name}/"), files)?;
        } else {
            files.push((format!("{below}{name}"), path));
        }
    }
    Ok(())
}

/// Sizes of what [`read_folder`] gives.
pub(crate) fn folder_shape(folder: &Path) -> Result<Shape> {
    let listed = Listed::of(folder)?;
    Ok(Shape {
        bytes_on_disk: listed.bytes(),
        ..Shape::one(VIEW, listed.0.len(), DIMENSIONS)
    })
}

/// Reads a folder: a view of hashed triples of letters, and what the folders say.
pub(crate) fn read_folder(
    folder: &Path,
    options: &ReadOptions,
    monitor: &Monitor,
) -> Result<Parts> {
    options.choose(&[VIEW])?;
    let listed = Listed::of(folder)?;
    let n = listed.0.len();
    let mut budget = Budget::new(options.max_memory);
    budget.matrix(n, DIMENSIONS)?;
    budget.items(n)?;
    let mut values = vec![0.0; n * DIMENSIONS];
    let (mut empty, mut done) = (0, 0);
    for ((_, path), row) in listed.0.iter().zip(values.chunks_mut(DIMENSIONS)) {
        let text = crate::read_text(path, LONGEST)?;
        ngrams::add(&text, row);
        empty += usize::from(row.iter().all(|&value| value == 0.0));
        done += text.len() as u64;
        monitor.step(done)?;
    }
    if empty == n {
        let message = format!("{n} texts, and no word in any of them; there is nothing to compare");
        return Err(Error::new(ErrorKind::Value, message));
    }
    if empty > 0 {
        monitor.warn(format!(
            "{empty} of {n} texts hold no word: they are like nothing, not even like each other"
        ));
    }
    let ids = listed.ids();
    let places = Places::of(&ids, "texts")?;
    for told in &places.told {
        monitor.remark(told);
    }
    let mut parts = Parts {
        labels: places.labels,
        split: places.split,
        ids: Some(ids),
        ..Parts::default()
    };
    parts.add_view(VIEW, n, DIMENSIONS, values)?;
    Ok(parts)
}

/// Id and text of each item of a folder, `None` where there is nothing in it; the only column of texts is `text`.
pub(crate) fn read_texts(folder: &Path, column: &str) -> Result<Vec<(String, Option<String>)>> {
    if column != VIEW {
        let message = format!("a folder of texts has one column of them, {VIEW}, and no {column}");
        return Err(Error::parameter(message));
    }
    let read = |(id, path): (String, PathBuf)| {
        let text = crate::read_text(path, LONGEST)?;
        Ok((id, (!text.trim().is_empty()).then_some(text)))
    };
    Listed::of(folder)?.0.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{TableOptions, inspect, read};

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("cats/a.txt", "A cat says meow.");
        write("cats/old/b.TXT", "Cats say meow, too");
        write("dogs/c.txt", "A dog says woof");
        write("unlabeled/d.txt", "what says meow");
        write(".hidden/e.txt", "nobody");
        write("notes.md", "no text of these");
        folder
    }

    #[test]
    fn a_file_is_an_item_and_its_folder_the_class() {
        let folder = folder();
        assert!(is_text_folder(folder.path()).unwrap());
        let texts = read(folder.path(), &ReadOptions::default(), &Monitor::silent()).unwrap();
        let ids = [
            "cats/a.txt",
            "cats/old/b.TXT",
            "dogs/c.txt",
            "unlabeled/d.txt",
        ];
        assert_eq!(texts.ids(), ids);
        let labels = texts.labels.as_ref().unwrap();
        assert_eq!(labels.classes(), ["cats", "dogs"]);
        assert_eq!(labels.n_known(), 3);
        let view = texts.view(Some("text")).unwrap();
        let cosine = |a: usize, b: usize| view.matrix.row(a).dot(&view.matrix.row(b));
        assert!(cosine(0, 1) > cosine(0, 2), "meow is nearer to meow");
        let shape = inspect(folder.path(), &ReadOptions::default()).unwrap();
        assert_eq!((shape.items, shape.views), (4, vec![("text".into(), 1024)]));
        assert_eq!(shape.bytes_on_disk, 16 + 18 + 15 + 14);
        let words = crate::read_texts(folder.path(), "text", &TableOptions::default()).unwrap();
        assert_eq!(words[2], (ids[2].into(), Some("A dog says woof".into())));
        let other = crate::read_texts(folder.path(), "title", &TableOptions::default());
        assert!(other.unwrap_err().to_string().contains("and no title"));
    }

    #[test]
    fn what_is_no_text_is_named_and_nothing_is_made_of_nothing() {
        let folder = folder();
        fs::write(folder.path().join("dogs/x.txt"), [0xff, 0xfe, 0, 1]).unwrap();
        let all = || read(folder.path(), &ReadOptions::default(), &Monitor::silent());
        let said = all().unwrap_err().to_string();
        assert!(said.contains("x.txt") && said.contains("UTF-8"), "{said}");
        let nothing = tempfile::tempdir().unwrap();
        assert!(!is_text_folder(nothing.path()).unwrap());
        fs::write(nothing.path().join("a.txt"), " ... ").unwrap();
        assert!(
            !is_text_folder(nothing.path()).unwrap(),
            "a note is no data"
        );
        fs::write(nothing.path().join("b.txt"), "").unwrap();
        let said = read(nothing.path(), &ReadOptions::default(), &Monitor::silent());
        let said = said.unwrap_err().to_string();
        assert!(said.contains("no word in any of them"), "{said}");
    }
}
