//! One number a pixel: the gray image that descriptors read, its blur and its slopes.

use image::RgbImage;

use crate::transform::{Filter, Window, resize};

/// Gray of 8 bits by the weights .2989, .5870, .1140, rounded: what Matlab's `rgb2gray` gives.
///
/// The image crate's `to_luma8` has the weights of other screens (.2126, .7152, .0722).
pub(super) fn gray(image: &RgbImage) -> Vec<u8> {
    let value = |[r, g, b]: [u8; 3]| {
        let sum = 2989 * u32::from(r) + 5870 * u32::from(g) + 1140 * u32::from(b);
        ((sum + 5000) / 10_000) as u8
    };
    image.pixels().map(|pixel| value(pixel.0)).collect()
}

/// What lies beyond the border.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outside {
    /// Nothing: 0.
    Zero,
    /// The pixel of the border.
    Edge,
    /// The image mirrored at the middle of its border pixel, which is not repeated.
    Mirror,
}

impl Outside {
    /// The place of `at` in a line of `n` > 0.
    fn place(self, at: isize, n: usize) -> Option<usize> {
        let last = n as isize - 1;
        match self {
            _ if (0..=last).contains(&at) => Some(at as usize),
            Self::Zero => None,
            Self::Edge => Some(at.clamp(0, last) as usize),
            Self::Mirror if last == 0 => Some(0),
            Self::Mirror => {
                let at = at.rem_euclid(2 * last);
                Some(at.min(2 * last - at) as usize)
            }
        }
    }
}

/// Rows of pixels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plane {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) data: Vec<f32>,
}

impl Plane {
    pub(super) fn zeros(width: usize, height: usize) -> Self {
        Self {
            width,
            height,
            data: vec![0.0; width * height],
        }
    }

    /// The gray image, 0 to 1, with no side above `max_side`, and the pixels of the image to one
    /// of the plane, across and down.
    ///
    /// A larger image is shrunk, with averaging: points in it are as many as in a small one.
    pub(super) fn gray(image: &RgbImage, max_side: u32) -> (Self, [f32; 2]) {
        let (w, h) = image.dimensions();
        let longer = w.max(h);
        let shrunk = if longer > max_side {
            let scaled = |side: u32| {
                let side = f64::from(side) * f64::from(max_side) / f64::from(longer);
                (side.round() as u32).max(1)
            };
            let all = Window::whole(image);
            resize(image, all, scaled(w), scaled(h), Filter::Bilinear).ok()
        } else {
            None
        };
        let seen = shrunk.as_ref().unwrap_or(image);
        let (width, height) = (seen.width() as usize, seen.height() as usize);
        let data = gray(seen).into_iter().map(|v| f32::from(v) / 255.0);
        let plane = Self {
            width,
            height,
            data: data.collect(),
        };
        let ratio = |whole: u32, part: usize| whole as f32 / part.max(1) as f32;
        (plane, [ratio(w, width), ratio(h, height)])
    }

    pub(super) fn at(&self, x: usize, y: usize) -> f32 {
        self.data[y * self.width + x]
    }

    pub(super) fn row(&self, y: usize) -> &[f32] {
        &self.data[y * self.width..(y + 1) * self.width]
    }

    /// The value between pixels, by the four around; 0 where one of them lies outside.
    pub(super) fn between(&self, x: f32, y: f32) -> f32 {
        let (left, top) = (x.floor(), y.floor());
        if !(left >= 0.0 && top >= 0.0) {
            return 0.0;
        }
        let (column, row) = (left as usize, top as usize);
        let (fx, fy) = (x - left, y - top);
        // On the last column or row the next one counts for nothing.
        let right = column + usize::from(fx > 0.0);
        let below = row + usize::from(fy > 0.0);
        if right >= self.width || below >= self.height {
            return 0.0;
        }
        let upper = self.at(column, row) * (1.0 - fx) + self.at(right, row) * fx;
        let lower = self.at(column, below) * (1.0 - fx) + self.at(right, below) * fx;
        upper * (1.0 - fy) + lower * fy
    }

    /// Weighs with a Gaussian of `sigma` pixels, cut off beyond `reach` times that.
    pub(super) fn smooth(&self, sigma: f32, reach: f32, outside: Outside) -> Self {
        let taps = gaussian(sigma, reach);
        self.weigh(&taps, &taps, outside)
    }

