//! Leaks: test items that were seen in training under another name.
//!
//! A duplicate across parts is the commonest reason for numbers that are too good.
//! [`check`] looks for rows that are equal bit by bit, for rows that point almost the
//! same way, for ids that stand twice, and for classes on both sides of a class-disjoint
//! split.
//!
//! Cost: O(n d) for the exact duplicates; O(train x held out x d) for the near ones, in
//! blocks. Skip those with a `near` threshold above 1 where that is too much.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use ndarray::ArrayView2;
use rayon::prelude::*;

use crate::distance::{Metric, Searched};
use crate::matrix::check_finite;
use crate::{Error, Labels, Monitor, Part, Result};

/// How many examples of each finding are kept.
const EXAMPLES: usize = 10;

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Cosine from which two rows count as near-duplicates; above 1 skips the search.
    /// In few dimensions, different items reach 0.9999 by chance.
    pub near: f32,
    /// Whether training and held-out parts must share no class.
    pub class_disjoint: bool,
}

impl Default for Options {
    /// Near-duplicates from cosine 0.9999, classes may be shared.
    fn default() -> Self {
        Self {
            near: 0.9999,
            class_disjoint: false,
        }
    }
}

/// How often something was found, and the first examples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finding {
    /// Number of items (or ids) concerned.
    pub count: usize,
    /// First pairs, at most 10: an earlier or training item, and the item concerned.
    pub examples: Vec<(usize, usize)>,
}

impl Finding {
    fn add(&mut self, pair: (usize, usize)) {
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(pair);
        }
    }
}

/// What [`check`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeakReport {
    /// Items equal bit by bit to an item of another part (training, validation, or test
    /// with queries and gallery).
    pub duplicates_across: Finding,
    /// Items equal bit by bit to an earlier item of their own part. Not a leak, but they
    /// make retrieval look easy.
    pub duplicates_within: Finding,
    /// Held-out items whose nearest training item has at least the `near` cosine, equal
    /// ones not counted again.
    pub near_duplicates: Finding,
    /// Items whose id stands at an earlier item as well.
    pub duplicate_ids: Finding,
    /// Classes with items in training and in a held-out part, if they must be disjoint.
    pub shared_classes: Vec<u32>,
}

impl LeakReport {
    /// Whether nothing crosses from one part to another and every id is unique.
    pub fn is_clean(&self) -> bool {
        self.duplicates_across.count == 0
            && self.near_duplicates.count == 0
            && self.duplicate_ids.count == 0
            && self.shared_classes.is_empty()
    }
}

/// Looks for leaks between the parts of a split.
///
/// `x` holds the raw features (`items x dimensions`), not embeddings: a trained model
/// maps different items of a class close together on purpose. `labels` and `ids` may be
/// left out. Rows of zeros (missing views) count neither as duplicates nor as near.
///
/// Fails if the lengths differ, on NaN, and on a `near` that is NaN.
///
/// ```
/// use likewise::{Monitor, Part, eval::leak};
/// let x = ndarray::array![[1.0, 2.0], [3.0, 1.0], [1.0, 2.0]];
/// let parts = [Part::Train, Part::Train, Part::Test];
/// let report = leak::check(x.view(), &parts, None, None, leak::Options::default(), &Monitor::silent())?;
/// assert_eq!(report.duplicates_across.examples, [(0, 2)]);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn check(
    x: ArrayView2<f32>,
    parts: &[Part],
    labels: Option<&Labels>,
    ids: Option<&[String]>,
    options: Options,
    monitor: &Monitor,
) -> Result<LeakReport> {
    let n = x.nrows();
    let lengths = [
        ("parts", Some(parts.len())),
        ("labels", labels.map(Labels::len)),
        ("ids", ids.map(<[String]>::len)),
    ];
    for (name, length) in lengths {
        if let Some(length) = length.filter(|&l| l != n) {
            return Err(Error::data(format!(
                "leak check: {length} {name} for {n} items; there must be one each"
            )));
        }
    }
    if options.near.is_nan() {
        return Err(Error::parameter("near", options.near, "must be a number"));
    }
    check_finite(x, "leak check")?;

    let mut report = LeakReport::default();
    let leaked = exact(x, parts, &mut report);
    if options.near <= 1.0 {
        near(x, parts, &leaked, options.near, monitor, &mut report)?;
    }
    if let Some(ids) = ids {
        let mut first = HashMap::with_capacity(n);
        for (item, id) in ids.iter().enumerate() {
            match first.get(id) {
                Some(&earlier) => report.duplicate_ids.add((earlier, item)),
                None => {
                    first.insert(id, item);
                }
            }
        }
    }
    if let Some(labels) = labels.filter(|_| options.class_disjoint) {
        for (class, members) in labels.by_class().iter().enumerate() {
            let trained = members.iter().filter(|&&i| parts[i] == Part::Train).count();
            if trained > 0 && trained < members.len() {
                report.shared_classes.push(class as u32);
            }
        }
    }
    Ok(report)
}

