//! Tags: several labels an item, and how much two items share.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::word::Word;
use crate::{Error, Result};

/// What stands between the tags of an item where they are written as one word.
pub const BETWEEN: char = '|';

/// The set of tags of each item, and the names of the tags.
///
/// Three things are told apart, as for [`Labels`](crate::Labels): an item whose tags are not known, one that is
/// known to have *none* of them, and one whose tags are known. What is known of an item is known
/// whole: a tag that is not in its set is not true of it. Items with no tag are wrong answers of
/// every search, and have nothing to find themselves.
///
/// **When to use it.** Items that are several things at once: a scene with a dog and a car, a shirt
/// that is red and short. **When not.** Each item is one thing: [`Labels`](crate::Labels).
///
/// **Cost.** One number a tag of an item (rows of unequal length, one after the other); all that is
/// asked of two items takes as long as their sets are.
///
/// ```
/// use likewise::Tags;
/// let tags = Tags::read([vec!["red", "short"], vec!["red"], vec!["outside"], vec![]])?;
/// assert_eq!(tags.names(), ["red", "short"]);
/// assert_eq!(tags.of(0), Some(&[0, 1][..]));
/// assert_eq!(tags.of(2), Some(&[][..])); // known to have none
/// assert_eq!(tags.of(3), None); // not known
/// assert_eq!((tags.shared(0, 1), tags.jaccard(0, 1)), (1, 0.5));
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tags {
    names: Vec<String>,
    /// Where the tags of each item begin in `ids`, and where those of the last one end.
    offsets: Vec<usize>,
    /// Numbers of the tags, ascending within an item.
    ids: Vec<u32>,
    known: Vec<bool>,
}

impl Tags {
    /// Tags by their numbers; `None` where nothing is known of an item. A tag that is named twice
    /// counts once.
    ///
    /// Fails on a number that is none of the `names`, on a name that is empty, stands twice or has a
    /// `|` in it, which stands between the tags of an item wherever they are shown as one word.
    pub fn new(
        names: Vec<String>,
        items: impl IntoIterator<Item = Option<Vec<u32>>>,
    ) -> Result<Self> {
        let mut distinct = HashSet::new();
        for name in &names {
            if name.is_empty() || name.contains(BETWEEN) {
                return Err(Error::data(format!(
                    "a tag is named \"{name}\"; names must not be empty or have {BETWEEN} in them, which \
                     stands between the tags of an item"
                )));
            }
            if !distinct.insert(name) {
                return Err(Error::data(format!(
                    "tag \"{name}\" stands twice among the names; each must be another"
                )));
            }
        }
        let (mut offsets, mut ids, mut known) = (vec![0], Vec::new(), Vec::new());
        for (item, own) in items.into_iter().enumerate() {
            known.push(own.is_some());
            let mut own = own.unwrap_or_default();
            if let Some(tag) = own.iter().find(|&&tag| tag as usize >= names.len()) {
                return Err(Error::data(format!(
                    "item {item} has tag {tag}, but there are only {} tags",
                    names.len()
                )));
            }
            own.sort_unstable();
            own.dedup();
            ids.extend(own);
            offsets.push(ids.len());
        }
        Ok(Self {
            names,
            offsets,
            ids,
            known,
        })
    }

    /// Tags from the words that are written for each item, read as [`Labels::parse`](crate::Labels::parse) reads them: words
    /// that mean unknown say nothing (an item with no other word is unknown), `-2` and `outside` mean that
    /// it has none of the tags. Tags are ordered by number if all names are integers, else by name.
    ///
    /// Fails where an item is said to have no tag and one.
    pub fn read<W: AsRef<str>>(
        items: impl IntoIterator<Item = impl IntoIterator<Item = W>>,
    ) -> Result<Self> {
        let mut names: BTreeSet<String> = BTreeSet::new();
        let mut read: Vec<Option<Vec<String>>> = Vec::new();
        for (item, words) in items.into_iter().enumerate() {
            let (mut own, mut none) = (Vec::new(), false);
            for word in words {
                match Word::of(word.as_ref()) {
                    Word::Unknown | Word::Missing => {}
                    Word::Outside => none = true,
                    Word::Class(name) => own.push(name.to_owned()),
                }
            }
            if let (true, Some(tag)) = (none, own.first()) {
                return Err(Error::data(format!(
                    "item {item} is said to have none of the tags, and to have \"{tag}\"; keep one of \
                     the two"
                )));
            }
            names.extend(own.iter().cloned());
            read.push((none || !own.is_empty()).then_some(own));
        }
        let mut names: Vec<String> = names.into_iter().collect();
        if names.iter().all(|name| name.parse::<i64>().is_ok()) {
            names.sort_by_key(|name| (name.parse::<i64>().ok(), name.clone()));
        }
        let number: BTreeMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
        let numbered = |own: Vec<String>| own.iter().map(|name| number[name.as_str()]).collect();
        let items: Vec<Option<Vec<u32>>> = read.into_iter().map(|own| own.map(numbered)).collect();
        Self::new(names.clone(), items)
    }

