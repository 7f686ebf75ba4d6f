//! Approximate nearest neighbours of all items: cells of similar items (an inverted file),
//! searched with the tile kernels.
//!
//! 1. The rows are rounded to eight bits after a random rotation, as in
//!    [`Exact`](super::Exact).
//! 2. k-means on a sample divides the items into about `2 sqrt(n)` cells.
//! 3. For a sample of items the true neighbours are computed. They tell how many of the
//!    nearest cells an item must look into, and how many candidates must be computed again
//!    in `f32`, to reach the asked recall.
//! 4. Every item is compared with the items of that many cells. Items of one cell look into
//!    much the same cells, so they are compared together, 12 x 32 at a time.
//! 5. A second sample measures the recall that is reported. If it is missed, step 4 is done
//!    again with more cells.
//!
//! **Use it** from some 200,000 items on. **Not** below: [`Exact`](super::Exact) takes as
//! long and misses nothing. And not for the inner product of rows of different length,
//! whose neighbours are not near each other.
//!
//! Cost: O(n sqrt(n) d) operations in eight bits; memory O(n (d + k)) bytes. The features
//! are read where they lie and are not copied, so they may be a mapped file.
//!
//! Similarities are those of the items that were found, in `f32`. The result depends on the
//! seed, not on the number of threads.
//!
//! Source: Sivic and Zisserman 2003 and Jégou et al. 2011 for the inverted file; the choice
//! of the number of cells by a sample is ours.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ndarray::{Array2, ArrayView2, s};
use rand::seq::index;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::candidate::{Candidate, Lists, Partial};
use super::exact::{block_with, centre, check_k};
use super::panel::{self, Items8, NOBODY, PADDING, Products, Queries8, Side, bits, chunk};
use super::quantize::Quantizer;
use super::{Neighbors, Rows};
use crate::distance::Metric;
use crate::distance::tile::{COLUMNS, Kernel, Limits, ROWS, Tile};
use crate::matrix::{check_finite, l2_normalize};
use crate::{Error, Monitor, Result, seed};

/// Items in each of the two samples.
const SAMPLE: usize = 256;
/// Most cells: their numbers are stored in 16 bits.
const MOST_CELLS: usize = 1 << 16;
/// Rounds of k-means: cells need not be good clusters.
const ROUNDS: usize = 6;
/// Items a cell in the sample of k-means.
const TRAINING: usize = 48;
/// Most items that are searched together.
const GROUP: usize = 768;
/// Rows longer than this, or shorter than its inverse, are copied to be scaled.
const LONG: f64 = 1e15;

/// Parameters of the approximate search.
///
/// ```
/// use likewise::neighbor::Ivf;
/// use likewise::{Monitor, seed};
/// use rand::RngExt;
/// let mut rng = seed::stream(1, "example");
/// let x = ndarray::Array2::from_shape_fn((3000, 8), |_| rng.random::<f32>() - 0.5);
/// let (neighbors, searched) = Ivf::new().recall(0.95).search(x.view(), 10, &Monitor::silent())?;
/// assert_eq!(neighbors.indices.dim(), (3000, 10));
/// assert!(searched.recall >= 0.95);
/// # Ok::<(), likewise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ivf {
    metric: Metric,
    recall: f64,
    cells: Option<usize>,
    seed: u64,
}

impl Default for Ivf {
    fn default() -> Self {
        Self {
            metric: Metric::Cosine,
            recall: 0.95,
            cells: None,
            seed: 0,
        }
    }
}

/// How an approximate search went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApproximateSearch {
    /// Instructions used: `avx512`, `avx2` or `portable`.
    pub kernel: String,
    /// Cells of the items.
    pub cells: usize,
    /// Cells that each item looked into.
    pub probes: usize,
    /// Candidates an item that were computed again in `f32`.
    pub candidates: usize,
    /// Share of the true neighbours that were found, measured on a sample that had no part
    /// in any choice.
    pub recall: f64,
    /// Items of that sample.
    pub sampled: usize,
}

