//! A run that is ready to take labels, but for those that are given while it is made so.

use std::sync::Arc;

use likewise::{Graph, Monitor};

use super::following::Method;
use super::identity::Classes;
use super::items::Items;
use super::judge::Judge;
use super::labeled::Labeled;
use super::shown::{Current, Shown};
use super::spreading::Spreading;
use super::{Live, warn_of_strangers};
use crate::Result;
use crate::journal::{self, Entry, Journal, Place};

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
    judge: Judge,
}

impl Prepared {
    /// Spreads the labels of a run, which [knew](crate::run_folder::Record::journal) its journal up to the place
    /// `learned`, and those of entries of that.
    ///
    /// Fails where the graph is of another number of items, where an entry takes back what is not there, and when
    /// cancelled.
    pub fn new(
        items: Arc<Items>,
        graph: Arc<Graph>,
        method: Method,
        entries: &[Entry],
        learned: Option<Place>,
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
    pub fn with(mut self, journal: Journal, monitor: &Monitor) -> Live {
        self.spreading.heard_by(monitor.quiet());
        let entries = journal.entries();
        if journal.sequence() > self.sequence {
            self.follow(entries);
        }
        let Self {
            items,
            spreading,
            own,
            labeled,
            learned,
            mut judge,
            ..
        } = self;
        let first = own.before(entries, &items.by_id);
        let mut classes = Classes::of(first.classes());
        let (known, later) = entries.split_at(Place::of(learned.as_ref(), entries).len());
        for entry in known {
            classes.follow(entry, entries);
        }
        judge.knew(&mut classes);
        for entry in later {
            classes.follow(entry, entries);
        }
        let shown = Shown::new(items.clone(), labeled, Place::after(entries));
        let shown = judge.judged(shown, spreading.following(), &mut classes);
        Live {
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

#[cfg(test)]
mod tests {
    use likewise::graph::KnnGraph;
    use likewise_io::items::ItemRow;
    use ndarray::Array2;

    use super::*;
    use crate::journal::{Change, What};

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
                    Prepared::new(items, graph, method, journal.entries(), None, &silent).unwrap()
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

    #[test]
    fn a_graph_of_other_items_and_an_entry_that_takes_back_nothing_are_refused() {
        let (items, graph) = run();
        let silent = Monitor::silent();
        let fewer = Arc::new(Items::new(items.rows()[1..].to_vec()));
        let refused = Prepared::new(fewer, graph.clone(), Method::default(), &[], None, &silent);
        let said = refused.err().unwrap().to_string();
        assert!(said.contains("90 nodes"), "{said}");
        let entry = Entry {
            sequence: 1,
            time: String::new(),
            who: None,
            what: What::Undo(1),
            items: vec![],
        };
        let refused = Prepared::new(items, graph, Method::default(), &[entry], None, &silent);
        let said = refused.err().unwrap().to_string();
        assert!(said.contains("takes back an entry 1"), "{said}");
    }
}
