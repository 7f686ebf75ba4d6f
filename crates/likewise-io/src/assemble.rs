//! The pieces of a collection as a reader finds them, put together and checked.

use likewise::tags::BETWEEN;
use likewise::{Collection, Label, Labels, Monitor, Part, Tags, View};
use ndarray::{Array2, ArrayView2};

use crate::layout::Layout;
use crate::options::TableOptions;
use crate::{Error, Result};

/// The ids in a first column without a name, or `None` if they are only numbers of rows,
/// which stand twice where tables were joined.
pub(crate) fn unnamed_ids(ids: Vec<String>, monitor: &Monitor) -> Option<Vec<String>> {
    let mut distinct = std::collections::HashSet::new();
    if ids.iter().all(|id| distinct.insert(id.as_str())) {
        return Some(ids);
    }
    monitor.note(
        "the first column, which has no name, is left out: it holds values twice, so they \
         are no ids; items are numbered by row",
    );
    None
}

/// Labels from words, with warnings of those that may mean something else.
pub(crate) fn parse_labels(words: &[String], monitor: &Monitor) -> Labels {
    for remark in Labels::remarks(words) {
        monitor.warn(remark);
    }
    Labels::parse(words)
}

/// Labels from words as they are `asked` for: one label each, or several.
pub(crate) fn labels_as(
    words: &[String],
    asked: &TableOptions,
    monitor: &Monitor,
) -> Result<Labels> {
    match asked.label_separator {
        None => Ok(parse_labels(words, monitor)),
        Some(_) => several(words.iter().map(|word| vec![word.as_str()]), asked, monitor),
    }
}

/// Labels from the cells of each item, of which every one may hold several.
pub(crate) fn several<'a>(
    items: impl Iterator<Item = Vec<&'a str>>,
    asked: &TableOptions,
    monitor: &Monitor,
) -> Result<Labels> {
    let between = asked.label_separator.unwrap_or(BETWEEN);
    let items: Vec<Vec<&str>> = items.collect();
    remark_on_cells(&items, between, monitor);
    let items: Vec<Vec<&str>> = items
        .into_iter()
        .map(|cells| {
            cells
                .into_iter()
                .flat_map(|cell| cell.split(between))
                .collect()
        })
        .collect();
    for remark in Labels::remarks_on_tags(items.iter().flatten()) {
        monitor.warn(remark);
    }
    Ok(Labels::of_tags(&Tags::read(items)?)?)
}

/// What else than a label people write between labels.
const OTHERS: [char; 4] = ['|', ';', ',', '/'];

/// Those of them that no name has.
const NEVER: [char; 2] = ['|', ';'];

/// Warns of cells in which nothing stands between two signs, and where another sign seems to stand between labels.
fn remark_on_cells(items: &[Vec<&str>], between: char, monitor: &Monitor) {
    let cells = || items.iter().flatten().map(|cell| cell.trim());
    let said = || cells().filter(|cell| !cell.is_empty());
    let holed = |cell: &&str| {
        cell.contains(between) && cell.split(between).any(|word| word.trim().is_empty())
    };
    let n = said().filter(holed).count();
    if let Some(first) = said().find(holed) {
        monitor.warn(format!(
            "{n} cells of labels have nothing before or behind a \"{between}\" (first: \"{first}\"); what else \
             they hold was taken"
        ));
    }
    if said().any(|cell| cell.contains(between)) {
        return;
    }
    let holding = |sign: char| said().filter(|cell| cell.contains(sign)).count();
    let most = OTHERS.map(|sign| (holding(sign), sign)).into_iter().max();
    if let Some((n, sign)) =
        most.filter(|&(n, sign)| n > 0 && (NEVER.contains(&sign) || 2 * n > said().count()))
    {
        monitor.warn(format!(
            "no label holds \"{between}\", and {n} hold \"{sign}\", each of which is one label now; if that \
             stands between labels, say so by `label_separator`"
        ));
    }
}

/// What a file holds, from its headers where possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Number of items.
    pub items: usize,
    /// Name and dimension of each view, or of the one that was asked for.
    pub views: Vec<(String, usize)>,
    /// Length of the file; of all files together for a folder.
    pub bytes_on_disk: u64,
}

impl Shape {
    pub(crate) fn one(view: &str, items: usize, columns: usize) -> Self {
        Self {
            items,
            views: vec![(view.to_owned(), columns)],
            bytes_on_disk: 0,
        }
    }

    /// Memory that the features of all views take once read, in bytes.
    pub fn memory(&self) -> u64 {
        let columns = self.views.iter().map(|&(_, d)| d as u64);
        let columns = columns.fold(0, u64::saturating_add);
        (self.items as u64)
            .saturating_mul(columns)
            .saturating_mul(4)
    }
}

