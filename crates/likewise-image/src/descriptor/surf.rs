//! SURF: blobs found and described by sums over boxes.
//!
//! ```text
//! det(L) = Dxx Dyy - (.9 Dxy)^2      of box filters of side L, their sums divided by L^2;
//!          L = 9 15 21 27 | 15 27 39 51 | 27 51 75 99 | 51 99 147 195, every 1, 2, 4, 8 pixels
//! 1. points: det above 4e-4 and its 26 neighbours, moved to the vertex; s = 1.2 L / 9
//! 2. direction: the longest sum of slopes (boxes of 4 s, every s within 6 s, Gaussian of 2.5 s)
//!    within a third of a half turn
//! 3. row: a square of 20 s, turned, of 4 x 4 cells of 5 x 5 slopes (boxes of 2 s, Gaussian of
//!    3.3 s): (sum dx, sum dy, sum |dx|, sum |dy|) a cell
//! 4. length 1                                                       64 numbers
//! ```
//!
//! **Use it** where [SIFT](super::sift) is right and too slow: it takes a third of the time, and
//! its rows are half as long. **Not** where every point counts: boxes are coarse, and small or
//! faint things are missed.
//!
//! Cost: O(pixels) for the points, whatever their size, and some 1000 boxes a point; memory 20
//! bytes a pixel.
//!
//! Source: Bay, Ess, Tuytelaars and Van Gool, "Speeded-up robust features", CVIU 2008. The
//! threshold is `OpenSURF`'s for gray of 0 to 1. Of a disc of radius r, Gaussians peak at s = r / sqrt 2,
//! these boxes at about r / 2.5. Ours: only filters that lie in the
//! image count; a vertex up to one step away is taken, as in `OpenCV`; the sign of the Laplacian
//! is not told. No well-kept crate has it: scirs2-vision does, with a hundred others and
//! other conventions.

use image::RgbImage;
use serde::{Deserialize, Serialize};

use super::kind::{Keypoint, Local, Points, range, unit};
use super::peak::{derivatives, is_peak, vertex};
use super::plane::Plane;
use crate::Result;

/// Filters of an octave.
const FILTERS: usize = 4;
const CELLS: usize = 4;
/// Slopes on a cell's side.
const SAMPLES: usize = 5;
/// Numbers of a row.
const ROW: usize = CELLS * CELLS * 4;
/// Places of the window of directions.
const WINDOWS: usize = 42;

/// Parameters of SURF; see [`surf`](self).
///
/// ```
/// use likewise_image::{RgbImage, descriptor::{Local, Surf}};
/// let image = RgbImage::from_fn(64, 64, |x, y| {
///     let disc = (x as f32 - 31.3).hypot(y as f32 - 28.8) < 8.0;
///     image::Rgb(if disc { [255; 3] } else { [0; 3] })
/// });
/// let found = Surf::default().find(&image);
/// assert_eq!(found.rows.ncols(), 64);
/// assert!(found.at.iter().any(|p| (p.x - 31.3).hypot(p.y - 28.8) < 1.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Surf {
    threshold: f32,
    octaves: usize,
    max_side: u32,
}

impl Default for Surf {
    fn default() -> Self {
        Self {
            threshold: 4e-4,
            octaves: 4,
            max_side: 480,
        }
    }
}

impl Surf {
    /// Least determinant of a point.
    #[must_use]
    pub fn threshold(self, threshold: f32) -> Self {
        Self { threshold, ..self }
    }

    /// Octaves of size, from 1 to 4.
    #[must_use]
    pub fn octaves(self, octaves: usize) -> Self {
        Self { octaves, ..self }
    }

    /// A larger image is shrunk to so many pixels of its longer side.
    #[must_use]
    pub fn max_side(self, max_side: u32) -> Self {
        Self { max_side, ..self }
    }

