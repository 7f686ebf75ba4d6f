//! The scale of the scores that enter the search for negative edges.

use ndarray::{Array2, Axis};

use super::known::{Known, for_each_row};
use crate::parallel;

/// How `F'` was scaled, to be undone where `F` is the start of the second solve: so one
/// matrix of the size of the scores is enough.
pub(crate) enum Scaling {
    /// The proportions were added.
    None,
    /// The mean of each class was taken off, and the rest divided by its unit.
    PerClass { mean: Vec<f64>, unit: Vec<f64> },
}

impl Scaling {
    /// Nodes without a label in reach stay at 0, and so does a column that does not vary.
    pub(crate) fn apply(&self, known: &Known, mut f: Array2<f64>) -> Array2<f64> {
        if let Self::PerClass { mean, unit } = self {
            for_each_row(&mut f, |i, mut row| {
                if known.reached(i) {
                    for ((f, mean), unit) in row.iter_mut().zip(mean).zip(unit) {
                        *f = if *unit > 0.0 { (*f - mean) / unit } else { 0.0 };
                    }
                }
            });
        }
        f
    }

    /// Gives `F`.
    pub(crate) fn undo(&self, known: &Known, mut f: Array2<f64>) -> Array2<f64> {
        let Self::PerClass { mean, unit } = self else {
            return f;
        };
        for_each_row(&mut f, |i, mut row| {
            if known.reached(i) {
                for ((f, mean), unit) in row.iter_mut().zip(mean).zip(unit) {
                    *f = *f * unit + mean;
                }
            }
        });
        known.with_proportions(f)
    }
}

/// Mean and standard deviation of every column over the nodes that a label reaches.
pub(crate) fn standard(known: &Known, x: &Array2<f64>) -> Scaling {
    let n = (0..x.nrows()).filter(|&i| known.reached(i)).count().max(1) as f64;
    let mean = average(known, x, n, |_, v| v);
    let variance = average(known, x, n, |c, v| (v - mean[c]) * (v - mean[c]));
    let unit = variance.into_iter().map(f64::sqrt).collect();
    Scaling::PerClass { mean, unit }
}

/// Sum of `term(column, value)` over the reached nodes, divided by `n`. Chunks of rows are
/// added in their order: the same bits for any number of threads.
fn average(
    known: &Known,
    x: &Array2<f64>,
    n: f64,
    term: impl Fn(usize, f64) -> f64 + Sync,
) -> Vec<f64> {
    const ROWS: usize = 512;
    let chunks = x.axis_chunks_iter(Axis(0), ROWS).enumerate();
    let sums = parallel::map(chunks, |(chunk, rows)| {
        let mut sum = vec![0.0; x.ncols()];
        for (row, values) in rows.rows().into_iter().enumerate() {
            if known.reached(chunk * ROWS + row) {
                for (c, (sum, v)) in sum.iter_mut().zip(values).enumerate() {
                    *sum += term(c, *v);
                }
            }
        }
        sum
    });
    let mut total = vec![0.0; x.ncols()];
    for sum in sums {
        for (total, sum) in total.iter_mut().zip(sum) {
            *total += sum / n;
        }
    }
    total
}
