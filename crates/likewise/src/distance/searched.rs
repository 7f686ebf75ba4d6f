//! Blocks of exact similarities between queries and searched rows.

use std::sync::atomic::{AtomicU64, Ordering};

use faer::{Accum, MatMut, MatRef};
use ndarray::{Array1, ArrayView1, ArrayView2, Axis};

use super::Metric;
use super::grid::{self, Grid};
use crate::matmul::matmul;
use crate::matrix::check_finite;
use crate::{Error, Monitor, Result, parallel};

/// Columns of one matrix product: `TILE x dimensions` stays in the second-level cache.
const TILE: usize = 2048;
/// Similarities that one thread holds at a time (32 MiB), unless 16 queries need more.
const BLOCK: usize = 1 << 23;
/// Rows that one task prepares.
const PREPARED: usize = 64;
/// Squares of longer rows leave the range of `f32`.
const LONGEST: f64 = 1e18;

/// Rows made ready to be searched exactly.
///
/// Holds one copy of the rows (`n x d` `f32`). Similarities are computed in `f32` by
/// matrix products of one fixed shape per call, so that equal rows get equal bits
/// wherever they stand and however many threads run: duplicates tie exactly.
///
/// Where rows and queries are small whole numbers (counts, pixels, binary features; or
/// multiples of a power of two) no product rounds, and all that is equal ties exactly: equal
/// distances, and equal cosines of rows in different directions. The rows are then held
/// twice for the cosine.
///
/// Euclidean similarities come from `2 q.g - |g|^2 - |q|^2` after moving the origin near
/// the mean of the searched rows. This is exact to about `1e-6` of the squared spread
/// of the data, not of the single distance; use it for ranking, not for tiny distances.
#[derive(Debug, Clone)]
pub struct Searched {
    metric: Metric,
    /// `tiles * tile` rows of `width` numbers; the rows beyond `n` are zeros.
    rows: Vec<f32>,
    n: usize,
    dimensions: usize,
    width: usize,
    tile: usize,
    /// Searched rows and padding.
    columns: usize,
    center: Option<Array1<f64>>,
    whole: Option<Whole>,
}

/// Rows of small whole numbers as they are, for the cosine.
#[derive(Debug, Clone)]
struct Whole {
    rows: Vec<f32>,
    /// Squared length of each row.
    squares: Vec<f64>,
    grid: Grid,
}

impl Whole {
    /// Turns the products of a query of this squared length into cosines. Root and
    /// quotient of whole numbers: equal cosines come out equal.
    fn cosines(&self, scores: &mut [f32], square: f64) {
        for (score, own) in scores.iter_mut().zip(&self.squares) {
            let product = f64::from(*score);
            let both = own * square;
            let cosine = (product * product / both).sqrt().copysign(product);
            *score = if both > 0.0 { cosine as f32 } else { 0.0 };
        }
    }
}

impl Searched {
    /// The rows of `x` (`items x dimensions`) with these indices, in this order.
    ///
    /// Fails on an index out of range, on NaN or infinity, and on rows longer than 1e18
    /// where length counts. O(n d).
    pub fn new(x: ArrayView2<f32>, rows: &[usize], metric: Metric) -> Result<Self> {
        check_rows(x, rows)?;
        check_finite(x, "searched rows")?;
        let n = rows.len();
        let dimensions = x.ncols();
        let center = (metric == Metric::Euclidean).then(|| {
            let mut sum = Array1::<f64>::zeros(dimensions);
            for &row in rows {
                sum.zip_mut_with(&x.row(row), |s, &v| *s += f64::from(v));
            }
            let mean = sum / n.max(1) as f64;
            let mut spread = Array1::<f64>::zeros(dimensions);
            for &row in rows {
                let values = spread.iter_mut().zip(x.row(row)).zip(&mean);
                values.for_each(|((s, &v), m)| *s += (f64::from(v) - m).powi(2));
            }
            let near = |(&m, s): (&f64, f64)| f64::from(grid::near(m, s / n.max(1) as f64));
            mean.iter().zip(spread).map(near).collect()
        });
        let width = dimensions + usize::from(metric == Metric::Euclidean);
        let tiles = n.div_ceil(TILE).max(1);
        let tile = n.div_ceil(tiles).next_multiple_of(16).max(16);
        let mut this = Self {
            metric,
            rows: vec![0.0; tiles * tile * width],
            n,
            dimensions,
            width,
            tile,
            columns: tiles * tile,
            center,
            whole: None,
        };
        let mut prepared = std::mem::take(&mut this.rows);
        if width > 0 {
            let chunks = prepared.chunks_mut(PREPARED * width);
            parallel::try_map(chunks.zip(rows.chunks(PREPARED)), |(out, rows)| {
                for (out, &row) in out.chunks_mut(width).zip(rows) {
                    let square = this.prepare(x.row(row), row, out)?;
                    if let Some(last) = out.get_mut(dimensions) {
                        *last = -square as f32;
                    }
                }
                Ok(())
            })?;
        }
        this.rows = prepared;
        if metric == Metric::Cosine {
            this.whole = this.whole_numbers(x, rows);
        }
        Ok(this)
    }

