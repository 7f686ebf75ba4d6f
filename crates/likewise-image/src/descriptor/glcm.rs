//! Gray-level co-occurrence: four properties of how gray levels lie side by side, in four
//! directions.
//!
//! ```text
//! g       = min(7, floor(8 gray / 255))                       8 levels
//! p_d[i,j] = share of the pixels of level i, whose neighbour in direction d has level j
//!            d: right, right above, above, left above (0, 45, 90, 135 degrees)
//! contrast     sum (i - j)^2 p          energy       sum p^2
//! correlation  sum (i - m_i)(j - m_j) p / (s_i s_j)      m, s: means, standard deviations
//! homogeneity  sum p / (1 + |i - j|)
//! row = (contrast of the four directions, correlation .., energy .., homogeneity ..)
//! ```
//!
//! **Use it** for textures, and as 16 cheap numbers beside others. **Not** alone for scenes and
//! objects: it does not know where anything is. Its columns have different units; scale them
//! before distances are taken.
//!
//! Cost: O(pixels) time, O(64) memory beside the gray image.
//!
//! Source: Haralick, Shanmugam and Dinstein, "Textural features for image classification", IEEE
//! Trans. SMC 1973. Levels, properties and directions as of Matlab's `graycomatrix` and
//! `graycoprops`, counting each pair in one direction only. In scikit-image 45 and 135
//! degrees lead down, energy is the root of this, and homogeneity squares the difference; but for
//! that the numbers are the same. Ours: of a flat image the correlation,
//! 0/0, is 1; without a pair of pixels in a direction its properties are 0.

use image::RgbImage;
use serde::{Deserialize, Serialize};

use super::kind::{Whole, range};
use super::plane;
use crate::Result;

/// Columns and rows to the neighbour in each direction.
const DIRECTIONS: [(isize, isize); 4] = [(1, 0), (1, -1), (0, -1), (-1, -1)];

/// Parameters of gray-level co-occurrence; see [`glcm`](self).
///
/// ```
/// use likewise_image::{RgbImage, descriptor::{Glcm, Whole}};
/// let row = Glcm::default().describe(&RgbImage::new(4, 4));
/// // No contrast, and all else is 1.
/// assert_eq!(row[..4], [0.0; 4]);
/// assert_eq!(row[4..], [1.0; 12]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Glcm {
    levels: usize,
}

impl Default for Glcm {
    fn default() -> Self {
        Self { levels: 8 }
    }
}

impl Glcm {
    /// Gray levels that are told apart, from 2 to 256.
    #[must_use]
    pub fn levels(self, levels: usize) -> Self {
        Self { levels }
    }
}

impl Whole for Glcm {
    fn dimensions(&self) -> usize {
        16
    }

    fn held_per_pixel(&self) -> u64 {
        8
    }

    fn validate(&self) -> Result<()> {
        range("glcm.levels", self.levels, 2, 256)
    }

    fn describe(&self, image: &RgbImage) -> Vec<f32> {
        let n = self.levels;
        let level = |v: u8| (usize::from(v) * n / 255).min(n - 1);
        let levels: Vec<usize> = plane::gray(image).into_iter().map(level).collect();
        let mut row = vec![0.0; 16];
        for (place, direction) in DIRECTIONS.into_iter().enumerate() {
            let counts = counts(&levels, image.width() as usize, n, direction);
            for (property, value) in properties(&counts, n).into_iter().enumerate() {
                row[4 * property + place] = value as f32;
            }
        }
        row
    }
}

/// How often level i has level j for a neighbour, at `i n + j`.
fn counts(levels: &[usize], width: usize, n: usize, (dx, dy): (isize, isize)) -> Vec<u64> {
    let mut counts = vec![0; n * n];
    let rows: Vec<&[usize]> = levels.chunks(width.max(1)).collect();
    let skip = |step: isize| usize::try_from(-step).unwrap_or(0);
    let more = |step: isize| usize::try_from(step).unwrap_or(0);
    // No direction leads down.
    for (to, from) in rows.iter().zip(&rows[skip(dy).min(rows.len())..]) {
        let to = &to[more(dx).min(width)..];
        let from = &from[skip(dx).min(width)..];
        for (i, j) in from.iter().zip(to) {
            counts[i * n + j] += 1;
        }
    }
    counts
}

