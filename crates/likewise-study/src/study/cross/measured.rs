//! How well a query of one view finds items of its class in another.

use std::collections::BTreeMap;

use likewise::cross::Embedding;
use likewise::distance::Metric;
use likewise::eval::hit_rate;
use likewise::eval::map50::{Map50, Ties};
use likewise::{Label, Labels, Monitor, seed};
use rand::seq::SliceRandom;

use super::embedded::{Embedded, mixed, nearest_items, select_items};
use crate::Result;

/// What is asked, and of whom.
pub(super) struct Asked<'a> {
    pub(super) labels: &'a Labels,
    pub(super) names: &'a [&'a str],
    pub(super) queries: &'a Embedded,
    pub(super) gallery: &'a Embedded,
    pub(super) ks: &'a [usize],
    pub(super) seed: u64,
}

/// By metric and direction: the value of each query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured(pub(super) BTreeMap<String, BTreeMap<String, Vec<f64>>>);

/// From one view to another.
pub(super) fn direction(from: &str, to: &str) -> String {
    format!("{from}_to_{to}")
}

impl Measured {
    /// Each view asks each other one. The paired item of a query stays in the gallery.
    ///
    /// `map50`, and R@k of codes, are the mean over all orders of equally near items; `map50_stable` takes them as they
    /// stand in a gallery that is shuffled by the seed, since one that lies class by class would
    /// favour the first classes.
    pub(super) fn of(asked: &Asked, monitor: &Monitor) -> Result<Self> {
        let mut by_metric: BTreeMap<String, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
        let views = asked.names.len();
        let pairs = (0..views).flat_map(|a| (0..views).map(move |b| (a, b)));
        for (a, b) in pairs.filter(|(a, b)| a != b) {
            let asks = &asked.queries.items[a];
            let mut order: Vec<usize> = (0..asked.gallery.items[b].len()).collect();
            order.shuffle(&mut seed::stream(asked.seed, "gallery"));
            let items: Vec<usize> = order.iter().map(|&p| asked.gallery.items[b][p]).collect();
            let searched = select_items(&asked.gallery.rows[b], &order);
            let (queries, labels) = (&asked.queries.rows[a], asked.labels);
            let relevant = |q: usize, item: usize| alike(labels[asks[q]], labels[items[item]]);
            let mut put = |metric: String, values: Vec<f64>| {
                let by_direction = by_metric.entry(metric).or_default();
                by_direction.insert(direction(asked.names[a], asked.names[b]), values);
            };
            for (metric, ties) in [("map50", Ties::Expected), ("map50_stable", Ties::Stable)] {
                let map50 = Map50::new().ties(ties);
                let found = match (queries, &searched) {
                    (Embedding::Bits(q), Embedding::Bits(s)) => {
                        map50.codes(q, s, &relevant, monitor)?
                    }
                    (Embedding::Real(q), Embedding::Real(s)) => {
                        map50.rows(q.view(), s.view(), Metric::Cosine, &relevant, monitor)?
                    }
                    _ => return Err(mixed()),
                };
                put(metric.into(), found.per_query);
            }
            let found = if let (Embedding::Bits(q), Embedding::Bits(s)) = (queries, &searched) {
                hit_rate::expected(q, s, asked.ks, &relevant, monitor)?
            } else {
                let most = asked.ks.iter().copied().max().unwrap_or(1);
                let near = nearest_items(queries, &searched, most, monitor)?;
                let hit = |k: usize| {
                    let hit = move |(q, near): (usize, &Vec<(usize, f32)>)| {
                        let found = near.iter().take(k).any(|&(item, _)| relevant(q, item));
                        f64::from(u8::from(found))
                    };
                    near.iter().enumerate().map(hit).collect()
                };
                asked.ks.iter().map(|&k| hit(k)).collect()
            };
            for (k, values) in asked.ks.iter().zip(found) {
                put(format!("recall@{k}"), values);
            }
        }
        Ok(Self(by_metric))
    }
}

/// Whether the classes of two items are known and the same.
fn alike(a: Label, b: Label) -> bool {
    a.class().is_some() && a.class() == b.class()
}
