//! Beliefs in each of several tags of an item: one against the rest.
//!
//! 1. Each tag is spread by itself, by any method of two classes: the items known to have it against those
//!    known not to have it. Items of which nothing is known are unlabeled, as ever.
//! 2. The belief in a tag is `(1 + c) / 2` where the method takes the item for one that has it, with
//!    confidence c, and `(1 - c) / 2` where not: from 0 (surely not) through 1/2 (nothing is known) to 1.
//! 3. Above which belief an item *has* the tag is chosen by labels: the items of known tags are dealt into
//!    five parts, each is hidden in turn and believed from the others, and of all beliefs between two of
//!    its items the one with the highest F1 is the threshold. A tag that fewer than five known items have, or
//!    lack, is judged by 1/2.
//!
//! **When to use it.** Items that have several tags, few of which are known whole. **When not.** Tags that
//! exclude each other: those are classes, which one propagation spreads against each other, sharper. What
//! tags say of one another is not used: each is alone.
//!
//! **Cost.** Six propagations a tag (one where no threshold is chosen).
//!
//! **Source.** One against the rest: Rifkin & Klautau, JMLR 2004. The threshold of highest F1 by tag:
//! Fan & Lin 2007 (their S-cut). The beliefs from confidences are ours, so that any method serves.

use ndarray::Array2;
use rand::seq::SliceRandom;

use super::{Given, Propagate};
use crate::{Error, Label, Labels, Monitor, Result, Tags, seed};

/// Parts that the known items are dealt into.
const PARTS: usize = 5;
/// Items that have a tag, and that lack it, from which on a threshold is chosen.
const LEAST: usize = 5;
/// The threshold where none can be chosen: more likely than not.
const EVEN: f64 = 0.5;

/// What is believed of the tags of all items.
#[derive(Debug, Clone, PartialEq)]
pub struct ByTag {
    /// Belief of each item in each tag, 0 to 1; 1/2 where no label of the tag reaches. Known tags are 1
    /// and 0.
    pub beliefs: Array2<f64>,
    /// The tags of each item: as they are known, else those believed above their threshold; unknown where
    /// no label of any tag reaches.
    pub tags: Tags,
    /// How each tag was decided, in their order.
    pub decided: Vec<Decided>,
    /// Whether the tags of each item were known.
    pub labeled: Vec<bool>,
}

/// Above which belief an item has a tag.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decided {
    /// What a belief has to be above.
    pub threshold: f64,
    /// F1 at it of the items that were hidden in turn; none where these were too few to choose by.
    pub f1: Option<f64>,
}

/// Spreads each tag by itself: see the [module](self).
///
/// `given` is what the method takes; its labels are passed over. Fails as the method does, where no item's
/// tags are known, and where tags and graph differ in length.
///
/// ```
/// use likewise::propagate::{Given, Lgc, by_tag::by_tag};
/// use likewise::{Graph, Labels, Monitor, Tags};
/// // Two pairs: 0-1, 2-3.
/// let graph = Graph::new(vec![0, 1, 2, 3, 4], vec![1, 0, 3, 2], vec![1.0; 4])?;
/// let tags = Tags::read([vec!["red", "short"], vec![], vec!["long"], vec![]])?;
/// let nothing = Labels::unknown(4);
/// let found = by_tag(&Lgc::new(), &Given::new(&graph, &nothing), &tags, 1, &Monitor::silent())?;
/// assert_eq!(found.tags.names(), ["long", "red", "short"]);
/// assert_eq!(found.tags.of(1), Some(&[1, 2][..]));
/// assert_eq!(found.tags.of(3), Some(&[0][..]));
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn by_tag(
    method: &impl Propagate,
    given: &Given,
    tags: &Tags,
    seed: u64,
    monitor: &Monitor,
) -> Result<ByTag> {
    let n = tags.len();
    if n != given.graph.n() {
        return Err(Error::data(format!(
            "{n} items with tags for a graph of {} nodes; there must be one each",
            given.graph.n()
        )));
    }
    if tags.n_known() == 0 {
        return Err(Error::data(
            "no item's tags are known; a propagation needs some to start from",
        ));
    }
    let parts = parts(tags, seed);
    let mut beliefs = Array2::from_elem((n, tags.n_tags()), EVEN);
    let mut reached = vec![false; n];
    let mut decided = Vec::with_capacity(tags.n_tags());
    let quiet = monitor.quiet();
    monitor.start("tags", tags.n_tags() as u64);
    for tag in 0..tags.n_tags() as u32 {
        monitor.check()?;
        let known = Labels::of_tag(tags, tag)?;
        let own = believed(method, given, &known, &quiet)?;
        decided.push(decide(method, given, &known, &parts, &quiet)?);
        for (item, belief) in own.into_iter().enumerate() {
            if let Some(belief) = belief {
                reached[item] = true;
                beliefs[[item, tag as usize]] = belief;
            }
        }
        monitor.step(u64::from(tag) + 1)?;
    }
    monitor.end();
    let items = (0..n).map(|item| match tags.of(item) {
        Some(own) => Some(own.to_vec()),
        None if !reached[item] => None,
        None => {
            let has = |tag: &u32| beliefs[[item, *tag as usize]] > decided[*tag as usize].threshold;
            Some((0..tags.n_tags() as u32).filter(has).collect())
        }
    });
    Ok(ByTag {
        tags: Tags::new(tags.names().to_vec(), items)?,
        labeled: (0..n).map(|item| tags.of(item).is_some()).collect(),
        beliefs,
        decided,
    })
}

