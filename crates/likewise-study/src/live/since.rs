//! The labels of a journal, and those that a run was fitted with since.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use likewise::Monitor;
use likewise_io::items::ItemRow;

use super::{Items, Labeled, warn_of_strangers};
use crate::journal::{self, Change, Entry, Journal, Place, What};
use crate::run_folder::{OUTSIDE, RunFolder};
use crate::{Result, plain};

/// The items of a run with the labels that were given to it live since it was fitted.
#[derive(Debug, Clone)]
pub struct Since {
    /// The items.
    pub items: Vec<ItemRow>,
    /// To how many a label was given, or taken away.
    pub given: usize,
    /// How many have another label than in the run, be it by another name of their class.
    pub changed: usize,
}

/// The items of a run as they are labeled by now. The run may be served meanwhile.
///
/// Labels of items that the run has not are left out, and counted in a warning.
///
/// Fails where its journal is damaged.
pub fn since(run: &Path, items: Vec<ItemRow>, monitor: &Monitor) -> Result<Since> {
    let entries = journal::entries(run)?;
    if entries.is_empty() {
        let (given, changed) = (0, 0);
        return Ok(Since {
            items,
            given,
            changed,
        });
    }
    let items = Items::new(items);
    warn_of_strangers(&entries, &items.by_id, monitor);
    let own = Labeled::of(items.rows())?;
    let labeled = own.replayed(&entries, &items.by_id)?;
    // Who gives a class another name gives no label.
    let learned = RunFolder::read_by(run, RunFolder::record).ok();
    let learned = learned.and_then(|record| record.journal);
    let known = Place::of(learned.as_ref(), &entries).len();
    let by_class = journal::standing(&entries)
        .filter(|entry| entry.sequence > known as u64 && entry.what != What::Label);
    let turned = own.after(by_class, &items.by_id);
    let differ = |of: &Labeled| {
        let rows = 0..items.rows().len();
        rows.filter(|&row| labeled.name(row) != of.name(row))
            .count()
    };
    Ok(Since {
        given: differ(&turned),
        changed: differ(&own),
        items: labeled.rows(items.rows()),
    })
}

/// Remarks that there are newer labels or names of classes than a run knows, for whoever shows what the run knows.
pub fn remark_newer(run: &Path, monitor: &Monitor) {
    let newer = || {
        let record = RunFolder::read_by(run, RunFolder::record)?;
        let entries = journal::entries(run)?;
        let known = Place::of(record.journal.as_ref(), &entries).len();
        if known == entries.len() {
            return Ok(0);
        }
        let items = RunFolder::read_by(run, RunFolder::items)?;
        Ok::<usize, crate::Error>(since(run, items, &Monitor::silent())?.changed)
    };
    // Where one of them cannot be read, there is nothing to say here.
    if newer().is_ok_and(|changed| changed > 0) {
        monitor.remark(format!(
            "{}: labels were given or classes renamed on its page since it was fitted, which does not count here before it \
             is fitted again",
            run.display()
        ));
    }
}

/// Writes into the journal of a run what the labels of `items` say now and those `before` did not, and how many these
/// are: whoever adds labels to a fit means them, in whatever model, and over older ones; they can be taken back like all
/// others. Where the fit `hides` labels, only those of items whose label is in sight already: others it may hide as well.
/// Classes that come with them are remarked, since a name that was given away, or is misspelled, is one as well.
///
/// Fails where the journal cannot be written.
pub fn note(
    journal: &mut Journal,
    before: &[ItemRow],
    items: &[ItemRow],
    hides: bool,
    files: &str,
    monitor: &Monitor,
) -> Result<usize> {
    let was = Labeled::of(before)?;
    let places: HashMap<&str, usize> = before.iter().map(|item| &*item.id).zip(0..).collect();
    let change = |item: &ItemRow| {
        let new = item.label.as_deref()?;
        let Some(&place) = places.get(&*item.id) else {
            return (!hides).then(|| Change {
                id: item.id.clone(),
                old: None,
                new: Some(new.to_owned()),
                hidden: false,
            });
        };
        let is_new = was.name(place) != Some(new);
        let is_meant = !hides || was.given(place).is_some();
        (is_new && is_meant).then(|| was.change(place, item, Some(new)))
    };
    let changes: Vec<Change> = items.iter().filter_map(change).collect();
    let count = changes.len();
    if count > 0 {
        remark_new_classes(&changes, &was, journal.entries(), monitor);
        journal.append_file(files, What::Label, changes)?;
    }
    Ok(count)
}

/// Most new classes that are named.
const NAMED: usize = 10;

