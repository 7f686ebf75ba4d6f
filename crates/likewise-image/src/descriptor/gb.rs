//! Geometric blur: slopes around points of edges, the more blurred the farther away.
//!
//! ```text
//! S_c   = |slope of G_1 * gray in direction c|, c = 0, 45, 90, 135 degrees, beside its largest value
//! points: of the edges, in random order, none nearer than 4 pixels to one before, 300 at most
//! row[c, k] = (G_(r/2 + 1) * S_c)(point + offset k)      offset k: on circles of radius r
//!             r = 0 5.6 11.2 22.4 44.8 70 with 1 8 8 10 12 12 of them; outside the image 0
//! length 1                                              4 x 51 = 204 numbers
//! ```
//!
//! **Use it** for outlines that bend a little: animals, hand tools, letters; with
//! [words](crate::Words) for kinds of objects. **Not** for textures, or where size and turn
//! differ: the circles have one of each, and the largest is 140 pixels wide.
//!
//! Cost: the blurs are some 400 multiplications a pixel and channel; a point costs 204 values.
//! Memory about 30 bytes a pixel.
//!
//! Source: Berg and Malik, "Geometric blur for template matching", CVPR 2001; radii and counts
//! as in Berg, Berg and Malik, "Shape matching and object recognition using low distortion
//! correspondences", CVPR 2005. Ours, where these leave it open: the four channels, and the
//! points of edges that are drawn. The draw is the same for every image, so that an image has
//! the same points in any company. No crate has it.

use image::RgbImage;
use likewise::seed;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::canny;
use super::kind::{Keypoint, Local, Points, range, unit};
use super::plane::{Outside, Plane};
use crate::Result;

const CHANNELS: usize = 4;
/// Radii of the circles, and places on each.
const CIRCLES: [(f32, usize); 6] = [
    (0.0, 1),
    (5.6, 8),
    (11.2, 8),
    (22.4, 10),
    (44.8, 12),
    (70.0, 12),
];
/// Places of all circles.
const PLACES: usize = 51;
/// Numbers of a row.
const ROW: usize = CHANNELS * PLACES;
/// Least slope that is not rounding.
const FLAT: f32 = 1e-5;

/// Parameters of geometric blur; see [`gb`](self).
///
/// ```
/// use likewise_image::{RgbImage, descriptor::{GeometricBlur, Local}};
/// let image = RgbImage::from_fn(64, 48, |x, _| image::Rgb(if x < 32 { [0; 3] } else { [255; 3] }));
/// let found = GeometricBlur::default().find(&image);
/// assert_eq!(found.rows.ncols(), 204);
/// // All points lie on the edge.
/// assert!(found.at.iter().all(|p| (p.x - 31.5).abs() < 1.0) && found.at.len() > 4);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GeometricBlur {
    points: usize,
    apart: usize,
    seed: u64,
    max_side: u32,
}

impl Default for GeometricBlur {
    fn default() -> Self {
        Self {
            points: 300,
            apart: 4,
            seed: 0,
            max_side: 480,
        }
    }
}

impl GeometricBlur {
    /// Points of an image at most.
    #[must_use]
    pub fn points(self, points: usize) -> Self {
        Self { points, ..self }
    }

    /// Pixels between two points at least.
    #[must_use]
    pub fn apart(self, apart: usize) -> Self {
        Self { apart, ..self }
    }

    /// Seed of the order in which points of edges are drawn.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// A larger image is shrunk to so many pixels of its longer side.
    #[must_use]
    pub fn max_side(self, max_side: u32) -> Self {
        Self { max_side, ..self }
    }

    /// Columns and rows of the points.
    fn drawn(&self, gray: &Plane) -> Vec<(usize, usize)> {
        let width = gray.width;
        let edge = canny::edges(gray);
        let mut places: Vec<usize> = (0..edge.len()).filter(|&at| edge[at]).collect();
        places.shuffle(&mut seed::stream(self.seed, "points of edges"));
        let mut free = vec![true; edge.len()];
        let mut drawn = Vec::new();
        let (near, least) = (self.apart.saturating_sub(1), self.apart.pow(2));
        for at in places {
            if drawn.len() == self.points {
                break;
            }
            if !free[at] {
                continue;
            }
            let (x, y) = (at % width, at / width);
            drawn.push((x, y));
            free[at] = false;
            for row in y.saturating_sub(near)..=(y + near).min(gray.height - 1) {
                for column in x.saturating_sub(near)..=(x + near).min(width - 1) {
                    if row.abs_diff(y).pow(2) + column.abs_diff(x).pow(2) < least {
                        free[row * width + column] = false;
                    }
                }
            }
        }
        drawn
    }
}

impl Local for GeometricBlur {
    fn dimensions(&self) -> usize {
        ROW
    }

    fn validate(&self) -> Result<()> {
        range("gb.points", self.points, 1, 1_000_000)?;
        range("gb.apart", self.apart, 1, 1000)?;
        range("gb.max_side", self.max_side, 16, 8192)
    }