    /// Blobs and their determinants, octave by octave, in pixels of the shrunk image.
    fn blobs(&self, sums: &Sums) -> Vec<(Keypoint, f32)> {
        let mut found = Vec::new();
        for octave in 0..self.octaves {
            let step = 1 << octave;
            let side = |filter: usize| 3 * (2 * step * (filter + 1) + 1);
            let layers: [Plane; FILTERS] =
                std::array::from_fn(|filter| sums.determinants(side(filter), step));
            for middle in 1..FILTERS - 1 {
                // Where the next larger filter lies in the image, with its neighbours.
                let border = (side(middle + 1) / 2).div_ceil(step) + 1;
                let plane = &layers[middle];
                for y in border..plane.height.saturating_sub(border) {
                    for x in border..plane.width.saturating_sub(border) {
                        let value = plane.at(x, y);
                        let at = |across: isize, down: isize, by: isize| {
                            let plane = &layers[middle.wrapping_add_signed(by)];
                            plane.at(x.wrapping_add_signed(across), y.wrapping_add_signed(down))
                        };
                        if value <= self.threshold || !is_peak(at, value) {
                            continue;
                        }
                        let (gradient, hessian) = derivatives(at);
                        let offset = vertex(gradient, &hessian);
                        let near = |o: &[f32; 3]| o.iter().all(|o| o.abs() <= 1.0);
                        if let Some(offset) = offset.filter(near) {
                            let apart = (side(1) - side(0)) as f32;
                            let point = Keypoint {
                                x: (x as f32 + offset[0]) * step as f32,
                                y: (y as f32 + offset[1]) * step as f32,
                                scale: 1.2 / 9.0 * (side(middle) as f32 + offset[2] * apart),
                                angle: 0.0,
                            };
                            found.push((point, value));
                        }
                    }
                }
            }
        }
        found
    }
}

impl Local for Surf {
    fn dimensions(&self) -> usize {
        ROW
    }

    fn validate(&self) -> Result<()> {
        range("surf.threshold", self.threshold, 0.0, 1.0)?;
        range("surf.octaves", self.octaves, 1, 4)?;
        // The sum of all pixels must fit 32 bits.
        range("surf.max_side", self.max_side, 16, 4096)
    }

    fn find(&self, image: &RgbImage) -> Points {
        let (gray, ratio) = Plane::gray(image, self.max_side.min(4096));
        let sums = Sums::new(&gray);
        let mut found = Vec::new();
        for (mut point, _) in self.blobs(&sums) {
            point.angle = sums.direction(&point);
            if let Some(row) = sums.row(&point) {
                point.x *= ratio[0];
                point.y *= ratio[1];
                point.scale *= (ratio[0] * ratio[1]).sqrt();
                found.push((point, row));
            }
        }
        Points::new(found)
    }
}

/// Sums of all pixels above and left of each.
struct Sums {
    width: usize,
    height: usize,
    above: Vec<u32>,
}

impl Sums {
    fn new(gray: &Plane) -> Self {
        let (width, height) = (gray.width, gray.height);
        let line = width + 1;
        let mut above = vec![0; line * (height + 1)];
        for y in 0..height {
            let mut sum = 0;
            for (x, value) in gray.row(y).iter().enumerate() {
                sum += (value * 255.0).round() as u32;
                above[(y + 1) * line + x + 1] = above[y * line + x + 1] + sum;
            }
        }
        Self {
            width,
            height,
            above,
        }
    }

    /// The sum of a box, which must lie in the image.
    fn inside(&self, left: usize, top: usize, width: usize, height: usize) -> f32 {
        let first = top * (self.width + 1) + left;
        let last = first + height * (self.width + 1);
        let [a, b] = [first, last].map(|at| self.above[at + width] - self.above[at]);
        (b - a) as f32
    }

    /// The sum of a box from `left` and `top` up to `right` and `bottom`, or what of it is in the
    /// image.
    fn cut(&self, [left, top, right, bottom]: [isize; 4]) -> f32 {
        let [left, right] = [left, right].map(|x| x.clamp(0, self.width as isize) as usize);
        let [top, bottom] = [top, bottom].map(|y| y.clamp(0, self.height as isize) as usize);
        self.inside(left, top, right - left, bottom - top)
    }

    /// Of the Hessian by filters of `side`, every `step` pixels; 0 where the filter leaves the
    /// image.
    fn determinants(&self, side: usize, step: usize) -> Plane {
        let mut out = Plane::zeros(self.width.div_ceil(step), self.height.div_ceil(step));
        let (lobe, border) = (side / 3, side / 2);
        let share = 1.0 / (255.0 * (side * side) as f32);
        let inner = |length: usize| {
            let first = border.next_multiple_of(step);
            (first..length.saturating_sub(border)).step_by(step)
        };
        for y in inner(self.height) {
            for x in inner(self.width) {
                let (left, top) = (x - border, y - border);
                // The lobes of the second derivatives are a third of the side long.
                let wide = 2 * lobe - 1;
                let xx = self.inside(left, y + 1 - lobe, side, wide)
                    - 3.0 * self.inside(x - lobe / 2, y + 1 - lobe, lobe, wide);
                let yy = self.inside(x + 1 - lobe, top, wide, side)
                    - 3.0 * self.inside(x + 1 - lobe, y - lobe / 2, wide, lobe);
                let xy = self.inside(x + 1, y - lobe, lobe, lobe)
                    + self.inside(x - lobe, y + 1, lobe, lobe)
                    - self.inside(x - lobe, y - lobe, lobe, lobe)
                    - self.inside(x + 1, y + 1, lobe, lobe);
                let [xx, yy, xy] = [xx, yy, xy].map(|sum| sum * share);
                out.data[y / step * out.width + x / step] = xx * yy - 0.81 * xy * xy;
            }
        }
        out
    }

