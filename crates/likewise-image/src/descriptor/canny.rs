//! Edges of one pixel's width.

use super::plane::{Outside, Plane, gaussian};

/// Standard deviation of the Gaussian.
const SIGMA: f32 = std::f32::consts::SQRT_2;
/// Share of the pixels that are no edges.
const NO_EDGES: f64 = 0.7;
/// The lower limit, beside the upper one.
const LOWER: f32 = 0.4;
/// Limits are of a histogram of so many levels.
const LEVELS: usize = 64;
/// A steepest slope below this is rounding, of an image of 0 to 1 in steps of 1/255.
const FLAT: f32 = 1e-5;

/// Whether each pixel is on an edge.
///
/// 1. Slopes by the derivative of a Gaussian, and their lengths beside the steepest.
/// 2. The upper limit leaves 70 % of the pixels below it; the lower one is .4 of it.
/// 3. A pixel stays if it is at least as steep as the image is one step up and down the slope.
/// 4. What stays above the lower limit is an edge if it touches, over others such, what is
///    above the upper one.
///
/// Source: Canny, "A computational approach to edge detection", IEEE TPAMI 1986, with the
/// limits of Matlab's `edge`. imageproc's takes absolute limits, follows edges to 6 of the 8
/// neighbours (version 0.27), and needs an image of one pixel at least.
pub(super) fn edges(gray: &Plane) -> Vec<bool> {
    let (width, height) = (gray.width, gray.height);
    let mut edge = vec![false; width * height];
    if width < 3 || height < 3 {
        return edge;
    }
    let blur = gaussian(SIGMA, 4.0);
    let slope = derivative(&blur);
    let across = gray.weigh(&slope, &blur, Outside::Edge);
    let down = gray.weigh(&blur, &slope, Outside::Edge);
    let mut steep = Plane::zeros(width, height);
    for (s, (a, d)) in steep
        .data
        .iter_mut()
        .zip(across.data.iter().zip(&down.data))
    {
        *s = (a * a + d * d).sqrt();
    }
    let most = steep.data.iter().copied().fold(0.0, f32::max);
    if most < FLAT {
        return edge;
    }
    for s in &mut steep.data {
        *s /= most;
    }
    let upper = limit(&steep.data);
    let mut weak = vec![false; width * height];
    let mut strong = Vec::new();
    for y in 1..height - 1 {
        for x in 1..width - 1 {
            let at = y * width + x;
            weak[at] = steep.data[at] > LOWER * upper && ridge(&steep, (x, y), &across, &down);
            if weak[at] && steep.data[at] > upper {
                edge[at] = true;
                strong.push(at);
            }
        }
    }
    while let Some(at) = strong.pop() {
        // No weak pixel lies on the border, so all neighbours of one exist.
        for row in [at - width, at, at + width] {
            for near in row - 1..=row + 1 {
                if weak[near] && !edge[near] {
                    edge[near] = true;
                    strong.push(near);
                }
            }
        }
    }
    edge
}

/// The slope of a Gaussian; what lies on either side of the middle sums to 1.
fn derivative(blur: &[f32]) -> Vec<f32> {
    let last = blur.len() - 1;
    let slope = |at: usize| {
        let (before, after) = (at.saturating_sub(1), (at + 1).min(last));
        (blur[before] - blur[after]) / (after - before) as f32
    };
    let slopes: Vec<f32> = (0..=last).map(slope).collect();
    let sum: f32 = slopes[..last / 2].iter().map(|v| v.abs()).sum();
    slopes.iter().map(|v| v / sum).collect()
}

/// The least level below which lie more than 70 % of the pixels, as a share of the levels.
fn limit(steep: &[f32]) -> f32 {
    let mut counts = [0_usize; LEVELS];
    for &s in steep {
        counts[(s * (LEVELS - 1) as f32).round() as usize] += 1;
    }
    let mut below = 0;
    let over = counts.iter().position(|count| {
        below += count;
        below as f64 > NO_EDGES * steep.len() as f64
    });
    (over.unwrap_or(LEVELS - 1) + 1) as f32 / LEVELS as f32
}

/// Whether no neighbour along the slope is steeper.
fn ridge(steep: &Plane, (x, y): (usize, usize), across: &Plane, down: &Plane) -> bool {
    let (a, d) = (across.at(x, y), down.at(x, y));
    let (side, above) = (a < 0.0, d < 0.0);
    // The slope leaves the ring of neighbours between a straight and a slanting one.
    let column = |back: bool| if side == back { x + 1 } else { x - 1 };
    let row = |back: bool| if above == back { y + 1 } else { y - 1 };
    let own = steep.at(x, y);
    [false, true].into_iter().all(|back| {
        let slanting = steep.at(column(back), row(back));
        let (straight, share) = if a.abs() >= d.abs() {
            (steep.at(column(back), y), (d / a).abs())
        } else {
            (steep.at(x, row(back)), (a / d).abs())
        };
        own >= straight * (1.0 - share) + slanting * share
    })
}

#[cfg(test)]
mod tests {
    use super::super::plane::odd_images;
    use super::*;

    #[test]
    fn a_square_has_its_outline() {
        let mut plane = Plane::zeros(60, 50);
        for y in 15..35 {
            for x in 20..40 {
                plane.data[y * 60 + x] = 1.0;
            }
        }
        let edge = edges(&plane);
        let near = |x: usize, y: usize| {
            let columns = (18..=21).contains(&x) || (38..=41).contains(&x);
            let rows = (13..=16).contains(&y) || (33..=36).contains(&y);
            let inside = (18..=41).contains(&x) && (13..=36).contains(&y);
            inside && (columns || rows)
        };
        for y in 0..50 {
            for x in 0..60 {
                assert!(!edge[y * 60 + x] || near(x, y), "{x} {y}");
            }
        }
        // Every row and column of the square meets its outline.
        assert!((17..33).all(|y| edge[y * 60 + 18..y * 60 + 22].contains(&true)));
        assert!((22..38).all(|x| (33..37).any(|y| edge[y * 60 + x])));
    }

    #[test]
    fn a_weak_edge_stays_where_it_touches_a_strong_one() {
        // Waves whose slopes set the limits; right of them a step that fades, and a faint one.
        let value = |x: usize, y: usize| {
            if x < 130 {
                return 0.5 + 0.5 * (x as f32 * std::f32::consts::FRAC_PI_4).sin();
            }
            let fades = 1.0 - 0.01 * (x - 130) as f32;
            f32::from(u8::from(y >= 30)) * fades + f32::from(u8::from(y >= 70)) * 0.1
        };
        let mut plane = Plane::zeros(200, 100);
        for (at, to) in plane.data.iter_mut().enumerate() {
            *to = value(at % 200, at / 200);
        }
        let edge = edges(&plane);
        let rows = |from: usize, to: usize| {
            let column = |x: &usize| (from..to).any(|y| edge[y * 200 + x]);
            (140..195).filter(column).count()
        };
        assert_eq!(rows(28, 32), 55);
        assert_eq!(rows(68, 72), 0);
    }

    #[test]
    fn flat_and_tiny_images_have_none() {
        for image in odd_images() {
            let (plane, _) = Plane::gray(&image, 480);
            let edge = edges(&plane);
            assert_eq!(edge.len(), plane.data.len());
            let flat = plane
                .data
                .windows(2)
                .all(|pair| (pair[0] - pair[1]).abs() < 1e-6);
            assert!(!flat || !edge.contains(&true));
        }
    }
}
