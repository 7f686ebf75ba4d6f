//! Columns of single values as rows of cells.

use likewise::Monitor;

use super::Table;
use super::column::Holds;
use crate::Result;
use crate::budget::Budget;
use crate::options::ReadOptions;
use crate::role::Role;
use crate::table::cells::{Cell, Each, Place, Rows};

/// The columns of a table, as they are held while it is read.
pub(super) struct Columns {
    names: Vec<String>,
    held: Vec<Values>,
    rows: usize,
}

enum Values {
    Words(Vec<Option<String>>),
    Numbers(Vec<Option<f32>>),
    Flags(Vec<Option<f32>>),
    Dates(Vec<Option<f32>>),
}

impl Columns {
    /// Reads all columns of single values: they stand one after the other in the file.
    pub(super) fn read(table: &Table, options: &ReadOptions) -> Result<Self> {
        let mut budget = Budget::new(options.max_memory);
        let (mut names, mut columns) = (Vec::new(), Vec::new());
        for leaf in table.leaves.iter().filter(|leaf| !leaf.list) {
            names.push(leaf.name.clone());
            // Numbers of rows are told apart beyond those that fit a feature.
            let word = matches!(
                leaf.role,
                Role::Id | Role::Label | Role::Split | Role::Index
            );
            columns.push(if leaf.is_text() || word {
                Values::Words(table.words(&leaf.name, &mut budget)?)
            } else if leaf.holds == Holds::Flags {
                Values::Flags(table.numbers(&leaf.name, &mut budget)?)
            } else if leaf.is_date() {
                Values::Dates(table.numbers(&leaf.name, &mut budget)?)
            } else {
                Values::Numbers(table.numbers(&leaf.name, &mut budget)?)
            });
        }
        Ok(Self {
            names,
            held: columns,
            rows: table.rows,
        })
    }
}

impl Rows for Columns {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn said(&self) -> Vec<String> {
        Vec::new()
    }

    /// Rows are counted from 0 here, as those of all arrays.
    fn counted(&self) -> Option<&'static str> {
        None
    }

    /// A row is an item, whatever the columns that are taken hold.
    fn skips_blank(&self) -> bool {
        false
    }

    fn each(&mut self, monitor: &Monitor, each: Each) -> Result<()> {
        for row in 0..self.rows {
            let cells: Vec<Cell> = (self.held.iter())
                .map(|column| match column {
                    Values::Words(words) => match words[row].as_deref() {
                        None | Some("") => Cell::Missing,
                        Some(word) => Cell::Text(word),
                    },
                    Values::Numbers(numbers) => match numbers[row] {
                        Some(number) if !number.is_nan() => Cell::Number(f64::from(number)),
                        _ => Cell::Missing,
                    },
                    Values::Flags(flags) => {
                        flags[row].map_or(Cell::Missing, |flag| Cell::Flag(flag != 0.0))
                    }
                    Values::Dates(dates) => {
                        dates[row].map_or(Cell::Missing, |days| Cell::Date(days.into()))
                    }
                })
                .collect();
            if row % 1024 == 0 {
                monitor.check()?;
            }
            let place = Place {
                what: "row",
                number: row as u64,
            };
            each(place, &cells)?;
        }
        Ok(())
    }
}
