//! From the arrays or columns of a file to a collection: which is what, by name.

use likewise::{Collection, Label, Labels, Monitor, Part, View};
use ndarray::Array2;

use crate::read::ReadOptions;
use crate::{Error, Result};

/// What the name of an array or column says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Id,
    Label,
    Split,
    /// Names of the classes, for labels that are indices into them.
    Classes,
    Feature,
}

impl Role {
    pub(crate) fn of(name: &str) -> Self {
        match name.trim().to_ascii_lowercase().as_str() {
            "id" | "ids" => Role::Id,
            "label" | "labels" | "y" | "target" | "targets" => Role::Label,
            "split" => Role::Split,
            "classes" => Role::Classes,
            _ => Role::Feature,
        }
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
}

impl Parts {
    /// Adds a matrix given in row order; it must not be empty, and its values be finite.
    pub(crate) fn add_view(
        &mut self,
        name: &str,
        rows: usize,
        columns: usize,
        values: Vec<f32>,
    ) -> Result<()> {
        if rows == 0 || columns == 0 {
            return Err(Error::value(format!(
                "view {name} is empty ({rows} x {columns}); at least one item and one \
                 dimension are needed"
            )));
        }
        let matrix = Array2::from_shape_vec((rows, columns), values)
            .map_err(|e| Error::format(format!("view {name}: {e}")))?;
        likewise::matrix::check_finite(matrix.view(), &format!("view {name}"))?;
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
        let ids = self
            .ids
            .unwrap_or_else(|| (0..n).map(|i| i.to_string()).collect());
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
pub(crate) fn name_labels(words: &[String], classes: Option<Vec<String>>) -> Result<Labels> {
    let plain = Labels::parse(words);
    let Some(classes) = classes else {
        return Ok(plain);
    };
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

/// An array of a file that holds several.
#[derive(Debug, Clone)]
pub(crate) struct Array {
    pub(crate) name: String,
    /// Rows and columns, for a matrix of numbers.
    pub(crate) matrix: Option<(usize, usize)>,
    /// Length, for a list of numbers or words.
    pub(crate) list: Option<usize>,
}

/// How the arrays of a file make up a collection. Arrays are named by their position.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) rows: usize,
    pub(crate) views: Vec<Stack>,
    /// Suffix, part and number of items, where arrays come in parts; else empty.
    pub(crate) parts: Vec<(String, Part, usize)>,
    pub(crate) labels: Vec<usize>,
    pub(crate) ids: Option<usize>,
    pub(crate) split: Option<usize>,
    pub(crate) classes: Option<usize>,
}

/// A view, and the arrays whose rows follow each other in it.
#[derive(Debug, PartialEq)]
pub(crate) struct Stack {
    pub(crate) name: String,
    pub(crate) columns: usize,
    pub(crate) arrays: Vec<usize>,
}

impl Plan {
    /// Decides which arrays are views, labels, ids, split and class names.
    ///
    /// A matrix is a view if it has the common row count: that of the labels or ids if any
    /// matrix has it, else the most frequent one. If all matrices come in parts
    /// (`image_train`, `image_test`), the parts are stacked and become the split. Matrices
    /// of other row counts are left out with a remark.
    pub(crate) fn new(arrays: &[Array], options: &ReadOptions, monitor: &Monitor) -> Result<Self> {
        let features = arrays.iter().enumerate().filter_map(|(i, a)| {
            let (rows, columns) = a.matrix?;
            (Role::of(&a.name) == Role::Feature).then_some((i, rows, columns))
        });
        let features: Vec<(usize, usize, usize)> = features.collect();
        if features.is_empty() {
            let mut names: Vec<&str> = arrays.iter().map(|a| a.name.as_str()).collect();
            if names.len() > 10 {
                names.truncate(10);
                names.push("...");
            }
            return Err(Error::value(format!(
                "no feature matrix; at least one array must be 2-dimensional and numeric \
                 (items x dimensions); the arrays are: {}",
                names.join(", ")
            )));
        }
        let mut plan = match Self::in_parts(arrays, &features) {
            Some(plan) => plan,
            None => Self::whole(arrays, &features, options, monitor)?,
        };
        let names: Vec<&str> = plan.views.iter().map(|v| v.name.as_str()).collect();
        options.choose(&names)?;
        plan.views.retain(|v| options.wants(&v.name));
        plan.classes = find(arrays, Role::Classes);
        Ok(plan)
    }

    fn whole(
        arrays: &[Array],
        features: &[(usize, usize, usize)],
        options: &ReadOptions,
        monitor: &Monitor,
    ) -> Result<Self> {
        let (labels, ids) = (find(arrays, Role::Label), find(arrays, Role::Id));
        let with_rows = |n: usize| features.iter().filter(|f| f.1 == n).count();
        let asked = options.view.as_deref().and_then(|name| {
            let asked = features.iter().find(|f| arrays[f.0].name == name)?;
            Some(asked.1)
        });
        let listed = [labels, ids].into_iter().flatten();
        let listed = listed
            .filter_map(|i| arrays[i].list)
            .find(|&n| with_rows(n) > 0);
        let frequent = features
            .iter()
            .map(|f| f.1)
            .max_by_key(|&n| (with_rows(n), n));
        let rows = asked.or(listed).or(frequent).unwrap_or(0);
        for &(i, r, c) in features.iter().filter(|f| f.1 != rows) {
            monitor.note(format!(
                "array {} ({r} x {c}) is left out: the items are {rows}",
                arrays[i].name
            ));
        }
        if let Some(i) = labels
            && let Some(len) = arrays[i].list
            && len != rows
        {
            return Err(Error::value(format!(
                "{} holds {len} labels, but the matrices have {rows} rows; they must agree",
                arrays[i].name
            )));
        }
        let views = features.iter().filter(|f| f.1 == rows);
        Ok(Self {
            rows,
            views: views
                .map(|&(i, _, columns)| Stack {
                    name: arrays[i].name.clone(),
                    columns,
                    arrays: vec![i],
                })
                .collect(),
            labels: labels.into_iter().collect(),
            ids,
            split: find(arrays, Role::Split),
            ..Self::default()
        })
    }

    /// A plan of stacked parts, if every matrix has a part's name and all parts agree.
    fn in_parts(arrays: &[Array], features: &[(usize, usize, usize)]) -> Option<Self> {
        let suffix = |name: &str| {
            let (base, word) = name.rsplit_once('_')?;
            let part = Part::parse(word).filter(|_| !base.is_empty())?;
            Some((base.to_owned(), word.to_owned(), part))
        };
        let mut plan = Self::default();
        for &(i, rows, columns) in features {
            let (base, word, part) = suffix(&arrays[i].name)?;
            match plan.parts.iter().find(|p| p.0 == word) {
                None => plan.parts.push((word, part, rows)),
                Some(known) if known.2 != rows => return None,
                Some(_) => {}
            }
            if !plan.views.iter().any(|v| v.name == base) {
                plan.views.push(Stack {
                    name: base,
                    columns,
                    arrays: Vec::new(),
                });
            }
        }
        if plan.parts.len() < 2 {
            return None;
        }
        plan.parts.sort_by_key(|p| p.1 as u8);
        for (word, _, rows) in &plan.parts {
            for view in &mut plan.views {
                let name = format!("{}_{word}", view.name);
                let &(i, _, columns) = features.iter().find(|f| arrays[f.0].name == name)?;
                if columns != view.columns {
                    return None;
                }
                view.arrays.push(i);
            }
            let labels = arrays.iter().position(|a| {
                a.list == Some(*rows)
                    && suffix(&a.name)
                        .is_some_and(|(base, w, _)| w == *word && Role::of(&base) == Role::Label)
            });
            plan.labels.extend(labels);
            plan.rows = plan.rows.checked_add(*rows)?;
        }
        // Labels of some parts only could not be told apart from the others.
        if plan.labels.len() != plan.parts.len() {
            plan.labels.clear();
        }
        Some(plan)
    }

    /// Sets ids and split of stacked parts: `train-0`, `train-1` ... `test-0` ...
    pub(crate) fn name_parts(&self, parts: &mut Parts) {
        if self.parts.is_empty() {
            return;
        }
        let mut ids = Vec::with_capacity(self.rows);
        let mut split = Vec::with_capacity(self.rows);
        for (word, part, rows) in &self.parts {
            ids.extend((0..*rows).map(|i| format!("{word}-{i}")));
            split.extend(std::iter::repeat_n(*part, *rows));
        }
        parts.ids = Some(ids);
        parts.split = Some(split);
    }

    pub(crate) fn shape(&self) -> Shape {
        let views = self.views.iter();
        Shape {
            items: self.rows,
            views: views.map(|v| (v.name.clone(), v.columns)).collect(),
            bytes_on_disk: 0,
        }
    }
}

fn find(arrays: &[Array], role: Role) -> Option<usize> {
    arrays
        .iter()
        .position(|a| a.list.is_some() && Role::of(&a.name) == role)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|w| (*w).to_owned()).collect()
    }

