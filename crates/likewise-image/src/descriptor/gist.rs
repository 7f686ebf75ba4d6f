//! GIST: how much there is of each scale and direction in each of 4 x 4 blocks.
//!
//! ```text
//! I     the middle square, n x n pixels, mean of the channels, stretched to 0 .. 255
//! 1. evens out the light    l = ln(1 + I)         o = l - g * l        g: low pass, 4 cycles
//!                           I' = o / (.2 + sqrt(g * o^2))
//! 2. for scale i = 0 .. 3 and direction j = 0 .. 7, with f, t the radius and angle of a frequency,
//!    m = n + 64, b_i = .3 / 1.85^i:
//!                           G_ij = exp(-3.5 (f / (m b_i) - 1)^2 - 2 pi wrap(t + pi j / 8)^2)
//!                           e_ij = |F^-1(F(I') G_ij)|
//! row = means of e_ij over 4 x 4 blocks      scale, then direction, then column, then row of blocks:
//!                                            512 numbers
//! ```
//!
//! **Use it** for scenes: streets, coasts, rooms, whatever is photographed upright and whole.
//! **Not** where the object may be anywhere or turned.
//!
//! Cost: 34 Fourier transforms of (n + 64)^2 numbers, so O(n^2 log n); 256 pixels take about a
//! thirtieth of a second. Memory about 300 bytes a pixel of m^2, of which a third is tables that
//! [`prepared`](Whole::prepared) makes once for many images.
//!
//! Source: Oliva and Torralba, "Modeling the shape of the scene", IJCV 2001; the constants are
//! those of the authors' public code, as printed in no paper. Ours: the middle square is cut
//! out before it is resized, not after, so that a very long image takes no more
//! memory; frequencies that a filter gives less than 1e-12 are left out. The transforms are
//! rustfft's; realfft would save on the two forward ones only, since the filters are
//! one-sided.

use std::f64::consts::{LN_2, PI};
use std::fmt;
use std::sync::Arc;

use image::RgbImage;
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};
use serde::{Deserialize, Serialize};

use super::kind::{Whole, range};
use crate::Result;
use crate::transform::{Filter, Window, resize};

const SCALES: usize = 4;
const DIRECTIONS: usize = 8;
const BLOCKS: usize = 4;
/// Pixels around the image when its light is evened out ...
const FRAME: usize = 5;
/// ... and when it is filtered.
const MARGIN: usize = 32;
/// A gain that adds nothing to a mean.
const NOTHING: f64 = 1e-12;

/// Parameters of GIST; see [`gist`](self).
///
/// ```
/// use likewise_image::{RgbImage, descriptor::{Gist, Whole}};
/// let image = RgbImage::from_fn(64, 64, |x, _| image::Rgb([4 * x as u8; 3]));
/// assert_eq!(Gist::default().size(64).describe(&image).len(), 512);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gist {
    size: u32,
}

impl Default for Gist {
    /// 256 pixels, as the authors' demonstration; their function itself takes 128.
    fn default() -> Self {
        Self { size: 256 }
    }
}

impl Gist {
    /// Pixels of the square's side, even; time grows with its square.
    #[must_use]
    pub fn size(self, size: u32) -> Self {
        Self { size }
    }
}

impl Whole for Gist {
    fn dimensions(&self) -> usize {
        SCALES * DIRECTIONS * BLOCKS * BLOCKS
    }

    fn validate(&self) -> Result<()> {
        range("gist.size", self.size, 32, 1024)?;
        if self.size % 2 == 1 {
            return Err(likewise::Error::parameter("gist.size", self.size, "must be even").into());
        }
        Ok(())
    }

    fn describe(&self, image: &RgbImage) -> Vec<f32> {
        Bank::new(*self).describe(image)
    }

    fn prepared(&self) -> Option<Box<dyn Whole>> {
        Some(Box::new(Bank::new(*self)))
    }
}

/// The tables of GIST for one size.
#[derive(Debug)]
struct Bank {
    gist: Gist,
    low_pass: Vec<f64>,
    even: Transform,
    /// The gain is a product of one of scale and one of direction, down each column in turn.
    scales: Vec<Vec<f64>>,
    directions: Vec<Vec<f64>>,
    filter: Transform,
}