    /// The rows as they are, if none of their products rounds.
    fn whole_numbers(&self, x: ArrayView2<f32>, rows: &[usize]) -> Option<Whole> {
        let grid = common_grid(x, rows).filter(|grid| grid.is_exact())?;
        let mut whole = vec![0.0; self.rows.len()];
        for (out, &row) in whole.chunks_mut(self.width.max(1)).zip(rows) {
            out.iter_mut().zip(x.row(row)).for_each(|(o, &v)| *o = v);
        }
        let square = |&row: &usize| x.row(row).iter().map(|&v| f64::from(v).powi(2)).sum();
        Some(Whole {
            rows: whole,
            squares: rows.iter().map(square).collect(),
            grid,
        })
    }

    /// All rows of `x`.
    pub fn all(x: ArrayView2<f32>, metric: Metric) -> Result<Self> {
        Self::new(x, &(0..x.nrows()).collect::<Vec<_>>(), metric)
    }

    /// Number of searched rows.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there is nothing to search.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Length of a row.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// How rows are compared.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Calls `work(scratch, position, offset, scores)` once for every query and returns
    /// its answers in the order of `queries`, which are row indices of `x`.
    ///
    /// `scores` has one entry a searched row and may be written to. `scores[j] + offset`
    /// is the similarity; `offset` is the same for all rows of a query (0 unless the
    /// metric is Euclidean). `scratch` comes from `init` and is reused within a thread.
    ///
    /// O(queries x n x d) time; O(block x n) memory a thread, at most 32 MiB unless
    /// n exceeds 512 thousand (then 64 n bytes). Steps of `monitor` are queries.
    pub fn for_each_query<S: Send, T: Send>(
        &self,
        x: ArrayView2<f32>,
        queries: &[usize],
        monitor: &Monitor,
        init: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, usize, f32, &mut [f32]) -> T + Sync,
    ) -> Result<Vec<T>> {
        if x.ncols() != self.dimensions {
            return Err(Error::data(format!(
                "queries have {} dimensions, the searched rows {}; use the same model for both",
                x.ncols(),
                self.dimensions
            )));
        }
        check_rows(x, queries)?;
        check_finite(x, "queries")?;
        let whole = self.whole.as_ref().filter(|whole| {
            common_grid(x, queries).is_some_and(|grid| grid.and(whole.grid).is_exact())
        });
        let largest = (BLOCK / self.columns / 16 * 16).clamp(16, 128);
        let block = queries.len().next_multiple_of(16).clamp(16, largest);
        let done = AtomicU64::new(0);
        let buffers = || {
            let buffers = (
                vec![0.0; block * self.width],
                vec![0.0; block * self.columns],
            );
            (buffers, init())
        };
        let parts = parallel::try_map_with(
            queries.chunks(block).enumerate(),
            buffers,
            |((asked, scores), scratch), (number, chunk)| {
                monitor.check()?;
                asked.fill(0.0);
                let mut offsets = vec![0.0; chunk.len()];
                let mut squares = vec![0.0; chunk.len()];
                for (i, &query) in chunk.iter().enumerate() {
                    let out = &mut asked[i * self.width..(i + 1) * self.width];
                    if whole.is_some() {
                        out.iter_mut().zip(x.row(query)).for_each(|(o, &v)| *o = v);
                        squares[i] = out.iter().map(|&v| f64::from(v).powi(2)).sum();
                        continue;
                    }
                    let square = self.prepare(x.row(query), query, out)?;
                    if self.metric == Metric::Euclidean {
                        out[..self.dimensions].iter_mut().for_each(|v| *v *= 2.0);
                        out[self.dimensions] = 1.0;
                        offsets[i] = -square as f32;
                    }
                }
                self.multiply(whole.map_or(&self.rows, |w| &w.rows), asked, scores, block);
                let answers: Vec<T> = scores
                    .chunks_mut(self.columns)
                    .zip(offsets.into_iter().zip(squares))
                    .enumerate()
                    .map(|(i, (row, (offset, square)))| {
                        let row = &mut row[..self.n];
                        if let Some(whole) = whole {
                            whole.cosines(row, square);
                        }
                        work(scratch, number * block + i, offset, row)
                    })
                    .collect();
                let before = done.fetch_add(chunk.len() as u64, Ordering::Relaxed);
                monitor.step(before + chunk.len() as u64)?;
                Ok(answers)
            },
        )?;
        Ok(parts.into_iter().flatten().collect())
    }

    /// `block x columns` scores, row by row. Every product has the same shape, because a
    /// kernel may round differently for another one.
    fn multiply(&self, rows: &[f32], asked: &[f32], scores: &mut [f32], block: usize) {
        if self.width == 0 {
            return scores.fill(0.0);
        }
        let asked = MatRef::from_row_major_slice(asked, block, self.width);
        let mut scores = MatMut::from_row_major_slice_mut(scores, block, self.columns);
        for (t, tile) in rows.chunks(self.tile * self.width).enumerate() {
            let tile = MatRef::from_row_major_slice(tile, self.tile, self.width);
            let out = scores.as_mut().subcols_mut(t * self.tile, self.tile);
            matmul(out, Accum::Replace, asked, tile.transpose(), 1.0);
        }
    }

    /// Writes a row as the metric needs it and returns its squared length.
    fn prepare(&self, row: ArrayView1<f32>, name: usize, out: &mut [f32]) -> Result<f64> {
        let square = |values: &[f32]| values.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>();
        let out = &mut out[..self.dimensions];
        match &self.center {
            Some(center) => {
                for ((o, &v), &c) in out.iter_mut().zip(row).zip(center) {
                    *o = (f64::from(v) - c) as f32;
                }
            }
            None => out.iter_mut().zip(row).for_each(|(o, &v)| *o = v),
        }
        let length = square(out).sqrt();
        if self.metric == Metric::Cosine {
            if length > 0.0 {
                for v in out.iter_mut() {
                    *v = (f64::from(*v) / length) as f32;
                }
            }
        } else if length > LONGEST {
            return Err(Error::data(format!(
                "row {name} has length {length:e}, too long for f32 similarities; scale the rows \
                 down or use the cosine"
            )));
        }
        Ok(square(out))
    }
}

