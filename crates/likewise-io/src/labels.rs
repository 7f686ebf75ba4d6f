//! Labels in a file of their own.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use likewise::{Labels, Monitor};

use crate::assemble::{labels_as, parse_labels, several};
use crate::form::Form;
use crate::input::Input;
use crate::options::{ReadOptions, TableOptions};
use crate::table::labels_of;
use crate::words::{LabelTable, Named};
use crate::{Error, Result, csv, idx, jsonl, npy, npz, parquet, texts, xlsx};

/// Reads the labels of the items with these ids.
///
/// A table (`.csv`, `.tsv`, `.xlsx`, `.jsonl`, `.parquet`) with columns `id` and `label` (or `labels`, `y`,
/// `target`, else `class` or `category`) is matched by id: items that it does not name are
/// unknown. A table without an `id` column is matched by the first of its other columns where that holds ids
/// of items alone, each once; else,
/// and for `.npy`, `.npz` and idx files, there must be one label an item, in order.
/// -1, empty and null mean unknown, -2 outside, see [`Labels::parse`].
///
/// Fails where an id is not among the items or stands twice (naming the row), where the
/// lengths differ (naming both), and where the file cannot be read. Costs O(n).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("labels.csv");
/// std::fs::write(&path, "id,label\nb,cat\n")?;
/// let labels = likewise_io::read_labels(&path, &["a".into(), "b".into()])?;
/// assert_eq!(labels[0], likewise::Label::Unknown);
/// assert_eq!(labels[1], likewise::Label::Known(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_labels(path: impl AsRef<Path>, ids: &[String]) -> Result<Labels> {
    read_labels_with(path, ids, &Monitor::silent())
}

/// As [`read_labels`]; warns through `monitor` of words that may mean something else than
/// they were read as (see [`Labels::remarks`]), and of labels that go over several lines.
pub fn read_labels_with(
    path: impl AsRef<Path>,
    ids: &[String],
    monitor: &Monitor,
) -> Result<Labels> {
    read_labels_as(path, ids, &TableOptions::default(), monitor)
}

/// As [`read_labels_with`], from the columns that are `asked` for.
pub fn read_labels_as(
    path: impl AsRef<Path>,
    ids: &[String],
    asked: &TableOptions,
    monitor: &Monitor,
) -> Result<Labels> {
    read_labels_beside(path.as_ref(), ids, asked, None, monitor)
}

/// As [`read_labels_as`], beside data whose ids are in a column of the name `own_id`.
pub(crate) fn read_labels_beside(
    path: &Path,
    ids: &[String],
    asked: &TableOptions,
    own_id: Option<&str>,
    monitor: &Monitor,
) -> Result<Labels> {
    let read = || {
        let input = Input::open(path)?;
        let labels = labels(Form::parse(path)?, input, ids, asked, own_id, monitor)?;
        remark_on_ids(&labels, monitor);
        Ok(labels)
    };
    read().map_err(|e: Error| e.within(path.display()))
}

/// Fewer items prove nothing.
const LEAST: usize = 5;

/// Warns where every item has a class of its own, as where ids are taken for labels.
pub(crate) fn remark_on_ids(labels: &Labels, monitor: &Monitor) {
    let n = labels.len();
    if n >= LEAST && labels.n_known() == n && labels.n_classes() == n && labels.tags().is_none() {
        monitor.warn(format!(
            "every one of the {n} items has a label of its own, so no two are of one class: these \
             look like ids, not labels; give labels that items share"
        ));
    }
}

/// Reads labels from bytes in memory; as [`read_labels`], but messages do not name a file.
pub fn read_labels_bytes(form: Form, bytes: &[u8], ids: &[String]) -> Result<Labels> {
    let asked = TableOptions::default();
    labels(
        form,
        Input::memory(bytes),
        ids,
        &asked,
        None,
        &Monitor::silent(),
    )
}

