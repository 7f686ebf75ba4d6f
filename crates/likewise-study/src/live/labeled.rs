//! The labels of the items of a run as they are now, and how an entry of the journal changes them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use likewise::{Label, Labels};
use likewise_io::items::ItemRow;

use crate::journal::{self, Change, Entry, What};
use crate::run_folder::OUTSIDE;
use crate::{Result, plain, usage};

/// Labels by item, with the names of the classes.
#[derive(Debug, Clone)]
pub struct Labeled {
    classes: Vec<String>,
    labels: Vec<Label>,
    /// Labels that are known and that the fit was not shown: they score, and teach nothing.
    hidden: Arc<Vec<Option<Arc<str>>>>,
}

impl Labeled {
    /// The labels of the items of a run. Where some were hidden, those of its first draw.
    pub fn of(items: &[ItemRow]) -> Result<Self> {
        let all = crate::labels::of(items)?;
        let hides = items.iter().any(|item| item.drawn.is_some());
        let shown = |item: &ItemRow| !hides || is_first(item);
        let own = |(item, &label): (&ItemRow, &Label)| {
            let known = matches!(label, Label::Known(_));
            if known && !shown(item) {
                (Label::Unknown, item.label.as_deref().map(Arc::from))
            } else {
                (label, None)
            }
        };
        let (labels, hidden): (_, Vec<_>) = items.iter().zip(all.items()).map(own).unzip();
        Ok(Self {
            classes: all.classes().to_vec(),
            labels,
            hidden: Arc::new(hidden),
        })
    }

    /// Names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// What is known of each item, without what is hidden.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// The same with the names of the classes.
    pub fn as_labels(&self) -> Result<Labels> {
        Labels::new(self.classes.clone(), self.labels.clone())
    }

    /// Whether the label of an item is known, but hidden: nobody has given it since.
    pub fn is_hidden(&self, item: usize) -> bool {
        self.labels[item] == Label::Unknown && self.hidden[item].is_some()
    }

    /// The label of an item in words, also where it is hidden.
    pub fn name(&self, item: usize) -> Option<&str> {
        self.given(item).or(self.hidden[item].as_deref())
    }

    /// The label of an item in words, unless it is hidden.
    pub fn given(&self, item: usize) -> Option<&str> {
        match self.labels[item] {
            Label::Known(class) => Some(&self.classes[class as usize]),
            Label::Outside => Some(OUTSIDE),
            Label::Unknown => None,
        }
    }

    /// The items of the run with these labels. Where some were hidden, those that were given since are none of them:
    /// they count as of the first draw.
    pub fn rows(&self, items: &[ItemRow]) -> Vec<ItemRow> {
        let hides = items.iter().any(|item| item.drawn.is_some());
        let each = items.iter().enumerate().map(|(row, item)| ItemRow {
            label: self.name(row).map(str::to_owned),
            drawn: match self.given(row) {
                Some(_) if hides && !is_first(item) => Some("0".to_owned()),
                _ => item.drawn.clone(),
            },
            ..item.clone()
        });
        each.collect()
    }

    /// The number of a class.
    pub fn class(&self, name: &str) -> Option<u32> {
        let place = self.classes.iter().position(|class| class == name)?;
        Some(place as u32)
    }

    /// What a label in words means here. Fails for a class that there is not.
    pub fn meant(&self, label: Option<&str>) -> Result<Label> {
        match label {
            None => Ok(Label::Unknown),
            Some(OUTSIDE) => Ok(Label::Outside),
            Some("") => Err(usage("an empty label; `null` takes a label away")),
            Some(name) => self.class(name).map(Label::Known).ok_or_else(|| {
                let name: String = name.chars().take(MOST_LETTERS).collect();
                usage(format!("there is no class \"{name}\"; add it first"))
            }),
        }
    }

