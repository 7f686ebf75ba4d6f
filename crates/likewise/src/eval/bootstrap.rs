//! How sure a number is: bootstrap intervals over queries, t intervals over label draws.
//!
//! The bootstrap draws the queries again with replacement and takes percentiles of the
//! metric (Efron & Tibshirani 1993, ch. 13), or the interval of [`proportion`] for as many
//! answers where that reaches further: answers that are all right do not vary, which is no proof that
//! the next one is. It answers "how would the number change with
//! other queries like these, for this gallery, these classes and this model". Of a gallery that
//! is a small sample itself, queries of one class find the same items, so that the number moves more than
//! that with another sample: on samples of 40 to 300 digits 64 to 94 of 100 intervals held the mean over
//! all samples, while differences of two systems, which share the luck, were held in 18 and 19 of 20.
//! It says nothing about other label draws or training seeds: for those, repeat the run and use
//! [`t_interval`]. NMI, which copies of items raise, has the interval of the jackknife
//! instead. To compare two systems use [`Bootstrap::paired`], which is far sharper
//! than looking at whether two intervals overlap.

use rand::RngExt;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

pub use super::estimate::Estimate;
use super::nmi::{Nmi, from_entropies};
use super::proportion;
use super::ranking::{Measure, Ranking};
use crate::{Error, Result, parallel, seed};

/// Percentile bootstrap.
///
/// ```
/// use likewise::eval::{bootstrap::Bootstrap, ranking::{evaluate, Measure, Protocol}};
/// use likewise::{Labels, Monitor};
/// let x = ndarray::array![[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9], [0.8, 0.7]];
/// let labels = Labels::parse(["a", "a", "b", "b", "b"]);
/// let items = [0, 1, 2, 3, 4];
/// let ranking = evaluate(&Protocol::within(x.view(), &labels, &items), &[1], &Monitor::silent())?;
/// let (measure, recall) = Bootstrap::new().seed(1).ranking(&ranking)?[0];
/// assert_eq!(measure, Measure::Recall(1));
/// assert!(recall.low <= recall.value && recall.value <= recall.high);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bootstrap {
    resamples: usize,
    confidence: f64,
    seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            resamples: 1000,
            confidence: 0.95,
            seed: 0,
        }
    }
}

impl Bootstrap {
    /// 1000 resamples, 95 % intervals, seed 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of resamples.
    #[must_use]
    pub fn resamples(mut self, resamples: usize) -> Self {
        self.resamples = resamples;
        self
    }

    /// Share of the resamples inside the interval, between 0 and 1.
    #[must_use]
    pub fn confidence(mut self, confidence: f64) -> Self {
        self.confidence = confidence;
        self
    }

    /// Seed of the resamples.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Every measure of `ranking` with its interval. Measures that no query counts for
    /// are left out.
    ///
    /// O(resamples x queries x measures).
    pub fn ranking(&self, ranking: &Ranking) -> Result<Vec<(Measure, Estimate)>> {
        self.check()?;
        let measures: Vec<Measure> = ranking.measures().collect();
        let values = |m: Measure, q: usize| ranking.values(m).map_or(0.0, |v| v[q]);
        let least = |value: f64, square: f64, n: usize, z: f64| {
            proportion::wilson_of(value, square - value * value, n, z)
        };
        Ok(self.means(ranking, &measures, values, least))
    }

