//! Labels whose classes are sets of tags.

use std::collections::BTreeMap;

use super::{Label, Labels};
use crate::{Error, Result, Tags};

impl Labels {
    /// Labels whose classes are the sets of tags that items have, named `a|b`, each with its
    /// [tags](Self::tags): what compares items goes by the tags that their classes share.
    ///
    /// An item known to have no tag is [`Outside`](Label::Outside). Classes are ordered by the numbers
    /// of their tags.
    ///
    /// ```
    /// use likewise::{Label, Labels, Tags};
    /// let tags = Tags::read([vec!["b"], vec!["a", "b"], vec!["b"], vec![], vec!["-2"]])?;
    /// let labels = Labels::of_tags(&tags)?;
    /// assert_eq!(labels.classes(), ["a|b", "b"]);
    /// assert_eq!(labels.items()[..2], [Label::Known(1), Label::Known(0)]);
    /// assert_eq!(labels.items()[3..], [Label::Unknown, Label::Outside]);
    /// assert_eq!(labels.tags().unwrap().shared(0, 1), 1);
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn of_tags(tags: &Tags) -> Result<Self> {
        let known = (0..tags.len()).filter(|&item| !tags.set(item).is_empty());
        let sets: BTreeMap<&[u32], usize> = known.map(|item| (tags.set(item), item)).collect();
        let items: Vec<usize> = sets.values().copied().collect();
        let number: BTreeMap<&[u32], u32> = sets.into_keys().zip(0..).collect();
        let label = |item: usize| match tags.of(item) {
            None => Label::Unknown,
            Some([]) => Label::Outside,
            Some(own) => Label::Known(number[own]),
        };
        let classes = items.iter().map(|&item| tags.word(item)).collect();
        let labels = Self::new(classes, (0..tags.len()).map(label).collect())?;
        Ok(labels.with_tags(tags.select(&items)))
    }

    /// The tags of each item, where its classes are sets of tags.
    pub fn item_tags(&self) -> Option<Tags> {
        let tags = self.tags()?;
        let own = |label: &Label| match label {
            Label::Known(class) => Some(tags.set(*class as usize).to_vec()),
            Label::Outside => Some(vec![]),
            Label::Unknown => None,
        };
        Tags::new(tags.names().to_vec(), self.items().iter().map(own)).ok()
    }

    /// Whether each item has tag number `tag`: unknown where its tags are not known.
    ///
    /// The two classes are named by the tag, with `not ` before it where an item has it not.
    pub fn of_tag(tags: &Tags, tag: u32) -> Result<Self> {
        let name = tags.names().get(tag as usize).ok_or_else(|| {
            Error::data(format!("tag {tag}, but there are only {}", tags.n_tags()))
        })?;
        let label = |item: usize| match tags.of(item) {
            None => Label::Unknown,
            Some(own) => Label::Known(u32::from(own.binary_search(&tag).is_err())),
        };
        let classes = vec![name.clone(), format!("not {name}")];
        Self::new(classes, (0..tags.len()).map(label).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn unknown_is_not_none_of_the_tags() {
        let names = ["a", "b", "c"].map(String::from).to_vec();
        let items = [Some(vec![1, 0]), Some(vec![]), None, Some(vec![2, 1])];
        let tags = Tags::new(names, items).unwrap();
        let labels = Labels::of_tags(&tags).unwrap();
        let expected = [
            Label::Known(0),
            Label::Outside,
            Label::Unknown,
            Label::Known(1),
        ];
        assert_eq!(labels.items(), expected);
        assert_eq!(labels.classes(), ["a|b", "b|c"]);
        assert_eq!(labels.item_tags().unwrap(), tags);
        let b = Labels::of_tag(&tags, 1).unwrap();
        assert_eq!(b.classes(), ["b", "not b"]);
        let expected = [
            Label::Known(0),
            Label::Known(1),
            Label::Unknown,
            Label::Known(0),
        ];
        assert_eq!(b.items(), expected);
        assert!(Labels::of_tag(&tags, 3).is_err());
    }

    proptest! {
        #[test]
        fn classes_share_what_their_items_share(
            items in prop::collection::vec(prop::option::of(prop::collection::vec(0_u32..5, 0..4)), 1..12),
        ) {
            let names: Vec<String> = (0..5).map(|i| format!("t{i}")).collect();
            let tags = Tags::new(names, items).unwrap();
            let labels = Labels::of_tags(&tags).unwrap();
            prop_assert_eq!(&labels.item_tags().unwrap(), &tags);
            let of = labels.tags().unwrap();
            for (i, j) in (0..tags.len()).flat_map(|i| (0..tags.len()).map(move |j| (i, j))) {
                if let (Some(x), Some(y)) = (labels[i].class(), labels[j].class()) {
                    prop_assert_eq!(x == y, tags.of(i) == tags.of(j));
                    prop_assert_eq!(of.shared(x as usize, y as usize), tags.shared(i, j));
                }
            }
        }
    }
}