    /// Fails where a class, new or `instead_of` another, cannot have this name: it is there, nobody could tell it from
    /// one that is, or a table of labels would read it as something else.
    pub fn check_new(&self, name: &str, instead_of: Option<&str>) -> Result<()> {
        if self.class(name).is_some() {
            return Err(usage(format!("there is a class \"{name}\" already")));
        }
        let looks_so = |class: &&String| {
            Some(class.as_str()) != instead_of
                && class.split_whitespace().eq(name.split_whitespace())
        };
        if let Some(class) = self.classes.iter().find(looks_so) {
            return Err(usage(format!(
                "there is a class \"{class}\" already, of which \"{name}\" differs by blanks alone"
            )));
        }
        let why = if name.trim().is_empty() {
            return Err(usage("a class needs a name"));
        } else if name.len() > MOST_LETTERS {
            format!("it is longer than {MOST_LETTERS} bytes")
        } else if !plain::is_shown(name) {
            "it holds letters that nobody sees".to_owned()
        } else if Labels::parse([name]).classes() != [name] {
            "a table of labels reads it as something else".to_owned()
        } else {
            return Ok(());
        };
        let name: String = name.chars().take(MOST_LETTERS).collect();
        let name = name.escape_debug();
        Err(usage(format!(
            "\"{name}\" cannot be the name of a class: {why}"
        )))
    }

    /// What was known before the first entry of a journal: of each item that it names, the label that its
    /// first change found. A run that was fitted with these labels since holds later ones.
    pub(super) fn before(&self, entries: &[Entry], rows: &HashMap<String, u32>) -> Self {
        let mut first = self.clone();
        let mut seen = HashSet::new();
        for change in entries.iter().flat_map(|entry| &entry.items) {
            if let Some(&row) = rows.get(&change.id)
                && seen.insert(row)
            {
                let old = change.old.as_deref();
                first.set(row, old.filter(|_| !change.hidden));
                let hidden = old.filter(|_| change.hidden).map(Arc::from);
                if first.hidden[row as usize] != hidden {
                    Arc::make_mut(&mut first.hidden)[row as usize] = hidden;
                }
            }
        }
        if !seen.is_empty() {
            first.drop_unused();
        }
        first
    }

    /// A change of an item's label to another.
    pub(super) fn change(&self, row: usize, item: &ItemRow, new: Option<&str>) -> Change {
        Change {
            id: item.id.clone(),
            old: self.name(row).map(str::to_owned),
            new: new.map(str::to_owned),
            hidden: self.is_hidden(row),
        }
    }

    /// The classes of these rows, those whose labels are hidden among them.
    pub(super) fn classes_of(&self, rows: std::ops::Range<usize>) -> Vec<String> {
        let mut seen = HashSet::new();
        let names = rows
            .filter_map(|row| self.name(row))
            .filter(|&name| name != OUTSIDE);
        names
            .filter(|&name| seen.insert(name))
            .map(str::to_owned)
            .collect()
    }

    /// Whether an item has this label, be it hidden.
    pub(super) fn has_items(&self, name: &str) -> bool {
        (0..self.labels.len()).any(|row| self.name(row) == Some(name))
    }

    /// Whether labels of two classes are there.
    pub(super) fn has_two_classes(&self) -> bool {
        let mut known = self.labels.iter().filter_map(|label| label.class());
        known
            .next()
            .is_some_and(|first| known.any(|class| class != first))
    }

    /// The labels of a run by all entries of its journal that stand.
    ///
    /// Fails where an entry takes back what is not there.
    pub(super) fn replayed(&self, entries: &[Entry], rows: &HashMap<String, u32>) -> Result<Self> {
        for entry in entries {
            if let What::Undo(sequence) = entry.what
                && !(1..entry.sequence).contains(&sequence)
            {
                return Err(likewise::Error::data(format!(
                    "entry {} of the journal (labels.jsonl) takes back an entry {sequence} that is not there: take the file from a \
                     copy, or move it away to begin without these labels",
                    entry.sequence
                )));
            }
        }
        let first = self.before(entries, rows);
        Ok(first.after(journal::standing(entries), rows))
    }