/// Contrast, correlation, energy and homogeneity.
fn properties(counts: &[u64], n: usize) -> [f64; 4] {
    let pairs: u64 = counts.iter().sum();
    if pairs == 0 {
        return [0.0; 4];
    }
    let shares = || {
        let share = |(at, &count): (usize, &u64)| {
            let (i, j) = ((at / n) as f64, (at % n) as f64);
            (i, j, count as f64 / pairs as f64)
        };
        counts.iter().enumerate().map(share)
    };
    let sum =
        |term: &dyn Fn(f64, f64) -> f64| -> f64 { shares().map(|(i, j, p)| term(i, j) * p).sum() };
    let (mean_i, mean_j) = (sum(&|i, _| i), sum(&|_, j| j));
    let spread_i = sum(&|i, _| (i - mean_i).powi(2));
    let spread_j = sum(&|_, j| (j - mean_j).powi(2));
    let spread = (spread_i * spread_j).sqrt();
    let correlation = if spread > 0.0 {
        sum(&|i, j| (i - mean_i) * (j - mean_j)) / spread
    } else {
        1.0
    };
    [
        sum(&|i, j| (i - j).powi(2)),
        correlation,
        shares().map(|(_, _, p)| p * p).sum(),
        sum(&|i, j| (1.0 + (i - j).abs()).recip()),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::plane::{checked_image, noise, odd_images};
    use super::*;
    use proptest::prelude::*;

    #[test]
    #[allow(clippy::unreadable_literal)] // Printed values.
    fn the_check_values() {
        let expected = [
            4.045634921,
            2.476946334,
            5.239087302,
            8.284706475,
            0.6154733607,
            0.7641595939,
            0.5014005771,
            0.2113555973,
            0.0587683207,
            0.06373246274,
            0.0694830739,
            0.05959013039,
            0.69034923,
            0.815686151,
            0.5968383881,
            0.4287034038_f64,
        ];
        let row = Glcm::default().describe(&checked_image(64, true));
        for (found, expected) in row.iter().zip(expected) {
            assert!((f64::from(*found) / expected - 1.0).abs() < 1e-7);
        }
    }

    #[test]
    fn the_counts_of_a_tiny_image() {
        let levels = [0, 0, 1, 1, 0, 0, 1, 1, 0, 2, 2, 2, 2, 2, 3, 3];
        let expected = [2, 2, 1, 0, 0, 2, 0, 0, 0, 0, 3, 1, 0, 0, 0, 1];
        assert_eq!(counts(&levels, 4, 4, DIRECTIONS[0]), expected);
    }

    proptest! {
        #[test]
        fn counts_are_those_of_plain_loops(
            w in 0..9_usize, h in 0..9_usize, way in 0..4_usize, seed: u64
        ) {
            let image = noise(w as u32, h as u32, seed);
            let levels: Vec<usize> =
                plane::gray(&image).into_iter().map(|v| usize::from(v) % 5).collect();
            let (dx, dy) = DIRECTIONS[way];
            let mut plain = vec![0; 25];
            for y in 0..h as isize {
                for x in 0..w as isize {
                    let (column, row) = (x + dx, y + dy);
                    let inside = (0..w as isize).contains(&column) && (0..h as isize).contains(&row);
                    if inside {
                        let at = |x: isize, y: isize| levels[y as usize * w + x as usize];
                        plain[at(x, y) * 5 + at(column, row)] += 1;
                    }
                }
            }
            prop_assert_eq!(counts(&levels, w, 5, DIRECTIONS[way]), plain);
        }
    }

    #[test]
    fn odd_images_have_a_sound_row_and_levels_a_range() {
        for image in odd_images() {
            let row = Glcm::default().describe(&image);
            assert!(row.len() == 16 && row.iter().all(|v| v.is_finite()));
        }
        for levels in [0, 1, 257] {
            let said = Glcm::default().levels(levels).validate().unwrap_err();
            let said = said.to_string();
            assert!(said.contains(&format!("glcm.levels = {levels}")), "{said}");
        }
    }
}
