//! Retrieval metrics: recall, precision, mAP, MAP@R, R-precision, and nDCG@k of items with several labels.
//!
//! Every query ranks the gallery by (similarity descending, item ascending). All the
//! metrics follow from one thing: the ranks of the query's relevant items, those of its
//! class. So nothing is sorted but the few relevant similarities; the rest of the
//! gallery is only counted, and at no time are there more than a block of similarities.
//!
//! # Rules
//! - A query that is in the gallery itself is left out there **by index**. Dropping the
//!   first hit instead, as some libraries do, goes wrong as soon as there are duplicates.
//! - A query whose class has no other item in the gallery is **lone**. R@k and P@k count
//!   it as 0; AP, MAP@R and R-precision leave it out ([`Measure::skips_lone`]).
//! - Queries without a known class are skipped. Gallery items of unknown label are left
//!   out too (a condensed list): they may be relevant or not, and counting them as wrong
//!   would mostly measure how many labels are missing. Items known to be
//!   [`Outside`](crate::Label::Outside) stay in the gallery as wrong answers. Both counts are reported.
//! - Of more than [`SAMPLE`] queries, so many ask: each class in its share, the same
//!   ones for all embeddings of the same items. The gallery stays whole, so nothing is
//!   biased; the interval of a share is then about 2 points in a hundred wide at most.
//!   [`Ranking::drawn_from`] tells; [`Protocol::all_queries`] asks them all.
//!
//! # Several labels an item
//! Where classes are sets of [tags](crate::Labels::of_tags), an item is relevant that shares a tag with
//! the query, any tag; items of no tag are wrong answers and do not ask. How many tags it shares counts in
//! nDCG@k alone, which is measured beside the others then:
//!
//! ```text
//! nDCG@k = DCG@k / DCG@k of the best order,   DCG@k = sum_{r <= k} g_r / log2(1 + r)
//! ```
//!
//! `g_r` is the number of tags that the answer at rank r shares with the query, as it is (the other
//! custom, `2^g - 1`, lets one answer that shares five tags outweigh thirty that share one). The best
//! order is that of the whole gallery. Costs a sort of the relevant items a query more.
//!
//! # Cost
//! O(queries x gallery x dimensions) time, all cores; one copy of the gallery and at
//! most a block of 32 MiB a thread (64 bytes an item for galleries above 512 thousand).
//!
//! # Source
//! R@k, P@k: Zhuang & Moulin 2023, eq. 34 and 35 (their sums start at 0 in print; read
//! as ranks 1 to k). MAP@R, R-precision: Musgrave, Belongie & Lim 2020. nDCG: Järvelin & Kekäläinen 2002,
//! with the logarithm of 1 + r that is usual since Burges et al. 2005; ties fall by item, while
//! scikit-learn's `ndcg_score` takes their mean.

use std::fmt;

use ndarray::ArrayView2;
use rand::RngExt;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::rank_counter::RankCounter;
use super::relevant::{Relation, Relevant};
use crate::distance::Metric;
use crate::similarity::{Scorer, Searchable};
use crate::{Embedding, Error, Label, Labels, Monitor, Result, seed};

/// Most queries of known class that ask: of more, a sample of so many does.
pub const SAMPLE: usize = 10_000;

/// Who asks, who is searched, and how.
#[derive(Debug, Clone, Copy)]
pub struct Protocol<'a> {
    /// Embeddings, `items x dimensions`.
    pub embeddings: ArrayView2<'a, f32>,
    /// The rows of the same items as they ask, where these are others.
    pub asking: Option<ArrayView2<'a, f32>>,
    /// Labels of the same items.
    pub labels: &'a Labels,
    /// Items that ask.
    pub queries: &'a [usize],
    /// Items that are searched; may overlap the queries.
    pub gallery: &'a [usize],
    /// How items are compared.
    pub metric: Metric,
    /// The model that compares them in place of the metric, where there is one.
    pub scorer: Option<&'a Scorer>,
    /// For each item the one that is not searched when it asks, because both are the same
    /// thing. `None`: the item itself.
    pub same_as: Option<&'a [usize]>,
    /// Most queries that ask, a sample where there are more; `None`: all, however many.
    pub sample: Option<usize>,
}

impl<'a> Protocol<'a> {
    /// Queries against a gallery by cosine.
    pub fn new(
        embeddings: ArrayView2<'a, f32>,
        labels: &'a Labels,
        queries: &'a [usize],
        gallery: &'a [usize],
    ) -> Self {
        Self {
            embeddings,
            asking: None,
            labels,
            queries,
            gallery,
            metric: Metric::Cosine,
            scorer: None,
            same_as: None,
            sample: Some(SAMPLE),
        }
    }

    /// Queries against a gallery by the similarity of the model that made the rows.
    pub fn of(
        embedding: &'a Embedding,
        labels: &'a Labels,
        queries: &'a [usize],
        gallery: &'a [usize],
    ) -> Self {
        Self {
            asking: Some(embedding.asking()),
            metric: embedding.metric,
            scorer: embedding.scorer(),
            ..Self::new(embedding.rows.view(), labels, queries, gallery)
        }
    }

    /// Each of `items` asks and is searched by the others: leave one out.
    pub fn within(embeddings: ArrayView2<'a, f32>, labels: &'a Labels, items: &'a [usize]) -> Self {
        Self::new(embeddings, labels, items, items)
    }

    /// The same with another metric.
    #[must_use]
    pub fn metric(mut self, metric: Metric) -> Self {
        self.metric = metric;
        self
    }