impl Ivf {
    /// By cosine, recall .95.
    pub fn new() -> Self {
        Self::default()
    }

    /// How two items are compared: by cosine or Euclidean distance.
    #[must_use]
    pub fn metric(mut self, metric: Metric) -> Self {
        self.metric = metric;
        self
    }

    /// Least share of the true neighbours to find, above 0 and below 1.
    #[must_use]
    pub fn recall(mut self, recall: f64) -> Self {
        self.recall = recall;
        self
    }

    /// Number of cells instead of `2 sqrt(n)`.
    #[must_use]
    pub fn cells(mut self, cells: usize) -> Self {
        self.cells = Some(cells);
        self
    }

    /// Seed of the samples and of k-means.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// About the `k` nearest neighbours of every row of `x` (`n x d`) among the other rows.
    ///
    /// Fails on NaN and infinite values, if `k` is 0 or not below `n`, on parameters out
    /// of range, where the recall cannot be reached, and when cancelled.
    pub fn search(
        &self,
        x: ArrayView2<f32>,
        k: usize,
        monitor: &Monitor,
    ) -> Result<(Neighbors, ApproximateSearch)> {
        self.search_with(Kernel::detect(), x, k, monitor)
    }

    fn search_with(
        &self,
        kernel: Kernel,
        x: ArrayView2<f32>,
        k: usize,
        monitor: &Monitor,
    ) -> Result<(Neighbors, ApproximateSearch)> {
        self.check(x.nrows())?;
        check_k(k, x.nrows())?;
        check_finite(x, "features")?;
        let copy;
        let mut features = Features::new(x, self.metric);
        if features.too_long_or_short() || features.rows.is_none() {
            copy = match self.metric {
                Metric::Cosine => l2_normalize(x.as_standard_layout().into_owned()),
                _ => x.as_standard_layout().into_owned(),
            };
            features = Features::new(copy.view(), self.metric);
        }
        let (choose, measure) = samples(x.nrows(), self.seed);

        monitor.start("true neighbours of a sample", 2 * SAMPLE as u64);
        let truth = features.truth(kernel, &choose, k, monitor)?;
        let held_out = features.truth(kernel, &measure, k, monitor)?;
        monitor.end();

        let mut search = Search::new(self, kernel, &features, &choose, &truth, monitor)?;
        search.choose_candidates(k, &choose, &truth);
        loop {
            let found = search.all(k, monitor)?;
            let recall = share_found(&found, &measure, &held_out);
            if recall >= self.recall || search.probes == search.most {
                let probed = ApproximateSearch {
                    kernel: kernel.name().into(),
                    cells: search.cells.len(),
                    probes: search.probes,
                    candidates: search.keep,
                    recall,
                    sampled: measure.len(),
                };
                if recall < self.recall {
                    monitor.warn(format!(
                        "the approximate search found {recall:.4} of the neighbours of a sample, \
                         not {}; the items are too close for eight bits: search exactly",
                        self.recall
                    ));
                }
                return Ok((found, probed));
            }
            monitor.note(format!(
                "recall {recall:.4} on a sample; searching with more cells"
            ));
            search.probes = (search.probes * 3).div_ceil(2).min(search.most);
            search.keep = (search.keep + k / 4 + 1).min(x.nrows() - 1);
        }
    }

    fn check(&self, n: usize) -> Result<()> {
        if self.metric == Metric::InnerProduct {
            let rule = "approximate search is by cosine or Euclidean distance";
            return Err(Error::parameter("metric", "inner-product", rule));
        }
        if !(self.recall > 0.0 && self.recall < 1.0) {
            return Err(Error::parameter(
                "recall",
                self.recall,
                "must be above 0 and below 1",
            ));
        }
        match self.cells {
            Some(cells) if cells == 0 || cells > n => {
                let rule = format!("must be from 1 to the number of items, {n}");
                Err(Error::parameter("cells", cells, &rule))
            }
            _ => Ok(()),
        }
    }
}

