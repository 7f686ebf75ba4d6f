//! A run that people label while they look at it: every label spreads at once, and is on the disk before
//! it is acknowledged.
//!
//! The labels spread over the graph of the embedding by a [`Method`] of which a session follows single changes.
//! What is [`Shown`] of an item is the belief of the fit, unless labels that
//! were given since say another class than before and are as sure of it as the fit of its own, on one scale: the
//! fit knows more than the graph, and a label far away is no reason to believe the graph.
//! A run that nobody has labeled since shows what all other verbs show.
//!
//! Labels are kept in a [journal] beside the run. They stay when another model takes the place of the
//! run, and win over what the run says. An item is labeled as the last of the entries says that stand: an undo
//! takes an entry out, and the labels are those of the entries that remain, in whatever order people take theirs
//! back.
//!
//! Cost: the graph (as of [`suspects`](crate::suspects)), then a solve of one column and O(n C) a label; O(n C)
//! memory.

mod following;
mod identity;
mod items;
mod judge;
mod labeled;
mod plane;
mod prepared;
mod queue;
mod shown;
mod since;
mod spreading;
mod undo;
mod why;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use likewise::{Graph, Monitor, Similarity};
use ndarray::ArrayView2;
use rayon::prelude::*;

pub use self::following::Method;
use self::identity::Classes;
pub use self::items::Items;
use self::judge::Judge;
pub use self::labeled::Labeled;
pub use self::plane::{Plane, plane};
pub use self::prepared::Prepared;
pub use self::queue::{BATCH, Compared, Kind, Queued, queue};
pub use self::shown::{Class, Current, Item, Shown, Sorted};
pub use self::since::{Added, Since, entries, note, remark_newer, since};
use self::spreading::Spreading;
pub use self::why::{Share, Source, Why};
use crate::journal::{self, Change, Entry, Journal, Place, What};
use crate::run_folder::OUTSIDE;
use crate::{Result, run_graph, usage};

/// The graph that labels spread over: of the rows that the run is searched by. Of many items it is kept in the folder of
/// the run, in `.graph.npz`.
///
/// Fails on NaN, without columns, and when cancelled.
pub fn graph(
    run: &Path,
    rows: ArrayView2<f32>,
    similarity: &Similarity,
    seed: u64,
    monitor: &Monitor,
) -> Result<Graph> {
    run_graph::kept(run, rows, similarity.metric(), seed, monitor)
}

/// What a change of labels did.
#[derive(Debug, Clone)]
pub struct Done {
    /// The entry of the journal, or the last one where nothing changed.
    pub sequence: u64,
    /// The entry, where there is a new one.
    pub entry: Option<Entry>,
    /// The items whose label was given, taken away or given again.
    pub labeled: Vec<u32>,
    /// The items that are believed to be of another class than before, ascending.
    pub changed: Vec<u32>,
    /// Items of an undo that keep their label, since they got it later.
    pub kept: usize,
    /// The class that an undo would have taken away, had it no label by now.
    pub class_kept: Option<String>,
}

/// A run whose labels change.
pub struct Live {
    items: Arc<Items>,
    journal: Journal,
    spreading: Spreading,
    /// What was labeled before the first entry of the journal.
    first: Labeled,
    /// The rows that an entry of the journal names.
    named: HashSet<u32>,
    classes: Classes,
    judge: Judge,
    shown: Current,
}

impl Live {
    /// What is shown, for whoever reads it meanwhile; it is renewed by every change.
    pub fn shown(&self) -> Current {
        self.shown.clone()
    }

    /// All entries of the journal, the oldest first.
    pub fn entries(&self) -> &[Entry] {
        self.journal.entries()
    }

    /// The journal, to go on with another model.
    pub fn end(self) -> Journal {
        self.journal
    }