fn labels(
    form: Form,
    input: Input,
    ids: &[String],
    asked: &TableOptions,
    own_id: Option<&str>,
    monitor: &Monitor,
) -> Result<Labels> {
    if !form.is_table() {
        let labels = plain_labels(form, input, asked, monitor)?;
        check_len(labels.len(), ids.len())?;
        return Ok(labels);
    }
    let table = label_table(form, input, asked, own_id, monitor)?;
    let (words, lines) = (table.labels, table.lines);
    let named = table.ids.filter(|named| match &table.named {
        Named::Ids => true,
        Named::Files => {
            let all: HashSet<&str> = ids.iter().map(String::as_str).collect();
            named.iter().any(|id| all.contains(id.as_str()))
        }
        Named::Guess(column) => are_the_ids(named, column, ids, monitor),
    });
    let Some(mut named) = named else {
        check_len(words.len(), ids.len())?;
        return labels_as(&words, asked, monitor);
    };
    if let Some(whole) = without_fraction(&named, ids) {
        monitor.remark(format!(
            "the ids of the labels are written as \"{}\", and taken for \"{}\"",
            named[0], whole[0]
        ));
        named = whole;
    }
    let place = |row: usize| place_of(&lines, row);
    if asked.label_separator.is_none() {
        return Ok(parse_labels(&matched(&named, words, ids, place)?, monitor));
    }
    let mut cells = vec![Vec::new(); ids.len()];
    for (item, word) in places(&named, ids, place)?.into_iter().zip(&words) {
        cells[item].push(word.as_str());
    }
    several(cells.into_iter(), asked, monitor)
}

/// Whether a column that nobody named holds the ids of the items; where they have none but numbers of
/// rows, it does not. Warns where the order of the lines is taken in its place, though ids may be there.
fn are_the_ids(named: &[String], column: &str, ids: &[String], monitor: &Monitor) -> bool {
    if are_row_numbers(ids) {
        let numbers: Option<Vec<usize>> = named.iter().map(|id| id.parse().ok()).collect();
        let (mut sorted, in_order) = (numbers.unwrap_or_default(), are_row_numbers(named));
        sorted.sort_unstable();
        if !in_order && sorted.len() == ids.len() && sorted.iter().copied().eq(0..ids.len()) {
            monitor.warn(format!(
                "column \"{column}\" of the labels holds numbers of rows in another order; the labels \
                 were taken in the order of the lines; if they go by this column, name it with `id_column`"
            ));
        }
        return false;
    }
    let all: HashSet<&str> = ids.iter().map(String::as_str).collect();
    let distinct: HashSet<&str> = named.iter().map(String::as_str).collect();
    let fit = distinct.len() == named.len() && distinct.iter().all(|id| all.contains(id));
    if !named.is_empty() && fit {
        monitor.remark(format!(
            "the labels were matched by their column \"{column}\", which holds ids of the items"
        ));
        return true;
    }
    if named.len() == ids.len() {
        monitor.warn(format!(
            "no column of the labels is named id, and \"{column}\" does not hold ids of the items alone: \
             the labels were taken in the order of the lines; if one of the columns holds ids, name it \
             with `id_column`"
        ));
    }
    false
}

/// Words by id of a table of any form. Fails on what is no table.
fn label_table(
    form: Form,
    input: Input,
    asked: &TableOptions,
    own_id: Option<&str>,
    monitor: &Monitor,
) -> Result<LabelTable> {
    match form {
        Form::Csv => csv::read_labels(input, b',', asked, own_id, monitor),
        Form::Tsv => csv::read_labels(input, b'\t', asked, own_id, monitor),
        Form::Xlsx => {
            let mut sheet = xlsx::Sheet::open(input, &ReadOptions::default())?;
            labels_of(&mut sheet, asked, own_id, monitor)
        }
        Form::Jsonl => {
            let mut objects = jsonl::Objects::open(&input, &ReadOptions::default())?;
            labels_of(&mut objects, asked, own_id, monitor)
        }
        Form::Parquet => parquet::read_labels(input, asked, own_id),
        _ => Err(Error::parameter(
            "columns of texts are read from .csv, .tsv, .xlsx, .jsonl and .parquet files",
        )),
    }
}

/// A row of a table that says something of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Where it stands: `line 3`.
    pub place: String,
    /// The name, without spaces around it.
    pub name: String,
    /// What is said of it, likewise; nothing where the cell is empty.
    pub value: String,
}

