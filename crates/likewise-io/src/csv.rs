//! Comma- and tab-separated text.
//!
//! The first line names the columns: `id` (or a first column without a name), `label`
//! (or `labels`, `y`, `target`; else `class` or `category`) and `split` mean what they say;
//! columns of row numbers (`index`, `Unnamed: 0`) are left out; all other columns are
//! numbers and make one view, `features`. A file of numbers alone needs no header; a
//! first line that just counts, 0, 1, 2 ..., is a header, as data frames write it.

mod quote;
mod rows;

use std::io::Read;

use csv::{ByteRecord, Reader, ReaderBuilder};
use likewise::Monitor;

use crate::assemble::{Parts, Role, Shape, parse_labels, tell, unnamed_ids};
use crate::budget::{Budget, WORD};
use crate::input::Input;
use crate::number::{Progress, push};
use crate::options::ReadOptions;
use crate::{Error, Result};
use quote::Watched;
pub(crate) use rows::read_rows;

/// An open table: the names and roles of its columns, and the lines below.
struct Table<R> {
    reader: Reader<Watched<R>>,
    names: Vec<String>,
    roles: Vec<Role>,
    /// The first line, where it is data already.
    first: Option<ByteRecord>,
}

impl<R: Read> Table<R> {
    fn open(stream: R, delimiter: u8) -> Result<Self> {
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .from_reader(Watched::new(stream, delimiter));
        let mut record = ByteRecord::new();
        if !next(&mut reader, &mut record)? {
            return Err(Error::value(
                "the file is empty; a header and lines are needed",
            ));
        }
        check_separator(&record, delimiter)?;
        if is_data(&record) {
            let names: Vec<String> = (0..record.len()).map(|i| i.to_string()).collect();
            return Ok(Self {
                reader,
                roles: vec![Role::Feature; names.len()],
                names,
                first: Some(record),
            });
        }
        let name = |field: &[u8]| match std::str::from_utf8(field) {
            Ok(name) => Ok(name.trim().to_owned()),
            Err(_) => Err(not_utf8(1)),
        };
        let names: Vec<String> = record.iter().map(name).collect::<Result<_>>()?;
        let roles = Role::of_columns(&borrowed(&names))?;
        Ok(Self {
            reader,
            names,
            roles,
            first: None,
        })
    }

    /// Hands every line of data to `each`, with its number in the file.
    fn each(&mut self, mut each: impl FnMut(&ByteRecord, u64) -> Result<()>) -> Result<()> {
        if let Some(record) = self.first.take() {
            each(&record, 1)?;
        }
        let mut record = ByteRecord::new();
        while next(&mut self.reader, &mut record)? {
            let line = record.position().map_or(0, csv::Position::line);
            each(&record, line)?;
        }
        Ok(())
    }

    fn dimension(&self) -> usize {
        self.roles.iter().filter(|&&r| r == Role::Feature).count()
    }
}

/// Reads the next line. Fails where a quote swallows the rest of the file.
fn next<R: Read>(reader: &mut Reader<Watched<R>>, record: &mut ByteRecord) -> Result<bool> {
    let line = reader.position().line();
    let read = reader.read_byte_record(record);
    if reader.get_ref().ends_in_quotes() {
        return Err(Error::format(format!(
            "line {}: a quote (\") opens here and is never closed, so all behind it would be \
             one field; close it, or write a quote that belongs to the text twice",
            record.position().map_or(line, csv::Position::line)
        )));
    }
    Ok(read?)
}

/// Fails where the first line is cut by another separator than this one.
fn check_separator(record: &ByteRecord, delimiter: u8) -> Result<()> {
    for (other, name, advice) in [
        (
            b';',
            "\";\"",
            "write the file with \",\" between columns and \".\" in numbers",
        ),
        (b'\t', "a tab", "give the file the ending .tsv"),
    ] {
        let has = |field: &&[u8]| field.contains(&other);
        let count = record.iter().flatten().filter(|&&b| b == other).count();
        // With decimal commas, fields such as "5;2" stand between the commas.
        let cuts = |field: &[u8]| field.split(|&b| b == other).all(|f| number(f).is_some());
        let looks = count >= record.len() || record.iter().filter(has).any(cuts);
        if other != delimiter && count > 0 && looks {
            return Err(Error::format(format!(
                "line 1: the separator looks like {name}; {advice}; if it belongs to a text, \
                 name the columns in a line above"
            )));
        }
    }
    Ok(())
}

