//! What reading may take, checked before it is taken.

use std::cell::OnceCell;

use crate::{Error, ErrorKind, Result, memory};

/// Bytes that an item takes beside its features: its id, its place in the table of ids, its
/// label and its part of the split.
const ITEM: u64 = 128;

/// Bytes that a word takes beside its letters.
pub(crate) const WORD: u64 = 48;

/// Bytes that need no question to the system: 16 MiB.
const FREE: u64 = 1 << 24;

/// The memory that one file may take.
#[derive(Debug)]
pub(crate) struct Budget {
    given: Option<u64>,
    /// The limit given, else that of the machine when it was first asked.
    limit: OnceCell<u64>,
    used: u64,
}

impl Budget {
    /// A budget of `limit` bytes, or of what the machine has.
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self {
            given: limit,
            limit: OnceCell::new(),
            used: 0,
        }
    }

    /// As much once more, for another use that is over before the rest is taken.
    pub(crate) fn again(&self) -> Self {
        Self {
            given: self.given,
            limit: self.limit.clone(),
            used: 0,
        }
    }

    fn limit(&self) -> u64 {
        *self.limit.get_or_init(|| memory::allowed(self.given))
    }

    /// Accounts for a matrix of `rows x columns` `f32` values; returns their number.
    pub(crate) fn matrix(&mut self, rows: usize, columns: usize) -> Result<usize> {
        let values = rows.checked_mul(columns);
        let bytes = values.and_then(|v| v.checked_mul(4)).ok_or_else(|| {
            Error::format(format!(
                "a matrix of {rows} x {columns} does not fit into memory; the header must be wrong"
            ))
        })?;
        self.take(bytes as u64)?;
        Ok(bytes / 4)
    }

    /// Accounts for so many items, without their features.
    pub(crate) fn items(&mut self, items: usize) -> Result<()> {
        self.take(ITEM.saturating_mul(items as u64))
    }

    /// Accounts for `count` values of `size` bytes.
    pub(crate) fn values(&mut self, count: usize, size: u64) -> Result<()> {
        self.take(size.saturating_mul(count as u64))
    }

    /// Accounts for a word.
    pub(crate) fn word(&mut self, word: &str) -> Result<()> {
        self.take(WORD + word.len() as u64)
    }

    pub(crate) fn take(&mut self, bytes: u64) -> Result<()> {
        self.check(bytes)?;
        self.used += bytes;
        Ok(())
    }

    /// Fails where `more` bytes beside those taken would be too much.
    pub(crate) fn check(&self, more: u64) -> Result<()> {
        let all = self.used.saturating_add(more);
        if (self.given.is_none() && all <= FREE) || all <= self.limit() {
            return Ok(());
        }
        let (need, limit) = (memory::text(all), memory::text(self.limit()));
        Err(Error::new(
            ErrorKind::Memory,
            if self.given.is_some() {
                format!(
                    "the data need {need} of memory, but {limit} are allowed; choose one view or \
                     allow more"
                )
            } else {
                format!(
                    "the data need {need} of memory, but there are {limit} to be had; choose one \
                     view, close other programs, or use a machine with more; a file that is small \
                     for that is damaged"
                )
            },
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_names_both_figures() {
        let mut budget = Budget::new(Some(100));
        assert_eq!(budget.matrix(5, 4).unwrap(), 20);
        let e = budget.matrix(1, 10).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Memory);
        assert!(e.to_string().contains("120 bytes"), "{e}");
        assert!(e.to_string().contains("100 bytes"), "{e}");
        assert!(budget.items(1).is_err() && budget.take(20).is_ok());
    }

    #[test]
    fn without_a_limit_it_is_that_of_the_machine() {
        let mut budget = Budget::new(None);
        assert!(budget.limit() > 0 && budget.limit() < u64::MAX / 2);
        assert_eq!(budget.again().limit(), budget.limit());
        assert!(budget.matrix(usize::MAX, 2).is_err());
        let e = budget.matrix(1 << 40, 1 << 10).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Memory);
        assert!(e.to_string().contains("to be had"), "{e}");
    }
}
