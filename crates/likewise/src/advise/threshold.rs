//! Same or not: the similarity from which two items are of one class, at a wanted precision.
//!
//! 1. Labeled items that nothing was learned from are dealt into two halves: each class evenly, and one of fewer than four
//!    items, which would have no pair in one of them, whole. Of more than 2000 items as many are dealt at random. Of each
//!    half all pairs are compared; pairs of one class weigh so that a half has as many of them as all items would give: a
//!    class of two that is dealt whole has its pair in one of two halves, where of four pairs only one is.
//! 2. On the first half the threshold is chosen: the smallest similarity so that of ten or more pairs at or above it
//!    the wanted share is of one class. It finds most of them, at that precision.
//! 3. On the second half it is measured: its precision, and its recall, the share of the pairs of one class that it
//!    finds. Items are drawn again 500 times (pairs share them) for the 95 % intervals. Where all pairs that were found
//!    are of one class, no draw shows another: the precision is then not said to be above `1 - 3 / (m + 2)` for sure, of m
//!    items in them.
//!
//! **Use it** where a program must answer "the same?" by itself. **Not** with items that the model learned from,
//! nor where pairs of one class are rarer than here: of a fixed threshold the precision falls with
//! their share, which is reported ([`Threshold::same_share`]). Nor as a promise: the threshold is the one that just had the
//! wanted precision on few items, so that elsewhere it is as often below as above; `results/advise/threshold.md` counts
//! how often the interval held the truth.
//!
//! Cost: all pairs of up to 1000 items a half, compared once, and 500 passes over those found; some 20 MB.
//!
//! Source: Efron and Tibshirani 1993 for drawing items again; the rest is the definition.

use std::collections::HashSet;

use rand::RngExt;
use rand::seq::SliceRandom;
use serde::Serialize;

use crate::eval::bootstrap::Estimate;
use crate::similarity::Searchable;
use crate::{Embedding, Error, Labels, Monitor, Result, seed};

/// Items of a half that take part, at most.
const MOST: usize = 1000;
/// Items of a class from which it is dealt to both halves.
const WHOLE: usize = 4;
/// Pairs of one class in a half below which nothing can be said, and pairs above a threshold.
const LEAST: usize = 10;
/// Resamples of the intervals.
const RESAMPLES: usize = 500;

/// A threshold and its operating point.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Threshold {
    /// The precision that was wanted.
    pub wanted: f64,
    /// Two items at least as similar as this are taken for the same.
    pub similarity: f64,
    /// Share of these pairs that are of one class, on items that did not choose the threshold.
    pub precision: Estimate,
    /// Share of the pairs of one class that are found.
    pub recall: Estimate,
    /// Share of all pairs that are of one class.
    pub same_share: f64,
    /// Items that it was measured on.
    pub items: usize,
}

/// Finds the threshold at a wanted precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finder {
    precision: f64,
    seed: u64,
}

/// A pair of a half: its items, how similar they are, and whether they are of one class.
#[derive(Debug, Clone, Copy)]
struct Pair {
    a: u32,
    b: u32,
    similarity: f32,
    same: bool,
    /// 1 of two classes.
    weight: f64,
}

impl Finder {
    /// At this precision, above 0 and below 1.
    pub fn new(precision: f64) -> Self {
        Self { precision, seed: 0 }
    }

    /// Seed of the halves.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Fails on a precision that no threshold can have.
    pub fn check(&self) -> Result<()> {
        if self.precision > 0.0 && self.precision < 1.0 {
            return Ok(());
        }
        let rule = "must lie between 0 and 1, such as 0.95";
        Err(Error::parameter("precision", self.precision, rule))
    }