    /// The slope at a place: right less left, and lower less upper half of a box of twice `half`.
    fn slope(&self, x: f32, y: f32, half: isize) -> (f32, f32) {
        // The middle of a box of even side is between two pixels.
        let (x, y) = ((x + 0.5).round() as isize, (y + 0.5).round() as isize);
        let (left, top, right, bottom) = (x - half, y - half, x + half, y + half);
        let across = self.cut([x, top, right, bottom]) - self.cut([left, top, x, bottom]);
        let down = self.cut([left, y, right, bottom]) - self.cut([left, top, right, y]);
        (across, down)
    }

    fn direction(&self, point: &Keypoint) -> f32 {
        use std::f32::consts::{FRAC_PI_3, TAU};
        let s = point.scale;
        let half = (2.0 * s).round() as isize;
        let mut slopes = Vec::with_capacity(113);
        for i in -6..=6_i16 {
            for j in -6..=6_i16 {
                if i * i + j * j < 36 {
                    let (i, j) = (f32::from(i), f32::from(j));
                    let (across, down) = self.slope(point.x + i * s, point.y + j * s, half);
                    let weight = (-0.5 * (i * i + j * j) / (2.5 * 2.5)).exp();
                    let turn = down.atan2(across).rem_euclid(TAU);
                    slopes.push((turn, weight * across, weight * down));
                }
            }
        }
        let sum = |window: usize| {
            let start = window as f32 / WINDOWS as f32 * TAU;
            let within = |turn: f32| (turn - start).rem_euclid(TAU) < FRAC_PI_3;
            let chosen = slopes.iter().filter(|(turn, ..)| within(*turn));
            chosen.fold((0.0, 0.0), |(x, y), (_, dx, dy)| (x + dx, y + dy))
        };
        let length = |(x, y): (f32, f32)| x * x + y * y;
        let longer = |best, next| {
            if length(next) > length(best) {
                next
            } else {
                best
            }
        };
        let (across, down) = (0..WINDOWS).map(sum).fold((0.0, 0.0), longer);
        down.atan2(across).rem_euclid(TAU)
    }