impl Bank {
    fn new(gist: Gist) -> Self {
        let n = gist.size as usize;
        let framed = n + 2 * FRAME;
        let even = Transform::new(framed + framed % 2);
        let width = 4.0 / LN_2.sqrt();
        let low_pass = even.table(|x, y| (-(x * x + y * y) / (width * width)).exp());
        let filter = Transform::new(n + 2 * MARGIN);
        let m = filter.side as f64;
        let scale = |i: usize| {
            let middle = m * 0.3 / 1.85_f64.powi(i as i32);
            filter.table(|x, y| (-3.5 * (x.hypot(y) / middle - 1.0).powi(2)).exp())
        };
        let direction = |j: usize| {
            filter.table(|x, y| {
                let angle = y.atan2(x) + PI * j as f64 / DIRECTIONS as f64;
                let wrapped = if angle > PI { angle - 2.0 * PI } else { angle };
                (-2.0 * PI * wrapped * wrapped).exp()
            })
        };
        Self {
            gist,
            low_pass,
            scales: (0..SCALES).map(scale).collect(),
            directions: (0..DIRECTIONS).map(direction).collect(),
            even,
            filter,
        }
    }

    /// The square of an image.
    fn square(&self, image: &RgbImage) -> Option<Vec<f64>> {
        let (w, h) = image.dimensions();
        let middle = Window::center(image, w.min(h), w.min(h));
        let size = self.gist.size;
        let square = resize(image, middle, size, size, Filter::Bilinear).ok()?;
        let mean = |[r, g, b]: [u8; 3]| (f64::from(r) + f64::from(g) + f64::from(b)) / 3.0;
        Some(square.pixels().map(|pixel| mean(pixel.0)).collect())
    }

    /// The row of an n x n square.
    fn row(&self, mut square: Vec<f64>) -> Vec<f64> {
        let n = self.gist.size as usize;
        let least = square.iter().copied().fold(f64::INFINITY, f64::min);
        let most = square.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if most <= least {
            return vec![0.0; self.dimensions()];
        }
        for v in &mut square {
            *v = (255.0 * (*v - least) / (most - least)).ln_1p();
        }
        let even = self.evened(&square);
        let m = self.filter.side;
        let mut seen: Vec<Complex64> = framed(&even, n, MARGIN, m);
        self.filter.forward(&mut seen);
        let mut product = seen.clone();
        let mut scaled = seen.clone();
        let mut row = Vec::with_capacity(self.dimensions());
        for scale in &self.scales {
            for ((to, from), gain) in scaled.iter_mut().zip(&seen).zip(scale) {
                *to = from * gain;
            }
            for direction in &self.directions {
                let lines = product.chunks_exact_mut(m).zip(scaled.chunks_exact(m));
                let gains = direction.chunks_exact(m).zip(scale.chunks_exact(m));
                for ((to, from), (turn, gain)) in lines.zip(gains) {
                    let gains = turn.iter().zip(gain).map(|(t, g)| t * g);
                    if gains.fold(0.0, f64::max) < NOTHING {
                        to.fill(Complex64::ZERO);
                        continue;
                    }
                    for ((to, from), gain) in to.iter_mut().zip(from).zip(turn) {
                        *to = from * gain;
                    }
                    self.filter.inverse_line(to);
                }
                row.extend(self.blocks(&product));
            }
        }
        row
    }

    /// The logarithms, their light evened out.
    fn evened(&self, square: &[f64]) -> Vec<f64> {
        let n = self.gist.size as usize;
        let side = self.even.side;
        // The frame first, and then what makes its side even.
        let wide = n + 2 * FRAME;
        let first = framed(square, n, FRAME, wide);
        let first: Vec<f64> = first.iter().map(|v: &Complex64| v.re).collect();
        let values: Vec<Complex64> = framed(&first, wide, 0, side);
        let low = self.even.weighed(values.clone(), &self.low_pass);
        let other: Vec<f64> = values.iter().zip(&low).map(|(v, l)| v.re - l.re).collect();
        let squares = other.iter().map(|o| Complex64::from(o * o)).collect();
        let spread = self.even.weighed(squares, &self.low_pass);
        let place = |y: usize, x: usize| (y + FRAME) * side + x + FRAME;
        let value = |at: usize| other[at] / (0.2 + spread[at].norm().sqrt());
        let places = (0..n).flat_map(|y| (0..n).map(move |x| place(y, x)));
        places.map(value).collect()
    }