/// The rows of a table as they stand: the words of the columns `name` and `value`.
///
/// Fails on a file that is no table, and without such columns.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("sizes.csv");
/// std::fs::write(&path, "class,size\ncat,-1\n")?;
/// let said = likewise_io::read_said(&path, "class", "size")?;
/// assert_eq!((&*said[0].place, &*said[0].name, &*said[0].value), ("line 2", "cat", "-1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_said(path: impl AsRef<Path>, name: &str, value: &str) -> Result<Vec<Said>> {
    let path = path.as_ref();
    let asked = TableOptions {
        id_column: Some(name.to_owned()),
        label_column: Some(value.to_owned()),
        ..TableOptions::default()
    };
    let read = || {
        let input = Input::open(path)?;
        let table = label_table(Form::parse(path)?, input, &asked, None, &Monitor::silent())?;
        let (names, lines) = (table.ids.unwrap_or_default(), table.lines);
        let rows = names.iter().zip(&table.labels).enumerate();
        let said = rows.map(|(row, (name, value))| Said {
            place: place_of(&lines, row),
            name: name.trim().to_owned(),
            value: value.trim().to_owned(),
        });
        Ok(said.collect())
    };
    read().map_err(|e: Error| e.within(path.display()))
}

/// Where a row of a table stands, whose `lines` are known or not.
fn place_of(lines: &[u64], row: usize) -> String {
    match lines.get(row) {
        Some(line) => format!("line {line}"),
        None => format!("row {row}"),
    }
}

/// Id and text of each item of a table, by the name of the column of texts; `None` where the cell is
/// empty. Items without ids have the numbers of their rows. A folder of texts has the column `text`.
///
/// Fails on a file that is no table, and without such a column.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("shirts.csv");
/// std::fs::write(&path, "id,title\na,red shirt\nb,\n")?;
/// let texts = likewise_io::read_texts(&path, "title", &Default::default())?;
/// assert_eq!(texts[0], ("a".to_owned(), Some("red shirt".to_owned())));
/// assert_eq!(texts[1].1, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_texts(
    path: impl AsRef<Path>,
    column: &str,
    asked: &TableOptions,
) -> Result<Vec<(String, Option<String>)>> {
    let path = path.as_ref();
    if path.is_dir() {
        return texts::read_texts(path, column).map_err(|e| e.within(path.display()));
    }
    let asked = TableOptions {
        label_column: Some(column.to_owned()),
        id_column: asked.id_column.clone(),
        sep: asked.sep,
        ..TableOptions::default()
    };
    let read = || {
        let (form, input) = (Form::parse(path)?, Input::open(path)?);
        let table = label_table(form, input, &asked, None, &Monitor::silent())?;
        let numbers = || (0..table.labels.len()).map(|row| row.to_string()).collect();
        let own = table
            .ids
            .filter(|_| !matches!(table.named, Named::Guess(_)));
        let ids: Vec<String> = own.unwrap_or_else(numbers);
        let text = |text: &String| (!text.trim().is_empty()).then(|| text.clone());
        Ok(ids.into_iter().zip(table.labels.iter().map(text)).collect())
    };
    read().map_err(|e: Error| e.within(path.display()))
}

/// The labels of a form that can hold them without a table of ids.
fn plain_labels(
    form: Form,
    input: Input,
    asked: &TableOptions,
    monitor: &Monitor,
) -> Result<Labels> {
    asked.refuse(&["label_column"], "a list of labels, which has no columns")?;
    match form {
        Form::Npy => labels_as(&npy::read_words(input)?, asked, monitor),
        Form::Npz => npz::read_labels(input, asked, monitor),
        Form::Idx | Form::IdxGz if asked.label_separator.is_some() => Err(Error::parameter(
            "`multi_label`: an idx file holds one label an item",
        )),
        Form::Idx => idx::read_labels(input, false),
        Form::IdxGz => idx::read_labels(input, true),
        _ => Err(Error::parameter(
            "labels are read from .csv, .tsv, .xlsx, .jsonl, .parquet, .npy, .npz and idx files",
        )),
    }
}

fn check_len(labels: usize, items: usize) -> Result<()> {
    if labels == items {
        return Ok(());
    }
    Err(Error::value(format!(
        "{labels} labels for {items} items; give one an item in their order, or a table \
         with columns id and label"
    )))
}

