//! What each class gets: how well its queries find, and which classes they are taken for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ranking::{Measure, Ranking};
use crate::{Labels, Tags};

/// How the file of a confusion calls items that are known to be none of the classes.
pub const OUTSIDE: &str = "outside";

/// The queries of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassResult {
    /// Its name.
    pub class: String,
    /// Queries of the class, over all rankings.
    pub queries: usize,
    /// Share whose first answer is of the class.
    #[serde(rename = "recall@1")]
    pub recall_at_1: f64,
    /// Mean MAP@R of those that have a relevant item; none where no one has.
    pub map_at_r: Option<f64>,
    /// Queries by the class of their first answer: a row of the confusion matrix.
    pub nearest: BTreeMap<String, usize>,
}

impl ClassResult {
    /// The other class that queries find first most often, and how often; ties go to the first name.
    pub fn taken_for(&self) -> Option<(&str, usize)> {
        let others = self.nearest.iter().filter(|(name, _)| **name != self.class);
        let most = others.reduce(|most, next| if next.1 > most.1 { next } else { most })?;
        Some((most.0, *most.1))
    }
}

/// The classes that ask, in their order, over one or several rankings of the same items.
///
/// Where classes are sets of tags, a row is of a tag, and a query counts for each of its own: it is right
/// where its first answer has the tag, whatever else; else `nearest` counts what that answer is. MAP@R is
/// that of the queries, to which any shared tag is relevant.
///
/// Several rankings, such as those of several draws, count every query once each. A query without
/// anything to find first, in a gallery of itself, is counted and has no answer.
///
/// ```
/// use likewise::eval::{by_class::by_class, ranking::{Protocol, evaluate}};
/// use likewise::{Labels, Monitor};
/// let x = ndarray::array![[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.8, 0.3]];
/// let labels = Labels::parse(["cat", "cat", "dog", "dog"]);
/// let items = [0, 1, 2, 3];
/// let ranking = evaluate(&Protocol::within(x.view(), &labels, &items), &[1], &Monitor::silent())?;
/// let classes = by_class([&ranking], &labels);
/// assert_eq!(classes[0].recall_at_1, 1.0);
/// assert_eq!(classes[1].taken_for(), Some(("cat", 1)));
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn by_class<'a>(
    rankings: impl IntoIterator<Item = &'a Ranking>,
    labels: &Labels,
) -> Vec<ClassResult> {
    let name = |item: usize| match labels[item].class() {
        Some(class) => labels.classes()[class as usize].clone(),
        None => OUTSIDE.to_owned(),
    };
    let names = labels.tags().map_or(labels.classes(), Tags::names);
    // The rows of a class: its tags, or itself.
    let rows = |class: u32| match labels.tags() {
        Some(tags) => tags.set(class as usize).to_vec(),
        None => vec![class],
    };
    let has = |item: usize, row: u32| {
        let class = labels[item].class();
        class.is_some_and(|class| match labels.tags() {
            Some(tags) => tags.set(class as usize).binary_search(&row).is_ok(),
            None => class == row,
        })
    };
    let mut sums = vec![(0_usize, 0_usize, 0.0_f64, 0_usize); names.len()];
    let mut nearest = vec![BTreeMap::new(); names.len()];
    for ranking in rankings {
        let found = ranking.values(Measure::MapAtR).unwrap_or_default();
        for (place, &query) in ranking.queries.iter().enumerate() {
            let Some(class) = labels[query].class() else {
                continue;
            };
            for row in rows(class) {
                let (queries, right, sum, counted) = &mut sums[row as usize];
                *queries += 1;
                if ranking.counts(place, Measure::MapAtR) {
                    *sum += found.get(place).copied().unwrap_or(0.0);
                    *counted += 1;
                }
                if let Some(first) = ranking.first[place] {
                    let is_right = has(first, row);
                    *right += usize::from(is_right);
                    let answer = if is_right {
                        names[row as usize].clone()
                    } else {
                        name(first)
                    };
                    *nearest[row as usize].entry(answer).or_insert(0) += 1;
                }
            }
        }
    }
    let each = names.iter().zip(sums).zip(nearest);
    each.filter(|((_, (queries, ..)), _)| *queries > 0)
        .map(
            |((class, (queries, right, sum, counted)), nearest)| ClassResult {
                class: class.clone(),
                queries,
                recall_at_1: right as f64 / queries as f64,
                map_at_r: (counted > 0).then(|| sum / counted as f64),
                nearest,
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;
    use crate::Monitor;
    use crate::distance::Metric;
    use crate::eval::ranking::{Protocol, evaluate};

    #[test]
    fn lone_queries_items_outside_and_several_rankings() {
        let x = array![[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.05, 1.0], [0.7, 0.2]];
        let labels = Labels::parse(["a", "a", "b", "-2", ""]);
        let items = [0, 1, 2, 3, 4];
        let protocol = Protocol::within(x.view(), &labels, &items);
        let ranking = evaluate(&protocol, &[1], &Monitor::silent()).unwrap();
        let classes = by_class([&ranking, &ranking], &labels);
        assert_eq!(classes.len(), 2);
        assert_eq!((classes[0].queries, classes[0].recall_at_1), (4, 1.0));
        assert_eq!(classes[0].map_at_r, Some(1.0));
        assert_eq!(classes[0].taken_for(), None);
        // The lone one counts as a query, and its MAP@R as none.
        assert_eq!((classes[1].queries, classes[1].recall_at_1), (2, 0.0));
        assert_eq!(classes[1].map_at_r, None);
        assert_eq!(classes[1].taken_for(), Some((OUTSIDE, 2)));
    }

    #[test]
    fn a_query_counts_for_each_of_its_tags() {
        let x = array![[1.0, 0.0], [0.95, 0.1], [0.9, 0.3], [0.0, 1.0]];
        let words: [&[&str]; 4] = [&["a", "b"], &["b"], &["a", "c"], &["outside"]];
        let tags = crate::Tags::read(words.map(<[&str]>::to_vec)).unwrap();
        let labels = Labels::of_tags(&tags).unwrap();
        let items = [0, 1, 2, 3];
        let protocol = Protocol::within(x.view(), &labels, &items);
        let ranking = evaluate(&protocol, &[1], &Monitor::silent()).unwrap();
        let rows = by_class([&ranking], &labels);
        let row = |name: &str| rows.iter().find(|row| row.class == name).unwrap();
        // First answers: of item 0 item 1, of 1 item 0, of 2 item 1.
        assert_eq!(ranking.first[..3], [Some(1), Some(0), Some(1)]);
        assert_eq!((row("a").queries, row("a").recall_at_1), (2, 0.0));
        assert_eq!(row("a").taken_for(), Some(("b", 2)));
        assert_eq!((row("b").queries, row("b").recall_at_1), (2, 1.0));
        assert_eq!(
            (row("c").queries, row("c").map_at_r),
            (1, ranking.values(Measure::MapAtR).map(|v| v[2]))
        );
    }

    #[test]
    fn a_gallery_of_the_query_alone_answers_nothing() {
        let x = array![[1.0, 0.0], [0.0, 1.0]];
        let labels = Labels::parse(["a", "b"]);
        let protocol = Protocol::new(x.view(), &labels, &[0], &[0]);
        let ranking = evaluate(&protocol, &[1], &Monitor::silent()).unwrap();
        assert_eq!(ranking.first, [None]);
        assert!(by_class([&ranking], &labels)[0].nearest.is_empty());
    }

    proptest! {
        #[test]
        fn is_what_the_first_answers_say(
            values in prop::collection::vec((-3_i8..4, -3_i8..4, 0_u8..4), 2..40),
            euclidean in any::<bool>(),
        ) {
            let x = ndarray::Array2::from_shape_fn((values.len(), 2), |(i, j)| {
                f32::from(if j == 0 { values[i].0 } else { values[i].1 })
            });
            let labels = Labels::parse(values.iter().map(|v| v.2.to_string()));
            let items: Vec<usize> = (0..values.len()).collect();
            let metric = if euclidean { Metric::Euclidean } else { Metric::InnerProduct };
            let protocol = Protocol::within(x.view(), &labels, &items).metric(metric);
            let ranking = evaluate(&protocol, &[1], &Monitor::silent()).unwrap();
            let score = |a: usize, b: usize| {
                let (a, b) = (x.row(a), x.row(b));
                if euclidean { -(&a - &b).mapv(|v| v * v).sum() } else { a.dot(&b) }
            };
            for (place, &query) in ranking.queries.iter().enumerate() {
                let others = items.iter().copied().filter(|&item| item != query);
                let first = others.reduce(|best, next| {
                    if score(query, next) > score(query, best) { next } else { best }
                });
                prop_assert_eq!(ranking.first[place], first);
            }
            let classes = by_class([&ranking], &labels);
            let right: f64 = classes.iter().map(|c| c.recall_at_1 * c.queries as f64).sum();
            let all = ranking.mean(Measure::Recall(1)).unwrap() * items.len() as f64;
            prop_assert!((right - all).abs() < 1e-9);
            for class in classes {
                prop_assert_eq!(class.nearest.values().sum::<usize>(), class.queries);
            }
        }
    }
}
