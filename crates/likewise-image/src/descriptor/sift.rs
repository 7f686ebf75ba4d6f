//! SIFT: blobs of any size, each described by the slopes around it, turned upright.
//!
//! ```text
//! L(s) = G_s * I;  D(s) = L(2^(1/3) s) - L(s)      s = 1.6 2^(o + i/3); the image is doubled first
//! 1. points: pixels above or below their 26 neighbours in place and s, moved to the vertex
//!    of a paraboloid;  |D| >= .04 / 3,  trace^2 / det of the Hessian < 11^2 / 10
//! 2. directions: peaks of a histogram of 36 slopes within 4.5 s, those of .8 of the highest too
//! 3. row: 4 x 4 cells of 3 s, 8 directions each, Gaussian of 2 cells; a slope counts for the
//!    cells and directions on both sides of it
//! 4. length 1, no value above .2, length 1                          128 numbers
//! ```
//!
//! **Use it** for the same object or place in another picture, near or far, turned, partly hidden,
//! and with [words](crate::Words) for kinds of objects with parts of their own. **Not** for
//! smooth or small images, which have few points: [`dsift`](super::dsift) looks everywhere.
//!
//! Cost: O(pixels) for the points, 4 times those of the image for the doubling, and O(s^2) a
//! point; memory about 60 bytes a pixel of the doubled image.
//!
//! Source: Lowe, "Distinctive image features from scale-invariant keypoints", IJCV 2004. The
//! contrast is divided by the 3 steps of an octave, as in `OpenCV`: .03 without, as printed, leaves
//! three fifths of the points. Points, sizes and directions are those of `OpenCV` with its
//! precise doubling. Ours: the row is taken around the point as it was moved, not its nearest
//! pixel, for a distance of .05 to `OpenCV`'s rows; directions run clockwise, as the rows of an
//! image go down. Why not a crate: lowe-sift 0.2 finds a tenth more points than `OpenCV` at
//! the same contrast, and takes 1.7 times as long as this.

mod octave;
mod row;

use image::RgbImage;
use serde::{Deserialize, Serialize};

use self::octave::{BORDER, Limits, Octave, doubled};
pub(super) use self::row::{BINS, CELLS, ROW, normalize};
use super::kind::{Local, Points, range};
use super::plane::Plane;
use crate::Result;

/// Parameters of SIFT; see [`sift`](self).
///
/// ```
/// use likewise_image::{RgbImage, descriptor::{Local, Sift}};
/// let image = RgbImage::from_fn(64, 64, |x, y| {
///     let disc = (x as f32 - 31.3).hypot(y as f32 - 28.8) < 8.0;
///     image::Rgb(if disc { [255; 3] } else { [0; 3] })
/// });
/// let found = Sift::default().find(&image);
/// assert_eq!(found.rows.ncols(), 128);
/// assert!(found.at.iter().any(|p| (p.x - 31.3).hypot(p.y - 28.8) < 1.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sift {
    contrast: f32,
    edge: f32,
    max_side: u32,
}

impl Default for Sift {
    fn default() -> Self {
        Self {
            contrast: 0.04,
            edge: 10.0,
            max_side: 480,
        }
    }
}

impl Sift {
    /// Least contrast of a point, of an image of 0 to 1; three times what D must have.
    #[must_use]
    pub fn contrast(self, contrast: f32) -> Self {
        Self { contrast, ..self }
    }

    /// Largest ratio of the two curvatures of a point: above it lies an edge.
    #[must_use]
    pub fn edge(self, edge: f32) -> Self {
        Self { edge, ..self }
    }

    /// A larger image is shrunk to so many pixels of its longer side.
    #[must_use]
    pub fn max_side(self, max_side: u32) -> Self {
        Self { max_side, ..self }
    }
}

impl Local for Sift {
    fn dimensions(&self) -> usize {
        ROW
    }

    fn validate(&self) -> Result<()> {
        range("sift.contrast", self.contrast, 0.0, 1.0)?;
        range("sift.edge", self.edge, 1.0, 1e6)?;
        range("sift.max_side", self.max_side, 16, 8192)
    }

