//! How much two items are alike that have several labels each.

use likewise::Tags;
use serde::{Deserialize, Serialize};

/// How much two items are alike that have several labels each: what the pairs of a batch go by.
///
/// **When to use which.** `shared` where one common tag is what a searcher wants, as
/// [`eval`](likewise::eval::ranking) counts it; `jaccard` where more of them should be nearer; `same` is what
/// remains where tags are ignored: a set of tags is a class, and shares nothing with other sets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// Alike where they share a tag.
    #[default]
    Shared,
    /// Alike by their shared tags over all tags of either: a grade of 0 to 1.
    Jaccard,
    /// Alike where they have the same tags, and some.
    Same,
}

impl Relation {
    /// Whether it is what is taken where nothing is said.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// The grade of two rows of tags, 0 to 1.
    pub fn grade(self, tags: &Tags, a: usize, b: usize) -> f32 {
        let alike = |alike: bool| f32::from(u8::from(alike));
        match self {
            Self::Shared => alike(tags.shared(a, b) > 0),
            Self::Jaccard => tags.jaccard(a, b) as f32,
            Self::Same => alike(tags.of(a) == tags.of(b) && tags.shared(a, b) > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grades_by_hand() {
        let tags = Tags::read([
            vec!["a", "b"],
            vec!["b", "c", "d"],
            vec!["e"],
            vec!["b", "a"],
        ]);
        let tags = tags.unwrap();
        // In hundredths.
        let of = |relation: Relation| {
            [1, 2, 3].map(|other| (100.0 * relation.grade(&tags, 0, other)).round() as i32)
        };
        assert_eq!(of(Relation::Shared), [100, 0, 100]);
        assert_eq!(of(Relation::Jaccard), [25, 0, 100]);
        assert_eq!(of(Relation::Same), [0, 0, 100]);
        let none = Tags::read([["-2"], ["-2"]]).unwrap();
        for relation in [Relation::Shared, Relation::Jaccard, Relation::Same] {
            assert!(relation.grade(&none, 0, 1).abs() < f32::EPSILON);
        }
    }
}