    /// The difference `a - b` of every measure that both have, query by query.
    ///
    /// An interval that does not contain 0 means that the difference is more than luck
    /// with the queries. Two whose answers are equal throughout, and not all right or wrong, are one
    /// system, which does not differ from itself. Fails unless both have the same queries with the same number of
    /// relevant items.
    pub fn paired(&self, a: &Ranking, b: &Ranking) -> Result<Vec<(Measure, Estimate)>> {
        self.check()?;
        if a.queries != b.queries || a.relevant != b.relevant {
            return Err(Error::data(
                "the two systems were not asked the same queries over the same gallery; \
                 evaluate both with one protocol",
            ));
        }
        let measures: Vec<Measure> = a.measures().filter(|&m| b.values(m).is_some()).collect();
        let values = |m: Measure, q: usize| {
            let value = |r: &Ranking| r.values(m).map_or(0.0, |v| v[q]);
            value(a) - value(b)
        };
        let both = || {
            measures
                .iter()
                .filter_map(|&m| a.values(m).zip(b.values(m)))
        };
        let is_graded = |value: &f64| *value > 0.0 && *value < 1.0;
        // Means over several draws of what is equal are rounded.
        let is_equal =
            |(a, b): (&[f64], &[f64])| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        let same = both().all(is_equal) && both().any(|(a, _)| a.iter().any(is_graded));
        let least = |value: f64, square: f64, n: usize, z: f64| {
            (!same)
                .then(|| proportion::paired_of(value, square, n, z))
                .flatten()
        };
        Ok(self.means(a, &measures, values, least))
    }

    /// NMI with the interval of the jackknife; the clustering itself is kept.
    ///
    /// Each item is left out once. The spread of the values makes the standard error, and the
    /// interval is that of a normal distribution around the value, cut to 0 and 1. So it always
    /// holds the value. Items drawn again with replacement would not do: two copies of an item
    /// agree with each other, which raises NMI above its value. On simulated classes the error
    /// is that of a new sample of items or up to 1.4 times as large (few items a class), never
    /// smaller on average (Efron & Stein 1981); what another run of k-means would change is not
    /// in it.
    ///
    /// Takes neither resamples nor seed. O(items x log(items)).
    pub fn nmi(&self, nmi: &Nmi) -> Result<Estimate> {
        let half = self.half(jackknife_error(nmi)?)?;
        Ok(Estimate {
            value: nmi.value,
            low: (nmi.value - half).max(0.0),
            high: (nmi.value + half).min(1.0),
        })
    }

    /// The difference `a - b` of NMI with the interval of the same jackknife, paired by item: where an item is
    /// left out, it is left out of both.
    ///
    /// Fails unless both are of the same items.
    pub fn nmi_difference(&self, a: &Nmi, b: &Nmi) -> Result<Estimate> {
        if a.classes != b.classes {
            return Err(Error::data(
                "the two systems did not cluster the same items; evaluate both with one protocol",
            ));
        }
        let (of_a, of_b) = (Without::each(a)?, Without::each(b)?);
        let n = a.classes.len();
        let apart = |i: usize| (of_a.item(a, i) - of_b.item(b, i), 1.0);
        let half = self.half(error_of(n, (0..n).map(apart)))?;
        let value = a.value - b.value;
        Ok(Estimate {
            value,
            low: value - half,
            high: value + half,
        })
    }

    /// Half of the interval of a normal distribution with this standard error.
    fn half(&self, error: f64) -> Result<f64> {
        self.check()?;
        Ok(self.quantile() * error)
    }

    /// The quantile of the normal distribution that ends the interval.
    fn quantile(&self) -> f64 {
        Normal::standard().inverse_cdf(f64::midpoint(1.0, self.confidence))
    }

    fn check(&self) -> Result<()> {
        if self.resamples == 0 {
            return Err(Error::parameter("resamples", 0, "must be at least 1"));
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            let rule = "must lie between 0 and 1";
            return Err(Error::parameter("confidence", self.confidence, rule));
        }
        Ok(())
    }

    /// Runs `statistic` on one stream a resample, so the thread count changes nothing.
    fn resample<T: Send>(&self, statistic: impl Fn(&mut seed::Rng) -> T + Sync) -> Vec<T> {
        parallel::map_rows(self.resamples, |r| {
            statistic(&mut seed::stream(self.seed, &format!("bootstrap {r}")))
        })
    }

