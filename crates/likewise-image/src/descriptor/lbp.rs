//! Local binary patterns: which neighbours of a pixel are brighter than it, counted.
//!
//! ```text
//! bit p of a pixel's code = [value at distance 1 in direction 2 pi p / 8 >= value of the pixel]
//! uniform code: at most two changes around the circle; there are 58, in rising order bins 0 .. 57
//! every other code: bin 58
//! row = counts of the bins / pixels that are not at the border       59 numbers
//! ```
//!
//! **Use it** for textures and faces; it does not mind brightness and contrast. **Not** where
//! smooth areas are noisy: there the last bit of a pixel decides.
//!
//! Cost: O(pixels) time, no memory beside the gray image.
//!
//! Source: Ojala, Pietikäinen and Mäenpää, "Multiresolution gray-scale and rotation invariant
//! texture classification with local binary patterns", IEEE TPAMI 2002, the uniform patterns of
//! 8 neighbours at radius 1, without their turning, as in the histograms for faces that
//! followed. Diagonal neighbours lie between pixels and are interpolated, or with
//! [`square`](Lbp::square) are the pixels themselves. Bins by rising code are the order of the
//! public reference code. imageproc has the codes of the square, but no interpolation and other
//! classes of codes (the least of all rotations), so nothing of it is used.

use image::RgbImage;
use serde::{Deserialize, Serialize};

use super::kind::Whole;
use super::plane;
use crate::Result;

/// Bins: the uniform codes, and one for all others.
const BINS: usize = 59;

/// Share of a diagonal neighbour's side pixels, s (1 - s), with s the root of 1/2 ...
const SIDE: f64 = std::f64::consts::FRAC_1_SQRT_2 - 0.5;
/// ... and of its corner pixel, s^2. What is left is the pixel itself.
const CORNER: f64 = 0.5;

/// A value that is smaller by less than this counts as equal.
const EQUAL: f64 = 1e-9;

/// Parameters of local binary patterns; see [`lbp`](self).
///
/// ```
/// use likewise_image::{RgbImage, descriptor::{Lbp, Whole}};
/// let row = Lbp::default().describe(&RgbImage::new(4, 4));
/// // In a flat image all neighbours are as bright: the last uniform code.
/// assert_eq!(row[57], 1.0);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lbp {
    square: bool,
}

impl Lbp {
    /// Takes the four corner pixels as they are instead of values at distance 1. A little
    /// faster, but a diagonal neighbour lies farther away than the others.
    #[must_use]
    pub fn square(self, square: bool) -> Self {
        Self { square }
    }
}

impl Whole for Lbp {
    fn dimensions(&self) -> usize {
        BINS
    }

    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn describe(&self, image: &RgbImage) -> Vec<f32> {
        let counts = codes(&plane::gray(image), image.width() as usize, self.square);
        let mut bins = [0_u64; BINS];
        for (bin, count) in table().into_iter().zip(counts) {
            bins[bin] += count;
        }
        let pixels = bins.iter().sum::<u64>().max(1) as f64;
        bins.iter().map(|&n| (n as f64 / pixels) as f32).collect()
    }
}

/// The bin of each code.
fn table() -> [usize; 256] {
    let mut next = 0;
    std::array::from_fn(|code| {
        let code = code as u8;
        if (code ^ code.rotate_left(1)).count_ones() > 2 {
            return BINS - 1;
        }
        next += 1;
        next - 1
    })
}