    /// Correlates every row with `across`, and every column with `down`, of odd lengths.
    ///
    /// Whole rows are added up, which the compiler turns into vector instructions.
    pub(super) fn weigh(&self, across: &[f32], down: &[f32], outside: Outside) -> Self {
        let (width, height) = (self.width, self.height);
        let mut out = Self::zeros(width, height);
        if self.data.is_empty() {
            return out;
        }
        let (side, upward) = (across.len() / 2, (down.len() / 2) as isize);
        let left: Vec<Option<usize>> = (0..width + 2 * side)
            .map(|at| outside.place(at as isize - side as isize, width))
            .collect();
        let mut line = vec![0.0; width + 2 * side];
        pulp::Arch::new().dispatch(|| {
            for (y, to) in out.data.chunks_exact_mut(width).enumerate() {
                let sum = &mut line[side..side + width];
                sum.fill(0.0);
                for (place, &tap) in (y as isize - upward..).zip(down) {
                    if let Some(from) = outside.place(place, height) {
                        let from = &self.data[from * width..(from + 1) * width];
                        sum.iter_mut().zip(from).for_each(|(s, v)| *s += tap * v);
                    }
                }
                for at in (0..side).chain(side + width..width + 2 * side) {
                    line[at] = left[at].map_or(0.0, |from| line[side + from]);
                }
                for (start, &tap) in across.iter().enumerate() {
                    let from = &line[start..start + width];
                    to.iter_mut().zip(from).for_each(|(s, v)| *s += tap * v);
                }
            }
        });
        out
    }

    /// Half the differences of the neighbours of a pixel across and down, of those there are.
    pub(super) fn slopes(&self) -> (Self, Self) {
        let (width, height) = (self.width, self.height);
        let mut across = Self::zeros(width, height);
        let mut down = Self::zeros(width, height);
        for y in 0..height {
            let row = self.row(y);
            let (above, below) = (y.saturating_sub(1), (y + 1).min(height - 1));
            let share = 1.0 / (below - above).max(1) as f32;
            let at = y * width..(y + 1) * width;
            let rows = self.row(below).iter().zip(self.row(above));
            let to = down.data[at.clone()].iter_mut();
            to.zip(rows).for_each(|(d, (b, a))| *d = (b - a) * share);
            for (x, to) in across.data[at].iter_mut().enumerate() {
                let (left, right) = (x.saturating_sub(1), (x + 1).min(width - 1));
                *to = (row[right] - row[left]) / (right - left).max(1) as f32;
            }
        }
        (across, down)
    }
}

/// A Gaussian of this width, cut off beyond `reach` times that, with sum 1.
pub(super) fn gaussian(sigma: f32, reach: f32) -> Vec<f32> {
    let side = (reach * sigma).round() as isize;
    let weight = |at: isize| (-0.5 * (at as f64 / f64::from(sigma)).powi(2)).exp();
    let sum: f64 = (-side..=side).map(weight).sum();
    (-side..=side).map(|at| (weight(at) / sum) as f32).collect()
}

/// The picture of the check values: plane `c` at column `x` and row `y`.
#[cfg(test)]
pub(super) fn checked(x: u32, y: u32, c: u32) -> u8 {
    let tile = 40 * ((x / 16 + y / 16) % 2);
    ((7 * x + 13 * y + x * y / (3 + c) + tile + 17 * c) % 256) as u8
}

/// The same as an image: gray, or of three planes.
#[cfg(test)]
pub(super) fn checked_image(side: u32, gray: bool) -> RgbImage {
    RgbImage::from_fn(side, side, |x, y| {
        let plane = |c| checked(x, y, if gray { 0 } else { c });
        image::Rgb([plane(0), plane(1), plane(2)])
    })
}

/// An image of noise.
#[cfg(test)]
pub(super) fn noise(width: u32, height: u32, seed: u64) -> RgbImage {
    use rand::RngExt;
    let mut rng = likewise::seed::stream(seed, "noise");
    RgbImage::from_fn(width, height, |_, _| image::Rgb(rng.random()))
}