/// The belief that each item is of the first of two classes; none where no label reaches.
fn believed(
    method: &impl Propagate,
    given: &Given,
    known: &Labels,
    monitor: &Monitor,
) -> Result<Vec<Option<f64>>> {
    let of_known = |label: &Label| match label {
        Label::Known(class) => Some(f64::from(1 - class)),
        Label::Unknown | Label::Outside => None,
    };
    let counts = known.by_class();
    if counts.iter().any(Vec::is_empty) {
        // Nothing spreads against nothing: of a tag that nobody has, nobody is believed to have it, and
        // none is known to lack one that all have.
        return Ok(known.items().iter().map(of_known).collect());
    }
    let spread = method.spread(&given.labels(known), monitor)?.beliefs;
    let each = known.items().iter().enumerate().map(|(item, label)| {
        of_known(label).or_else(|| {
            let confidence = f64::from(spread.confidence[item]);
            spread.pseudo_label[item].map(|class| {
                let sign = if class == 0 { 1.0 } else { -1.0 };
                f64::midpoint(1.0, sign * confidence)
            })
        })
    });
    Ok(each.collect())
}

/// The threshold of a tag by items that are hidden in turn.
fn decide(
    method: &impl Propagate,
    given: &Given,
    known: &Labels,
    parts: &[Vec<usize>],
    monitor: &Monitor,
) -> Result<Decided> {
    let even = Decided {
        threshold: EVEN,
        f1: None,
    };
    if known.by_class().iter().any(|own| own.len() < LEAST) {
        return Ok(even);
    }
    let mut judged: Vec<(f64, bool)> = Vec::new();
    for hidden in parts {
        let shown = known.masked(|item| hidden.binary_search(&item).is_err());
        let found = believed(method, given, &shown, monitor)?;
        for &item in hidden {
            judged.push((found[item].unwrap_or(EVEN), known[item] == Label::Known(0)));
        }
    }
    Ok(best(judged).unwrap_or(even))
}

/// The threshold with the highest F1, the lowest of several: halfway between two neighbouring beliefs.
fn best(mut judged: Vec<(f64, bool)>) -> Option<Decided> {
    judged.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all = judged.iter().filter(|(_, has)| *has).count();
    let (mut found, mut best) = (0, None::<Decided>);
    for (place, &(belief, has)) in judged.iter().enumerate() {
        found += usize::from(has);
        let next = judged.get(place + 1).map_or(0.0, |next| next.0);
        if next.total_cmp(&belief).is_eq() {
            continue;
        }
        let f1 = 2.0 * found as f64 / (all + place + 1) as f64;
        if best.is_none_or(|best| best.f1.is_none_or(|most| f1 >= most)) && found > 0 {
            best = Some(Decided {
                threshold: f64::midpoint(belief, next),
                f1: Some(f1),
            });
        }
    }
    best
}