/// Training, validation or test; queries and gallery are sides of one test.
fn side(part: Part) -> u8 {
    match part {
        Part::Train => 0,
        Part::Validation => 1,
        Part::Query | Part::Gallery | Part::Test => 2,
    }
}

/// Finds equal rows and says which items are equal to one of another part.
fn exact(x: ArrayView2<f32>, parts: &[Part], report: &mut LeakReport) -> Vec<bool> {
    let hashes: Vec<Option<u64>> = (0..x.nrows())
        .into_par_iter()
        .map(|item| {
            let row = x.row(item);
            let mut hasher = DefaultHasher::new();
            row.iter().for_each(|v| v.to_bits().hash(&mut hasher));
            row.iter().any(|&v| v != 0.0).then(|| hasher.finish())
        })
        .collect();
    let equal = |a: usize, b: usize| {
        let mut pairs = x.row(a).into_iter().zip(x.row(b));
        pairs.all(|(p, q)| p.to_bits() == q.to_bits())
    };
    // Per hash: the first item of each side of each distinct row.
    let mut firsts: HashMap<u64, Vec<[Option<usize>; 3]>> = HashMap::new();
    let mut leaked = vec![false; x.nrows()];
    for (item, hash) in hashes.iter().enumerate() {
        let Some(hash) = hash else { continue };
        let own = usize::from(side(parts[item]));
        let rows = firsts.entry(*hash).or_default();
        let same = rows.iter_mut().find(|sides| {
            let other = sides.iter().flatten().next();
            other.is_some_and(|&other| equal(other, item))
        });
        let Some(sides) = same else {
            let mut sides = [None; 3];
            sides[own] = Some(item);
            rows.push(sides);
            continue;
        };
        match sides[own] {
            Some(earlier) => report.duplicates_within.add((earlier, item)),
            None => sides[own] = Some(item),
        }
    }
    // Across parts the order of the items must not matter, so this needs a second look.
    for (item, hash) in hashes.iter().enumerate() {
        let own = usize::from(side(parts[item]));
        let rows = hash.and_then(|hash| firsts.get(&hash));
        let sides = rows.into_iter().flatten().find(|sides| {
            let other = sides.iter().flatten().next();
            other.is_some_and(|&other| equal(other, item))
        });
        // A pair is told once, at its later side: test before validation before training.
        if let Some(Some(other)) = sides.and_then(|s| s[..own].iter().find(|o| o.is_some())) {
            report.duplicates_across.add((*other, item));
            leaked[item] = true;
        }
    }
    leaked
}