    fn means(
        &self,
        ranking: &Ranking,
        measures: &[Measure],
        value: impl Fn(Measure, usize) -> f64,
        least: impl Fn(f64, f64, usize, f64) -> Option<Estimate>,
    ) -> Vec<(Measure, Estimate)> {
        let n = ranking.queries.len();
        let m = measures.len();
        // One row a query: a draw then touches one place in memory.
        let table: Vec<f64> = (0..n)
            .flat_map(|q| {
                measures
                    .iter()
                    .map(|&measure| value(measure, q))
                    .collect::<Vec<_>>()
            })
            .collect();
        let mean = |rows: &mut dyn Iterator<Item = usize>| -> Vec<f64> {
            let (mut sums, mut lone, mut all) = (vec![0.0; m], 0_usize, 0_usize);
            for q in rows {
                // Lone queries hold 0 where they do not count.
                let row = &table[q * m..(q + 1) * m];
                sums.iter_mut().zip(row).for_each(|(s, v)| *s += v);
                lone += usize::from(ranking.relevant[q] == 0);
                all += 1;
            }
            for (sum, measure) in sums.iter_mut().zip(measures) {
                let count = if measure.skips_lone() {
                    all - lone
                } else {
                    all
                };
                *sum /= count as f64;
            }
            sums
        };
        let values = mean(&mut (0..n));
        let z = self.quantile();
        let drawn = self.resample(|rng| mean(&mut (0..n).map(|_| rng.random_range(0..n))));
        measures
            .iter()
            .enumerate()
            .filter(|(i, _)| values[*i].is_finite())
            .map(|(i, &measure)| {
                let column = drawn.iter().map(|row| row[i]).collect();
                let estimate = self.percentiles(values[i], column);
                let counts = |q: &usize| !(measure.skips_lone() && ranking.relevant[*q] == 0);
                let asked = (0..n).filter(counts).count();
                let squares: f64 = (0..n).map(|q| table[q * m + i].powi(2)).sum();
                let least = least(values[i], squares / asked as f64, asked, z);
                (measure, least.map_or(estimate, |least| estimate.or(least)))
            })
            .collect()
    }

    /// Percentiles with linear interpolation; resamples without a value do not count. The
    /// interval always holds the value, which few resamples may all lie on one side of.
    fn percentiles(&self, value: f64, mut drawn: Vec<f64>) -> Estimate {
        drawn.retain(|v| v.is_finite());
        drawn.sort_unstable_by(f64::total_cmp);
        let at = |p: f64| {
            let position = p * drawn.len().saturating_sub(1) as f64;
            let (low, high) = (position.floor() as usize, position.ceil() as usize);
            match (drawn.get(low), drawn.get(high)) {
                (Some(a), Some(b)) => a + (b - a) * position.fract(),
                _ => value,
            }
        };
        let tail = (1.0 - self.confidence) / 2.0;
        Estimate {
            value,
            low: at(tail).min(value),
            high: at(1.0 - tail).max(value),
        }
    }
}

/// Standard error of NMI by the jackknife.
fn jackknife_error(nmi: &Nmi) -> Result<f64> {
    let without = Without::each(nmi)?;
    let values = without.values.iter().copied();
    Ok(error_of(nmi.classes.len(), values))
}

/// `sqrt((n - 1) / n sum (v_i - mean v)^2)` over the values `v_i` without item i, each so many times.
fn error_of(n: usize, values: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    if n < 2 {
        return 0.0;
    }
    let mean = values.clone().map(|(v, c)| v * c).sum::<f64>() / n as f64;
    let squares: f64 = values.map(|(v, c)| c * (v - mean).powi(2)).sum();
    (squares * (n - 1) as f64 / n as f64).sqrt()
}

/// NMI without one item. All items of one (class, cluster) pair have the same value.
struct Without {
    /// The pairs that occur, in order.
    pairs: Vec<u64>,
    /// Of each, the value without one of its items, and how many these are.
    values: Vec<(f64, f64)>,
}

fn pair(nmi: &Nmi, i: usize) -> u64 {
    u64::from(nmi.classes[i]) << 32 | u64::from(nmi.clusters[i])
}