/// The items of known tags in five parts, each set of tags evenly, ascending in each.
fn parts(tags: &Tags, seed: u64) -> Vec<Vec<usize>> {
    let mut rng = seed::stream(seed, "parts of tags");
    let mut known: Vec<usize> = (0..tags.len()).filter(|&i| tags.of(i).is_some()).collect();
    known.shuffle(&mut rng);
    known.sort_by_key(|&item| tags.of(item));
    let mut parts = vec![Vec::new(); PARTS];
    for (place, item) in known.into_iter().enumerate() {
        parts[place % PARTS].push(item);
    }
    for part in &mut parts {
        part.sort_unstable();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;
    use crate::propagate::{Lgc, Method};

    /// Two chains of 30: the first has tag a, the second b; all of the first half of each c as well.
    fn chains() -> (Graph, Vec<Vec<&'static str>>) {
        let n = 60_usize;
        let (mut starts, mut columns) = (vec![0], Vec::new());
        for i in 0..n {
            for j in [i.wrapping_sub(1), i + 1] {
                if j < n && j / 30 == i / 30 {
                    columns.push(j as u32);
                }
            }
            starts.push(columns.len());
        }
        let weights = vec![1.0; columns.len()];
        let words = (0..n).map(|i| {
            let mut own = vec![if i < 30 { "a" } else { "b" }];
            own.extend((i % 30 < 15).then_some("c"));
            own
        });
        let graph = Graph::new(starts, columns, weights).unwrap();
        (graph, words.collect())
    }

    fn spread(known: impl Fn(usize) -> bool) -> (ByTag, Tags) {
        let (graph, words) = chains();
        let truth = Tags::read(words.clone()).unwrap();
        let shown = words.iter().enumerate();
        let shown = shown.map(|(i, own)| if known(i) { own.clone() } else { vec![] });
        let tags = Tags::read(shown).unwrap();
        let nothing = Labels::unknown(60);
        let given = Given::new(&graph, &nothing);
        (
            by_tag(&Lgc::new(), &given, &tags, 1, &Monitor::silent()).unwrap(),
            truth,
        )
    }

    #[test]
    fn tags_of_neighbours_are_found_each_by_itself() {
        let (found, truth) = spread(|i| i % 3 == 0);
        let right = (0..60).filter(|&i| found.tags.of(i) == truth.of(i)).count();
        assert!(right >= 56, "{right}");
        assert!(
            found
                .decided
                .iter()
                .all(|own| own.f1.is_some_and(|f1| f1 > 0.8))
        );
        for i in (0..60).step_by(3) {
            assert!(found.labeled[i]);
            let belief = found.beliefs[[i, 0]];
            assert!((belief - f64::from(u8::from(i < 30))).abs() < 1e-12);
        }
        let (again, _) = spread(|i| i % 3 == 0);
        assert_eq!(found, again);
    }

    #[test]
    fn few_labels_are_judged_by_one_half_and_what_nothing_reaches_is_unknown() {
        // The second chain has no known item.
        let (found, _) = spread(|i| i == 0 || i == 29);
        assert!(found.decided.iter().all(|own| own.f1.is_none()));
        assert_eq!(found.tags.of(45), None);
        assert!((found.beliefs[[45, 0]] - 0.5).abs() < 1e-12);
        // Nobody is known to lack a: nothing says that others have it.
        assert_eq!(found.tags.names(), ["a", "c"]);
        assert!((found.beliefs[[1, 0]] - 0.5).abs() < 1e-12);
        assert_eq!(found.tags.of(1), Some(&[1][..]));
        assert_eq!(found.tags.of(28), Some(&[][..]));
    }

    #[test]
    fn thresholds_by_hand() {
        // F1 by the number that is taken: 1 of 3: 2/4, 2: 4/5, 3: 4/6, 4: 6/7.
        let judged = vec![
            (0.9, true),
            (0.8, true),
            (0.6, false),
            (0.4, true),
            (0.1, false),
        ];
        let found = best(judged).unwrap();
        assert!((found.threshold - 0.25).abs() < 1e-12);
        assert!((found.f1.unwrap() - 6.0 / 7.0).abs() < 1e-12);
        // Equal beliefs are taken together.
        let found = best(vec![(0.5, true), (0.5, false)]).unwrap();
        assert!((found.f1.unwrap() - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(best(vec![(0.5, false)]), None);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_every_method_serves() {
        let (graph, words) = chains();
        let nothing = Labels::unknown(60);
        let given = Given::new(&graph, &nothing);
        let silent = Monitor::silent();
        let of = |tags: &Tags| by_tag(&Lgc::new(), &given, tags, 1, &silent);
        let short = Tags::read([["a"]]).unwrap();
        assert!(
            of(&short)
                .unwrap_err()
                .to_string()
                .contains("1 items with tags for a graph of 60")
        );
        let unknown = Tags::read(vec![[""]; 60]).unwrap();
        assert!(
            of(&unknown)
                .unwrap_err()
                .to_string()
                .contains("no item's tags are known")
        );
        let tags = Tags::read(words).unwrap();
        for name in ["mixed", "harmonic", "poisson"] {
            let method = Method::named(name).unwrap();
            let found = by_tag(&method, &given, &tags, 1, &silent).unwrap();
            assert_eq!(found.tags, tags, "{name}");
        }
    }
}
