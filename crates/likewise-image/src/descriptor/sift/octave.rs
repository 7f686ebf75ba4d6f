//! An octave: an image blurred more and more, and the points that stand out in it.

use super::row::{Found, ROW, directions, row};
use crate::descriptor::kind::Keypoint;
use crate::descriptor::peak::{derivatives, is_peak, vertex};
use crate::descriptor::plane::{Outside, Plane};

/// Steps of an octave.
const STEPS: usize = 3;
/// Blur of the first step.
const SIGMA: f32 = 1.6;
/// Blur that a photograph has.
const CAMERA: f32 = 0.5;
/// Pixels at the border that have no points.
pub(super) const BORDER: usize = 5;
/// Moves of a point at most.
const MOVES: usize = 5;

/// What a point must have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Least contrast.
    pub(super) contrast: f32,
    /// Largest ratio of its two curvatures.
    pub(super) edge: f32,
}

/// Twice as wide and high, the pixels at even places, blurred to the first step.
pub(super) fn doubled(gray: &Plane) -> Plane {
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
pub(super) struct Octave {
    blurred: Vec<Plane>,
    difference: Vec<Plane>,
}

impl Octave {
    pub(super) fn new(base: Plane) -> Self {
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
    pub(super) fn halved(&self) -> Plane {
        let all = &self.blurred[STEPS];
        let (width, height) = (all.width / 2, all.height / 2);
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| all.at(2 * x, 2 * y)));
        Plane {
            width,
            height,
            data: pixels.collect(),
        }
    }

    pub(super) fn describe(&self, limits: Limits) -> Vec<(Keypoint, [f32; ROW])> {
        let mut all = Vec::new();
        for found in self.extrema(limits) {
            let plane = &self.blurred[found.step];
            for angle in directions(plane, found) {
                if let Some(row) = row(plane, found, angle) {
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

    fn extrema(&self, limits: Limits) -> Vec<Found> {
        let (width, height) = (self.blurred[0].width, self.blurred[0].height);
        // A pixel near a vertex may have a little less than that.
        let least = 0.5 * limits.contrast / STEPS as f32;
        let mut found = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for step in 1..=STEPS {
            for y in BORDER..height - BORDER {
                for x in BORDER..width - BORDER {
                    let value = self.difference[step].at(x, y);
                    if value.abs() > least
                        && is_peak(self.around([x, y, step]), value)
                        && let Some((place, point)) = self.vertex([x, y, step], limits)
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
    fn vertex(&self, mut place: [usize; 3], limits: Limits) -> Option<([usize; 3], Found)> {
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
        if value.abs() * (STEPS as f32) < limits.contrast {
            return None;
        }
        let trace = hessian[0][0] + hessian[1][1];
        let determinant = hessian[0][0] * hessian[1][1] - hessian[0][1] * hessian[0][1];
        let edge = limits.edge;
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
}
