//! Rows in eight bits: a rotation, then rounding.
//!
//! Rounding all values of all rows by one scale needs values of one size. Features are not
//! like that (a few directions hold most of the length), but are after a random rotation,
//! which changes no product. The rotation is made of random signs and fast Walsh-Hadamard
//! transforms: O(d log d) a row, and `2 d` signs to hold.
//!
//! Source: Ailon and Chazelle, "The fast Johnson-Lindenstrauss transform", 2009.

use rand::RngExt;

use crate::{parallel, seed};

/// Rows of one task.
const ROWS: usize = 64;
/// Values beyond this many standard deviations are cut off.
const CUT: f64 = 4.5;
/// Seed of the signs: the rotation depends on the dimension alone.
const SEED: u64 = 0;
/// Most dimensions: longer rows could not be summed in 32 bits.
pub(super) const WIDEST: usize = 1 << 21;

/// A rotation and a scale for rows of one kind.
pub(super) struct Quantizer {
    rotation: Rotation,
    center: Vec<f32>,
    /// Eight-bit steps in a unit.
    scale: f32,
}

impl Quantizer {
    /// For rows of at most this length, taken from `centre`.
    pub(super) fn new(center: Vec<f32>, longest: f64) -> Self {
        let d = center.len();
        let deviation = longest / (d as f64).sqrt();
        let scale = if deviation > 0.0 {
            127.0 / (CUT * deviation)
        } else {
            1.0
        };
        Self {
            rotation: Rotation::new(d),
            center,
            scale: scale as f32,
        }
    }

    /// The rounded rows of `write(i, row)`, one after the other.
    pub(super) fn rows(&self, n: usize, write: impl Fn(usize, &mut [f32]) + Sync) -> Vec<i8> {
        let d = self.center.len();
        let mut rounded = vec![0_i8; n * d];
        let chunks = rounded.chunks_mut(ROWS * d.max(1)).enumerate();
        parallel::each(chunks, |(chunk, out)| {
            let mut row = vec![0.0_f32; d];
            for (i, out) in (chunk * ROWS..).zip(out.chunks_mut(d.max(1))) {
                write(i, &mut row);
                row.iter_mut().zip(&self.center).for_each(|(v, c)| *v -= c);
                self.rotation.turn(&mut row);
                for (out, v) in out.iter_mut().zip(&row) {
                    *out = round(*v * self.scale);
                }
            }
        });
        rounded
    }
}

/// Random signs and a transform of the first values, then of the last ones, as many as the
/// largest power of two in the dimension. Where that is all of them, two rounds as well: one
/// alone leaves a row with few values other than 0 with few sizes.
struct Rotation {
    signs: [Vec<f32>; 2],
    width: usize,
}

impl Rotation {
    fn new(d: usize) -> Self {
        let mut rng = seed::stream(SEED, "rotation before rounding");
        let width = if d == 0 { 0 } else { 1 << d.ilog2() };
        // The signs hold the factor that keeps the length.
        let unit = 1.0 / (width.max(1) as f32).sqrt();
        let mut signs = || {
            let sign = |_| if rng.random::<bool>() { unit } else { -unit };
            (0..width).map(sign).collect()
        };
        Self {
            signs: [signs(), signs()],
            width,
        }
    }

    fn turn(&self, row: &mut [f32]) {
        let last = row.len() - self.width;
        for (start, signs) in [0, last].into_iter().zip(&self.signs) {
            let part = &mut row[start..start + self.width];
            part.iter_mut().zip(signs).for_each(|(v, sign)| *v *= sign);
            transform(part);
        }
    }
}

/// The Walsh-Hadamard transform of as many values as a power of two, without a factor.
fn transform(values: &mut [f32]) {
    let mut half = 1;
    while half < values.len() {
        for pair in values.chunks_exact_mut(2 * half) {
            let (left, right) = pair.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

/// Rounds to the nearest integer from -127 to 127, ties to even. Adding 3 x 2^22 leaves no
/// bits for a fraction, so the addition rounds and the lowest byte is the answer; the
/// library function is a call for each value on machines of the oldest kind.
fn round(v: f32) -> i8 {
    const NO_FRACTION: f32 = 12_582_912.0;
    (v.clamp(-127.0, 127.0) + NO_FRACTION).to_bits() as i8
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn rounding() {
        let values = [
            -1e9,
            -127.4,
            -3.5,
            -2.5,
            -0.5,
            -0.0,
            0.49,
            0.5,
            1.5,
            126.51,
            f32::INFINITY,
        ];
        assert_eq!(
            values.map(round),
            [-127, -127, -4, -2, 0, 0, 0, 0, 2, 127, 127]
        );
    }

    #[test]
    fn the_transform_of_four_values() {
        let mut values = [1.0, 2.0, 3.0, 5.0];
        transform(&mut values);
        assert_eq!(values.map(|v: f32| v as i32), [11, -3, -5, 1]);
    }

    #[test]
    fn the_rotation_keeps_products_and_evens_out_the_values() {
        for d in [48, 64, 100] {
            // Rows along one axis only: all their length is in one value.
            let rows = Array2::from_shape_fn((40, d), |(i, c)| if c == i % 3 { 1.0 } else { 0.0 });
            let quantizer = Quantizer::new(vec![0.0; d], 1.0);
            let codes = quantizer.rows(40, |i, out| {
                out.copy_from_slice(rows.row(i).as_slice().unwrap());
            });
            let code = |i: usize| codes[i * d..(i + 1) * d].iter().map(|&v| f64::from(v));
            let square = f64::from(quantizer.scale).powi(2);
            for (i, j) in [(0, 0), (0, 3), (0, 1), (1, 2)] {
                let product: f64 = code(i).zip(code(j)).map(|(a, b)| a * b).sum::<f64>() / square;
                let expected = f64::from(rows.row(i).dot(&rows.row(j)));
                assert!((product - expected).abs() < 0.04, "{d}: {i} {j}: {product}");
            }
            assert!(code(0).filter(|v| *v != 0.0).count() > d / 3, "{d}");
        }
    }

    #[test]
    fn any_dimension_has_a_rotation() {
        for d in [0, 1, 2, 3, 100_000] {
            let quantizer = Quantizer::new(vec![0.0; d], 1.0);
            let codes = quantizer.rows(2, |_, out| out.fill(1.0 / (d.max(1) as f32).sqrt()));
            assert_eq!(codes.len(), 2 * d);
            assert!(d == 0 || codes.iter().any(|&v| v != 0));
        }
    }
}