/// An image of soft spots of many sizes, none of them on the grid.
#[cfg(test)]
pub(super) fn spots(width: u32, height: u32, seed: u64) -> RgbImage {
    use rand::RngExt;
    let mut rng = likewise::seed::stream(seed, "spots");
    let spots: Vec<[f32; 4]> = (0..80)
        .map(|_| {
            let place = [width, height].map(|side| rng.random_range(0.0..side as f32));
            let size = rng.random_range(1.5..7.0_f32);
            [place[0], place[1], size, rng.random_range(-90.0..90.0)]
        })
        .collect();
    RgbImage::from_fn(width, height, |x, y| {
        let sum: f32 = spots
            .iter()
            .map(|[cx, cy, size, value]| {
                let square = (x as f32 - cx).powi(2) + (y as f32 - cy).powi(2);
                value * (-0.5 * square / (size * size)).exp()
            })
            .sum();
        image::Rgb([(128.0 + sum).round().clamp(0.0, 255.0) as u8; 3])
    })
}

/// Images that are too small, flat or long for a descriptor that asks for more.
#[cfg(test)]
pub(super) fn odd_images() -> Vec<RgbImage> {
    let mut images = Vec::new();
    for (w, h) in [(0, 0), (1, 1), (1, 40), (40, 1), (2, 3), (9, 9), (700, 3)] {
        images.push(noise(w, h, 1));
        images.push(RgbImage::from_pixel(w, h, image::Rgb([255; 3])));
    }
    for value in [0, 7, 255] {
        images.push(RgbImage::from_pixel(64, 48, image::Rgb([value; 3])));
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gray_is_rounded_and_keeps_gray() {
        let image = RgbImage::from_fn(256, 2, |x, y| {
            image::Rgb(if y == 0 { [x as u8; 3] } else { [10, 200, 31] })
        });
        let gray = gray(&image);
        assert!((0..256).all(|x| gray[x] == x as u8));
        // 2.989 + 117.4 + 3.534 = 123.923.
        assert_eq!(gray[256], 124);
    }

    #[test]
    fn a_large_image_is_shrunk_and_its_places_are_told() {
        let (plane, ratio) = Plane::gray(&noise(100, 40, 2), 50);
        assert_eq!((plane.width, plane.height), (50, 20));
        assert!((ratio[0] - 2.0).abs() < 1e-6 && (ratio[1] - 2.0).abs() < 1e-6);
        assert_eq!(Plane::gray(&noise(700, 1, 2), 50).0.height, 1);
        assert_eq!(Plane::gray(&noise(0, 0, 2), 50).0.data.len(), 0);
    }

    #[test]
    fn between_pixels_and_outside() {
        let plane = Plane {
            width: 2,
            height: 2,
            data: vec![0.0, 1.0, 2.0, 3.0],
        };
        for (x, y, expected) in [
            (0.5, 0.5, 1.5),
            (1.0, 1.0, 3.0),
            (0.25, 0.0, 0.25),
            (1.1, 0.0, 0.0),
            (-0.1, 0.0, 0.0),
            (f32::NAN, 0.0, 0.0),
        ] {
            assert!((plane.between(x, y) - expected).abs() < 1e-6);
        }
    }

    proptest! {
        #[test]
        fn weighing_is_a_plain_double_sum(
            width in 1..12_usize, height in 1..12_usize, way in 0..3_usize, seed: u64
        ) {
            let outside = [Outside::Zero, Outside::Edge, Outside::Mirror][way];
            let image = noise(width as u32, height as u32, seed);
            let (plane, _) = Plane::gray(&image, 480);
            let (across, down) = ([0.1, -0.4, 0.0, 0.7, 0.3], [0.5, 0.2, -0.6]);
            let found = plane.weigh(&across, &down, outside);
            for y in 0..height {
                for x in 0..width {
                    let mut sum = 0.0;
                    for (i, a) in across.iter().enumerate() {
                        for (j, d) in down.iter().enumerate() {
                            let column = outside.place(x as isize + i as isize - 2, width);
                            let row = outside.place(y as isize + j as isize - 1, height);
                            if let (Some(column), Some(row)) = (column, row) {
                                sum += a * d * plane.at(column, row);
                            }
                        }
                    }
                    prop_assert!((found.at(x, y) - sum).abs() < 1e-5);
                }
            }
        }
    }

    #[test]
    fn a_mirror_repeats_no_border() {
        let places: Vec<_> = (-4..7).map(|at| Outside::Mirror.place(at, 3)).collect();
        assert_eq!(places, [0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2].map(Some));
        let sum: f32 = gaussian(2.3, 3.0).iter().sum();
        assert!((sum - 1.0).abs() < 1e-6);
    }
}