/// Whether the first line is data already: numbers that do not just count, perhaps with gaps.
fn is_data(record: &ByteRecord) -> bool {
    let fields = || record.iter().map(<[u8]>::trim_ascii);
    let numbers = fields().filter(|f| !f.is_empty());
    if numbers.clone().next().is_none() || !numbers.clone().all(|f| number(f).is_some()) {
        return false;
    }
    let integer = |f: &[u8]| std::str::from_utf8(f).ok()?.parse::<i64>().ok();
    let counted: Option<Vec<i64>> = numbers.map(integer).collect();
    // A header of a frame: columns 0, 1, 2 ..., behind an index perhaps, where any start will do.
    let index = fields().next().is_some_and(<[u8]>::is_empty);
    let gaps = fields().skip(1).any(<[u8]>::is_empty);
    !counted.is_some_and(|c| {
        let counts = c.windows(2).all(|w| w[1].checked_sub(w[0]) == Some(1));
        counts
            && !gaps
            && if index {
                !c.is_empty()
            } else {
                c.len() > 1 && c[0] == 0
            }
    })
}

fn borrowed(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn not_utf8(line: u64) -> Error {
    Error::format(format!(
        "line {line} is not UTF-8 text; save the file as UTF-8"
    ))
}

/// A field as a number, if it is one.
fn number(field: &[u8]) -> Option<f32> {
    std::str::from_utf8(field).ok()?.trim().parse().ok()
}

fn word(field: &[u8], line: u64) -> Result<String> {
    let text = std::str::from_utf8(field).map_err(|_| not_utf8(line))?;
    Ok(text.trim().to_owned())
}

/// Words of the columns with a meaning of their own, and what they are for.
#[derive(Default)]
struct Words {
    ids: Vec<String>,
    labels: Vec<String>,
    split: Vec<String>,
    /// Line of the first id or label that goes over several lines, and how many do.
    broken: Option<(u64, usize)>,
    /// Bytes of memory that they take.
    bytes: u64,
}

impl Words {
    /// Keeps a field, if its column is not a feature.
    fn take(&mut self, role: Role, field: &[u8], line: u64) -> Result<()> {
        let words = match role {
            Role::Id => &mut self.ids,
            Role::Label => &mut self.labels,
            Role::Split => &mut self.split,
            Role::Classes | Role::Category | Role::Index | Role::Feature => return Ok(()),
        };
        let word = word(field, line)?;
        if word.contains(['\n', '\r']) && role != Role::Split {
            self.broken.get_or_insert((line, 0)).1 += 1;
        }
        self.bytes += WORD + word.len() as u64;
        push(words, word)
    }

    /// Warns of ids and labels that go over several lines, as a stray quote makes them.
    fn remark(&self, monitor: &Monitor) {
        if let Some((line, count)) = self.broken {
            monitor.warn(format!(
                "line {line}: an id or a label goes over more than one line ({count} in all); \
                 if a quote (\") is missing or too many there, lines were lost"
            ));
        }
    }
}

fn bad_number(name: &str, field: &[u8], line: u64) -> Error {
    let text = String::from_utf8_lossy(field);
    let place = format!("line {line}, column \"{name}\"");
    Error::value(match text.trim() {
        "" => format!("{place} is empty; fill it or remove the line"),
        text => {
            let mut text: String = text.chars().take(40).collect();
            if let Some(value) = number(field) {
                text = format!("{place} is {value} (\"{text}\"); remove or fill such values");
            } else {
                text = format!("{place}: \"{text}\" is not a number; correct or remove it");
            }
            text
        }
    })
}

pub(crate) fn shape(input: Input, delimiter: u8) -> Result<Shape> {
    let mut table = Table::open(input.stream(), delimiter)?;
    let mut rows = 0;
    table.each(|_, _| {
        rows += 1;
        Ok(())
    })?;
    Ok(Shape::one("features", rows, table.dimension()))
}

pub(crate) fn read(
    input: Input,
    delimiter: u8,
    options: &ReadOptions,
    monitor: &Monitor,
) -> Result<Parts> {
    let len = input.len;
    let mut table = Table::open(input.stream(), delimiter)?;
    let columns = table.dimension();
    if columns == 0 {
        return Err(Error::value(format!(
            "no columns of numbers; the columns are: {}",
            table.names.join(", ")
        )));
    }
    options.choose(&["features"])?;
    let mut budget = Budget::new(options.max_memory);
    let mut progress = Progress::new(monitor);
    let (names, roles) = (table.names.clone(), table.roles.clone());
    let mut words = Words::default();
    let mut values: Vec<f32> = Vec::new();
    let (mut rows, mut seen, mut reported) = (0_usize, 0_u64, 0_u64);
    table.each(|record, line| {
        for ((field, &role), name) in record.iter().zip(&roles).zip(&names) {
            if role == Role::Feature {
                let value = number(field).filter(|v| v.is_finite());
                let value = value.ok_or_else(|| bad_number(name, field, line))?;
                push(&mut values, value)?;
            } else {
                words.take(role, field, line)?;
            }
        }
        rows += 1;
        budget.check(4 * values.len() as u64 + words.bytes)?;
        seen = record.position().map_or(seen, csv::Position::byte);
        if seen - reported > 1 << 18 {
            // The rest of the file will hold as much a byte as the lines so far.
            let bytes = (4 * values.len() as u64 + words.bytes) as f64;
            budget.check((bytes * len as f64 / seen as f64) as u64)?;
            progress.add((seen - reported) as usize)?;
            reported = seen;
        }
        Ok(())
    })?;
    budget.take(4 * values.len() as u64 + words.bytes)?;
    budget.items(rows)?;
    values.shrink_to_fit();
    let mut parts = Parts::default();
    parts.add_view("features", rows, columns, values)?;
    words.remark(monitor);
    tell(&borrowed(&names), &roles, options, monitor);
    let features = names
        .iter()
        .zip(&roles)
        .filter(|(_, r)| **r == Role::Feature);
    parts.columns = features.map(|(name, _)| name.clone()).collect();
    if let Some(column) = roles.iter().position(|&r| r == Role::Id) {
        parts.ids = if names[column].is_empty() {
            unnamed_ids(words.ids, monitor)
        } else {
            Some(words.ids)
        };
    }
    if roles.contains(&Role::Label) && options.labels.is_none() {
        parts.labels = Some(parse_labels(&words.labels, monitor));
    }
    if roles.contains(&Role::Split) {
        parts.set_split(&words.split)?;
    }
    Ok(parts)
}

/// A table of labels.
pub(crate) struct LabelTable {
    /// Ids, if there is such a column.
    pub(crate) ids: Option<Vec<String>>,
    pub(crate) labels: Vec<String>,
    /// Where each label stands in the file.
    pub(crate) lines: Vec<u64>,
}

/// Reads a table of labels: a column `label` and perhaps `id`; others are ignored.
///
/// A single column needs no header.
pub(crate) fn read_labels(input: Input, delimiter: u8, monitor: &Monitor) -> Result<LabelTable> {
    let mut table = Table::open(input.stream(), delimiter)?;
    let mut words = Words::default();
    let mut lines = Vec::new();
    if table.names.len() == 1 && table.roles[0] == Role::Feature {
        if table.first.is_none() {
            words.labels.push(table.names[0].clone());
            lines.push(1);
        }
        table.roles[0] = Role::Label;
    }
    if !table.roles.contains(&Role::Label) {
        return Err(Error::format(format!(
            "no column named label, labels, y, target, class or category; the columns are: {}",
            table.names.join(", ")
        )));
    }
    let roles = table.roles.clone();
    let budget = Budget::new(None);
    table.each(|record, line| {
        push(&mut lines, line)?;
        for (field, &role) in record.iter().zip(&roles) {
            words.take(role, field, line)?;
        }
        budget.check(words.bytes)
    })?;
    words.remark(monitor);
    Ok(LabelTable {
        ids: roles.contains(&Role::Id).then_some(words.ids),
        labels: words.labels,
        lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Form, read_bytes};
    use likewise::{Collection, Part};
    use ndarray::array;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Collection> {
        read_bytes(Form::Csv, text.as_bytes(), &ReadOptions::default())
    }

    fn message(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn columns_are_told_apart_by_name() {
        let text = "\u{feff}a,ID,Label,b,split\r\n1,x,cat,\" 2.5\",train\r\n-1e-3,y,,4,test\r\n";
        let all = read(text).unwrap();
        assert_eq!(all.ids(), ["x", "y"]);
        assert_eq!(all.views()[0].matrix, array![[1.0, 2.5], [-0.001, 4.0]]);
        assert_eq!(all.labels.unwrap().n_known(), 1);
        assert_eq!(all.split.unwrap(), [Part::Train, Part::Test]);
        let bytes = "a\tb\n1\t2\n".as_bytes();
        let tab = read_bytes(Form::Tsv, bytes, &ReadOptions::default()).unwrap();
        assert_eq!(tab.views()[0].matrix, array![[1.0, 2.0]]);
    }

    #[test]
    fn headers_are_optional_for_numbers_alone() {
        let bare = read("1,2\n3,4\n").unwrap();
        assert_eq!(bare.views()[0].matrix, array![[1.0, 2.0], [3.0, 4.0]]);
        // As data frames write a matrix: with and without their index.
        let frame = read("0,1\n3,4\n").unwrap();
        assert_eq!(frame.views()[0].matrix, array![[3.0, 4.0]]);
        let frame = read(",0,1\n7,3,4\n").unwrap();
        assert_eq!(frame.views()[0].matrix, array![[3.0, 4.0]]);
        assert_eq!(frame.ids(), ["7"]);
        assert_eq!(read("5\n6\n").unwrap().len(), 2);
        // Years as columns; and an index that holds a value twice is none of ids.
        let frame = read(",2019,2020\n7,3,4\n7,5,6\n").unwrap();
        assert_eq!(frame.views()[0].matrix, array![[3.0, 4.0], [5.0, 6.0]]);
        assert_eq!(frame.ids(), ["0", "1"]);
    }

    #[test]
    fn a_first_line_of_numbers_with_a_gap_is_no_header() {
        for text in [",0.5,2\n1,2,3\n", ",3,3\n1,2,3\n"] {
            assert_eq!(
                message(text),
                "line 1, column \"0\" is empty; fill it or remove the line"
            );
        }
        assert!(message("1,,3\n1,2,3\n").starts_with("line 1, column \"1\" is empty"));
    }

    #[test]
    fn another_separator_is_named() {
        for text in ["id;label\n1;2\n", "a;b;c\n1,5;2;3\n", "1,5;2,5;3\n"] {
            let said = message(text);
            assert!(said.contains("separator looks like \";\""), "{said}");
        }
        assert!(message("a\tb\n1\t2\n").contains("ending .tsv"));
        let ids = ["a".to_owned()];
        let labels = |text: &str| crate::read_labels_bytes(Form::Csv, text.as_bytes(), &ids);
        let e = labels("id;label\na;x\n").unwrap_err();
        assert!(e.to_string().contains("separator"), "{e}");
        assert_eq!(labels("label\nx;y\n").unwrap().classes(), ["x;y"]);
        assert_eq!(read("\"a;b\",c\n1,2\n").unwrap().len(), 1);
    }

    #[test]
    fn numbers_of_rows_and_categories_are_no_features() {
        let rows = "1,9,x,0.5\n0,8,y,0.25\n";
        for names in [
            "index,Unnamed: 0,class,w",
            "idx,__index_level_0__,category,w",
        ] {
            let all = read(&format!("{names}\n{rows}")).unwrap();
            assert_eq!(all.views()[0].matrix, array![[0.5], [0.25]]);
            assert_eq!(all.ids(), ["0", "1"]);
            assert_eq!(all.labels.unwrap().classes(), ["x", "y"]);
        }
        let both = read("class,label,w\n1,x,2\n1,y,3\n").unwrap();
        assert_eq!(both.views()[0].matrix, array![[2.0], [3.0]]);
        assert_eq!(both.labels.unwrap().classes(), ["x", "y"]);
    }

    #[test]
    fn a_quote_that_swallows_the_rest_is_refused() {
        let ids: Vec<String> = (0..9).map(|i| i.to_string()).collect();
        let labels = |text: &str| crate::read_labels_bytes(Form::Csv, text.as_bytes(), &ids);
        let e = labels("id,label\n0,a\n1,\"b\n2,c\n3,d\n").unwrap_err();
        assert!(e.to_string().starts_with("line 3: a quote"), "{e}");
        // Also where the rest has more columns, and where there is no end of line.
        assert!(message("id,a\n\"x,1\ny,2\n").starts_with("line 2: a quote"));
        assert!(message("a,b\n1,\"2").starts_with("line 2: a quote"));
        assert!(message("\"a,b\n1,2\n").starts_with("line 1: a quote"));
        let fine = "id,label\n0,\"a \"\"b\"\"\"\n1,\"two\nlines\"\n2,6\"\n";
        assert_eq!(labels(fine).unwrap().n_classes(), 3);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        assert_eq!(
            message("id,w\na,1\nb,\n"),
            "line 3, column \"w\" is empty; fill it or remove the line"
        );
        assert!(message("w\n1\nnan\n").starts_with("line 3, column \"w\" is NaN"));
        assert!(message("w\n1\n1e99\n").starts_with("line 3, column \"w\" is inf (\"1e99\")"));
        assert!(message("w\n1\nx\n").contains("\"x\" is not a number"));
        assert!(message("a,b\n1,2\n3\n").starts_with("line 3 has 1 fields"));
        assert!(message("id,a\nx,1\nx,2\n").contains("rows 0 and 1"));
        assert!(message("id,a\n,2\n").contains("id is empty"));
        assert!(message("id,label\nx,1\n").contains("no columns of numbers"));
        assert!(message("label,y,a\n1,1,1\n").contains("mean the same"));
        assert!(message("a,split\n1,here\n").contains("row 0: split \"here\""));
        assert!(message("a,b\n").contains("empty"));
        assert!(message("").contains("empty"));
        let bad = read_bytes(Form::Csv, b"a\n1\n\xff\n", &ReadOptions::default());
        assert!(bad.unwrap_err().to_string().contains("line 3"));
        let bad = read_bytes(Form::Csv, b"\xff\n1\n", &ReadOptions::default());
        assert!(bad.unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn memory_is_limited_while_reading() {
        let mut text = String::from("a,b\n");
        for i in 0..100_000 {
            text.extend([i.to_string().as_str(), ",0\n"]);
        }
        let options = ReadOptions {
            max_memory: Some(13_000_000),
            ..ReadOptions::default()
        };
        let e = read_bytes(Form::Csv, text.as_bytes(), &options).unwrap_err();
        assert_eq!(e.kind(), crate::ErrorKind::Memory);
        let options = ReadOptions {
            max_memory: Some(14_000_000),
            ..ReadOptions::default()
        };
        assert!(read_bytes(Form::Csv, text.as_bytes(), &options).is_ok());
    }

    proptest! {
        #[test]
        fn numbers_survive_being_written(
            rows in prop::collection::vec(prop::collection::vec(-1e30_f32..1e30, 3), 1..20)
        ) {
            let mut text = String::from("a,b,c\n");
            for row in &rows {
                text.extend([format!("{},{:e},{}\n", row[0], row[1], row[2])]);
            }
            let all = read(&text).unwrap();
            let flat: Vec<f32> = rows.concat();
            prop_assert_eq!(all.views()[0].matrix.as_slice().unwrap(), flat);
        }
    }
}
