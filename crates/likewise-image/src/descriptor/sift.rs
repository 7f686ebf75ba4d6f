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

use image::RgbImage;
use serde::{Deserialize, Serialize};

use super::kind::{Keypoint, Local, Points, range, unit};
use super::peak::{derivatives, is_peak, vertex};
use super::plane::{Outside, Plane};
use crate::Result;

/// Steps of an octave.
const STEPS: usize = 3;
/// Blur of the first step.
const SIGMA: f32 = 1.6;
/// Blur that a photograph has.
const CAMERA: f32 = 0.5;
/// Pixels at the border that have no points.
const BORDER: usize = 5;
/// Moves of a point at most.
const MOVES: usize = 5;
/// Directions of a point are peaks among so many.
const TURNS: usize = 36;
/// Cells on a side of the square that a row is of ...
pub(super) const CELLS: usize = 4;
/// ... and directions of a cell.
pub(super) const BINS: usize = 8;
/// Numbers of a row.
pub(super) const ROW: usize = CELLS * CELLS * BINS;
/// Largest value of a row of length 1.
const CLIP: f32 = 0.2;

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
        let mut found = Vec::new();
        let mut base = doubled(&gray);
        let mut pixel = 0.5;
        while base.width.min(base.height) > 2 * BORDER + 2 {
            let octave = Octave::new(base);
            for (mut point, row) in octave.describe(self) {
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

/// Twice as wide and high, the pixels at even places, blurred to the first step.
fn doubled(gray: &Plane) -> Plane {
    let (width, height) = (2 * gray.width, 2 * gray.height);
    let mut base = Plane::zeros(width, height);
    let mut line = vec![0.0; gray.width];
    for (y, to) in base.data.chunks_exact_mut(width.max(1)).enumerate() {
        let below = (y.div_ceil(2)).min(gray.height - 1);
        let rows = gray.row(y / 2).iter().zip(gray.row(below));
        line.iter_mut()
            .zip(rows)
            .for_each(|(l, (a, b))| *l = 0.5 * (a + b));
        for (x, to) in to.chunks_exact_mut(2).enumerate() {
            let next = line[(x + 1).min(line.len() - 1)];
            to.copy_from_slice(&[line[x], 0.5 * (line[x] + next)]);
        }
    }
    let blur = (SIGMA * SIGMA - 4.0 * CAMERA * CAMERA).sqrt();
    base.smooth(blur, 4.0, Outside::Mirror)
}

/// One octave: the same pixels, blurred more and more.
struct Octave {
    blurred: Vec<Plane>,
    difference: Vec<Plane>,
}

/// A point of an octave, in its pixels.
#[derive(Debug, Clone, Copy)]
struct Found {
    x: f32,
    y: f32,
    step: usize,
    /// Its blur.
    sigma: f32,
}

impl Octave {
    fn new(base: Plane) -> Self {
        let mut blurred = vec![base];
        let blur = |step: usize| SIGMA * 2.0_f32.powf(step as f32 / STEPS as f32);
        for step in 1..STEPS + 3 {
            let more = (blur(step).powi(2) - blur(step - 1).powi(2)).sqrt();
            let next = blurred[step - 1].smooth(more, 4.0, Outside::Mirror);
            blurred.push(next);
        }
        let difference = blurred.windows(2).map(|pair| {
            let both = pair[1].data.iter().zip(&pair[0].data);
            Plane {
                data: both.map(|(more, less)| more - less).collect(),
                ..pair[0]
            }
        });
        let difference = difference.collect();
        Self {
            blurred,
            difference,
        }
    }

    /// Every second pixel of the step that has twice the blur.
    fn halved(&self) -> Plane {
        let all = &self.blurred[STEPS];
        let (width, height) = (all.width / 2, all.height / 2);
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| all.at(2 * x, 2 * y)));
        Plane {
            width,
            height,
            data: pixels.collect(),
        }
    }

    fn describe(&self, sift: &Sift) -> Vec<(Keypoint, [f32; ROW])> {
        let mut all = Vec::new();
        for found in self.extrema(sift) {
            for angle in self.directions(found) {
                if let Some(row) = self.row(found, angle) {
                    let point = Keypoint {
                        x: found.x,
                        y: found.y,
                        scale: found.sigma,
                        angle,
                    };
                    all.push((point, row));
                }
            }
        }
        all
    }

    fn extrema(&self, sift: &Sift) -> Vec<Found> {
        let (width, height) = (self.blurred[0].width, self.blurred[0].height);
        // A pixel near a vertex may have a little less than that.
        let least = 0.5 * sift.contrast / STEPS as f32;
        let mut found = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for step in 1..=STEPS {
            for y in BORDER..height - BORDER {
                for x in BORDER..width - BORDER {
                    let value = self.difference[step].at(x, y);
                    if value.abs() > least
                        && is_peak(self.around([x, y, step]), value)
                        && let Some((place, point)) = self.vertex([x, y, step], sift)
                        // Two neighbours may lead to the same vertex.
                        && seen.insert(place)
                    {
                        found.push(point);
                    }
                }
            }
        }
        found
    }

    /// The vertex near a pixel, and the pixel nearest to it; none of weak contrast, on an edge or
    /// at the border.
    fn vertex(&self, mut place: [usize; 3], sift: &Sift) -> Option<([usize; 3], Found)> {
        let most = [
            self.blurred[0].width - 1 - BORDER,
            self.blurred[0].height - 1 - BORDER,
            STEPS,
        ];
        let least = [BORDER, BORDER, 1];
        let mut moves = 0;
        let (offset, gradient, hessian) = loop {
            let (gradient, hessian) = derivatives(self.around(place));
            let offset = vertex(gradient, &hessian)?;
            if offset.iter().all(|o| o.abs() < 0.5) {
                break (offset, gradient, hessian);
            }
            moves += 1;
            if moves == MOVES || offset.iter().any(|o| o.abs() > 1e6) {
                return None;
            }
            for axis in 0..3 {
                let moved = place[axis] as f32 + offset[axis].round();
                if moved < least[axis] as f32 || moved > most[axis] as f32 {
                    return None;
                }
                place[axis] = moved as usize;
            }
        };
        let [x, y, step] = place;
        let slope: f32 = gradient.iter().zip(offset).map(|(g, o)| g * o).sum();
        let value = self.difference[step].at(x, y) + 0.5 * slope;
        if value.abs() * (STEPS as f32) < sift.contrast {
            return None;
        }
        let trace = hessian[0][0] + hessian[1][1];
        let determinant = hessian[0][0] * hessian[1][1] - hessian[0][1] * hessian[0][1];
        let edge = sift.edge;
        if determinant <= 0.0 || trace * trace * edge >= (edge + 1.0).powi(2) * determinant {
            return None;
        }
        let point = Found {
            x: x as f32 + offset[0],
            y: y as f32 + offset[1],
            step,
            sigma: SIGMA * 2.0_f32.powf((step as f32 + offset[2]) / STEPS as f32),
        };
        Some((place, point))
    }

    /// The difference so many pixels across, down and steps away from a place.
    fn around(&self, [x, y, step]: [usize; 3]) -> impl Fn(isize, isize, isize) -> f32 {
        move |across, down, by| {
            let plane = &self.difference[step.wrapping_add_signed(by)];
            plane.at(x.wrapping_add_signed(across), y.wrapping_add_signed(down))
        }
    }

    /// The directions of a point: of the peaks of a histogram.
    fn directions(&self, found: Found) -> Vec<f32> {
        let plane = &self.blurred[found.step];
        let sigma = 1.5 * found.sigma;
        let radius = (3.0 * sigma).round() as isize;
        let (x, y) = (found.x.round() as isize, found.y.round() as isize);
        let mut counts = [0.0_f32; TURNS];
        for row in (y - radius).max(1)..=(y + radius).min(plane.height as isize - 2) {
            for column in (x - radius).max(1)..=(x + radius).min(plane.width as isize - 2) {
                let (across, down) = slope(plane, column as usize, row as usize);
                let square = ((row - y).pow(2) + (column - x).pow(2)) as f32;
                let weight = (-0.5 * square / (sigma * sigma)).exp();
                let turn = down.atan2(across) / std::f32::consts::TAU * TURNS as f32;
                let bin = (turn.round() as isize).rem_euclid(TURNS as isize);
                counts[bin as usize] += weight * (across * across + down * down).sqrt();
            }
        }
        let around = |bin: usize, by: usize| counts[(bin + TURNS + by - 2) % TURNS];
        let smooth: [f32; TURNS] = std::array::from_fn(|bin| {
            let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|by| around(bin, by));
            (a + e) / 16.0 + (b + d) / 4.0 + c * 0.375
        });
        let most = smooth.iter().copied().fold(0.0, f32::max);
        let peak = |bin: usize| {
            let (before, own) = (smooth[(bin + TURNS - 1) % TURNS], smooth[bin]);
            let after = smooth[(bin + 1) % TURNS];
            (own > before && own >= after && own >= 0.8 * most).then(|| {
                let turn = bin as f32 + 0.5 * (before - after) / (before - 2.0 * own + after);
                (turn / TURNS as f32 * std::f32::consts::TAU).rem_euclid(std::f32::consts::TAU)
            })
        };
        (0..TURNS).filter_map(peak).collect()
    }

    /// The row of a point; none where all is flat.
    fn row(&self, found: Found, angle: f32) -> Option<[f32; ROW]> {
        let plane = &self.blurred[found.step];
        let cell = 3.0 * found.sigma;
        let reach = (cell * std::f32::consts::SQRT_2 * 0.5 * (CELLS as f32 + 1.0)).round();
        let reach = reach.min(plane.width.max(plane.height) as f32);
        let (sin, cos) = angle.sin_cos();
        let inner = |middle: f32, side: usize| {
            let first = (middle - reach).ceil().max(1.0) as usize;
            first..=((middle + reach).floor() as usize).min(side - 2)
        };
        // The Gaussian is one across times one down, however the square is turned.
        let sigma = 0.5 * CELLS as f32 * cell;
        let weight = |offset: f32| (-0.5 * (offset / sigma).powi(2)).exp();
        let columns: Vec<(usize, f32, f32)> = inner(found.x, plane.width)
            .map(|x| (x, x as f32 - found.x, weight(x as f32 - found.x)))
            .collect();
        let mut votes = Votes::default();
        let middle = 0.5 * CELLS as f32 - 0.5;
        for y in inner(found.y, plane.height) {
            let down = y as f32 - found.y;
            let share = weight(down);
            for &(x, across, weight) in &columns {
                let column = (cos * across + sin * down) / cell + middle;
                let row = (cos * down - sin * across) / cell + middle;
                let inside = -1.0..CELLS as f32;
                if column > -1.0 && row > -1.0 && inside.contains(&column) && inside.contains(&row)
                {
                    let (gx, gy) = slope(plane, x, y);
                    let length = (gx * gx + gy * gy).sqrt();
                    let turn = (gy.atan2(gx) - angle) * (BINS as f32 / std::f32::consts::TAU);
                    votes.add(column, row, turn, weight * share * length);
                }
            }
        }
        let mut row = votes.row();
        normalize(&mut row).then_some(row)
    }
}

