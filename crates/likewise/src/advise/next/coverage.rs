//! Coverage: items that stand for many others which are near no label.
//!
//! With `k_uv = w_uv / max w` on the edges of the graph and `k_vv = 1`, the items that are labeled or
//! in the batch, S, cover an item u by `c_u = max over s in S of k_us`. Next comes the item that adds most,
//! `sum over u of r_u max(k_uv - c_u, 0)`, here with `r_u = 1`.
//!
//! **Use it** at the start, before there is anything to be unsure about. **Not** where some classes are
//! much smaller than the neighbourhoods of the graph: nothing asks for them.
//!
//! Cost: O(entries) to begin, O(k^2) an item; memory O(n). No solve: the cheapest that looks ahead.
//!
//! Source: greedy facility location, which reaches `1 - 1/e` of the best batch (Nemhauser, Wolsey and Fisher
//! 1978); covering the graph of near neighbours for few labels is Yehuda et al. 2022.

use super::pool::Chooser;
use crate::{Graph, Label, Labels, Monitor, Result};

/// A cover that grows item by item.
#[derive(Debug, Clone)]
pub(crate) struct Cover<'a> {
    graph: &'a Graph,
    /// What the largest weight is divided by.
    largest: f64,
    /// What covering an item counts.
    counts: Vec<f64>,
    covered: Vec<f64>,
    gain: Vec<f64>,
}

impl<'a> Cover<'a> {
    /// The cover by labeled items; `counts` is 1 for each item where it is not given.
    pub(crate) fn new(graph: &'a Graph, labels: &Labels, counts: Option<Vec<f64>>) -> Self {
        let n = graph.n();
        let largest = graph.weights().iter().copied().fold(0.0_f32, f32::max);
        let mut cover = Self {
            graph,
            largest: f64::from(largest),
            counts: counts.unwrap_or_else(|| vec![1.0; n]),
            covered: vec![0.0; n],
            gain: Vec::new(),
        };
        // What is known to be of none of the classes is known, too: nobody need be asked around it.
        for item in (0..n).filter(|&item| labels[item] != Label::Unknown) {
            for (near, k) in cover.near(item) {
                cover.covered[near] = cover.covered[near].max(k);
            }
        }
        let gain = |item: usize| {
            let near = cover.near(item);
            near.map(|(u, k)| cover.counts[u] * (k - cover.covered[u]).max(0.0))
                .sum()
        };
        cover.gain = (0..n).map(gain).collect();
        cover
    }

    /// The item itself, and its neighbours, with `k`.
    fn near(&self, item: usize) -> impl Iterator<Item = (usize, f64)> + use<'a> {
        let (neighbors, weights) = self.graph.row(item);
        let largest = self.largest;
        let others = neighbors.iter().zip(weights);
        let others = others.map(move |(&j, &w)| (j as usize, f64::from(w) / largest));
        std::iter::once((item, 1.0)).chain(others)
    }
}

impl Chooser for Cover<'_> {
    fn worth(&self) -> &[f64] {
        &self.gain
    }

    fn take(&mut self, item: usize, _: &Monitor) -> Result<()> {
        for (u, now) in self.near(item) {
            let before = self.covered[u];
            if now <= before {
                continue;
            }
            for (v, k) in self.near(u) {
                let lost = (k - before).max(0.0) - (k - now).max(0.0);
                self.gain[v] -= self.counts[u] * lost;
            }
            self.covered[u] = now;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::reference::{dense, path, random_graph, random_labels};

    /// The gains from the formula, with an n x n matrix.
    fn naive(graph: &Graph, counts: &[f64], chosen: &[usize]) -> Vec<f64> {
        let mut k = dense(graph);
        let largest = k.iter().copied().fold(0.0, f64::max);
        if largest > 0.0 {
            k /= largest;
        }
        k.diag_mut().fill(1.0);
        let n = graph.n();
        let covered = |u: usize| chosen.iter().map(|&s| k[[u, s]]).fold(0.0, f64::max);
        (0..n)
            .map(|v| {
                (0..n)
                    .map(|u| counts[u] * (k[[u, v]] - covered(u)).max(0.0))
                    .sum()
            })
            .collect()
    }

    #[test]
    fn what_is_of_none_of_the_classes_covers_its_neighbours() {
        let (graph, outside) = (
            path(),
            Labels::new(vec!["a".into()], vec![Label::Outside; 4]),
        );
        let all = Cover::new(&graph, &outside.unwrap(), None);
        assert_eq!(all.worth(), [0.0; 4]);
        let mut items = vec![Label::Unknown; 4];
        items[1] = Label::Outside;
        let one = Cover::new(&graph, &Labels::new(vec!["a".into()], items).unwrap(), None);
        // Item 1 covers itself and 0 as a label would, and half of 2.
        assert_eq!(one.worth(), [0.0, 0.0, 1.5, 1.5]);
    }

    #[test]
    fn the_path_by_hand() {
        // 0-1-2-3 with weights 1, 1/2, 1: items 1 and 2 cover 1 + 1 + 1/2.
        let graph = path();
        let mut cover = Cover::new(&graph, &Labels::unknown(4), None);
        assert_eq!(cover.worth(), [2.0, 2.5, 2.5, 2.0]);
        cover.take(1, &Monitor::silent()).unwrap();
        // Item 3 adds itself and half of item 2, item 2 adds half of itself and item 3.
        assert_eq!(cover.worth(), [0.0, 0.0, 1.5, 1.5]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn gains_are_those_of_the_formula(n in 1_usize..40, seed in 0_u64..1000) {
            let graph = random_graph(n, 3 * n, seed);
            let labels = random_labels(n, 3, seed);
            let counts: Vec<f64> = (0..n).map(|i| f64::from((i * 7 % 5) as u32) / 4.0).collect();
            let mut cover = Cover::new(&graph, &labels, Some(counts.clone()));
            let mut chosen: Vec<usize> =
                (0..n).filter(|&i| labels[i].class().is_some()).collect();
            for item in [0, n / 2, n - 1] {
                let wanted = naive(&graph, &counts, &chosen);
                for (found, wanted) in cover.worth().iter().zip(&wanted) {
                    prop_assert!((found - wanted).abs() < 1e-6, "{found} for {wanted}");
                }
                cover.take(item, &Monitor::silent()).unwrap();
                chosen.push(item);
            }
        }
    }
}
