//! Rows of some weight, sorted by class: what the learners that compare every row with all
//! others begin with. Blocks of distances, never `n x n` of them.

use std::ops::Range;

use faer::{Accum, MatMut, MatRef};
use ndarray::{Array2, ArrayView2, Axis};

use super::whitening::Spectrum;
use crate::matmul::matmul;
use crate::matrix::{check_finite, product};
use crate::{Error, Result};

/// Distances that one task holds at a time; what they are does not depend on it.
const BLOCK: usize = 1 << 18;

/// Labeled rows, sorted by class; centred and scaled where asked.
///
/// Fewer rows than columns are rotated into the directions that they vary in. A metric learned
/// from their differences is the same there, and at right angles to them stays what it was.
pub(super) struct Classed {
    /// `n x m`, class by class, in a class by their number.
    pub(super) x: Array2<f64>,
    /// Weight of each row, above 0.
    pub(super) weight: Vec<f64>,
    /// For each row the places of its class.
    pub(super) own: Vec<Range<usize>>,
    /// What the rows were multiplied by.
    scale: f64,
    /// Number of columns that were given.
    d: usize,
    /// The directions (`d x m`), where rows were rotated.
    directions: Option<Array2<f64>>,
}

impl Classed {
    /// From single precision, with a class and a weight for each row.
    ///
    /// Fails where numbers differ, on weights below 0, NaN, and without two classes of some
    /// weight. `what` is the method, for the message.
    pub(super) fn new(
        x: ArrayView2<f32>,
        classes: &[u32],
        weights: &[f32],
        what: &str,
    ) -> Result<Self> {
        super::check_weighted(x.nrows(), classes, weights)?;
        check_finite(x, what)?;
        Self::of_rows(x.mapv(f64::from).view(), classes, weights, what)
    }

    /// As [`new`](Self::new), of rows that were checked.
    pub(super) fn of_rows(
        x: ArrayView2<f64>,
        classes: &[u32],
        weights: &[f32],
        what: &str,
    ) -> Result<Self> {
        let d = x.ncols();
        let mut order: Vec<usize> = (0..x.nrows()).filter(|&i| weights[i] > 0.0).collect();
        order.sort_by_key(|&i| classes[i]);
        let several = order.first().map(|&i| classes[i]) != order.last().map(|&i| classes[i]);
        if !several || d == 0 {
            return Err(Error::data(format!(
                "{what} needs columns and labeled rows of two classes; without a second class \
                 learn from what varies within classes (rca)"
            )));
        }
        let rows = x.select(Axis(0), &order);
        let mut own = Vec::with_capacity(order.len());
        for same in order.chunk_by(|&i, &j| classes[i] == classes[j]) {
            let range = own.len()..own.len() + same.len();
            own.extend(same.iter().map(|_| range.clone()));
        }
        Ok(Self {
            x: rows,
            weight: order.iter().map(|&i| f64::from(weights[i])).collect(),
            own,
            scale: 1.0,
            d,
            directions: None,
        })
    }

    /// Takes the mean off, and rotates fewer rows than columns. Before, rows are as they were
    /// given to the last bit, and with them what is equally far.
    pub(super) fn center(&mut self) -> Result<()> {
        if let Some(mean) = self.x.mean_axis(Axis(0)) {
            self.x -= &mean;
        }
        if self.x.nrows() < self.d {
            let directions = self.spectrum()?.directions;
            // Without any direction all rows are the same, and need no other frame.
            if directions.ncols() > 0 {
                self.x = product(&self.x, &transposed(&directions));
                self.directions = Some(directions);
            }
        }
        Ok(())
    }

    fn spectrum(&self) -> Result<Spectrum> {
        let (n, m) = self.x.dim();
        Spectrum::of_centered(n, m, |i, out| {
            out.iter_mut().zip(self.x.row(i)).for_each(|(o, v)| *o = *v);
        })
    }

    /// Multiplies all rows.
    pub(super) fn rescale(&mut self, factor: f64) {
        self.x *= factor;
        self.scale *= factor;
    }

    /// Where learning starts: the identity, or the first principal directions.
    ///
    /// Fails unless `rank` is from 1 to the number of columns.
    pub(super) fn start(&self, rank: Option<usize>, field: &str) -> Result<Array2<f64>> {
        let m = self.x.ncols();
        let Some(rank) = rank else {
            return Ok(Array2::eye(m));
        };
        if rank == 0 || rank > self.d {
            let rule = format!("must be from 1 to the number of columns, {}", self.d);
            return Err(Error::parameter(field, rank, &rule));
        }
        if self.directions.is_some() {
            // These are sorted by what varies along them.
            return Ok(Array2::from_shape_fn((rank.min(m), m), |(i, j)| {
                f64::from(u8::from(i == j))
            }));
        }
        let directions = transposed(&self.spectrum()?.directions);
        let kept = rank.min(directions.nrows());
        Ok(directions.slice(ndarray::s![..kept, ..]).to_owned())
    }

    /// A map of the scaled rows as one of rows as they were given, `r x d`.
    pub(super) fn whole(&self, map: Array2<f64>, rank: Option<usize>) -> Array2<f64> {
        let Some(directions) = &self.directions else {
            return map * self.scale;
        };
        if rank.is_some() {
            return product(&map, directions) * self.scale;
        }
        // Q (A - I) Q^T + I: where nothing varies, what it was at the start.
        let less = map - Array2::<f64>::eye(directions.ncols());
        let back = product(&product(directions, &transposed(&less)), directions);
        (back + Array2::<f64>::eye(self.d)) * self.scale
    }

