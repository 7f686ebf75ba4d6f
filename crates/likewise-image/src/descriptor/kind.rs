//! The two kinds of descriptors: of a whole image, and of points in it.

use image::RgbImage;
use ndarray::Array2;

use crate::Result;

/// What gives one row for an image.
pub trait Whole: Send + Sync {
    /// Numbers of a row.
    fn dimensions(&self) -> usize;

    /// Fails with the field, its value and the rule it breaks.
    fn validate(&self) -> Result<()>;

    /// The row of an image: [`dimensions`](Self::dimensions) finite numbers, whatever the image.
    ///
    /// # Panics
    ///
    /// Maybe, with parameters that [`validate`](Self::validate) refuses.
    fn describe(&self, image: &RgbImage) -> Vec<f32>;

    /// Bytes that it holds for each pixel of the image that it works on, beside the image.
    fn held_per_pixel(&self) -> u64 {
        4
    }

    /// The same with its tables made once, for many images; `None` where there are none.
    fn prepared(&self) -> Option<Box<dyn Whole>> {
        None
    }
}

/// What finds points in an image and describes each of them.
pub trait Local: Send + Sync {
    /// Numbers of a point's row.
    fn dimensions(&self) -> usize;

    /// Fails with the field, its value and the rule it breaks.
    fn validate(&self) -> Result<()>;

    /// The points of an image and their rows, in a fixed order; none in a flat or tiny one.
    ///
    /// # Panics
    ///
    /// Maybe, with parameters that [`validate`](Self::validate) refuses.
    fn find(&self, image: &RgbImage) -> Points;

    /// Bytes that it holds for each pixel of the image that it works on, beside the image.
    fn held_per_pixel(&self) -> u64 {
        4
    }
}

/// A descriptor by its kind.
#[derive(Clone, Copy)]
pub enum Kind<'a> {
    /// Of the whole image.
    Whole(&'a dyn Whole),
    /// Of points in it.
    Local(&'a dyn Local),
}

/// Where a point lies, in pixels of the image as it was given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Keypoint {
    /// Column; the middle of the first pixel is 0.
    pub x: f32,
    /// Row; the middle of the first pixel is 0.
    pub y: f32,
    /// Size: the Gaussian's standard deviation, or half a patch.
    pub scale: f32,
    /// Direction in radians, clockwise from the right; 0 where there is none.
    pub angle: f32,
}

/// Points and their rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    /// Where they are.
    pub at: Vec<Keypoint>,
    /// One row a point.
    pub rows: Array2<f32>,
}

impl Points {
    /// From rows of `D` numbers.
    pub(super) fn new<const D: usize>(found: Vec<(Keypoint, [f32; D])>) -> Self {
        let (at, rows): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        Self {
            at,
            rows: Array2::from(rows),
        }
    }
}

/// Scales a row to length 1; false where it has no length.
pub(super) fn unit(row: &mut [f32]) -> bool {
    let square: f64 = row.iter().map(|&v| f64::from(v).powi(2)).sum();
    let factor = square.sqrt().recip() as f32;
    let sound = factor.is_finite();
    if sound {
        for v in row {
            *v *= factor;
        }
    }
    sound
}

/// An error said of a parameter that is not from `least` to `most`.
pub(super) fn range<T: PartialOrd + std::fmt::Display>(
    field: &str,
    value: T,
    least: T,
    most: T,
) -> Result<()> {
    if value >= least && value <= most {
        return Ok(());
    }
    let rule = format!("must be from {least} to {most}");
    Err(likewise::Error::parameter(field, value, &rule).into())
}
