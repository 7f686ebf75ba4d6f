//! Labels: known, unknown, or known to be none of the classes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::word::Word;
use crate::{Error, Result, Tags, seed};

mod sets;

/// Whether a class of this name may have been meant as something else.
fn doubtful(name: &str) -> bool {
    let negative = name.parse::<i64>().is_ok_and(|number| number < -2);
    negative || DOUBTFUL.contains(&name.to_lowercase().as_str())
}

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

/// Classes by their name, but some people write them for the lack of one.
const DOUBTFUL: [&str; 5] = ["none", "other", "unknown", "na", "unlabelled"];

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
    /// The tags of each class, where classes are sets of tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tags: Option<Tags>,
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
        Ok(Self {
            classes,
            items,
            tags: None,
        })
    }

    /// Labels from their written form.
    ///
    /// Empty, `-1` and `unlabeled` mean unknown, `-2` and `outside` mean outside. `NA`,
    /// `<NA>`, `N/A`, `n/a`, `#N/A`, `NaN`, `nan`, `NULL`, `null` and `None`, which tables
    /// are filled with where a value is missing, mean unknown as well; say so with
    /// [`Labels::remarks`]. All else is a class name, `none`, `other` and `unknown` too. A
    /// whole number may have a fraction of zeros: `1.0` is class `1`; `01` is another class.
    /// Classes are ordered by number if all names are integers, else by name.
    pub fn parse<S: AsRef<str>>(written: impl IntoIterator<Item = S>) -> Self {
        Self::collect(written, |word| match Word::of(word) {
            Word::Unknown | Word::Missing => Err(Label::Unknown),
            Word::Outside => Err(Label::Outside),
            Word::Class(name) => Ok(name),
        })
    }

    /// Labels from names of classes, each taken as it is; only the empty one means unknown.
    ///
    /// For names that no program filled in, such as those of folders.
    ///
    /// ```
    /// use likewise::Labels;
    /// let labels = Labels::named(["none", "", "-1"]);
    /// assert_eq!(labels.classes(), ["-1", "none"]);
    /// assert_eq!(labels.n_known(), 2);
    /// ```
    pub fn named<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Self {
        Self::collect(names, |name| match name {
            "" => Err(Label::Unknown),
            name => Ok(name),
        })
    }

    /// What a person should know of the way [`parse`](Self::parse) reads these words: which
    /// were taken for missing values, and which for classes though they may mean that there
    /// is none, one sentence for each such spelling, in the order of their spelling; then whether `1.0` is
    /// read as the class `1` beside a label `1` or `1.5`, which
    /// classes differ by capitals or blanks alone, and whether labels look like several classes each.
    ///
    /// ```
    /// use likewise::Labels;
    /// let remarks = Labels::remarks(["cat", "NA", "dog", "NA"]);
    /// assert!(remarks[0].starts_with("2 labels are written \"NA\" and read as unlabeled"));
    /// assert!(Labels::remarks(["cat", "", "-1"]).is_empty());
    /// assert!(Labels::remarks(["1", "1.0"])[0].contains("are of class \"1\""));
    /// assert!(Labels::remarks(["1.0", "2.0"]).is_empty());
    /// ```
    pub fn remarks<S: AsRef<str>>(written: impl IntoIterator<Item = S>) -> Vec<String> {
        let (mut remarks, classes) = Self::read_as(written);
        remarks.extend(several_in_one(&classes));
        remarks
    }

    /// As [`remarks`](Self::remarks), of labels of which an item may have several: they are not asked whether they
    /// are several in one.
    pub fn remarks_on_tags<S: AsRef<str>>(written: impl IntoIterator<Item = S>) -> Vec<String> {
        Self::read_as(written).0
    }

    /// What labels were read as, and how often each class stands there.
    fn read_as<S: AsRef<str>>(
        written: impl IntoIterator<Item = S>,
    ) -> (Vec<String>, BTreeMap<String, usize>) {
        let mut found: BTreeMap<String, (bool, usize)> = BTreeMap::new();
        // Classes written with a fraction of zeros, and whether there are numbers with another fraction.
        let mut zeros: BTreeMap<String, String> = BTreeMap::new();
        let (mut plain, mut fractions) = (BTreeSet::new(), false);
        let mut classes: BTreeMap<String, usize> = BTreeMap::new();
        for word in written {
            let word = word.as_ref().trim();
            let missing = match Word::of(word) {
                Word::Missing => true,
                Word::Class(name) => {
                    if name == word {
                        fractions |= word.contains('.') && word.parse::<f64>().is_ok();
                        plain.insert(name.to_owned());
                    } else {
                        zeros.insert(name.to_owned(), word.to_owned());
                    }
                    *classes.entry(name.to_owned()).or_default() += 1;
                    if !doubtful(name) {
                        continue;
                    }
                    false
                }
                _ => continue,
            };
            found.entry(word.to_owned()).or_insert((missing, 0)).1 += 1;
        }
        let remark = |(word, (missing, count)): (String, (bool, usize))| {
            let (labels, are) = match count {
                1 => ("label", "is"),
                _ => ("labels", "are"),
            };
            if missing {
                format!(
                    "{count} {labels} {are} written \"{word}\" and read as unlabeled, as a \
                     missing value; if that is a class, give it another name"
                )
            } else {
                format!(
                    "{count} {labels} {are} written \"{word}\" and read as a class of this name; \
                     write -1 where nothing is known, -2 for what is none of the classes"
                )
            }
        };
        let mut remarks: Vec<String> = found.into_iter().map(remark).collect();
        // As whole numbers are written beside missing ones; beside other spellings they may be something else.
        let told = zeros
            .iter()
            .find(|(name, _)| fractions || plain.contains(*name));
        remarks.extend(told.map(|(name, word)| {
            format!(
                "labels that are written \"{word}\" are of class \"{name}\", as all whole numbers with a \
                 fraction of zeros; if that is another class, give it a name that is no number"
            )
        }));
        remarks.extend(spelled_apart(&classes));
        (remarks, classes)
    }

    /// Numbers the names in their order; `read` gives the name in a word, or the label that
    /// it is instead.
    fn collect<S: AsRef<str>>(
        written: impl IntoIterator<Item = S>,
        read: impl Fn(&str) -> Result<&str, Label>,
    ) -> Self {
        let mut order: HashMap<String, u32> = HashMap::new();
        let mut items: Vec<Label> = written
            .into_iter()
            .map(|word| {
                let name = match read(word.as_ref()) {
                    Ok(name) => name,
                    Err(label) => return label,
                };
                if let Some(&class) = order.get(name) {
                    return Label::Known(class);
                }
                let next = order.len() as u32;
                order.insert(name.to_owned(), next);
                Label::Known(next)
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
            tags: None,
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
            tags: None,
        }
    }

    /// The tags of each class, where classes are sets of tags: see [`of_tags`](Self::of_tags).
    pub fn tags(&self) -> Option<&Tags> {
        self.tags.as_ref()
    }

    /// The same with the tags of each class.
    pub(crate) fn with_tags(self, tags: Tags) -> Self {
        Self {
            tags: Some(tags),
            ..self
        }
    }

    /// The same labels, each set of tags as a class of its own, that shares nothing with others.
    #[must_use]
    pub fn without_tags(self) -> Self {
        Self { tags: None, ..self }
    }

    /// Fails where items have several labels each, of which `what` knows nothing.
    pub fn check_single(&self, what: &str) -> Result<()> {
        match self.tags {
            None => Ok(()),
            Some(_) => Err(Error::data(format!(
                "{what} goes by one class an item, and these items have several labels each; give each \
                 item the one that matters, or leave out that there are several"
            ))),
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
            tags: self.tags.clone(),
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
            tags: self.tags.clone(),
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
            tags: self.tags.as_ref().map(|tags| {
                let kept: Vec<usize> = kept.iter().map(|&class| class as usize).collect();
                tags.select(&kept)
            }),
        };
        (labels, kept)
    }

    /// Draws a `share` of the known items of each class, rounded and at least two, and hides the other
    /// labels; otherwise as [`draw`](Self::draw).
    ///
    /// ```
    /// let labels = likewise::Labels::from_integers((0..60).map(|i| i % 3));
    /// assert_eq!(labels.draw_share(0.3, 7).n_known(), 18);
    /// assert_eq!(labels.draw_share(0.01, 7).n_known(), 6);
    /// ```
    pub fn draw_share(&self, share: f64, seed: u64) -> Self {
        self.draw_by(seed, |members| {
            ((share * members as f64).round() as usize).max(2)
        })
    }

    /// Draws `per_class` known items of each class and hides the other labels. Where classes are sets
    /// of tags, so many of each tag at least: of a tag that comes with rarer ones there may be more.
    ///
    /// A class with fewer known items keeps all of them. The draw depends on `seed`
    /// and on the order of the items, on nothing else.
    pub fn draw(&self, per_class: usize, seed: u64) -> Self {
        self.draw_by(seed, |_| per_class)
    }

    /// Draws as many of each class as `many` says for the number that is known; of each tag at least as
    /// many, where classes are sets of tags, the rarest tag first.
    fn draw_by(&self, seed: u64, many: impl Fn(usize) -> usize) -> Self {
        let mut rng = seed::stream(seed, "label draw");
        let mut keep = vec![false; self.items.len()];
        if let Some(tags) = self.item_tags() {
            let by_tag = tags.by_tag();
            let mut order: Vec<usize> = (0..by_tag.len()).collect();
            order.sort_by_key(|&tag| by_tag[tag].len());
            for tag in order {
                let mut members = by_tag[tag].clone();
                members.shuffle(&mut rng);
                let kept = members.iter().filter(|&&item| keep[item]).count();
                let more = many(members.len()).saturating_sub(kept);
                members.retain(|&item| !keep[item]);
                for &item in members.iter().take(more) {
                    keep[item] = true;
                }
            }
            return self.masked(|item| keep[item]);
        }
        for mut members in self.by_class() {
            members.shuffle(&mut rng);
            for &item in members.iter().take(many(members.len())) {
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

/// Groups of classes that are told of one by one.
const GROUPS: usize = 3;

/// Of classes whose names differ by capitals or blanks alone, what they are read as.
fn spelled_apart(classes: &BTreeMap<String, usize>) -> Vec<String> {
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for name in classes.keys() {
        let plain: Vec<String> = name.split_whitespace().map(str::to_lowercase).collect();
        alike.entry(plain.join(" ")).or_default().push(name);
    }
    let mut groups: Vec<Vec<&str>> = alike.into_values().filter(|g| g.len() > 1).collect();
    let more = groups.len().saturating_sub(GROUPS);
    groups.truncate(GROUPS);
    let mut said: Vec<String> = (groups.iter())
        .map(|names| {
            format!(
                "\"{}\" are {} classes, though their names differ by capitals or blanks alone; if \
                 they are one, write them alike",
                names.join("\" and \""),
                names.len()
            )
        })
        .collect();
    if let (Some(last), true) = (said.last_mut(), more > 0) {
        *last += " (and ";
        *last += &more.to_string();
        *last += " more such names)";
    }
    said
}

/// What stands between the classes of an item where it has several.
const BETWEEN: [char; 2] = ['|', ';'];

/// Of labels that look like several classes each, what they are read as.
fn several_in_one(classes: &BTreeMap<String, usize>) -> Option<String> {
    let is_several = |name: &str| {
        BETWEEN.iter().any(|&between| {
            name.contains(between) && name.split(between).all(|part| !part.trim().is_empty())
        })
    };
    let mut several = classes.iter().filter(|(name, _)| is_several(name));
    let (first, count) = several.next()?;
    let count = count + several.map(|(_, count)| count).sum::<usize>();
    Some(format!(
        "{count} {} several classes in one, as \"{first}\" does; an item has one class here, so that \
         each such combination is a class of its own: give each item the class that matters, or read \
         them as several with `multi_label`",
        if count == 1 {
            "label names"
        } else {
            "labels name"
        }
    ))
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
    fn class_names_are_neither_swallowed_nor_invented() {
        let words = ["none", "other", "unknown", "Other", "na", "cat"];
        let labels = Labels::parse(words);
        assert_eq!((labels.n_classes(), labels.n_known()), (6, 6));
        let missing =
            Labels::parse(
                crate::word::MISSING
                    .into_iter()
                    .chain(["", " ", "-1", "Unlabeled"]),
            );
        assert_eq!(missing, Labels::unknown(14));
        assert_eq!(
            Labels::parse(["-2", "Outside"]).items(),
            [Label::Outside; 2]
        );
    }

    #[test]
    fn spellings_that_may_mean_something_else_are_counted() {
        let remarks = Labels::remarks(["NA", "cat", "other", "NA", "", "-2", "None", "outside"]);
        assert_eq!(remarks.len(), 3);
        assert!(remarks[0].starts_with("2 labels are written \"NA\" and read as unlabeled"));
        assert!(remarks[1].starts_with("1 label is written \"None\" and read as unlabeled"));
        assert!(remarks[2].starts_with("1 label is written \"other\" and read as a class"));
    }

    #[test]
    fn names_that_differ_by_capitals_and_several_classes_in_one_are_told() {
        let remarks = Labels::remarks([
            "Chair",
            "chair",
            "red  sofa",
            "red sofa",
            "a|b",
            "b|c",
            "b|c",
        ]);
        assert_eq!(remarks.len(), 3, "{remarks:?}");
        assert!(remarks[0].starts_with("\"Chair\" and \"chair\" are 2 classes"));
        assert!(remarks[1].contains("\"red  sofa\" and \"red sofa\""));
        assert!(remarks[2].starts_with("3 labels name several classes in one, as \"a|b\""));
        let many = ["a", "A", "b", "B", "c", "C", "d", "D", "e", "E"];
        let remarks = Labels::remarks(many);
        assert_eq!(remarks.len(), 3);
        assert!(
            remarks[2].ends_with("(and 2 more such names)"),
            "{remarks:?}"
        );
        assert!(Labels::remarks(["a|", "|", "cat", "dog"]).is_empty());
        assert!(Labels::remarks_on_tags(["x;y", "x"]).is_empty());
        assert_eq!(Labels::remarks_on_tags(["NA", "x"]).len(), 1);
    }

    #[test]
    fn a_fraction_of_zeros_makes_no_other_class() {
        let labels = Labels::parse(["1", "1.0", "01", "-1.0", "-2.0", "10.00", "0.0"]);
        assert_eq!(labels.classes(), ["0", "01", "1", "10"]);
        assert_eq!(labels[0], labels[1]);
        assert_eq!(labels.items()[3..5], [Label::Unknown, Label::Outside]);
        // Not whole, or not a number: each is a name of its own.
        let names = ["1.5", "1.", ".0", "01.0", "-0.0", "a.0", "1.0.0"];
        assert_eq!(Labels::parse(names).n_classes(), names.len());
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
    fn a_draw_of_tags_keeps_so_many_of_each() {
        let words = |i: usize| match i % 6 {
            0 => vec!["rare", "common"],
            5 => vec!["outside"],
            _ => vec!["common"],
        };
        let tags = Tags::read((0..60).map(words)).unwrap();
        let labels = Labels::of_tags(&tags).unwrap();
        let drawn = labels.draw(4, 1);
        let kept = drawn.item_tags().unwrap().by_tag();
        assert_eq!(kept.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4]);
        assert_eq!(drawn, labels.draw(4, 1));
        assert_eq!(labels.draw(1000, 1), labels);
        // What is left is of the same sets.
        let (compact, _) = labels.masked(|item| item % 6 != 0).compact();
        assert_eq!(compact.classes(), ["common"]);
        assert_eq!(compact.tags().unwrap().of(0), Some(&[0][..]));
        assert!(labels.check_single("this").is_err());
        assert!(labels.without_tags().check_single("this").is_ok());
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
