//! The centres of the cells: k-means in the space of the rounded rows.

use rand::seq::index;

use crate::distance::Metric;
use crate::distance::tile::Kernel;
use crate::neighbor::candidate::Candidate;
use crate::neighbor::panel::{self, Items8, Keep, NOBODY, Queries8, Side};
use crate::{Monitor, Result, seed};

/// Rounds of k-means: cells need not be good clusters.
pub(super) const ROUNDS: usize = 6;
/// Items a cell in the sample of k-means.
const TRAINING: usize = 48;

/// Centres of the cells, in eight bits.
pub(super) struct Centers {
    codes: Vec<i8>,
    pub(super) bias: Vec<f32>,
}

impl Centers {
    /// The `most` nearest centres of each row of `codes`, nearest first.
    pub(super) fn nearest(
        &self,
        kernel: Kernel,
        codes: &[i8],
        d: usize,
        most: usize,
        monitor: &Monitor,
    ) -> Result<Vec<u16>> {
        const STRETCH: usize = 1 << 15;
        let items = Items8::pack(&self.codes, d);
        let side = Side::new((0..self.bias.len() as u32).collect(), self.bias.clone());
        let mut nearest = Vec::with_capacity(codes.len() / d.max(1) * most);
        for (stretch, codes) in codes.chunks(STRETCH * d.max(1)).enumerate() {
            let n = codes.len() / d.max(1);
            // Queries are no centres: indices that no centre has.
            let asked = Side::new(vec![NOBODY - 1; n], Vec::new());
            let queries = Queries8::pack(codes, d);
            let found = panel::search(
                kernel,
                &(&queries, &items),
                &asked,
                &side,
                Keep::Best(most),
                &Monitor::silent(),
                |first, mut lists| -> Vec<u16> {
                    (first..(first + lists.threshold.len()).min(n))
                        .flat_map(|i| {
                            let best = lists.best(i - first);
                            best.iter().map(|c| c.index() as u16).collect::<Vec<_>>()
                        })
                        .collect()
                },
            )?;
            nearest.extend(found.into_iter().flatten());
            monitor.step((stretch * STRETCH + n) as u64)?;
        }
        Ok(nearest)
    }
}

/// `-|x|² / 2`, which with the product orders by Euclidean distance.
pub(super) fn half_square(row: &[i8]) -> f32 {
    let square: i32 = row.iter().map(|&v| i32::from(v).pow(2)).sum();
    -0.5 * square as f32
}

/// k-means on a sample, in the space of the rounded rows.
pub(super) fn train(
    metric: Metric,
    seed: u64,
    kernel: Kernel,
    codes: &[i8],
    d: usize,
    count: usize,
    monitor: &Monitor,
) -> Result<Centers> {
    let n = codes.len() / d.max(1);
    let row = |i: usize| &codes[i * d..(i + 1) * d];
    let mut rng = seed::stream(seed, "cells of an approximate search");
    let drawn = index::sample(&mut rng, n, (TRAINING * count).min(n)).into_vec();
    let sample: Vec<i8> = drawn.iter().flat_map(|&i| row(i)).copied().collect();
    let start: Vec<i8> = drawn[..count]
        .iter()
        .flat_map(|&i| row(i))
        .copied()
        .collect();
    let length = (sample
        .chunks(d.max(1))
        .map(|r| -2.0 * half_square(r))
        .sum::<f32>()
        / drawn.len() as f32)
        .sqrt();
    let center = |codes: Vec<i8>| Centers {
        bias: match metric {
            Metric::Euclidean => codes.chunks(d.max(1)).map(half_square).collect(),
            _ => vec![0.0; count],
        },
        codes,
    };
    let mut centers = center(start);
    for round in 0..ROUNDS {
        monitor.step(round as u64)?;
        let nearest = centers.nearest(kernel, &sample, d, 1, &Monitor::silent())?;
        let mut sums = vec![0_i64; count * d];
        let mut sizes = vec![0_u32; count];
        for (row, &cell) in sample.chunks(d.max(1)).zip(&nearest) {
            let cell = cell as usize;
            sizes[cell] += 1;
            for (sum, &v) in sums[cell * d..(cell + 1) * d].iter_mut().zip(row) {
                *sum += i64::from(v);
            }
        }
        let mut codes = Vec::with_capacity(count * d);
        let mut spare = drawn.len();
        for (cell, &size) in sizes.iter().enumerate() {
            if size == 0 {
                // Nobody came: start again from another item.
                spare -= 1;
                codes.extend(&sample[spare * d..(spare + 1) * d]);
                continue;
            }
            let sum = &sums[cell * d..(cell + 1) * d];
            let square: f64 = sum.iter().map(|&s| (s as f64).powi(2)).sum();
            let scale = match metric {
                Metric::Euclidean => 1.0 / f64::from(size),
                // Centres of unit length, like the items.
                _ if square > 0.0 => f64::from(length) / square.sqrt(),
                _ => 0.0,
            };
            let rounded = |&s: &i64| (s as f64 * scale).round().clamp(-127.0, 127.0) as i8;
            codes.extend(sum.iter().map(rounded));
        }
        centers = center(codes);
    }
    Ok(centers)
}

/// How many of its nearest cells an item must look into, from the true neighbours of some.
pub(super) fn probes(
    recall: f64,
    kernel: Kernel,
    centers: &Centers,
    codes: &[i8],
    d: usize,
    of: &[usize],
    truth: &[Vec<Candidate>],
) -> Result<usize> {
    // Some of what may be missed is left to chance and to the rounding.
    let wanted = f64::midpoint(recall, 1.0).min(recall + 0.01);
    let codes_of = |items: &[usize]| -> Vec<i8> {
        items
            .iter()
            .flat_map(|&i| &codes[i * d..(i + 1) * d])
            .copied()
            .collect()
    };
    let most = centers.bias.len().min(1024);
    let silent = Monitor::silent();
    let cells = centers.nearest(kernel, &codes_of(of), d, most, &silent)?;
    let neighbors: Vec<usize> = truth.iter().flatten().map(|t| t.index() as usize).collect();
    let homes = centers.nearest(kernel, &codes_of(&neighbors), d, 1, &silent)?;
    let mut homes = homes.into_iter();
    let mut needed: Vec<usize> = Vec::with_capacity(neighbors.len());
    for (cells, truth) in cells.chunks(most).zip(truth) {
        let homes = homes.by_ref().take(truth.len());
        needed.extend(homes.map(|home| cells.iter().position(|&c| c == home).unwrap_or(most)));
    }
    needed.sort_unstable();
    let rank = ((needed.len() as f64 * wanted) as usize).min(needed.len().saturating_sub(1));
    Ok((needed.get(rank).copied().unwrap_or(0) + 1).min(most))
}