    fn find(&self, image: &RgbImage) -> Points {
        let (gray, ratio) = Plane::gray(image, self.max_side);
        let limits = Limits {
            contrast: self.contrast,
            edge: self.edge,
        };
        let mut found = Vec::new();
        let mut base = doubled(&gray);
        let mut pixel = 0.5;
        while base.width.min(base.height) > 2 * BORDER + 2 {
            let octave = Octave::new(base);
            for (mut point, row) in octave.describe(limits) {
                point.x *= pixel * ratio[0];
                point.y *= pixel * ratio[1];
                point.scale *= pixel * (ratio[0] * ratio[1]).sqrt();
                found.push((point, row));
            }
            base = octave.halved();
            pixel *= 2.0;
        }
        Points::new(found)
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::Keypoint;
    use super::super::plane::{odd_images, spots};
    use super::*;
    use image::imageops;

    #[test]
    fn turning_the_image_turns_its_points() {
        // Of such sides the pixels of every octave fall on those of the turned image.
        let image = spots(161, 129, 3);
        let here = Sift::default().find(&image);
        let there = Sift::default().find(&imageops::rotate90(&image));
        assert!(here.at.len() > 20, "{}", here.at.len());
        let mut found = 0;
        for (point, row) in here.at.iter().zip(here.rows.rows()) {
            // A pixel at (x, y) comes to (height - 1 - y, x).
            let (x, y) = (128.0 - point.y, point.x);
            let same = |other: &Keypoint, values: ndarray::ArrayView1<f32>| {
                let turn = (other.angle - point.angle).rem_euclid(std::f32::consts::TAU);
                let turned = (turn - std::f32::consts::FRAC_PI_2).abs() < 0.1;
                let distance = (&values - &row).mapv(|v| v * v).sum().sqrt();
                (other.x - x).hypot(other.y - y) < 1.0 && turned && distance < 0.1
            };
            let mut rows = there.at.iter().zip(there.rows.rows());
            found += usize::from(rows.any(|(other, values)| same(other, values)));
        }
        let share = found as f32 / here.at.len() as f32;
        assert!(share >= 0.9, "{share} of {}", here.at.len());
    }

    #[test]
    fn a_disc_is_a_point_in_its_middle() {
        for radius in [4.0, 8.0, 13.0_f32] {
            let image = RgbImage::from_fn(100, 90, |x, y| {
                let inside = (x as f32 - 52.3).hypot(y as f32 - 41.2) <= radius;
                image::Rgb(if inside { [255; 3] } else { [0; 3] })
            });
            let found = Sift::default().find(&image);
            let near = |p: &&Keypoint| (p.x - 52.3).hypot(p.y - 41.2) < 1.0;
            let point = found.at.iter().find(near).expect("a point");
            // D peaks where r = s 2^(1/6) sqrt 2, nearly.
            let share = point.scale / radius;
            assert!((0.5..0.9).contains(&share), "{share}");
        }
    }

    #[test]
    fn rows_have_length_1_and_odd_images_no_points() {
        let found = Sift::default().find(&spots(90, 70, 4));
        assert!(found.rows.nrows() > 15 && found.rows.nrows() == found.at.len());
        for row in found.rows.rows() {
            assert!((row.dot(&row) - 1.0).abs() < 1e-5);
            assert!(row.iter().all(|&v| (0.0..0.5).contains(&v)));
        }
        for image in odd_images() {
            let found = Sift::default().find(&image);
            assert_eq!(found.rows.ncols(), 128);
            assert!(found.rows.iter().all(|v| v.is_finite()));
            let flat = image.pixels().all(|p| p == image.get_pixel(0, 0));
            assert!(!flat || found.at.is_empty());
        }
    }

    #[test]
    fn parameters_have_a_range() {
        assert!(Sift::default().validate().is_ok());
        for wrong in [
            Sift::default().contrast(-1.0),
            Sift::default().contrast(f32::NAN),
            Sift::default().edge(0.5),
            Sift::default().max_side(3),
        ] {
            assert!(wrong.validate().unwrap_err().to_string().contains("sift."));
        }
    }
}
