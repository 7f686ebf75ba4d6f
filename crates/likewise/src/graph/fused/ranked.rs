//! The neighbours that stand first in the lists of several views.

use ndarray::Array2;

use super::views::{Lists, OfView, Searching, Views};
use crate::neighbor::Neighbors;
use crate::{Monitor, Result, parallel};

/// Share of the neighbours of neighbours that are neighbours themselves, beyond chance, from which on a view
/// weighs in full.
const HANGS_TOGETHER: f64 = 0.25;
/// What a view weighs at least.
const LEAST: f64 = 1e-3;
/// What a view counts in the number that a sum of scores is divided by, where one item of the pair lacks it.
const UNKNOWN: f64 = 0.5;

/// The `k` items of the largest mean score of each item, by lists of `depth` neighbours, and these scores.
pub(super) fn ranked(
    k: usize,
    depth: usize,
    of: &Views,
    search: &mut Searching,
    monitor: &Monitor,
) -> Result<Neighbors> {
    let n = of.n();
    let mut lists = Vec::with_capacity(of.apart.len() + 1);
    for view in &of.apart {
        lists.push(Lists::of(view, depth, search)?);
    }
    let whole = OfView {
        name: "",
        rows: of.side_by_side,
        present: having_all(of),
    };
    lists.push(Lists::of(&whole, depth, search)?);
    let weights: Vec<f64> = lists.iter().map(|of| weight(&of.neighbors, k)).collect();
    tell(of, &weights, monitor);
    let scores = Scores {
        n,
        k,
        partial: lists.iter().any(|of| of.items.0.is_some()),
        lists,
        weights,
    };
    let mut found = Array2::from_elem((n, k), (0_u32, 0_f32));
    parallel::each_row(&mut found, |i, mut row| {
        for (place, found) in row.iter_mut().zip(scores.best(i)) {
            *place = found;
        }
    });
    Ok(Neighbors {
        k,
        indices: found.mapv(|(j, _)| j),
        similarities: found.mapv(|(_, score)| score),
    })
}

/// Which items have every view; `None`: all. Of the others the rows side by side tell who lacks the same views.
fn having_all(of: &Views) -> Option<Vec<bool>> {
    let partial: Vec<&Vec<bool>> = of.apart.iter().filter_map(|v| v.present.as_ref()).collect();
    let has_all = |i: usize| partial.iter().all(|present| present[i]);
    (!partial.is_empty()).then(|| (0..of.n()).map(has_all).collect())
}

/// What a view weighs, by how far the first `k` neighbours of neighbours are neighbours.
fn weight(neighbors: &Neighbors, k: usize) -> f64 {
    let (n, k) = (neighbors.n(), k.min(neighbors.k));
    if n == 0 || k == 0 {
        return LEAST;
    }
    let closed = parallel::map_rows(n, |i| {
        let list = |i: usize| neighbors.indices.row(i).into_iter().take(k).copied();
        let mut own: Vec<u32> = list(i).collect();
        own.sort_unstable();
        let seconds = list(i).flat_map(|j| list(j as usize));
        seconds.filter(|l| own.binary_search(l).is_ok()).count() as u64
    });
    let share = closed.iter().sum::<u64>() as f64 / (n * k * k) as f64;
    let beyond = (share - k as f64 / n as f64) / HANGS_TOGETHER;
    beyond.clamp(0.0, 1.0).powi(2).max(LEAST)
}

/// Says which views hardly count.
fn tell(of: &Views, weights: &[f64], monitor: &Monitor) {
    for (view, weight) in of.apart.iter().zip(weights) {
        if *weight < 0.5 {
            monitor.note(format!(
                "view {} weighs {weight:.2}: the neighbours of its neighbours are hardly neighbours",
                view.name
            ));
        }
    }
}

/// The lists of the views and of the rows side by side, and what each weighs.
struct Scores {
    n: usize,
    k: usize,
    lists: Vec<Lists>,
    weights: Vec<f64>,
    /// Whether an item lacks a view.
    partial: bool,
}

