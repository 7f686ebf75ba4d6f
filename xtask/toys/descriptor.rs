//! A toy descriptor: the mean of each colour.
//!
//! **Use it** to see what a descriptor has to say of itself. **Not** to describe images.
//!
//! Cost: O(pixels) time, no memory beside the image.
//!
//! Source: none.

use image::RgbImage;
use serde::{Deserialize, Serialize};

use super::kind::Whole;
use crate::Result;

/// Parameters of the toy descriptor; see [`toy_descriptor`](self).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToyDescriptor {
    turned: bool,
}

impl Whole for ToyDescriptor {
    fn dimensions(&self) -> usize {
        3
    }

    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn describe(&self, image: &RgbImage) -> Vec<f32> {
        let mut sums = [0_u64; 3];
        for pixel in image.pixels() {
            for (sum, value) in sums.iter_mut().zip(pixel.0) {
                *sum += u64::from(value);
            }
        }
        let pixels = (u64::from(image.width()) * u64::from(image.height())).max(1) as f64;
        let mut means: Vec<f32> = sums.iter().map(|&n| (n as f64 / pixels) as f32).collect();
        if self.turned {
            means.reverse();
        }
        means
    }
}
