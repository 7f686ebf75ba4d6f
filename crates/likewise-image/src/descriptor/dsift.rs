//! Dense SIFT: rows of SIFT on a grid of upright patches of one size.
//!
//! ```text
//! J = G_s * I, s = sqrt((bin / 3)^2 - 1/4);  m, t: length and direction of J's slope at a pixel
//! patches of 4 x 4 cells of `bin` pixels, every `step` pixels
//! row[cell, direction] = sum over the patch of  G m (share of the cell) (share of the direction)
//! length 1, no value above .2, length 1                                 128 numbers
//! ```
//!
//! The shares fall linearly to 0 at the middle of the next cell and direction; G is a Gaussian
//! of 2 cells around the middle. A patch whose mean m is below .005 (gray is 0 to 1) is flat and
//! gives no row.
//!
//! **Use it** with [words](crate::Words) for scenes and kinds of objects: it has rows also where
//! nothing stands out, and did better than points in most comparisons. **Not** where size and
//! turn differ: patches have one of each.
//!
//! Cost: O(pixels) time and memory, 40 bytes a pixel; a patch costs 16 pixels times 8 directions
//! a cell.
//!
//! Source: Bosch, Zisserman and Muñoz, "Scene classification via pLSA", ECCV 2006; the blur as in
//! `VLFeat`'s `vl_phow`. Ours: patches of 16 pixels every 8, in place of its four sizes every 2,
//! which are forty times as many; slopes outside the patch do not count (there, up to a cell around it
//! does). No crate has it.

use image::RgbImage;
use serde::{Deserialize, Serialize};

use super::kind::{Keypoint, Local, Points, range};
use super::plane::{Outside, Plane};
use super::sift::{BINS, CELLS, ROW, normalize};
use crate::Result;

/// Blur that a photograph has, squared.
const CAMERA: f32 = 0.25;
/// Mean slope of a patch below which it is flat.
const FLAT: f32 = 0.005;

/// Parameters of dense SIFT; see [`dsift`](self).
///
/// ```
/// use likewise_image::{RgbImage, descriptor::{DenseSift, Local}};
/// let image = RgbImage::from_fn(32, 24, |x, _| image::Rgb([8 * x as u8; 3]));
/// // Three patches across and two down.
/// assert_eq!(DenseSift::default().find(&image).rows.dim(), (6, 128));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DenseSift {
    bin: usize,
    step: usize,
    max_side: u32,
}

impl Default for DenseSift {
    fn default() -> Self {
        Self {
            bin: 4,
            step: 8,
            max_side: 480,
        }
    }
}

impl DenseSift {
    /// Pixels on a cell's side, of which a patch has four.
    #[must_use]
    pub fn bin(self, bin: usize) -> Self {
        Self { bin, ..self }
    }

    /// Pixels from one patch to the next.
    #[must_use]
    pub fn step(self, step: usize) -> Self {
        Self { step, ..self }
    }

    /// A larger image is shrunk to so many pixels of its longer side.
    #[must_use]
    pub fn max_side(self, max_side: u32) -> Self {
        Self { max_side, ..self }
    }

    /// The weight of each pixel along a patch's side in each cell.
    fn weights(self) -> Vec<[f32; CELLS]> {
        let weights = |pixel: usize| {
            let place = (pixel as f32 + 0.5) / self.bin as f32;
            let half = 0.5 * CELLS as f32;
            let gaussian = (-0.5 * ((place - half) / half).powi(2)).exp();
            std::array::from_fn(|cell| {
                let share = 1.0 - (place - 0.5 - cell as f32).abs();
                gaussian * share.max(0.0)
            })
        };
        (0..CELLS * self.bin).map(weights).collect()
    }
}

impl Local for DenseSift {
    fn dimensions(&self) -> usize {
        ROW
    }

    fn validate(&self) -> Result<()> {
        range("dsift.bin", self.bin, 2, 64)?;
        range("dsift.step", self.step, 1, 1024)?;
        range("dsift.max_side", self.max_side, 16, 8192)
    }

    fn find(&self, image: &RgbImage) -> Points {
        let (gray, ratio) = Plane::gray(image, self.max_side);
        let side = CELLS * self.bin;
        if gray.width < side || gray.height < side {
            return Points::new::<ROW>(Vec::new());
        }
        let blur = (self.bin as f32 / 3.0).powi(2) - CAMERA;
        let smooth = gray.smooth(blur.max(0.0).sqrt(), 4.0, Outside::Edge);
        let votes = votes(&smooth);
        let weights = self.weights();
        let half = 0.5 * side as f32;
        let mut found = Vec::new();
        for top in (0..=gray.height - side).step_by(self.step) {
            for left in (0..=gray.width - side).step_by(self.step) {
                if let Some(row) = row(&votes, gray.width, (left, top), &weights) {
                    let point = Keypoint {
                        x: (left as f32 + half - 0.5) * ratio[0],
                        y: (top as f32 + half - 0.5) * ratio[1],
                        scale: half * (ratio[0] * ratio[1]).sqrt(),
                        angle: 0.0,
                    };
                    found.push((point, row));
                }
            }
        }
        Points::new(found)
    }
}

