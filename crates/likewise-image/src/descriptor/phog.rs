//! PHOG: directions of the slopes at edges, over the whole image and its parts.
//!
//! ```text
//! m = |slope of the gray image|, A = its direction, 0 .. 360 degrees, at the pixels of edges
//! bin = ceil(A / 45), 8 of them
//! for level l = 0 .. 3: sums of m by bin in each of 2^l x 2^l cells
//! row = all sums / their total            8 (1 + 4 + 16 + 64) = 680 numbers; cells by columns
//! ```
//!
//! **Use it** for objects that fill the picture much the same way: their outline, and roughly
//! where it runs. **Not** for textures, or objects that may be anywhere.
//!
//! Cost: O(pixels) time and memory; most goes into finding the edges.
//!
//! Source: Bosch, Zisserman and Muñoz, "Representing shape with a spatial pyramid kernel", CIVR
//! 2007, with the signed directions of their public code. Slopes are of the gray image as it is
//! (half the difference of the neighbours; at the border of the one there is), only edges are
//! found in a smooth one. Ours: where a side is no multiple of 8, cells have its quotient
//! rounded down, and the pixels that remain count on the levels that have them; the public code
//! makes more cells there. imageproc's HOG has blocks that overlap and no edges, another
//! thing.

use image::RgbImage;
use serde::{Deserialize, Serialize};

use super::canny;
use super::kind::{Whole, range};
use super::plane::{self, Plane};
use crate::Result;

/// An image whose gray values sum to no more than this is black.
const BLACK: u64 = 100;

/// Parameters of PHOG; see [`phog`](self).
///
/// ```
/// use likewise_image::{RgbImage, descriptor::{Phog, Whole}};
/// let image = RgbImage::from_fn(64, 64, |x, _| image::Rgb(if x < 32 { [0; 3] } else { [255; 3] }));
/// let row = Phog::default().describe(&image);
/// assert_eq!(row.len(), 680);
/// assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Phog {
    bins: usize,
    levels: usize,
}

impl Default for Phog {
    fn default() -> Self {
        Self { bins: 8, levels: 3 }
    }
}

impl Phog {
    /// Directions that are told apart, from 1 to 360.
    #[must_use]
    pub fn bins(self, bins: usize) -> Self {
        Self { bins, ..self }
    }

    /// Times that the image is halved, from 0 to 6.
    #[must_use]
    pub fn levels(self, levels: usize) -> Self {
        Self { levels, ..self }
    }

    /// The sums of the pixels that `edge` marks.
    fn sums(&self, gray: &[u8], width: usize, edge: &[bool]) -> Vec<f64> {
        let mut sums = vec![0.0; self.dimensions()];
        let height = gray.len().checked_div(width).unwrap_or(0);
        for (at, _) in edge.iter().enumerate().filter(|(_, edge)| **edge) {
            let (x, y) = (at % width, at / width);
            let half = |before: usize, after: usize, apart: usize| {
                let difference = f64::from(gray[after]) - f64::from(gray[before]);
                difference / apart.max(1) as f64
            };
            let (left, right) = (usize::from(x > 0), usize::from(x + 1 < width));
            let (above, below) = (usize::from(y > 0), usize::from(y + 1 < height));
            let across = half(at - left, at + right, left + right);
            let down = half(at - above * width, at + below * width, above + below);
            let length = across.hypot(down);
            if length <= 0.0 {
                continue;
            }
            let bin = self.bin(across, down);
            let mut first = 0;
            for level in 0..=self.levels {
                let cells = 1 << level;
                let (column, row) = (x / (width >> level).max(1), y / (height >> level).max(1));
                // An image of fewer pixels than cells has none on this level.
                let some = width >> level > 0 && height >> level > 0;
                if some && column < cells && row < cells {
                    sums[first + (column * cells + row) * self.bins + bin] += length;
                }
                first += cells * cells * self.bins;
            }
        }
        let total: f64 = sums.iter().sum();
        if total > 0.0 {
            for sum in &mut sums {
                *sum /= total;
            }
        }
        sums
    }

    /// The bin of a slope: of the angle from 0 (exclusive) to 360 degrees.
    fn bin(&self, across: f64, down: f64) -> usize {
        // As in the public code: a slope straight up or down leans a little to the right.
        let across = if across == 0.0 { 1e-5 } else { across };
        let angle = (down.atan2(across) + std::f64::consts::PI).to_degrees();
        let bin = (angle * self.bins as f64 / 360.0).ceil() as usize;
        bin.clamp(1, self.bins) - 1
    }
}

impl Whole for Phog {
    fn dimensions(&self) -> usize {
        (0..=self.levels)
            .map(|level| self.bins << (2 * level))
            .sum()
    }

    fn held_per_pixel(&self) -> u64 {
        24
    }