/// The pieces of a collection, before they are checked against each other.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) ids: Option<Vec<String>>,
    pub(crate) views: Vec<View>,
    pub(crate) labels: Option<Labels>,
    pub(crate) split: Option<Vec<Part>>,
    /// Names of the columns of the view `features`, where it comes from a table.
    pub(crate) columns: Vec<String>,
    /// How the table was read.
    pub(crate) layout: Option<Layout>,
}

/// The largest feature: beyond it, sums and differences of few features leave the range of
/// `f32`, and what is computed from them is NaN.
const LARGEST: f32 = f32::MAX / 8.0;

/// Fails where there are no items or no dimensions.
pub(crate) fn check_size(name: &str, rows: usize, columns: usize) -> Result<()> {
    if rows > 0 && columns > 0 {
        return Ok(());
    }
    Err(Error::value(format!(
        "view {name} is empty ({rows} x {columns}); at least one item and one dimension are \
         needed"
    )))
}

/// Fails where a value is not finite, or too large to compute with.
pub(crate) fn check_values(name: &str, matrix: ArrayView2<f32>) -> Result<()> {
    likewise::matrix::check_finite(matrix, &format!("view {name}")).map_err(|e| {
        let infinite = matrix
            .iter()
            .find(|v| !v.is_finite())
            .is_some_and(|v| v.is_infinite());
        let e = Error::from(e);
        if infinite {
            let more = "; numbers that are too large for a 32-bit float (more than 3.4e38) are \
                        read as infinite, too";
            return e.with(more);
        }
        e
    })?;
    let (columns, values) = (matrix.ncols(), matrix.to_slice().unwrap_or_default());
    match values.iter().position(|v| v.abs() > LARGEST) {
        None => Ok(()),
        Some(at) => Err(Error::value(format!(
            "view {name}: row {}, column {} is {:e}, too large to compute with (more than \
             {LARGEST:.1e}); scale the features down",
            at / columns,
            at % columns,
            values[at]
        ))),
    }
}

impl Parts {
    /// Adds a matrix given in row order; it must not be empty, and its values be finite and
    /// such that one can compute with them.
    pub(crate) fn add_view(
        &mut self,
        name: &str,
        rows: usize,
        columns: usize,
        values: Vec<f32>,
    ) -> Result<()> {
        check_size(name, rows, columns)?;
        let matrix = Array2::from_shape_vec((rows, columns), values)
            .map_err(|e| Error::format(format!("view {name}: {e}")))?;
        check_values(name, matrix.view())?;
        self.views.push(View {
            name: name.to_owned(),
            matrix,
            present: None,
        });
        Ok(())
    }

    /// Turns words into parts of a split. All words empty: there is no split.
    pub(crate) fn set_split(&mut self, words: &[String]) -> Result<()> {
        if words.iter().all(|w| w.trim().is_empty()) {
            return Ok(());
        }
        let parse = |(row, word): (usize, &String)| {
            Part::parse(word).ok_or_else(|| {
                Error::value(format!(
                    "row {row}: split \"{word}\" is none of train, validation, query, gallery, \
                     test; correct it or remove the split"
                ))
            })
        };
        let parts = words.iter().enumerate().map(parse);
        self.split = Some(parts.collect::<Result<_>>()?);
        Ok(())
    }

    pub(crate) fn rows(&self) -> usize {
        self.views.first().map_or(0, |v| v.matrix.nrows())
    }

    /// Checks the pieces against each other; ids default to row numbers.
    pub(crate) fn into_collection(self) -> Result<Collection> {
        let n = self.rows();
        let mut ids = self
            .ids
            .unwrap_or_else(|| (0..n).map(|i| i.to_string()).collect());
        // As in tables, whose fields have no blanks at their ends: else no table would name such an item.
        for id in &mut ids {
            if id.trim().len() < id.len() {
                *id = id.trim().to_owned();
            }
        }
        let mismatch = |what: &str, len: usize| {
            Error::value(format!(
                "there are {len} {what}, but {n} items; every item needs one"
            ))
        };
        if let Some(row) = ids.iter().position(String::is_empty) {
            return Err(Error::value(format!(
                "row {row}: the id is empty; every item needs one"
            )));
        }
        let mut collection = Collection::new(ids, self.views)?;
        if let Some(labels) = &self.labels
            && labels.len() != n
        {
            return Err(mismatch("labels", labels.len()));
        }
        if let Some(split) = &self.split
            && split.len() != n
        {
            return Err(mismatch("split words", split.len()));
        }
        collection.labels = self.labels;
        collection.split = self.split;
        Ok(collection)
    }
}