/// The features where they lie.
struct Features<'a> {
    x: ArrayView2<'a, f32>,
    /// All values, row after row; `None` if they do not lie so.
    rows: Option<&'a [f32]>,
    metric: Metric,
    /// One over the length of each row, 0 for a row of zeros; for the cosine only.
    inverse: Vec<f32>,
    centre: Vec<f32>,
    longest: f64,
    shortest: f64,
}

impl<'a> Features<'a> {
    fn new(x: ArrayView2<'a, f32>, metric: Metric) -> Self {
        let (n, d) = x.dim();
        let centre = match metric {
            Metric::Euclidean => x.columns().into_iter().map(centre).collect(),
            _ => vec![0.0; d],
        };
        let lengths: Vec<f64> = (0..n)
            .into_par_iter()
            .map(|i| {
                let values = x.row(i).into_iter().zip(&centre);
                values
                    .map(|(v, c)| f64::from(v - c).powi(2))
                    .sum::<f64>()
                    .sqrt()
            })
            .collect();
        let longest = lengths.par_iter().copied().reduce(|| 0.0, f64::max);
        let shortest =
            (lengths.par_iter().copied().filter(|&l| l > 0.0)).reduce(|| longest, f64::min);
        let inverse = match metric {
            Metric::Euclidean => Vec::new(),
            _ => (lengths.iter())
                .map(|&l| if l > 0.0 { (1.0 / l) as f32 } else { 0.0 })
                .collect(),
        };
        Self {
            x,
            rows: x.to_slice(),
            metric,
            inverse,
            centre,
            longest,
            shortest,
        }
    }

    fn n(&self) -> usize {
        self.x.nrows()
    }

    fn d(&self) -> usize {
        self.x.ncols()
    }

    fn too_long_or_short(&self) -> bool {
        self.metric != Metric::Euclidean
            && (self.longest > LONG || (self.shortest > 0.0 && self.shortest < 1.0 / LONG))
    }

    /// Length of the longest row as it is compared.
    fn reach(&self) -> f64 {
        match self.metric {
            Metric::Euclidean => self.longest,
            _ => 1.0,
        }
    }

    fn row(&self, i: usize) -> &[f32] {
        let d = self.d();
        self.rows.map_or(&[], |rows| &rows[i * d..(i + 1) * d])
    }

    fn write(&self, i: usize, out: &mut [f32]) {
        let scale = self.inverse.get(i).copied().unwrap_or(1.0);
        for (out, v) in out.iter_mut().zip(self.row(i)) {
            *out = v * scale;
        }
    }

    /// The true neighbours of some items, a stretch of the data at a time.
    fn truth(
        &self,
        kernel: Kernel,
        of: &[usize],
        k: usize,
        monitor: &Monitor,
    ) -> Result<Vec<Vec<Candidate>>> {
        const STRETCH: usize = 1 << 16;
        let ids = of.iter().map(|&i| i as u32).collect();
        let asked = Rows::with_ids(self.x.select(ndarray::Axis(0), of).view(), ids, self.metric)?;
        let mut all: Option<Partial> = None;
        for start in (0..self.n()).step_by(STRETCH) {
            monitor.check()?;
            let end = (start + STRETCH).min(self.n());
            let items = Rows::new(self.x.slice(s![start..end, ..]), start, self.metric)?;
            let found = block_with(kernel, &asked, &items, k, &Monitor::silent())?;
            all = Some(match all {
                Some(all) => all.merge(found)?,
                None => found,
            });
        }
        Ok(all.map(|all| all.lists).unwrap_or_default())
    }

    /// The best `k` of the candidates, in `f32`.
    fn rescore(&self, kernel: Kernel, i: usize, found: &[Candidate], k: usize) -> Vec<Candidate> {
        let rows: Vec<&[f32]> = found.iter().map(|c| self.row(c.index() as usize)).collect();
        let query = self.row(i);
        let scores = match self.metric {
            Metric::Euclidean => kernel
                .squares(query, &rows)
                .into_iter()
                .map(|s| -s)
                .collect(),
            _ => {
                let mut dots = kernel.dots(query, &rows);
                for (dot, c) in dots.iter_mut().zip(found) {
                    *dot *= self.inverse[i] * self.inverse[c.index() as usize];
                }
                dots
            }
        };
        let mut best: Vec<Candidate> = (found.iter().zip(scores))
            .map(|(c, score)| Candidate::new(c.index(), score))
            .collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        best.truncate(k);
        best
    }
}