/// Differences of the neighbours across and down.
fn slope(plane: &Plane, x: usize, y: usize) -> (f32, f32) {
    let at = y * plane.width + x;
    let data = &plane.data;
    (
        data[at + 1] - data[at - 1],
        data[at + plane.width] - data[at - plane.width],
    )
}

/// Sums of slopes by cell and direction, with a ring of cells around for what falls outside.
struct Votes([f32; (CELLS + 2) * (CELLS + 2) * BINS]);

impl Default for Votes {
    fn default() -> Self {
        Self([0.0; (CELLS + 2) * (CELLS + 2) * BINS])
    }
}

impl Votes {
    /// Shares a slope between the two cells across, the two down and the two directions that it
    /// lies between; `column` and `row` from -1 to 4.
    fn add(&mut self, column: f32, row: f32, turn: f32, value: f32) {
        let (left, top, before) = (column.floor(), row.floor(), turn.floor());
        let (fx, fy, ft) = (column - left, row - top, turn - before);
        let first = (before as isize).rem_euclid(BINS as isize) as usize;
        let second = (first + 1) % BINS;
        let (left, top) = ((left + 1.0) as usize, (top + 1.0) as usize);
        for (down, part) in [(0, value * (1.0 - fy)), (1, value * fy)] {
            for (across, part) in [(0, part * (1.0 - fx)), (1, part * fx)] {
                let cell = ((top + down) * (CELLS + 2) + left + across) * BINS;
                self.0[cell + first] += part * (1.0 - ft);
                self.0[cell + second] += part * ft;
            }
        }
    }

