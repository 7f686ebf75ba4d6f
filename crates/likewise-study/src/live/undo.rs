//! Taking a change of labels back.

use std::collections::HashSet;

use super::identity::astray;
use super::{Done, Labeled, Live};
use crate::journal::{Change, Entry, What};
use crate::{Result, usage};

impl Live {
    /// Takes the last entry back that was not taken back yet, of `who` if given; `None` where there is
    /// none. The labels are then those of the entries that stand without it, so that items that were labeled
    /// since keep what they were given then.
    ///
    /// Fails where a later change of classes would mean something else without it, where two classes would be one or one
    /// would be two, and where the journal cannot be written.
    pub fn undo(&mut self, who: Option<String>) -> Result<Option<Done>> {
        let Some(last) = self.journal.last(who.as_deref()).cloned() else {
            return Ok(None);
        };
        let others = self.journal.standing();
        let others = others.filter(|entry| entry.sequence != last.sequence);
        let labeled = self.first.after(others, &self.items.by_id);
        self.check_apart(&last, &labeled)?;
        let before = self.shown.get();
        let back = self.differing(before.labeled(), &labeled);
        let moved: HashSet<&str> = back.iter().map(|change| change.id.as_str()).collect();
        let later = self.journal.standing();
        let later =
            later.filter(|entry| entry.sequence > last.sequence && entry.what == What::Label);
        let since: HashSet<&str> = later
            .flat_map(|entry| &entry.items)
            .map(|change| change.id.as_str())
            .collect();
        let own = last.items.iter().map(|change| change.id.as_str());
        let kept = own
            .filter(|id| since.contains(id) && !moved.contains(id))
            .count();
        let (class_kept, heir) = match &last.what {
            What::AddClass(name) => (Some(name), None),
            What::RenameClass { from, to } => (Some(to), labeled.class(from)),
            _ => (None, None),
        };
        let class_kept = class_kept
            .filter(|name| labeled.class(name).is_some())
            .cloned();
        let entry = self
            .journal
            .append(who, What::Undo(last.sequence), back)?
            .clone();
        let done = self.show(labeled, heir, entry, &[]);
        Ok(Some(Done {
            kept,
            class_kept,
            ..done
        }))
    }

    /// Fails where another change would mean something else without this entry, or two classes would be one: the labels
    /// are then these.
    fn check_apart(&self, entry: &Entry, then: &Labeled) -> Result<()> {
        // Of labels no other item moves.
        if entry.what == What::Label {
            return Ok(());
        }
        if let Some(new) = astray(entry, self.journal.standing()) {
            let (What::AddClass(name)
            | What::RenameClass { to: name, .. }
            | What::MergeClass { from: name, .. }) = &new.what
            else {
                return Ok(());
            };
            let by = new.who.as_ref().map(|who| format!(" by {who}"));
            return Err(usage(format!(
                "the class \"{name}\" has been changed since (change {}{}), on top of this: take that back first",
                new.sequence,
                by.unwrap_or_default()
            )));
        }
        let shown = self.shown.get();
        let now = shown.labeled();
        match &entry.what {
            What::RenameClass { from, to } if now.class(from).is_some() => {
                return Err(usage(format!(
                    "\"{to}\" and the class \"{from}\" that is there by now would be one class, \"{from}\"; rename \"{from}\", \
                     and then \"{to}\" to \"{from}\""
                )));
            }
            What::RenameClass { from, to } if then.has_items(to) => {
                return Err(usage(format!(
                    "items were labeled \"{to}\" since, and would stay so beside \"{from}\"; rename \"{to}\" to \"{from}\" \
                     instead, and they go with it"
                )));
            }
            What::MergeClass { from, .. } if now.has_items(from) => {
                return Err(usage(format!(
                    "what comes back and the items that are labeled \"{from}\" by now would be one class, \"{from}\"; give \
                     these another label first"
                )));
            }
            _ => {}
        }
        if let Some([a, b, one]) = now.made_one(then) {
            return Err(usage(format!(
                "\"{a}\" and \"{b}\" would be one class, \"{one}\"; rename or relabel one of them first"
            )));
        }
        Ok(())
    }

    /// The changes that lead from labels to others.
    fn differing(&self, from: &Labeled, to: &Labeled) -> Vec<Change> {
        let differ = |&row: &usize| from.given(row) != to.given(row);
        let rows = (0..self.items.rows.len()).filter(differ);
        let each = rows.map(|row| self.change(from, row, to.given(row)));
        each.collect()
    }
}