    /// The row of a point; none where all is flat.
    fn row(&self, point: &Keypoint) -> Option<[f32; ROW]> {
        let s = point.scale;
        let half = (s.round() as isize).max(1);
        let (sin, cos) = point.angle.sin_cos();
        let middle = 0.5 * (CELLS * SAMPLES) as f32 - 0.5;
        let mut row = [0.0; ROW];
        for j in 0..CELLS * SAMPLES {
            for i in 0..CELLS * SAMPLES {
                let (u, v) = (i as f32 - middle, j as f32 - middle);
                let x = point.x + s * (u * cos - v * sin);
                let y = point.y + s * (u * sin + v * cos);
                let (across, down) = self.slope(x, y, half);
                let weight = (-0.5 * (u * u + v * v) / (3.3 * 3.3)).exp();
                let along = weight * (cos * across + sin * down);
                let beside = weight * (cos * down - sin * across);
                let cell = 4 * (j / SAMPLES * CELLS + i / SAMPLES);
                row[cell] += along;
                row[cell + 1] += beside;
                row[cell + 2] += along.abs();
                row[cell + 3] += beside.abs();
            }
        }
        unit(&mut row).then_some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::super::plane::{noise, odd_images, spots};
    use super::*;
    use image::imageops;
    use proptest::prelude::*;

    #[test]
    fn the_strongest_blob_of_a_disc_has_its_place_and_size() {
        for radius in [8.0, 12.0, 20.0_f32] {
            let image = RgbImage::from_fn(140, 130, |x, y| {
                let inside = (x as f32 - 70.0).hypot(y as f32 - 63.0) <= radius;
                image::Rgb(if inside { [255; 3] } else { [0; 3] })
            });
            let (gray, _) = Plane::gray(&image, 480);
            let blobs = Surf::default().blobs(&Sums::new(&gray));
            let strongest = blobs.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            let point = strongest.0;
            assert!((point.x - 70.0).hypot(point.y - 63.0) < 1.0, "{point:?}");
            // Boxes peak at lower scales than the Gaussians they stand for, at r / sqrt 2: those of
            // L = 2.8 r, so s = .37 r, to 4 r are within a sixth of the largest.
            let share = point.scale / radius;
            assert!((0.35..=0.75).contains(&share), "{radius} {point:?}");
        }
    }

    #[test]
    fn filters_are_those_printed() {
        let side = |octave: usize, filter: usize| 3 * ((2 << octave) * (filter + 1) + 1);
        let sides = |octave| [0, 1, 2, 3].map(|filter| side(octave, filter));
        assert_eq!(sides(0), [9, 15, 21, 27]);
        assert_eq!(sides(1), [15, 27, 39, 51]);
        assert_eq!(sides(2), [27, 51, 75, 99]);
        assert_eq!(sides(3), [51, 99, 147, 195]);
    }

    #[test]
    fn a_determinant_is_that_of_the_printed_masks() {
        let (gray, _) = Plane::gray(&noise(15, 15, 5), 480);
        let found = Sums::new(&gray).determinants(9, 1).at(7, 7);
        let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
        for y in -4..=4_isize {
            for x in -4..=4_isize {
                let value = gray.at((7 + x) as usize, (7 + y) as usize);
                let lobes = |along: isize, beside: isize| match (along.abs(), beside.abs()) {
                    (_, 3..) => 0.0,
                    (0..=1, _) => -2.0,
                    _ => 1.0,
                };
                xx += value * lobes(x, y);
                yy += value * lobes(y, x);
                if (1..=3).contains(&x.abs()) && (1..=3).contains(&y.abs()) {
                    xy -= value * (x * y).signum() as f32;
                }
            }
        }
        let expected = (xx * yy - 0.81 * xy * xy) / (81.0 * 81.0);
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }

    proptest! {
        #[test]
        fn boxes_are_plain_sums(
            left in -3..12_isize, top in -3..12_isize, w in 0..9_isize, h in 0..9_isize, seed: u64
        ) {
            let (gray, _) = Plane::gray(&noise(9, 7, seed), 480);
            let found = Sums::new(&gray).cut([left, top, left + w, top + h]);
            let mut plain = 0.0;
            for y in top..top + h {
                for x in left..left + w {
                    if (0..9).contains(&x) && (0..7).contains(&y) {
                        plain += 255.0 * gray.at(x as usize, y as usize);
                    }
                }
            }
            prop_assert!((found - plain).abs() < 0.1);
        }
    }

    #[test]
    fn turning_the_image_keeps_most_rows() {
        let image = spots(120, 100, 5);
        let here = Surf::default().find(&image);
        let there = Surf::default().find(&imageops::rotate90(&image));
        assert!(here.at.len() >= 20);
        let mut found = 0;
        for (point, row) in here.at.iter().zip(here.rows.rows()) {
            let (x, y) = (99.0 - point.y, point.x);
            let mut rows = there.at.iter().zip(there.rows.rows());
            found += usize::from(rows.any(|(other, values)| {
                let near = (other.x - x).hypot(other.y - y) < 1.5;
                near && (&values - &row).mapv(|v| v * v).sum().sqrt() < 0.3
            }));
        }
        assert!(
            found * 10 >= here.at.len() * 7,
            "{found} of {}",
            here.at.len()
        );
    }

    #[test]
    fn rows_have_length_1_and_odd_images_no_points() {
        let found = Surf::default().find(&noise(120, 90, 4));
        assert!(!found.at.is_empty() && found.rows.nrows() == found.at.len());
        assert!(
            found
                .rows
                .rows()
                .into_iter()
                .all(|r| (r.dot(&r) - 1.0).abs() < 1e-5)
        );
        for image in odd_images() {
            let found = Surf::default().find(&image);
            assert_eq!(found.rows.ncols(), 64);
            let flat = image.pixels().all(|p| p == image.get_pixel(0, 0));
            assert!(!flat || found.at.is_empty());
        }
        assert!(Surf::default().octaves(5).validate().is_err());
        assert!(Surf::default().threshold(f32::NAN).validate().is_err());
        assert!(Surf::default().max_side(5000).validate().is_err());
    }
}