fn remark_new_classes(changes: &[Change], was: &Labeled, entries: &[Entry], monitor: &Monitor) {
    let mut new: BTreeMap<&str, usize> = BTreeMap::new();
    let names = changes.iter().filter_map(|change| change.new.as_deref());
    for name in names.filter(|&name| name != OUTSIDE && was.class(name).is_none()) {
        *new.entry(name).or_default() += 1;
    }
    if new.is_empty() {
        return;
    }
    let count = new.len();
    let told = new.into_iter().take(NAMED).map(|(name, items)| {
        let items = if items == 1 {
            "1 item".to_owned()
        } else {
            format!("{items} items")
        };
        let was_called = journal::standing(entries)
            .rev()
            .find_map(|entry| match &entry.what {
                What::RenameClass { from, to } if from == name => {
                    Some((to, "has this name instead", entry.sequence))
                }
                What::MergeClass { from, into } if from == name => {
                    Some((into, "has its items", entry.sequence))
                }
                _ => None,
            });
        let since = was_called.map(|(now, how, sequence)| {
            format!(
                "; since change {sequence} on its page \"{}\" {how}",
                plain::name(now)
            )
        });
        format!(
            "\"{}\" ({items}{})",
            plain::name(name),
            since.unwrap_or_default()
        )
    });
    let told = told.collect::<Vec<_>>().join(", ");
    let more = if count > NAMED {
        format!(" and {} more", count - NAMED)
    } else {
        String::new()
    };
    monitor.remark(format!("classes that the run did not have: {told}{more}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(labels: &[&str]) -> Vec<ItemRow> {
        let each = labels.iter().enumerate().map(|(i, label)| ItemRow {
            id: i.to_string(),
            label: (!label.is_empty()).then(|| (*label).to_owned()),
            ..ItemRow::default()
        });
        each.collect()
    }

    fn change(id: &str, old: Option<&str>, new: Option<&str>) -> Change {
        Change {
            id: id.into(),
            old: old.map(str::to_owned),
            new: new.map(str::to_owned),
            hidden: false,
        }
    }

    fn labels(run: &Path, fitted: &[&str]) -> Vec<Option<String>> {
        let now = since(run, items(fitted), &Monitor::silent()).unwrap();
        now.items.into_iter().map(|row| row.label).collect()
    }

    fn words(labels: &[&str]) -> Vec<Option<String>> {
        items(labels).into_iter().map(|item| item.label).collect()
    }

    #[test]
    fn labels_of_a_newer_fit_win_over_older_ones_of_the_page_and_can_be_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path();
        {
            let (mut journal, _) = Journal::open(run).unwrap();
            let give = vec![
                change("0", None, Some("a")),
                change("1", Some("b"), Some("a")),
                change("2", None, Some("b")),
            ];
            journal.append(None, What::Label, give).unwrap();
            journal.append(None, What::Undo(1), vec![]).unwrap();
            let give = vec![change("0", None, Some("a"))];
            journal.append(None, What::Label, give).unwrap();
            let (from, into) = ("c".to_owned(), "b".to_owned());
            let merge = What::MergeClass { from, into };
            journal.append(None, merge, vec![]).unwrap();
        }
        // Fitted anew: a file said b of the first, a of the third, which an undo had left without a label, and c
        // of the fourth, a class that was merged.
        let fitted = ["b", "b", "a", "c", "", "a"];
        assert_eq!(labels(run, &fitted), words(&["a", "b", "", "b", "", "a"]));
        let before = items(&["a", "b", "", "b", "", "a"]);
        let note = |before: &[ItemRow]| {
            let (mut journal, _) = Journal::open(run).unwrap();
            let silent = Monitor::silent();
            super::note(
                &mut journal,
                before,
                &items(&fitted),
                false,
                "new.csv",
                &silent,
            )
            .unwrap()
        };
        assert_eq!(note(&before), 3);
        assert_eq!(labels(run, &fitted), words(&fitted));
        assert_eq!(note(&items(&fitted)), 0);
        // An earlier model, which knew none of these, has them as well.
        let older = ["", "b", "", "c", "", "a"];
        assert_eq!(labels(run, &older), words(&fitted));
        let entries = journal::entries(run).unwrap();
        assert_eq!(entries.len(), 5);
        assert_eq!(entries[4].who.as_deref(), Some("new.csv"));
        assert!(entries[4].file && !entries[2].file);
        assert_eq!(entries[4].items[0], change("0", Some("a"), Some("b")));
        {
            let (mut journal, _) = Journal::open(run).unwrap();
            journal.append(None, What::Undo(5), vec![]).unwrap();
        }
        assert_eq!(labels(run, &fitted), words(&["a", "b", "", "b", "", "a"]));
    }

    #[test]
    fn what_a_fit_may_hide_is_not_noted() {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(folder.path()).unwrap();
        let mut before = items(&["a", "b", ""]);
        for (item, drawn) in before.iter_mut().zip(["0", "", ""]) {
            item.drawn = Some(drawn.to_owned());
        }
        let now = items(&["b", "a", "a", "b"]);
        let silent = Monitor::silent();
        let count = note(&mut journal, &before, &now, true, "x", &silent).unwrap();
        assert_eq!(count, 1);
        assert_eq!(
            journal.entries()[0].items,
            [change("0", Some("a"), Some("b"))]
        );
    }
}
