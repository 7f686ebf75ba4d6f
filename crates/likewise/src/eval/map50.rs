//! Mean average precision of the first `r` answers: how searches across modalities, and by codes,
//! are compared.
//!
//! ```text
//! AP@r = sum_{i <= r} P(i) rel(i) / sum_{i <= r} rel(i),   P(i) = (1/i) sum_{j <= i} rel(j)
//! ```
//!
//! and 0 where none of the first `r` is relevant. MAP@r is the mean over all queries, those of 0
//! included. The divisor is the number of relevant items *among the first `r`*, as the papers on
//! this count: a query with one right answer, on the first place, has AP@50 = 1, however many
//! others were missed. So it rewards precision and says little of how many were found;
//! [`ranking`](super::ranking) has the mean average precision of all places.
//!
//! Equally near items are the rule among codes. [`Ties::Stable`] ranks them by their position in
//! the database; where this is stored class by class, that is a bias towards the first classes.
//! [`Ties::Expected`] is the exact mean over all orders among equals.
//!
//! Cost: all distances of a query, O(n), and the best `r` of them; memory O(n) a thread.
//!
//! Source: Mandal, Rao and Biswas, "Label prediction framework for semi-supervised cross-modal
//! retrieval", where the divisor is as here. The expectation over ties is ours.

use ndarray::{ArrayView2, Axis};
use serde::{Deserialize, Serialize};

use crate::code::{Codes, Kernel};
use crate::distance::Metric;
use crate::matrix::{check_finite, product};
use crate::{Error, Monitor, Result, parallel};

/// Queries that are compared with all items at a time.
const QUERIES: usize = 16;
/// Cosines closer than one over this are ties.
const COSINES: f64 = (1 << 24) as f64;

/// How items at the same distance are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ties {
    /// By their position in the database, as published code does.
    #[default]
    Stable,
    /// In every order, with equal odds: the mean.
    Expected,
}

/// Parameters of mean average precision; see [`map50`](self).
///
/// ```
/// use likewise::{Monitor, code::Codes, eval::map50::Map50};
/// let database = Codes::from_words(4, vec![0b0000, 0b0001, 0b1111])?;
/// let queries = Codes::from_words(4, vec![0b0000])?;
/// // The second answer is wrong: (1/1 + 2/3) / 2.
/// let right = |_: usize, item: usize| item != 1;
/// let found = Map50::new().codes(&queries, &database, &right, &Monitor::silent())?;
/// assert!((found.mean - 5.0 / 6.0).abs() < 1e-12);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Map50 {
    r: usize,
    ties: Ties,
    skip_empty: bool,
}

/// Mean average precision, and what it is the mean of.
#[derive(Debug, Clone, PartialEq)]
pub struct Precision {
    /// The mean, from 0 to 1.
    pub mean: f64,
    /// The average precision of each query.
    pub per_query: Vec<f64>,
    /// Queries that nothing in the database is relevant to.
    pub empty: usize,
}

/// Says whether an item (the second number) is relevant to a query (the first one).
pub type Relevance<'a> = dyn Fn(usize, usize) -> bool + Sync + 'a;

impl Default for Map50 {
    fn default() -> Self {
        Self {
            r: 50,
            ties: Ties::default(),
            skip_empty: false,
        }
    }
}

impl Map50 {
    /// The first 50 answers, ties by position, all queries.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many answers count; all of them where the database has no more.
    #[must_use]
    pub fn r(mut self, r: usize) -> Self {
        self.r = r;
        self
    }

    /// How items at the same distance are ranked.
    #[must_use]
    pub fn ties(mut self, ties: Ties) -> Self {
        self.ties = ties;
        self
    }

