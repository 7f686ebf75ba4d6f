//! Colour histogram: how often each value of red, green and blue occurs.
//!
//! ```text
//! h_c[v] = #{pixels whose channel c has the value v} / #pixels      v = 0 .. 255
//! row    = (h_red, h_green, h_blue)      768 numbers; 256 of the gray image with `gray`
//! ```
//!
//! **Use it** where colour tells classes apart: landscapes, flowers, products. It does not mind
//! where things are, nor turning and mirroring. **Not** where light changes: a little more of it
//! moves every count to another bin, of which 256 are many.
//!
//! Cost: O(pixels) time, no memory beside the row.
//!
//! Source: Swain and Ballard, "Color indexing", IJCV 1991; 256 bins a channel and 256 for
//! gray data are common since. Counts are divided by the pixels, so that each block sums to 1
//! and images of different sizes compare.

use image::RgbImage;
use serde::{Deserialize, Serialize};

use super::kind::Whole;
use super::plane;
use crate::Result;

const BINS: usize = 256;

/// Parameters of the colour histogram; see [`hist`](self).
///
/// ```
/// use likewise_image::{RgbImage, descriptor::{Hist, Whole}};
/// let row = Hist::default().describe(&RgbImage::new(4, 4));
/// assert_eq!((row.len(), row[0], row[256], row[512]), (768, 1.0, 1.0, 1.0));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hist {
    gray: bool,
}

impl Hist {
    /// One histogram of the gray image instead of one a channel, for data without colour.
    #[must_use]
    pub fn gray(self, gray: bool) -> Self {
        Self { gray }
    }
}

impl Whole for Hist {
    fn dimensions(&self) -> usize {
        if self.gray { BINS } else { 3 * BINS }
    }

    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn describe(&self, image: &RgbImage) -> Vec<f32> {
        let mut counts = vec![0_u64; self.dimensions()];
        if self.gray {
            for value in plane::gray(image) {
                counts[usize::from(value)] += 1;
            }
        } else {
            for pixel in image.pixels() {
                for (channel, value) in pixel.0.into_iter().enumerate() {
                    counts[channel * BINS + usize::from(value)] += 1;
                }
            }
        }
        let pixels = (f64::from(image.width()) * f64::from(image.height())).max(1.0);
        counts.iter().map(|&n| (n as f64 / pixels) as f32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::plane::{checked_image, noise, odd_images};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_check_values() {
        let row = Hist::default()
            .gray(true)
            .describe(&checked_image(64, true));
        let counts: Vec<f32> = row[..8].iter().map(|v| v * 4096.0).collect();
        assert_eq!(counts, [20.0, 23.0, 7.0, 22.0, 17.0, 14.0, 8.0, 30.0]);
        let squares: f64 = row.iter().map(|&v| f64::from(v).powi(2)).sum();
        assert!((squares - 0.004_651_069_641).abs() < 1e-9);
        let color = Hist::default().describe(&checked_image(64, false));
        assert_eq!(color[..256], row);
    }

    proptest! {
        #[test]
        fn counts_one_value_after_the_other(w in 1..20_u32, h in 1..20_u32, seed: u64) {
            let image = noise(w, h, seed);
            let row = Hist::default().describe(&image);
            for (place, &share) in row.iter().enumerate() {
                let (channel, value) = (place / 256, (place % 256) as u8);
                let count = image.pixels().filter(|p| p.0[channel] == value).count();
                prop_assert!((share - count as f32 / (w * h) as f32).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn odd_images_have_a_sound_row() {
        for image in odd_images() {
            let sum: f32 = Hist::default().describe(&image).iter().sum();
            let expected = if image.width() == 0 { 0.0 } else { 3.0 };
            assert!((sum - expected).abs() < 1e-4);
        }
    }
}
