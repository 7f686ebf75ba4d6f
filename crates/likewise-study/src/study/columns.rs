//! Which columns a selection kept.

use std::fmt;

use likewise::learn::Closed;
use likewise::model::{Form, Model as Metric};
use likewise_nn::Model;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::results::Results;
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

impl Results {
    /// Notes which columns the model compares, by their numbers, where the recipe selects some.
    pub(super) fn tell_columns(&mut self, recipe: &Recipe, model: &Model) {
        let Model::Closed(Metric::Metric(metric)) = model else {
            return;
        };
        let Form::Transform(map) = &metric.form else {
            return;
        };
        // Directions of a start that turns the features are no columns of theirs.
        if recipe.selects_columns() && is_selection(map) {
            let kept = kept(map).into_iter().map(ColumnName::Number);
            self.kept_columns = kept.collect();
            self.n_columns = Some(map.ncols());
        }
    }

    /// Puts names in the place of the numbers of kept columns; unless there is one for every column, these stay.
    pub(crate) fn name_columns(&mut self, names: &[String]) {
        if self.n_columns != Some(names.len()) {
            return;
        }
        for column in &mut self.kept_columns {
            if let ColumnName::Number(number) = *column
                && let Some(name) = names.get(number)
            {
                *column = ColumnName::Name(name.clone());
            }
        }
    }

    /// Which columns were kept, where some were selected, in one line.
    pub fn columns_in_words(&self) -> Option<String> {
        let of = self.n_columns?;
        let kept = &self.kept_columns;
        let shown: Vec<String> = (kept.iter().take(SHOWN)).map(ToString::to_string).collect();
        let more = match kept.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let columns = if of == 1 { "column" } else { "columns" };
        Some(format!(
            "kept {} of {of} {columns}: {}{more}",
            kept.len(),
            shown.join(", ")
        ))
    }
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