    /// The means of 4 x 4 blocks, from what is transformed down its columns but not across.
    fn blocks(&self, product: &[Complex64]) -> [f64; BLOCKS * BLOCKS] {
        let n = self.gist.size as usize;
        let m = self.filter.side;
        let mut rows = vec![Complex64::ZERO; n * m];
        let inner = MARGIN..MARGIN + n;
        turned(product, m, inner, &mut rows);
        let edge = |block: usize| block * n / BLOCKS;
        let mut means = [0.0; BLOCKS * BLOCKS];
        for down in 0..BLOCKS {
            for line in rows[edge(down) * m..edge(down + 1) * m].chunks_exact_mut(m) {
                self.filter.inverse_line(line);
                for across in 0..BLOCKS {
                    let block = &line[MARGIN + edge(across)..MARGIN + edge(across + 1)];
                    let sum: f64 = block.iter().map(|v| v.norm_sqr().sqrt()).sum();
                    means[across * BLOCKS + down] += sum;
                }
            }
        }
        for (place, mean) in means.iter_mut().enumerate() {
            let length = |block: usize| edge(block + 1) - edge(block);
            let pixels = length(place / BLOCKS) * length(place % BLOCKS);
            *mean /= (pixels * m * m) as f64;
        }
        means
    }
}

impl Whole for Bank {
    fn dimensions(&self) -> usize {
        self.gist.dimensions()
    }

    fn validate(&self) -> Result<()> {
        self.gist.validate()
    }

    fn describe(&self, image: &RgbImage) -> Vec<f32> {
        let row = self.square(image).map(|square| self.row(square));
        let row = row.unwrap_or_else(|| vec![0.0; self.dimensions()]);
        row.into_iter().map(|v| v as f32).collect()
    }
}

/// Fourier transforms of squares; a spectrum lies column after column.
struct Transform {
    side: usize,
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
}

impl Transform {
    fn new(side: usize) -> Self {
        let mut planner = FftPlanner::new();
        Self {
            side,
            forward: planner.plan_fft_forward(side),
            inverse: planner.plan_fft_inverse(side),
        }
    }

    /// A value for every frequency across and down, column after column.
    fn table(&self, value: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let n = self.side;
        let signed = |k: usize| {
            if k < n / 2 {
                k as f64
            } else {
                k as f64 - n as f64
            }
        };
        let columns = (0..n).flat_map(|x| (0..n).map(move |y| (signed(x), signed(y))));
        columns.map(|(x, y)| value(x, y)).collect()
    }

    fn forward(&self, data: &mut Vec<Complex64>) {
        self.forward.process(data);
        let mut columns = vec![Complex64::ZERO; data.len()];
        turned(data, self.side, 0..self.side, &mut columns);
        self.forward.process(&mut columns);
        *data = columns;
    }

    /// Not divided by the side.
    fn inverse_line(&self, line: &mut [Complex64]) {
        self.inverse.process(line);
    }

    /// The data, their frequencies weighed.
    fn weighed(&self, mut data: Vec<Complex64>, gain: &[f64]) -> Vec<Complex64> {
        self.forward(&mut data);
        let share = 1.0 / data.len() as f64;
        data.iter_mut().zip(gain).for_each(|(v, g)| *v *= g * share);
        self.inverse.process(&mut data);
        let mut rows = vec![Complex64::ZERO; data.len()];
        turned(&data, self.side, 0..self.side, &mut rows);
        self.inverse.process(&mut rows);
        rows
    }
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transform")
            .field("side", &self.side)
            .finish_non_exhaustive()
    }
}

/// Columns `of` a square as rows. In tiles, since whole columns do not fit the cache.
fn turned(data: &[Complex64], side: usize, of: std::ops::Range<usize>, rows: &mut [Complex64]) {
    const TILE: usize = 16;
    for top in (0..side).step_by(TILE) {
        for left in of.clone().step_by(TILE) {
            for x in left..(left + TILE).min(of.end) {
                let to = &mut rows[(x - of.start) * side..][..side];
                for y in top..(top + TILE).min(side) {
                    to[y] = data[y * side + x];
                }
            }
        }
    }
}