    /// How many anchors have their distances to all others computed at a time.
    pub(super) fn block(&self) -> usize {
        (BLOCK / self.x.nrows()).clamp(8, 64)
    }
}

/// The rank of a map of the `varying` ones of `all` columns: one that all columns have room for stays none that fails.
pub(super) fn rank_among(rank: Option<usize>, varying: usize, all: usize) -> Option<usize> {
    rank.map(|rank| if rank <= all { rank.min(varying) } else { rank })
}

fn transposed(a: &Array2<f64>) -> Array2<f64> {
    a.t().as_standard_layout().into_owned()
}

/// Squared distances of some rows of `z` to all, a row each in `out`; `squares` are the squared
/// lengths of all.
pub(super) fn distances(z: &Array2<f64>, squares: &[f64], rows: Range<usize>, out: &mut [f64]) {
    let (n, r) = z.dim();
    let Some(z) = z.as_slice() else { return };
    let all = MatRef::from_row_major_slice(z, n, r);
    let some = all.subrows(rows.start, rows.len());
    let to = MatMut::from_row_major_slice_mut(out, rows.len(), n);
    matmul(to, Accum::Replace, some, all.transpose(), -2.0);
    for (row, &own) in out.chunks_exact_mut(n).zip(&squares[rows]) {
        for (value, square) in row.iter_mut().zip(squares) {
            let sum = *value + square + own;
            *value = if sum > 0.0 { sum } else { 0.0 };
        }
    }
}

/// Squared length of every row.
pub(super) fn squares(z: &Array2<f64>) -> Vec<f64> {
    z.rows().into_iter().map(|row| row.dot(&row)).collect()
}

/// Squared distance, in lanes that add up in a fixed order.
#[inline(always)]
pub(super) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for c in 0..LANES {
            let e = a[c] - b[c];
            sums[c] += e * e;
        }
    }
    let rest = a_rest.iter().zip(b_rest);
    sums.iter().sum::<f64>() + rest.map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
}

/// Calls `found` with the place and the value of all that is below `limit`.
#[inline(always)]
pub(super) fn below(row: &[f64], limit: f64, mut found: impl FnMut(usize, f64)) {
    const LANES: usize = 16;
    let (chunks, rest) = row.as_chunks::<LANES>();
    for (at, chunk) in chunks.iter().enumerate() {
        // Nearly always there is none, which a few vector instructions tell.
        let mut any = 0_u64;
        for &value in chunk {
            any |= u64::from(value < limit);
        }
        if any != 0 {
            for (c, &value) in chunk.iter().enumerate() {
                if value < limit {
                    found(at * LANES + c, value);
                }
            }
        }
    }
    for (c, &value) in rest.iter().enumerate() {
        if value < limit {
            found(chunks.len() * LANES + c, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed;
    use rand::RngExt;

    #[test]
    fn blocks_of_distances_are_distances() {
        let mut rng = seed::stream(1, "classed");
        let z = Array2::from_shape_fn((37, 11), |_| rng.random_range(-1.0..1.0));
        let mut out = vec![0.0; 5 * 37];
        distances(&z, &squares(&z), 3..8, &mut out);
        for i in 3..8 {
            for l in 0..37 {
                let (a, b) = (z.row(i).to_vec(), z.row(l).to_vec());
                let naive: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum();
                assert!((out[(i - 3) * 37 + l] - naive).abs() < 1e-12);
                assert!((squared_distance(&a, &b) - naive).abs() < 1e-12);
            }
        }
        let mut seen = Vec::new();
        below(&out[..37], 6.0, |l, d| seen.push((l, d)));
        let naive = out[..37].iter().copied().enumerate().filter(|e| e.1 < 6.0);
        assert_eq!(seen, naive.collect::<Vec<_>>());
    }

    #[test]
    fn fewer_rows_than_columns_lose_nothing() {
        let mut rng = seed::stream(2, "classed");
        let x = Array2::from_shape_fn((6, 20), |_| rng.random_range(-1.0_f32..1.0));
        let classes = [2, 0, 2, 0, 1, 1];
        let mut own = Classed::new(x.view(), &classes, &[1.0; 6], "a test").unwrap();
        own.center().unwrap();
        // A centred set of six varies in five directions.
        assert_eq!(own.x.dim(), (6, 5));
        assert_eq!(own.own, [0..2, 0..2, 2..4, 2..4, 4..6, 4..6]);
        let map = own.whole(own.start(None, "rank").unwrap(), None);
        assert!(
            (map - Array2::<f64>::eye(20))
                .iter()
                .all(|e| e.abs() < 1e-12)
        );
        let order = [1, 3, 4, 5, 0, 2];
        let map = Array2::from_shape_fn((5, 5), |(i, j)| ((i + 2 * j) as f64).sin());
        let moved = product(&own.x, &map);
        let whole = own.whole(map, None);
        for (i, j) in [(0, 1), (2, 5), (4, 3)] {
            let e = (&x.row(order[i]) - &x.row(order[j])).mapv(f64::from);
            let (near, far) = (&moved.row(i) - &moved.row(j), whole.dot(&e));
            assert!((near.dot(&near) - far.dot(&far)).abs() < 1e-10);
        }
        assert_eq!(own.start(Some(20), "rank").unwrap().dim(), (5, 5));
        assert!(own.start(Some(21), "rank").is_err());
    }
}
