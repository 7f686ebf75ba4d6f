//! Rows made ready for exact comparison, and the search of one range of them in another.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use super::bound;
use super::candidate::{Candidate, Lists, Partial, best_of};
use super::panel::{self, Items, Keep, Queries, Side};
use crate::distance::Metric;
use crate::distance::grid::{self, Grid};
use crate::distance::tile::Kernel;
use crate::matrix::{check_finite, l2_normalize};
use crate::{Error, Monitor, Result, parallel};

/// Most candidates beyond `k` where the first pass rounds differently from the result.
pub(super) const SPARE: usize = 64;
/// Most candidates beyond `k` that are held for a query that has more: beyond, it is
/// compared with all.
const SPARE_LARGEST: usize = 1 << 14;

/// A range of rows, made ready for comparison.
///
/// Holds a copy of the rows (scaled to unit length for the cosine): 4 bytes a value.
#[derive(Debug, Clone)]
pub struct Rows {
    pub(super) data: Array2<f32>,
    pub(super) ids: Vec<u32>,
    pub(super) metric: Metric,
}

impl Rows {
    /// Prepares the rows of `x` (`n x d`), of which the first has index `first` in the
    /// whole collection.
    ///
    /// Fails on NaN and infinite values, on indices past `u32`, and unless the metric is
    /// the cosine on rows so long that products would overflow.
    pub fn new(x: ArrayView2<f32>, first: usize, metric: Metric) -> Result<Self> {
        let last = first + x.nrows();
        if last >= u32::MAX as usize {
            return Err(Error::data(format!(
                "features: item {last} is past the largest index {}",
                u32::MAX - 1
            )));
        }
        Self::with_ids(x, (first as u32..last as u32).collect(), metric)
    }

    /// Prepares the rows of `x` with these indices in the whole collection.
    ///
    /// Fails as [`new`](Self::new), and unless the indices ascend and there is one a row.
    pub fn with_ids(x: ArrayView2<f32>, ids: Vec<u32>, metric: Metric) -> Result<Self> {
        check_finite(x, "features")?;
        if ids.len() != x.nrows() || !ids.is_sorted_by(|a, b| a < b) {
            return Err(Error::data(format!(
                "features: {} indices for {} rows; one a row is needed, ascending",
                ids.len(),
                x.nrows()
            )));
        }
        let data = x.as_standard_layout().into_owned();
        let data = match metric {
            Metric::Cosine => l2_normalize(data),
            Metric::InnerProduct | Metric::Euclidean => {
                check_lengths(data.view())?;
                data
            }
        };
        Ok(Self { data, ids, metric })
    }

    /// Some of the rows, with their own indices; `positions` ascend.
    pub(super) fn select(&self, positions: &[usize]) -> Self {
        Self {
            data: self.data.select(Axis(0), positions),
            ids: positions.iter().map(|&p| self.ids[p]).collect(),
            metric: self.metric,
        }
    }

    pub(super) fn n(&self) -> usize {
        self.data.nrows()
    }

    pub(super) fn dimension(&self) -> usize {
        self.data.ncols()
    }

    pub(super) fn row(&self, i: usize) -> &[f32] {
        let d = self.dimension();
        self.data
            .as_slice()
            .map_or(&[], |data| &data[i * d..(i + 1) * d])
    }

    /// The point that the Euclidean products are taken from: near the mean of the rows, so
    /// that an offset of the data costs no digits. Zero for the other metrics.
    pub(super) fn center(&self) -> Vec<f32> {
        match self.metric {
            Metric::Cosine | Metric::InnerProduct => vec![0.0; self.dimension()],
            Metric::Euclidean => self.data.axis_iter(Axis(1)).map(center).collect(),
        }
    }

    /// The windows of a first pass in `f32` of these rows among `items`.
    pub(super) fn windows(&self, items: &Self, center: &[f32]) -> Vec<f32> {
        let (metric, d) = (items.metric, items.dimension());
        bound::of_f32(metric, d, self.lengths(center), &items.lengths(center))
    }

    /// Writes row `i` from `centre` to `out`.
    pub(super) fn shifted(&self, i: usize, center: &[f32], out: &mut [f32]) {
        for ((out, v), c) in out.iter_mut().zip(self.row(i)).zip(center) {
            *out = v - c;
        }
    }

    /// Length of each row from `centre`.
    pub(super) fn lengths(&self, center: &[f32]) -> Vec<f64> {
        let length = |i: usize| {
            let values = self.row(i).iter().zip(center);
            let squares = values.map(|(v, c)| f64::from(v - c).powi(2));
            squares.sum::<f64>().sqrt()
        };
        parallel::map_rows(self.n(), length)
    }