    /// The same after these entries, one after the other.
    pub(super) fn after<'a>(
        &self,
        entries: impl Iterator<Item = &'a Entry>,
        rows: &HashMap<String, u32>,
    ) -> Self {
        let mut now = self.clone();
        for entry in entries {
            now.follow(&entry.what, &entry.items, rows);
        }
        now
    }

    /// Two classes here that are one in `then`, and its name there.
    pub(super) fn made_one<'a>(&'a self, then: &'a Self) -> Option<[&'a str; 3]> {
        let mut of: HashMap<&str, &str> = HashMap::new();
        for row in 0..self.labels.len() {
            let (Some(now), Some(then)) = (self.given(row), then.given(row)) else {
                continue;
            };
            let first = *of.entry(then).or_insert(now);
            if first != now {
                return Some([first, now, then]);
            }
        }
        None
    }

    /// Follows an entry whose items have these `rows`.
    pub(super) fn follow(&mut self, what: &What, items: &[Change], rows: &HashMap<String, u32>) {
        match what {
            What::Label => {
                for change in items {
                    // A run that was fitted on other data may lack an item.
                    if let Some(&row) = rows.get(&change.id) {
                        self.set(row, change.new.as_deref());
                    }
                }
            }
            What::AddClass(name) => drop(self.class_or_new(name)),
            What::RenameClass { from, to } | What::MergeClass { from, into: to } => {
                self.turn(from, to);
            }
            // What it takes back is left out.
            What::Undo(_) => {}
        }
    }

    /// Sets a label in words, of a class that need not be there yet.
    fn set(&mut self, row: u32, label: Option<&str>) {
        self.labels[row as usize] = match label {
            None => Label::Unknown,
            Some(OUTSIDE) => Label::Outside,
            Some(name) => Label::Known(self.class_or_new(name)),
        };
    }

    fn class_or_new(&mut self, name: &str) -> u32 {
        self.class(name).unwrap_or_else(|| {
            self.classes.push(name.to_owned());
            self.classes.len() as u32 - 1
        })
    }

    /// All labels of a class become those of another, and the class goes.
    fn turn(&mut self, from: &str, to: &str) {
        // That by which it came may have been taken back.
        let Some(gone) = self.class(from) else { return };
        let heir = self.class_or_new(to);
        let name: Arc<str> = to.into();
        for hidden in Arc::make_mut(&mut self.hidden).iter_mut().flatten() {
            if **hidden == *from {
                *hidden = name.clone();
            }
        }
        for label in &mut self.labels {
            if *label == Label::Known(gone) {
                *label = Label::Known(heir);
            }
        }
        self.keep_classes(|class| class != gone);
    }

    /// Classes without an item go.
    fn drop_unused(&mut self) {
        let mut used: HashSet<u32> = self.labels.iter().filter_map(|l| l.class()).collect();
        let hidden: HashSet<&str> = self.hidden.iter().flatten().map(|name| &**name).collect();
        used.extend(hidden.into_iter().filter_map(|name| self.class(name)));
        self.keep_classes(|class| used.contains(&class));
    }

    /// Only these classes stay, all that have a label among them; the numbers of the others move up.
    fn keep_classes(&mut self, stays: impl Fn(u32) -> bool) {
        let mut next = 0;
        let moved: Vec<u32> = (0..self.classes.len() as u32)
            .map(|class| {
                let own = next;
                next += u32::from(stays(class));
                own
            })
            .collect();
        for label in &mut self.labels {
            if let Label::Known(class) = label {
                *class = moved[*class as usize];
            }
        }
        let mut number = 0;
        self.classes.retain(|_| {
            number += 1;
            stays(number - 1)
        });
    }
}

/// Whether the first draw of a run showed the label of an item.
fn is_first(item: &ItemRow) -> bool {
    let drawn = item.drawn.as_deref().unwrap_or_default();
    drawn.split(' ').any(|draw| draw == "0")
}

