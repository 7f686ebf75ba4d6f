//! Which class is which, whatever it is called: names are given away and taken again, and classes become one.

use std::collections::HashMap;

use super::labeled::Labeled;
use crate::journal::{Change, Entry, What};
use crate::run_folder::OUTSIDE;

/// The classes of a run as a journal changes them. Each has a number, in the order in which they came, and keeps it.
#[derive(Debug, Clone, Default)]
pub(super) struct Classes {
    /// Of no two names the same. That of a class that is gone stays until another class takes its name: one that comes
    /// under it before is the same again.
    numbers: HashMap<String, usize>,
    /// The class that each has become one with.
    heirs: Vec<Option<usize>>,
    /// The class that an entry gave another name, or to another class.
    moved: HashMap<u64, usize>,
}

impl Classes {
    /// Those of before the first entry, in the order of their names.
    pub(super) fn of(first: &[String]) -> Self {
        let mut names: Vec<&String> = first.iter().collect();
        names.sort_by_cached_key(|name| by_name(name));
        let mut classes = Self::default();
        for name in names {
            classes.number_or_new(name);
        }
        classes
    }

    /// Follows an entry, the next one of `entries`.
    pub(super) fn follow(&mut self, entry: &Entry, entries: &[Entry]) {
        match &entry.what {
            What::Label => {
                // Those of a file may be new.
                for name in entry
                    .items
                    .iter()
                    .filter_map(|change| change.new.as_deref())
                {
                    if name != OUTSIDE {
                        self.number_or_new(name);
                    }
                }
            }
            What::AddClass(name) => drop(self.number_or_new(name)),
            What::RenameClass { from, to } => {
                let class = self.number_or_new(from);
                self.numbers.remove(from);
                self.numbers.insert(to.clone(), class);
                self.moved.insert(entry.sequence, class);
            }
            What::MergeClass { from, into } => {
                let class = self.number_or_new(from);
                self.numbers.remove(from);
                let heir = self.number_or_new(into);
                self.heirs[class] = Some(heir);
                self.moved.insert(entry.sequence, class);
            }
            What::Undo(sequence) => self.take_back(*sequence, entry.sequence, entries),
        }
    }

    /// Takes the entry `sequence` back, by the entry `by`.
    fn take_back(&mut self, sequence: u64, by: u64, entries: &[Entry]) {
        let Some(&class) = self.moved.get(&sequence) else {
            return;
        };
        let place = entries.binary_search_by_key(&sequence, |entry| entry.sequence);
        match place.map(|place| &entries[place].what) {
            Ok(What::RenameClass { from, to }) => {
                if self.number(to) == Some(class) {
                    self.numbers.remove(to);
                    // Labels that were given under this name since are of a class of their own.
                    if is_given(to, entries, sequence, by) {
                        self.number_or_new(to);
                    }
                } else if self.heirs[class].take().is_none() {
                    // It has yet another name.
                    return;
                }
                self.call(class, from);
            }
            Ok(What::MergeClass { from, .. }) if self.heirs[class].take().is_some() => {
                self.call(class, from);
            }
            _ => {}
        }
    }

    /// Gives a class without a name its own again. One that a file has brought under it meanwhile is the same from now on.
    fn call(&mut self, class: usize, name: &str) {
        let other = self.numbers.insert(name.to_owned(), class);
        if let Some(other) = other.filter(|&other| other != class) {
            self.heirs[other] = Some(class);
        }
    }

