//! How a table was read, so that others are read in the same way.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Features that a column of text becomes.
pub(crate) const TEXT: usize = 256;

/// What is done where a number is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// The median of the column takes its place.
    #[default]
    Median,
    /// The line is left out.
    Drop,
}

/// What stands between the whole and the fraction of a number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decimal {
    /// 1234.5, perhaps 1,234.5
    #[default]
    Point,
    /// 1234,5, perhaps 1.234,5
    Comma,
}

/// How a table was read: which columns were taken, and how they became features.
///
/// It stands in the `config.json` of a run, so that new tables are read as the fitted one was:
/// the same columns in the same order, whatever else the new table holds, with the medians, scales and
/// categories of the old one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// The column of ids, where it does not say so itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The column of labels, where it does not say so itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What is done where a number is missing.
    #[serde(default)]
    pub missing: Missing,
    /// Whether words, and what is beyond all bounds, count as missing in a column of numbers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lenient: bool,
    /// How numbers are written, where a new table does not tell.
    #[serde(default)]
    pub decimal: Decimal,
    /// Whether columns of vectors stood beside these, each a view of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside_vectors: bool,
    /// The columns that became features, in their order.
    pub columns: Vec<Column>,
}

/// A column of a table and what it becomes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it becomes.
    #[serde(flatten)]
    pub taken: Taken,
}

/// What a column of a table becomes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Taken {
    /// One feature: the number, or days since 2000-01-01, less `mean`, divided by `deviation`.
    Number {
        /// The order of day and month, of dates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        date: Option<DateOrder>,
        /// What takes the place of a missing number; none: it may not be missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        median: Option<f32>,
        /// What is taken off.
        #[serde(default, skip_serializing_if = "is_zero")]
        mean: f64,
        /// What it is divided by.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        deviation: f64,
    },
    /// A feature for each of these words, 1 where it stands and 0 elsewhere; for a word that is
    /// none of them, all are 0.
    Category {
        /// The words.
        values: Vec<String>,
    },
    /// So many features: triples of letters, by their hashes.
    Text {
        /// How many.
        dimensions: usize,
    },
}

/// Which number of a date is the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DateOrder {
    /// 2024-05-31
    YearFirst,
    /// 31.5.2024
    DayFirst,
    /// 5/31/2024
    MonthFirst,
}

fn one() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_one(value: &f64) -> bool {
    value.to_bits() == 1.0_f64.to_bits()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_zero(value: &f64) -> bool {
    value.to_bits() == 0.0_f64.to_bits()
}

impl Taken {
    /// A number as it is.
    pub(crate) fn plain() -> Self {
        Self::Number {
            date: None,
            median: None,
            mean: 0.0,
            deviation: 1.0,
        }
    }

    /// Features that it becomes.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { .. } => 1,
            Self::Category { values } => values.len(),
            Self::Text { dimensions } => *dimensions,
        }
    }
}

impl Layout {
    /// Of a table of nothing but numbers, which are features as they are.
    pub fn of_numbers<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let column = |name: &str| Column {
            name: name.to_owned(),
            taken: Taken::plain(),
        };
        Self {
            id: None,
            label: None,
            missing: Missing::default(),
            lenient: false,
            decimal: Decimal::default(),
            beside_vectors: false,
            columns: names.into_iter().map(column).collect(),
        }
    }

    /// Whether columns of numbers with these names, read as they are, are the features.
    ///
    /// A file without a header has no names: its columns are told by their number.
    pub(crate) fn is_of_numbers<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
        named: bool,
    ) -> bool {
        let names: Vec<&str> = names.into_iter().collect();
        let counted = |(i, column): (usize, &Column)| column.name == i.to_string();
        let unnamed = !named || self.columns.iter().enumerate().all(counted);
        let mut both = self.columns.iter().zip(&names);
        names.len() == self.columns.len()
            && self.is_plain()
            && (unnamed || both.all(|(column, name)| column.name == *name))
    }

    /// Whether numbers were brought to one scale as they were read.
    pub fn is_scaled(&self) -> bool {
        let plain = Taken::plain();
        let number = |taken: &Taken| matches!(taken, Taken::Number { .. });
        (self.columns.iter()).any(|column| number(&column.taken) && column.taken != plain)
    }

    /// Whether all columns are numbers that stay as they are.
    pub fn is_plain(&self) -> bool {
        let plain = Taken::plain();
        self.columns.iter().all(|column| column.taken == plain)
    }

    /// Number of features.
    pub fn dimensions(&self) -> usize {
        let widths = self.columns.iter().map(|column| column.taken.width());
        widths.fold(0, usize::saturating_add)
    }

    /// Fails where this was not written by the reader of tables.
    pub(crate) fn check(&self) -> Result<()> {
        let sound = self.columns.iter().all(|column| match &column.taken {
            Taken::Number {
                median,
                mean,
                deviation,
                ..
            } => {
                let finite = mean.is_finite() && median.is_none_or(f32::is_finite);
                finite && deviation.is_finite() && *deviation > 0.0
            }
            Taken::Category { values } => !values.is_empty(),
            Taken::Text { dimensions } => *dimensions == TEXT,
        });
        if sound && !self.columns.is_empty() {
            return Ok(());
        }
        Err(Error::format("the layout of the fitted table is broken"))
    }

    /// Names of the features.
    pub fn features(&self) -> Vec<String> {
        let mut names = Vec::new();
        for Column { name, taken } in &self.columns {
            match taken {
                Taken::Number { .. } => names.push(name.clone()),
                Taken::Category { values } => {
                    names.extend(values.iter().map(|value| format!("{name} = {value}")));
                }
                Taken::Text { dimensions } => {
                    names.extend((0..*dimensions).map(|i| format!("{name} {i}")));
                }
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_survives_json_bit_for_bit() {
        let mut layout = Layout::of_numbers(["a"]);
        layout.columns.push(Column {
            name: "b".into(),
            taken: Taken::Number {
                date: Some(DateOrder::DayFirst),
                median: Some(0.1),
                mean: 1.0 / 3.0,
                deviation: 2.0_f64.sqrt(),
            },
        });
        layout.columns.push(Column {
            name: "c".into(),
            taken: Taken::Category {
                values: vec!["x".into(), "y".into()],
            },
        });
        let json = serde_json::to_string(&layout).unwrap();
        assert!(json.contains(r#"{"name":"a","kind":"number"}"#), "{json}");
        assert_eq!(serde_json::from_str::<Layout>(&json).unwrap(), layout);
        assert_eq!(layout.features(), ["a", "b", "c = x", "c = y"]);
        assert_eq!(layout.dimensions(), 4);
        assert!(!layout.is_of_numbers(["a"], true) && layout.is_scaled());
        let plain = Layout::of_numbers(["a", "b"]);
        assert!(!plain.is_scaled());
        assert!(plain.is_of_numbers(["a", "b"], true) && plain.is_of_numbers(["0", "1"], false));
        assert!(!plain.is_of_numbers(["b", "a"], true) && !plain.is_of_numbers(["a"], false));
    }
}
