//! Splits: which items may be fitted on, and which only measured.
//!
//! - [`by_item`]: the classes at test time are those of training (classification-like).
//! - [`zero_shot`]: the classes at test time are new. The honest test of a *similarity*.
//! - [`by_role`]: as [`by_item`], with those that ask apart from those that are searched.
//! - [`given`]: as the source of the data says.
//!
//! Items without a known class cannot ask. Those known to be of none of the classes are divided as a
//! class is, to be wrong answers of a test; all others go to training.

use rand::seq::SliceRandom;

use crate::{Collection, Error, ErrorKind, Label, Labels, Part, Result, seed};

/// Fewest items of a set of tags that is divided by itself.
const FEWEST: usize = 4;

/// Splits the items of each class: shares `train` and `validation`, the rest is test.
///
/// Stratified: within each class, members are shuffled and cut at the rounded shares, so
/// a class of n members is off by less than one. Every class keeps at least one item for
/// training unless `train` is 0, and then never a single one for testing, which would have
/// nothing to find: of two members both train, of more one goes over to the test. Depends on
/// `seed` and the order of the items alone.
///
/// Where classes are sets of tags, those of fewer than four items are divided together: each alone would
/// go to training, and the test would be of common sets alone.
///
/// Fails if a share is negative or both together exceed 1, or if no class is known.
///
/// ```
/// use likewise::{Labels, Part, eval::split};
/// let labels = Labels::from_integers((0..100).map(|i| i % 5));
/// let parts = split::by_item(&labels, 0.6, 0.1, 7)?;
/// assert_eq!(parts.iter().filter(|&&p| p == Part::Train).count(), 60);
/// assert_eq!(parts.iter().filter(|&&p| p == Part::Test).count(), 30);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn by_item(labels: &Labels, train: f64, validation: f64, seed: u64) -> Result<Vec<Part>> {
    for (name, share) in [("train", train), ("validation", validation)] {
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::parameter(name, share, "must be from 0 to 1"));
        }
    }
    if train + validation > 1.0 + 1e-9 {
        let rule = "the shares of training and validation together must not exceed 1";
        return Err(Error::parameter(
            "train + validation",
            train + validation,
            rule,
        ));
    }
    if labels.n_known() == 0 {
        return Err(no_labels());
    }
    let mut parts = vec![Part::Train; labels.len()];
    let mut rng = seed::stream(seed, "item split");
    let outside = (0..labels.len()).filter(|&i| labels[i] == Label::Outside);
    let mut classes = labels.by_class();
    if labels.tags().is_some() {
        let (rare, mut common): (Vec<_>, Vec<_>) =
            classes.into_iter().partition(|own| own.len() < FEWEST);
        common.push(rare.concat());
        classes = common;
    }
    // Last, so that the draws of the classes do not depend on them.
    let divided = classes.into_iter().chain([outside.collect()]);
    for mut members in divided.filter(|members| !members.is_empty()) {
        members.shuffle(&mut rng);
        let at = |share: f64| (share * members.len() as f64).round() as usize;
        let first = at(train).max(usize::from(train > 0.0));
        let mut second = at(train + validation).max(first);
        if train > 0.0 && members.len() - second == 1 {
            // A lone test item has no answer; it takes a second one from training, if that
            // leaves any.
            second = if members.len() > 2 {
                second - 1
            } else {
                members.len()
            };
        }
        let first = first.min(second);
        for (position, &item) in members.iter().enumerate() {
            if position >= second {
                parts[item] = Part::Test;
            } else if position >= first {
                parts[item] = Part::Validation;
            }
        }
    }
    Ok(parts)
}