    /// Gives items a label, or takes it away: a class, `outside` or none. On the disk when this returns.
    ///
    /// Fails for a row or a class that there is not, and where the journal cannot be written; nothing
    /// has changed then.
    pub fn label(
        &mut self,
        rows: &[u32],
        label: Option<&str>,
        who: Option<String>,
    ) -> Result<Done> {
        let changes = {
            let shown = self.shown.get();
            let labeled = shown.labeled();
            let meant = labeled.meant(label)?;
            let mut all = rows.to_vec();
            all.sort_unstable();
            all.dedup();
            if let Some(row) = all
                .iter()
                .find(|&&row| row as usize >= self.items.rows.len())
            {
                return Err(usage(format!("there is no row {row}")));
            }
            let same = |row: &u32| labeled.labels()[*row as usize] == meant;
            let by_others = self.given_by_others(all.iter().copied().filter(same), who.as_ref());
            let is_new = |row: &u32| !same(row) || by_others.contains(row);
            let changes = all.into_iter().filter(is_new).map(|row| {
                let row = row as usize;
                self.change(labeled, row, label)
            });
            changes.collect::<Vec<_>>()
        };
        if changes.is_empty() {
            return Ok(self.unchanged(rows));
        }
        self.write(who, What::Label, changes, rows)
    }

    /// Those of these rows whose label is there by what somebody else said, or by a change of classes: who
    /// says the same keeps it when that is taken back.
    fn given_by_others(
        &self,
        rows: impl Iterator<Item = u32>,
        who: Option<&String>,
    ) -> HashSet<u32> {
        let rows: HashSet<u32> = rows.collect();
        let mut by: HashMap<u32, &Entry> = HashMap::new();
        if !rows.is_empty() {
            for entry in self.journal.standing() {
                let own = entry.items.iter().filter_map(|change| self.row(change));
                by.extend(own.filter(|row| rows.contains(row)).map(|row| (row, entry)));
            }
        }
        by.retain(|_, entry| entry.who.as_ref() != who || entry.what != What::Label);
        by.into_keys().collect()
    }

    fn row(&self, change: &Change) -> Option<u32> {
        self.items.by_id.get(&change.id).copied()
    }

    /// Adds a class. Fails where it is there, or where its name is no name of a class.
    pub fn add_class(&mut self, name: String, who: Option<String>) -> Result<Done> {
        self.shown.get().labeled().check_new(&name, None)?;
        self.write(who, What::AddClass(name), vec![], &[])
    }

    /// Gives a class another name. Fails where there is no such class, or one of the new name.
    pub fn rename_class(&mut self, from: String, to: String, who: Option<String>) -> Result<Done> {
        self.shown.get().labeled().check_new(&to, Some(&from))?;
        let changes = self.of_class(&from, &to)?;
        self.write(who, What::RenameClass { from, to }, changes, &[])
    }

    /// Gives all labels of a class to another one, and drops it. Fails where there are not two such
    /// classes.
    pub fn merge_class(&mut self, from: String, into: String, who: Option<String>) -> Result<Done> {
        if from == into {
            return Err(usage(format!("\"{from}\" cannot be merged into itself")));
        }
        if into == OUTSIDE {
            return Err(usage(
                "\"outside\" is no class that others are merged into; label the items so",
            ));
        }
        if self.shown.get().labeled().class(&into).is_none() {
            return Err(usage(format!("there is no class \"{into}\"; add it first")));
        }
        let changes = self.of_class(&from, &into)?;
        self.write(who, What::MergeClass { from, into }, changes, &[])
    }

    /// The changes that give all labels of a class to another, those that are hidden among them.
    fn of_class(&self, from: &str, to: &str) -> Result<Vec<Change>> {
        let shown = self.shown.get();
        let labeled = shown.labeled();
        if labeled.class(from).is_none() {
            return Err(usage(format!("there is no class \"{from}\"")));
        }
        let own = (0..self.items.rows.len()).filter(|&row| labeled.name(row) == Some(from));
        let changes = own.map(|row| self.change(labeled, row, Some(to)));
        Ok(changes.collect())
    }

    /// A change of an item's label, of the first entry that names it from what it was before all entries: what was added to
    /// the run since may have been turned by a change of classes that does not name it.
    fn change(&self, from: &Labeled, row: usize, new: Option<&str>) -> Change {
        let is_named = self.named.contains(&(row as u32));
        let from = if is_named { from } else { &self.first };
        from.change(row, &self.items.rows[row], new)
    }

    fn unchanged(&self, rows: &[u32]) -> Done {
        Done {
            sequence: self.journal.sequence(),
            entry: None,
            labeled: rows.to_vec(),
            changed: vec![],
            kept: 0,
            class_kept: None,
        }
    }