    /// Leaves out, when item `i` asks, item `same_as[i]` instead of item `i`: for queries that
    /// stand in the gallery as rows of their own.
    #[must_use]
    pub fn same_as(mut self, same_as: &'a [usize]) -> Self {
        self.same_as = Some(same_as);
        self
    }

    /// Lets every query ask, however many there are.
    #[must_use]
    pub fn all_queries(mut self) -> Self {
        self.sample = None;
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        if let Some(same_as) = self.same_as
            && (same_as.len() != self.labels.len()
                || same_as.iter().any(|&i| i >= self.labels.len()))
        {
            return Err(Error::data(format!(
                "what is the same as what: {} entries for {} items; give one item of them for each",
                same_as.len(),
                self.labels.len()
            )));
        }
        if self.labels.len() != self.embeddings.nrows() {
            return Err(Error::data(format!(
                "{} labels for {} embeddings; there must be one each",
                self.labels.len(),
                self.embeddings.nrows()
            )));
        }
        if let Some(asking) = self.asking
            && asking.dim() != self.embeddings.dim()
        {
            return Err(Error::data(format!(
                "rows that ask are {:?}, rows that are searched {:?}; give one of each for every item",
                asking.dim(),
                self.embeddings.dim()
            )));
        }
        for (name, items) in [("queries", self.queries), ("gallery", self.gallery)] {
            let mut seen = vec![false; self.labels.len()];
            for &item in items {
                match seen.get_mut(item) {
                    None => {
                        return Err(Error::data(format!(
                            "{name}: item {item}, but there are only {} embeddings",
                            self.labels.len()
                        )));
                    }
                    Some(true) => {
                        return Err(Error::data(format!(
                            "{name}: item {item} stands there twice; name each item once"
                        )));
                    }
                    Some(new) => *new = true,
                }
            }
        }
        Ok(())
    }
}

/// One retrieval metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// R@k: whether any of the first k answers is relevant. (Not the share of relevant
    /// items found, which also goes by that name.)
    Recall(usize),
    /// P@k: share of relevant items among the first k answers; divided by k even if the
    /// gallery is smaller.
    Precision(usize),
    /// AP: mean of the precision at each relevant item over the whole ranking; its mean
    /// over the queries is mAP.
    AveragePrecision,
    /// MAP@R: like AP, but only over the first R answers, R being the number of relevant
    /// items of the query.
    MapAtR,
    /// R-precision: share of relevant items among the first R answers.
    RPrecision,
    /// nDCG@k: how much of what the first k answers could share of tags they do share, early ones
    /// counting more.
    Ndcg(usize),
}

impl Measure {
    /// Whether lone queries are left out of the mean (else they count 0).
    pub fn skips_lone(self) -> bool {
        !matches!(self, Measure::Recall(_) | Measure::Precision(_))
    }

    /// The value for a query whose relevant items have these `ranks` (from 1, ascending).
    fn of(self, ranks: &[u32]) -> f64 {
        let r = ranks.len();
        let found = |k: usize| ranks.partition_point(|&rank| rank as usize <= k);
        let precisions = |n: usize| -> f64 {
            let hits = ranks.iter().take(n).enumerate();
            hits.map(|(i, &rank)| (i + 1) as f64 / f64::from(rank))
                .sum()
        };
        match self {
            Measure::Recall(k) => f64::from(u8::from(found(k) > 0)),
            Measure::Precision(k) => found(k) as f64 / k as f64,
            _ if r == 0 => 0.0,
            Measure::AveragePrecision => precisions(r) / r as f64,
            Measure::MapAtR => precisions(found(r)) / r as f64,
            Measure::RPrecision => found(r) as f64 / r as f64,
            // Relevant items that are all alike.
            Measure::Ndcg(k) => ndcg(k, ranks, &vec![1; r]),
        }
    }
}

/// nDCG@k of a query whose relevant items have these ranks, ascending, and `gains`.
fn ndcg(k: usize, ranks: &[u32], gains: &[u32]) -> f64 {
    let discounted = |rank: u32, gain: u32| f64::from(gain) / f64::from(rank + 1).log2();
    let early = ranks
        .iter()
        .zip(gains)
        .take_while(|(rank, _)| **rank as usize <= k);
    let found: f64 = early.map(|(&rank, &gain)| discounted(rank, gain)).sum();
    let mut best = gains.to_vec();
    best.sort_unstable_by(|a, b| b.cmp(a));
    let best: f64 = (best.iter().take(k).zip(1..))
        .map(|(&gain, rank)| discounted(rank, gain))
        .sum();
    found / best
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Measure::Recall(k) => write!(f, "recall@{k}"),
            Measure::Precision(k) => write!(f, "precision@{k}"),
            Measure::AveragePrecision => f.write_str("map"),
            Measure::MapAtR => f.write_str("map_at_r"),
            Measure::RPrecision => f.write_str("r_precision"),
            Measure::Ndcg(k) => write!(f, "ndcg@{k}"),
        }
    }
}

/// The metrics of every single query, so that two systems can be compared query by query.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// The items that asked, in the order of the protocol, skipped ones left out.
    pub queries: Vec<usize>,
    /// Number of queries of known class that these are a sample of, if they are one.
    pub drawn_from: Option<usize>,
    /// Number of relevant items in the gallery, by query; 0 for a lone query.
    pub relevant: Vec<usize>,
    /// The item of the gallery that each query finds first; none where it is alone there.
    pub first: Vec<Option<usize>>,
    /// Queries left out because their class is not known.
    pub skipped_queries: usize,
    /// Gallery items left out because their label is unknown.
    pub skipped_gallery: usize,
    /// Gallery items that were searched.
    pub gallery: usize,
    columns: Vec<(Measure, Vec<f64>)>,
}