/// Splits the items of each class into those to fit on, to validate, that ask, and that are searched:
/// the first three are percentages, rounded down, and the rest is searched.
///
/// Depends on `seed` and the order of the items alone. Fails where the percentages leave nothing to
/// be searched, without any that ask, and if no class is known.
///
/// Source: the protocol of Liang et al. (TMM 2017), 50, 10, 10 and 30 % of each class.
///
/// ```
/// use likewise::{Labels, Part, eval::split};
/// let labels = Labels::from_integers((0..50).map(|i| i % 5));
/// let parts = split::by_role(&labels, [50, 10, 10], 7)?;
/// let count = |part| parts.iter().filter(|&&p| p == part).count();
/// assert_eq!([Part::Train, Part::Validation, Part::Query, Part::Gallery].map(count), [25, 5, 5, 15]);
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn by_role(labels: &Labels, percent: [usize; 3], seed: u64) -> Result<Vec<Part>> {
    let [_, _, query] = percent;
    if query == 0 || percent.iter().sum::<usize>() >= 100 {
        let rule = "those that ask need a share, and the three together must be below 100";
        let said = format!("{percent:?}");
        return Err(Error::parameter("fit, validate, query", said, rule));
    }
    if labels.n_known() == 0 {
        return Err(no_labels());
    }
    let mut parts = vec![Part::Train; labels.len()];
    let mut rng = seed::stream(seed, "split by role");
    for mut members in labels.by_class() {
        members.shuffle(&mut rng);
        let roles = [Part::Train, Part::Validation, Part::Query];
        let mut rest = members.as_slice();
        for (role, percent) in roles.into_iter().zip(percent) {
            let (own, others) = rest.split_at(members.len() * percent / 100);
            for &item in own {
                parts[item] = role;
            }
            rest = others;
        }
        for &item in rest {
            parts[item] = Part::Gallery;
        }
    }
    Ok(parts)
}

/// Splits the classes: 40 % train, 20 % validation, 40 % test, none in two parts.
///
/// The classes that have items are shuffled; the first `floor(0.4 C)` (at least 2) are
/// for training, the next `floor(0.2 C)` (at least 2) for validation, the rest for test.
/// Similarity within a single class is always perfect, so no part has one class only: with 4
/// or 5 classes there is no validation part. The paper does not print the rule of assignment;
/// share the seed between methods.
///
/// Fails with fewer than 4 classes, and where items have several labels.
///
/// Source: Zhuang & Moulin 2023, section 4 (retrieval protocol).
///
/// ```
/// use likewise::{Labels, eval::split};
/// let labels = Labels::from_integers((0..100).map(|i| i % 10));
/// let parts = split::zero_shot(&labels, 7)?;
/// assert_eq!(parts[3], parts[13]); // same class, same part
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn zero_shot(labels: &Labels, seed: u64) -> Result<Vec<Part>> {
    labels.check_single("a split into disjoint classes")?;
    let by_class = labels.by_class();
    let mut classes: Vec<usize> = (0..by_class.len())
        .filter(|&c| !by_class[c].is_empty())
        .collect();
    let n = classes.len();
    if n == 0 {
        return Err(no_labels());
    }
    if n < 4 {
        return Err(Error::data(format!(
            "{} too few for a class-disjoint split, which fits on two and tests on \
             two others at least; give 6 or more (so that two can validate), or split the items \
             within each class",
            if n == 1 {
                "1 class is".into()
            } else {
                format!("{n} classes are")
            }
        )));
    }
    classes.shuffle(&mut seed::stream(seed, "zero-shot split"));
    let train = (2 * n / 5).max(2);
    let validation = if n < 6 { 0 } else { (n / 5).max(2) };
    let mut parts = vec![Part::Train; labels.len()];
    for (position, &class) in classes.iter().enumerate().skip(train) {
        let part = if position < train + validation {
            Part::Validation
        } else {
            Part::Test
        };
        for &item in &by_class[class] {
            parts[item] = part;
        }
    }
    Ok(parts)
}

/// The split that came with the data.
pub fn given(collection: &Collection) -> Result<Vec<Part>> {
    collection.split.clone().ok_or_else(|| {
        Error::new(
            ErrorKind::Data,
            "the data say no split; add one as a column of that name, or choose another kind of split",
        )
    })
}

/// The items that ask and those that are searched: `Query` and `Test` ask, `Gallery` and
/// `Test` are searched.
pub fn roles(parts: &[Part]) -> (Vec<usize>, Vec<usize>) {
    let of = |wanted: Part| {
        let items = 0..parts.len();
        items.filter(move |&i| parts[i] == wanted || parts[i] == Part::Test)
    };
    (of(Part::Query).collect(), of(Part::Gallery).collect())
}