    /// The threshold by pairs of the items `kept` from learning, whose labels are known; `None`
    /// where no similarity has the wanted precision, or no pair of the second half is so similar.
    ///
    /// Fails on a precision that is not between 0 and 1, with fewer than ten pairs of one class in
    /// a half, on an item that there is not or whose class is unknown, and when cancelled.
    ///
    /// ```
    /// use likewise::{Labels, Monitor, advise::threshold::Finder};
    /// let x = ndarray::Array2::from_shape_fn((40, 2), |(i, j)| {
    ///     if i % 2 == j { 1.0 } else { i as f32 / 100.0 }
    /// });
    /// let labels = Labels::from_integers((0..40).map(|i| i % 2));
    /// let kept: Vec<usize> = (0..40).collect();
    /// let found = Finder::new(0.95).find(&x.into(), &labels, &kept, &Monitor::silent())?;
    /// assert!(found.is_some_and(|found| found.precision.value > 0.9));
    /// # Ok::<(), likewise::Error>(())
    /// ```
    pub fn find(
        &self,
        embedding: &Embedding,
        labels: &Labels,
        kept: &[usize],
        monitor: &Monitor,
    ) -> Result<Option<Threshold>> {
        self.check()?;
        let halves = self.halves(labels, kept, embedding.rows.nrows())?;
        let mut pairs = Vec::new();
        for half in &halves {
            let mut own = pairs_of(embedding, labels, half, monitor)?;
            let weights = weights(labels, kept, half);
            for pair in own.iter_mut().filter(|pair| pair.same) {
                let class = labels[half[pair.a as usize]].class();
                pair.weight = class.map_or(1.0, |class| weights[class as usize]);
            }
            let same = own.iter().filter(|pair| pair.same).count();
            if same < LEAST || same == own.len() {
                return Err(Error::data(format!(
                    "a threshold needs {LEAST} pairs of one class and some of two in each half of the \
                     labeled items that nothing was learned from; one half of {} items has {same} \
                     of {} pairs",
                    half.len(),
                    own.len()
                )));
            }
            pairs.push(own);
        }
        let Some(similarity) = choose(&mut pairs[0], self.precision, LEAST) else {
            return Ok(None);
        };
        Ok(self.measure(similarity, &pairs[1], halves[1].len()))
    }

    fn halves(&self, labels: &Labels, kept: &[usize], rows: usize) -> Result<[Vec<usize>; 2]> {
        if labels.len() != rows {
            return Err(Error::data(format!(
                "{} labels for {rows} embeddings; there must be one each",
                labels.len()
            )));
        }
        let mut rng = seed::stream(self.seed, "halves of a threshold");
        let mut halves = [Vec::new(), Vec::new()];
        let mut by_class = vec![Vec::new(); labels.n_classes()];
        let mut drawn = kept.to_vec();
        drawn.shuffle(&mut rng);
        for item in drawn.iter().copied() {
            let class = (item < rows).then(|| labels[item].class()).flatten();
            let class = class.ok_or_else(|| {
                Error::data(format!(
                    "item {item} is to be compared, but its class is not known"
                ))
            })?;
            by_class[class as usize].push(item);
        }
        // Of too many as many at random, whatever their class: pairs of one class are as rare there as among all, where
        // many small classes have few items drawn of each.
        let (dealt, mut whole): (Vec<usize>, Vec<Vec<usize>>) = if drawn.len() > 2 * MOST {
            drawn.truncate(2 * MOST);
            (drawn, Vec::new())
        } else {
            let (whole, dealt): (Vec<_>, Vec<_>) =
                by_class.into_iter().partition(|class| class.len() < WHOLE);
            (dealt.concat(), whole)
        };
        for (next, item) in dealt.into_iter().enumerate() {
            halves[next % 2].push(item);
        }
        whole.shuffle(&mut rng);
        for class in whole {
            let fewer = usize::from(halves[1].len() < halves[0].len());
            halves[fewer].extend(class);
        }
        for half in &mut halves {
            half.sort_unstable();
        }
        Ok(halves)
    }

    /// `None` where no pair is so similar.
    fn measure(&self, similarity: f32, pairs: &[Pair], items: usize) -> Option<Threshold> {
        let found: Vec<&Pair> = pairs
            .iter()
            .filter(|p| p.similarity >= similarity)
            .collect();
        if found.is_empty() {
            return None;
        }
        let same: Vec<&Pair> = pairs.iter().filter(|p| p.same).collect();
        let shares = |times: &[f64]| {
            let weight =
                |pair: &&Pair| pair.weight * times[pair.a as usize] * times[pair.b as usize];
            let all: f64 = found.iter().map(&weight).sum();
            let right: f64 = found.iter().filter(|p| p.same).map(&weight).sum();
            let of: f64 = same.iter().map(weight).sum();
            [right / all, right / of]
        };
        let value = shares(&vec![1.0; items]);
        let mut rng = seed::stream(self.seed, "threshold, drawn again");
        let mut drawn = [Vec::new(), Vec::new()];
        for _ in 0..RESAMPLES {
            let mut times = vec![0.0; items];
            for _ in 0..items {
                times[rng.random_range(0..items)] += 1.0;
            }
            for (drawn, share) in drawn.iter_mut().zip(shares(&times)) {
                drawn.extend(share.is_finite().then_some(share));
            }
        }
        let [mut precision, recall] = [0, 1].map(|which| inner(value[which], &mut drawn[which]));
        if found.iter().all(|pair| pair.same) {
            let own: HashSet<u32> = found.iter().flat_map(|pair| [pair.a, pair.b]).collect();
            precision.low = (precision.low).min((1.0 - 3.0 / (own.len() as f64 + 2.0)).max(0.0));
        }
        let share = |pairs: &mut dyn Iterator<Item = &Pair>| pairs.map(|p| p.weight).sum::<f64>();
        Some(Threshold {
            wanted: self.precision,
            similarity: f64::from(similarity),
            precision,
            recall,
            same_share: share(&mut same.iter().copied()) / share(&mut pairs.iter()),
            items,
        })
    }
}

