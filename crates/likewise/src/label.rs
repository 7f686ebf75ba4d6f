//! Labels: known, unknown, or known to be none of the classes.

use std::collections::HashMap;

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::{Error, Result, seed};

/// What is known about one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Label {
    /// The item belongs to this class (index into [`Labels::classes`]).
    Known(u32),
    /// Nothing is known.
    Unknown,
    /// The item is known to belong to none of the classes.
    Outside,
}

impl Label {
    /// The class, where it is known.
    pub fn class(self) -> Option<u32> {
        match self {
            Label::Known(class) => Some(class),
            Label::Unknown | Label::Outside => None,
        }
    }
}

/// One [`Label`] per item and the names of the classes.
///
/// ```
/// use likewise::{Label, Labels};
/// let labels = Labels::parse(["cat", "dog", "", "cat", "-1", "-2"]);
/// assert_eq!(labels.classes(), ["cat", "dog"]);
/// assert_eq!(labels[0], Label::Known(0));
/// assert_eq!(labels[2], Label::Unknown);
/// assert_eq!(labels[5], Label::Outside);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    classes: Vec<String>,
    items: Vec<Label>,
}

impl Labels {
    /// Labels from class indices; every index must be below `classes.len()`.
    pub fn new(classes: Vec<String>, items: Vec<Label>) -> Result<Self> {
        for (row, label) in items.iter().enumerate() {
            if let Label::Known(class) = label
                && *class as usize >= classes.len()
            {
                return Err(Error::data(format!(
                    "label of item {row} is class {class}, but there are only {} classes",
                    classes.len()
                )));
            }
        }
        Ok(Self { classes, items })
    }

    /// Labels from their written form.
    ///
    /// Empty, `-1`, `nan`, `null`, `none`, `unlabeled` and `unknown` (in any case)
    /// mean unknown; `-2`, `outside` and `other` mean outside. All else is a class
    /// name. Classes are ordered by number if all names are integers, else by name.
    pub fn parse<S: AsRef<str>>(written: impl IntoIterator<Item = S>) -> Self {
        let mut order: HashMap<String, u32> = HashMap::new();
        let mut items: Vec<Label> = written
            .into_iter()
            .map(|word| {
                let word = word.as_ref().trim();
                match word.to_ascii_lowercase().as_str() {
                    "" | "-1" | "-1.0" | "nan" | "null" | "none" | "unlabeled" | "unknown" => {
                        Label::Unknown
                    }
                    "-2" | "-2.0" | "outside" | "other" => Label::Outside,
                    _ => {
                        let next = order.len() as u32;
                        Label::Known(*order.entry(word.to_owned()).or_insert(next))
                    }
                }
            })
            .collect();
        let mut names: Vec<(String, u32)> = order.into_iter().collect();
        if names.iter().all(|(name, _)| name.parse::<i64>().is_ok()) {
            names.sort_by_key(|(name, _)| (name.parse::<i64>().ok(), name.clone()));
        } else {
            names.sort();
        }
        let mut rank = vec![0; names.len()];
        for (new, (_, old)) in names.iter().enumerate() {
            rank[*old as usize] = new as u32;
        }
        for item in &mut items {
            if let Label::Known(class) = item {
                *class = rank[*class as usize];
            }
        }
        Self {
            classes: names.into_iter().map(|(name, _)| name).collect(),
            items,
        }
    }

    /// Labels from integers: -1 is unknown, -2 outside, all else a class.
    pub fn from_integers(values: impl IntoIterator<Item = i64>) -> Self {
        Self::parse(values.into_iter().map(|v| v.to_string()))
    }

    /// `n` items of which nothing is known.
    pub fn unknown(n: usize) -> Self {
        Self {
            classes: Vec::new(),
            items: vec![Label::Unknown; n],
        }
    }

    /// Class names, by class index.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no items at all.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All labels, by item.
    pub fn items(&self) -> &[Label] {
        &self.items
    }

    /// Number of items with a known class.
    pub fn n_known(&self) -> usize {
        self.items.iter().filter(|l| l.class().is_some()).count()
    }