fn no_labels() -> Error {
    Error::data("no item has a known class; a split needs labels")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(parts: &[Part], part: Part) -> usize {
        parts.iter().filter(|&&p| p == part).count()
    }

    #[test]
    fn classes_without_items_take_no_part_in_a_split() {
        let all = Labels::from_integers((0..12).map(|i| i % 3));
        let two = all.masked(|i| i % 3 < 2);
        let parts = by_item(&two, 0.5, 0.0, 1).unwrap();
        assert_eq!(
            (count(&parts, Part::Train), count(&parts, Part::Test)),
            (8, 4)
        );
    }

    #[test]
    fn item_split_is_stratified_and_repeatable() {
        let labels =
            Labels::from_integers((0..330).map(|i| if i < 300 { i % 3 } else { -1 - i % 2 }));
        let parts = by_item(&labels, 0.5, 0.25, 1).unwrap();
        for members in labels.by_class() {
            let of: Vec<Part> = members.iter().map(|&i| parts[i]).collect();
            assert_eq!(count(&of, Part::Train), 50);
            assert_eq!(count(&of, Part::Validation), 25);
            assert_eq!(count(&of, Part::Test), 25);
        }
        // Unknown items cannot be measured; those outside are wrong answers in every part.
        let unknown = (300..330).filter(|&i| labels[i] == Label::Unknown);
        assert!(unknown.map(|i| parts[i]).all(|p| p == Part::Train));
        let outside = (300..330).filter(|&i| labels[i] == Label::Outside);
        let outside: Vec<Part> = outside.map(|i| parts[i]).collect();
        assert_eq!(outside.len(), 15);
        for part in [Part::Train, Part::Validation, Part::Test] {
            assert!((3..=8).contains(&count(&outside, part)), "{outside:?}");
        }
        assert_eq!(parts, by_item(&labels, 0.5, 0.25, 1).unwrap());
        assert_ne!(parts, by_item(&labels, 0.5, 0.25, 2).unwrap());
    }

    #[test]
    fn tiny_classes_stay_in_training_and_bad_shares_are_refused() {
        let labels = Labels::from_integers([0, 1, 1, 2]);
        let parts = by_item(&labels, 0.2, 0.2, 1).unwrap();
        assert_eq!((parts[0], parts[3]), (Part::Train, Part::Train));
        assert_eq!(
            count(&by_item(&labels, 0.0, 0.0, 1).unwrap(), Part::Test),
            4
        );
        assert_eq!(
            count(&by_item(&labels, 1.0, 0.0, 1).unwrap(), Part::Train),
            4
        );
        assert!(by_item(&labels, 0.7, 0.4, 1).is_err());
        assert!(by_item(&labels, f64::NAN, 0.4, 1).is_err());
        assert!(by_item(&Labels::unknown(3), 0.5, 0.1, 1).is_err());
    }

    #[test]
    fn zero_shot_parts_share_no_class() {
        for n_classes in [4_i64, 5, 6, 7, 8, 10, 196] {
            let labels = Labels::from_integers((0..n_classes * 4).map(|i| i % n_classes));
            let parts = zero_shot(&labels, 3).unwrap();
            let mut classes = [0; 3];
            for members in labels.by_class() {
                assert!(members.iter().all(|&i| parts[i] == parts[members[0]]));
                match parts[members[0]] {
                    Part::Train => classes[0] += 1,
                    Part::Validation => classes[1] += 1,
                    _ => classes[2] += 1,
                }
            }
            let n = n_classes;
            let validation = if n < 6 { 0 } else { (n / 5).max(2) };
            let expected = [(n * 2 / 5).max(2), validation];
            assert_eq!(classes[..2], expected);
            assert_eq!(classes[2], n - expected[0] - expected[1]);
            assert!(classes[2] >= 2, "one class alone is always perfect");
        }
        let two = Labels::new(
            vec!["a".into(), "b".into(), "empty".into()],
            vec![
                crate::Label::Known(0),
                crate::Label::Known(1),
                crate::Label::Unknown,
            ],
        );
        assert!(
            zero_shot(&two.unwrap(), 1)
                .unwrap_err()
                .to_string()
                .contains("2 classes are too few")
        );
    }

    #[test]
    fn no_class_has_a_lone_test_item() {
        for size in 1..=12 {
            let labels = Labels::from_integers((0..size * 3).map(|i| i % 3));
            let parts = by_item(&labels, 0.7, 0.0, 4).unwrap();
            for members in labels.by_class() {
                let of: Vec<Part> = members.iter().map(|&i| parts[i]).collect();
                let tested = count(&of, Part::Test);
                assert!(
                    tested != 1 && count(&of, Part::Train) >= 1,
                    "{size}: {of:?}"
                );
                assert_eq!(tested > 0, size > 2, "{size}");
            }
        }
    }

    #[test]
    fn roles_of_parts() {
        let parts = [Part::Train, Part::Query, Part::Gallery, Part::Test];
        assert_eq!(roles(&parts), (vec![1, 3], vec![2, 3]));
    }
}