/// Labels from their words, and the class names where the file gives them.
///
/// With names, labels 0, 1, 2 ... are indices into them (-1 and -2 keep their meaning),
/// unless the names are themselves numbers that name all the labels.
pub(crate) fn name_labels(
    words: &[String],
    classes: Option<Vec<String>>,
    asked: &TableOptions,
    monitor: &Monitor,
) -> Result<Labels> {
    let plain = labels_as(words, asked, monitor)?;
    let Some(classes) = classes else {
        return Ok(plain);
    };
    if plain.tags().is_some() {
        return Err(Error::value(
            "an array of class names goes with one label an item; write several labels of an item as \
             words, or as a matrix with a column a class, of 1 where an item has it",
        ));
    }
    let numbers = |names: &[String]| names.iter().all(|c| c.parse::<i64>().is_ok());
    let known = |name: &String| classes.contains(name);
    if !numbers(plain.classes()) || (numbers(&classes) && plain.classes().iter().all(known)) {
        return Ok(plain);
    }
    let mut distinct = std::collections::HashSet::new();
    if let Some(twice) = classes.iter().find(|c| !distinct.insert(c.as_str())) {
        return Err(Error::value(format!(
            "class name \"{twice}\" stands twice among the classes; names must be unique"
        )));
    }
    let name = |(row, &label): (usize, &Label)| match label {
        Label::Known(class) => {
            let written = &plain.classes()[class as usize];
            written
                .parse::<u32>()
                .ok()
                .filter(|&index| (index as usize) < classes.len())
                .map(Label::Known)
                .ok_or_else(|| {
                    Error::value(format!(
                        "row {row}: label {written} is no index into the {} classes; \
                         number them from 0, or use -1 for unknown",
                        classes.len()
                    ))
                })
        }
        other => Ok(other),
    };
    let items: Result<Vec<Label>> = plain.items().iter().enumerate().map(name).collect();
    Ok(Labels::new(classes, items?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|w| (*w).to_owned()).collect()
    }

    #[test]
    fn ids_have_no_blanks_at_their_ends() {
        let collection = |ids: &[&str]| {
            let mut parts = Parts {
                ids: Some(words(ids)),
                ..Parts::default()
            };
            let values = vec![1.0; ids.len()];
            parts.add_view("x", ids.len(), 1, values).unwrap();
            parts.into_collection()
        };
        let ids = collection(&[" cat", "a dog\t", "owl"])
            .unwrap()
            .ids()
            .to_vec();
        assert_eq!(ids, ["cat", "a dog", "owl"]);
        let e = collection(&["cat", " "]).unwrap_err().to_string();
        assert!(e.contains("row 1: the id is empty"), "{e}");
        assert!(collection(&["cat", "cat "]).is_err());
    }

    #[test]
    fn class_names_are_indices_unless_they_are_the_labels_themselves() {
        let named = |labels: &[&str], classes: &[&str]| {
            let (labels, classes) = (words(labels), Some(words(classes)));
            name_labels(
                &labels,
                classes,
                &TableOptions::default(),
                &Monitor::silent(),
            )
        };
        let labels = named(&["1", "0", "-1", "-2"], &["b", "a", "unused"]).unwrap();
        assert_eq!(labels.classes(), ["b", "a", "unused"]);
        let expected = [
            Label::Known(1),
            Label::Known(0),
            Label::Unknown,
            Label::Outside,
        ];
        assert_eq!(labels.items(), expected);
        // Digits: the label is the class, whatever the order of the names.
        assert_eq!(
            named(&["1", "2"], &["2", "1"]).unwrap().classes(),
            ["1", "2"]
        );
        // Class 9 has index 1: the numbers do not name the labels, so they are indices.
        assert_eq!(
            named(&["1", "0"], &["7", "9"]).unwrap().classes(),
            ["7", "9"]
        );
        assert_eq!(named(&["x"], &["a", "x"]).unwrap().classes(), ["x"]);
        let e = named(&["0", "2"], &["a", "b"]).unwrap_err();
        assert!(e.to_string().contains("row 1: label 2"), "{e}");
        assert!(named(&["0"], &["a", "a"]).is_err());
    }

    #[test]
    fn cells_of_several_labels_are_looked_at() {
        let said = |cells: &[&str]| {
            let heard = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
            let own = heard.clone();
            let monitor = Monitor::new(move |event| {
                if let likewise::Event::Warning(text) = event {
                    own.lock().unwrap().push(text.clone());
                }
            });
            let asked = TableOptions {
                label_separator: Some(BETWEEN),
                ..TableOptions::default()
            };
            labels_as(&words(cells), &asked, &monitor).unwrap();
            heard.lock().unwrap().join("; ")
        };
        assert_eq!(said(&["a|b", "", "b"]), "");
        let holed = said(&["a|b", "a||b", "b|"]);
        assert!(
            holed.contains("2 cells") && holed.contains("\"a||b\""),
            "{holed}"
        );
        let other = said(&["a;b", "b;c", "c", ""]);
        assert!(
            other.contains("2 hold \";\"") && other.contains("`label_separator`"),
            "{other}"
        );
        assert!(said(&["a;b", "c", "d"]).contains("1 hold"));
        // A sign in few of them belongs to a name.
        assert_eq!(said(&["a/b", "c", "d"]), "");
    }
}
