//! The items in their cells, and the search of groups of them.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ndarray::Array2;

use super::centers::{ROUNDS, half_square, probes, train};
use super::features::Features;
use super::quantize::Quantizer;
use crate::distance::Metric;
use crate::distance::tile::{COLUMNS, Kernel, Limits, ROWS, Tile};
use crate::neighbor::Neighbors;
use crate::neighbor::candidate::{Candidate, Lists};
use crate::neighbor::panel::{Items8, NOBODY, PADDING, Products, Queries8, Side, bits, chunk};
use crate::{Monitor, Result, parallel};

/// Most cells: their numbers are stored in 16 bits.
const MOST_CELLS: usize = 1 << 16;
/// Most items that are searched together.
const GROUP: usize = 768;

/// What is asked of the cells.
pub(super) struct Asked {
    /// Least share of the true neighbours to find.
    pub(super) recall: f64,
    /// Number of cells instead of the usual one.
    pub(super) cells: Option<usize>,
    /// Seed of k-means.
    pub(super) seed: u64,
}

/// Items in cells, and the nearest cells of every item.
pub(super) struct Search<'a> {
    features: &'a Features<'a>,
    kernel: Kernel,
    items: Items8,
    /// Places of each cell: whole panels.
    pub(super) cells: Vec<Range<usize>>,
    /// The item at each place.
    at: Side,
    /// Place of each item.
    place: Vec<u32>,
    /// Nearest cells of each item, nearest first: `most` an item.
    nearest: Vec<u16>,
    pub(super) most: usize,
    pub(super) probes: usize,
    pub(super) keep: usize,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        asked: &Asked,
        kernel: Kernel,
        features: &'a Features<'a>,
        k: usize,
        (sample, truth): (&[usize], &[Vec<Candidate>]),
        monitor: &Monitor,
    ) -> Result<Self> {
        let (n, d) = (features.n(), features.d());
        let quantizer = Quantizer::new(features.center.clone(), features.reach());
        let codes = quantizer.rows(n, |i, out| features.write(i, out));
        // A cell should hold more items than a list, or most cells would be looked into.
        let usual = ((2.0 * (n as f64).sqrt()) as usize).min(n / (4 * k));
        let count = asked.cells.unwrap_or(usual).clamp(1, n.min(MOST_CELLS));
        monitor.start("cells of similar items", ROUNDS as u64);
        let centers = train(
            features.metric,
            asked.seed,
            kernel,
            &codes,
            d,
            count,
            monitor,
        )?;
        let probes = probes(asked.recall, kernel, &centers, &codes, d, sample, truth)?;
        monitor.end();

        let most = (2 * probes).max(8).min(count);
        monitor.start("nearest cells", n as u64);
        let nearest = centers.nearest(kernel, &codes, d, most, monitor)?;
        monitor.end();
        let mut members = vec![Vec::new(); count];
        for (i, cells) in nearest.chunks(most).enumerate() {
            members[cells[0] as usize].push(i as u32);
        }
        let (mut at, mut place) = (Vec::new(), vec![0; n]);
        let mut cells = Vec::with_capacity(count);
        for members in members {
            let start = at.len();
            for (p, &i) in members.iter().enumerate() {
                place[i as usize] = (start + p) as u32;
            }
            at.extend(members);
            at.resize(at.len().next_multiple_of(PADDING), NOBODY);
            cells.push(start..at.len());
        }
        let row = |place: usize| {
            let i = at[place] as usize;
            (at[place] != NOBODY).then(|| &codes[i * d..(i + 1) * d])
        };
        let items = Items8::pack_with(at.len(), d, row);
        let bias = match features.metric {
            Metric::Euclidean => (0..at.len())
                .map(|p| row(p).map_or(0.0, half_square))
                .collect(),
            _ => Vec::new(),
        };
        Ok(Self {
            features,
            kernel,
            items,
            cells,
            at: Side::new(at, bias),
            place,
            nearest,
            most,
            probes,
            keep: 0,
        })
    }

    /// Sets how many candidates are kept, from the true neighbours of some items.
    pub(super) fn choose_candidates(&mut self, k: usize, of: &[usize], truth: &[Vec<Candidate>]) {
        // The least number of candidates that keeps the recall of very many.
        let spare = |keep: usize| keep.min(self.features.n() - 1);
        let count = |keep: usize, this: &mut Self| -> usize {
            this.keep = keep;
            let found = this.group(of, k, &mut Tile::new());
            found
                .iter()
                .zip(truth)
                .map(|(f, t)| f.iter().filter(|c| same(**c, t)).count())
                .sum()
        };
        let best = count(spare(4 * k + 64), self);
        for keep in [k + k / 8 + 4, k + k / 4 + 8, k + k / 2 + 16, 2 * k + 32] {
            if count(spare(keep), self) as f64 >= best as f64 - 0.001 * (of.len() * k) as f64 {
                return;
            }
        }
        self.keep = spare(4 * k + 64);
    }

    /// The neighbours of some items, searched together.
    fn group(&self, of: &[usize], k: usize, tile: &mut Tile) -> Vec<Vec<Candidate>> {
        let mut lists = Lists::new(self.keep, of.len(), of.len());
        // Which items look into which cell; first those that more of them look into.
        let mut visits: Vec<(u16, u32)> = (of.iter().enumerate())
            .flat_map(|(p, &i)| {
                let cells = &self.nearest[i * self.most..][..self.probes];
                cells.iter().map(move |&cell| (cell, p as u32))
            })
            .collect();
        visits.sort_unstable();
        let mut visits: Vec<&[(u16, u32)]> = visits.chunk_by(|a, b| a.0 == b.0).collect();
        visits.sort_by_key(|visit| std::cmp::Reverse(visit.len()));
        for visit in visits {
            let who: Vec<usize> = visit.iter().map(|&(_, p)| p as usize).collect();
            self.visit(&self.cells[visit[0].0 as usize], of, &who, &mut lists, tile);
        }
        let rescored = |p: usize, lists: &mut Lists, i: usize| {
            self.features.rescore(self.kernel, i, lists.best(p), k)
        };
        let mut found: Vec<Vec<Candidate>> = (0..of.len())
            .map(|p| rescored(p, &mut lists, of[p]))
            .collect();
        // Few items in the cells of an item: it looks into all of them.
        let short: Vec<usize> = (0..of.len()).filter(|&p| found[p].len() < k).collect();
        if !short.is_empty() {
            let again: Vec<usize> = short.iter().map(|&p| of[p]).collect();
            let everyone: Vec<usize> = (0..again.len()).collect();
            let mut lists = Lists::new(self.keep, again.len(), again.len());
            for cell in &self.cells {
                self.visit(cell, &again, &everyone, &mut lists, tile);
            }
            for (q, &p) in short.iter().enumerate() {
                found[p] = rescored(q, &mut lists, of[p]);
            }
        }
        found
    }

    /// Compares the items `who` of a group with the items of a cell.
    fn visit(
        &self,
        cell: &Range<usize>,
        of: &[usize],
        who: &[usize],
        lists: &mut Lists,
        tile: &mut Tile,
    ) {
        let places: Vec<usize> = who.iter().map(|&p| self.place[of[p]] as usize).collect();
        let queries = Queries8::gather(&self.items, &places);
        let mut thresholds = vec![f32::INFINITY; who.len().next_multiple_of(ROWS)];
        for (threshold, &p) in thresholds.iter_mut().zip(who) {
            *threshold = lists.threshold[p];
        }
        let none = ([f32::INFINITY; COLUMNS], [0.0; ROWS]);
        for column in cell.clone().step_by(COLUMNS) {
            let bias = chunk::<COLUMNS>(&self.at.bias, column);
            for row in (0..who.len()).step_by(ROWS) {
                let above = Limits {
                    threshold: chunk(&thresholds, row),
                    bias: &none.1,
                };
                let left = Limits {
                    threshold: &none.0,
                    bias,
                };
                let panels = (row / ROWS, column / COLUMNS);
                if !(&queries, &self.items).tile(self.kernel, panels, above, left, tile) {
                    continue;
                }
                for (r, &hits) in tile.rows.iter().enumerate() {
                    for c in bits(hits) {
                        let (p, item) = (who[row + r], self.at.ids[column + c]);
                        if item != NOBODY && item as usize != of[p] {
                            lists.push(p, item, tile.values[r][c] + bias[c]);
                            thresholds[row + r] = lists.threshold[p];
                        }
                    }
                }
            }
        }
    }

    /// The neighbours of all items.
    pub(super) fn all(&self, k: usize, monitor: &Monitor) -> Result<Neighbors> {
        let n = self.features.n();
        monitor.start("approximate nearest neighbours", n as u64);
        let groups: Vec<Vec<usize>> = (self.cells.iter())
            .flat_map(|cell| {
                let items = self.at.ids[cell.clone()].iter().filter(|&&i| i != NOBODY);
                let items: Vec<usize> = items.map(|&i| i as usize).collect();
                items
                    .chunks(GROUP)
                    .map(<[usize]>::to_vec)
                    .collect::<Vec<_>>()
            })
            .collect();
        let done = AtomicU64::new(0);
        let lists = parallel::try_map(groups.iter(), |group| {
            let found = self.group(group, k, &mut Tile::new());
            let count = group.len() as u64;
            monitor.step(done.fetch_add(count, Relaxed) + count)?;
            Ok(found.into_iter().flatten().collect::<Vec<Candidate>>())
        })?;
        let mut indices = Array2::zeros((n, k));
        let mut similarities = Array2::zeros((n, k));
        for (group, lists) in groups.iter().zip(lists) {
            for (&i, list) in group.iter().zip(lists.chunks(k)) {
                for (p, candidate) in list.iter().enumerate() {
                    indices[[i, p]] = candidate.index();
                    similarities[[i, p]] = candidate.similarity();
                }
            }
        }
        monitor.end();
        Ok(Neighbors {
            k,
            indices,
            similarities,
        })
    }
}

/// Whether a found neighbour is among the true ones, or as near as the last of them.
pub(super) fn same(found: Candidate, truth: &[Candidate]) -> bool {
    let last = truth.last().map_or(f32::INFINITY, |t| t.similarity());
    found.similarity() >= last || truth.iter().any(|t| t.index() == found.index())
}