    /// Whether queries that nothing in the database is relevant to are left out of the mean; they
    /// count 0 otherwise.
    #[must_use]
    pub fn skip_empty(mut self, skip_empty: bool) -> Self {
        self.skip_empty = skip_empty;
        self
    }

    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        if self.r == 0 {
            return Err(Error::parameter("map50.r", 0, "must be at least 1"));
        }
        Ok(())
    }

    /// Of a search by Hamming distance.
    ///
    /// Fails on r = 0, on codes of different lengths, without queries or database, and when
    /// cancelled.
    pub fn codes(
        &self,
        queries: &Codes,
        database: &Codes,
        relevant: &Relevance,
        monitor: &Monitor,
    ) -> Result<Precision> {
        if queries.bits() != database.bits() {
            return Err(Error::data(format!(
                "the queries have {} bits, the database {}; encode both with one model",
                queries.bits(),
                database.bits()
            )));
        }
        let kernel = Kernel::detect();
        self.measure(
            queries.n(),
            database.n(),
            relevant,
            monitor,
            |queries_of, out| {
                for (q, out) in queries_of.zip(out.chunks_exact_mut(database.n())) {
                    kernel.distances(queries.row(q), database.words(), out);
                }
            },
        )
    }

    /// Of a search by similarity of rows (`n x d`), which are compared in `f64`; similarities that
    /// are the same in `f32`, and cosines closer than 2^-24, are ties. A row of zeros has cosine
    /// 0 with all.
    ///
    /// Fails on r = 0, on NaN, on rows of different dimensions, without queries or database, and
    /// when cancelled.
    pub fn rows(
        &self,
        queries: ArrayView2<f32>,
        database: ArrayView2<f32>,
        metric: Metric,
        relevant: &Relevance,
        monitor: &Monitor,
    ) -> Result<Precision> {
        check_finite(queries, "queries")?;
        check_finite(database, "database")?;
        if queries.ncols() != database.ncols() {
            return Err(Error::data(format!(
                "the queries have {} dimensions, the database {}; embed both with one model",
                queries.ncols(),
                database.ncols()
            )));
        }
        let read = |x: ArrayView2<f32>| {
            let mut x = x.mapv(f64::from);
            if metric == Metric::Cosine {
                for mut row in x.rows_mut() {
                    let length = row.dot(&row).sqrt();
                    row /= if length > 0.0 { length } else { 1.0 };
                }
            }
            x
        };
        let (queries, database) = (read(queries), read(database));
        let bias: Vec<f64> = match metric {
            Metric::Euclidean => database
                .rows()
                .into_iter()
                .map(|r| r.dot(&r) / 2.0)
                .collect(),
            Metric::Cosine | Metric::InnerProduct => vec![0.0; database.nrows()],
        };
        // Right angles have a cosine of 0 but for rounding, and must tie.
        let read_as = |v: f64| match metric {
            Metric::Cosine => (v * COSINES).round() as f32,
            Metric::Euclidean | Metric::InnerProduct => v as f32,
        };
        let (n, m) = (queries.nrows(), database.nrows());
        self.measure(n, m, relevant, monitor, |queries_of, out| {
            let block = queries.slice_axis(Axis(0), queries_of.into()).to_owned();
            let products = product(&block, &database);
            for (out, products) in out.chunks_exact_mut(m).zip(products.axis_iter(Axis(0))) {
                for ((out, product), bias) in out.iter_mut().zip(products).zip(&bias) {
                    *out = descending(read_as(product - bias));
                }
            }
        })
    }

    /// Of distances that `fill` writes for a range of queries, item by item.
    fn measure(
        &self,
        n: usize,
        m: usize,
        relevant: &Relevance,
        monitor: &Monitor,
        fill: impl Fn(std::ops::Range<usize>, &mut [u32]) + Sync,
    ) -> Result<Precision> {
        self.validate()?;
        if n == 0 || m == 0 {
            return Err(Error::data(format!(
                "mean average precision of {n} queries in a database of {m}; it needs some of both"
            )));
        }
        let found = parallel::try_map((0..n).step_by(QUERIES), |from| {
            monitor.check()?;
            let to = (from + QUERIES).min(n);
            let mut distances = vec![0; (to - from) * m];
            fill(from..to, &mut distances);
            let each = (from..to).zip(distances.chunks_exact(m));
            let each = each.map(|(q, d)| self.of_query(d, |item| relevant(q, item)));
            Ok(each.collect::<Vec<(f64, bool)>>())
        })?;
        let found: Vec<(f64, bool)> = found.into_iter().flatten().collect();
        let empty = found.iter().filter(|f| f.1).count();
        let counted = if self.skip_empty { n - empty } else { n };
        let sum: f64 = found.iter().map(|f| f.0).sum();
        Ok(Precision {
            mean: sum / counted.max(1) as f64,
            per_query: found.into_iter().map(|f| f.0).collect(),
            empty,
        })
    }

    /// Average precision of one query, and whether nothing at all is relevant to it.
    fn of_query(&self, distances: &[u32], relevant: impl Fn(usize) -> bool) -> (f64, bool) {
        let r = self.r.min(distances.len());
        let mut keys: Vec<u64> = (distances.iter().enumerate())
            .map(|(i, &d)| u64::from(d) << 32 | i as u64)
            .collect();
        let item = |key: u64| key as u32 as usize;
        let (_, &mut last, rest) = keys.select_nth_unstable(r - 1);
        let tied: Vec<u64> = (rest.iter().copied())
            .filter(|key| key >> 32 == last >> 32)
            .collect();
        keys.truncate(r);
        keys.sort_unstable();
        let precision = match self.ties {
            Ties::Stable => {
                let flags: Vec<bool> = keys.iter().map(|&key| relevant(item(key))).collect();
                average_precision(&flags)
            }
            Ties::Expected => {
                keys.extend(tied);
                let groups = keys.chunk_by(|a, b| a >> 32 == b >> 32);
                let counts: Vec<(usize, usize)> = groups
                    .map(|group| {
                        let hits = group.iter().filter(|&&key| relevant(item(key))).count();
                        (group.len(), hits)
                    })
                    .collect();
                expected(&counts, r)
            }
        };
        let empty = precision <= 0.0 && !(0..distances.len()).any(relevant);
        (precision, empty)
    }
}