    /// Tags from a matrix with a row an item and a column a tag: 1 has it, 0 has it not; a row of -1
    /// is an item of which nothing is known.
    ///
    /// Fails on other numbers, on a row that is known in part, and where there are not as many names
    /// as columns.
    ///
    /// ```
    /// use likewise::Tags;
    /// let rows = ndarray::array![[1, 0], [1, 1], [-1, -1], [0, 0]];
    /// let tags = Tags::from_indicators(vec!["a".into(), "b".into()], rows.view())?;
    /// assert_eq!((tags.of(1), tags.of(2)), (Some(&[0, 1][..]), None));
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn from_indicators(names: Vec<String>, rows: ArrayView2<i64>) -> Result<Self> {
        if names.len() != rows.ncols() {
            return Err(Error::data(format!(
                "{} names of tags for {} columns; there must be one each",
                names.len(),
                rows.ncols()
            )));
        }
        let mut items = Vec::with_capacity(rows.nrows());
        for (item, row) in rows.rows().into_iter().enumerate() {
            if let Some(value) = row.iter().find(|value| !(-1..=1).contains(*value)) {
                return Err(Error::data(format!(
                    "row {item} of the tags has {value} in it; 1 has the tag, 0 has it not, and a row of \
                     -1 is not known"
                )));
            }
            let unknown = row.iter().filter(|&&value| value == -1).count();
            if unknown > 0 && unknown < row.len() {
                return Err(Error::data(format!(
                    "row {item} of the tags is known in part ({unknown} of {} are -1); the tags of an item \
                     are known, or all of its row is -1",
                    row.len()
                )));
            }
            let has = row.iter().zip(0..).filter(|(value, _)| **value == 1);
            items.push((unknown == 0).then(|| has.map(|(_, tag)| tag).collect()));
        }
        Self::new(names, items)
    }

    /// Names of the tags, by their number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of tags.
    pub fn n_tags(&self) -> usize {
        self.names.len()
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether there are no items at all.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Number of items whose tags are known, those of none among them.
    pub fn n_known(&self) -> usize {
        self.known.iter().filter(|&&known| known).count()
    }

    /// The tags of an item, ascending; `None` where they are not known.
    pub fn of(&self, item: usize) -> Option<&[u32]> {
        self.known[item].then(|| self.set(item))
    }

    /// The tags of an item; none where they are not known.
    pub(crate) fn set(&self, item: usize) -> &[u32] {
        &self.ids[self.offsets[item]..self.offsets[item + 1]]
    }

    /// Number of tags that two items share.
    pub fn shared(&self, a: usize, b: usize) -> usize {
        let (mut a, mut b) = (self.set(a), self.set(b));
        let mut shared = 0;
        while let (Some(x), Some(y)) = (a.first(), b.first()) {
            match x.cmp(y) {
                std::cmp::Ordering::Less => a = &a[1..],
                std::cmp::Ordering::Greater => b = &b[1..],
                std::cmp::Ordering::Equal => {
                    (a, b) = (&a[1..], &b[1..]);
                    shared += 1;
                }
            }
        }
        shared
    }

    /// Shared tags by all tags that either of two items has, 0 to 1; 0 where neither has any.
    pub fn jaccard(&self, a: usize, b: usize) -> f64 {
        let shared = self.shared(a, b);
        let either = self.set(a).len() + self.set(b).len() - shared;
        if either == 0 {
            return 0.0;
        }
        shared as f64 / either as f64
    }

    /// Items that have each tag, in their order.
    pub fn by_tag(&self) -> Vec<Vec<usize>> {
        let mut by_tag = vec![Vec::new(); self.names.len()];
        for item in 0..self.len() {
            for &tag in self.set(item) {
                by_tag[tag as usize].push(item);
            }
        }
        by_tag
    }

    /// The tags of the items at `rows`, with the same names.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let (mut offsets, mut ids) = (vec![0], Vec::new());
        for &row in rows {
            ids.extend_from_slice(self.set(row));
            offsets.push(ids.len());
        }
        Self {
            names: self.names.clone(),
            offsets,
            ids,
            known: rows.iter().map(|&row| self.known[row]).collect(),
        }
    }

