//! A run that is ready to take labels, but for those that are given while it is made so.

use std::sync::Arc;

use likewise::{Graph, Monitor};

use super::following::Method;
use super::identity::{Classes, by_name};
use super::items::Items;
use super::judge::Judge;
use super::labeled::Labeled;
use super::shown::{Current, Shown};
use super::spreading::Spreading;
use super::{Live, warn_of_strangers};
use crate::Result;
use crate::journal::{self, Entry, Journal, Place, What};

/// A run with the labels that stood in the journal when this began.
///
/// **Use it** to put another run in the place of one that takes labels: the long work is done beside that one, which
/// goes on, and [`with`](Self::with) follows what its journal got meanwhile. **Not** for labels of another journal.
pub struct Prepared {
    items: Arc<Items>,
    spreading: Spreading,
    /// The labels of the run.
    own: Labeled,
    /// The labels by the entries up to this one.
    labeled: Labeled,
    sequence: u64,
    /// The last entry that the fit of the run knew.
    learned: Option<Place>,
    /// The items that it was fitted on; those behind them were added since.
    fitted: usize,
    judge: Judge,
}

impl Prepared {
    /// Spreads the labels of a run, which [knew](crate::run_folder::Record::journal) its journal up to the place
    /// `learned`, and those of entries of that. The last items, `added` of them, came after the fit.
    ///
    /// Fails where the graph is of another number of items, where an entry takes back what is not there, and when
    /// cancelled.
    pub fn new(
        items: Arc<Items>,
        graph: Arc<Graph>,
        method: Method,
        entries: &[Entry],
        learned: Option<Place>,
        added: usize,
        monitor: &Monitor,
    ) -> Result<Self> {
        if graph.n() != items.rows.len() {
            return Err(likewise::Error::data(format!(
                "the graph has {} nodes, the run {} items",
                graph.n(),
                items.rows.len()
            )));
        }
        warn_of_strangers(entries, &items.by_id, monitor);
        let fitted = items.rows.len().saturating_sub(added);
        let own = Labeled::of(&items.rows)?;
        let labeled = own.replayed(entries, &items.by_id)?;
        let mut spreading = Spreading::begin(graph, method, &own, monitor.quiet())?;
        let judge = Judge::new(items.clone(), &own, spreading.following());
        // As whoever begins with them has it: what is followed later is all that is not found anew.
        spreading.restart(&labeled)?;
        Ok(Self {
            items,
            spreading,
            own,
            labeled,
            sequence: entries.last().map_or(0, |entry| entry.sequence),
            learned,
            fitted,
            judge,
        })
    }

    /// The last entry that it has followed, 0 before the first.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Follows entries that the journal got meanwhile; `entries` are all of it. The same as [`with`](Self::with) would,
    /// beside whoever takes labels.
    pub fn follow(&mut self, entries: &[Entry]) {
        let first = self.own.before(entries, &self.items.by_id);
        self.labeled = first.after(journal::standing(entries), &self.items.by_id);
        self.spreading.follow(&self.labeled);
        self.sequence = entries.last().map_or(0, |entry| entry.sequence);
    }

    /// Takes labels from now on, into the journal whose first entries this was made of; `monitor` stops what is asked of
    /// it from then on.
    ///
    /// Labels that it got meanwhile are followed as if they were given now: O(n C) and the solve of a column each, and
    /// a whole spread where they are many.
    pub fn with(mut self, mut journal: Journal, monitor: &Monitor) -> Live {
        self.spreading.heard_by(monitor.quiet());
        if journal.sequence() > self.sequence {
            self.follow(journal.entries());
        }
        let Self {
            items,
            spreading,
            own,
            labeled,
            learned,
            fitted,
            mut judge,
            ..
        } = self;
        let first = own.before(journal.entries(), &items.by_id);
        let mut classes = Classes::of(&first.classes_of(0..fitted));
        {
            let entries = journal.entries();
            let (known, later) = entries.split_at(Place::of(learned.as_ref(), entries).len());
            for entry in known {
                classes.follow(entry, entries);
            }
            judge.meet(&classes);
            for entry in later {
                classes.follow(entry, entries);
                judge.meet(&classes);
            }
        }
        note_added(&mut journal, &mut classes, labeled.classes());
        judge.meet(&classes);
        let entries = journal.entries();
        let shown = Shown::new(items.clone(), labeled, Place::after(entries));
        let shown = judge.judged(shown, spreading.following(), &mut classes);
        let named = entries.iter().flat_map(|entry| &entry.items);
        let named = named.filter_map(|change| items.by_id.get(&change.id).copied());
        Live {
            named: named.collect(),
            items,
            journal,
            spreading,
            first,
            classes,
            judge,
            shown: Current::new(shown),
        }
    }
}