/// Average precision of a list that says of each place whether it is right: the mean, over the
/// places that are, of the share of right ones up to there. 0 where none is.
///
/// ```
/// use likewise::eval::map50::average_precision;
/// assert!((average_precision(&[true, false, true]) - 5.0 / 6.0).abs() < 1e-12);
/// assert!(average_precision(&[false]) < 1e-12);
/// ```
pub fn average_precision(relevant: &[bool]) -> f64 {
    let (mut hits, mut sum) = (0.0, 0.0);
    for (place, _) in relevant.iter().enumerate().filter(|(_, right)| **right) {
        hits += 1.0;
        sum += hits / (place + 1) as f64;
    }
    if hits > 0.0 { sum / hits } else { 0.0 }
}

/// The mean of [`average_precision`] of the first `r` over all orders within groups of equally
/// near items, given by their number and the number of relevant ones, nearest first.
fn expected(groups: &[(usize, usize)], r: usize) -> f64 {
    // Places before this group, relevant items on them, and the sum of the precisions there.
    let (mut before, mut hits, mut sum) = (0, 0, 0.0);
    for &(n, relevant) in groups {
        let room = r - before;
        if n > room {
            let odds = (0..=relevant.min(room)).map(|k| {
                let odds = hypergeometric(n, relevant, room, k);
                match hits + k {
                    0 => 0.0,
                    all => odds * (sum + precisions(before, hits, room, k)) / all as f64,
                }
            });
            return odds.sum();
        }
        sum += precisions(before, hits, n, relevant);
        before += n;
        hits += relevant;
    }
    if hits > 0 { sum / hits as f64 } else { 0.0 }
}

/// What `n` places with `relevant` hits in any order add to the sum of precisions, behind
/// `before` places with `hits`.
fn precisions(before: usize, hits: usize, n: usize, relevant: usize) -> f64 {
    if relevant == 0 {
        return 0.0;
    }
    let share = relevant as f64 / n as f64;
    // Given a hit on a place, each place before it has this chance of another.
    let others = match n {
        1 => 0.0,
        _ => (relevant - 1) as f64 / (n - 1) as f64,
    };
    let term = |i: usize| {
        let up_to_here = (hits + 1) as f64 + i as f64 * others;
        share * up_to_here / (before + i + 1) as f64
    };
    (0..n).map(term).sum()
}

/// The odds that `k` of `drawn` items are relevant, where `relevant` of `n` are.
fn hypergeometric(n: usize, relevant: usize, drawn: usize, k: usize) -> f64 {
    if drawn - k > n - relevant {
        return 0.0;
    }
    (log_choose(relevant, k) + log_choose(n - relevant, drawn - k) - log_choose(n, drawn)).exp()
}

fn log_choose(n: usize, k: usize) -> f64 {
    use statrs::function::gamma::ln_gamma;
    ln_gamma((n + 1) as f64) - ln_gamma((k + 1) as f64) - ln_gamma((n - k + 1) as f64)
}