/// Compares every held-out item with its nearest training item.
fn near(
    x: ArrayView2<f32>,
    parts: &[Part],
    leaked: &[bool],
    threshold: f32,
    monitor: &Monitor,
    report: &mut LeakReport,
) -> Result<()> {
    let has_content = |i: usize| x.row(i).iter().any(|&v| v != 0.0);
    let of = |train: bool| {
        let items = (0..parts.len()).filter(move |&i| (parts[i] == Part::Train) == train);
        items.filter(|&i| has_content(i))
    };
    let train: Vec<usize> = of(true).collect();
    let held_out: Vec<usize> = of(false).filter(|&i| !leaked[i]).collect();
    monitor.start("near-duplicates", held_out.len() as u64);
    let searched = Searched::new(x, &train, Metric::Cosine)?;
    let nearest = searched.for_each_query(
        x,
        &held_out,
        monitor,
        || (),
        |(), _, _, scores| {
            let mut best = (0, f32::NEG_INFINITY);
            for (j, &s) in scores.iter().enumerate() {
                if s > best.1 {
                    best = (j, s);
                }
            }
            best
        },
    )?;
    for (&item, (j, similarity)) in held_out.iter().zip(nearest) {
        if similarity >= threshold {
            report.near_duplicates.add((train[j], item));
        }
    }
    monitor.end();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Part::{Gallery, Query, Test, Train, Validation};
    use ndarray::{Array2, array};

    fn run(x: &Array2<f32>, parts: &[Part]) -> LeakReport {
        check(
            x.view(),
            parts,
            None,
            None,
            Options::default(),
            &Monitor::silent(),
        )
        .unwrap()
    }

    #[test]
    fn duplicates_are_told_apart_by_where_they_are() {
        let x = array![
            [1.0, 0.0],   // 0 test, equals 1 and 4
            [1.0, 0.0],   // 1 train
            [0.0, 1.0],   // 2 train
            [0.0, 1.0],   // 3 train, within
            [1.0, 0.0],   // 4 validation
            [1.0, 0.001], // 5 test, near 1
            [0.5, 0.5],   // 6 query
            [0.5, 0.5],   // 7 gallery: one test, so within
            [0.0, 0.0],   // 8 train, missing
            [0.0, 0.0],   // 9 test, missing
        ];
        let parts = [
            Test, Train, Train, Train, Validation, Test, Query, Gallery, Train, Test,
        ];
        let report = run(&x, &parts);
        assert_eq!(report.duplicates_across.examples, [(1, 0), (1, 4)]);
        assert_eq!(report.duplicates_within.examples, [(2, 3), (6, 7)]);
        assert_eq!(report.near_duplicates.examples, [(1, 5)]);
        assert!(!report.is_clean());
    }

    #[test]
    fn counts_go_on_after_the_examples() {
        let x = Array2::from_elem((50, 3), 2.0);
        let parts: Vec<Part> = (0..50).map(|i| if i < 10 { Train } else { Test }).collect();
        let report = run(&x, &parts);
        assert_eq!(report.duplicates_across.count, 40);
        assert_eq!(report.duplicates_across.examples.len(), EXAMPLES);
        assert_eq!(report.duplicates_within.count, 9 + 39);
        assert_eq!(report.near_duplicates.count, 0);
    }

    #[test]
    fn ids_and_classes() {
        let x = Array2::from_shape_fn((4, 4), |(i, j)| if i == j { 1.0 } else { 0.0 });
        let labels = Labels::parse(["a", "b", "a", ""]);
        let ids: Vec<String> = ["p", "q", "p", "r"].map(String::from).to_vec();
        let parts = [Train, Train, Test, Test];
        let options = |class_disjoint| Options {
            class_disjoint,
            ..Options::default()
        };
        let run = |o| {
            check(
                x.view(),
                &parts,
                Some(&labels),
                Some(&ids),
                o,
                &Monitor::silent(),
            )
        };
        let report = run(options(true)).unwrap();
        assert_eq!(report.duplicate_ids.examples, [(0, 2)]);
        assert_eq!(report.shared_classes, [0]);
        assert!(run(options(false)).unwrap().shared_classes.is_empty());
        assert!(
            run(Options {
                near: f32::NAN,
                ..options(true)
            })
            .is_err()
        );
    }

    #[test]
    fn clean_empty_and_bad_input() {
        assert!(run(&array![[1.0, 0.0], [0.0, 1.0]], &[Train, Test]).is_clean());
        assert!(run(&Array2::zeros((0, 3)), &[]).is_clean());
        assert!(run(&array![[1.0], [-1.0]], &[Test, Test]).is_clean());
        let x = array![[1.0], [f32::NAN]];
        let check = |parts: &[Part]| {
            check(
                x.view(),
                parts,
                None,
                None,
                Options::default(),
                &Monitor::silent(),
            )
        };
        assert!(check(&[Train]).is_err());
        assert!(check(&[Train, Test]).is_err());
    }
}