    /// The tags of an item as one word, `a|b`; empty where there are none.
    pub(crate) fn word(&self, item: usize) -> String {
        let names = self
            .set(item)
            .iter()
            .map(|&tag| self.names[tag as usize].as_str());
        names.collect::<Vec<_>>().join("|")
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    fn three() -> Tags {
        let names = ["a", "b", "c"].map(String::from).to_vec();
        let items = [Some(vec![1, 0, 1]), Some(vec![]), None, Some(vec![2, 1])];
        Tags::new(names, items).unwrap()
    }

    #[test]
    fn unknown_is_not_none_of_the_tags() {
        let tags = three();
        assert_eq!((tags.len(), tags.n_known(), tags.n_tags()), (4, 3, 3));
        assert_eq!(tags.of(0), Some(&[0, 1][..]));
        assert_eq!((tags.of(1), tags.of(2)), (Some(&[][..]), None));
        assert_eq!((tags.shared(0, 3), tags.shared(0, 1)), (1, 0));
        assert!((tags.jaccard(0, 3) - 1.0 / 3.0).abs() < 1e-12);
        assert!(tags.jaccard(1, 2).abs() < 1e-12);
        assert_eq!(tags.by_tag(), [vec![0], vec![0, 3], vec![3]]);
    }

    #[test]
    fn words_are_read_as_those_of_labels() {
        let tags = Tags::read([
            vec!["10", "9.0"],
            vec!["NA", "9"],
            vec![" "],
            vec!["outside"],
        ]);
        let tags = tags.unwrap();
        assert_eq!(tags.names(), ["9", "10"]);
        assert_eq!(tags.of(0), Some(&[0, 1][..]));
        assert_eq!(tags.of(1), Some(&[0][..]));
        assert_eq!((tags.of(2), tags.of(3)), (None, Some(&[][..])));
    }

    #[test]
    fn mistakes_are_named() {
        let said = |answer: Result<Tags>| answer.unwrap_err().to_string();
        let of = |names: &[&str], own: Vec<u32>| {
            Tags::new(names.iter().map(|&n| n.into()).collect(), [Some(own)])
        };
        assert!(said(of(&["a"], vec![1])).contains("item 0 has tag 1, but there are only 1"));
        assert!(said(of(&["a", "a"], vec![])).contains("\"a\" stands twice"));
        assert!(said(of(&["a|b"], vec![])).contains("named \"a|b\""));
        let both = said(Tags::read([vec!["a"], vec!["-2", "b"]]));
        assert!(both.contains("item 1") && both.contains("\"b\""), "{both}");
        let names = vec!["a".to_owned(), "b".to_owned()];
        let rows =
            |rows: ndarray::Array2<i64>| said(Tags::from_indicators(names.clone(), rows.view()));
        assert!(rows(array![[0, 2]]).contains("row 0 of the tags has 2"));
        assert!(rows(array![[0, 1], [-1, 0]]).contains("row 1 of the tags is known in part"));
        assert!(rows(array![[0]]).contains("2 names of tags for 1 columns"));
    }

    proptest! {
        #[test]
        fn sharing_is_that_of_sets(
            items in prop::collection::vec(prop::option::of(prop::collection::vec(0_u32..6, 0..5)), 1..12),
        ) {
            let names: Vec<String> = (0..6).map(|i| format!("t{i}")).collect();
            let tags = Tags::new(names, items.clone()).unwrap();
            let set = |i: usize| -> BTreeSet<u32> {
                items[i].iter().flatten().copied().collect()
            };
            for (i, j) in (0..items.len()).flat_map(|i| (0..items.len()).map(move |j| (i, j))) {
                let (a, b) = (set(i), set(j));
                let shared = a.intersection(&b).count();
                prop_assert_eq!(tags.shared(i, j), shared);
                let either = a.union(&b).count().max(1);
                prop_assert!((tags.jaccard(i, j) - shared as f64 / either as f64).abs() < 1e-12);
            }
        }
    }
}
