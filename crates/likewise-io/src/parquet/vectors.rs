//! A column of vectors on its way into a matrix.

use super::column::Slot;
use crate::budget::Budget;
use crate::memory::tried;
use crate::number::push;
use crate::{Error, ErrorKind, Result};

/// A column of vectors on its way into a matrix.
#[derive(Default)]
pub(super) struct Vectors {
    pub(super) values: Vec<f32>,
    pub(super) present: Vec<bool>,
    pub(super) dimension: Option<usize>,
    /// Numbers of the vector that is being read.
    pub(super) length: usize,
    /// Items without a vector before the first vector.
    pending: usize,
}

impl Vectors {
    pub(super) fn push(&mut self, starts: bool, slot: Slot<f32>) -> Result<()> {
        let row = self.present.len().saturating_sub(usize::from(!starts));
        let value = match slot {
            Slot::Value(value) if value.is_finite() => value,
            Slot::NullList if starts => {
                return push(&mut self.present, false);
            }
            Slot::EmptyList if starts => {
                return Err(Error::value(format!(
                    "row {row}: a vector of no numbers; write null for an item without one"
                )));
            }
            slot => {
                let what = match slot {
                    Slot::Value(value) => value.to_string(),
                    _ => "null".to_owned(),
                };
                return Err(Error::value(format!(
                    "row {row}: number {} of the vector is {what}; remove or fill such values",
                    self.length
                )));
            }
        };
        if starts {
            push(&mut self.present, true)?;
        } else if self.present.last() != Some(&true) {
            return Err(Error::format(
                "a vector without a beginning; the file is damaged",
            ));
        }
        if self.dimension == Some(self.length) {
            return Err(Error::value(format!(
                "row {row}: a vector of more than {} numbers, as many as the first one has; \
                 all must be as long, or null",
                self.length
            )));
        }
        push(&mut self.values, value)?;
        self.length += 1;
        Ok(())
    }

    /// Ends the item read last: its vector must be as long as the others.
    pub(super) fn close(&mut self, rows: usize, budget: &mut Budget) -> Result<()> {
        let length = std::mem::take(&mut self.length);
        match (self.present.last(), self.dimension) {
            (Some(true), Some(dimension)) if length != dimension => {
                return Err(Error::value(format!(
                    "row {}: a vector of {length} numbers, but the first one has {dimension}; \
                     all must be as long, or null",
                    self.present.len() - 1
                )));
            }
            (None, _) | (Some(true), Some(_)) => {}
            (Some(true), None) => {
                budget.matrix(rows, length)?;
                self.dimension = Some(length);
                let first = std::mem::take(&mut self.values);
                self.fill(self.pending, length)?;
                self.values.extend(first);
            }
            (Some(false), Some(dimension)) => self.fill(1, dimension)?,
            (Some(false), None) => self.pending += 1,
        }
        Ok(())
    }

    /// Appends rows of zeros, for items without a vector.
    fn fill(&mut self, rows: usize, dimension: usize) -> Result<()> {
        let more = rows
            .checked_mul(dimension)
            .ok_or_else(|| Error::format("the vectors do not fit into memory"))?;
        tried(|| self.values.try_reserve(more)).map_err(|_| {
            Error::new(
                ErrorKind::Memory,
                "no memory for the vectors; choose another view",
            )
        })?;
        self.values.resize(self.values.len() + more, 0.0);
        Ok(())
    }
}
