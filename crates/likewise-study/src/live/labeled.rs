//! The labels of the items of a run as they are now, and how an entry of the journal changes them.

use std::collections::HashMap;
use std::sync::Arc;

use likewise::{Label, Labels};
use likewise_io::items::ItemRow;

use crate::journal::{Change, What};
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
        let shown = |item: &ItemRow| {
            let drawn = item.drawn.as_deref().unwrap_or_default();
            !hides || drawn.split(' ').any(|draw| draw == "0")
        };
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

    /// The items of the run with these labels.
    pub fn rows(&self, items: &[ItemRow]) -> Vec<ItemRow> {
        let each = items.iter().enumerate().map(|(row, item)| ItemRow {
            label: self.name(row).map(str::to_owned),
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
            Some(name) => self
                .class(name)
                .map(Label::Known)
                .ok_or_else(|| usage(format!("there is no class \"{name}\"; add it first"))),
        }
    }

    /// Fails where a new class cannot have this name: it is there, or a table of labels would read it
    /// as something else.
    pub fn check_new(&self, name: &str) -> Result<()> {
        if self.class(name).is_some() {
            return Err(usage(format!("there is a class \"{name}\" already")));
        }
        let is_read = Labels::parse([name]).classes() == [name];
        if !is_read || name.len() > MOST_LETTERS || !plain::is_shown(name) {
            return Err(usage(format!(
                "\"{}\" cannot be the name of a class: a table of labels reads it as something \
                 else, it holds letters that nobody sees, or it is longer than {MOST_LETTERS} bytes",
                name.escape_debug()
            )));
        }
        Ok(())
    }

    /// Follows an entry whose items have these `rows`; gives for each class the number that it has
    /// from now on, `None` for one that is gone, where the numbers changed.
    pub(super) fn follow(
        &mut self,
        what: &What,
        items: &[Change],
        rows: &HashMap<String, u32>,
    ) -> Result<Vec<Option<u32>>> {
        let (gone, heir) = match what {
            What::Label | What::Undo(_) => (None, None),
            What::AddClass(name) => (None, Some(name)),
            What::RenameClass { from, to } => (Some(from), Some(to)),
            What::MergeClass { from, into } => (Some(from), Some(into)),
        };
        self.turn(gone, heir, items, rows)
    }

    /// Takes an entry back.
    pub(super) fn take_back(
        &mut self,
        what: &What,
        items: &[Change],
        rows: &HashMap<String, u32>,
    ) -> Result<Vec<Option<u32>>> {
        let (gone, heir) = match what {
            What::Label | What::Undo(_) => (None, None),
            What::AddClass(name) => (Some(name), None),
            What::RenameClass { from, to } => (Some(to), Some(from)),
            What::MergeClass { from, .. } => (None, Some(from)),
        };
        self.turn(gone, heir, items, rows)
    }

    /// One class goes, its heir is there from now on, and items get other labels.
    fn turn(
        &mut self,
        gone: Option<&String>,
        heir: Option<&String>,
        items: &[Change],
        rows: &HashMap<String, u32>,
    ) -> Result<Vec<Option<u32>>> {
        if let Some(heir) = heir
            && self.class(heir).is_none()
        {
            self.classes.push(heir.clone());
        }
        if let (Some(gone), Some(heir)) = (gone, heir) {
            let heir: Arc<str> = heir.as_str().into();
            for hidden in Arc::make_mut(&mut self.hidden).iter_mut().flatten() {
                if **hidden == **gone {
                    *hidden = heir.clone();
                }
            }
        }
        for change in items {
            // A run that was fitted on other data may lack an item.
            let Some(&row) = rows.get(&change.id) else {
                continue;
            };
            if let Some(name) = &change.new
                && name != OUTSIDE
                && self.class(name).is_none()
            {
                // The run knew this class only by labels that have changed since.
                self.classes.push(name.clone());
            }
            self.labels[row as usize] = self.meant(change.new.as_deref())?;
        }
        let still = |class: u32| self.labels.contains(&Label::Known(class));
        // Somebody may have used a class since it was added, and that label counts.
        let Some(gone) = gone
            .and_then(|name| self.class(name))
            .filter(|&c| !still(c))
        else {
            return Ok((0..self.classes.len() as u32).map(Some).collect());
        };
        let moved: Vec<Option<u32>> = (0..self.classes.len() as u32)
            .map(|class| (class != gone).then(|| class - u32::from(class > gone)))
            .collect();
        self.classes.remove(gone as usize);
        for label in &mut self.labels {
            if let Label::Known(class) = label {
                *class -= u32::from(*class > gone);
            }
        }
        Ok(moved)
    }
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
        let change = [changed("2", None, Some("dog"))];
        labeled.follow(&What::Label, &change, &rows(4)).unwrap();
        assert_eq!(
            (labeled.given(2), labeled.is_hidden(2)),
            (Some("dog"), false)
        );
        let back = [changed("2", Some("dog"), None)];
        labeled.take_back(&What::Label, &back, &rows(4)).unwrap();
        assert!(labeled.is_hidden(2));
        let rename = What::RenameClass {
            from: "dog".into(),
            to: "hound".into(),
        };
        labeled.follow(&rename, &[], &rows(4)).unwrap();
        assert_eq!((labeled.name(2), labeled.given(2)), (Some("hound"), None));
    }

    #[test]
    fn classes_come_go_and_come_back() {
        let all = items(&[("a", None), ("b", None), ("c", None), ("", None)]);
        let mut labeled = Labeled::of(&all).unwrap();
        let merge = What::MergeClass {
            from: "a".into(),
            into: "c".into(),
        };
        let there = [changed("0", Some("a"), Some("c"))];
        let back = [changed("0", Some("c"), Some("a"))];
        let moved = labeled.follow(&merge, &there, &rows(4)).unwrap();
        assert_eq!(moved, [None, Some(0), Some(1)]);
        assert_eq!(labeled.classes(), ["b", "c"]);
        assert_eq!((labeled.given(0), labeled.given(1)), (Some("c"), Some("b")));
        labeled.take_back(&merge, &back, &rows(4)).unwrap();
        assert_eq!(labeled.classes(), ["b", "c", "a"]);
        assert_eq!((labeled.given(0), labeled.given(2)), (Some("a"), Some("c")));
        let rename = What::RenameClass {
            from: "b".into(),
            to: "owl".into(),
        };
        let there = [changed("1", Some("b"), Some("owl"))];
        labeled.follow(&rename, &there, &rows(4)).unwrap();
        assert_eq!(labeled.classes(), ["c", "a", "owl"]);
        let add = What::AddClass("x".into());
        labeled.follow(&add, &[], &rows(4)).unwrap();
        labeled.take_back(&add, &[], &rows(4)).unwrap();
        assert_eq!(labeled.classes(), ["c", "a", "owl"]);
    }

    #[test]
    fn a_class_that_is_used_since_it_was_added_stays_when_that_is_taken_back() {
        let mut labeled = Labeled::of(&items(&[("a", None), ("", None)])).unwrap();
        let add = What::AddClass("x".into());
        labeled.follow(&add, &[], &rows(2)).unwrap();
        let change = [
            changed("1", None, Some("x")),
            changed("gone", None, Some("x")),
        ];
        labeled.follow(&What::Label, &change, &rows(2)).unwrap();
        labeled.take_back(&add, &[], &rows(2)).unwrap();
        assert_eq!((labeled.given(1), labeled.classes().len()), (Some("x"), 2));
    }

    #[test]
    fn names_that_would_be_read_as_something_else_are_refused() {
        let labeled = Labeled::of(&items(&[("a", None)])).unwrap();
        for name in ["", " ", "outside", "-1", "-2", "NaN", "a", " x", "7.0"] {
            assert!(labeled.check_new(name).is_err(), "{name:?}");
        }
        assert!(labeled.check_new(&"x".repeat(201)).is_err());
        for name in ["b", "7", "barn owl", "Ä"] {
            assert!(labeled.check_new(name).is_ok(), "{name}");
        }
        let e = labeled.meant(Some("owl")).unwrap_err().to_string();
        assert!(e.contains("no class \"owl\""), "{e}");
    }
}
