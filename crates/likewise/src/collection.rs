//! A collection: items with views, labels and a split.

use std::ops::Range;

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use crate::error::Hint;
use crate::matrix::l2_normalize;
use crate::{Error, ErrorKind, Labels, Result};

/// The part of a split that an item belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Fitted on.
    Train,
    /// Chooses between models; never fitted on.
    Validation,
    /// Asks, and is not searched.
    Query,
    /// Is searched, and does not ask.
    Gallery,
    /// Asks and is searched; the query itself is left out by index.
    Test,
}

impl Part {
    /// The word for this part in files.
    pub fn name(self) -> &'static str {
        match self {
            Part::Train => "train",
            Part::Validation => "validation",
            Part::Query => "query",
            Part::Gallery => "gallery",
            Part::Test => "test",
        }
    }

    /// The part that a word in a file means; `val` and `dev` mean validation.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word.trim().to_ascii_lowercase().as_str() {
            "train" | "training" => Part::Train,
            "validation" | "val" | "valid" | "dev" => Part::Validation,
            "query" => Part::Query,
            "gallery" => Part::Gallery,
            "test" => Part::Test,
            _ => return None,
        })
    }
}

/// One feature matrix of the items.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// Name of the view.
    pub name: String,
    /// Features, one row an item. A missing row is all zeros.
    pub matrix: Array2<f32>,
    /// Which items have this view; `None` if all do.
    pub present: Option<Vec<bool>>,
}

/// A view among several that stand side by side in one matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Columns {
    /// Name of the view.
    pub name: String,
    /// Its columns.
    pub range: Range<usize>,
}

/// Items with stable ids, one or more views, and labels and a split where known.
#[derive(Debug, Clone, PartialEq)]
pub struct Collection {
    ids: Vec<String>,
    views: Vec<View>,
    columns: Vec<Columns>,
    /// Labels, if any source gave them.
    pub labels: Option<Labels>,
    /// The part of every item, if the source says it.
    pub split: Option<Vec<Part>>,
}

impl Collection {
    /// A collection of at least one view; ids must be unique, and every view must have
    /// one row an item.
    pub fn new(ids: Vec<String>, views: Vec<View>) -> Result<Self> {
        if views.is_empty() {
            return Err(Error::data(
                "no feature matrix found; a collection needs a view",
            ));
        }
        for view in &views {
            if view.matrix.nrows() != ids.len() {
                return Err(Error::data(format!(
                    "view {} has {} rows, but there are {} ids",
                    view.name,
                    view.matrix.nrows(),
                    ids.len()
                )));
            }
        }
        let mut seen = std::collections::HashMap::with_capacity(ids.len());
        for (row, id) in ids.iter().enumerate() {
            if let Some(first) = seen.insert(id.as_str(), row) {
                return Err(Error::data(format!(
                    "id \"{id}\" stands in rows {first} and {row} (the first is row 0); ids must be \
                     unique"
                )));
            }
        }
        Ok(Self {
            ids,
            views,
            columns: vec![],
            labels: None,
            split: None,
        })
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Ids, by item.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// All views.
    pub fn views(&self) -> &[View] {
        &self.views
    }

    /// The views that stand side by side in the only one, [joined](Self::joined) or
    /// [beside](Self::beside) each other, each by its columns; empty where it was not made of several.
    pub fn columns(&self) -> &[Columns] {
        &self.columns
    }

    /// The view of this name; without a name, the only one.
    ///
    /// Fails with the list of names if there is no such view, or several and no name.
    pub fn view(&self, name: Option<&str>) -> Result<&View> {
        Ok(&self.views[self.find(name)?])
    }

    /// As [`view`](Self::view), giving up the rest.
    pub fn into_view(mut self, name: Option<&str>) -> Result<View> {
        let at = self.find(name)?;
        Ok(self.views.swap_remove(at))
    }

    /// The same items with one view in the place of all: several views side by side, each of rows
    /// of length one over the root of their number, so that the cosine of joined rows is the
    /// mean of the cosines in the views. Named by their names with `+` between.
    ///
    /// An item that lacks one of them lacks the joined one. Fails on an unknown name, on one that
    /// stands twice, and on fewer than two.
    ///
    /// ```
    /// use likewise::{Collection, View};
    /// let view = |name: &str, matrix| View { name: name.into(), matrix, present: None };
    /// let shape = view("shape", ndarray::array![[3.0, 4.0]]);
    /// let colour = view("colour", ndarray::array![[2.0]]);
    /// let items = Collection::new(vec!["a".into()], vec![shape, colour])?;
    /// let joined = items.joined(&["shape", "colour"])?;
    /// let row = &joined.view(Some("shape+colour"))?.matrix;
    /// assert!((row[[0, 1]] - 0.8 / 2_f32.sqrt()).abs() < 1e-6);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn joined(self, names: &[&str]) -> Result<Self> {
        let share = (names.len() as f32).sqrt().recip();
        self.side_by_side(names, |matrix| l2_normalize(matrix.clone()) * share)
    }

