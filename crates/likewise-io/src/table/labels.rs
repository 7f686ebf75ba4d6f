//! Tables of labels, in the forms that give rows of cells.

use likewise::Monitor;

use super::cells::{Cell, Rows, elsewhere};
use super::survey::word;
use crate::budget::Budget;
use crate::number::push;
use crate::options::TableOptions;
use crate::role::Role;
use crate::words::{LabelTable, Words, roles_of_labels};
use crate::{Error, Result};

/// Reads the labels of a table, and the ids if there are some; other columns are ignored.
pub(crate) fn labels_of(
    rows: &mut dyn Rows,
    asked: &TableOptions,
    own_id: Option<&str>,
    monitor: &Monitor,
) -> Result<LabelTable> {
    let names: Vec<&str> = rows.names().iter().map(String::as_str).collect();
    let read = || {
        let mut roles = Role::of_columns(&names, asked)?;
        let named = roles_of_labels(&names, &mut roles, own_id)?;
        Ok((roles, named))
    };
    let (roles, named) = read().map_err(|e: Error| e.with(&elsewhere(rows)))?;
    let (mut words, mut lines) = (Words::default(), Vec::new());
    let budget = Budget::new(None);
    rows.each(monitor, &mut |place, cells| {
        if cells.iter().all(|cell| *cell == Cell::Missing) {
            return Ok(());
        }
        push(&mut lines, place.number)?;
        for (cell, &role) in cells.iter().zip(&roles) {
            words.take(role, word(cell).as_deref().unwrap_or(""), place.number)?;
        }
        budget.check(words.bytes)
    })?;
    Ok(LabelTable {
        ids: roles.contains(&Role::Id).then_some(words.ids),
        labels: words.labels,
        lines,
        named,
    })
}