/// Gives classes their numbers that items brought which were added since the fit, and notes in the journal that they came
/// now: whichever model answers, classes that come later count from behind them.
fn note_added(journal: &mut Journal, classes: &mut Classes, names: &[String]) {
    let mut new: Vec<&String> = names
        .iter()
        .filter(|name| classes.number(name).is_none())
        .collect();
    new.sort_by_cached_key(|name| by_name(name));
    for name in new {
        classes.number_or_new(name);
        // Where it cannot be written no label can be, of which the next one tells.
        let _ = journal.append_file("added items", What::AddClass(name.clone()), vec![]);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use likewise::graph::KnnGraph;
    use likewise_io::items::ItemRow;
    use ndarray::Array2;

    use super::*;
    use crate::journal::Change;

    const N: usize = 90;

    /// Items of three clouds on a line, the first of each of the first two labeled.
    fn run() -> (Arc<Items>, Arc<Graph>) {
        let x = Array2::from_shape_fn((N, 2), |(i, j)| {
            ((i % 3) * 4 * (1 - j)) as f32 + ((i * 7919 + j * 104_729) % 997) as f32 * 0.003
        });
        let graph = KnnGraph::new()
            .k(6)
            .build(x.view(), &Monitor::silent())
            .unwrap();
        let rows = (0..N).map(|i| ItemRow {
            id: i.to_string(),
            label: ["a", "b"].get(i).map(|&class| class.to_owned()),
            ..ItemRow::default()
        });
        (Arc::new(Items::new(rows.collect())), Arc::new(graph))
    }

    fn renames_or_adds(what: &What) -> bool {
        !matches!(what, What::Label | What::Undo(_))
    }

    fn give(row: usize, old: Option<&str>, new: &str) -> (What, Vec<Change>) {
        let change = Change {
            id: row.to_string(),
            old: old.map(str::to_owned),
            new: Some(new.to_owned()),
            hidden: false,
        };
        (What::Label, vec![change])
    }

    #[test]
    fn what_is_given_while_a_run_is_prepared_is_as_if_it_had_been_given_before() {
        let class = |name: &str| (What::AddClass(name.into()), vec![]);
        let rename = |from: &str, to: &str| {
            let (from, to) = (from.to_owned(), to.to_owned());
            (What::RenameClass { from, to }, vec![])
        };
        let merge = |from: &str, into: &str| {
            let (from, into) = (from.to_owned(), into.to_owned());
            (What::MergeClass { from, into }, vec![])
        };
        let meanwhile = [
            vec![],
            vec![give(4, None, "b"), give(6, None, "a")],
            vec![give(4, None, "b"), (What::Undo(3), vec![])],
            vec![(What::Undo(1), vec![]), give(3, None, "b")],
            // Too many to be followed one by one.
            (10..40)
                .map(|row| give(row, None, ["a", "b"][row % 2]))
                .collect(),
            // Classes that change, and an entry from before that is taken back.
            vec![class("c"), give(5, None, "c")],
            vec![rename("a", "new"), give(6, None, "new")],
            vec![rename("a", "new"), (What::Undo(3), vec![])],
            vec![class("c"), give(5, None, "c"), merge("c", "b")],
            vec![merge("a", "b"), (What::Undo(3), vec![])],
            vec![merge("b", "a")],
            vec![(What::Undo(2), vec![]), class("c"), give(8, None, "c")],
        ];
        for method in Method::ALL {
            for entries in &meanwhile {
                let few = entries.len() < 10;
                let by_class = entries.iter().any(|(what, _)| renames_or_adds(what));
                if method == Method::Mixed && few && !by_class {
                    // Its negative edges stay those of the beginning.
                    continue;
                }
                let folder = tempfile::tempdir().unwrap();
                let (mut journal, _) = Journal::open(folder.path()).unwrap();
                for (what, items) in [give(2, None, "b"), give(3, None, "a")] {
                    journal.append(None, what, items).unwrap();
                }
                let (items, graph) = run();
                let silent = Monitor::silent();
                let prepared = |journal: &Journal| {
                    let (items, graph) = (items.clone(), graph.clone());
                    Prepared::new(items, graph, method, journal.entries(), None, 0, &silent)
                        .unwrap()
                };
                let early = prepared(&journal);
                for (what, items) in entries {
                    journal.append(None, what.clone(), items.clone()).unwrap();
                }
                let early = early.with(journal, &silent);
                let shown = early.shown().get();
                let journal = early.end();
                let late = prepared(&journal).with(journal, &silent).shown().get();
                assert_eq!(shown.sequence(), 2 + entries.len() as u64);
                assert_eq!(shown.sequence(), late.sequence());
                let (a, b) = (shown.labeled(), late.labeled());
                assert_eq!((a.classes(), a.labels()), (b.classes(), b.labels()));
                assert_eq!(shown.beliefs(), late.beliefs(), "{method:?} {entries:?}");
            }
        }
    }

    /// A run whose last items, `added` of them, came after the fit, with the labels of now.
    fn live(rows: &[ItemRow], graph: &Arc<Graph>, added: usize, folder: &Path) -> Live {
        let (journal, _) = Journal::open(folder).unwrap();
        let (items, silent) = (Arc::new(Items::new(rows.to_vec())), Monitor::silent());
        let (graph, method) = (graph.clone(), Method::default());
        let prepared = Prepared::new(
            items,
            graph,
            method,
            journal.entries(),
            None,
            added,
            &silent,
        );
        prepared.unwrap().with(journal, &silent)
    }

    fn places(live: &Live) -> Vec<(String, usize, usize)> {
        let classes = live.shown().get().classes().0.into_iter();
        classes
            .map(|class| (class.name, class.place, class.labeled))
            .collect()
    }

    fn is(name: &str, place: usize, labeled: usize) -> (String, usize, usize) {
        (name.to_owned(), place, labeled)
    }

    #[test]
    fn classes_that_added_items_bring_come_behind_all_others_whichever_model_answers() {
        let folder = tempfile::tempdir().unwrap();
        let (items, graph) = run();
        let fitted = items.rows().to_vec();
        let mut more = fitted.clone();
        more[N - 1].label = Some("Aa".into());
        let mut before = live(&fitted, &graph, 0, folder.path());
        before.add_class("c".into(), None).unwrap();
        drop(before);
        let mut now = live(&more, &graph, 1, folder.path());
        let all = [is("Aa", 3, 1), is("a", 0, 1), is("b", 1, 1), is("c", 2, 0)];
        assert_eq!(places(&now), all);
        now.add_class("d".into(), None).unwrap();
        let all = [&all[..], &[is("d", 4, 0)]].concat();
        assert_eq!(places(&now), all);
        drop(now);
        // A start changes nothing, nor does a model that has none of them.
        assert_eq!(places(&live(&more, &graph, 1, folder.path())), all);
        let older = live(&fitted, &graph, 0, folder.path());
        let all = [&[is("Aa", 3, 0)], &all[1..]].concat();
        assert_eq!(places(&older), all);
        // Nobody did it who could take it back.
        drop(older);
        let mut now = live(&more, &graph, 1, folder.path());
        now.undo(None).unwrap();
        now.undo(None).unwrap();
        assert_eq!(now.undo(None).unwrap().map(|done| done.sequence), None);
        assert_eq!(places(&now), [is("Aa", 3, 1), is("a", 0, 1), is("b", 1, 1)]);
    }

    #[test]
    fn an_added_item_that_no_entry_names_goes_back_with_its_class_after_a_start_too() {
        let folder = tempfile::tempdir().unwrap();
        let (items, graph) = run();
        let mut rows = items.rows().to_vec();
        let start = |rows: &[ItemRow]| live(rows, &graph, 1, folder.path());
        let mut first = start(&rows);
        first.rename_class("b".into(), "new".into(), None).unwrap();
        drop(first);
        // It comes under the name that the class had when the run was fitted.
        rows[N - 1].label = Some("b".into());
        let mut now = start(&rows);
        assert_eq!(places(&now), [is("a", 0, 1), is("new", 1, 2)]);
        now.label(&[N as u32 - 1], Some("a"), None).unwrap();
        now.undo(None).unwrap();
        drop(now);
        let mut now = start(&rows);
        now.undo(None).unwrap();
        let all = [is("a", 0, 1), is("b", 1, 2)];
        assert_eq!(places(&now), all);
        drop(now);
        assert_eq!(places(&start(&rows)), all);
    }

    #[test]
    fn a_class_that_a_file_brought_is_no_other_although_it_has_no_item_for_now() {
        let folder = tempfile::tempdir().unwrap();
        let (items, graph) = run();
        let start = || live(items.rows(), &graph, 0, folder.path());
        let ann = || Some("ann".to_owned());
        let mut first = start();
        first.rename_class("b".into(), "new".into(), ann()).unwrap();
        let mut journal = first.end();
        journal
            .append_file("more.csv", What::Label, give(5, None, "b").1)
            .unwrap();
        drop(journal);
        let mut now = start();
        now.label(&[5], Some("a"), None).unwrap();
        let all = [is("a", 0, 2), is("b", 2, 0), is("new", 1, 1)];
        assert_eq!(places(&now), all);
        let said = now.undo(ann()).unwrap_err().to_string();
        assert!(said.contains("would be one class, \"b\""), "{said}");
        assert_eq!(places(&now), all);
        // What it says helps.
        now.rename_class("b".into(), "other".into(), None).unwrap();
        now.rename_class("new".into(), "b".into(), None).unwrap();
        let all = [is("a", 0, 2), is("b", 1, 1), is("other", 2, 0)];
        assert_eq!(places(&now), all);
    }

    #[test]
    fn a_fit_that_believed_nothing_stands_against_no_label() {
        let folder = tempfile::tempdir().unwrap();
        let (items, graph) = run();
        let mut rows = items.rows().to_vec();
        rows[1].label = None;
        for row in &mut rows {
            row.confidence = Some(0.0);
        }
        let mut now = live(&rows, &graph, 0, folder.path());
        // As the fit has it, of one class.
        assert!(now.shown().get().beliefs().iter().all(Option::is_none));
        now.add_class("b".into(), None).unwrap();
        now.label(&[1, 4], Some("b"), None).unwrap();
        let shown = now.shown().get();
        let of_first = (0..N)
            .step_by(3)
            .filter(|&row| shown.beliefs()[row] == Some(0));
        // All but the labeled one.
        assert_eq!(of_first.count(), N / 3 - 1);
    }

    #[test]
    fn a_graph_of_other_items_and_an_entry_that_takes_back_nothing_are_refused() {
        let (items, graph) = run();
        let silent = Monitor::silent();
        let fewer = Arc::new(Items::new(items.rows()[1..].to_vec()));
        let method = Method::default();
        let refused = Prepared::new(fewer, graph.clone(), method, &[], None, 0, &silent);
        let said = refused.err().unwrap().to_string();
        assert!(said.contains("90 nodes"), "{said}");
        let entry = Entry {
            sequence: 1,
            time: String::new(),
            who: None,
            file: false,
            what: What::Undo(1),
            items: vec![],
        };
        let refused = Prepared::new(items, graph, method, &[entry], None, 0, &silent);
        let said = refused.err().unwrap().to_string();
        assert!(said.contains("takes back an entry 1"), "{said}");
    }
}