    /// As [`joined`](Self::joined), each view as it is: for learners that see views apart, by their
    /// [`columns`](Self::columns).
    ///
    /// ```
    /// use likewise::{Collection, View};
    /// let view = |name: &str, matrix| View { name: name.into(), matrix, present: None };
    /// let shape = view("shape", ndarray::array![[3.0, 4.0]]);
    /// let colour = view("colour", ndarray::array![[2.0]]);
    /// let items = Collection::new(vec!["a".into()], vec![shape, colour])?;
    /// let beside = items.beside(&["colour", "shape"])?;
    /// assert_eq!(beside.view(Some("colour+shape"))?.matrix, ndarray::array![[2.0, 3.0, 4.0]]);
    /// assert_eq!(beside.columns()[1].range, 1..3);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn beside(self, names: &[&str]) -> Result<Self> {
        self.side_by_side(names, Array2::clone)
    }

    fn side_by_side(
        mut self,
        names: &[&str],
        part: impl Fn(&Array2<f32>) -> Array2<f32>,
    ) -> Result<Self> {
        let twice = |(place, name): (usize, &&str)| names[..place].contains(name);
        if names.len() < 2 || names.iter().enumerate().any(twice) {
            let rule = "names two views or more, each once";
            return Err(Error::parameter("view", names.join("+"), rule));
        }
        let views: Vec<&View> = (names.iter())
            .map(|name| self.view(Some(name)))
            .collect::<Result<_>>()?;
        let mut columns = Vec::with_capacity(names.len());
        let mut first = 0;
        for view in &views {
            let last = first + view.matrix.ncols();
            columns.push(Columns {
                name: view.name.clone(),
                range: first..last,
            });
            first = last;
        }
        let parts: Vec<Array2<f32>> = views.iter().map(|view| part(&view.matrix)).collect();
        let parts: Vec<_> = parts.iter().map(|part| part.view()).collect();
        let matrix = ndarray::concatenate(Axis(1), &parts)
            .map_err(|e| Error::new(ErrorKind::Internal, format!("views side by side: {e}")))?;
        let has = |item: usize| {
            let mut present = views.iter().filter_map(|view| view.present.as_deref());
            present.all(|present| present[item])
        };
        let some_lack = views.iter().any(|view| view.present.is_some());
        let present = some_lack.then(|| (0..self.ids.len()).map(has).collect());
        let name = names.join("+");
        self.views = vec![View {
            name,
            matrix,
            present,
        }];
        self.columns = columns;
        Ok(self)
    }

    fn find(&self, name: Option<&str>) -> Result<usize> {
        // Of many thousand views the list is long, and seldom needed.
        let listed = || {
            let names: Vec<&str> = self.views.iter().map(|v| v.name.as_str()).collect();
            names.join(", ")
        };
        let wrong = |message: String| Error::new(ErrorKind::Parameter, message);
        match name {
            Some(name) => (self.views.iter())
                .position(|view| view.name == name)
                .ok_or_else(|| wrong(format!("no view \"{name}\"; there are: {}", listed()))),
            None if self.views.len() == 1 => Ok(0),
            None => {
                let message = format!("the data have several views ({})", listed());
                Err(wrong(message).hint(Hint::ChooseView))
            }
        }
    }

    /// The items at `rows` alone, in that order.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            ids: rows.iter().map(|&r| self.ids[r].clone()).collect(),
            views: self
                .views
                .iter()
                .map(|v| View {
                    name: v.name.clone(),
                    matrix: crate::matrix::select_rows(v.matrix.view(), rows),
                    present: v
                        .present
                        .as_ref()
                        .map(|p| rows.iter().map(|&r| p[r]).collect()),
                })
                .collect(),
            columns: self.columns.clone(),
            labels: self.labels.as_ref().map(|l| l.select(rows)),
            split: self
                .split
                .as_ref()
                .map(|s| rows.iter().map(|&r| s[r]).collect()),
        }
    }
}