    /// The largest value from `centre`, without its sign.
    pub(super) fn largest(&self, center: &[f32]) -> f64 {
        let largest = |i: usize| {
            let values = self.row(i).iter().zip(center);
            values.fold(0.0_f32, |most, (v, c)| most.max((v - c).abs()))
        };
        let rows = parallel::map_rows(self.n(), largest);
        f64::from(rows.into_iter().fold(0.0, f32::max))
    }

    /// Whether no product with a row from `centre`, nor the shift to it, rounds.
    fn grid(&self, center: &[f32]) -> Option<Grid> {
        let grid = |i: usize| {
            let values = || self.row(i).iter().zip(center);
            let shifted = values().all(|(&v, &c)| {
                let exact = f64::from(v) - f64::from(c);
                f64::from(v - c).total_cmp(&exact).is_eq() || exact == 0.0
            });
            shifted.then(|| Grid::of(values().map(|(v, c)| v - c)))
        };
        let and = |all: Grid, one: Option<Grid>| Some(all.and(one?));
        let chunks = parallel::chunks(self.n());
        let grids = parallel::map(chunks, |mut rows| {
            rows.try_fold(Grid::NOTHING, |all, i| and(all, grid(i)))
        });
        grids.into_iter().try_fold(Grid::NOTHING, and)
    }

    /// Whether a first pass in `f32` of these queries orders as the result does.
    pub(super) fn first_pass_is_final(&self, queries: &Self, center: &[f32]) -> bool {
        self.metric != Metric::Euclidean
            || (self.grid(center))
                .and_then(|grid| Some(grid.and(queries.grid(center)?)))
                .is_some_and(Grid::is_exact)
    }

    /// The rows as candidates: `q . x - |x|² / 2` orders by Euclidean distance.
    pub(super) fn side(&self, center: &[f32]) -> Side {
        let bias = match self.metric {
            Metric::Cosine | Metric::InnerProduct => Vec::new(),
            Metric::Euclidean => parallel::map_rows(self.n(), |i| {
                let values = self.row(i).iter().zip(center);
                (values.map(|(v, c)| f64::from(v - c).powi(2)).sum::<f64>() / -2.0) as f32
            }),
        };
        Side::new(self.ids.clone(), bias)
    }

    pub(super) fn queries(&self, center: &[f32]) -> Queries {
        Queries::pack(self.n(), self.dimension(), |i, out| {
            self.shifted(i, center, out);
        })
    }

    pub(super) fn items(&self, center: &[f32]) -> Items {
        Items::pack(self.n(), self.dimension(), |i, out| {
            self.shifted(i, center, out);
        })
    }

    /// The best `k` of the candidates (positions in these rows), with their similarities
    /// computed in `f32` one after the other along the dimensions.
    pub(super) fn rescore(
        &self,
        kernel: Kernel,
        query: &[f32],
        candidates: &[Candidate],
        k: usize,
    ) -> Vec<Candidate> {
        let rows: Vec<&[f32]> = candidates
            .iter()
            .map(|c| self.row(c.index() as usize))
            .collect();
        let scores = match self.metric {
            Metric::Cosine | Metric::InnerProduct => kernel.dots(query, &rows),
            Metric::Euclidean => kernel
                .squares(query, &rows)
                .into_iter()
                .map(|s| -s)
                .collect(),
        };
        best_of(candidates, scores, k)
    }

    /// The final list of the query at `at` in `lists`, or `None` where that has too many
    /// candidates.
    pub(super) fn finished(
        &self,
        kernel: Kernel,
        query: &[f32],
        lists: &mut Lists,
        at: usize,
        keep: Keep,
    ) -> Option<Vec<Candidate>> {
        match keep {
            Keep::Best(_) if self.metric != Metric::Euclidean => Some(lists.best(at).to_vec()),
            Keep::Best(k) => Some(self.rescore(kernel, query, lists.best(at), k)),
            Keep::Within { k, .. } => Some(self.rescore(kernel, query, lists.all(at)?, k)),
        }
    }

    /// Positions turned into indices.
    fn named(&self, list: &[Candidate]) -> Vec<Candidate> {
        list.iter()
            .map(|c| Candidate::new(self.ids[c.index() as usize], c.similarity()))
            .collect()
    }
}

/// The mean of some values, rounded to a power of two of the size of their spread: taking
/// it from values on a grid (counts, pixels) is then exact, and equal distances stay equal.
pub(super) fn center(values: ArrayView1<f32>) -> f32 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / n;
    let variance = values
        .iter()
        .map(|&v| (f64::from(v) - mean).powi(2))
        .sum::<f64>()
        / n;
    grid::near(mean, variance)
}

