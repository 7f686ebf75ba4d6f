//! The batches of an epoch.

use std::collections::HashSet;

use burn::tensor::Device;
use likewise::learn::Targets;
use likewise::seed::Rng;
use likewise::{Tags, Triplets};
use rand::seq::SliceRandom;

use crate::Result;
use crate::loss::{Batch, Classes, Pairs, Relation};
use crate::sample::{Items, Sampler, groups};

/// How the steps of an epoch are drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draw<'a> {
    pub(super) sampler: &'a Sampler,
    /// Whether the loss looks at pairs or triplets.
    pub(super) tuples: bool,
    /// Super-class of each class.
    pub(super) groups: &'a [u32],
    /// The tags of each class, and by what they are alike, where items have several labels.
    pub(super) tags: Option<(&'a Tags, Relation)>,
    pub(super) batch: usize,
    /// Most steps; 0: no limit.
    pub(super) steps: usize,
    /// How often an epoch on known labels alone goes through them.
    pub(super) labeled_passes: usize,
    /// Whether an item that is drawn twice is augmented twice.
    pub(super) augment: bool,
}

/// The items of a step and what the loss is told of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    /// Items, by their number.
    pub(super) items: Vec<usize>,
    /// Triplets of places in `items`.
    pub(super) triplets: Option<Triplets>,
}

/// The steps of an epoch: batches of items, or of triplets where the loss takes tuples and
/// there are some.
pub(super) fn of(targets: &Targets, draw: &Draw, rng: &mut Rng) -> Vec<Step> {
    let &Draw { tuples, batch, .. } = draw;
    let limit = |steps: usize| match draw.steps {
        0 => steps,
        most => steps.min(most),
    };
    if let (Some(triplets), true) = (&targets.triplets, tuples) {
        let mut order: Vec<usize> = (0..triplets.len()).collect();
        order.shuffle(rng);
        let steps = limit(order.len().div_ceil(batch));
        let chunks = order.chunks(batch).take(steps);
        return chunks.map(|chunk| of_triplets(triplets, chunk)).collect();
    }
    let items = Items {
        class: &targets.class,
        weight: &targets.weight,
        labeled: &targets.labeled,
        group: draw.groups,
        augmented: draw.augment,
    };
    let drawn = targets.weight.iter().filter(|&&w| w > 0.0).count();
    let passes = match targets.passes {
        0 => draw.labeled_passes,
        passes => passes,
    };
    let steps = limit(passes * drawn.div_ceil(batch));
    let batches = match (draw.tags, draw.sampler) {
        (Some((tags, _)), Sampler::PerClass { .. } | Sampler::Hierarchical { .. }) => {
            by_tag(tags, &items, draw, steps, rng)
        }
        _ => draw.sampler.epoch(&items, batch, steps, rng),
    };
    let step = |items| Step {
        items,
        triplets: None,
    };
    batches.into_iter().map(step).collect()
}

/// Batches of so many items of each of some tags: every tag of an item is an entry of its own, and an item
/// that comes by several comes once (twice where it would look different). So every batch holds items
/// that share a tag, however rare their sets are. Few tags give more items each, until the batch is full.
fn by_tag(tags: &Tags, items: &Items, draw: &Draw, steps: usize, rng: &mut Rng) -> Vec<Vec<usize>> {
    let (mut item, mut tag) = (Vec::new(), Vec::new());
    for (i, &class) in items.class.iter().enumerate() {
        if items.weight[i] > 0.0 {
            for &own in tags.of(class as usize).unwrap_or_default() {
                item.push(i);
                tag.push(own);
            }
        }
    }
    let groups = groups(tags.names());
    let entries = Items {
        class: &tag,
        weight: &item.iter().map(|&i| items.weight[i]).collect::<Vec<_>>(),
        labeled: &item.iter().map(|&i| items.labeled[i]).collect::<Vec<_>>(),
        group: &groups,
        augmented: items.augmented,
    };
    let sampler = match *draw.sampler {
        Sampler::PerClass { per_class } => {
            let tags = tag.iter().collect::<HashSet<_>>().len().max(1);
            Sampler::PerClass {
                per_class: per_class.max(draw.batch / tags),
            }
        }
        other => other,
    };
    let batches = sampler.epoch(&entries, draw.batch, steps, rng);
    let once = |batch: Vec<usize>| {
        let mut seen = HashSet::new();
        let own = batch.into_iter().map(|entry| item[entry]);
        own.filter(|&i| seen.insert(i) || items.augmented).collect()
    };
    batches.into_iter().map(once).collect()
}

impl Step {
    /// Classes and weights of its items.
    pub(super) fn classes(&self, targets: &Targets) -> (Vec<u32>, Vec<f32>) {
        let items = self.items.iter();
        items
            .map(|&i| (targets.class[i], targets.weight[i]))
            .unzip()
    }

    /// What the loss is told of it.
    pub(super) fn batch(
        &self,
        targets: &Targets,
        classes: usize,
        tags: Option<(&Tags, Relation)>,
        device: &Device,
    ) -> Result<Batch> {
        let (own, weights) = self.classes(targets);
        if let Some((tags, relation)) = tags {
            let grade = |i: usize, j: usize| relation.grade(tags, own[i] as usize, own[j] as usize);
            return Ok(Batch {
                pairs: Pairs::from_grades(own.len(), &weights, device, grade)?,
                classes: Some(Classes::several(&own, tags, &weights, device)?),
                triplets: self.triplets.clone(),
            });
        }
        Ok(Batch {
            pairs: Pairs::from_classes(&own, &weights, device)?,
            classes: Some(Classes::new(&own, classes, &weights, device)?),
            triplets: self.triplets.clone(),
        })
    }
}