    /// The sums of the inner cells, by row, column and direction.
    fn row(&self) -> [f32; ROW] {
        std::array::from_fn(|at| {
            let (bin, column, row) = (at % BINS, at / BINS % CELLS, at / BINS / CELLS);
            self.0[((row + 1) * (CELLS + 2) + column + 1) * BINS + bin]
        })
    }
}

/// Length 1, no value above .2, length 1; false for a row of zeros.
pub(super) fn normalize(row: &mut [f32; ROW]) -> bool {
    unit(row) && {
        for v in row.iter_mut() {
            *v = v.min(CLIP);
        }
        unit(row)
    }
}

#[cfg(test)]
mod tests {
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
    fn a_vote_is_shared_and_never_lost() {
        let mut votes = Votes::default();
        votes.add(0.25, 1.5, 7.5, 8.0);
        votes.add(-0.5, -0.5, -0.5, 4.0);
        assert!((votes.0.iter().sum::<f32>() - 12.0).abs() < 1e-5);
        let row = votes.row();
        // Row 1, column 0, direction 7: .75 x .5 x .5 of 8.
        assert!((row[4 * BINS + 7] - 1.5).abs() < 1e-6);
        assert!((row[4 * BINS] - 1.5).abs() < 1e-6);
        assert!((row[7] - 0.5).abs() < 1e-6);
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
