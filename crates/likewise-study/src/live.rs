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
mod items;
mod labeled;
mod plane;
mod queue;
mod shown;
mod since;
mod why;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use likewise::{Graph, Monitor, Similarity};
use likewise_io::items::ItemRow;
use ndarray::ArrayView2;
use rayon::prelude::*;

pub use self::following::Method;
use self::following::{Believed, Following};
pub use self::items::Items;
pub use self::labeled::Labeled;
pub use self::plane::{Plane, plane};
pub use self::queue::{BATCH, Compared, Kind, Queued, queue};
pub use self::shown::{Class, Current, Item, Shown, Sorted};
pub use self::since::{settle, since};
pub use self::why::{Share, Source, Why};
use crate::journal::{self, Change, Entry, Journal, What};
use crate::{Result, run_graph, usage};

/// Changes from which on spreading anew is as fast as following them one by one.
const MANY: usize = 8;

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

/// The labels of a run, and what spread of them.
struct Spread<'g> {
    session: Option<Following<'g>>,
    base: Believed,
    had_label: Vec<bool>,
    origin: Vec<String>,
    first: Labeled,
    labeled: Labeled,
}

/// A run whose labels change.
pub struct Live<'g> {
    items: Arc<Items>,
    graph: &'g Graph,
    method: Method,
    journal: Journal,
    monitor: Monitor,
    session: Option<Following<'g>>,
    /// What was labeled before the first entry of the journal.
    first: Labeled,
    /// The classes of the run, by which the next two count.
    origin: Vec<String>,
    /// What the labels of the run alone say, and whose they are.
    base: Believed,
    had_label: Vec<bool>,
    /// What the fit believed.
    fitted: Believed,
    /// From the confidence of the labels that spread to that of the fit.
    scale: Scale,
    shown: Current,
}

impl<'g> Live<'g> {
    /// Begins with the labels of a run, and follows its journal.
    ///
    /// Fails where the graph is of another number of items, and when cancelled.
    pub fn begin(
        items: Arc<Items>,
        graph: &'g Graph,
        method: Method,
        journal: Journal,
        monitor: Monitor,
    ) -> Result<Self, (likewise::Error, Journal)> {
        match Self::spread(&items, graph, method, &journal, &monitor) {
            Ok(Spread {
                session,
                base,
                had_label,
                origin,
                first,
                labeled,
            }) => {
                let fitted = fitted(&items, &origin);
                let sequence = journal.sequence();
                let shown = Shown::new(items.clone(), labeled.clone(), sequence);
                let scale = Scale::between(&base, &fitted);
                let live = Self {
                    items,
                    graph,
                    method,
                    journal,
                    monitor,
                    session,
                    first,
                    origin,
                    base,
                    had_label,
                    fitted,
                    scale,
                    shown: Current::new(shown.clone()),
                };
                live.shown.set(live.judged(shown));
                Ok(live)
            }
            Err(e) => Err((e, journal)),
        }
    }

