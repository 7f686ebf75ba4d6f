//! The features of a search where they lie: read in place, in memory or in a mapped file.

use ndarray::{ArrayView2, s};

use crate::distance::Metric;
use crate::distance::tile::Kernel;
use crate::neighbor::candidate::{Candidate, Partial, best_of};
use crate::neighbor::rows::{Rows, block_with, center};
use crate::{Monitor, Result, parallel};

/// Rows longer than this, or shorter than its inverse, are copied to be scaled.
const LONG: f64 = 1e15;

/// The features where they lie.
pub(super) struct Features<'a> {
    pub(super) x: ArrayView2<'a, f32>,
    /// All values, row after row; `None` if they do not lie so.
    pub(super) rows: Option<&'a [f32]>,
    pub(super) metric: Metric,
    /// One over the length of each row, 0 for a row of zeros; for the cosine only.
    pub(super) inverse: Vec<f32>,
    pub(super) center: Vec<f32>,
    longest: f64,
    shortest: f64,
}

impl<'a> Features<'a> {
    pub(super) fn new(x: ArrayView2<'a, f32>, metric: Metric) -> Self {
        let (n, d) = x.dim();
        let center = match metric {
            Metric::Euclidean => x.columns().into_iter().map(center).collect(),
            _ => vec![0.0; d],
        };
        let lengths = parallel::map_rows(n, |i| {
            let values = x.row(i).into_iter().zip(&center);
            values
                .map(|(v, c)| f64::from(v - c).powi(2))
                .sum::<f64>()
                .sqrt()
        });
        let longest = lengths.iter().copied().fold(0.0, f64::max);
        let shortest = (lengths.iter().copied().filter(|&l| l > 0.0)).fold(longest, f64::min);
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
            center,
            longest,
            shortest,
        }
    }

    pub(super) fn n(&self) -> usize {
        self.x.nrows()
    }

    pub(super) fn d(&self) -> usize {
        self.x.ncols()
    }

    pub(super) fn too_long_or_short(&self) -> bool {
        self.metric != Metric::Euclidean
            && (self.longest > LONG || (self.shortest > 0.0 && self.shortest < 1.0 / LONG))
    }

    /// Length of the longest row as it is compared.
    pub(super) fn reach(&self) -> f64 {
        match self.metric {
            Metric::Euclidean => self.longest,
            _ => 1.0,
        }
    }

    fn row(&self, i: usize) -> &[f32] {
        let d = self.d();
        self.rows.map_or(&[], |rows| &rows[i * d..(i + 1) * d])
    }

    pub(super) fn write(&self, i: usize, out: &mut [f32]) {
        let scale = self.inverse.get(i).copied().unwrap_or(1.0);
        for (out, v) in out.iter_mut().zip(self.row(i)) {
            *out = v * scale;
        }
    }

    /// The true neighbours of some items, a stretch of the data at a time.
    pub(super) fn truth(
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
            monitor.step(start as u64)?;
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
    pub(super) fn rescore(
        &self,
        kernel: Kernel,
        i: usize,
        found: &[Candidate],
        k: usize,
    ) -> Vec<Candidate> {
        let rows: Vec<&[f32]> = found.iter().map(|c| self.row(c.index() as usize)).collect();
        let query = self.row(i);
        let scores = if self.metric == Metric::Euclidean {
            let squares = kernel.squares(query, &rows);
            squares.into_iter().map(|s| -s).collect()
        } else {
            let mut dots = kernel.dots(query, &rows);
            for (dot, c) in dots.iter_mut().zip(found) {
                *dot *= self.inverse[i] * self.inverse[c.index() as usize];
            }
            dots
        };
        best_of(found, scores, k)
    }
}
