//! Which class is which, whatever it is called: names are given away and taken again, and classes become one.

use std::collections::HashMap;

use super::labeled::Labeled;
use crate::journal::{self, Entry, What};

/// A class, by how it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Class<'a> {
    /// There before the first entry, under this name.
    First(&'a str),
    /// Added by the entry of this number.
    Added(u64),
    /// First seen under this name otherwise, as in a file of labels.
    Seen(&'a str),
}

/// The names of classes after some entries of a journal.
struct Names<'a> {
    /// All that ever were, in the order in which they came.
    all: Vec<Class<'a>>,
    classes: HashMap<&'a str, Class<'a>>,
    /// Classes that have become one with another.
    merged: HashMap<Class<'a>, Class<'a>>,
}

impl<'a> Names<'a> {
    fn after(first: &'a [String], entries: impl Iterator<Item = &'a Entry>) -> Self {
        let mut now = Self::before(first);
        for entry in entries {
            now.follow(entry);
        }
        now
    }

    fn before(first: &'a [String]) -> Self {
        // In one order, whichever run tells of them.
        let mut names: Vec<&str> = first.iter().map(String::as_str).collect();
        names.sort_by_cached_key(|name| by_name(name));
        Self {
            all: names.iter().map(|name| Class::First(name)).collect(),
            classes: names
                .iter()
                .map(|&name| (name, Class::First(name)))
                .collect(),
            merged: HashMap::new(),
        }
    }

    fn follow(&mut self, entry: &'a Entry) {
        match &entry.what {
            What::AddClass(name) => {
                let new = Class::Added(entry.sequence);
                if !self.classes.contains_key(&**name) {
                    self.classes.insert(name, new);
                    self.all.push(new);
                }
            }
            What::RenameClass { from, to } | What::MergeClass { from, into: to } => {
                self.turn(from, to);
            }
            What::Label | What::Undo(_) => {}
        }
    }

    fn turn(&mut self, from: &'a str, to: &'a str) {
        let gone = self.classes.remove(from).unwrap_or(Class::Seen(from));
        if !self.all.contains(&gone) {
            self.all.push(gone);
        }
        // One that comes again under the name of one that had gone is there again.
        self.merged.remove(&gone);
        match self.classes.get(to) {
            Some(&heir) if heir == gone => {}
            Some(&heir) => drop(self.merged.insert(gone, heir)),
            None => drop(self.classes.insert(to, gone)),
        }
    }

    fn name(&self, mut class: Class<'a>) -> Option<&'a str> {
        // Whatever a class became one with was there then, and led nowhere: this ends.
        while let Some(&heir) = self.merged.get(&class) {
            class = heir;
        }
        let mut named = self.classes.iter();
        named.find(|(_, own)| **own == class).map(|(name, _)| *name)
    }
}

/// How many classes came before each of those of now: the first ones in the order of their names, then others one after
/// the other. A class keeps its place whatever it is called, and that of one that is gone stays empty.
pub(super) fn order(first: &[String], entries: &[Entry], now: &Labeled) -> Vec<usize> {
    let names = Names::after(first, journal::standing(entries));
    let mut next = names.all.len();
    let each = now.classes().iter().map(|name| {
        let class = names.classes.get(&**name);
        let place = class.and_then(|class| names.all.iter().position(|own| own == class));
        place.unwrap_or_else(|| {
            next += 1;
            next - 1
        })
    });
    each.collect()
}

/// The first of the entries `others` that changes other classes than it does among `entries`: what it names is another
/// class without the entries that are missing. Where it moved no item, that does not matter.
pub(super) fn astray<'a>(
    first: &'a [String],
    entries: impl Iterator<Item = &'a Entry>,
    others: impl Iterator<Item = &'a Entry>,
) -> Option<&'a Entry> {
    let meant: HashMap<u64, _> = uses(first, entries)
        .map(|(entry, classes)| (entry.sequence, classes))
        .collect();
    let mut others = uses(first, others).filter(|(entry, _)| {
        !matches!(entry.what, What::MergeClass { .. }) || !entry.items.is_empty()
    });
    let found = others.find(|(entry, classes)| meant.get(&entry.sequence) != Some(classes));
    found.map(|(entry, _)| entry)
}

/// What each change of classes finds under the names that it has for them.
fn uses<'a>(
    first: &'a [String],
    entries: impl Iterator<Item = &'a Entry>,
) -> impl Iterator<Item = (&'a Entry, [Option<Class<'a>>; 2])> {
    let mut names = Names::before(first);
    entries.filter_map(move |entry| {
        let own = |name: &str| names.classes.get(name).copied();
        let used = match &entry.what {
            What::AddClass(name) => [own(name), None],
            What::RenameClass { from, to } | What::MergeClass { from, into: to } => {
                [own(from), own(to)]
            }
            What::Label | What::Undo(_) => return None,
        };
        names.follow(entry);
        Some((entry, used))
    })
}

/// What names of classes are sorted by: numbers by their value, then words.
pub(super) fn by_name(name: &str) -> (bool, Option<i64>, String) {
    let number = name.parse().ok();
    (number.is_none(), number, name.to_owned())
}

/// Where the classes of a fit stand among those of now; none for one that is gone.
///
/// The fit knows labels as they were after the entry `learned`, by the names of then; `first` are the classes before the
/// first entry, of which all stand in `entries`. Costs O(entries), and O(C^2) at most.
pub(super) fn places(
    origin: &[String],
    learned: u64,
    first: &[String],
    entries: &[Entry],
    now: &Labeled,
) -> Vec<Option<u32>> {
    let known = entries.partition_point(|entry| entry.sequence <= learned);
    let then = Names::after(first, journal::standing(&entries[..known]));
    let names = Names::after(first, journal::standing(entries));
    let class = |name: &String| then.classes.get(&**name).copied();
    let each = origin.iter().map(|name| {
        let own = class(name).unwrap_or(Class::Seen(name));
        let named = names.name(own).and_then(|name| now.class(name));
        named.or_else(|| {
            // A class whose adding was taken back, or that came with labels: as it is called, unless another
            // class of the fit is called so by now.
            let other = names.classes.get(&**name).copied();
            let taken = other.is_some() && origin.iter().any(|name| class(name) == other);
            now.class(name).filter(|_| !taken)
        })
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use likewise_io::items::ItemRow;

    fn entries(all: &[What]) -> Vec<Entry> {
        let each = all.iter().zip(1..).map(|(what, sequence)| Entry {
            sequence,
            time: String::new(),
            who: None,
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

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    /// Where the classes `origin` of a fit that knew so many entries stand among those of `now`, by name.
    fn found(origin: &[&str], learned: u64, all: &[What], now: &[&str]) -> Vec<Option<String>> {
        let items = now.iter().map(|class| ItemRow {
            label: Some((*class).to_owned()),
            ..ItemRow::default()
        });
        let items: Vec<ItemRow> = items.collect();
        let now = Labeled::of(&items).unwrap();
        let first = words(&["bird", "cat"]);
        let places = places(&words(origin), learned, &first, &entries(all), &now);
        let name = |place: Option<u32>| Some(now.classes()[place? as usize].clone());
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
