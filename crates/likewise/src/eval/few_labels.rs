//! How well the items of a class come first, where only a handful of items is labeled.
//!
//! Labels that were kept from fitting ask, and *all* items are searched, as they will be in
//! use. Of most answers nobody knows whether they are right, but of the other kept labels of
//! the query's class both is known: that they are right, and at which rank among all items
//! they come. R-precision is the share of a class's items that come among the first R
//! answers, R being the number of its other items. Of its fitted labels it is known which do;
//! the share of the kept ones that do stands for all unlabeled ones, without bias as far as the
//! kept labels are a fair sample of their class and R is right.
//!
//! Use it where too few items are labeled for a test set. Not where most are: measure with
//! [`ranking`](super::ranking), which gives R@k and MAP@R as well. Those cannot be had here:
//! whether the very first answer is right is known only where that answer is labeled, and a
//! search among the labeled items alone is far easier than the one that users make.
//!
//! # Cost
//! O(queries x items x dimensions) time; the memory of [`Searchable`].
//!
//! # Source
//! R-precision: Musgrave, Belongie & Lim 2020. The estimate from ranks of a sample is ours.

use rand::seq::SliceRandom;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::bootstrap::Estimate;
use crate::similarity::Searchable;
use crate::{Embedding, Error, Labels, Monitor, Result};

/// What is asked in one round: labels that were kept from fitting.
#[derive(Debug, Clone, Copy)]
pub struct Round<'a> {
    /// Rows of all items, and how they compare.
    pub embedding: &'a Embedding,
    /// Labels of the same items.
    pub labels: &'a Labels,
    /// The items that were kept from fitting: each asks, and each is a known right answer to
    /// the others of its class.
    pub kept: &'a [usize],
    /// Items of each class in the whole collection, counted or estimated.
    pub sizes: &'a [f64],
}

/// The value of one query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// The item that asked.
    pub query: usize,
    /// Its class.
    pub class: u32,
    /// Share of the items of its class among its first R answers: of the fitted ones as it is,
    /// of all others as it is of the other kept ones.
    pub r_precision: f64,
}