    fn validate(&self) -> Result<()> {
        range("phog.bins", self.bins, 1, 360)?;
        range("phog.levels", self.levels, 0, 6)
    }

    fn describe(&self, image: &RgbImage) -> Vec<f32> {
        let gray = plane::gray(image);
        if gray.iter().map(|&v| u64::from(v)).sum::<u64>() <= BLACK {
            return vec![0.0; self.dimensions()];
        }
        let width = image.width() as usize;
        let values = Plane {
            width,
            height: image.height() as usize,
            data: gray.iter().map(|&v| f32::from(v) / 255.0).collect(),
        };
        let sums = self.sums(&gray, width, &canny::edges(&values));
        sums.into_iter().map(|v| v as f32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::plane::{checked_image, noise, odd_images};
    use super::*;
    use proptest::prelude::*;

    #[test]
    #[allow(clippy::unreadable_literal)] // Printed values.
    fn the_check_values() {
        let gray = plane::gray(&checked_image(64, true));
        let row = Phog::default().sums(&gray, 64, &[true; 4096]);
        assert_eq!(row.len(), 680);
        let known: [(usize, [f64; 8]); 3] = [
            (
                0,
                [
                    0.05978223678,
                    0.0280211658,
                    0.03195986147,
                    0.001735835348,
                    0.03545221854,
                    0.0800091181,
                    0.002418326321,
                    0.01062123763,
                ],
            ),
            (
                8,
                [
                    0.01350509431,
                    0.003189235481,
                    0.007066018957,
                    0.0006570142721,
                    0.004155178416,
                    0.01842731728,
                    0.0009816486547,
                    0.001168629072,
                ],
            ),
            (
                672,
                [
                    0.002229403139,
                    0.0,
                    0.0003560053481,
                    0.0,
                    0.0,
                    0.002458781889,
                    0.0,
                    0.0001271693121,
                ],
            ),
        ];
        for (first, values) in known {
            for (found, expected) in row[first..].iter().zip(values) {
                assert!((found - expected).abs() <= 1e-7 * expected);
            }
        }
        let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        assert!((length / 0.1378841008 - 1.0).abs() < 1e-7);
    }

    proptest! {
        #[test]
        fn each_cell_is_the_sum_of_its_pixels(w in 1..30_usize, h in 1..30_usize, seed: u64) {
            let phog = Phog::default();
            let gray = plane::gray(&noise(w as u32, h as u32, seed));
            let edge: Vec<bool> = gray.iter().map(|v| v % 3 > 0).collect();
            let row = phog.sums(&gray, w, &edge);
            let at = |x: usize, y: usize| f64::from(gray[y * w + x]);
            let mut plain = Vec::new();
            for level in 0..4 {
                let (wide, high) = (w >> level, h >> level);
                for cell in 0..1_usize << (2 * level) {
                    let (column, line) = (cell >> level, cell % (1 << level));
                    let mut sums = [0.0; 8];
                    for y in line * high..(line + 1) * high {
                        for x in column * wide..(column + 1) * wide {
                            let (r, l) = ((x + 1).min(w - 1), x.saturating_sub(1));
                            let (b, a) = ((y + 1).min(h - 1), y.saturating_sub(1));
                            let gx = (at(r, y) - at(l, y)) / (r - l).max(1) as f64;
                            let gy = (at(x, b) - at(x, a)) / (b - a).max(1) as f64;
                            if edge[y * w + x] && gx.hypot(gy) > 0.0 {
                                sums[phog.bin(gx, gy)] += gx.hypot(gy);
                            }
                        }
                    }
                    plain.extend(sums);
                }
            }
            let total: f64 = plain.iter().sum::<f64>().max(1e-300);
            prop_assert!(row.iter().zip(plain).all(|(r, p)| (r - p / total).abs() < 1e-12));
        }
    }

    #[test]
    fn a_bin_ends_with_its_last_angle() {
        let phog = Phog::default();
        // Left is 0 and 360 degrees, up 90, right 180, down 270.
        assert_eq!(phog.bin(-1.0, 0.0), 7);
        assert_eq!(phog.bin(-1.0, -1e-9), 0);
        assert_eq!(phog.bin(0.0, -1.0), 2);
        assert_eq!(phog.bin(1.0, 0.0), 3);
        assert_eq!(phog.bin(0.0, 1.0), 5);
    }

    #[test]
    fn odd_images_have_a_sound_row() {
        for image in odd_images() {
            let row = Phog::default().describe(&image);
            let sum: f32 = row.iter().sum();
            assert!(row.len() == 680 && (sum == 0.0 || (sum - 1.0).abs() < 1e-4));
        }
        assert_eq!(Phog::default().bins(4).levels(1).dimensions(), 20);
        assert!(Phog::default().levels(7).validate().is_err());
        assert!(Phog::default().bins(0).validate().is_err());
    }
}