    #[test]
    fn class_names_are_indices_unless_they_are_the_labels_themselves() {
        let named =
            |labels: &[&str], classes: &[&str]| name_labels(&words(labels), Some(words(classes)));
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

    fn array(name: &str, shape: &[usize]) -> Array {
        Array {
            name: name.to_owned(),
            matrix: (shape.len() == 2).then(|| (shape[0], shape[1])),
            list: (shape.len() == 1).then(|| shape[0]),
        }
    }

    fn plan(arrays: &[Array]) -> Result<Plan> {
        Plan::new(arrays, &ReadOptions::default(), &Monitor::silent())
    }

    #[test]
    fn the_common_row_count_decides() {
        let arrays = [
            array("label", &[5]),
            array("index", &[9]),
            array("a", &[5, 2]),
            array("b", &[5, 3]),
            array("other", &[9, 3]),
        ];
        let found = plan(&arrays).unwrap();
        assert_eq!(found.shape().views, [("a".into(), 2), ("b".into(), 3)]);
        assert_eq!((found.rows, found.labels), (5, vec![0]));
        assert!(plan(&arrays[..2]).is_err());
        let e = plan(&[array("y", &[4]), array("a", &[5, 2])]).unwrap_err();
        assert!(e.to_string().contains("4 labels"), "{e}");
    }

    #[test]
    fn parts_are_stacked_train_first() {
        let arrays = [
            array("image_test", &[2, 4]),
            array("image_train", &[3, 4]),
            array("text_train", &[3, 1]),
            array("text_test", &[2, 1]),
            array("label_train", &[3]),
            array("label_test", &[2]),
        ];
        let found = plan(&arrays).unwrap();
        assert_eq!(found.rows, 5);
        assert_eq!(found.labels, [4, 5]);
        assert_eq!(found.views[0].arrays, [1, 0]);
        assert_eq!(found.views[1].arrays, [2, 3]);
        let mut parts = Parts::default();
        found.name_parts(&mut parts);
        assert_eq!(parts.ids.unwrap()[2..4], ["train-2", "test-0"]);
        // A view without a test part: nothing to stack.
        assert!(plan(&arrays[1..3]).unwrap().parts.is_empty());
    }
}