/// What a pair of one class counts in a half, of each class: so that the half has as many of them as a random half of all
/// that are kept would have in the mean. Of those that are dealt evenly about 1, of pairs that are dealt whole one half.
fn weights(labels: &Labels, kept: &[usize], half: &[usize]) -> Vec<f64> {
    let sizes = |items: &[usize]| {
        let mut sizes = vec![0_usize; labels.n_classes()];
        for class in items.iter().filter_map(|&item| labels[item].class()) {
            sizes[class as usize] += 1;
        }
        sizes
    };
    let pairs = |n: usize| (n * n.saturating_sub(1)) as f64 / 2.0;
    let part = pairs(half.len()) / pairs(kept.len());
    let weight = |(all, own): (usize, usize)| {
        if kept.len() > 2 * MOST || own < 2 {
            1.0
        } else if all < WHOLE {
            // In this half or in the other.
            2.0 * part
        } else {
            part * pairs(all) / pairs(own)
        }
    };
    sizes(kept)
        .into_iter()
        .zip(sizes(half))
        .map(weight)
        .collect()
}

/// The smallest similarity at or above which there are so many pairs, and the wanted share of them is the
/// same.
fn choose(pairs: &mut [Pair], wanted: f64, least: usize) -> Option<f32> {
    pairs.sort_unstable_by(|a, b| b.similarity.total_cmp(&a.similarity));
    let (mut same, mut all, mut best) = (0.0, 0.0, None);
    for (place, pair) in pairs.iter().enumerate() {
        same += if pair.same { pair.weight } else { 0.0 };
        all += pair.weight;
        // Between equal similarities no threshold can stand.
        let last = pairs
            .get(place + 1)
            .is_none_or(|next| next.similarity < pair.similarity);
        if last && place + 1 >= least && same >= wanted * all {
            best = Some(pair.similarity);
        }
    }
    best
}

/// All pairs of these items, numbered by their places; of a similarity that is not symmetric, as the first asks.
fn pairs_of(
    embedding: &Embedding,
    labels: &Labels,
    items: &[usize],
    monitor: &Monitor,
) -> Result<Vec<Pair>> {
    let (metric, scorer) = (embedding.metric, embedding.scorer());
    let searched = Searchable::new(embedding.rows.view(), items, metric, scorer)?;
    let each = searched.for_each_query(
        embedding.asking(),
        items,
        monitor,
        || (),
        |(), a, offset, scores| {
            let pair = |(b, &score): (usize, &f32)| Pair {
                a: a as u32,
                b: b as u32,
                similarity: score + offset,
                same: labels[items[a]].class() == labels[items[b]].class(),
                weight: 1.0,
            };
            let later = scores.iter().enumerate().skip(a + 1);
            later.map(pair).collect::<Vec<Pair>>()
        },
    )?;
    Ok(each.into_iter().flatten().collect())
}

