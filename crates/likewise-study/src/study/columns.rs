//! Which columns a selection kept.

use std::fmt;

use likewise::learn::Closed;
use likewise::model::{Form, Model as Metric};
use likewise_nn::Model;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::recipe::{Learner, Recipe};

/// Most columns that a line names.
const SHOWN: usize = 20;

/// How a column is told: by its name in a table, else by its number, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ColumnName {
    /// Of features without names.
    Number(usize),
    /// Of a table.
    Name(String),
}

impl fmt::Display for ColumnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

impl Recipe {
    /// Whether it learns which columns to keep.
    fn selects_columns(&self) -> bool {
        matches!(
            &self.learner,
            Learner::Closed(
                Closed::Cfs(_) | Closed::Dlsr(_) | Closed::LaplacianScore(_) | Closed::Mcfs(_)
            )
        )
    }
}

/// The columns that the model compares, by their numbers, and how many there are, where the recipe selects some.
pub(super) fn of_model(recipe: &Recipe, model: &Model) -> Option<(Vec<ColumnName>, usize)> {
    let Model::Closed(Metric::Metric(metric)) = model else {
        return None;
    };
    let Form::Transform(map) = &metric.form else {
        return None;
    };
    // Directions of a start that turns the features are no columns of theirs.
    let selected = recipe.selects_columns() && is_selection(map);
    let numbers = || kept(map).into_iter().map(ColumnName::Number).collect();
    selected.then(|| (numbers(), map.ncols()))
}

/// Puts names, one for every column, in the place of numbers.
pub(super) fn name(columns: &mut [ColumnName], names: &[String]) {
    for column in columns {
        if let ColumnName::Number(number) = *column
            && let Some(name) = names.get(number)
        {
            *column = ColumnName::Name(name.clone());
        }
    }
}

/// Which of so many columns were kept, in one line.
pub(super) fn in_words(kept: &[ColumnName], of: usize) -> String {
    let shown: Vec<String> = (kept.iter().take(SHOWN)).map(ToString::to_string).collect();
    let more = match kept.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let columns = if of == 1 { "column" } else { "columns" };
    format!(
        "kept {} of {of} {columns}: {}{more}",
        kept.len(),
        shown.join(", ")
    )
}

/// Whether every row of a map is one column, perhaps scaled.
fn is_selection(map: &Array2<f64>) -> bool {
    let mut rows = map.rows().into_iter();
    rows.all(|row| row.iter().filter(|&&v| v != 0.0).count() == 1)
}

/// The columns of a map that are not 0 everywhere.
fn kept(map: &Array2<f64>) -> Vec<usize> {
    let columns = map.columns().into_iter().enumerate();
    let used = columns.filter(|(_, column)| column.iter().any(|&v| v != 0.0));
    used.map(|(number, _)| number).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn a_map_that_turns_columns_selects_none() {
        let map = array![[0.0, 0.0, 2.0], [1.0, 0.0, 0.0]];
        assert!(is_selection(&map));
        assert_eq!(kept(&map), [0, 2]);
        assert!(!is_selection(&array![[0.6, 0.8], [0.0, 1.0]]));
    }
}