fn samples(n: usize, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let size = SAMPLE.min(n.div_ceil(2));
    let mut rng = seed::stream(seed, "samples of an approximate search");
    let drawn = index::sample(&mut rng, n, (2 * size).min(n)).into_vec();
    let sorted = |drawn: &[usize]| {
        let mut sorted = drawn.to_vec();
        sorted.sort_unstable();
        sorted
    };
    (sorted(&drawn[..size]), sorted(&drawn[drawn.len() - size..]))
}

/// Items in cells, and the nearest cells of every item.
struct Search<'a> {
    features: &'a Features<'a>,
    kernel: Kernel,
    items: Items8,
    /// Places of each cell: whole panels.
    cells: Vec<Range<usize>>,
    /// The item at each place.
    at: Side,
    /// Place of each item.
    place: Vec<u32>,
    /// Nearest cells of each item, nearest first: `most` an item.
    nearest: Vec<u16>,
    most: usize,
    probes: usize,
    keep: usize,
}

impl<'a> Search<'a> {
    fn new(
        ivf: &Ivf,
        kernel: Kernel,
        features: &'a Features<'a>,
        sample: &[usize],
        truth: &[Vec<Candidate>],
        monitor: &Monitor,
    ) -> Result<Self> {
        let (n, d) = (features.n(), features.d());
        let quantizer = Quantizer::new(features.centre.clone(), features.reach());
        let codes = quantizer.rows(n, |i, out| features.write(i, out));
        let count =
            (ivf.cells.unwrap_or((2.0 * (n as f64).sqrt()) as usize)).clamp(1, n.min(MOST_CELLS));
        monitor.start("cells of similar items", ROUNDS as u64);
        let centers = train(ivf, kernel, &codes, d, count, monitor)?;
        let probes = probes(ivf, kernel, &centers, &codes, d, sample, truth)?;
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
    fn choose_candidates(&mut self, k: usize, of: &[usize], truth: &[Vec<Candidate>]) {
        // The least number of candidates that keeps the recall of very many.
        let spare = |keep: usize| keep.min(self.features.n() - 1);
        let count = |keep: usize, this: &mut Self| -> usize {
            this.keep = keep;
            let found = this.group(of, k, &mut Tile::new());
            found
                .iter()
                .zip(truth)
                .map(|(f, t)| f.iter().filter(|c| same(c, t)).count())
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
        (0..of.len())
            .map(|p| self.features.rescore(self.kernel, of[p], lists.best(p), k))
            .collect()
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
    fn all(&self, k: usize, monitor: &Monitor) -> Result<Neighbors> {
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
        let lists: Vec<Vec<Candidate>> = (groups.par_iter())
            .map_init(Tile::new, |tile, group| {
                let found = self.group(group, k, tile);
                let count = group.len() as u64;
                monitor.step(done.fetch_add(count, Relaxed) + count)?;
                match found.iter().position(|list| list.len() < k) {
                    Some(p) => Err(Error::data(format!(
                        "the approximate search found only {} neighbours of item {}; ask for \
                         fewer cells or search exactly",
                        found[p].len(),
                        group[p]
                    ))),
                    None => Ok(found.into_iter().flatten().collect()),
                }
            })
            .collect::<Result<_>>()?;
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

/// Share of the true neighbours of some items that were found.
fn share_found(neighbors: &Neighbors, of: &[usize], truth: &[Vec<Candidate>]) -> f64 {
    let found: usize = (of.iter().zip(truth))
        .map(|(&i, truth)| {
            let list = neighbors
                .indices
                .row(i)
                .into_iter()
                .zip(neighbors.similarities.row(i));
            list.filter(|&(&j, &s)| same(&Candidate::new(j, s), truth))
                .count()
        })
        .sum();
    found as f64 / (neighbors.k * of.len()).max(1) as f64
}

/// Whether a found neighbour is among the true ones, or as near as the last of them.
fn same(found: &Candidate, truth: &[Candidate]) -> bool {
    let last = truth.last().map_or(f32::INFINITY, |t| t.similarity());
    found.similarity() >= last || truth.iter().any(|t| t.index() == found.index())
}

/// How many of its nearest cells an item must look into, from the true neighbours of some.
fn probes(
    ivf: &Ivf,
    kernel: Kernel,
    centers: &Centers,
    codes: &[i8],
    d: usize,
    of: &[usize],
    truth: &[Vec<Candidate>],
) -> Result<usize> {
    // Some of what may be missed is left to chance and to the rounding.
    let wanted = ((ivf.recall + 1.0) / 2.0).min(ivf.recall + 0.01);
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

/// Centres of the cells, in eight bits.
struct Centers {
    codes: Vec<i8>,
    bias: Vec<f32>,
}

impl Centers {
    /// The `most` nearest centres of each row of `codes`, nearest first.
    fn nearest(
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
                most,
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
fn half_square(row: &[i8]) -> f32 {
    let square: i32 = row.iter().map(|&v| i32::from(v).pow(2)).sum();
    -0.5 * square as f32
}

/// k-means on a sample, in the space of the rounded rows.
fn train(
    ivf: &Ivf,
    kernel: Kernel,
    codes: &[i8],
    d: usize,
    count: usize,
    monitor: &Monitor,
) -> Result<Centers> {
    let n = codes.len() / d.max(1);
    let row = |i: usize| &codes[i * d..(i + 1) * d];
    let mut rng = seed::stream(ivf.seed, "cells of an approximate search");
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
        bias: match ivf.metric {
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
            let scale = match ivf.metric {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbor::Exact;
    use crate::reference::in_one_and_two_threads;
    use ndarray::{Axis, array};
    use rand::RngExt;

    /// Points about the surface of a few dimensions, in many.
    fn surface(n: usize, d: usize, seed: u64) -> Array2<f32> {
        let mut rng = seed::stream(seed, "test features");
        let mut uniform = |shape| Array2::from_shape_fn(shape, |_| rng.random::<f32>() - 0.5);
        let (inner, turn, noise) = (uniform((n, 6)), uniform((6, d)), uniform((n, d)));
        inner.dot(&turn).mapv(|v| (3.0 * v).sin()) + noise * 0.1
    }

    fn run(ivf: &Ivf, x: &Array2<f32>, k: usize) -> (Neighbors, ApproximateSearch) {
        ivf.search(x.view(), k, &Monitor::silent()).unwrap()
    }

    fn recall(found: &Neighbors, exact: &Neighbors) -> f64 {
        let hits: usize = (found.indices.outer_iter().zip(exact.indices.outer_iter()))
            .map(|(f, e)| f.iter().filter(|i| e.iter().any(|j| j == *i)).count())
            .sum();
        hits as f64 / exact.indices.len() as f64
    }

    #[test]
    fn the_recall_that_is_asked_for_is_reached_and_truly_measured() {
        let x = surface(20_000, 24, 1);
        for metric in [Metric::Cosine, Metric::Euclidean] {
            let exact = Exact::new()
                .metric(metric)
                .search(x.view(), 15, &Monitor::silent())
                .unwrap()
                .0;
            let mut probes = 0;
            for wanted in [0.8, 0.95, 0.995] {
                let (found, probed) = run(&Ivf::new().metric(metric).recall(wanted), &x, 15);
                found.check().unwrap();
                assert!(probed.recall >= wanted, "{probed:?}");
                let all = recall(&found, &exact);
                assert!((all - probed.recall).abs() < 0.02, "{all} {probed:?}");
                assert!(probed.probes > probes && probed.probes < probed.cells);
                probes = probed.probes;
                for p in 0..15 {
                    // What is found has its true similarity.
                    let (j, s) = (found.indices[[7, p]] as usize, found.similarities[[7, p]]);
                    let true_one = metric.similarity(x.row(7), x.row(j));
                    assert!((f64::from(s) - true_one).abs() < 1e-5);
                }
            }
        }
    }

    #[test]
    fn looking_into_all_cells_is_exact() {
        let x = surface(1500, 16, 2);
        let exact = Exact::new()
            .search(x.view(), 9, &Monitor::silent())
            .unwrap()
            .0;
        let (found, probed) = run(&Ivf::new().cells(3).recall(0.999), &x, 9);
        assert_eq!(probed.cells, 3);
        assert!(recall(&found, &exact) > 0.999);
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bytes_and_another_seed_others() {
        let x = surface(5000, 12, 3);
        let (one, two) = in_one_and_two_threads(|| run(&Ivf::new(), &x, 8));
        assert_eq!(one, two);
        assert_ne!(run(&Ivf::new().seed(1), &x, 8).0, one.0);
    }

    #[test]
    fn every_kernel_finds_the_same_candidates() {
        let x = surface(2000, 10, 4);
        let search = |kernel| {
            Ivf::new()
                .search_with(kernel, x.view(), 6, &Monitor::silent())
                .unwrap()
        };
        let expected = search(Kernel::Portable).0.indices;
        for kernel in Kernel::all() {
            assert!(recall_of(&search(kernel).0.indices, &expected) > 0.999);
        }
    }

    fn recall_of(a: &Array2<u32>, b: &Array2<u32>) -> f64 {
        let same = a.iter().zip(b).filter(|(a, b)| a == b).count();
        same as f64 / a.len() as f64
    }

    #[test]
    fn duplicates_zero_rows_and_rows_of_any_length() {
        // Every row four times, at very different lengths, and some rows of zeros.
        let base = surface(400, 8, 5);
        let mut x = base.select(Axis(0), &(0..1600).map(|i| i / 4).collect::<Vec<_>>());
        for (i, mut row) in x.rows_mut().into_iter().enumerate() {
            row *= [1.0, 1e20, 1e-18, 3.0][i % 4];
            if i >= 1590 {
                row.fill(0.0);
            }
        }
        let (found, _) = run(&Ivf::new().recall(0.9), &x, 3);
        for i in 0..1588 {
            let mut same: Vec<u32> = (0..4).map(|p| (i / 4 * 4 + p) as u32).collect();
            same.retain(|&j| j as usize != i);
            let mut list = found.indices.row(i).to_vec();
            list.sort_unstable();
            assert_eq!(list, same, "item {i}");
        }
        assert!(found.similarities.iter().all(|s| s.is_finite()));
        let same = Array2::from_elem((300, 4), 1.0);
        let (found, _) = run(&Ivf::new(), &same, 5);
        assert_eq!(found.indices.row(0).to_vec(), [1, 2, 3, 4, 5]);
        assert_eq!(found.indices.row(299).to_vec(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn bad_input_is_refused() {
        let x = surface(50, 4, 6);
        let message = |ivf: Ivf, x: ArrayView2<f32>, k| {
            ivf.search(x, k, &Monitor::silent())
                .unwrap_err()
                .to_string()
        };
        assert!(message(Ivf::new(), x.view(), 50).starts_with("k = 50"));
        assert!(message(Ivf::new(), x.view(), 0).starts_with("k = 0"));
        assert!(message(Ivf::new().recall(1.0), x.view(), 3).starts_with("recall = 1"));
        assert!(message(Ivf::new().cells(51), x.view(), 3).starts_with("cells = 51"));
        assert!(message(Ivf::new().metric(Metric::InnerProduct), x.view(), 3).contains("metric"));
        assert!(
            message(Ivf::new(), array![[f32::NAN], [1.0]].view(), 1).contains("row 0, column 0")
        );
        let monitor = Monitor::silent();
        monitor.cancel();
        let e = Ivf::new().search(x.view(), 3, &monitor).unwrap_err();
        assert_eq!(e.kind(), crate::ErrorKind::Cancelled);
    }
}