impl Without {
    fn item(&self, nmi: &Nmi, i: usize) -> f64 {
        let pair = pair(nmi, i);
        self.values[self.pairs.partition_point(|&p| p < pair)].0
    }

    fn each(nmi: &Nmi) -> Result<Self> {
        let n = nmi.classes.len();
        if n == 0 || nmi.clusters.len() != n {
            return Err(Error::data(
                "NMI: one class and one cluster an item are needed",
            ));
        }
        // Number of items of each part, and what leaving one of them out takes from sum c ln c.
        let count = |mut parts: Vec<u64>| -> (Vec<u64>, Vec<usize>) {
            parts.sort_unstable();
            let runs = parts.chunk_by(|a, b| a == b);
            runs.map(|run| (run[0], run.len())).unzip()
        };
        let c_ln_c = |c: usize| {
            if c > 1 {
                c as f64 * (c as f64).ln()
            } else {
                0.0
            }
        };
        let total = |counts: &[usize]| counts.iter().map(|&c| c_ln_c(c)).sum::<f64>();
        let (classes, by_class) = count(nmi.classes.iter().map(|&c| u64::from(c)).collect());
        let (clusters, by_cluster) = count(nmi.clusters.iter().map(|&c| u64::from(c)).collect());
        let (pairs, by_pair) = count((0..n).map(|i| pair(nmi, i)).collect());
        let totals = [&by_class, &by_cluster, &by_pair].map(|counts| total(counts));
        // One item alone leaves nothing, and has no error.
        let left = (n - 1).max(1) as f64;
        let without = |(pair, &together): (&u64, &usize)| {
            let class = by_class[classes.partition_point(|&c| c < pair >> 32)];
            let cluster = by_cluster[clusters.partition_point(|&c| c < pair & 0xffff_ffff)];
            let entropy = |of: usize, count: usize| {
                left.ln() - (totals[of] - c_ln_c(count) + c_ln_c(count - 1)) / left
            };
            let (h, g) = (entropy(0, class), entropy(1, cluster));
            (from_entropies(h, g, entropy(2, together)), together as f64)
        };
        let values = pairs.iter().zip(&by_pair).map(without).collect();
        Ok(Self { pairs, values })
    }
}