impl Scores {
    /// The `k` items of the largest mean score of item `i`, best first.
    fn best(&self, i: usize) -> Vec<(u32, f32)> {
        let mut scored: Vec<(u32, f64)> = Vec::new();
        let mut has = 0.0;
        for (of, weight) in self.lists.iter().zip(&self.weights) {
            let Some(place) = of.items.place(i) else {
                continue;
            };
            has += weight;
            let cosines = of.neighbors.similarities.row(place);
            let listed = of.neighbors.indices.row(place).into_iter().zip(cosines);
            scored.extend(listed.enumerate().map(|(rank, (&j, &cosine))| {
                let score = weight / (1.0 + rank as f64 / self.k as f64);
                // As in the graph of one view, what is not alike is no neighbour.
                (of.items.item(j), if cosine > 0.0 { score } else { 0.0 })
            }));
        }
        // Stable: views stay in their order.
        scored.sort_by_key(|&(j, _)| j);
        let mut means: Vec<(u32, f32)> = (scored.chunk_by(|a, b| a.0 == b.0))
            .map(|same| {
                let sum: f64 = same.iter().map(|&(_, score)| score).sum();
                let other = same[0].0;
                (other, (sum / self.whole(i, other as usize, has)) as f32)
            })
            .collect();
        means.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        means.truncate(self.k);
        self.fill(i, &mut means);
        means
    }

    /// A list has `k` items, also where the views of item `i` list fewer: the first others, which are no
    /// neighbours.
    fn fill(&self, i: usize, listed: &mut Vec<(u32, f32)>) {
        let mut others = 0..self.n as u32;
        while listed.len() < self.k {
            let Some(other) = others.next() else { return };
            if other as usize != i && listed.iter().all(|&(j, _)| j != other) {
                listed.push((other, 0.0));
            }
        }
    }

    /// What the scores of a pair could add up to, where the views of item `i` weigh `has` in all.
    fn whole(&self, i: usize, j: usize, has: f64) -> f64 {
        if !self.partial {
            return has;
        }
        let lists = self.lists.iter().zip(&self.weights);
        let own = lists.filter(|(of, _)| of.items.place(i).is_some());
        own.map(|(of, weight)| match of.items.place(j) {
            Some(_) => *weight,
            None => UNKNOWN * weight,
        })
        .sum()
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::neighbor::{Metric, exact};
    use crate::seed;

    /// Points on a ring, and as many that lie anywhere in many directions.
    #[test]
    fn a_view_of_noise_hardly_weighs() {
        let n = 200;
        let mut rng = seed::stream(5, "noise");
        let angle = |i: usize| i as f32 / n as f32 * std::f32::consts::TAU;
        let ring = Array2::from_shape_fn((n, 2), |(i, c)| match c {
            0 => angle(i).cos(),
            _ => angle(i).sin(),
        });
        let noise = Array2::from_shape_fn((n, 60), |_| rng.random::<f32>() - 0.5);
        let weigh = |x: &Array2<f32>| {
            weight(
                &exact(x.view(), 30, Metric::Cosine, &Monitor::silent()).unwrap(),
                10,
            )
        };
        assert_eq!(weigh(&ring).to_bits(), 1.0_f64.to_bits());
        assert!(weigh(&noise) < 0.1, "{}", weigh(&noise));
    }

    #[test]
    fn the_weight_is_that_of_the_definition() {
        // 0, 1 and 2 list each other; 3 lists 0 and 1, and 4 lists 0 and 3.
        let lists = Neighbors {
            k: 2,
            indices: ndarray::array![[1, 2], [0, 2], [0, 1], [0, 1], [0, 3]],
            similarities: Array2::ones((5, 2)),
        };
        // Of the four second neighbours of each of the first four, two are among its own; of 4 one is, 0.
        let share: f64 = 9.0 / 20.0 - 2.0 / 5.0;
        assert!((weight(&lists, 2) - (share / 0.25).powi(2)).abs() < 1e-12);
        // The first neighbour of a first neighbour is none.
        assert_eq!(weight(&lists, 1).to_bits(), LEAST.to_bits());
    }
}