impl Ranking {
    /// The measures, in the order recall, precision (by k), mAP, MAP@R, R-precision, and nDCG (by k)
    /// where items have several labels.
    pub fn measures(&self) -> impl Iterator<Item = Measure> + '_ {
        self.columns.iter().map(|(measure, _)| *measure)
    }

    /// One value a query, in the order of [`queries`](Self::queries); 0 for lone ones.
    pub fn values(&self, measure: Measure) -> Option<&[f64]> {
        let column = self.columns.iter().find(|(m, _)| *m == measure)?;
        Some(&column.1)
    }

    /// Number of lone queries.
    pub fn lone(&self) -> usize {
        self.relevant.iter().filter(|&&r| r == 0).count()
    }

    /// Whether query number `q` counts for `measure`.
    pub fn counts(&self, q: usize, measure: Measure) -> bool {
        !measure.skips_lone() || self.relevant[q] > 0
    }

    /// Mean over the queries that count; `None` if none does or it was not measured.
    pub fn mean(&self, measure: Measure) -> Option<f64> {
        self.mean_over(measure, |q| self.counts(q, measure))
    }

    /// Mean over the queries that have a relevant item, for every measure alike.
    pub fn mean_without_lone(&self, measure: Measure) -> Option<f64> {
        self.mean_over(measure, |q| self.relevant[q] > 0)
    }

    /// The mean of this ranking and others of the same queries, query by query. What is found first
    /// stays that of this one.
    ///
    /// Fails unless all have the same queries, relevant items and measures.
    pub fn mean_with(&self, others: &[&Self]) -> Result<Self> {
        let mut mean = self.clone();
        for other in others {
            let same = self.queries == other.queries && self.relevant == other.relevant;
            if !(same && self.measures().eq(other.measures())) {
                return Err(Error::data(
                    "runs of one system must be asked the same queries over the same gallery",
                ));
            }
            for ((_, sum), (_, values)) in mean.columns.iter_mut().zip(&other.columns) {
                for (s, v) in sum.iter_mut().zip(values) {
                    *s += v;
                }
            }
        }
        let n = (others.len() + 1) as f64;
        for (_, sum) in &mut mean.columns {
            for s in sum {
                *s /= n;
            }
        }
        Ok(mean)
    }

    fn mean_over(&self, measure: Measure, counts: impl Fn(usize) -> bool) -> Option<f64> {
        let values = self.values(measure)?.iter().enumerate();
        let (mut sum, mut n) = (0.0, 0);
        for (_, value) in values.filter(|(q, _)| counts(*q)) {
            sum += value;
            n += 1;
        }
        (n > 0).then(|| sum / f64::from(n))
    }
}

/// Measures R@k and P@k for each of `ks`, mAP, MAP@R and R-precision; nDCG@k as well where items have
/// several labels.
///
/// Fails on NaN, on shapes that do not fit, on k = 0, on an item named twice, and if no
/// query of known class or nothing to search is left. See the [module](self) for rules.
///
/// ```
/// use likewise::eval::ranking::{evaluate, Measure, Protocol};
/// use likewise::{Labels, Monitor};
/// let x = ndarray::array![[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]];
/// let labels = Labels::parse(["a", "a", "b", "b"]);
/// let items = [0, 1, 2, 3];
/// let protocol = Protocol::within(x.view(), &labels, &items);
/// let ranking = evaluate(&protocol, &[1], &Monitor::silent())?;
/// assert_eq!(ranking.mean(Measure::Recall(1)), Some(1.0));
/// assert_eq!(ranking.mean(Measure::AveragePrecision), Some(1.0));
/// # Ok::<(), likewise::Error>(())
/// ```
pub fn evaluate(protocol: &Protocol, ks: &[usize], monitor: &Monitor) -> Result<Ranking> {
    protocol.check()?;
    let ks = {
        let mut ks = ks.to_vec();
        ks.sort_unstable();
        ks.dedup();
        ks
    };
    if ks.first() == Some(&0) {
        return Err(Error::parameter("k", 0, "must be at least 1"));
    }
    let labels = protocol.labels;
    let class = |item: usize| labels[item].class();
    let mut queries: Vec<usize> = protocol.queries.to_vec();
    queries.retain(|&q| class(q).is_some());
    let mut gallery: Vec<usize> = protocol.gallery.to_vec();
    gallery.retain(|&item| labels[item] != Label::Unknown);
    let known = queries.len();
    let drawn_from = match protocol.sample {
        Some(sample) if known > sample => {
            queries = draw(&queries, labels, sample);
            Some(known)
        }
        _ => None,
    };
    // Ties fall by item, whatever order the gallery was named in.
    gallery.sort_unstable();
    if queries.is_empty() {
        return Err(Error::data(
            "no query has a known class; nothing can be measured without labels",
        ));
    }
    if gallery.is_empty() {
        return Err(Error::data(
            "the gallery has no item whose label is known; there is nothing to search",
        ));
    }

    let mut place = vec![u32::MAX; labels.len()];
    for (position, &item) in gallery.iter().enumerate() {
        place[item] = position as u32;
    }
    let relation = Relation::of(labels, &gallery);
    let graded: &[usize] = labels.tags().map_or(&[], |_| &ks);
    let measures: Vec<Measure> = (ks.iter().map(|&k| Measure::Recall(k)))
        .chain(ks.iter().map(|&k| Measure::Precision(k)))
        .chain([
            Measure::AveragePrecision,
            Measure::MapAtR,
            Measure::RPrecision,
        ])
        .chain(graded.iter().map(|&k| Measure::Ndcg(k)))
        .collect();

    monitor.start("ranking", queries.len() as u64);
    let searched = Searchable::new(
        protocol.embeddings,
        &gallery,
        protocol.metric,
        protocol.scorer,
    )?;
    let answers = searched.for_each_query(
        protocol.asking.unwrap_or(protocol.embeddings),
        &queries,
        monitor,
        || (RankCounter::default(), Relevant::default()),
        |(counter, found), q, _, scores| {
            let item = queries[q];
            let own = place[protocol.same_as.map_or(item, |same_as| same_as[item])];
            if let Some(score) = scores.get_mut(own as usize) {
                *score = f32::NEG_INFINITY;
            }
            let first = first(scores).map(|place| gallery[place]);
            counter.ranks(scores, relation.places(class(item), found), own);
            let (ranks, places) = counter.ranked();
            let gains = if graded.is_empty() {
                Vec::new()
            } else {
                found.gains(places)
            };
            let value = |measure: &Measure| match *measure {
                Measure::Ndcg(k) if !ranks.is_empty() => ndcg(k, ranks, &gains),
                measure => measure.of(ranks),
            };
            let values: Box<[f64]> = measures.iter().map(value).collect();
            (ranks.len(), values, first)
        },
    )?;
    monitor.end();

    let columns = measures
        .iter()
        .enumerate()
        .map(|(m, &measure)| (measure, answers.iter().map(|a| a.1[m]).collect()))
        .collect();
    Ok(Ranking {
        relevant: answers.iter().map(|a| a.0).collect(),
        first: answers.iter().map(|a| a.2).collect(),
        skipped_queries: protocol.queries.len() - known,
        drawn_from,
        skipped_gallery: protocol.gallery.len() - gallery.len(),
        gallery: gallery.len(),
        queries,
        columns,
    })
}