/// Whole ids that were written as numbers with a fraction, as pandas does where one was missing;
/// `None` where that is not so, or they do not need it to be found among the items.
fn without_fraction(named: &[String], ids: &[String]) -> Option<Vec<String>> {
    let whole = |id: &String| {
        let whole = id.strip_suffix(".0")?;
        whole.parse::<i64>().is_ok().then(|| whole.to_owned())
    };
    let whole: Vec<String> = named.iter().map(whole).collect::<Option<_>>()?;
    let all: HashSet<&str> = ids.iter().map(String::as_str).collect();
    let found = |own: &[String]| own.iter().any(|id| all.contains(id.as_str()));
    (!found(named) && found(&whole)).then_some(whole)
}

/// Whether these are what items without ids are called.
fn are_row_numbers(ids: &[String]) -> bool {
    !ids.is_empty() && (0_usize..).zip(ids).all(|(row, id)| *id == row.to_string())
}

/// The words in the order of the items; empty where an item has none.
fn matched(
    named: &[String],
    words: Vec<String>,
    ids: &[String],
    place: impl Fn(usize) -> String,
) -> Result<Vec<String>> {
    let mut out = vec![String::new(); ids.len()];
    let mut taken: Vec<Option<usize>> = vec![None; ids.len()];
    let items = places(named, ids, &place)?;
    for (row, (item, word)) in items.into_iter().zip(words).enumerate() {
        if let Some(first) = taken[item].replace(row) {
            return Err(Error::value(format!(
                "{}: id \"{}\" was already labeled in {}; keep one of them, or read several labels an \
                 item with `multi_label`",
                place(row),
                named[row],
                place(first)
            )));
        }
        out[item] = word;
    }
    Ok(out)
}

