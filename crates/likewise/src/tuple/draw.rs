//! Tuples drawn at random from classes: the common part of [labels](super::labels) and
//! [beliefs](super::beliefs).
//!
//! Every item of a known class is an anchor once. For pairs it draws at most `per_item` others
//! of its class, and as many of other classes; for triplets, at most `per_item` of all
//! combinations of the two. All draws are without replacement, so nothing is in twice.

use rand::seq::index::sample;

use super::{Pairs, Triplets};
use crate::{Error, Monitor, Result, seed};

/// Anchors between two looks at whether to stop.
const STRIDE: usize = 4096;

/// What tuples are drawn from: items of known class, sorted by it.
pub(crate) struct Classes {
    /// The items, class by class, ascending within one.
    order: Vec<u32>,
    /// Where each class begins in `order`, and the end.
    begins: Vec<usize>,
    /// How much an item counts, by its number.
    weight: Vec<f32>,
}

/// An anchor and the places in `order` of its class.
struct Anchor {
    item: u32,
    place: usize,
    own: std::ops::Range<usize>,
}

impl Classes {
    /// From a class and a weight above 0 for the items that have one.
    pub(crate) fn new(n: usize, of: impl Fn(usize) -> Option<(u32, f32)>) -> Self {
        let mut weight = vec![0.0; n];
        let mut order = Vec::new();
        for (item, own) in weight.iter_mut().enumerate() {
            if let Some((class, w)) = of(item) {
                *own = w;
                order.push((class, item as u32));
            }
        }
        order.sort_unstable();
        let mut begins = vec![0];
        begins.extend((1..order.len()).filter(|&at| order[at].0 != order[at - 1].0));
        begins.push(order.len());
        Self {
            order: order.into_iter().map(|(_, item)| item).collect(),
            begins,
            weight,
        }
    }

    fn anchors(&self) -> impl Iterator<Item = Anchor> + '_ {
        self.begins.windows(2).flat_map(move |bounds| {
            let own = bounds[0]..bounds[1];
            own.clone().map(move |place| Anchor {
                item: self.order[place],
                place,
                own: own.clone(),
            })
        })
    }

    /// The `at`-th other item of the class of an anchor.
    fn positive(&self, anchor: &Anchor, at: usize) -> u32 {
        let place = anchor.own.start + at;
        self.order[place + usize::from(place >= anchor.place)]
    }

    /// The `at`-th item of other classes.
    fn negative(&self, anchor: &Anchor, at: usize) -> u32 {
        let skipped = if at < anchor.own.start {
            0
        } else {
            anchor.own.len()
        };
        self.order[at + skipped]
    }

    fn weight(&self, items: &[u32]) -> f32 {
        items.iter().map(|&i| self.weight[i as usize]).product()
    }

    /// Pairs, each once, sorted by their smaller and their larger item.
    pub(crate) fn pairs(&self, per_item: usize, seed: u64, monitor: &Monitor) -> Result<Pairs> {
        let mut found = Vec::new();
        self.draw(per_item, seed, "pairs", monitor, |anchor, rng| {
            let (others, rest) = self.others(anchor);
            let pair = |other: u32, alike| {
                let a = anchor.item;
                (a.min(other), a.max(other), alike)
            };
            let places = sample(rng, others, per_item.min(others));
            found.extend(
                places
                    .iter()
                    .map(|at| pair(self.positive(anchor, at), true)),
            );
            let places = sample(rng, rest, per_item.min(rest));
            found.extend(
                places
                    .iter()
                    .map(|at| pair(self.negative(anchor, at), false)),
            );
        })?;
        found.sort_unstable();
        // Both ends may have drawn it.
        found.dedup();
        let mut pairs = Pairs::default();
        for (a, b, alike) in found {
            pairs.push(a, b, alike, self.weight(&[a, b]));
        }
        Ok(pairs)
    }

    /// Triplets, anchor by anchor.
    pub(super) fn triplets(
        &self,
        per_item: usize,
        seed: u64,
        monitor: &Monitor,
    ) -> Result<Triplets> {
        let mut found = Vec::new();
        self.draw(per_item, seed, "triplets", monitor, |anchor, rng| {
            let (others, rest) = self.others(anchor);
            let all = others.saturating_mul(rest);
            let chosen = sample(rng, all, per_item.min(all));
            found.extend(chosen.iter().map(|at| {
                let positive = self.positive(anchor, at / rest);
                (anchor.item, positive, self.negative(anchor, at % rest))
            }));
        })?;
        found.sort_unstable();
        let mut triplets = Triplets::default();
        for (a, p, n) in found {
            triplets.push(a, p, n, self.weight(&[a, p, n]));
        }
        Ok(triplets)
    }

    /// How many others of its class an anchor has, and how many items there are of other classes.
    fn others(&self, anchor: &Anchor) -> (usize, usize) {
        (anchor.own.len() - 1, self.order.len() - anchor.own.len())
    }

    fn draw(
        &self,
        per_item: usize,
        seed: u64,
        what: &str,
        monitor: &Monitor,
        mut each: impl FnMut(&Anchor, &mut seed::Rng),
    ) -> Result<()> {
        if per_item == 0 {
            return Err(Error::parameter("per_item", 0, "must be at least 1"));
        }
        let mut rng = seed::stream(seed, &format!("{what} of classes"));
        monitor.start(format!("drawing {what}"), self.order.len() as u64);
        for (at, anchor) in self.anchors().enumerate() {
            if at % STRIDE == 0 {
                monitor.step(at as u64)?;
            }
            each(&anchor, &mut rng);
        }
        monitor.end();
        Ok(())
    }
}