/// How often each code occurs.
fn codes(gray: &[u8], width: usize, square: bool) -> [u64; 256] {
    let mut counts = [0; 256];
    if width < 3 {
        return counts;
    }
    let (side, corner) = if square { (0.0, 1.0) } else { (SIDE, CORNER) };
    let rows: Vec<&[u8]> = gray.chunks_exact(width).collect();
    for rows in rows.windows(3) {
        for x in 1..width - 1 {
            let center = i32::from(rows[1][x]);
            let over = |row: usize, column: usize| i32::from(rows[row][column]) - center;
            // From the right, against the clock, as the directions of the bits.
            let around = [
                over(1, x + 1),
                over(0, x + 1),
                over(0, x),
                over(0, x - 1),
                over(1, x - 1),
                over(2, x - 1),
                over(2, x),
                over(2, x + 1),
            ];
            let mut code = 0;
            for bit in 0..4 {
                let (even, odd) = (2 * bit, 2 * bit + 1);
                code |= usize::from(around[even] >= 0) << even;
                let sides = f64::from(around[even] + around[(odd + 1) % 8]);
                let value = side * sides + corner * f64::from(around[odd]);
                code |= usize::from(value >= -EQUAL) << odd;
            }
            counts[code] += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::super::plane::{checked_image, noise, odd_images};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_table_of_uniform_codes() {
        let table = table();
        let first = [0, 1, 2, 3, 4, 58, 5, 6, 7, 58, 58, 58, 8, 58, 9, 10];
        assert_eq!(table[..16], first);
        assert_eq!(table[255], 57);
        assert_eq!(table.iter().filter(|&&bin| bin == 58).count(), 256 - 58);
    }

    /// Bins that are not empty.
    fn check(square: bool, expected: &[(usize, f64)]) {
        let row = Lbp::default()
            .square(square)
            .describe(&checked_image(64, true));
        for (bin, &found) in row.iter().enumerate() {
            let known = expected.iter().find(|(place, _)| *place == bin);
            let value = known.map_or(0.0, |(_, value)| *value);
            // The values are printed with 8 digits, and rows hold 7.
            assert!((f64::from(found) - value).abs() < 3e-8, "{bin}");
        }
    }

    #[test]
    #[allow(clippy::unreadable_literal)] // Printed values.
    fn the_check_values() {
        check(
            false,
            &[
                (0, 0.064516129),
                (1, 0.032258065),
                (3, 0.0028616025),
                (4, 0.00052029136),
                (22, 0.0054630593),
                (23, 0.0070239334),
                (29, 0.00078043704),
                (30, 0.0096253902),
                (31, 0.0020811655),
                (35, 0.00052029136),
                (36, 0.0028616025),
                (37, 0.013527575),
                (38, 0.144641),
                (39, 0.0023413111),
                (40, 0.0023413111),
                (42, 0.0075442248),
                (43, 0.42611863),
                (44, 0.020291363),
                (45, 0.0088449532),
                (46, 0.033038502),
                (48, 0.0075442248),
                (49, 0.0028616025),
                (50, 0.00052029136),
                (52, 0.0072840791),
                (53, 0.0054630593),
                (57, 0.064516129),
                (58, 0.12460978),
            ],
        );
        check(
            true,
            &[
                (0, 0.029396462),
                (1, 0.012226847),
                (2, 0.010926119),
                (3, 0.0026014568),
                (7, 0.00026014568),
                (16, 0.020291363),
                (22, 0.00052029136),
                (23, 0.005723205),
                (28, 0.00026014568),
                (29, 0.0010405827),
                (30, 0.0091050989),
                (31, 0.0020811655),
                (35, 0.00026014568),
                (36, 0.0028616025),
                (37, 0.013527575),
                (38, 0.144641),
                (39, 0.0023413111),
                (40, 0.0020811655),
                (41, 0.010405827),
                (42, 0.0075442248),
                (43, 0.42611863),
                (44, 0.020291363),
                (45, 0.0085848075),
                (46, 0.012226847),
                (48, 0.0075442248),
                (49, 0.0028616025),
                (50, 0.0015608741),
                (52, 0.0059833507),
                (53, 0.00052029136),
                (55, 0.018730489),
                (57, 0.032258065),
                (58, 0.18522373),
            ],
        );
    }

    proptest! {
        #[test]
        fn codes_are_those_of_the_formula(w in 0..9_u32, h in 0..9_u32, seed: u64) {
            let gray = plane::gray(&noise(w, h, seed));
            let mut plain = [0; 256];
            let value = |x: f64, y: f64| {
                let (left, top) = ((x + 1e-12).floor(), (y + 1e-12).floor());
                let at = |x: f64, y: f64| {
                    let (x, y) = (x.min(f64::from(w) - 1.0), y.min(f64::from(h) - 1.0));
                    f64::from(gray[y as usize * w as usize + x as usize])
                };
                let (a, b) = ((x - left).max(0.0), (y - top).max(0.0));
                (at(left, top) * (1.0 - a) + at(left + 1.0, top) * a) * (1.0 - b)
                    + (at(left, top + 1.0) * (1.0 - a) + at(left + 1.0, top + 1.0) * a) * b
            };
            for y in 1..h.max(1) - u32::from(h > 0) {
                for x in 1..w.max(1) - u32::from(w > 0) {
                    let (x, y) = (f64::from(x), f64::from(y));
                    let code: usize = (0..8)
                        .map(|p| {
                            let turn = std::f64::consts::TAU * f64::from(p) / 8.0;
                            let near = value(x + turn.cos(), y - turn.sin());
                            usize::from(near >= value(x, y) - 1e-7) << p
                        })
                        .sum();
                    plain[code] += 1;
                }
            }
            prop_assert_eq!(codes(&gray, w as usize, false), plain);
        }
    }

    #[test]
    fn odd_images_have_a_sound_row() {
        for image in odd_images() {
            let sum: f32 = Lbp::default().describe(&image).iter().sum();
            let inner = image.width() > 2 && image.height() > 2;
            assert!((sum - f32::from(u8::from(inner))).abs() < 1e-5);
        }
    }
}