    /// Writes an entry, follows it, and spreads the labels.
    fn write(
        &mut self,
        who: Option<String>,
        what: What,
        changes: Vec<Change>,
        asked: &[u32],
    ) -> Result<Done> {
        let mut labeled = self.shown.get().labeled().clone();
        labeled.follow(&what, &changes, &self.items.by_id);
        // A class that is gone goes on as the one that has its labels.
        let heir = match &what {
            What::RenameClass { to, .. } | What::MergeClass { into: to, .. } => labeled.class(to),
            _ => None,
        };
        let entry = self.journal.append(who, what, changes)?.clone();
        Ok(self.show(labeled, heir, entry, asked))
    }

    /// Spreads the labels as they are after an entry, and shows them; a class that is gone goes on as its heir.
    fn show(&mut self, labeled: Labeled, heir: Option<u32>, entry: Entry, asked: &[u32]) -> Done {
        let seen = |change: &&Change| entry.what == What::Label || !change.hidden;
        let rows = entry.items.iter().filter(seen);
        let mut rows: Vec<u32> = rows.filter_map(|change| self.row(change)).collect();
        let named = entry.items.iter().filter_map(|change| self.row(change));
        self.named.extend(named.collect::<Vec<_>>());
        rows.sort_unstable();
        // It stays as it is, whatever is shown next.
        let before = self.shown.get();
        let classes = before.labeled().classes();
        let moved: Vec<Option<u32>> = (classes.iter())
            .map(|name| labeled.class(name).or(heir))
            .collect();
        self.spreading.follow(&labeled);
        // All of it at once: the numbers of the classes may be others.
        let shown = Shown::new(self.items.clone(), labeled, Some(Place::at(&entry)));
        self.classes.follow(&entry, self.journal.entries());
        let following = self.spreading.following();
        let shown = self.judge.judged(shown, following, &mut self.classes);
        let new = |class: u32| moved[class as usize];
        let (old, now) = (before.beliefs(), shown.beliefs());
        let changed = (0..now.len() as u32).into_par_iter();
        let changed = changed.filter(|&row| old[row as usize].and_then(new) != now[row as usize]);
        let changed = changed.collect();
        self.shown.set(shown);
        let also = asked.iter().filter(|row| rows.binary_search(row).is_err());
        let also: Vec<u32> = also.copied().collect();
        rows.extend(also);
        Done {
            sequence: entry.sequence,
            entry: Some(entry),
            labeled: rows,
            changed,
            kept: 0,
            class_kept: None,
        }
    }

    /// Why an item is believed to be what the labels say; `None` where no label reaches it.
    ///
    /// Fails for a row that there is not, and when cancelled.
    pub fn why(&self, row: usize) -> Result<Option<Why>> {
        let Some(why) = self.spreading.why(&self.items, row)? else {
            return Ok(None);
        };
        // On the scale of what is shown.
        Ok(Some(Why {
            confidence: self.judge.sure(why.confidence),
            ..why
        }))
    }
}

/// How many items have a label by these entries of a journal, and are none of these.
pub fn unseen(entries: &[Entry], items: &Items) -> usize {
    let mut last: HashMap<&str, bool> = HashMap::new();
    let changes = journal::standing(entries).flat_map(|entry| {
        let seen = |change: &&Change| entry.what == What::Label || !change.hidden;
        entry.items.iter().filter(seen)
    });
    for change in changes.filter(|change| !items.by_id.contains_key(&change.id)) {
        last.insert(&change.id, change.new.is_some());
    }
    last.values().filter(|&&labeled| labeled).count()
}

/// Warns of labels in the journal whose items the run has not, as one that was fitted on other data.
fn warn_of_strangers(entries: &[Entry], by_id: &HashMap<String, u32>, monitor: &Monitor) {
    let changes = journal::standing(entries).flat_map(|entry| &entry.items);
    let missing: HashSet<&str> = changes
        .map(|change| change.id.as_str())
        .filter(|id| !by_id.contains_key(*id))
        .collect();
    // The first by name, so that it is the same one each time.
    if let Some(first) = missing.iter().min() {
        monitor.warn(format!(
            "{}: labels of items that the run has not are left out: {} (\"{first}\", for one)",
            journal::NAME,
            missing.len()
        ));
    }
}