/// Mean of independent runs (label draws, training seeds) with its 95 % Student t
/// interval, `mean +- t(n - 1) s / sqrt(n)`.
///
/// `None` for fewer than two values or one that is not finite. Assumes that the runs are
/// independent and roughly normal; five to ten draws are usual.
///
/// ```
/// let e = likewise::eval::bootstrap::t_interval(&[0.5, 0.6, 0.7]).unwrap();
/// assert!((e.value - 0.6).abs() < 1e-12 && (e.high - 0.848_413_771_2).abs() < 1e-9);
/// assert!(likewise::eval::bootstrap::t_interval(&[0.5]).is_none());
/// ```
pub fn t_interval(values: &[f64]) -> Option<Estimate> {
    let n = values.len() as f64;
    if values.len() < 2 || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(0.975);
    let half = t * (variance / n).sqrt();
    Some(Estimate {
        value: mean,
        low: mean - half,
        high: mean + half,
    })
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;
    use crate::eval::ranking::{Protocol, evaluate};
    use crate::{Labels, Monitor};
    use ndarray::Array2;

    /// Rows around their class, `noise` apart; the last item is lone.
    fn ranking(noise: f32) -> Ranking {
        let mut rng = seed::stream(4, "bootstrap test");
        let x = Array2::from_shape_fn((121, 5), |(i, j)| {
            f32::from(u8::from(i % 5 == j)) + noise * rng.random_range(-1.0_f32..1.0)
        });
        let labels = Labels::from_integers((0..121).map(|i| if i == 120 { 9 } else { i % 5 }));
        let items: Vec<usize> = (0..121).collect();
        let protocol = Protocol::within(x.view(), &labels, &items);
        evaluate(&protocol, &[1, 5], &Monitor::silent()).unwrap()
    }

    #[test]
    fn intervals_of_a_share_are_about_binomial() {
        let ranking = ranking(1.2);
        let bootstrap = Bootstrap::new().resamples(4000);
        let estimates = bootstrap.ranking(&ranking).unwrap();
        assert_eq!(estimates.len(), ranking.measures().count());
        for (measure, estimate) in &estimates {
            assert_eq!(Some(estimate.value), ranking.mean(*measure));
            assert!(estimate.low < estimate.value && estimate.value < estimate.high);
        }
        let (_, recall) = estimates[0];
        let p = recall.value;
        let half = 1.96 * (p * (1.0 - p) / 121.0).sqrt();
        assert!((recall.high - recall.low - 2.0 * half).abs() < 0.2 * half);
    }

    #[test]
    fn lone_queries_do_not_count_in_map() {
        // All but the lone query are perfect: mAP is 1 in every resample, R@1 is not.
        let estimates = Bootstrap::new().ranking(&ranking(0.0)).unwrap();
        let find = |wanted| estimates.iter().find(|(m, _)| *m == wanted).unwrap().1;
        let map = find(Measure::AveragePrecision);
        assert_eq!((map.value, map.high), (1.0, 1.0));
        // That 120 are right is no proof that the next one is.
        let least = proportion::wilson(120, 120).unwrap();
        assert!((map.low - least.low).abs() < 1e-12);
        let same = ranking(0.0);
        let apart = Bootstrap::new().paired(&same, &same).unwrap();
        let (_, apart) = apart
            .into_iter()
            .find(|(m, _)| *m == Measure::AveragePrecision)
            .unwrap();
        assert!(apart.value == 0.0 && apart.low < -0.01 && apart.high > 0.01);
        assert!(find(Measure::Recall(1)).low < 120.0 / 121.0);
    }

    #[test]
    fn the_paired_interval_is_sharper_and_zero_for_the_same_system() {
        let (a, b) = (ranking(0.9), ranking(1.2));
        let bootstrap = Bootstrap::new();
        for (_, same) in bootstrap.paired(&a, &a).unwrap() {
            assert_eq!((same.low, same.value, same.high), (0.0, 0.0, 0.0));
        }
        let (measure, better) = bootstrap.paired(&a, &b).unwrap()[4];
        assert_eq!(measure, Measure::AveragePrecision);
        assert!(better.low > 0.0, "{better:?}");
        let width = |e: Estimate| e.high - e.low;
        let single = |r: &Ranking| width(bootstrap.ranking(r).unwrap()[4].1);
        assert!(width(better) < single(&a) + single(&b));
        let mut other = b.clone();
        other.queries[0] = 77;
        assert!(bootstrap.paired(&a, &other).is_err());
    }

    #[test]
    fn nmi_interval_holds_the_value_and_is_exact_for_equal_partitions() {
        let classes: Vec<u32> = (0..600).map(|i| i % 3).collect();
        let clusters: Vec<u32> = (0..600)
            .map(|i| if i % 4 == 0 { 7 } else { i % 3 })
            .collect();
        let nmi = |clusters: &[u32]| Nmi {
            value: crate::eval::nmi::nmi(&classes, clusters).unwrap(),
            classes: classes.clone(),
            clusters: clusters.to_vec(),
            skipped: 0,
        };
        let e = Bootstrap::new().nmi(&nmi(&clusters)).unwrap();
        assert!(e.low < e.value && e.value < e.high && e.high - e.low < 0.1);
        let e = Bootstrap::new().nmi(&nmi(&classes)).unwrap();
        assert!((e.low - 1.0).abs() < 1e-12 && (e.high - 1.0).abs() < 1e-12);
    }

    /// Items of `classes` classes, `each` of them: `right` in a hundred in the cluster of their
    /// class, the others in one of the five next to it.
    fn noisy(classes: u32, each: u32, right: u32, rng: &mut seed::Rng) -> Nmi {
        let of: Vec<u32> = (0..classes * each).map(|i| i % classes).collect();
        let cluster = |&c: &u32| {
            if rng.random_range(0..100) < right {
                c
            } else {
                (c + rng.random_range(1..6)) % classes
            }
        };
        let clusters: Vec<u32> = of.iter().map(cluster).collect();
        Nmi {
            value: crate::eval::nmi::nmi(&of, &clusters).unwrap(),
            classes: of,
            clusters,
            skipped: 0,
        }
    }

    #[test]
    fn the_difference_of_nmi_is_paired_by_item() {
        let classes: Vec<u32> = (0..400).map(|i| i % 8).collect();
        let of = |wrong: &dyn Fn(u32) -> bool| {
            let clusters: Vec<u32> = (0..400)
                .map(|i| if wrong(i) { (i + 3) % 8 } else { i % 8 })
                .collect();
            Nmi {
                value: crate::eval::nmi::nmi(&classes, &clusters).unwrap(),
                classes: classes.clone(),
                clusters,
                skipped: 0,
            }
        };
        let many = of(&|i| i % 7 == 0);
        let more = of(&|i| i % 7 == 0 || i % 50 == 1);
        let bootstrap = Bootstrap::new();
        let none = bootstrap.nmi_difference(&many, &many).unwrap();
        assert_eq!((none.value, none.low, none.high), (0.0, 0.0, 0.0));
        let e = bootstrap.nmi_difference(&many, &more).unwrap();
        assert!(0.0 < e.low && e.low < e.value && e.value < e.high, "{e:?}");
        // What both have in common is no luck: the interval is narrower than that of either.
        let alone = bootstrap.nmi(&many).unwrap();
        assert!(e.high - e.low < alone.high - alone.low, "{e:?} {alone:?}");
        // Against the definition, item by item.
        let without = |nmi: &Nmi, i: usize| {
            let rest = |of: &[u32]| [&of[..i], &of[i + 1..]].concat();
            crate::eval::nmi::nmi(&rest(&nmi.classes), &rest(&nmi.clusters)).unwrap()
        };
        let apart: Vec<f64> = (0..400)
            .map(|i| without(&many, i) - without(&more, i))
            .collect();
        let mean = apart.iter().sum::<f64>() / 400.0;
        let squares: f64 = apart.iter().map(|v| (v - mean).powi(2)).sum();
        let half = 1.959_963_985 * (squares * 399.0 / 400.0).sqrt();
        assert!((e.high - e.value - half).abs() < 1e-9, "{e:?} {half}");
    }

    #[test]
    fn nmi_intervals_hold_their_value_and_what_other_samples_give() {
        for (classes, each, right) in [(98, 42, 50), (100, 5, 50), (100, 5, 95), (10, 100, 80)] {
            let mut rng = seed::stream(5, "noisy clusters");
            let draws: Vec<Nmi> = (0..150)
                .map(|_| noisy(classes, each, right, &mut rng))
                .collect();
            let n = draws.len() as f64;
            let mean = draws.iter().map(|d| d.value).sum::<f64>() / n;
            let squares = draws.iter().map(|d| (d.value - mean).powi(2));
            let spread = (squares.sum::<f64>() / (n - 1.0)).sqrt();
            let intervals: Vec<Estimate> = draws
                .iter()
                .map(|d| Bootstrap::new().nmi(d).unwrap())
                .collect();
            let inside = intervals.iter().zip(&draws).all(|(e, d)| {
                e.low < d.value && d.value < e.high && (e.value - d.value).abs() < 1e-15
            });
            assert!(inside, "{classes} x {each}");
            let covered = intervals.iter().filter(|e| e.low < mean && mean < e.high);
            let covered = covered.count() as f64 / n;
            assert!(covered > 0.92, "{classes} x {each}: {covered}");
            let half = intervals.iter().map(|e| (e.high - e.low) / 2.0);
            let ratio = half.sum::<f64>() / n / (1.96 * spread);
            assert!(
                (0.9..1.8).contains(&ratio),
                "{classes} x {each}: {ratio} times the spread"
            );
        }
    }

    #[test]
    fn the_jackknife_leaves_each_item_out() {
        let found = noisy(7, 4, 60, &mut seed::stream(6, "jackknife"));
        let n = found.classes.len();
        let without: Vec<f64> = (0..n)
            .map(|i| {
                let rest = |of: &[u32]| -> Vec<u32> {
                    let others = of.iter().enumerate().filter(|(j, _)| *j != i);
                    others.map(|(_, &part)| part).collect()
                };
                crate::eval::nmi::nmi(&rest(&found.classes), &rest(&found.clusters)).unwrap()
            })
            .collect();
        let mean = without.iter().sum::<f64>() / n as f64;
        let squares: f64 = without.iter().map(|v| (v - mean).powi(2)).sum();
        let expected = (squares * (n - 1) as f64 / n as f64).sqrt();
        assert!((jackknife_error(&found).unwrap() - expected).abs() < 1e-12);
        let one = Nmi {
            value: 1.0,
            classes: vec![3],
            clusters: vec![0],
            skipped: 0,
        };
        let e = Bootstrap::new().nmi(&one).unwrap();
        assert_eq!((e.low, e.value, e.high), (1.0, 1.0, 1.0));
    }

    #[test]
    fn no_percentile_interval_misses_its_value() {
        // All resamples on one side, as few of them can be.
        let e = Bootstrap::new().percentiles(3.0, vec![4.0, 5.0]);
        assert_eq!((e.low, e.value), (3.0, 3.0));
        let e = Bootstrap::new().percentiles(3.0, vec![1.0, 2.0]);
        assert_eq!((e.value, e.high), (3.0, 3.0));
    }

    #[test]
    fn same_bytes_for_any_thread_count_and_other_for_another_seed() {
        let ranking = ranking(1.2);
        let run = |threads: usize, s: u64| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            pool.install(|| Bootstrap::new().seed(s).ranking(&ranking))
                .unwrap()
        };
        assert_eq!(run(1, 3), run(2, 3));
        assert_ne!(run(1, 3), run(1, 4));
    }

    #[test]
    fn percentiles_are_those_of_numpy() {
        let bootstrap = Bootstrap::new().confidence(0.8);
        // numpy.percentile([1, 2, 4, 8], [10, 90]) = [1.3, 6.8]
        let e = bootstrap.percentiles(3.0, vec![8.0, 1.0, f64::NAN, 4.0, 2.0]);
        assert!((e.low - 1.3).abs() < 1e-9 && (e.high - 6.8).abs() < 1e-9);
        let e = bootstrap.percentiles(3.0, vec![]);
        assert_eq!((e.low, e.high), (3.0, 3.0));
    }

    #[test]
    fn t_intervals_are_those_of_scipy() {
        // scipy.stats.t.interval(0.95, 4, loc=mean(v), scale=sem(v))
        let e = t_interval(&[0.54, 0.57, 0.51, 0.60, 0.58]).unwrap();
        assert!((e.value - 0.56).abs() < 1e-12);
        assert!(
            (e.low - 0.516_100_548_345_745_8).abs() < 1e-9
                && (e.high - 0.603_899_451_654_254_1).abs() < 1e-9
        );
        assert_eq!(t_interval(&[]), None);
        assert_eq!(t_interval(&[0.5]), None);
        assert_eq!(t_interval(&[0.5, f64::NAN]), None);
        let same = t_interval(&[0.5, 0.5]).unwrap();
        assert_eq!((same.low, same.high), (0.5, 0.5));
    }

    #[test]
    fn bad_parameters_are_refused() {
        let ranking = ranking(1.0);
        for bad in [
            Bootstrap::new().resamples(0),
            Bootstrap::new().confidence(0.0),
            Bootstrap::new().confidence(1.0),
            Bootstrap::new().confidence(f64::NAN),
        ] {
            assert!(bad.ranking(&ranking).is_err());
        }
    }
}