/// The inner 95 % of what was drawn, around a value; nothing drawn says nothing.
fn inner(value: f64, drawn: &mut [f64]) -> Estimate {
    drawn.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (drawn.len().saturating_sub(1) as f64 * share).round() as usize;
        drawn.get(place).copied()
    };
    let value = if value.is_finite() { value } else { 0.0 };
    Estimate {
        value,
        low: at(0.025).unwrap_or(0.0).min(value),
        high: at(0.975).unwrap_or(1.0).max(value),
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Shares of small numbers are exact.
mod tests {
    use ndarray::Array2;
    use proptest::prelude::*;

    use super::*;

    fn pair(similarity: f32, same: bool) -> Pair {
        Pair {
            a: 0,
            b: 1,
            similarity,
            same,
            weight: 1.0,
        }
    }

    #[test]
    fn a_half_has_as_many_pairs_of_one_class_as_all_items_would_give() {
        for (classes, each) in [(500, 2), (500, 3), (250, 4), (100, 7)] {
            let labels = Labels::from_integers((0..classes * each).map(|i| (i / each) as i64));
            let kept: Vec<usize> = (0..classes * each).collect();
            let n = kept.len();
            let halves = Finder::new(0.9).halves(&labels, &kept, n).unwrap();
            let shares = halves.map(|half| {
                let weights = weights(&labels, &kept, &half);
                let class = |place: usize| half[place] / each;
                let of_one = (0..half.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
                let of_one = of_one.filter(|&(a, b)| class(a) == class(b));
                let same: f64 = of_one.map(|(a, _)| weights[class(a)]).sum();
                same / ((half.len() * (half.len() - 1)) as f64 / 2.0)
            });
            let truth = (each - 1) as f64 / (n - 1) as f64;
            let mean = f64::midpoint(shares[0], shares[1]);
            assert!((mean / truth - 1.0).abs() < 0.01, "{each}: {mean} {truth}");
        }
    }

    #[test]
    fn of_many_small_classes_some_pairs_are_of_one() {
        let (classes, each) = (1500, 8);
        let mut rng = seed::stream(3, "small classes");
        let centres = Array2::from_shape_fn((classes, 16), |_| rng.random_range(-1.0_f32..1.0));
        let x = Array2::from_shape_fn((classes * each, 16), |(i, c)| centres[[i / each, c]]);
        let labels = Labels::from_integers((0..classes * each).map(|i| (i / each) as i64));
        let kept: Vec<usize> = (0..classes * each).collect();
        let found = Finder::new(0.9).find(&x.into(), &labels, &kept, &Monitor::silent());
        let found = found.unwrap().unwrap();
        assert_eq!(found.items, MOST);
        assert!(
            found.precision.value > 0.7 && found.recall.value > 0.9,
            "{found:?}"
        );
        // As rare as among all: 7 of 11,999.
        assert!(
            (2e-4..2e-3).contains(&found.same_share),
            "{}",
            found.same_share
        );
    }

    #[test]
    fn classes_of_two_items_have_pairs_in_both_halves() {
        let mut rng = seed::stream(4, "classes of two");
        let centres = Array2::from_shape_fn((61, 16), |_| rng.random_range(-1.0_f32..1.0));
        let x = Array2::from_shape_fn((122, 16), |(i, c)| centres[[i / 2, c]]);
        let labels = Labels::from_integers((0..122).map(|i| i / 2));
        let kept: Vec<usize> = (0..122).collect();
        let finder = Finder::new(0.9);
        for half in finder.halves(&labels, &kept, 122).unwrap() {
            assert!((60..=62).contains(&half.len()));
            assert!(half.chunks(2).all(|two| two[0] / 2 == two[1] / 2));
        }
        let found = finder.find(&x.into(), &labels, &kept, &Monitor::silent());
        let found = found.unwrap().unwrap();
        assert_eq!((found.precision.value, found.recall.value), (1.0, 1.0));
    }

    #[test]
    fn the_smallest_similarity_of_the_wanted_precision_by_hand() {
        let mut pairs = [
            pair(0.9, true),
            pair(0.8, true),
            pair(0.7, false),
            pair(0.6, true),
            pair(0.5, false),
            pair(0.5, true),
        ];
        assert_eq!(choose(&mut pairs, 0.99, 1), Some(0.8));
        assert_eq!(choose(&mut pairs, 0.75, 1), Some(0.6));
        // The two of .5 come together: 4 of 6.
        assert_eq!(choose(&mut pairs, 0.6, 1), Some(0.5));
        assert_eq!(choose(&mut [pair(0.9, false)], 0.5, 1), None);
        // Two pairs are too few where three are asked for.
        assert_eq!(choose(&mut pairs, 0.99, 3), None);
    }

    proptest! {
        #[test]
        fn no_smaller_threshold_has_the_precision(
            values in prop::collection::vec((0_u8..12, any::<bool>()), 1..40), wanted in 0.05..0.95_f64,
        ) {
            let mut pairs: Vec<Pair> =
                values.iter().map(|&(s, same)| pair(f32::from(s), same)).collect();
            let precision = |threshold: f32| {
                let found = values.iter().filter(|(s, _)| f32::from(*s) >= threshold);
                let right = found.clone().filter(|(_, same)| *same).count() as f64;
                right / found.count() as f64
            };
            let possible = values.iter().map(|(s, _)| f32::from(*s));
            let naive = possible.filter(|&t| precision(t) >= wanted).fold(None, |least, t| {
                Some(least.map_or(t, |least: f32| least.min(t)))
            });
            prop_assert_eq!(choose(&mut pairs, wanted, 1), naive);
        }
    }

    fn noisy(n: usize, noise: f32) -> (Embedding, Labels) {
        let mut rng = seed::stream(5, "threshold test");
        let x = Array2::from_shape_fn((n, 5), |(i, j)| {
            f32::from(u8::from(i % 4 == j)) + noise * rng.random_range(-1.0_f32..1.0)
        });
        (
            x.into(),
            Labels::from_integers((0..n).map(|i| (i % 4) as i64)),
        )
    }

    #[test]
    fn what_was_wanted_holds_on_items_that_did_not_choose() {
        let (embedding, labels) = noisy(400, 0.6);
        let kept: Vec<usize> = (0..400).collect();
        let silent = Monitor::silent();
        let find = |wanted: f64| {
            let found = Finder::new(wanted)
                .seed(1)
                .find(&embedding, &labels, &kept, &silent);
            found.unwrap().unwrap()
        };
        let (strict, loose) = (find(0.95), find(0.6));
        assert_eq!((strict.items, strict.wanted), (200, 0.95));
        assert!((strict.same_share - 0.246).abs() < 0.01, "{strict:?}");
        assert!(
            strict.precision.low <= 0.96 && strict.precision.high >= 0.94,
            "{strict:?}"
        );
        assert!(strict.similarity > loose.similarity);
        assert!(strict.recall.value < loose.recall.value);
        for e in [strict.precision, strict.recall] {
            assert!(e.low < e.value && e.value < e.high);
        }
        // The operating point, counted over the same half by plain loops.
        let half = &Finder::new(0.95)
            .seed(1)
            .halves(&labels, &kept, 400)
            .unwrap()[1];
        let rows = crate::matrix::l2_normalize(embedding.rows.clone());
        let weights = weights(&labels, &kept, half);
        let (mut right, mut found) = (0.0, 0.0);
        for (p, &a) in half.iter().enumerate() {
            for &b in &half[p + 1..] {
                if f64::from(rows.row(a).dot(&rows.row(b))) >= strict.similarity - 1e-7 {
                    let same = a % 4 == b % 4;
                    let weight = if same { weights[a % 4] } else { 1.0 };
                    found += weight;
                    right += if same { weight } else { 0.0 };
                }
            }
        }
        let counted = right / found;
        assert!((counted - strict.precision.value).abs() < 2e-3);
    }

    #[test]
    fn distances_are_those_of_the_rows() {
        // Two heaps beside 0: within them squared distances of 0 and 4, between them 400 and more.
        let x = Array2::from_shape_fn((40, 2), |(i, j)| match j {
            0 => 10.0 + 20.0 * (i % 2) as f32,
            _ => (i % 4) as f32,
        });
        let labels = Labels::from_integers((0..40).map(|i| i % 2));
        let kept: Vec<usize> = (0..40).collect();
        let embedding = Embedding::new(x, &crate::Similarity::Euclidean);
        let found = Finder::new(0.99).find(&embedding, &labels, &kept, &Monitor::silent());
        let found = found.unwrap().unwrap();
        assert!((found.similarity + 4.0).abs() < 1e-2, "{found:?}");
        assert_eq!((found.precision.value, found.recall.value), (1.0, 1.0));
    }

    #[test]
    fn what_cannot_be_found_is_said() {
        let (embedding, labels) = noisy(40, 0.2);
        let silent = Monitor::silent();
        let find = |wanted: f64, labels: &Labels, kept: &[usize]| {
            Finder::new(wanted).find(&embedding, labels, kept, &silent)
        };
        let all: Vec<usize> = (0..40).collect();
        for wanted in [0.0, 1.0, f64::NAN] {
            let said = find(wanted, &labels, &all).unwrap_err().to_string();
            assert!(said.contains("precision"), "{said}");
        }
        for (labels, kept) in [
            (&labels, &all[..6]),
            (&Labels::parse(["a"; 40]), &all[..]),
            (&Labels::from_integers(0..40), &all[..]),
        ] {
            let said = find(0.9, labels, kept).unwrap_err().to_string();
            assert!(said.contains("10 pairs"), "{said}");
        }
        assert!(find(0.9, &labels, &[40]).is_err());
        assert!(find(0.9, &Labels::unknown(40), &all).is_err());
        assert!(find(0.9, &Labels::unknown(4), &all).is_err());
        // Classes that have nothing to do with the rows.
        let blind = Labels::from_integers((0..40).map(|i| i / 20));
        assert_eq!(find(0.99, &blind, &all).unwrap(), None);
    }
}