/// The R-precision of every kept item that has another one of its class beside it, in the
/// order of `kept`.
///
/// Ranks are by (similarity descending, item ascending), the query itself left out.
///
/// Fails on NaN, on sizes and labels that do not fit, and on a kept item without a class.
///
/// ```
/// use likewise::eval::few_labels::{r_precision, Round};
/// use likewise::{Labels, Monitor};
/// let x = ndarray::array![[1.0, 0.0], [0.9, 0.1], [0.8, 0.1], [0.0, 1.0], [0.1, 0.9]];
/// // Items 0 and 2 are of class a, which has three items; nobody knows of item 1.
/// let labels = Labels::parse(["a", "", "a", "b", ""]);
/// let round = Round { embedding: &x.into(), labels: &labels, kept: &[0, 2], sizes: &[3.0, 2.0] };
/// let values = r_precision(&round, &Monitor::silent())?;
/// assert_eq!(values[0].r_precision, 1.0); // item 2 is the second of R = 2 answers
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn r_precision(round: &Round, monitor: &Monitor) -> Result<Vec<Value>> {
    let labels = round.labels;
    labels.check_single("the estimate from few labels")?;
    let n = round.embedding.rows.nrows();
    if labels.len() != n || round.sizes.len() != labels.n_classes() {
        return Err(Error::data(format!(
            "{} labels of {} classes for {n} embeddings and {} sizes of classes; there must be \
             one each",
            labels.len(),
            labels.n_classes(),
            round.sizes.len()
        )));
    }
    let mut by_class = vec![Vec::new(); labels.n_classes()];
    let mut asks = vec![false; n];
    for &item in round.kept {
        let class = (item < n).then(|| labels[item].class()).flatten();
        let class = class.ok_or_else(|| {
            Error::data(format!("item {item} is to ask, but its class is not known"))
        })?;
        by_class[class as usize].push(item);
        asks[item] = true;
    }
    let mut fitted = labels.by_class();
    for fitted in &mut fitted {
        fitted.retain(|&item| !asks[item]);
    }
    let class = |item: usize| labels[item].class().unwrap_or_default();
    let queries: Vec<usize> = (round.kept.iter().copied())
        .filter(|&q| by_class[class(q) as usize].len() > 1)
        .collect();
    let all: Vec<usize> = (0..n).collect();
    let embedding = round.embedding;
    let (metric, scorer) = (embedding.metric, embedding.scorer());
    let searched = Searchable::new(embedding.rows.view(), &all, metric, scorer)?;
    searched.for_each_query(
        embedding.asking(),
        &queries,
        monitor,
        Vec::new,
        |ranked: &mut Vec<usize>, q, _, scores| {
            let query = queries[q];
            let class = class(query);
            let others = by_class[class as usize].iter().filter(|&&x| x != query);
            let size = (round.sizes[class as usize] - 1.0).round();
            let most = size.max(1.0) as usize;
            let order = |&a: &usize, &b: &usize| scores[b].total_cmp(&scores[a]).then(a.cmp(&b));
            ranked.clear();
            ranked.extend((0..scores.len()).filter(|&i| i != query));
            let last = most.min(ranked.len()) - 1;
            let (_, &mut last, _) = ranked.select_nth_unstable_by(last, order);
            let found = |x: &&usize| order(x, &last).is_le();
            let of_kept = others.clone().filter(found).count() as f64 / others.count() as f64;
            // Those that were fitted stand for themselves, the kept ones for all others.
            let fitted = &fitted[class as usize];
            let of_fitted = fitted.iter().filter(found).count() as f64;
            let unfitted = (size - fitted.len() as f64).max(1.0);
            Value {
                query,
                class,
                r_precision: (of_fitted + unfitted * of_kept) / (fitted.len() as f64 + unfitted),
            }
        },
    )
}

/// The mean over items of numbers that the queries of several rounds gave, with its 95 %
/// interval; `None` without any.
///
/// Each number stands with its class, and a class counts by its `sizes`, its items in the
/// whole collection: labels may be as many of a rare class as of a common one, but items ask by their
/// number. Queries of one class in one round judge each other, so they are one observation; the
/// spread of the rounds is added, since all of a round share one fit, and since each fits fewer
/// labels than the model that is kept: `t sqrt(s_groups^2 / g + s_rounds^2 / rounds)`, where `g` groups
/// of unequal weight count as `(sum w)^2 / sum w^2`. The spread of a single round (three labels
/// a class) is taken to be that of the groups. On the six public sets that it
/// was chosen on, the larger of the two alone held 40 of 48 true gains, both together 44.
///
/// Numbers that are all equal have no width here: join it with the interval of
/// [`proportion`](super::proportion), which says what so few answers can show.
///
/// Fails on a class without a size.
pub fn estimate(rounds: &[Vec<(u32, f64)>], sizes: &[f64]) -> Result<Option<Estimate>> {
    let mut asked = vec![0.0_f64; sizes.len()];
    for (class, _) in rounds.iter().flatten() {
        let class = *class as usize;
        let asked = (asked.get_mut(class))
            .filter(|_| sizes[class].is_finite() && sizes[class] > 0.0)
            .ok_or_else(|| Error::data(format!("class {class} asks, but it has no size")))?;
        *asked += 1.0;
    }
    let weight = |class: u32| sizes[class as usize] / asked[class as usize];
    let (sum, all) = weighted_sum(rounds.iter().flatten(), weight);
    if all <= 0.0 {
        return Ok(None);
    }
    let mean = sum / all;
    // Of each class in each round: its weight, and its share of what the mean misses.
    let mut groups: Vec<(f64, f64)> = Vec::new();
    let mut by_round: Vec<f64> = Vec::new();
    for round in rounds.iter().filter(|round| !round.is_empty()) {
        let mut classes: Vec<u32> = round.iter().map(|(class, _)| *class).collect();
        classes.sort_unstable();
        classes.dedup();
        for class in classes {
            let own = round.iter().filter(|(c, _)| *c == class);
            let (sum, own) = weighted_sum(own, weight);
            groups.push((own, sum - own * mean));
        }
        let (sum, own) = weighted_sum(round.iter(), weight);
        by_round.push(sum / own);
    }
    let squares: f64 = groups.iter().map(|(w, _)| w * w).sum();
    let g = all * all / squares;
    if groups.len() < 2 || g <= 1.0 {
        // One observation says nothing about its own luck.
        return Ok(Some(Estimate {
            value: mean,
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
        }));
    }
    let between_groups =
        groups.iter().map(|(_, s)| s * s).sum::<f64>() / (all * all) * g / (g - 1.0);
    let r = by_round.len() as f64;
    let between_rounds = if by_round.len() < 2 {
        // What another fit would give nobody knows; so much as another class is the least.
        between_groups
    } else {
        let center = by_round.iter().sum::<f64>() / r;
        by_round.iter().map(|v| (v - center).powi(2)).sum::<f64>() / (r - 1.0) / r
    };
    let t = StudentsT::new(0.0, 1.0, g - 1.0).map_or(1.96, |t| t.inverse_cdf(0.975));
    let half = t * (between_groups + between_rounds).sqrt();
    Ok(Some(Estimate {
        value: mean,
        low: mean - half,
        high: mean + half,
    }))
}