/// A number that is smaller for a larger similarity.
fn descending(similarity: f32) -> u32 {
    // Adding 0 turns -0 into 0, which is the same similarity.
    let bits = (similarity + 0.0).to_bits();
    if bits >> 31 == 0 {
        !(bits | 1 << 31)
    } else {
        bits
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use proptest::prelude::*;
    use rand::RngExt;

    use super::*;
    use crate::reference::in_one_and_two_threads;
    use crate::seed;

    const DATABASE: [u64; 7] = [0x80, 0x0f, 0xc0, 0x02, 0x07, 0x1f, 0x00];
    const LABELS: [u32; 7] = [0, 1, 1, 0, 1, 0, 1];

    #[test]
    fn published_values_of_one_list() {
        let flags: Vec<bool> = (1..=60).map(|p| [1, 3, 4, 46, 55].contains(&p)).collect();
        assert!((average_precision(&flags[..50]) - 0.625_905_797_101_449_2).abs() < 1e-12);
        assert!((average_precision(&flags) - 0.518_906_455_862_977_6).abs() < 1e-12);
    }

    #[test]
    fn published_values_of_codes() {
        let database = Codes::from_words(8, DATABASE.to_vec()).unwrap();
        let queries = Codes::from_words(8, vec![0x00, 0x0f, 0x80]).unwrap();
        let right = |q: usize, i: usize| LABELS[i] as usize == q;
        let run = |r, ties| {
            let map = Map50::new().r(r).ties(ties);
            map.codes(&queries, &database, &right, &Monitor::silent())
                .unwrap()
        };
        for (r, stable, mean, expected) in [
            (3, [7.0 / 12.0, 1.0, 0.0], 0.527_777_777_777_777_8, 0.5),
            (
                5,
                [7.0 / 12.0, 13.0 / 15.0, 0.0],
                0.483_333_333_333_333_34,
                0.464_814_814_814_814_8,
            ),
            (
                7,
                [0.531_746_031_746_031_7, 0.792_857_142_857_142_9, 0.0],
                0.441_534_391_534_391_6,
                0.427_645_502_645_502_6,
            ),
        ] {
            let found = run(r, Ties::Stable);
            assert!(
                found
                    .per_query
                    .iter()
                    .zip(stable)
                    .all(|(a, b)| (a - b).abs() < 1e-12)
            );
            assert!((found.mean - mean).abs() < 1e-12);
            assert!((run(r, Ties::Expected).mean - expected).abs() < 1e-12);
            assert_eq!(found.empty, 1);
        }
        let skipped = Map50::new().r(3).skip_empty(true);
        let skipped = skipped
            .codes(&queries, &database, &right, &Monitor::silent())
            .unwrap();
        assert!((skipped.mean - 1.5 * 0.527_777_777_777_777_8).abs() < 1e-12);
    }

    /// The mean over all orders in which equally near items can stand.
    fn over_all_orders(distances: &[u32], flags: &[bool], r: usize) -> f64 {
        fn orders(rest: &[usize], done: &mut Vec<usize>, all: &mut Vec<Vec<usize>>, d: &[u32]) {
            if rest.is_empty() {
                all.push(done.clone());
                return;
            }
            let least = rest.iter().map(|&i| d[i]).min();
            for &i in rest.iter().filter(|&&i| Some(d[i]) == least) {
                done.push(i);
                let rest: Vec<usize> = rest.iter().copied().filter(|&j| j != i).collect();
                orders(&rest, done, all, d);
                done.pop();
            }
        }
        let mut all = Vec::new();
        let items: Vec<usize> = (0..distances.len()).collect();
        orders(&items, &mut Vec::new(), &mut all, distances);
        let one = |order: &Vec<usize>| {
            let flags: Vec<bool> = order.iter().map(|&i| flags[i]).take(r).collect();
            average_precision(&flags)
        };
        all.iter().map(one).sum::<f64>() / all.len() as f64
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn the_expectation_is_the_mean_over_all_orders(
            items in prop::collection::vec((0_u32..3, any::<bool>()), 1..8), r in 1_usize..10,
        ) {
            let (distances, flags): (Vec<u32>, Vec<bool>) = items.into_iter().unzip();
            let map = Map50::new().r(r).ties(Ties::Expected);
            let (found, _) = map.of_query(&distances, |i| flags[i]);
            prop_assert!((found - over_all_orders(&distances, &flags, r)).abs() < 1e-12);
        }

        #[test]
        fn the_order_of_the_database_does_not_change_the_expectation(
            n in 2_usize..60, r in 1_usize..70, seed in 0_u64..99,
        ) {
            let mut rng = seed::stream(seed, "test");
            let distances: Vec<u32> = (0..n).map(|_| rng.random_range(0..5)).collect();
            let flags: Vec<bool> = (0..n).map(|_| rng.random_range(0..3) == 0).collect();
            let map = Map50::new().r(r).ties(Ties::Expected);
            let (one, empty) = map.of_query(&distances, |i| flags[i]);
            let turned: Vec<u32> = distances.iter().rev().copied().collect();
            let (two, _) = map.of_query(&turned, |i| flags[n - 1 - i]);
            prop_assert!((one - two).abs() < 1e-12);
            prop_assert_eq!(empty, !flags.contains(&true));
        }

        #[test]
        fn rows_are_ranked_as_they_would_be_sorted(
            n in 1_usize..40, d in 1_usize..5, r in 1_usize..50, seed in 0_u64..99,
        ) {
            let mut rng = seed::stream(seed, "test");
            let x = Array2::from_shape_fn((n + 3, d), |_| f32::from(rng.random_range(-2..3_i8)));
            let (queries, database) = x.view().split_at(Axis(0), 3);
            for metric in [Metric::Cosine, Metric::Euclidean, Metric::InnerProduct] {
                let right = |q: usize, i: usize| (q * 7 + i * i).is_multiple_of(3);
                let map = Map50::new().r(r);
                let found = map.rows(queries, database, metric, &right, &Monitor::silent()).unwrap();
                for q in 0..3 {
                    let score = |i: usize| {
                        let (a, b) = (queries.row(q).mapv(f64::from), database.row(i).mapv(f64::from));
                        match metric {
                            Metric::Cosine => a.dot(&b) / (b.dot(&b) * a.dot(&a)).sqrt().max(1e-9),
                            Metric::Euclidean => -(&a - &b).mapv(|v| v * v).sum(),
                            Metric::InnerProduct => a.dot(&b),
                        }
                    };
                    let mut order: Vec<usize> = (0..n).collect();
                    order.sort_by(|&a, &b| {
                        let (a, b) = (score(a), score(b));
                        if (a - b).abs() < 1e-9 { std::cmp::Ordering::Equal } else { b.total_cmp(&a) }
                    });
                    let flags: Vec<bool> = order.iter().take(r).map(|&i| right(q, i)).collect();
                    prop_assert!((found.per_query[q] - average_precision(&flags)).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn large_groups_of_ties_have_odds_that_sum_to_one() {
        let sum: f64 = (0..=50)
            .map(|k| hypergeometric(100_000, 30_000, 50, k))
            .sum();
        assert!((sum - 1.0).abs() < 1e-9);
        // All codes alike: about the share of relevant items.
        let map = Map50::new().ties(Ties::Expected);
        let (found, _) = map.of_query(&vec![3; 10_000], |i| i.is_multiple_of(4));
        assert!((0.25..0.35).contains(&found), "{found}");
        let (all, _) = map.of_query(&[1, 1, 1], |_| true);
        assert!((all - 1.0).abs() < 1e-12);
    }

    #[test]
    fn similarities_are_in_order() {
        let values = [f32::MAX, 1.0, 1e-30, 0.0, -1e-30, -1.0, f32::MIN];
        assert!(
            values
                .windows(2)
                .all(|w| descending(w[0]) < descending(w[1]))
        );
        assert_eq!(descending(0.0), descending(-0.0));
    }

    #[test]
    fn same_on_any_number_of_threads_and_misfits_are_refused() {
        let mut rng = seed::stream(1, "test");
        let x = Array2::from_shape_fn((200, 16), |_| rng.random_range(-1.0..1.0_f32));
        let right = |q: usize, i: usize| q % 7 == i % 7;
        let map = Map50::new();
        let run = || {
            map.rows(
                x.view(),
                x.view(),
                Metric::Cosine,
                &right,
                &Monitor::silent(),
            )
        };
        let (one, two) = in_one_and_two_threads(|| run().unwrap());
        assert_eq!(one, two);
        let silent = Monitor::silent();
        let rows = |q: &Array2<f32>, map: Map50| {
            map.rows(q.view(), x.view(), Metric::Euclidean, &right, &silent)
                .is_ok()
        };
        assert!(!rows(&array![[1.0]], map) && !rows(&Array2::zeros((0, 16)), map));
        assert!(!rows(&Array2::from_elem((1, 16), f32::NAN), map));
        assert!(!rows(&x, map.r(0)));
        let codes = |words: Vec<u64>, bits| Codes::from_words(bits, words).unwrap();
        assert!(
            map.codes(&codes(vec![1], 3), &codes(vec![1], 4), &right, &silent)
                .is_err()
        );
        assert!(
            map.codes(&codes(vec![1], 3), &codes(vec![], 3), &right, &silent)
                .is_err()
        );
    }
}