fn check_lengths(x: ArrayView2<f32>) -> Result<()> {
    for (row, values) in x.axis_iter(Axis(0)).enumerate() {
        let square: f64 = values.iter().map(|&v| f64::from(v).powi(2)).sum();
        if square > f64::from(f32::MAX) / 16.0 {
            return Err(Error::data(format!(
                "features: row {row} has length {:e}; products overflow, scale the data",
                square.sqrt()
            )));
        }
    }
    Ok(())
}

/// The `k` nearest of `items` for each of `queries`; an item is never listed as its own
/// neighbour (the same index, not merely the same features).
///
/// This is the unit of work of a cluster: prepare two ranges of rows, search one in the
/// other, and [`merge`](Partial::merge) the answers. Lists may be shorter than `k` until
/// enough blocks are merged. Queries that are no items need indices of their own.
///
/// Fails if the two differ in dimension or metric, if `k` is 0, and when cancelled.
/// Costs 2 d operations a pair, in parallel over queries, always in `f32`.
pub fn block(queries: &Rows, items: &Rows, k: usize, monitor: &Monitor) -> Result<Partial> {
    block_with(Kernel::detect(), queries, items, k, monitor)
}

pub(super) fn block_with(
    kernel: Kernel,
    queries: &Rows,
    items: &Rows,
    k: usize,
    monitor: &Monitor,
) -> Result<Partial> {
    if queries.dimension() != items.dimension() || queries.metric != items.metric {
        return Err(Error::data(format!(
            "queries have {} dimensions ({:?}), items {} ({:?}); they must be alike",
            queries.dimension(),
            queries.metric,
            items.dimension(),
            items.metric
        )));
    }
    if k == 0 {
        return Err(Error::parameter("k", k, "must be at least 1"));
    }
    let center = items.center();
    let others = items.items(&center);
    let side = items.side(&center);
    let lists = if items.first_pass_is_final(queries, &center) {
        let keep = Keep::Best(k);
        let found = first_pass(
            kernel,
            queries,
            (items, &others, &side),
            &center,
            keep,
            monitor,
        )?;
        found.into_iter().flatten().collect()
    } else {
        within_bounds(
            kernel,
            queries,
            (items, &others, &side),
            &center,
            k,
            monitor,
        )?
    };
    Ok(Partial {
        queries: queries.ids.clone(),
        k,
        lists: lists.iter().map(|list| items.named(list)).collect(),
    })
}

/// Items as rows, packed, and as candidates.
type Prepared<'a> = (&'a Rows, &'a Items, &'a Side);

/// The lists of all queries by position, computed again in `f32`; `None` where there were
/// too many candidates.
fn first_pass(
    kernel: Kernel,
    queries: &Rows,
    (items, packed, side): Prepared,
    center: &[f32],
    keep: Keep,
    monitor: &Monitor,
) -> Result<Vec<Option<Vec<Candidate>>>> {
    let (asked, own) = (queries.queries(center), queries.side(center));
    let finish = |first: usize, mut lists: Lists| -> Vec<Option<Vec<Candidate>>> {
        (first..(first + lists.threshold.len()).min(queries.n()))
            .map(|i| items.finished(kernel, queries.row(i), &mut lists, i - first, keep))
            .collect()
    };
    let lists = panel::search(kernel, &(&asked, packed), &own, side, keep, monitor, finish)?;
    Ok(lists.into_iter().flatten().collect())
}

/// As [`first_pass`] with a window, and again with more room for queries that had too many
/// candidates.
fn within_bounds(
    kernel: Kernel,
    queries: &Rows,
    items: Prepared,
    center: &[f32],
    k: usize,
    monitor: &Monitor,
) -> Result<Vec<Vec<Candidate>>> {
    let mut lists = vec![Vec::new(); queries.n()];
    let mut pending: Vec<usize> = (0..queries.n()).collect();
    let mut spare = SPARE;
    while !pending.is_empty() && spare <= SPARE_LARGEST {
        let asked = queries.select(&pending);
        let window = asked.windows(items.0, center);
        let keep = Keep::Within {
            k,
            spare,
            window: &window,
        };
        let found = first_pass(kernel, &asked, items, center, keep, monitor)?;
        let mut crowded = Vec::new();
        for (&i, list) in pending.iter().zip(found) {
            match list {
                Some(list) => lists[i] = list,
                None => crowded.push(i),
            }
        }
        pending = crowded;
        spare *= 16;
    }
    let all = items.0;
    let compared = parallel::try_map(pending.iter(), |&i| {
        monitor.check()?;
        let others = (0..all.n()).filter(|&j| all.ids[j] != queries.ids[i]);
        let others: Vec<Candidate> = others.map(|j| Candidate::new(j as u32, 0.0)).collect();
        Ok(all.rescore(kernel, queries.row(i), &others, k))
    })?;
    for (&i, list) in pending.iter().zip(compared) {
        lists[i] = list;
    }
    Ok(lists)
}
