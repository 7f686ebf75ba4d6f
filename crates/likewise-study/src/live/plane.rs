//! A map of all items: the two directions in which the embedding varies most.

use likewise::linear::whitening::Spectrum;
use likewise::{matrix, seed};
use ndarray::{ArrayView2, Axis};
use rand::seq::index::sample;
use rayon::prelude::*;

use crate::Result;

/// Items that the directions are found by.
const FOUND_BY: usize = 50_000;
/// Rows that are mapped at a time.
const BLOCK: usize = 8192;

/// Where the items lie on a map.
#[derive(Debug, Clone, PartialEq)]
pub struct Plane {
    /// Along the first direction, one an item.
    pub x: Vec<f32>,
    /// Along the second.
    pub y: Vec<f32>,
    /// Share of the variance that the two hold, 0 to 1.
    pub share: f64,
}

/// The map of the rows of an embedding, each of length 1 (n x d).
///
/// Fails on NaN and on no rows. Costs O(n d), and the eigenvectors of a d x d matrix.
pub fn plane(rows: ArrayView2<f32>, seed: u64) -> Result<Plane> {
    let n = rows.nrows();
    let mut found_by: Vec<usize> = (0..n).collect();
    if n > FOUND_BY {
        let mut rng = seed::stream(seed, "items of a map");
        found_by = sample(&mut rng, n, FOUND_BY).into_vec();
        found_by.sort_unstable();
    }
    let unit = matrix::l2_normalize(matrix::select_rows(rows, &found_by));
    let spectrum = Spectrum::fit(unit.view())?;
    let rank = rows.ncols().min(2);
    // Infinite shrinkage only centres and turns.
    let turn = spectrum.truncated(f64::INFINITY, rank)?;
    let blocks: Vec<_> = rows.axis_chunks_iter(Axis(0), BLOCK).collect();
    let placed = blocks.into_par_iter().map(|block| {
        let unit = matrix::l2_normalize(block.to_owned());
        turn.transform(unit.view())
    });
    let placed = placed.collect::<Result<Vec<_>>>()?;
    let all = || placed.iter().flat_map(|block| block.rows());
    let total = spectrum.variances.sum();
    let shown: f64 = spectrum.variances.iter().take(rank).sum();
    Ok(Plane {
        x: all().map(|row| row[0]).collect(),
        y: all()
            .map(|row| row.get(1).copied().unwrap_or(0.0))
            .collect(),
        share: if total > 0.0 { shown / total } else { 1.0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn the_directions_are_those_that_vary_most() {
        let rows = ndarray::array![[1.0, 1.0, 0.01], [1.0, -1.0, 0.01], [1.0, 0.5, 0.0]];
        let plane = plane(rows.view(), 0).unwrap();
        let spread = |values: &[f32]| {
            values.iter().copied().fold(f32::MIN, f32::max)
                - values.iter().copied().fold(f32::MAX, f32::min)
        };
        assert!(plane.share > 0.99 && spread(&plane.x) > 3.0 * spread(&plane.y));
    }

    #[test]
    fn one_column_and_blocks_that_do_not_come_out_even() {
        let rows = Array2::from_shape_fn((BLOCK + 3, 1), |(i, _)| if i == 5 { -1.0 } else { 1.0 });
        let plane = plane(rows.view(), 0).unwrap();
        assert_eq!((plane.x.len(), plane.y[7]), (BLOCK + 3, 0.0));
        assert!((plane.x[5] - plane.x[4]).abs() > 1.9);
        assert_eq!(plane.x[BLOCK + 2].to_bits(), plane.x[0].to_bits());
    }
}