    fn find(&self, image: &RgbImage) -> Points {
        let (gray, ratio) = Plane::gray(image, self.max_side);
        let drawn = self.drawn(&gray);
        let mut rows = vec![[0.0; ROW]; drawn.len()];
        if drawn.is_empty() {
            return Points::new::<ROW>(Vec::new());
        }
        for (channel, signal) in channels(&gray).iter().enumerate() {
            let mut first = channel * PLACES;
            for (radius, places) in CIRCLES {
                let blurred = signal.smooth(0.5 * radius + 1.0, 3.0, Outside::Zero);
                let offsets: Vec<(f32, f32)> = (0..places)
                    .map(|k| std::f32::consts::TAU * k as f32 / places as f32)
                    .map(|turn| (radius * turn.cos(), radius * turn.sin()))
                    .collect();
                for (row, &(x, y)) in rows.iter_mut().zip(&drawn) {
                    for (value, (across, down)) in row[first..].iter_mut().zip(&offsets) {
                        *value = blurred.between(x as f32 + across, y as f32 + down);
                    }
                }
                first += places;
            }
        }
        let points = drawn.into_iter().zip(rows).filter_map(|((x, y), mut row)| {
            let point = Keypoint {
                x: x as f32 * ratio[0],
                y: y as f32 * ratio[1],
                scale: CIRCLES[CIRCLES.len() - 1].0 * (ratio[0] * ratio[1]).sqrt(),
                angle: 0.0,
            };
            unit(&mut row).then_some((point, row))
        });
        Points::new(points.collect())
    }
}

/// The lengths of the slope in four directions, beside the largest of each.
fn channels(gray: &Plane) -> [Plane; CHANNELS] {
    let (across, down) = gray.smooth(1.0, 4.0, Outside::Edge).slopes();
    std::array::from_fn(|channel| {
        let turn = std::f32::consts::PI * channel as f32 / CHANNELS as f32;
        let (sin, cos) = turn.sin_cos();
        let slopes = across.data.iter().zip(&down.data);
        let mut data: Vec<f32> = slopes.map(|(a, d)| (a * cos + d * sin).abs()).collect();
        let most = data.iter().copied().fold(0.0, f32::max);
        let factor = if most > FLAT { most.recip() } else { 0.0 };
        for v in &mut data {
            *v *= factor;
        }
        Plane { data, ..across }
    })
}

#[cfg(test)]
mod tests {
    use super::super::plane::{noise, odd_images};
    use super::*;

    #[test]
    fn a_row_is_made_of_plain_sums() {
        let image = noise(60, 50, 7);
        let found = GeometricBlur::default().points(3).find(&image);
        assert_eq!(found.rows.nrows(), 3);
        let (gray, _) = Plane::gray(&image, 480);
        for (point, row) in found.at.iter().zip(found.rows.rows()) {
            let mut plain = Vec::new();
            for signal in channels(&gray) {
                for (radius, places) in CIRCLES {
                    let sigma = f64::from(0.5 * radius + 1.0);
                    for k in 0..places {
                        let turn = std::f64::consts::TAU * k as f64 / places as f64;
                        let x = f64::from(point.x) + f64::from(radius) * turn.cos();
                        let y = f64::from(point.y) + f64::from(radius) * turn.sin();
                        let mut sum = 0.0;
                        for (at, value) in signal.data.iter().enumerate() {
                            let (column, line) = ((at % 60) as f64, (at / 60) as f64);
                            let square = (column - x).powi(2) + (line - y).powi(2);
                            let weight = (-0.5 * square / (sigma * sigma)).exp();
                            sum += f64::from(*value) * weight;
                        }
                        let inside = (0.0..=59.0).contains(&x) && (0.0..=49.0).contains(&y);
                        let share = std::f64::consts::TAU * sigma * sigma;
                        plain.push(if inside { sum / share } else { 0.0 });
                    }
                }
            }
            let length = plain.iter().map(|v| v * v).sum::<f64>().sqrt();
            for (place, (a, b)) in row.iter().zip(plain).enumerate() {
                // Between pixels the sharpest blur is not quite that of its place.
                let error = (f64::from(*a) - b / length).abs();
                assert!(error < 0.02, "{place}: {a} {}", b / length);
            }
        }
    }

    #[test]
    fn points_lie_apart_and_are_drawn_by_the_seed() {
        let image = noise(100, 80, 3);
        let gb = GeometricBlur::default();
        let found = gb.find(&image);
        assert!(found.at.len() > 50);
        for (i, a) in found.at.iter().enumerate() {
            assert!(
                found.at[..i]
                    .iter()
                    .all(|b| (a.x - b.x).hypot(a.y - b.y) >= 4.0)
            );
        }
        assert_eq!(gb.find(&image), found);
        assert_ne!(gb.seed(1).find(&image), found);
        let few = gb.points(7).find(&image);
        assert_eq!(few.at, found.at[..7]);
    }

    #[test]
    fn rows_have_length_1_and_odd_images_no_points() {
        let found = GeometricBlur::default().find(&noise(90, 70, 4));
        assert!(
            found
                .rows
                .rows()
                .into_iter()
                .all(|r| (r.dot(&r) - 1.0).abs() < 1e-5)
        );
        for image in odd_images() {
            let found = GeometricBlur::default().find(&image);
            assert_eq!(found.rows.ncols(), 204);
            assert!(found.rows.iter().all(|v| v.is_finite()));
            let flat = image.pixels().all(|p| p == image.get_pixel(0, 0));
            assert!(!flat || found.at.is_empty());
        }
        assert_eq!(CIRCLES.iter().map(|(_, n)| n).sum::<usize>(), PLACES);
        assert!(GeometricBlur::default().points(0).validate().is_err());
        assert!(GeometricBlur::default().apart(0).validate().is_err());
        assert!(GeometricBlur::default().max_side(1).validate().is_err());
    }
}