/// The items of some triplets, each once, and the triplets by places among them.
fn of_triplets(triplets: &Triplets, chosen: &[usize]) -> Step {
    let three = |&t: &usize| {
        [
            triplets.anchors[t],
            triplets.positives[t],
            triplets.negatives[t],
        ]
    };
    let mut items: Vec<u32> = chosen.iter().flat_map(three).collect();
    items.sort_unstable();
    items.dedup();
    let mut places = Triplets::default();
    for t in chosen {
        let [a, p, n] = three(t).map(|item| items.partition_point(|&i| i < item) as u32);
        places.push(a, p, n, triplets.weights[*t]);
    }
    Step {
        items: items.into_iter().map(|i| i as usize).collect(),
        triplets: Some(places),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_tags_hold_items_that_share_one() {
        // Every item has a set of its own: by sets no batch would hold two that are alike.
        let words = |i: usize| vec![format!("first/{}", i % 4), format!("second/{}", i / 4)];
        let tags = Tags::read((0..16).map(words)).unwrap();
        let targets = Targets {
            class: (0..16).collect(),
            weight: (0..16).map(|i| f32::from(u8::from(i != 5))).collect(),
            labeled: vec![true; 16],
            passes: 3,
            triplets: None,
            since: 0,
        };
        let sampler = Sampler::PerClass { per_class: 3 };
        let draw = Draw {
            sampler: &sampler,
            tuples: true,
            groups: &[],
            tags: Some((&tags, Relation::Shared)),
            batch: 6,
            steps: 0,
            labeled_passes: 10,
            augment: false,
        };
        let mut rng = likewise::seed::stream(1, "test");
        let steps = of(&targets, &draw, &mut rng);
        assert_eq!(steps.len(), 9);
        for Step { items, .. } in &steps {
            assert!((5..=6).contains(&items.len()), "{items:?}");
            assert!(!items.contains(&5));
            let alike = |a: usize, b: usize| tags.shared(a, b) > 0;
            for &a in items {
                assert!(items.iter().any(|&b| b != a && alike(a, b)), "{items:?}");
            }
            let mut once = items.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), items.len());
        }
        let step = Step {
            items: vec![0, 1, 4, 6],
            triplets: None,
        };
        let device = Device::flex();
        let batch = step.batch(&targets, 16, draw.tags, &device).unwrap();
        let positive = batch.pairs.positive.try_into_vec_as::<f32>().unwrap();
        assert_eq!(positive[..4], [0.0, 1.0, 1.0, 0.0]);
        let own = batch.classes.unwrap().own.try_into_vec_as::<f32>().unwrap();
        assert_eq!(own[..8], [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn few_tags_fill_a_batch() {
        let tags = Tags::read((0..4).map(|i| [i.to_string()])).unwrap();
        let targets = Targets {
            class: (0..16).map(|i| i % 4).collect(),
            weight: vec![1.0; 16],
            labeled: vec![true; 16],
            passes: 1,
            triplets: None,
            since: 0,
        };
        let draw = Draw {
            sampler: &Sampler::PerClass { per_class: 2 },
            tuples: true,
            groups: &[],
            tags: Some((&tags, Relation::Shared)),
            batch: 12,
            steps: 5,
            labeled_passes: 10,
            augment: false,
        };
        let mut rng = likewise::seed::stream(1, "test");
        for step in of(&targets, &draw, &mut rng) {
            assert_eq!(step.items.len(), 12);
        }
    }

    #[test]
    fn triplets_become_places_in_their_batch() {
        let mut triplets = Triplets::default();
        for (a, p, n) in [(9, 4, 7), (4, 9, 2), (7, 2, 4)] {
            triplets.push(a, p, n, a as f32);
        }
        let targets = Targets {
            class: vec![0; 10],
            weight: vec![1.0; 10],
            labeled: vec![false; 10],
            passes: 1,
            triplets: Some(triplets.clone()),
            since: 0,
        };
        let mut rng = likewise::seed::stream(1, "test");
        let draw = Draw {
            sampler: &Sampler::Plain,
            tuples: true,
            groups: &[],
            tags: None,
            batch: 2,
            steps: 0,
            labeled_passes: 10,
            augment: false,
        };
        let steps = of(&targets, &draw, &mut rng);
        assert_eq!(steps.len(), 2);
        let mut seen = Vec::new();
        for step in &steps {
            let item = |place: u32| step.items[place as usize] as u32;
            let listed = step.triplets.as_ref().unwrap().iter();
            seen.extend(listed.map(|(a, p, n, w)| (item(a), item(p), item(n), w)));
        }
        seen.sort_by_key(|t| t.0);
        assert_eq!(seen, [(4, 9, 2, 4.0), (7, 2, 4, 7.0), (9, 4, 7, 9.0)]);
        // A loss of classes looks at items.
        let draw = Draw {
            tuples: false,
            batch: 4,
            steps: 2,
            ..draw
        };
        let steps = of(&targets, &draw, &mut rng);
        assert!(steps.len() == 2 && steps.iter().all(|s| s.triplets.is_none()));
        // Ten items in batches of four: three batches a pass.
        let passes = |passes: usize, labeled_passes: usize| {
            let targets = Targets {
                passes,
                ..targets.clone()
            };
            let draw = Draw {
                steps: 0,
                labeled_passes,
                ..draw
            };
            let mut rng = likewise::seed::stream(1, "test");
            of(&targets, &draw, &mut rng).len()
        };
        assert_eq!([passes(1, 10), passes(0, 10), passes(0, 1)], [3, 30, 3]);
    }
}