/// Each pixel's slope, shared between the two directions around it.
fn votes(smooth: &Plane) -> Vec<[f32; BINS]> {
    let (across, down) = smooth.slopes();
    let vote = |(gx, gy): (&f32, &f32)| {
        let turn = gy.atan2(*gx) * (BINS as f32 / std::f32::consts::TAU);
        let before = turn.floor();
        let (share, length) = (turn - before, (gx * gx + gy * gy).sqrt());
        let first = (before as isize).rem_euclid(BINS as isize) as usize;
        let mut vote = [0.0; BINS];
        vote[first] = length * (1.0 - share);
        vote[(first + 1) % BINS] = length * share;
        vote
    };
    across.data.iter().zip(&down.data).map(vote).collect()
}

/// The row of a patch; none of a flat one.
fn row(
    votes: &[[f32; BINS]],
    width: usize,
    (left, top): (usize, usize),
    weights: &[[f32; CELLS]],
) -> Option<[f32; ROW]> {
    let mut row = [0.0; ROW];
    let mut slope = 0.0;
    for (y, down) in weights.iter().enumerate() {
        let start = (top + y) * width + left;
        let mut line = [[0.0_f32; BINS]; CELLS];
        for (vote, across) in votes[start..].iter().zip(weights) {
            slope += vote.iter().sum::<f32>();
            for (cell, weight) in line.iter_mut().zip(across) {
                cell.iter_mut()
                    .zip(vote)
                    .for_each(|(c, v)| *c += weight * v);
            }
        }
        let line = line.as_flattened();
        for (cells, weight) in row.chunks_exact_mut(CELLS * BINS).zip(down) {
            cells
                .iter_mut()
                .zip(line)
                .for_each(|(c, v)| *c += weight * v);
        }
    }
    let pixels = weights.len().pow(2) as f32;
    (slope >= FLAT * pixels && normalize(&mut row)).then_some(row)
}

#[cfg(test)]
mod tests {
    use super::super::plane::{noise, odd_images};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patches_are_as_many_as_fit() {
        for (w, h) in [(16, 16), (23, 31), (24, 16), (100, 77)] {
            let found = DenseSift::default().find(&noise(w, h, 1));
            let count = ((w - 16) / 8 + 1) * ((h - 16) / 8 + 1);
            assert_eq!(found.rows.nrows(), count as usize);
            assert_eq!((found.at[0].x, found.at[0].y), (7.5, 7.5));
        }
    }

    proptest! {
        #[test]
        fn a_row_is_the_sum_over_its_patch(seed: u64) {
            let (plane, _) = Plane::gray(&noise(21, 19, seed), 480);
            let sift = DenseSift::default();
            let found = row(&votes(&plane), 21, (3, 2), &sift.weights()).unwrap();
            let (across, down) = plane.slopes();
            let mut plain = [0.0_f32; ROW];
            for y in 0..16_u8 {
                for x in 0..16_u8 {
                    let (column, line) = (3 + usize::from(x), 2 + usize::from(y));
                    let (gx, gy) = (across.at(column, line), down.at(column, line));
                    let turn = (gy.atan2(gx) / std::f32::consts::TAU).rem_euclid(1.0) * 8.0;
                    let (u, v) = ((f32::from(x) + 0.5) / 4.0, (f32::from(y) + 0.5) / 4.0);
                    let gaussian = (-((u - 2.0).powi(2) + (v - 2.0).powi(2)) / 8.0).exp();
                    for (at, sum) in plain.iter_mut().enumerate() {
                        let cell = |place: f32, cell: usize| {
                            (1.0 - (place - 0.5 - cell as f32).abs()).max(0.0)
                        };
                        let apart = (turn - (at % 8) as f32).abs();
                        let share = (1.0 - apart.min(8.0 - apart)).max(0.0);
                        let cells = cell(u, at / 8 % 4) * cell(v, at / 32);
                        *sum += gaussian * gx.hypot(gy) * cells * share;
                    }
                }
            }
            prop_assert!(normalize(&mut plain));
            prop_assert!(found.iter().zip(plain).all(|(a, b)| (a - b).abs() < 1e-4));
        }
    }

    #[test]
    fn flat_patches_and_odd_images_have_no_row() {
        // Left black, right noise.
        let mut image = noise(64, 32, 2);
        for (x, _, pixel) in image.enumerate_pixels_mut() {
            if x < 32 {
                *pixel = image::Rgb([0; 3]);
            }
        }
        let found = DenseSift::default().find(&image);
        assert!(found.at.iter().all(|point| point.x > 15.0));
        for image in odd_images() {
            let found = DenseSift::default().find(&image);
            assert_eq!(found.rows.ncols(), 128);
            let flat = image.pixels().all(|p| p == image.get_pixel(0, 0));
            assert!(!flat || found.at.is_empty());
        }
        assert!(DenseSift::default().bin(1).validate().is_err());
        assert!(DenseSift::default().step(0).validate().is_err());
        assert!(DenseSift::default().max_side(1).validate().is_err());
    }
}