/// The item that each of these ids names.
fn places(named: &[String], ids: &[String], place: impl Fn(usize) -> String) -> Result<Vec<usize>> {
    let items: HashMap<&str, usize> = ids.iter().map(String::as_str).zip(0..).collect();
    let mut found = Vec::with_capacity(named.len());
    for (row, id) in named.iter().enumerate() {
        let Some(&item) = items.get(id.as_str()) else {
            let own = if are_row_numbers(ids) && id.parse::<u64>().is_err() {
                format!(
                    ", as the items have no ids of their own and go by the numbers of their rows (0 to \
                     {}); where their table has a column of ids, name it with `id_column`, else",
                    ids.len() - 1
                )
            } else {
                ";".to_owned()
            };
            return Err(Error::value(format!(
                "{}: no item has the id \"{id}\"{own} correct it or remove the line",
                place(row)
            )));
        };
        found.push(item);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use likewise::Label;

    fn read(text: &str, ids: &[&str]) -> Result<Labels> {
        let ids: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
        read_labels_bytes(Form::Csv, text.as_bytes(), &ids)
    }

    fn message(text: &str, ids: &[&str]) -> String {
        read(text, ids).unwrap_err().to_string()
    }

    #[test]
    fn a_table_is_matched_by_id() {
        let labels = read("label,id,note\ndog,c,x\ncat,a,y\n", &["a", "b", "c"]).unwrap();
        assert_eq!(labels.classes(), ["cat", "dog"]);
        let expected = [Label::Known(0), Label::Unknown, Label::Known(1)];
        assert_eq!(labels.items(), expected);
    }

    #[test]
    fn a_column_that_holds_the_ids_is_matched_by_whatever_its_name() {
        let ids = ["a", "b", "c"].map(str::to_owned);
        let expected = [Label::Known(0), Label::Unknown, Label::Known(1)];
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str, ids: &[String], own: Option<&str>| {
            let path = folder.path().join("labels.csv");
            std::fs::write(&path, text).unwrap();
            let (monitor, heard) = crate::read::listening();
            let asked = TableOptions::default();
            let labels = read_labels_beside(&path, ids, &asked, own, &monitor).unwrap();
            (labels, heard.lock().unwrap().clone())
        };
        for header in ["sku", "Unnamed: 0", "key"] {
            let (labels, _) = read(&format!("{header},label\nc,dog\na,cat\n"), &ids, None);
            assert_eq!(labels.items(), expected, "{header}");
        }
        // Where the ids of the data are is known, though another column stands first.
        let (labels, _) = read("note,sku,label\nx,c,dog\nx,a,cat\n", &ids, Some("sku"));
        assert_eq!(labels.items(), expected);
        // No ids: the order counts, and that is said.
        let (labels, heard) = read("note,label\nx,cat\ny,\nx,dog\n", &ids, None);
        assert_eq!(labels.items(), expected);
        assert!(
            heard.iter().any(|w| w.contains("order of the lines")),
            "{heard:?}"
        );
        // Items without ids: numbers of rows in another order may be from before they were shuffled.
        let rows = ["0", "1", "2"].map(str::to_owned);
        let (labels, heard) = read("index,label\n2,cat\n0,\n1,dog\n", &rows, None);
        assert_eq!(labels.items(), expected);
        assert!(
            heard.iter().any(|w| w.contains("in another order")),
            "{heard:?}"
        );
        let (_, heard) = read("index,label\n0,cat\n1,\n2,dog\n", &rows, None);
        assert!(heard.is_empty(), "{heard:?}");
    }

    #[test]
    fn a_single_column_is_taken_in_order_with_or_without_a_header() {
        let expected = [Label::Known(1), Label::Unknown, Label::Known(0)];
        for text in ["label\n7\n-1\n3\n", "7\n-1\n3\n"] {
            assert_eq!(read(text, &["a", "b", "c"]).unwrap().items(), expected);
        }
        let words = read("dog\ncat\n", &["a", "b"]).unwrap();
        assert_eq!(words.classes(), ["cat", "dog"]);
    }

    #[test]
    fn doubtful_words_are_read_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.csv");
        std::fs::write(&path, "id,class\na,NA\nb,other\nc,\"x\ny\"\n").unwrap();
        let ids = ["a", "b", "c"].map(str::to_owned);
        let (monitor, heard) = crate::read::listening();
        let labels = read_labels_with(&path, &ids, &monitor).unwrap();
        assert_eq!(labels.classes(), ["other", "x\ny"]);
        assert_eq!(labels[0], Label::Unknown);
        let heard = heard.lock().unwrap();
        let says = |words: &str| heard.iter().any(|line| line.contains(words));
        assert!(says("\"NA\" and read as unlabeled"), "{heard:?}");
        assert!(says("\"other\" and read as a class"), "{heard:?}");
        assert!(says("line 4: an id or a label goes over"), "{heard:?}");
        assert_eq!(heard.len(), 3);
    }

    #[test]
    fn ids_that_pandas_made_floats_are_found_without_the_fraction() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.csv");
        std::fs::write(&path, "id,label\n100.0,x\n102.0,y\n").unwrap();
        let ids = ["100", "101", "102"].map(str::to_owned);
        let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let listens = heard.clone();
        let monitor = Monitor::new(move |event| {
            if let likewise::Event::Remark(text) = event {
                listens.lock().unwrap().push(text.clone());
            }
        });
        let labels = read_labels_with(&path, &ids, &monitor).unwrap();
        let expected = [Label::Known(0), Label::Unknown, Label::Known(1)];
        assert_eq!(labels.items(), expected);
        let said = "the ids of the labels are written as \"100.0\", and taken for \"100\"";
        assert_eq!(*heard.lock().unwrap(), [said]);
        // One that is no item is named, as ever; where ids are found as they are, or not all are
        // whole, nothing changes.
        let e = message("id,label\n100.0,x\n7.0,y\n", &["100"]);
        assert!(e.contains("line 3: no item has the id \"7\""), "{e}");
        let e = message("id,label\n100.0,x\n101.0,y\n", &["100.0", "101"]);
        assert!(e.contains("line 3: no item has the id \"101.0\""), "{e}");
        let e = message("id,label\n100.0,x\n1.5,y\n", &["100", "1.5"]);
        assert!(e.contains("line 2: no item has the id \"100.0\""), "{e}");
    }

    fn several(text: &str, ids: &[&str], between: char) -> Result<Labels> {
        let ids: Vec<String> = ids.iter().map(|&id| id.to_owned()).collect();
        let asked = TableOptions {
            label_separator: Some(between),
            ..TableOptions::default()
        };
        let input = Input::memory(text.as_bytes());
        labels(Form::Csv, input, &ids, &asked, None, &Monitor::silent())
    }

    #[test]
    fn several_labels_stand_in_one_cell_or_in_several_lines() {
        let ids = ["a", "b", "c", "d", "e"];
        let text = "id,label\na,x|y\nb,y\nb, x |\nc,-2\nd,\n";
        let labels = several(text, &ids, '|').unwrap();
        assert_eq!(labels.classes(), ["x|y"]);
        let tags = labels.item_tags().unwrap();
        assert_eq!(tags.names(), ["x", "y"]);
        let of: Vec<_> = (0..5).map(|item| tags.of(item)).collect();
        let both = Some(&[0, 1][..]);
        assert_eq!(of, [both, both, Some(&[][..]), None, None]);
        // Without being asked, a name is a name, and an id stands once.
        let single = read("id,label\na,x|y\nb,y\n", &ids).unwrap();
        assert_eq!(single.classes(), ["x|y", "y"]);
        assert!(single.tags().is_none());
        assert!(message(text, &ids).contains("line 4: id \"b\" was already labeled in line 3"));
        let other = several("id,label\na,x;y\n", &ids, ';').unwrap();
        assert_eq!(other.tags().unwrap().names(), ["x", "y"]);
        let inside = several("id,label\na,x|y;z\n", &ids, ';').unwrap_err();
        assert!(inside.to_string().contains("named \"x|y\""), "{inside}");
        // In the order of the items.
        let plain = several("label\nx|y\ny\n", &["a", "b"], '|').unwrap();
        assert_eq!(plain.n_classes(), 2);
        let e = several("id,label\na,x|outside\n", &ids, '|').unwrap_err();
        assert!(e.to_string().contains("none of the tags"), "{e}");
        let e = several("id,label\nz,x\n", &ids, '|').unwrap_err();
        assert!(
            e.to_string().contains("line 2: no item has the id \"z\""),
            "{e}"
        );
    }

    #[test]
    fn a_matrix_of_zeros_and_ones_is_several_labels_an_item() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tags.npz");
        let ids = ["a", "b", "c"].map(str::to_owned);
        let write = |values: &[i64], names: Option<&[&str]>| {
            let mut npz = npz::Writer::new(std::fs::File::create(&path).unwrap());
            let shape = [3, values.len() / 3];
            let own = values.iter().copied();
            npz.numbers("labels", "<i8", &shape, own, i64::to_le_bytes)
                .unwrap();
            if let Some(names) = names {
                let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
                npz.texts("classes", &names).unwrap();
            }
            npz.finish().unwrap();
        };
        let read = |between| {
            let asked = TableOptions {
                label_separator: between,
                ..TableOptions::default()
            };
            read_labels_as(&path, &ids, &asked, &Monitor::silent())
        };
        write(&[1, 1, 0, 0, -1, -1], Some(&["red", "short"]));
        let tags = read(Some('|')).unwrap().item_tags().unwrap();
        assert_eq!(tags.names(), ["red", "short"]);
        let expected = [Some(&[0, 1][..]), Some(&[][..]), None];
        assert_eq!(
            (0..3).map(|item| tags.of(item)).collect::<Vec<_>>(),
            expected
        );
        assert!(read(None).unwrap_err().to_string().contains("argmax"));
        write(&[1, 0, 0, 2, 1, 1], None);
        let e = read(Some('|')).unwrap_err().to_string();
        assert!(
            e.contains("tags.npz: array labels: row 1 of the tags has 2"),
            "{e}"
        );
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let e = message("id,label\na,1\nz,2\n", &["a", "b"]);
        assert!(e.contains("line 3") && e.contains("\"z\""), "{e}");
        let e = message("id,label\nSKU-1,1\n", &["0", "1", "2"]);
        assert!(
            e.contains("rows (0 to 2)") && e.contains("`id_column`"),
            "{e}"
        );
        assert!(!message("id,label\n7,1\n", &["0", "1"]).contains("id_column"));
        let e = message("id,label\na,1\n\nb,1\na,2\n", &["a", "b"]);
        assert!(e.contains("line 5") && e.contains("line 2"), "{e}");
        let e = message("label\n1\n", &["a", "b"]);
        assert!(e.contains("1 labels for 2 items"), "{e}");
        assert!(message("id,name\na,b\n", &["a"]).contains("id, name"));
        assert!(message("", &["a"]).contains("empty"));
    }
}