/// What the values of some rows have in common; `None` at once where the first of them
/// tell that they are no whole numbers.
fn common_grid(x: ArrayView2<f32>, rows: &[usize]) -> Option<Grid> {
    const FIRST: usize = 16;
    let of = |rows: &[usize]| {
        let grid = |i: usize| Grid::of(x.row(rows[i]).iter().copied());
        let grids = parallel::map_rows(rows.len(), grid);
        grids.into_iter().fold(Grid::NOTHING, Grid::and)
    };
    let (first, rest) = rows.split_at(rows.len().min(FIRST));
    let first = of(first);
    first.is_exact().then(|| first.and(of(rest)))
}

fn check_rows(x: ArrayView2<f32>, rows: &[usize]) -> Result<()> {
    match rows.iter().find(|&&row| row >= x.len_of(Axis(0))) {
        Some(row) => Err(Error::data(format!(
            "item {row} was asked for, but the matrix has {} rows",
            x.nrows()
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // Some results are exact.
mod tests {
    use super::*;
    use crate::seed;
    use ndarray::Array2;
    use rand::RngExt;

    fn similarities(x: &Array2<f32>, metric: Metric) -> Vec<Vec<f32>> {
        let all: Vec<usize> = (0..x.nrows()).collect();
        Searched::all(x.view(), metric)
            .unwrap()
            .for_each_query(
                x.view(),
                &all,
                &Monitor::silent(),
                || (),
                |(), _, offset, scores| scores.iter().map(|s| s + offset).collect(),
            )
            .unwrap()
    }

    fn random(n: usize, d: usize, name: &str) -> Array2<f32> {
        let mut rng = seed::stream(3, name);
        Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0_f32..1.0))
    }

    #[test]
    fn agrees_with_the_pair_definition() {
        for (n, d) in [(1, 1), (5, 3), (40, 17), (150, 64)] {
            let x = random(n, d, "pairs") + 3.0;
            for metric in [Metric::Cosine, Metric::Euclidean, Metric::InnerProduct] {
                for (i, row) in similarities(&x, metric).iter().enumerate() {
                    assert_eq!(row.len(), n);
                    for (j, &s) in row.iter().enumerate() {
                        let expected = metric.similarity(x.row(i), x.row(j));
                        // The squared spread is about d, see the type.
                        let tolerance = 1e-6 * (d as f64 + 4.0 + expected.abs());
                        assert!((f64::from(s) - expected).abs() < tolerance, "{metric:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn duplicates_get_equal_bits_wherever_they_stand() {
        for d in [1, 2, 5, 16, 100, 128, 300, 1030] {
            let base = random(3, d, "duplicates");
            let n = 4500; // three tiles, the last one padded
            let x = Array2::from_shape_fn((n, d), |(i, j)| base[[i % 3, j]]);
            let searched = Searched::all(x.view(), Metric::Cosine).unwrap();
            let queries: Vec<usize> = (0..40).chain(n - 3..n).collect();
            for pool in [1, 2] {
                let rows = rayon::ThreadPoolBuilder::new()
                    .num_threads(pool)
                    .build()
                    .unwrap()
                    .install(|| {
                        searched.for_each_query(
                            x.view(),
                            &queries,
                            &Monitor::silent(),
                            || (),
                            |(), _, _, scores| scores.to_vec(),
                        )
                    })
                    .unwrap();
                for (position, row) in rows.iter().enumerate() {
                    let first = &rows[queries[position] % 3];
                    for (j, s) in row.iter().enumerate() {
                        assert_eq!(s.to_bits(), first[j % 3].to_bits(), "d {d} column {j}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_equal_among_whole_numbers_ties_exactly() {
        for (seed, scale) in [(1, 1.0), (2, 0.125), (3, 1024.0)] {
            let mut rng = seed::stream(seed, "whole numbers");
            let value = |_| f32::from(rng.random_range(-2_i8..=2)) * scale;
            let x = Array2::from_shape_fn((120, 4), value);
            // The products of a pair in whole numbers.
            let whole = |i: usize, j: usize| -> (i64, i64, i64) {
                let dot = |i: usize, j: usize| -> i64 {
                    let values = x.row(i).into_iter().zip(x.row(j));
                    values
                        .map(|(a, b)| (a / scale) as i64 * (b / scale) as i64)
                        .sum()
                };
                (dot(i, j), dot(i, i), dot(j, j))
            };
            for (i, row) in similarities(&x, Metric::Cosine).iter().enumerate() {
                for j in 0..120 {
                    for l in 0..120 {
                        let ((p, _, g), (q, _, h)) = (whole(i, j), whole(i, l));
                        // p / root(g) against q / root(h), with signs.
                        let (left, right) = (p * p.abs() * h.max(1), q * q.abs() * g.max(1));
                        let expected = left.cmp(&right);
                        assert_eq!(row[j].partial_cmp(&row[l]), Some(expected), "{i} {j} {l}");
                    }
                }
            }
            for (i, row) in similarities(&x, Metric::Euclidean).iter().enumerate() {
                for (j, s) in row.iter().enumerate() {
                    let (dot, own, other) = whole(i, j);
                    let distance = (own + other - 2 * dot) as f32 * scale * scale;
                    assert_eq!(*s, -distance, "{i} {j}");
                }
            }
        }
        // Queries that are no whole numbers are compared as ever.
        let x = ndarray::array![[1.0, 0.0], [2.0, 1.0], [0.3, 0.1]];
        let searched = Searched::new(x.view(), &[0, 1], Metric::Cosine).unwrap();
        let found = searched
            .for_each_query(
                x.view(),
                &[2],
                &Monitor::silent(),
                || (),
                |(), _, _, s| s.to_vec(),
            )
            .unwrap();
        for (j, s) in found[0].iter().enumerate() {
            let expected = Metric::Cosine.similarity(x.row(2), x.row(j));
            assert!((f64::from(*s) - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn zero_rows_have_cosine_zero_and_empty_sets_are_fine() {
        let x = ndarray::array![[0.0, 0.0], [1.0, 1.0]];
        assert_eq!(similarities(&x, Metric::Cosine)[0], [0.0, 0.0]);
        assert!(similarities(&Array2::zeros((0, 4)), Metric::Cosine).is_empty());
        assert_eq!(
            similarities(&Array2::zeros((2, 0)), Metric::Euclidean).len(),
            2
        );
        assert_eq!(
            similarities(&Array2::zeros((2, 0)), Metric::Cosine).len(),
            2
        );
    }

    #[test]
    fn bad_rows_are_refused() {
        let x = ndarray::array![[1.0, 2.0], [f32::NAN, 0.0]];
        assert!(Searched::all(x.view(), Metric::Cosine).is_err());
        let x = ndarray::array![[1.0, 2.0], [3e30, 0.0]];
        assert!(Searched::all(x.view(), Metric::Cosine).is_ok());
        assert!(Searched::all(x.view(), Metric::InnerProduct).is_err());
        assert!(Searched::new(x.view(), &[2], Metric::Cosine).is_err());
    }

    #[test]
    fn stops_when_cancelled() {
        let x = random(50, 4, "cancel");
        let monitor = Monitor::silent();
        monitor.cancel();
        let searched = Searched::all(x.view(), Metric::Cosine).unwrap();
        let answer = searched.for_each_query(x.view(), &[0], &monitor, || (), |(), _, _, _| ());
        assert_eq!(answer.unwrap_err().kind(), crate::ErrorKind::Cancelled);
    }
}