/// The sum of these numbers, each times the weight of its class, and the sum of the weights.
fn weighted_sum<'a>(
    values: impl Iterator<Item = &'a (u32, f64)>,
    weight: impl Fn(u32) -> f64,
) -> (f64, f64) {
    values.fold((0.0, 0.0), |(sum, all), (class, value)| {
        let weight = weight(*class);
        (sum + weight * value, all + weight)
    })
}

/// Most rounds.
const ROUNDS: usize = 5;

/// Which labels are kept from fitting, round by round, ascending in each.
///
/// A class of `m` labels gives a fifth of them, at least two (one alone has no known answer),
/// in turn, in up to five rounds, and never the same ones twice: what repeats would be counted
/// as new. Classes of fewer than three labels give none, since what is fitted needs one.
pub fn rounds(labels: &Labels, seed: u64) -> Vec<Vec<usize>> {
    let mut rng = crate::seed::stream(seed, "labels kept from fitting");
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    for members in labels.by_class() {
        for (round, kept) in turns(&members, &mut rng).into_iter().enumerate() {
            if rounds.len() <= round {
                rounds.push(Vec::new());
            }
            rounds[round].extend(kept);
        }
    }
    for round in &mut rounds {
        round.sort_unstable();
    }
    rounds
}

/// Up to [`ROUNDS`] different sets of these members, each member in about as many as another.
fn turns(members: &[usize], rng: &mut crate::seed::Rng) -> Vec<Vec<usize>> {
    let size = members.len().div_ceil(5).max(2);
    let mut turns: Vec<Vec<usize>> = Vec::new();
    if members.len() < 3 {
        return turns;
    }
    let mut queue: Vec<usize> = Vec::new();
    // A few tries for each: of three labels there are three pairs only.
    for _ in 0..8 * ROUNDS {
        if turns.len() == ROUNDS {
            break;
        }
        if queue.len() < size {
            let left = |m: &&usize| !queue.contains(m);
            let mut others: Vec<usize> = members.iter().filter(left).copied().collect();
            others.shuffle(rng);
            queue.extend(others);
        }
        let mut set: Vec<usize> = queue.drain(..size).collect();
        set.sort_unstable();
        if !turns.contains(&set) {
            turns.push(set);
        }
    }
    turns
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Shares of small numbers are exact.
mod tests {
    use super::*;
    use crate::eval::ranking::{Measure, Protocol, evaluate};
    use ndarray::Array2;
    use rand::RngExt;

    fn noisy(n: usize, classes: usize, noise: f32, seed: u64) -> (Array2<f32>, Labels) {
        let mut rng = crate::seed::stream(seed, "few labels test");
        let x = Array2::from_shape_fn((n, classes + 2), |(i, j)| {
            f32::from(u8::from(i % classes == j)) + noise * rng.random_range(-1.0_f32..1.0)
        });
        (
            x,
            Labels::from_integers((0..n).map(|i| (i % classes) as i64)),
        )
    }

    #[test]
    fn with_every_item_kept_it_is_r_precision_itself() {
        let (x, labels) = noisy(60, 4, 0.9, 1);
        let all: Vec<usize> = (0..60).collect();
        let round = Round {
            embedding: &x.clone().into(),
            labels: &labels,
            kept: &all,
            sizes: &[15.0; 4],
        };
        let values = r_precision(&round, &Monitor::silent()).unwrap();
        let protocol = Protocol::within(x.view(), &labels, &all);
        let whole = evaluate(&protocol, &[1], &Monitor::silent()).unwrap();
        let truth = whole.values(Measure::RPrecision).unwrap();
        assert_eq!(values.len(), 60);
        for value in &values {
            assert!((value.r_precision - truth[value.query]).abs() < 1e-12);
        }
    }

    /// The mean over all items of one system minus another's, and how often the interval of
    /// `m` labels a class holds it, in `draws` draws.
    fn coverage(m: usize, classes: usize, draws: u64) -> (f64, f64, f64) {
        let n = 60 * classes;
        let (x, truth) = noisy(n, classes, 1.1, 2);
        // The other system sees some columns less well.
        let mut y = x.clone();
        y.column_mut(0).mapv_inplace(|v| 0.3 * v);
        let all: Vec<usize> = (0..n).collect();
        let whole = |x: &Array2<f32>| {
            let protocol = Protocol::within(x.view(), &truth, &all);
            let ranking = evaluate(&protocol, &[1], &Monitor::silent()).unwrap();
            ranking.mean(Measure::RPrecision).unwrap()
        };
        let wanted = whole(&x) - whole(&y);
        let (mut inside, mut sum) = (0, 0.0);
        for draw in 0..draws {
            let labels = truth.draw(m, draw);
            let values = |x: &Array2<f32>, kept: &[usize]| {
                let round = Round {
                    embedding: &x.clone().into(),
                    labels: &labels,
                    kept,
                    sizes: &vec![60.0; classes],
                };
                r_precision(&round, &Monitor::silent()).unwrap()
            };
            let differences: Vec<Vec<(u32, f64)>> = rounds(&labels, draw)
                .iter()
                .map(|kept| {
                    let pairs = values(&x, kept).into_iter().zip(values(&y, kept));
                    pairs
                        .map(|(a, b)| (a.class, a.r_precision - b.r_precision))
                        .collect()
                })
                .collect();
            let estimate = estimate(&differences, &vec![60.0; classes])
                .unwrap()
                .unwrap();
            sum += estimate.value;
            inside += usize::from(estimate.low <= wanted && wanted <= estimate.high);
        }
        (wanted, sum / draws as f64, inside as f64 / draws as f64)
    }

    #[test]
    fn a_few_kept_labels_find_the_truth_on_average_and_know_how_sure_they_are() {
        for (m, classes) in [(3, 4), (4, 2), (4, 4), (5, 4), (6, 4), (8, 4)] {
            let (wanted, mean, inside) = coverage(m, classes, 120);
            assert!((mean - wanted).abs() < 0.03, "{m}: {mean} {wanted}");
            assert!(inside >= 0.88, "{m} labels, {classes} classes: {inside}");
        }
    }

    #[test]
    fn no_round_repeats_another() {
        for m in 3..=20 {
            let labels = Labels::from_integers((0..2 * m).map(|i| (i % 2) as i64));
            let rounds = rounds(&labels, m as u64);
            assert_eq!(rounds.len(), if m == 3 { 3 } else { 5 }, "{m}");
            for class in 0..2 {
                let sets = rounds.iter().map(|round| {
                    let own = round.iter().filter(|i| **i % 2 == class);
                    own.copied().collect::<Vec<usize>>()
                });
                let mut sets: Vec<Vec<usize>> = sets.collect();
                sets.sort();
                sets.dedup();
                assert_eq!(sets.len(), rounds.len(), "{m}");
                let mut all = sets.concat();
                all.sort_unstable();
                all.dedup();
                assert_eq!(all.len(), m, "each was kept once");
            }
        }
    }

    #[test]
    fn labels_are_kept_in_turn_and_some_are_always_left() {
        let labels = Labels::from_integers([0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, -1]);
        let rounds = rounds(&labels, 3);
        assert_eq!(rounds.len(), 5);
        let mut kept: Vec<usize> = rounds.concat();
        kept.sort_unstable();
        kept.dedup();
        assert_eq!(
            kept,
            [0, 1, 2, 3, 4, 5, 6, 7],
            "classes of one or two keep theirs"
        );
        for round in &rounds {
            for members in labels.by_class() {
                let out = members.iter().filter(|i| round.contains(i)).count();
                assert!(out < members.len() && out != 1);
            }
        }
        assert!(super::rounds(&Labels::from_integers([0, 0, 1, 1]), 0).is_empty());
    }

    #[test]
    fn intervals_by_hand() {
        let estimate = |rounds: &[Vec<(u32, f64)>]| estimate(rounds, &[5.0, 5.0]).unwrap();
        assert_eq!(estimate(&[]), None);
        let one = estimate(&[vec![(0, 0.5), (0, 0.5)]]).unwrap();
        assert_eq!((one.value, one.low), (0.5, f64::NEG_INFINITY));
        // Four groups of one value each: 0, 1, 0, 1; t(3) = 3.182.
        let rounds = [vec![(0, 0.0), (1, 1.0)], vec![(0, 0.0), (1, 1.0)]];
        let four = estimate(&rounds).unwrap();
        let half = 3.182_446_305 * (1.0_f64 / 12.0).sqrt();
        assert!((four.value - 0.5).abs() < 1e-12 && (four.high - 0.5 - half).abs() < 1e-6);
        let same = estimate(&[vec![(0, 0.0), (1, 0.0)]]).unwrap();
        assert_eq!((same.low, same.high), (0.0, 0.0));
    }

    #[test]
    fn a_class_counts_by_its_items_and_not_by_its_labels() {
        // Three of four items are of class 0, which gave one of three labels.
        let rounds = [vec![(0, 1.0), (1, 0.0), (1, 0.5)]];
        let found = estimate(&rounds, &[30.0, 10.0]).unwrap().unwrap();
        assert!((found.value - (0.75 + 0.25 * 0.25)).abs() < 1e-12);
        assert!(found.high - found.low > 1.0, "1.6 observations say little");
        assert!(estimate(&rounds, &[30.0]).is_err());
        assert!(estimate(&rounds, &[30.0, 0.0]).is_err());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (x, labels) = noisy(8, 2, 0.1, 1);
        let ask = |kept: &[usize], sizes: &[f64]| {
            let round = Round {
                embedding: &x.clone().into(),
                labels: &labels,
                kept,
                sizes,
            };
            r_precision(&round, &Monitor::silent())
        };
        assert!(ask(&[0, 1], &[4.0]).is_err());
        assert!(ask(&[0, 99], &[4.0, 4.0]).is_err());
        assert!(
            ask(&[0, 1], &[4.0, 4.0]).unwrap().is_empty(),
            "no two of a class"
        );
    }
}
