//! The labels of a journal, and those that a run was fitted with since.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use likewise::Monitor;
use likewise_io::items::ItemRow;

use super::{Items, Labeled, warn_of_strangers};
use crate::journal::{self, Change, Entry, Journal, Place, What};
use crate::run_folder::{self, OUTSIDE, RunFolder};
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

/// The entries of the [journal](journal::entries) of a run: none where a run of other data has just taken the place of theirs,
/// and they were not put aside yet.
///
/// Fails where it is damaged before its last line.
pub fn entries(run: &Path) -> Result<Vec<Entry>> {
    if run_folder::are_of_others(run) {
        return Ok(vec![]);
    }
    journal::entries(run)
}

/// The items of a run as they are labeled by now. The run may be served meanwhile.
///
/// Labels of items that the run has not are left out, and counted in a warning.
///
/// Fails where its journal is damaged.
pub fn since(run: &Path, items: Vec<ItemRow>, monitor: &Monitor) -> Result<Since> {
    let entries = entries(run)?;
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
        let entries = entries(run)?;
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
            "{}: labels were given or classes renamed on its page since its labels were fitted, which does not count here",
            run.display()
        ));
    }
}

/// Labels of files that a fit adds to those of its run.
#[derive(Debug, Clone, Copy)]
pub struct Added<'a> {
    /// Names of the files.
    pub files: &'a str,
    /// Ids of the items to which they give a label.
    pub given: &'a HashSet<String>,
    /// Whether the fit hides labels.
    pub hides: bool,
}

/// Writes into the journal of a run what the labels of `items` say now and those `before` did not, and how many these
/// are: whoever adds labels to a fit means them, in whatever model, and over older ones; they can be taken back like all
/// others. What somebody else said already, the files say as well: it stays when that is taken back. Where the fit hides
/// labels, only those of items whose label is in sight already: others it may hide as well.
/// Classes that come with them are remarked, since a name that was given away, or is misspelled, is one as well.
///
/// Fails where the journal cannot be written.
pub fn note(
    journal: &mut Journal,
    before: &[ItemRow],
    items: &[ItemRow],
    added: Added,
    monitor: &Monitor,
) -> Result<usize> {
    let Added {
        files,
        given,
        hides,
    } = added;
    let was = Labeled::of(before)?;
    let by_others = given_by_others(journal, files);
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
        let is_new = was.name(place) != Some(new)
            || given.contains(&item.id) && by_others.contains(&*item.id);
        let is_meant = !hides || was.given(place).is_some();
        (is_new && is_meant).then(|| was.change(place, item, Some(new)))
    };
    let changes: Vec<Change> = items.iter().filter_map(change).collect();
    let count = changes.len();
    drop(by_others);
    if count > 0 {
        remark_new_classes(&changes, &was, journal.entries(), monitor);
        journal.append_file(files, What::Label, changes)?;
    }
    Ok(count)
}

/// Items whose label is there by what somebody else than these files said, or by a change of classes.
fn given_by_others<'a>(journal: &'a Journal, files: &str) -> HashSet<&'a str> {
    let mut by: HashMap<&str, &Entry> = HashMap::new();
    for entry in journal.standing() {
        by.extend(entry.items.iter().map(|change| (&*change.id, entry)));
    }
    by.retain(|_, entry| entry.who.as_deref() != Some(files) || entry.what != What::Label);
    by.into_keys().collect()
}

/// Most new classes that are named.
const NAMED: usize = 10;

fn remark_new_classes(changes: &[Change], was: &Labeled, entries: &[Entry], monitor: &Monitor) {
    let mut new: BTreeMap<&str, usize> = BTreeMap::new();
    let names = changes.iter().filter_map(|change| change.new.as_deref());
    let added: HashSet<&str> = journal::standing(entries)
        .filter_map(|entry| match &entry.what {
            What::AddClass(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    let is_new = |name: &&str| was.class(name).is_none() && !added.contains(name);
    for name in names.filter(|name| *name != OUTSIDE && is_new(name)) {
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
            .find(|entry| match &entry.what {
                What::RenameClass { from, .. } | What::MergeClass { from, .. } => from == name,
                _ => false,
            });
        let since = was_called.map(|entry| {
            let sequence = entry.sequence;
            format!(
                "; the class of this name was renamed or merged by change {sequence} on its page"
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
            let given = ["0", "2", "3"].map(str::to_owned).into();
            let added = Added {
                files: "new.csv",
                given: &given,
                hides: false,
            };
            super::note(&mut journal, before, &items(&fitted), added, &silent).unwrap()
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
    fn what_a_file_says_again_stays_when_it_is_taken_back_by_who_said_it_first() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path();
        let (mut journal, _) = Journal::open(run).unwrap();
        let ann = Some("ann".to_owned());
        let both = ["0", "1"].map(|id| change(id, None, Some("cat"))).into();
        journal.append(ann, What::Label, both).unwrap();
        let now = items(&["cat", "cat", "cat"]);
        let mut note = |files: &str| {
            let given = ["0", "2"].map(str::to_owned).into();
            let added = Added {
                files,
                given: &given,
                hides: false,
            };
            note(&mut journal, &now, &now, added, &Monitor::silent()).unwrap()
        };
        // The third one has it from the data, which nobody takes back; what a file has said, it says once.
        assert_eq!([note("bob.csv"), note("bob.csv")], [1, 0]);
        journal.append(None, What::Undo(1), vec![]).unwrap();
        drop(journal);
        assert_eq!(labels(run, &["", "", "cat"]), words(&["cat", "", "cat"]));
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
        let given = HashSet::new();
        let added = Added {
            files: "x",
            given: &given,
            hides: true,
        };
        let count = note(&mut journal, &before, &now, added, &silent).unwrap();
        assert_eq!(count, 1);
        assert_eq!(
            journal.entries()[0].items,
            [change("0", Some("a"), Some("b"))]
        );
    }
}