/// The place of the largest score, the first of several; none where all are those of left out
/// items.
fn first(scores: &[f32]) -> Option<usize> {
    let mut best = (f32::NEG_INFINITY, None);
    for (place, &score) in scores.iter().enumerate() {
        if score > best.0 {
            best = (score, Some(place));
        }
    }
    best.1
}

/// `most` of `queries`, in their order: of each class its share, rounded up or down by chance.
fn draw(queries: &[usize], labels: &Labels, most: usize) -> Vec<usize> {
    let mut rng = seed::stream(0, "sample of queries");
    let mut shuffled: Vec<usize> = (0..queries.len()).collect();
    shuffled.shuffle(&mut rng);
    shuffled.sort_by_key(|&q| labels[queries[q]].class());
    // Every so many of the list in the order of the classes.
    let step = queries.len() as f64 / most as f64;
    let start = rng.random::<f64>();
    let place = |i: usize| (((i as f64 + start) * step) as usize).min(queries.len() - 1);
    let mut drawn: Vec<usize> = (0..most).map(|i| shuffled[place(i)]).collect();
    drawn.sort_unstable();
    drawn.dedup();
    drawn.into_iter().map(|q| queries[q]).collect()
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;
    use crate::Similarity;
    use ndarray::{Array2, array};
    use proptest::prelude::*;

    #[test]
    fn a_query_asks_by_its_own_side_of_a_bilinear_form() {
        // q W x is the first column of q times the second of x.
        let w = array![[0.0, 1.0], [0.0, 0.0]];
        let x = array![[1.0, 3.0], [1.0, 1.0], [-1.0, 2.5_f32]];
        let labels = Labels::from_integers([0, 0, 1]);
        let made = Embedding::new(x.clone(), &Similarity::Bilinear(w));
        let items = [0, 1, 2];
        let ranking = evaluate(
            &Protocol::of(&made, &labels, &items, &items),
            &[1],
            &Monitor::silent(),
        );
        // Items 0 and 1 ask for the largest second column, item 2 for the smallest.
        assert_eq!(ranking.unwrap().first, [Some(2), Some(0), Some(1)]);
        // By the distance it is the other of 0 and 1, and of 2 the nearer one.
        let made = Embedding::new(x, &Similarity::Euclidean);
        let near = evaluate(
            &Protocol::of(&made, &labels, &items, &items),
            &[1],
            &Monitor::silent(),
        );
        assert_eq!(near.unwrap().first, [Some(1), Some(0), Some(0)]);
    }

    /// The definition: sort everything, then count.
    fn naive_ranks(scores: &[f32], relevant: &[u32], own: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..scores.len() as u32).filter(|&p| p != own).collect();
        order.sort_by(|&a, &b| {
            let (x, y) = (scores[a as usize], scores[b as usize]);
            y.partial_cmp(&x).unwrap().then(a.cmp(&b))
        });
        let ranked = order.iter().enumerate();
        ranked
            .filter(|(_, p)| relevant.contains(p))
            .map(|(rank, _)| rank as u32 + 1)
            .collect()
    }

    fn count(scores: &[f32], relevant: &[u32], own: u32) -> Vec<u32> {
        let mut scores = scores.to_vec();
        if let Some(s) = scores.get_mut(own as usize) {
            *s = f32::NEG_INFINITY;
        }
        RankCounter::default()
            .ranks(&mut scores, relevant, own)
            .to_vec()
    }

    proptest! {
        #[test]
        fn ranks_are_those_of_a_full_sort(
            scores in prop::collection::vec(
                prop_oneof![-1.0_f32..1.0, (-3_i32..4).prop_map(|v| v as f32 / 4.0), Just(-0.0_f32)],
                1..200,
            ),
            pick in any::<u64>(),
            own in 0_u32..250,
        ) {
            let relevant: Vec<u32> = (0..scores.len() as u32)
                .filter(|p| pick.rotate_left(*p).is_multiple_of(4))
                .collect();
            prop_assert_eq!(
                count(&scores, &relevant, own),
                naive_ranks(&scores, &relevant, own)
            );
        }
    }

    #[test]
    fn ranks_of_extreme_scores() {
        for scores in [
            vec![0.5; 50],
            vec![f32::MIN_POSITIVE, 0.0, -0.0, 1e-45, -1e-45, 1.0],
            (0..5000)
                .map(|i| 1.0 - i as f32 * f32::EPSILON / 2.0)
                .collect(),
            (0..50).map(|i| 10_f32.powi(i - 25)).collect(),
            vec![3e36, -3e36, 0.0, 1.0],
            vec![-0.0, 0.0, -0.0, 0.0, 1.0],
        ] {
            for relevant in [
                vec![0],
                vec![0, 1],
                vec![1, 3],
                (0..scores.len() as u32).collect(),
            ] {
                for own in [0, 1, u32::MAX] {
                    let expected = naive_ranks(&scores, &relevant, own);
                    assert_eq!(count(&scores, &relevant, own), expected);
                }
            }
        }
    }

    #[test]
    fn more_relevant_items_than_the_table_has_places_are_ranked_too() {
        // 70,000 relevant items with many equal scores, every third item is none.
        let n = 105_000;
        let mut scores: Vec<f32> = (0..n).map(|i| (i * 7919 % 30_011) as f32 / 7.0).collect();
        let relevant: Vec<u32> = (0..n as u32).filter(|i| i % 3 > 0).collect();
        let mut counter = RankCounter::default();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        let expected: Vec<u32> = (1..)
            .zip(&order)
            .filter(|(_, item)| *item % 3 > 0)
            .map(|(rank, _)| rank)
            .collect();
        assert_eq!(counter.ranks(&mut scores, &relevant, u32::MAX), expected);
    }

    fn angles(degrees: &[f32]) -> Array2<f32> {
        Array2::from_shape_fn((degrees.len(), 2), |(i, j)| {
            let a = degrees[i].to_radians();
            if j == 0 { a.cos() } else { a.sin() }
        })
    }

    fn close(a: Option<f64>, b: f64) {
        assert!((a.unwrap() - b).abs() < 1e-8, "{a:?} is not {b}");
    }

    /// Worked example of the evaluation notes: six unit vectors in the plane.
    #[test]
    fn worked_example() {
        let x = angles(&[0.0, 20.0, 70.0, 30.0, 75.0, 50.0]);
        let labels = Labels::from_integers([0, 0, 0, 1, 1, 2]);
        let items: Vec<usize> = (0..6).collect();
        for metric in [Metric::Cosine, Metric::Euclidean, Metric::InnerProduct] {
            let protocol = Protocol::within(x.view(), &labels, &items).metric(metric);
            let r = evaluate(&protocol, &[4, 1, 2, 2], &Monitor::silent()).unwrap();
            close(r.mean(Measure::Recall(1)), 1.0 / 6.0);
            close(r.mean(Measure::Recall(2)), 1.0 / 3.0);
            close(r.mean(Measure::Recall(4)), 2.0 / 3.0);
            close(r.mean(Measure::Precision(2)), 1.0 / 6.0);
            close(r.mean(Measure::Precision(4)), 0.25);
            close(r.mean(Measure::AveragePrecision), 0.421_666_666_666);
            close(r.mean(Measure::MapAtR), 0.15);
            close(r.mean(Measure::RPrecision), 0.2);
            close(r.mean(Measure::Precision(1)), 1.0 / 6.0);
            close(r.mean_without_lone(Measure::Precision(1)), 0.2);
            let ap = r.values(Measure::AveragePrecision).unwrap();
            for (a, b) in ap.iter().zip([0.75, 0.5, 0.325, 0.2, 1.0 / 3.0, 0.0]) {
                assert!((a - b).abs() < 1e-12);
            }
            assert_eq!(r.lone(), 1);
            assert_eq!(r.relevant, [2, 2, 2, 1, 1, 0]);
            assert_eq!(r.measures().count(), 9);
        }
    }

    /// scikit-learn 1.9 `average_precision_score` on scores without ties.
    #[test]
    fn average_precision_is_that_of_scikit_learn() {
        // scores .9 .8 .7 .6 .5 .4, relevant 1 0 1 0 0 1: AP = (1 + 2/3 + 1/2) / 3
        let ap = Measure::AveragePrecision.of(&[1, 3, 6]);
        assert!((ap - 0.722_222_222_222_222_1).abs() < 1e-15);
        assert!((Measure::MapAtR.of(&[1, 3, 6]) - (1.0 + 2.0 / 3.0) / 3.0).abs() < 1e-15);
    }

    fn random(n: usize, d: usize, classes: u32) -> (Array2<f32>, Labels) {
        use rand::RngExt;
        let mut rng = crate::seed::stream(1, "ranking test");
        let mut x = Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..1.0));
        // Every third row is a duplicate of another.
        for i in (0..n).step_by(3) {
            let copy = x.row(rng.random_range(0..n)).to_owned();
            x.row_mut(i).assign(&copy);
        }
        let labels = Labels::from_integers((0..n).map(|_| i64::from(rng.random_range(0..classes))));
        (x, labels)
    }

    #[test]
    fn agrees_with_a_naive_ranking_on_random_data_with_duplicates() {
        let (x, labels) = random(300, 9, 12);
        let queries: Vec<usize> = (0..150).rev().collect();
        let gallery: Vec<usize> = (100..300).rev().collect();
        for metric in [Metric::Cosine, Metric::Euclidean, Metric::InnerProduct] {
            let protocol = Protocol::new(x.view(), &labels, &queries, &gallery).metric(metric);
            let r = evaluate(&protocol, &[1, 3, 500], &Monitor::silent()).unwrap();
            let mut checked = 0;
            for (q, &query) in queries.iter().enumerate() {
                let mut order: Vec<usize> = (100..300).filter(|&g| g != query).collect();
                let s: Vec<f64> = (0..300)
                    .map(|g| metric.similarity(x.row(query), x.row(g)))
                    .collect();
                order.sort_by(|&a, &b| s[b].total_cmp(&s[a]).then(a.cmp(&b)));
                // Only equal rows may be this close, else f32 and f64 could disagree.
                let clear = |w: &[usize]| s[w[0]] - s[w[1]] > 1e-5 || x.row(w[0]) == x.row(w[1]);
                if !order.windows(2).all(clear) {
                    continue;
                }
                checked += 1;
                let rel: Vec<bool> = order.iter().map(|&g| labels[g] == labels[query]).collect();
                let total = rel.iter().filter(|&&r| r).count();
                let at = |k: usize| rel.iter().take(k).filter(|&&r| r).count() as f64;
                let precisions = |k: usize| -> f64 {
                    (0..k.min(rel.len()))
                        .filter(|&i| rel[i])
                        .map(|i| at(i + 1) / (i + 1) as f64)
                        .sum()
                };
                let expected = [
                    at(1).min(1.0),
                    at(3).min(1.0),
                    at(500).min(1.0),
                    at(1),
                    at(3) / 3.0,
                    at(500) / 500.0,
                    precisions(rel.len()) / total as f64,
                    precisions(total) / total as f64,
                    at(total) / total as f64,
                ];
                assert_eq!(r.relevant[q], total);
                for (measure, expected) in r.measures().zip(expected) {
                    let value = r.values(measure).unwrap()[q];
                    assert!((value - expected).abs() < 1e-12, "{metric:?} {measure} {q}");
                }
            }
            assert!(checked > 75, "{metric:?}: {checked}");
        }
    }

    #[test]
    fn same_numbers_for_any_thread_count_and_gallery_order() {
        let (x, labels) = random(700, 33, 5);
        let items: Vec<usize> = (0..700).collect();
        let reversed: Vec<usize> = (0..700).rev().collect();
        let run = |threads: usize, gallery: &[usize]| {
            let protocol = Protocol::new(x.view(), &labels, &items, gallery);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            pool.install(|| evaluate(&protocol, &[1, 8], &Monitor::silent()))
                .unwrap()
        };
        assert_eq!(run(1, &items), run(2, &items));
        assert_eq!(run(1, &items), run(2, &reversed));
    }

    #[test]
    fn of_very_many_queries_a_sample_asks_each_class_in_its_share() {
        // Class 0 has half of the items, class 1 to 9 what is left, and 2 items are lone.
        let n = 2 * SAMPLE + 1000;
        let class = |i: usize| match i {
            0 | 1 => 100 + i,
            _ if i.is_multiple_of(2) => 0,
            _ => 1 + i / 2 % 9,
        };
        let labels = Labels::from_integers((0..n).map(|i| class(i) as i64));
        let x = Array2::from_shape_fn((n, 2), |(i, j)| {
            let angle = (i * 7919 % 1000) as f32 + 300.0 * class(i) as f32;
            if j == 0 { angle.cos() } else { angle.sin() }
        });
        let items: Vec<usize> = (0..n).collect();
        let gallery: Vec<usize> = (0..400).collect();
        let protocol = Protocol::new(x.view(), &labels, &items, &gallery);
        let sampled = evaluate(&protocol, &[1], &Monitor::silent()).unwrap();
        assert_eq!(sampled.drawn_from, Some(n));
        assert!(sampled.queries.len().abs_diff(SAMPLE) <= 1);
        assert!(sampled.queries.is_sorted());
        assert_eq!(sampled.skipped_queries, 0);
        let share = |class: u32| {
            let of = |items: &[usize]| {
                let members = items.iter().filter(|&&i| labels[i].class() == Some(class));
                members.count() as f64 / items.len() as f64
            };
            (of(&sampled.queries), of(&items))
        };
        for c in 0..10 {
            let (drawn, all) = share(c);
            assert!((drawn - all).abs() < 1e-3, "class {c}: {drawn} {all}");
        }
        // The sampled queries have the values that they have where all ask.
        let whole = evaluate(&protocol.all_queries(), &[1], &Monitor::silent()).unwrap();
        assert_eq!((whole.drawn_from, whole.queries.len()), (None, n));
        for measure in sampled.measures() {
            let (some, all) = (sampled.values(measure), whole.values(measure));
            let pairs = sampled.queries.iter().zip(some.unwrap());
            assert!(pairs.into_iter().all(|(&q, v)| *v == all.unwrap()[q]));
            let (a, b) = (sampled.mean(measure), whole.mean(measure));
            assert!((a.unwrap() - b.unwrap()).abs() < 0.02, "{measure}");
        }
        let few = Protocol::new(x.view(), &labels, &items[..SAMPLE], &gallery);
        let few = evaluate(&few, &[1], &Monitor::silent()).unwrap();
        assert_eq!(few.drawn_from, None);
    }

    #[test]
    fn a_query_does_not_find_the_row_that_is_the_same_thing() {
        // Items 2 and 3 are the rows 0 and 1 as the gallery has them.
        let x = angles(&[0.0, 50.0, 1.0, 51.0, 3.0]);
        let labels = Labels::parse(["a", "b", "a", "b", "a"]);
        let protocol = Protocol::new(x.view(), &labels, &[0, 1], &[2, 3, 4]);
        let run = |p: &Protocol| evaluate(p, &[1], &Monitor::silent()).unwrap();
        assert_eq!(run(&protocol).relevant, [2, 1]);
        let apart = run(&protocol.same_as(&[2, 3, 2, 3, 4]));
        assert_eq!(apart.relevant, [1, 0]);
        assert_eq!(apart.values(Measure::Recall(1)).unwrap(), [1.0, 0.0]);
        for wrong in [&[0, 1, 2][..], &[0, 1, 2, 3, 5]] {
            let wrong = protocol.same_as(wrong);
            assert!(evaluate(&wrong, &[1], &Monitor::silent()).is_err());
        }
    }

    #[test]
    fn duplicates_never_hide_the_query_itself() {
        // Items 0 and 1 are the same point with different classes: each finds the other
        // first, which dropping "the first hit" would have taken for the query.
        let x = ndarray::array![[1.0, 0.0], [1.0, 0.0], [0.8, 0.6], [0.8, 0.6]];
        let labels = Labels::parse(["a", "b", "a", "b"]);
        let items = [0, 1, 2, 3];
        let protocol = Protocol::within(x.view(), &labels, &items);
        let r = evaluate(&protocol, &[1, 2], &Monitor::silent()).unwrap();
        assert_eq!(r.values(Measure::Recall(1)).unwrap(), [0.0; 4]);
        assert_eq!(r.values(Measure::Recall(2)).unwrap(), [1.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn unknown_items_are_left_out_and_outside_items_are_wrong_answers() {
        let x = angles(&[0.0, 1.0, 2.0, 3.0]);
        let labels = Labels::parse(["a", "", "-2", "a"]);
        let items = [0, 1, 2, 3];
        let protocol = Protocol::within(x.view(), &labels, &items);
        let r = evaluate(&protocol, &[1, 2], &Monitor::silent()).unwrap();
        assert_eq!((r.skipped_queries, r.skipped_gallery, r.gallery), (2, 1, 3));
        assert_eq!(r.queries, [0, 3]);
        assert_eq!(r.values(Measure::Recall(1)).unwrap(), [0.0, 0.0]);
        assert_eq!(r.values(Measure::Recall(2)).unwrap(), [1.0, 1.0]);
    }

    /// A query of tags a, b, c and seven others at growing angles, of which one is not known.
    fn tagged() -> (Array2<f32>, Labels) {
        let x = angles(&[0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0]);
        let words: [&[&str]; 8] = [
            &["a", "b", "c"],
            &["c", "a", "b"],
            &["outside"],
            &[],
            &["a"],
            &["b", "c", "d"],
            &["d"],
            &["c"],
        ];
        let tags = crate::Tags::read(words.map(<[&str]>::to_vec)).unwrap();
        (x, Labels::of_tags(&tags).unwrap())
    }

    #[test]
    fn shared_tags_are_relevant_and_their_number_is_the_gain() {
        let (x, labels) = tagged();
        let all: Vec<usize> = (0..8).collect();
        let protocol = Protocol::new(x.view(), &labels, &[0], &all);
        let ranking = evaluate(&protocol, &[1, 2, 4, 6], &Monitor::silent()).unwrap();
        // Ranks 1, 3, 4 and 6 of the six that are known.
        assert_eq!((ranking.relevant[0], ranking.skipped_gallery), (4, 1));
        close(ranking.mean(Measure::Recall(1)), 1.0);
        close(ranking.mean(Measure::Precision(2)), 0.5);
        let ap = (1.0 + 2.0 / 3.0 + 3.0 / 4.0 + 4.0 / 6.0) / 4.0;
        close(ranking.mean(Measure::AveragePrecision), ap);
        let map_at_r = (1.0 + 2.0 / 3.0 + 3.0 / 4.0) / 4.0;
        close(ranking.mean(Measure::MapAtR), map_at_r);
        // scikit-learn 1.9.1: ndcg_score([[3, 0, 1, 2, 0, 1]], [[.95, .9, .8, .7, .6, .5]], k=k).
        for (k, expected) in [
            (1, 1.0),
            (2, 0.703_918_089_034_134_8),
            (4, 0.839_927_361_383_690_8),
            (6, 0.908_527_209_826_570_1),
        ] {
            close(ranking.mean(Measure::Ndcg(k)), expected);
        }
        // By hand: gains 3, 0 of the best 3, 2.
        let by_hand = 3.0 / (3.0 + 2.0 / 3_f64.log2());
        close(ranking.mean(Measure::Ndcg(2)), by_hand);
        // The same of gains 0, 1, 0, 2, 3, 1.
        let ranks = [2, 4, 5, 6];
        for (k, expected) in [
            (1, 0.0),
            (2, 0.148_040_955_482_932_6),
            (4, 0.287_389_986_506_733_75),
            (6, 0.579_494_959_830_296_5),
        ] {
            assert!((ndcg(k, &ranks, &[1, 2, 3, 1]) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn who_shares_no_tag_is_lone_and_who_has_none_does_not_ask() {
        let (x, labels) = tagged();
        let protocol = Protocol::new(x.view(), &labels, &[2, 3, 6], &[0, 2, 4]);
        let ranking = evaluate(&protocol, &[1], &Monitor::silent()).unwrap();
        assert_eq!(
            (&ranking.queries[..], ranking.skipped_queries),
            (&[6][..], 2)
        );
        assert_eq!((ranking.lone(), ranking.mean(Measure::Ndcg(1))), (1, None));
        close(ranking.mean(Measure::Recall(1)), 0.0);
        // Single labels have no grades.
        let (x, labels) = random(20, 3, 3);
        let items: Vec<usize> = (0..20).collect();
        let protocol = Protocol::within(x.view(), &labels, &items);
        let ranking = evaluate(&protocol, &[1], &Monitor::silent()).unwrap();
        assert_eq!(ranking.values(Measure::Ndcg(1)), None);
    }

    proptest! {
        #[test]
        fn tags_agree_with_a_naive_ranking(
            values in prop::collection::vec((-3_i8..4, -3_i8..4), 2..30),
            sets in prop::collection::vec(prop::collection::vec(0_u32..4, 0..4), 30),
        ) {
            let n = values.len();
            let x = Array2::from_shape_fn((n, 2), |(i, j)| {
                f32::from(if j == 0 { values[i].0 } else { values[i].1 })
            });
            let names: Vec<String> = (0..4).map(|i| format!("t{i}")).collect();
            let known = sets[..n].iter().cloned().map(Some);
            let tags = crate::Tags::new(names, known).unwrap();
            prop_assume!((0..n).any(|i| !tags.set(i).is_empty()));
            let labels = Labels::of_tags(&tags).unwrap();
            let items: Vec<usize> = (0..n).collect();
            let protocol = Protocol::within(x.view(), &labels, &items).metric(Metric::InnerProduct);
            let ranking = evaluate(&protocol, &[1, 3], &Monitor::silent()).unwrap();
            for (place, &q) in ranking.queries.iter().enumerate() {
                let mut order: Vec<usize> = items.iter().copied().filter(|&i| i != q).collect();
                let score = |i: usize| x.row(q).dot(&x.row(i));
                order.sort_by(|&a, &b| score(b).total_cmp(&score(a)).then(a.cmp(&b)));
                let gains: Vec<f64> = order.iter().map(|&i| tags.shared(q, i) as f64).collect();
                let mut best = gains.clone();
                best.sort_by(|a, b| b.total_cmp(a));
                let dcg = |gains: &[f64]| -> f64 {
                    let each = gains.iter().take(3).enumerate();
                    each.map(|(r, g)| g / (r as f64 + 2.0).log2()).sum()
                };
                let relevant = gains.iter().filter(|&&g| g > 0.0).count();
                prop_assert_eq!(ranking.relevant[place], relevant);
                let expected = if relevant == 0 { 0.0 } else { dcg(&gains) / dcg(&best) };
                let found = ranking.values(Measure::Ndcg(3)).unwrap()[place];
                prop_assert!((found - expected).abs() < 1e-12, "{found} {expected}");
                let hits = gains.iter().take(3).filter(|&&g| g > 0.0).count();
                let found = ranking.values(Measure::Precision(3)).unwrap()[place];
                prop_assert!((found - hits as f64 / 3.0).abs() < 1e-12);
            }
        }

        #[test]
        fn one_tag_an_item_is_its_class(
            (x, labels) in (4_usize..40, 1_u32..5).prop_map(|(n, classes)| random(n, 3, classes)),
        ) {
            let own = labels.items().iter().map(|label| label.class().map(|class| vec![class]));
            let tags = crate::Tags::new(labels.classes().to_vec(), own).unwrap();
            let sets = Labels::of_tags(&tags).unwrap();
            let items: Vec<usize> = (0..labels.len()).collect();
            let of = |labels: &Labels| {
                let protocol = Protocol::within(x.view(), labels, &items);
                evaluate(&protocol, &[1, 4], &Monitor::silent()).unwrap()
            };
            let (single, several) = (of(&labels), of(&sets));
            for measure in single.measures() {
                prop_assert_eq!(single.values(measure), several.values(measure));
            }
            prop_assert_eq!(&single.first, &several.first);
        }
    }

    #[test]
    fn degenerate_protocols() {
        let x = angles(&[0.0, 1.0]);
        let labels = Labels::parse(["a", "b"]);
        let run = |queries: &[usize], gallery: &[usize], ks: &[usize]| {
            let protocol = Protocol::new(x.view(), &labels, queries, gallery);
            evaluate(&protocol, ks, &Monitor::silent())
        };
        let lone = run(&[0, 1], &[0, 1], &[1]).unwrap();
        assert_eq!(lone.mean(Measure::Recall(1)), Some(0.0));
        assert_eq!(lone.mean(Measure::AveragePrecision), None);
        assert_eq!(lone.mean(Measure::Recall(7)), None);
        assert_eq!(run(&[0], &[0], &[1]).unwrap().lone(), 1);
        for (queries, gallery, ks, message) in [
            (&[][..], &[0][..], &[1][..], "no query"),
            (&[0], &[], &[1], "nothing to search"),
            (&[0], &[1], &[0], "k = 0"),
            (&[0, 0], &[1], &[1], "twice"),
            (&[0], &[9], &[1], "item 9"),
        ] {
            let error = run(queries, gallery, ks).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        let bad = ndarray::array![[f32::NAN], [1.0]];
        let protocol = Protocol::within(bad.view(), &labels, &[0, 1]);
        let error = evaluate(&protocol, &[1], &Monitor::silent()).unwrap_err();
        assert!(error.to_string().contains("NaN"));
    }
}