    fn spread(
        items: &Items,
        graph: &'g Graph,
        method: Method,
        journal: &Journal,
        monitor: &Monitor,
    ) -> Result<Spread<'g>> {
        if graph.n() != items.rows.len() {
            return Err(likewise::Error::data(format!(
                "the graph has {} nodes, the run {} items",
                graph.n(),
                items.rows.len()
            )));
        }
        let entries = journal.entries();
        warn_of_strangers(entries, &items.by_id, monitor);
        let own = Labeled::of(&items.rows)?;
        let quiet = monitor.quiet();
        let mut session = method.begin(graph, &own.as_labels()?, &quiet)?;
        let base = believed(session.as_ref(), graph.n());
        let (first, labeled) = replayed(&own, entries, &items.by_id)?;
        if (own.classes(), own.labels()) != (labeled.classes(), labeled.labels()) {
            session = method.begin(graph, &labeled.as_labels()?, &quiet)?;
        }
        Ok(Spread {
            session,
            base,
            had_label: own
                .labels()
                .iter()
                .map(|label| label.class().is_some())
                .collect(),
            origin: own.classes().to_vec(),
            first,
            labeled,
        })
    }

    /// What is shown, for whoever reads it meanwhile; it is renewed by every change.
    pub fn shown(&self) -> Current {
        self.shown.clone()
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
            let changes = all.into_iter().filter(is_new).map(|row| Change {
                id: self.items.rows[row as usize].id.clone(),
                old: labeled.given(row as usize).map(str::to_owned),
                new: label.map(str::to_owned),
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

    /// Takes the last entry back that was not taken back yet, of `who` if given; `None` where there is
    /// none. The labels are then those of the entries that stand without it, so that items that were labeled
    /// since keep what they were given then.
    ///
    /// Fails where a later change of classes would mean something else without it, or two classes would be one, and where
    /// the journal cannot be written.
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
        let by_id = &self.items.by_id;
        let now = self.first.astray(self.journal.standing(), by_id);
        let others = (self.journal.standing()).filter(|other| other.sequence != entry.sequence);
        let astray = self.first.astray(others, by_id);
        if let Some(new) = astray.into_iter().find(|other| !now.contains(other)) {
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
        if let Some([a, b, one]) = shown.labeled().made_one(then) {
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
        let each = rows.map(|row| Change {
            id: self.items.rows[row].id.clone(),
            old: from.given(row).map(str::to_owned),
            new: to.given(row).map(str::to_owned),
        });
        each.collect()
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
        if self.shown.get().labeled().class(&into).is_none() {
            return Err(usage(format!("there is no class \"{into}\"; add it first")));
        }
        let changes = self.of_class(&from, &into)?;
        self.write(who, What::MergeClass { from, into }, changes, &[])
    }

    /// The changes that give all labels of a class to another.
    fn of_class(&self, from: &str, to: &str) -> Result<Vec<Change>> {
        let shown = self.shown.get();
        let labeled = shown.labeled();
        let Some(class) = labeled.class(from) else {
            return Err(usage(format!("there is no class \"{from}\"")));
        };
        let own = labeled.labels().iter().zip(&self.items.rows);
        let own = own.filter(|(label, _)| label.class() == Some(class));
        let changes = own.map(|(_, item)| Change {
            id: item.id.clone(),
            old: Some(from.to_owned()),
            new: Some(to.to_owned()),
        });
        Ok(changes.collect())
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
        let rows = entry.items.iter().filter_map(|change| self.row(change));
        let mut rows: Vec<u32> = rows.collect();
        rows.sort_unstable();
        // It stays as it is, whatever is shown next.
        let before = self.shown.get();
        let classes = before.labeled().classes();
        let moved: Vec<Option<u32>> = (classes.iter())
            .map(|name| labeled.class(name).or(heir))
            .collect();
        let same_classes = labeled.classes() == classes;
        self.follow(&labeled, &rows, same_classes);
        // All of it at once: the numbers of the classes may be others.
        let shown = self.judged(Shown::new(self.items.clone(), labeled, entry.sequence));
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

    /// Brings the session to the new labels of some rows.
    fn follow(&mut self, labeled: &Labeled, rows: &[u32], same_classes: bool) {
        let few = rows.len() <= MANY.max(labeled.classes().len());
        if let (true, true, Some(session)) = (same_classes, few, &mut self.session) {
            let monitor = self.monitor.quiet();
            let relabeled = rows.iter().try_for_each(|&row| {
                let label = labeled.labels()[row as usize];
                session.relabel(row as usize, label, &monitor)
            });
            if relabeled.is_ok() {
                return;
            }
        }
        // Without a label, and where a solve did not end, there are no beliefs.
        let quiet = self.monitor.quiet();
        let begun = labeled.as_labels();
        let begun = begun.and_then(|labels| self.method.begin(self.graph, &labels, &quiet));
        self.session = begun.unwrap_or_default();
    }

    /// What the classes of the run are among those of now; none for one that is gone.
    ///
    /// A fit that learned from the journal has its newer names. Where one of these is taken back since, the class
    /// goes on under its older name.
    fn of_origin(&self, labeled: &Labeled) -> Vec<Option<u32>> {
        let all: Vec<&Entry> = self
            .journal
            .entries()
            .iter()
            .filter(|entry| renames(entry))
            .collect();
        let standing: Vec<&Entry> = self
            .journal
            .standing()
            .filter(|entry| renames(entry))
            .collect();
        let each = self.origin.iter().map(|class| {
            let now = labeled.class(self.onward(&standing, class, class));
            let older = || self.onward(&standing, class, self.backward(&all, class));
            now.or_else(|| labeled.class(older()))
        });
        each.collect()
    }

    /// The name that a class of the run has after these changes, if it had `name` before them.
    fn onward<'a>(&self, changes: &[&'a Entry], class: &str, mut name: &'a str) -> &'a str {
        for entry in changes {
            let (What::RenameClass { from, to } | What::MergeClass { from, into: to }) =
                &entry.what
            else {
                continue;
            };
            if name == from && !self.is_other(entry, class) {
                name = to;
            }
        }
        name
    }

    /// The name that a class of the run had before all changes of its name that the fit knew.
    fn backward<'a>(&self, changes: &[&'a Entry], class: &'a str) -> &'a str {
        let mut name = class;
        for entry in changes.iter().rev() {
            if let What::RenameClass { from, to } = &entry.what
                && name == to
                && !self.is_other(entry, class)
            {
                name = from;
            }
        }
        name
    }

    /// Whether an entry changed the labels of another class of the run than this.
    fn is_other(&self, entry: &Entry, class: &str) -> bool {
        let own = entry.items.iter().filter_map(|change| self.row(change));
        let mut own = own.filter_map(|row| self.items.rows[row as usize].label.as_deref());
        let first = own.next();
        first.is_some_and(|first| first != class) && own.all(|label| label != class)
    }

    /// What is to be shown by the labels as they are now.
    fn judged(&self, mut shown: Shown) -> Shown {
        let by_label = self.session.as_ref().map(Following::pseudo_label);
        let own = |row: usize| by_label.and_then(|class| class[row]);
        let of_origin = self.of_origin(shown.labeled());
        let translated = |class: Option<u32>| class.and_then(|class| of_origin[class as usize]);
        let is_gone = |row: usize| {
            let fitted = self.fitted.class[row];
            fitted.is_some() && translated(fitted).is_none()
        };
        let labels = shown.labeled().labels();
        let is_new = |row: usize| {
            own(row) != translated(self.base.class[row])
                || labels[row].class().is_some() != self.had_label[row]
        };
        let by_labels: Vec<usize> = (0..self.graph.n())
            .into_par_iter()
            .filter(|&row| self.session.is_none() || is_new(row) || is_gone(row))
            .collect();
        // Of few rows, so that not all of them need it.
        let confidence = match &self.session {
            Some(session) => session.confidence_of(&by_labels),
            None => vec![0.0; by_labels.len()],
        };
        let by_fit = |row: usize| {
            (
                translated(self.fitted.class[row]),
                self.fitted.confidence[row],
            )
        };
        shown.set_all(by_fit);
        for (row, confidence) in by_labels.into_iter().zip(confidence) {
            let sure = self.scale.of(confidence);
            // What has a label, or has lost one, is what the labels say.
            let is_sure = confidence >= 1.0 || self.had_label[row] || sure >= by_fit(row).1;
            if is_sure || is_gone(row) || self.session.is_none() {
                shown.set(row, own(row), sure);
            }
        }
        shown
    }

    /// Why an item is believed to be what the labels say; `None` where no label reaches it.
    ///
    /// Fails for a row that there is not, and when cancelled.
    pub fn why(&self, row: usize) -> Result<Option<Why>> {
        let Some(session) = &self.session else {
            return Ok(None);
        };
        let why = why::of(session, self.graph, &self.items, row, &self.monitor.quiet())?;
        // On the scale of what is shown.
        Ok(why.map(|why| Why {
            confidence: self.scale.of(why.confidence),
            ..why
        }))
    }
}

/// The labels of a run as they were before the first entry of its journal, and by all that stand.
///
/// Fails where an entry takes back what is not there.
fn replayed(
    own: &Labeled,
    entries: &[Entry],
    by_id: &HashMap<String, u32>,
) -> Result<(Labeled, Labeled)> {
    for entry in entries {
        if let What::Undo(sequence) = entry.what
            && !(1..entry.sequence).contains(&sequence)
        {
            return Err(likewise::Error::data(format!(
                "entry {} of the journal takes back an entry {sequence} that is not there",
                entry.sequence
            )));
        }
    }
    let first = own.before(entries, by_id);
    let labeled = first.after(journal::standing(entries), by_id);
    Ok((first, labeled))
}

/// Whether an entry gives a class another name, be it that of another class.
fn renames(entry: &Entry) -> bool {
    matches!(
        entry.what,
        What::RenameClass { .. } | What::MergeClass { .. }
    )
}

/// How many items have a label by these entries of a journal, and are none of these.
pub fn unseen(entries: &[Entry], items: &Items) -> usize {
    let mut last: HashMap<&str, bool> = HashMap::new();
    let changes = journal::standing(entries).flat_map(|entry| &entry.items);
    for change in changes.filter(|change| !items.by_id.contains_key(&change.id)) {
        last.insert(&change.id, change.new.is_some());
    }
    last.values().filter(|&&labeled| labeled).count()
}

/// Warns of labels in the journal whose items the run has not, as one that was fitted on other data.
fn warn_of_strangers(entries: &[Entry], by_id: &HashMap<String, u32>, monitor: &Monitor) {
    let changes = entries.iter().flat_map(|entry| &entry.items);
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

fn believed(session: Option<&Following>, n: usize) -> Believed {
    let nothing = || Believed {
        class: vec![None; n],
        confidence: vec![0.0; n],
    };
    session.map_or_else(nothing, Following::believed)
}

/// Brings the confidence of labels that spread to the scale of the fit: the share of items that have less of the
/// one has less of the other. Else what one label moves would look doubtful beside what none has moved.
struct Scale {
    /// Confidences of items without a label, ascending; both of the same items.
    from: Vec<f32>,
    to: Vec<f32>,
}

impl Scale {
    fn between(base: &Believed, fitted: &Believed) -> Self {
        let open = |&row: &usize| base.confidence[row] < 1.0 && fitted.class[row].is_some();
        let open: Vec<usize> = (0..base.class.len()).filter(open).collect();
        let sorted = |of: &Believed| {
            let mut all: Vec<f32> = open.iter().map(|&row| of.confidence[row]).collect();
            all.sort_unstable_by(f32::total_cmp);
            all
        };
        Self {
            from: sorted(base),
            to: sorted(fitted),
        }
    }

    /// Nothing at all and a label stay what they are.
    fn of(&self, confidence: f32) -> f32 {
        if confidence <= 0.0 || confidence >= 1.0 {
            return confidence;
        }
        let below = self.from.partition_point(|&known| known < confidence);
        let place = below.min(self.to.len().saturating_sub(1));
        self.to.get(place).copied().unwrap_or(confidence)
    }
}

/// What the fit believed, by the classes of the run.
fn fitted(items: &Items, origin: &[String]) -> Believed {
    let places: HashMap<&str, u32> = origin.iter().map(String::as_str).zip(0..).collect();
    let class = |item: &ItemRow| places.get(item.pseudo_label.as_deref()?).copied();
    Believed {
        class: items.rows.iter().map(class).collect(),
        confidence: (items.rows.iter())
            .map(|item| item.confidence.unwrap_or(0.0))
            .collect(),
    }
}
