//! What an epoch learns, and the batches of it.

use burn::tensor::Device;
use likewise::Triplets;
use likewise::seed::Rng;
use rand::seq::SliceRandom;

use crate::Result;
use crate::loss::{Batch, Classes, Pairs};
use crate::sample::{Items, Sampler};

/// What an epoch learns: a class and a weight for every item (0 = absent), and triplets
/// where there are explicit ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Targets {
    pub(crate) class: Vec<u32>,
    pub(crate) weight: Vec<f32>,
    /// Whether the label of an item is known.
    pub(crate) labeled: Vec<bool>,
    /// How often an epoch goes through the items.
    pub(crate) passes: usize,
    /// Losses of pairs and triplets take these in place of classes.
    pub(crate) triplets: Option<Triplets>,
}

/// The items of a step and what the loss is told of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    /// Items, by their number.
    pub(super) items: Vec<usize>,
    /// Triplets of places in `items`.
    pub(super) triplets: Option<Triplets>,
}

impl Targets {
    /// The steps of an epoch: batches of items, or of triplets where the loss takes `tuples`
    /// and there are some.
    pub(super) fn steps(
        &self,
        sampler: &Sampler,
        tuples: bool,
        groups: &[u32],
        (batch, most): (usize, usize),
        rng: &mut Rng,
    ) -> Vec<Step> {
        let limit = |steps: usize| if most > 0 { steps.min(most) } else { steps };
        if let (Some(triplets), true) = (&self.triplets, tuples) {
            let mut order: Vec<usize> = (0..triplets.len()).collect();
            order.shuffle(rng);
            let steps = limit(order.len().div_ceil(batch));
            let chunks = order.chunks(batch).take(steps);
            return chunks.map(|chunk| of_triplets(triplets, chunk)).collect();
        }
        let items = Items {
            class: &self.class,
            weight: &self.weight,
            labeled: &self.labeled,
            group: groups,
        };
        let drawn = self.weight.iter().filter(|&&w| w > 0.0).count();
        let steps = limit(self.passes * drawn.div_ceil(batch));
        let batches = sampler.epoch(&items, batch, steps, rng);
        let step = |items| Step {
            items,
            triplets: None,
        };
        batches.into_iter().map(step).collect()
    }

    /// Classes and weights of the items of a step.
    pub(super) fn of(&self, step: &Step) -> (Vec<u32>, Vec<f32>) {
        let items = step.items.iter();
        items.map(|&i| (self.class[i], self.weight[i])).unzip()
    }

    /// What the loss is told of a step.
    pub(super) fn batch(&self, step: &Step, classes: usize, device: &Device) -> Result<Batch> {
        let (own, weights) = self.of(step);
        Ok(Batch {
            pairs: Pairs::from_classes(&own, &weights, device)?,
            classes: Some(Classes::new(&own, classes, &weights, device)?),
            triplets: step.triplets.clone(),
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
        };
        let mut rng = likewise::seed::stream(1, "test");
        let steps = targets.steps(&Sampler::Plain, true, &[], (2, 0), &mut rng);
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
        let steps = targets.steps(&Sampler::Plain, false, &[], (4, 2), &mut rng);
        assert!(steps.len() == 2 && steps.iter().all(|s| s.triplets.is_none()));
    }
}
