//! A point's directions, and the row of the slopes around it.

use crate::descriptor::kind::unit;
use crate::descriptor::plane::Plane;

/// Directions of a point are peaks among so many.
const TURNS: usize = 36;
/// Cells on a side of the square that a row is of ...
pub(in crate::descriptor) const CELLS: usize = 4;
/// ... and directions of a cell.
pub(in crate::descriptor) const BINS: usize = 8;
/// Numbers of a row.
pub(in crate::descriptor) const ROW: usize = CELLS * CELLS * BINS;
/// Largest value of a row of length 1.
const CLIP: f32 = 0.2;

/// A point of an octave, in its pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) step: usize,
    /// Its blur.
    pub(super) sigma: f32,
}

/// The directions of a point: of the peaks of a histogram.
pub(super) fn directions(plane: &Plane, found: Found) -> Vec<f32> {
    let sigma = 1.5 * found.sigma;
    let radius = (3.0 * sigma).round() as isize;
    let (x, y) = (found.x.round() as isize, found.y.round() as isize);
    let mut counts = [0.0_f32; TURNS];
    for row in (y - radius).max(1)..=(y + radius).min(plane.height as isize - 2) {
        for column in (x - radius).max(1)..=(x + radius).min(plane.width as isize - 2) {
            let (across, down) = slope(plane, column as usize, row as usize);
            let square = ((row - y).pow(2) + (column - x).pow(2)) as f32;
            let weight = (-0.5 * square / (sigma * sigma)).exp();
            let turn = down.atan2(across) / std::f32::consts::TAU * TURNS as f32;
            let bin = (turn.round() as isize).rem_euclid(TURNS as isize);
            counts[bin as usize] += weight * (across * across + down * down).sqrt();
        }
    }
    let around = |bin: usize, by: usize| counts[(bin + TURNS + by - 2) % TURNS];
    let smooth: [f32; TURNS] = std::array::from_fn(|bin| {
        let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|by| around(bin, by));
        (a + e) / 16.0 + (b + d) / 4.0 + c * 0.375
    });
    let most = smooth.iter().copied().fold(0.0, f32::max);
    let peak = |bin: usize| {
        let (before, own) = (smooth[(bin + TURNS - 1) % TURNS], smooth[bin]);
        let after = smooth[(bin + 1) % TURNS];
        (own > before && own >= after && own >= 0.8 * most).then(|| {
            let turn = bin as f32 + 0.5 * (before - after) / (before - 2.0 * own + after);
            (turn / TURNS as f32 * std::f32::consts::TAU).rem_euclid(std::f32::consts::TAU)
        })
    };
    (0..TURNS).filter_map(peak).collect()
}

/// The row of a point; none where all is flat.
pub(super) fn row(plane: &Plane, found: Found, angle: f32) -> Option<[f32; ROW]> {
    let cell = 3.0 * found.sigma;
    let reach = (cell * std::f32::consts::SQRT_2 * 0.5 * (CELLS as f32 + 1.0)).round();
    let reach = reach.min(plane.width.max(plane.height) as f32);
    let (sin, cos) = angle.sin_cos();
    let inner = |middle: f32, side: usize| {
        let first = (middle - reach).ceil().max(1.0) as usize;
        first..=((middle + reach).floor() as usize).min(side - 2)
    };
    // The Gaussian is one across times one down, however the square is turned.
    let sigma = 0.5 * CELLS as f32 * cell;
    let weight = |offset: f32| (-0.5 * (offset / sigma).powi(2)).exp();
    let columns: Vec<(usize, f32, f32)> = inner(found.x, plane.width)
        .map(|x| (x, x as f32 - found.x, weight(x as f32 - found.x)))
        .collect();
    let mut votes = Votes::default();
    let middle = 0.5 * CELLS as f32 - 0.5;
    for y in inner(found.y, plane.height) {
        let down = y as f32 - found.y;
        let share = weight(down);
        for &(x, across, weight) in &columns {
            let column = (cos * across + sin * down) / cell + middle;
            let row = (cos * down - sin * across) / cell + middle;
            let inside = -1.0..CELLS as f32;
            if column > -1.0 && row > -1.0 && inside.contains(&column) && inside.contains(&row) {
                let (gx, gy) = slope(plane, x, y);
                let length = (gx * gx + gy * gy).sqrt();
                let turn = (gy.atan2(gx) - angle) * (BINS as f32 / std::f32::consts::TAU);
                votes.add(column, row, turn, weight * share * length);
            }
        }
    }
    let mut row = votes.row();
    normalize(&mut row).then_some(row)
}

/// Differences of the neighbours across and down.
fn slope(plane: &Plane, x: usize, y: usize) -> (f32, f32) {
    let at = y * plane.width + x;
    let data = &plane.data;
    (
        data[at + 1] - data[at - 1],
        data[at + plane.width] - data[at - plane.width],
    )
}

/// Sums of slopes by cell and direction, with a ring of cells around for what falls outside.
struct Votes([f32; (CELLS + 2) * (CELLS + 2) * BINS]);

impl Default for Votes {
    fn default() -> Self {
        Self([0.0; (CELLS + 2) * (CELLS + 2) * BINS])
    }
}

impl Votes {
    /// Shares a slope between the two cells across, the two down and the two directions that it
    /// lies between; `column` and `row` from -1 to 4.
    fn add(&mut self, column: f32, row: f32, turn: f32, value: f32) {
        let (left, top, before) = (column.floor(), row.floor(), turn.floor());
        let (fx, fy, ft) = (column - left, row - top, turn - before);
        let first = (before as isize).rem_euclid(BINS as isize) as usize;
        let second = (first + 1) % BINS;
        let (left, top) = ((left + 1.0) as usize, (top + 1.0) as usize);
        for (down, part) in [(0, value * (1.0 - fy)), (1, value * fy)] {
            for (across, part) in [(0, part * (1.0 - fx)), (1, part * fx)] {
                let cell = ((top + down) * (CELLS + 2) + left + across) * BINS;
                self.0[cell + first] += part * (1.0 - ft);
                self.0[cell + second] += part * ft;
            }
        }
    }

    /// The sums of the inner cells, by row, column and direction.
    fn row(&self) -> [f32; ROW] {
        std::array::from_fn(|at| {
            let (bin, column, row) = (at % BINS, at / BINS % CELLS, at / BINS / CELLS);
            self.0[((row + 1) * (CELLS + 2) + column + 1) * BINS + bin]
        })
    }
}

/// Length 1, no value above .2, length 1; false for a row of zeros.
pub(in crate::descriptor) fn normalize(row: &mut [f32; ROW]) -> bool {
    unit(row) && {
        for v in row.iter_mut() {
            *v = v.min(CLIP);
        }
        unit(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vote_is_shared_and_never_lost() {
        let mut votes = Votes::default();
        votes.add(0.25, 1.5, 7.5, 8.0);
        votes.add(-0.5, -0.5, -0.5, 4.0);
        assert!((votes.0.iter().sum::<f32>() - 12.0).abs() < 1e-5);
        let row = votes.row();
        // Row 1, column 0, direction 7: .75 x .5 x .5 of 8.
        assert!((row[4 * BINS + 7] - 1.5).abs() < 1e-6);
        assert!((row[4 * BINS] - 1.5).abs() < 1e-6);
        assert!((row[7] - 0.5).abs() < 1e-6);
    }
}