    /// The number of the class of this name.
    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The same; a new one where there is none.
    pub(super) fn number_or_new(&mut self, name: &str) -> usize {
        if let Some(number) = self.number(name) {
            return number;
        }
        self.heirs.push(None);
        let number = self.heirs.len() - 1;
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// Where the classes of a fit stand among those of now; none for one that is gone. `numbers` are those that its names
    /// had when it was made; one that had none, or has no name any more, is as it was called, unless another class of the
    /// fit is now.
    pub(super) fn places(
        &self,
        origin: &[String],
        numbers: &[Option<usize>],
        now: &Labeled,
    ) -> Vec<Option<u32>> {
        let named = now.classes().iter().zip(0..);
        let of_number: HashMap<usize, u32> = named
            .filter_map(|(name, class)| Some((self.number(name)?, class)))
            .collect();
        let place = |mut number: usize| {
            // Whatever a class becomes one with has a name then, which one that has become another has not: this ends.
            while let Some(heir) = self.heirs[number] {
                number = heir;
            }
            of_number.get(&number).copied()
        };
        let known: Vec<Option<u32>> = numbers.iter().map(|&own| place(own?)).collect();
        let each = origin.iter().zip(&known).map(|(name, place)| {
            let taken = |class: &u32| known.contains(&Some(*class));
            place.or_else(|| now.class(name).filter(|class| !taken(class)))
        });
        each.collect()
    }
}

/// What names of classes are sorted by: numbers by their value, then words.
pub(super) fn by_name(name: &str) -> (bool, Option<i64>, String) {
    let number = name.parse().ok();
    (number.is_none(), number, name.to_owned())
}

/// Whether somebody gave this label after one entry and before another.
fn is_given(name: &str, entries: &[Entry], after: u64, before: u64) -> bool {
    let mut between =
        (entries.iter()).filter(|entry| (after + 1..before).contains(&entry.sequence));
    between.any(|entry| {
        let given = |change: &Change| change.new.as_deref() == Some(name);
        entry.what == What::Label && entry.items.iter().any(given)
    })
}

/// The first of the later `entries` that means something else without this one: a change of classes that goes by a name
/// which this one gave or took away. A class that was added and became another without an item may go.
pub(super) fn astray<'a>(
    entry: &Entry,
    entries: impl Iterator<Item = &'a Entry>,
) -> Option<&'a Entry> {
    let own: &[&String] = match &entry.what {
        What::AddClass(name) => &[name],
        What::RenameClass { from, to } => &[from, to],
        What::MergeClass { from, .. } => &[from],
        What::Label | What::Undo(_) => &[],
    };
    let mut later = entries.filter(|other| other.sequence > entry.sequence);
    later.find(|other| match &other.what {
        What::AddClass(name) => own.contains(&name),
        What::RenameClass { from, to } => own.contains(&from) || own.contains(&to),
        What::MergeClass { from, into } => {
            let is_idle = matches!(entry.what, What::AddClass(_)) && other.items.is_empty();
            own.contains(&into) || (own.contains(&from) && !is_idle)
        }
        What::Label | What::Undo(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use likewise_io::items::ItemRow;
    use proptest::prelude::*;

    fn entries_of(all: &[What]) -> Vec<Entry> {
        let each = all.iter().zip(1..).map(|(what, sequence)| Entry {
            sequence,
            time: String::new(),
            who: None,
            file: false,
            what: what.clone(),
            items: vec![],
        });
        each.collect()
    }

    fn rename(from: &str, to: &str) -> What {
        let (from, to) = (from.to_owned(), to.to_owned());
        What::RenameClass { from, to }
    }

    fn merge(from: &str, into: &str) -> What {
        let (from, into) = (from.to_owned(), into.to_owned());
        What::MergeClass { from, into }
    }

    fn add(name: &str) -> What {
        What::AddClass(name.to_owned())
    }

    fn gives(name: &str) -> Change {
        Change {
            id: "i".into(),
            old: None,
            new: Some(name.to_owned()),
            hidden: false,
        }
    }

    fn labeled(class: &str) -> ItemRow {
        ItemRow {
            label: Some(class.to_owned()),
            ..ItemRow::default()
        }
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    /// Where the classes `origin` of a fit that knew so many entries stand among those of `now`, by name.
    fn found(origin: &[&str], learned: usize, all: &[What], now: &[&str]) -> Vec<Option<String>> {
        let items: Vec<ItemRow> = now.iter().map(|class| labeled(class)).collect();
        let now = Labeled::of(&items).unwrap();
        let (origin, entries) = (words(origin), entries_of(all));
        let mut classes = Classes::of(&words(&["cat", "bird"]));
        let (known, later) = entries.split_at(learned);
        let follow = |classes: &mut Classes, some: &[Entry]| {
            for entry in some {
                classes.follow(entry, &entries);
            }
        };
        follow(&mut classes, known);
        let numbers: Vec<Option<usize>> = origin
            .iter()
            .map(|name| Some(classes.number_or_new(name)))
            .collect();
        follow(&mut classes, later);
        let name = |place: Option<u32>| Some(now.classes()[place? as usize].clone());
        let places = classes.places(&origin, &numbers, &now);
        places.into_iter().map(name).collect()
    }

    #[test]
    fn a_name_that_was_given_away_and_taken_again_is_another_class() {
        // The fit knows owl, which was bird, and another bird.
        let all = [rename("bird", "owl"), add("bird")];
        let now = ["bird", "cat", "owl"];
        let same = |names: &[&str]| {
            names
                .iter()
                .map(|&n| Some(n.to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(found(&now, 2, &all, &now), same(&now));
        // One of before these knows the first alone.
        assert_eq!(
            found(&["bird", "cat"], 0, &all, &now),
            same(&["owl", "cat"])
        );
        assert_eq!(found(&["cat", "owl"], 1, &all, &now), same(&["cat", "owl"]));
        let all = [add("new"), rename("new", "kite"), add("new")];
        let now = ["bird", "cat", "kite", "new"];
        assert_eq!(found(&now, 3, &all, &now), same(&now));
        assert_eq!(found(&["new"], 1, &all, &now), same(&["kite"]));
        // Names that were exchanged, before and after.
        let all = [
            rename("bird", "x"),
            rename("cat", "bird"),
            rename("x", "cat"),
        ];
        let now = ["bird", "cat"];
        assert_eq!(found(&now, 3, &all, &now), same(&now));
        assert_eq!(found(&now, 0, &all, &now), same(&["cat", "bird"]));
    }

    #[test]
    fn classes_that_files_bring_again_and_again_lead_in_no_circle() {
        let all = [
            merge("x", "cat"),
            rename("x", "z"),
            merge("cat", "z"),
            merge("x", "z"),
        ];
        let now = found(&["x", "cat", "bird"], 0, &all, &["bird", "z"]);
        let z = Some("z".to_owned());
        assert_eq!(now, [z.clone(), z, Some("bird".into())]);
    }

    #[test]
    fn a_file_brings_a_name_back_that_was_given_away() {
        // Bird is owl by now, and a file says bird of others, which the fit knows; then the two become one.
        let all = [rename("bird", "owl"), What::Label, merge("owl", "bird")];
        let mut entries = entries_of(&all);
        entries[1].items.push(gives("bird"));
        let mut classes = Classes::of(&words(&["bird", "cat"]));
        for entry in &entries[..2] {
            classes.follow(entry, &entries);
        }
        let of = |classes: &Classes| ["owl", "cat", "bird"].map(|name| classes.number(name));
        let before = of(&classes);
        assert_eq!(before, [Some(0), Some(1), Some(2)]);
        classes.follow(&entries[2], &entries);
        assert_eq!(of(&classes), [None, Some(1), Some(2)]);
        let now = Labeled::of(&[labeled("bird"), labeled("cat")]).unwrap();
        let fit = words(&["owl", "cat", "bird"]);
        let bird = now.class("bird");
        assert_eq!(
            classes.places(&fit, &[0, 1, 2].map(Some), &now),
            [bird, now.class("cat"), bird]
        );
    }

    #[test]
    fn numbers_stay_and_one_that_comes_again_has_its_own() {
        let all = [
            add("ant"),
            add("bee"),
            What::Undo(1),
            rename("bee", "wasp"),
            add("ant"),
            rename("cat", "ant"),
            What::Undo(6),
        ];
        let entries = entries_of(&all);
        let mut classes = Classes::of(&words(&["cat", "bird"]));
        let mut seen = vec![];
        for entry in &entries {
            classes.follow(entry, &entries);
            seen.push(["bird", "cat", "ant", "bee", "wasp"].map(|name| classes.number(name)));
        }
        let [bird, cat] = [Some(0), Some(1)];
        assert_eq!(seen[1], [bird, cat, Some(2), Some(3), None]);
        assert_eq!(seen[2], seen[1]);
        assert_eq!(seen[4], [bird, cat, Some(2), None, Some(3)]);
        // It takes the name from one that had gone.
        assert_eq!(seen[5], [bird, None, cat, None, Some(3)]);
        // Nobody has given the name since.
        assert_eq!(seen[6], [bird, cat, None, None, Some(3)]);
    }

    /// Any entry, sensible or not, and the label that it gives if it gives one.
    fn anything() -> impl Strategy<Value = (What, &'static str)> {
        let name = || (0..4_usize).prop_map(|i| ["bird", "cat", "x", "y"][i]);
        prop_oneof![
            (Just(What::Label), name()),
            (name().prop_map(add), name()),
            ((name(), name()).prop_map(|(a, b)| rename(a, b)), name()),
            ((name(), name()).prop_map(|(a, b)| merge(a, b)), name()),
            ((1..12_u64).prop_map(What::Undo), name()),
        ]
    }

    proptest! {
        #[test]
        fn no_two_names_are_one_class_whatever_a_journal_says(
            all in prop::collection::vec(anything(), 1..12),
        ) {
            let (what, given): (Vec<What>, Vec<&str>) = all.into_iter().unzip();
            let mut entries = entries_of(&what);
            for (entry, name) in entries.iter_mut().zip(given) {
                entry.items.push(gives(name));
            }
            let mut classes = Classes::of(&words(&["bird", "cat"]));
            let names = words(&["bird", "cat", "x", "y"]);
            let now = Labeled::of(&names.iter().map(|n| labeled(n)).collect::<Vec<_>>()).unwrap();
            for entry in &entries {
                classes.follow(entry, &entries);
                let mut numbers: Vec<usize> = classes.numbers.values().copied().collect();
                numbers.sort_unstable();
                let count = numbers.len();
                numbers.dedup();
                prop_assert_eq!(numbers.len(), count);
                // Nobody who has a name has become another, so that the way to an heir ends.
                prop_assert!(numbers.iter().all(|&number| classes.heirs[number].is_none()));
                let every: Vec<Option<usize>> = (0..classes.heirs.len()).map(Some).collect();
                let origin = vec![String::new(); every.len()];
                prop_assert_eq!(classes.places(&origin, &every, &now).len(), every.len());
            }
        }
    }

    #[test]
    fn what_a_later_change_goes_by_is_not_taken_from_under_it() {
        let astray = |all: &[What]| {
            let mut entries = entries_of(all);
            for entry in &mut entries {
                entry.items.push(gives("any"));
            }
            super::astray(&entries[0], entries.iter()).map(|entry| entry.sequence)
        };
        assert_eq!(astray(&[rename("a", "b"), rename("b", "c")]), Some(2));
        assert_eq!(astray(&[rename("a", "b"), add("c"), add("a")]), Some(3));
        assert_eq!(astray(&[add("x"), merge("y", "x")]), Some(2));
        assert_eq!(astray(&[merge("a", "b"), rename("c", "a")]), Some(2));
        // The other class goes on, whatever it is called.
        assert_eq!(astray(&[merge("a", "b"), rename("b", "c")]), None);
        let into = entries_of(&[add("x"), merge("y", "x")]);
        assert!(super::astray(&into[0], into.iter()).is_some());
        let mut entries = entries_of(&[add("x"), merge("x", "y")]);
        assert!(super::astray(&entries[0], entries.iter()).is_none());
        entries.pop();
        assert!(super::astray(&entries[0], entries.iter()).is_none());
        // Without the first one the others have an item, although they had none.
        let entries = entries_of(&[merge("a", "b"), add("a"), merge("a", "c")]);
        let by = super::astray(&entries[0], entries[2..].iter());
        assert_eq!(by.map(|entry| entry.sequence), Some(3));
    }

    #[test]
    fn a_name_that_nobody_gave_since_costs_no_number_and_two_of_one_name_are_one() {
        let all = [rename("bird", "owl"), What::Undo(1), add("x")];
        let mut classes = Classes::of(&words(&["bird", "cat"]));
        let entries = entries_of(&all);
        for entry in &entries {
            classes.follow(entry, &entries);
        }
        assert_eq!(classes.number("x"), Some(2));
        // A file brings bird again, and its labels are gone when the first one is called so again.
        let all = [rename("bird", "owl"), What::Label, What::Undo(1)];
        let mut entries = entries_of(&all);
        entries[1].items.push(gives("bird"));
        let mut classes = Classes::of(&words(&["bird", "cat"]));
        for entry in &entries {
            classes.follow(entry, &entries);
        }
        let now = Labeled::of(&[labeled("bird"), labeled("cat")]).unwrap();
        let fit = words(&["owl", "cat", "bird"]);
        let [bird, cat] = ["bird", "cat"].map(|name| now.class(name));
        assert_eq!(
            classes.places(&fit, &[0, 1, 2].map(Some), &now),
            [bird, cat, bird]
        );
    }

    #[test]
    fn what_is_taken_back_since_gives_the_older_name_and_what_became_one_is_one() {
        let all = [rename("bird", "owl"), What::Undo(1)];
        assert_eq!(found(&["owl"], 1, &all, &["bird"]), [Some("bird".into())]);
        let all = [merge("bird", "cat")];
        let now = found(&["bird", "cat"], 0, &all, &["cat"]);
        assert_eq!(now, [Some("cat".into()), Some("cat".into())]);
        // Two that a fit knew as one are where the one was that took the other in.
        let all = [merge("bird", "cat"), What::Undo(1)];
        assert_eq!(
            found(&["cat"], 1, &all, &["bird", "cat"]),
            [Some("cat".into())]
        );
        // One that was added, and is in use although its adding was taken back; and one that is gone.
        let all = [add("new"), What::Undo(1)];
        assert_eq!(
            found(&["new"], 1, &all, &["bird", "new"]),
            [Some("new".into())]
        );
        assert_eq!(found(&["new"], 1, &all, &["bird"]), [None]);
        // A class that a file brought, under a name that was given away.
        let all = [rename("bird", "owl")];
        let now = ["bird", "cat", "owl"];
        let names = found(&now, 1, &all, &now);
        assert_eq!(names, now.map(|name| Some(name.to_owned())));
        // Before it a fit of a file with newer names knew nothing of the journal.
        assert_eq!(
            found(&["owl"], 0, &all, &["cat", "owl"]),
            [Some("owl".into())]
        );
    }
}