/// Most bytes of the name of a class.
const MOST_LETTERS: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn items(labels: &[(&str, Option<&str>)]) -> Vec<ItemRow> {
        let each = labels.iter().zip(0..).map(|((label, drawn), i)| ItemRow {
            id: format!("{i}"),
            label: (!label.is_empty()).then(|| (*label).to_owned()),
            drawn: drawn.map(str::to_owned),
            ..ItemRow::default()
        });
        each.collect()
    }

    fn rows(n: u32) -> HashMap<String, u32> {
        (0..n).map(|i| (i.to_string(), i)).collect()
    }

    fn changed(id: &str, old: Option<&str>, new: Option<&str>) -> Change {
        Change {
            id: id.into(),
            old: old.map(str::to_owned),
            new: new.map(str::to_owned),
            hidden: false,
        }
    }

    fn entry(sequence: u64, what: What, items: Vec<Change>) -> Entry {
        Entry {
            sequence,
            time: String::new(),
            who: None,
            file: false,
            what,
            items,
        }
    }

    #[test]
    fn labels_that_the_fit_did_not_see_are_hidden_until_they_are_given() {
        let all = items(&[
            ("cat", Some("0 2")),
            ("cat", Some("1")),
            ("dog", None),
            ("outside", None),
        ]);
        let mut labeled = Labeled::of(&all).unwrap();
        let known = [
            Label::Known(0),
            Label::Unknown,
            Label::Unknown,
            Label::Outside,
        ];
        assert_eq!(labeled.labels(), known);
        assert!(labeled.is_hidden(1) && !labeled.is_hidden(0) && !labeled.is_hidden(3));
        assert_eq!((labeled.name(2), labeled.given(2)), (Some("dog"), None));
        let give = entry(1, What::Label, vec![changed("2", None, Some("dog"))]);
        let given = labeled.after([&give].into_iter(), &rows(4));
        assert_eq!((given.given(2), given.is_hidden(2)), (Some("dog"), false));
        let drawn = |labeled: &Labeled| -> Vec<Option<String>> {
            let rows = labeled.rows(&all).into_iter();
            rows.map(|row| row.drawn).collect()
        };
        let text = |drawn: &str| Some(drawn.to_owned());
        // What is known to be outside was never hidden.
        assert_eq!(drawn(&labeled), [text("0 2"), text("1"), None, text("0")]);
        assert_eq!(drawn(&given)[2], text("0"));
        assert!(labeled.is_hidden(2));
        let rename = What::RenameClass {
            from: "dog".into(),
            to: "hound".into(),
        };
        labeled.follow(&rename, &[], &rows(4));
        assert_eq!((labeled.name(2), labeled.given(2)), (Some("hound"), None));
    }

    #[test]
    fn what_was_hidden_before_somebody_labeled_it_is_hidden_again_without_that() {
        let all = items(&[("cat", Some("0")), ("cat", None), ("", None)]);
        let own = Labeled::of(&all).unwrap();
        let given = own.change(1, &all[1], Some("dog"));
        assert_eq!((given.old.as_deref(), given.hidden), (Some("cat"), true));
        let other = own.change(2, &all[2], Some("dog"));
        assert_eq!((other.old.as_deref(), other.hidden), (None, false));
        let entries = [entry(1, What::Label, vec![given, other])];
        // Fitted again with these, which hid both.
        let all = items(&[("cat", Some("0")), ("dog", None), ("dog", None)]);
        let first = Labeled::of(&all).unwrap().before(&entries, &rows(3));
        assert!(first.is_hidden(1) && !first.is_hidden(2));
        assert_eq!(
            [0, 1, 2].map(|row| first.name(row)),
            [Some("cat"), Some("cat"), None]
        );
        let now = first.after(entries.iter(), &rows(3));
        assert_eq!((now.given(1), now.given(2)), (Some("dog"), Some("dog")));
    }

    #[test]
    fn classes_come_go_and_come_back() {
        let all = items(&[("a", None), ("b", None), ("c", None), ("", None)]);
        let first = Labeled::of(&all).unwrap();
        let merge = What::MergeClass {
            from: "a".into(),
            into: "c".into(),
        };
        let mut merged = first.clone();
        merged.follow(&merge, &[], &rows(4));
        assert_eq!(merged.classes(), ["b", "c"]);
        assert_eq!((merged.given(0), merged.given(1)), (Some("c"), Some("b")));
        assert_eq!(first.classes(), ["a", "b", "c"]);
        let rename = What::RenameClass {
            from: "b".into(),
            to: "owl".into(),
        };
        merged.follow(&rename, &[], &rows(4));
        assert_eq!(merged.classes(), ["c", "owl"]);
        assert_eq!(merged.given(1), Some("owl"));
        // Of a class that is not there nothing comes.
        merged.follow(&merge, &[], &rows(4));
        merged.follow(&What::AddClass("x".into()), &[], &rows(4));
        merged.follow(&What::AddClass("x".into()), &[], &rows(4));
        assert_eq!(merged.classes(), ["c", "owl", "x"]);
    }

    #[test]
    fn a_class_of_which_only_its_adding_is_missing_is_there_as_long_as_it_has_a_label() {
        let labeled = Labeled::of(&items(&[("a", None), ("", None)])).unwrap();
        let give = vec![
            changed("1", None, Some("x")),
            changed("gone", None, Some("x")),
        ];
        let now = labeled.after([&entry(2, What::Label, give)].into_iter(), &rows(2));
        assert_eq!((now.given(1), now.classes().len()), (Some("x"), 2));
    }

    #[test]
    fn a_run_that_learned_from_labels_of_the_journal_shows_what_was_there_before_it() {
        // Fitted after both entries: "new" is a class of the run, "old" none.
        let all = items(&[("b", None), ("new", None), ("new", None), ("cat", None)]);
        let entries = [
            entry(1, What::Label, vec![changed("3", None, Some("cat"))]),
            entry(
                2,
                What::RenameClass {
                    from: "old".into(),
                    to: "new".into(),
                },
                vec![
                    changed("1", Some("old"), Some("new")),
                    changed("2", Some("old"), Some("new")),
                ],
            ),
        ];
        let labeled = Labeled::of(&all).unwrap();
        let first = labeled.before(&entries, &rows(4));
        assert_eq!(first.classes(), ["b", "old"]);
        let given: Vec<_> = (0..4).map(|row| first.given(row)).collect();
        assert_eq!(given, [Some("b"), Some("old"), Some("old"), None]);
        let again = first.after(entries.iter(), &rows(4));
        let given: Vec<_> = (0..4).map(|row| again.given(row)).collect();
        assert_eq!(given, [Some("b"), Some("new"), Some("new"), Some("cat")]);
    }

    #[test]
    fn names_that_would_be_read_as_something_else_are_refused() {
        let labeled = Labeled::of(&items(&[("a", None)])).unwrap();
        for name in ["", " ", "outside", "-1", "-2", "NaN", "a", " x", "7.0"] {
            assert!(labeled.check_new(name, None).is_err(), "{name:?}");
        }
        assert!(labeled.check_new(&"x".repeat(201), None).is_err());
        for name in ["b", "7", "barn owl", "Ä"] {
            assert!(labeled.check_new(name, None).is_ok(), "{name}");
        }
        let labeled = Labeled::of(&items(&[("barn owl", None)])).unwrap();
        let e = labeled.check_new("barn  owl", None).unwrap_err();
        assert!(e.to_string().contains("by blanks alone"), "{e}");
        assert!(labeled.check_new("barn  owl", Some("barn owl")).is_ok());
        let labeled = Labeled::of(&items(&[("a", None)])).unwrap();
        let e = labeled.meant(Some("owl")).unwrap_err().to_string();
        assert!(e.contains("no class \"owl\""), "{e}");
    }
}