/// The n x n square, `before` pixels of its mirrored self above and left, and as many below and
/// right as make the side `side`; the mirror repeats the border.
fn framed(square: &[f64], n: usize, before: usize, side: usize) -> Vec<Complex64> {
    let mirrored = |at: usize| {
        let at = (at as isize - before as isize).rem_euclid(2 * n as isize) as usize;
        at.min(2 * n - 1 - at)
    };
    let columns: Vec<usize> = (0..side).map(mirrored).collect();
    let row = |y: usize| columns.iter().map(move |&x| square[y * n + x].into());
    columns.iter().flat_map(|&y| row(y)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::plane::{checked_image, noise, odd_images};
    use super::*;

    #[test]
    #[allow(clippy::unreadable_literal)] // Printed values.
    fn the_check_values() {
        let bank = Bank::new(Gist::default().size(128));
        let square = bank.square(&checked_image(128, true)).unwrap();
        let row = bank.row(square);
        let first = [
            0.05007475163,
            0.06240434454,
            0.09354763433,
            0.1367885134,
            0.0684453429,
            0.06861972251,
            0.06209248822,
            0.09588471485,
            0.08266415147,
            0.07036885692,
            0.06794826029,
            0.06266189936,
            0.09084192252,
            0.07039089267,
            0.09694580508,
            0.06710495071,
        ];
        let last = [0.01112647541, 0.01255301811, 0.007236445465, 0.01718001724];
        let near = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
        };
        for (found, expected) in row.iter().zip(first) {
            near(*found, expected);
        }
        for (found, expected) in row[508..].iter().zip(last) {
            near(*found, expected);
        }
        near(row.iter().sum(), 31.93272759);
        near(row.iter().map(|v| v * v).sum::<f64>().sqrt(), 2.042844295);
        let means = [
            0.077924016,
            0.071890227,
            0.075185797,
            0.072034498,
            0.09141682,
            0.16183265,
            0.18728181,
            0.12546584,
            0.055197645,
            0.043222761,
            0.042430524,
            0.043561736,
            0.077987353,
            0.15963654,
            0.18436034,
            0.11795783,
            0.026746439,
            0.025206446,
            0.024715477,
            0.027315777,
            0.032160076,
            0.05656701,
            0.061564557,
            0.040360216,
            0.011080506,
            0.011166524,
            0.014610127,
            0.014939208,
            0.013540037,
            0.017523882,
            0.017658065,
            0.013254743,
        ];
        for (block, expected) in row.chunks(16).zip(means) {
            near(block.iter().sum::<f64>() / 16.0, expected);
        }
    }

    #[test]
    fn a_transform_is_the_plain_sum_and_comes_back() {
        let side = 6;
        let transform = Transform::new(side);
        let data: Vec<Complex64> = (0..36).map(|i| f64::from(i * i % 11).into()).collect();
        let mut spectrum = data.clone();
        transform.forward(&mut spectrum);
        for x in 0..side {
            for y in 0..side {
                let terms = data.iter().enumerate().map(|(at, v)| {
                    let turn = (at % side * x + at / side * y) as f64 / side as f64;
                    v * Complex64::from_polar(1.0, -2.0 * PI * turn)
                });
                let error = terms.sum::<Complex64>() - spectrum[x * side + y];
                assert!(error.norm() < 1e-9);
            }
        }
        let back = transform.weighed(data.clone(), &[1.0; 36]);
        assert!(back.iter().zip(&data).all(|(a, b)| (a - b).norm() < 1e-12));
    }

    #[test]
    fn a_frame_mirrors_the_square() {
        let frame = framed(&[1.0, 2.0, 3.0, 4.0], 2, 1, 5);
        let row: Vec<f64> = frame[..5].iter().map(|v| v.re).collect();
        assert_eq!(row, [1.0, 1.0, 2.0, 2.0, 1.0]);
        let column: Vec<f64> = frame.iter().skip(1).step_by(5).map(|v| v.re).collect();
        assert_eq!(column, [1.0, 1.0, 3.0, 3.0, 1.0]);
    }

    #[test]
    fn what_is_prepared_gives_the_same_and_odd_images_a_sound_row() {
        let gist = Gist::default().size(32);
        let bank = gist.prepared().unwrap();
        let image = noise(50, 40, 3);
        assert_eq!(bank.describe(&image), gist.describe(&image));
        for image in odd_images() {
            let row = bank.describe(&image);
            assert!(row.len() == 512 && row.iter().all(|v| v.is_finite()));
        }
        for (size, rule) in [(31, "from 32"), (33, "even"), (2000, "1024")] {
            let said = Gist::default().size(size).validate().unwrap_err();
            assert!(said.to_string().contains(rule), "{said}");
        }
    }
}
