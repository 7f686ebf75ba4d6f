//! The items of a run, found by their ids.

use std::collections::HashMap;

use likewise_io::items::ItemRow;

/// The items of a run, which stay the same as labels change.
#[derive(Debug)]
pub struct Items {
    pub(super) rows: Vec<ItemRow>,
    pub(super) by_id: HashMap<String, u32>,
}

impl Items {
    /// Of the rows of `items.parquet`.
    pub fn new(rows: Vec<ItemRow>) -> Self {
        let ids = rows.iter().map(|item| item.id.clone());
        Self {
            by_id: ids.zip(0..).collect(),
            rows,
        }
    }

    /// As they stand in the run.
    pub fn rows(&self) -> &[ItemRow] {
        &self.rows
    }

    /// The row of an id.
    pub fn row(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).map(|&row| row as usize)
    }
}