    /// Known items of each class, in item order.
    pub fn by_class(&self) -> Vec<Vec<usize>> {
        let mut by_class = vec![Vec::new(); self.classes.len()];
        for (item, label) in self.items.iter().enumerate() {
            if let Label::Known(class) = label {
                by_class[*class as usize].push(item);
            }
        }
        by_class
    }

    /// The labels of the items at `rows`, with the same classes.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            classes: self.classes.clone(),
            items: rows.iter().map(|&row| self.items[row]).collect(),
        }
    }

    /// These labels, where `keep` says so; unknown elsewhere. Outside stays outside.
    pub fn masked(&self, keep: impl Fn(usize) -> bool) -> Self {
        let items = self.items.iter().enumerate();
        Self {
            classes: self.classes.clone(),
            items: items
                .map(|(item, &label)| match label {
                    Label::Known(_) if !keep(item) => Label::Unknown,
                    other => other,
                })
                .collect(),
        }
    }

    /// The same labels over the classes that have a known item, numbered anew in the same
    /// order; and the old number of each new class.
    ///
    /// Propagation and losses work on these: a class without a label has nothing to spread
    /// or to learn, and would only blur the confidence in the others.
    pub fn compact(&self) -> (Self, Vec<u32>) {
        let by_class = self.by_class();
        let kept: Vec<u32> = (0..self.classes.len() as u32)
            .filter(|&class| !by_class[class as usize].is_empty())
            .collect();
        let mut new = vec![0; self.classes.len()];
        for (number, &class) in kept.iter().enumerate() {
            new[class as usize] = number as u32;
        }
        let labels = Self {
            classes: kept
                .iter()
                .map(|&class| self.classes[class as usize].clone())
                .collect(),
            items: self
                .items
                .iter()
                .map(|label| match label {
                    Label::Known(class) => Label::Known(new[*class as usize]),
                    other => *other,
                })
                .collect(),
        };
        (labels, kept)
    }

    /// Draws `per_class` known items of each class and hides the other labels.
    ///
    /// A class with fewer known items keeps all of them. The draw depends on `seed`
    /// and on the order of the items, on nothing else.
    pub fn draw(&self, per_class: usize, seed: u64) -> Self {
        let mut rng = seed::stream(seed, "label draw");
        let mut keep = vec![false; self.items.len()];
        for mut members in self.by_class() {
            members.shuffle(&mut rng);
            for &item in members.iter().take(per_class) {
                keep[item] = true;
            }
        }
        self.masked(|item| keep[item])
    }
}

impl std::ops::Index<usize> for Labels {
    type Output = Label;

    fn index(&self, item: usize) -> &Label {
        &self.items[item]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_names_are_ordered_by_number_and_others_by_name() {
        assert_eq!(
            Labels::from_integers([10, 9, -1, 10]).classes(),
            ["9", "10"]
        );
        assert_eq!(Labels::parse(["b", "a", "10"]).classes(), ["10", "a", "b"]);
    }

    #[test]
    fn a_draw_keeps_the_asked_number_and_is_repeatable() {
        let labels = Labels::from_integers((0..100).map(|i| i % 3));
        let drawn = labels.draw(5, 1);
        assert!(drawn.by_class().iter().all(|members| members.len() == 5));
        assert_eq!(drawn, labels.draw(5, 1));
        assert_ne!(drawn, labels.draw(5, 2));
        assert_eq!(labels.draw(1000, 1), labels);
    }

    #[test]
    fn compacting_drops_empty_classes_and_remembers_the_rest() {
        let labels = Labels::parse(["a", "b", "c", "c"]).masked(|item| item > 1);
        let (compact, kept) = labels.compact();
        assert_eq!(compact.classes(), ["c"]);
        assert_eq!(kept, [2]);
        assert_eq!(compact[3], Label::Known(0));
        assert_eq!(compact[0], Label::Unknown);
    }

    #[test]
    fn outside_survives_a_mask() {
        let labels = Labels::parse(["a", "-2"]).masked(|_| false);
        assert_eq!(labels.items(), [Label::Unknown, Label::Outside]);
    }
}
