//! The first pass of an exact search in eight bits: a random rotation, then rounding.
//!
//! Rounding all values of all rows by one scale needs values of one size. Features are not
//! like that (a few directions hold most of the length), but are after a random rotation,
//! which changes no product.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rand::RngExt;
use rayon::prelude::*;

use super::candidate::{Candidate, Lists};
use super::exact::{ExactSearch, Precision, finished};
use super::panel::{self, Items8, Queries8, Side};
use super::rows::{Rows, block_with};
use super::sample;
use crate::distance::tile::Kernel;
use crate::{Monitor, Result, seed};

/// Least recall that passes for exact.
const RECALL: f64 = 0.9999;
/// Values beyond this many standard deviations are cut off.
const CUT: f64 = 4.5;
/// Seed of the rotation and of the samples: the result is a function of the data alone.
const SEED: u64 = 0;

/// Whether eight bits are worth the preparation.
pub(super) fn pays(rows: &Rows) -> bool {
    rows.n() >= 8192 && (24..=4096).contains(&rows.dimension())
}

/// A rotation and a scale for rows of one kind.
pub(super) struct Quantizer {
    /// `d x d`, row by row: the transpose of an orthogonal matrix.
    rotation: Vec<f32>,
    dimension: usize,
    centre: Vec<f32>,
    /// Eight-bit steps in a unit.
    pub(super) scale: f32,
}

impl Quantizer {
    /// For rows of at most this length, taken from `centre`.
    pub(super) fn new(centre: Vec<f32>, longest: f64) -> Self {
        let d = centre.len();
        let mut rng = seed::stream(SEED, "rotation before rounding");
        // The sum of uniform numbers is near enough to normal for a rotation without bias.
        let mut normal = || (0..4).map(|_| rng.random::<f64>() - 0.5).sum::<f64>();
        let gaussian = Mat::<f64>::from_fn(d, d, |_, _| normal());
        let q = gaussian.qr().compute_Q();
        let mut rotation = Vec::with_capacity(d * d);
        for i in 0..d {
            rotation.extend((0..d).map(|j| q[(i, j)] as f32));
        }
        let deviation = longest / (d as f64).sqrt();
        let scale = if deviation > 0.0 {
            127.0 / (CUT * deviation)
        } else {
            1.0
        };
        Self {
            rotation,
            dimension: d,
            centre,
            scale: scale as f32,
        }
    }

    /// The rounded rows of `write(i, row)`, one after the other.
    pub(super) fn rows(&self, n: usize, write: impl Fn(usize, &mut [f32]) + Sync) -> Vec<i8> {
        const CHUNK: usize = 256;
        let d = self.dimension;
        let mut rounded = vec![0_i8; n * d];
        let rotation = MatRef::from_row_major_slice(&self.rotation, d, d);
        rounded
            .par_chunks_mut((CHUNK * d).max(1))
            .enumerate()
            .for_each_init(
                || (vec![0.0_f32; CHUNK * d], vec![0.0_f32; CHUNK * d]),
                |(rows, turned), (chunk, out)| {
                    let count = out.len() / d.max(1);
                    for (i, row) in rows.chunks_mut(d.max(1)).take(count).enumerate() {
                        write(chunk * CHUNK + i, row);
                        row.iter_mut().zip(&self.centre).for_each(|(v, c)| *v -= c);
                    }
                    // Always of the same shape: a kernel may round differently for another one.
                    let product = MatMut::from_row_major_slice_mut(turned, CHUNK, d);
                    let rows = MatRef::from_row_major_slice(rows, CHUNK, d);
                    matmul(
                        product,
                        Accum::Replace,
                        rows,
                        rotation,
                        self.scale,
                        Par::Seq,
                    );
                    for (out, v) in out.iter_mut().zip(turned) {
                        *out = round(*v);
                    }
                },
            );
        rounded
    }
}

/// Rounds to the nearest integer from -127 to 127, ties to even. Adding 3 x 2^22 leaves no
/// bits for a fraction, so the addition rounds and the lowest byte is the answer; the
/// library function is a call for each value on machines of the oldest kind.
fn round(v: f32) -> i8 {
    const NO_FRACTION: f32 = 12_582_912.0;
    (v.clamp(-127.0, 127.0) + NO_FRACTION).to_bits() as i8
}

/// Lists by position, or `None` where eight bits are not enough for these data.
pub(super) fn search(
    kernel: Kernel,
    rows: &Rows,
    k: usize,
    monitor: &Monitor,
) -> Result<Option<(Vec<Vec<Candidate>>, ExactSearch)>> {
    let (n, d) = (rows.n(), rows.dimension());
    let centre = rows.centre();
    let side = rows.side(&centre);
    let longest = longest(rows, &centre);
    let quantizer = Quantizer::new(centre, longest);
    let rounded = quantizer.rows(n, |i, out| out.copy_from_slice(rows.row(i)));
    let (queries, items) = (Queries8::pack(&rounded, d), Items8::pack(&rounded, d));
    // A product of rounded rows is the true one times the square of the scale.
    let square = quantizer.scale * quantizer.scale;
    let bias = side.bias[..n].iter().map(|b| b * square).collect();
    let side = Side::new(side.ids[..n].to_vec(), bias);
    monitor.check()?;

    let drawn = sample::draw(n, SEED);
    let asked = rows.select(&drawn);
    let truth = block_with(kernel, &asked, rows, k, &Monitor::silent())?.lists;
    let (choose, measure) = sample::split(drawn);
    let (truth, held_out) = sample::split(truth);
    monitor.check()?;
    let most = (4 * k + 64).min(n - 1);
    let asked = quantizer.rows(choose.len(), |i, out| {
        out.copy_from_slice(rows.row(choose[i]));
    });
    let ids = choose.iter().map(|&i| i as u32).collect();
    let asked = (Queries8::pack(&asked, d), Side::new(ids, Vec::new()));
    let ranks = panel::search(
        kernel,
        &(&asked.0, &items),
        &asked.1,
        &side,
        most,
        &Monitor::silent(),
        |first, mut lists| {
            (first..(first + lists.threshold.len()).min(choose.len()))
                .map(|i| needed(lists.best(i - first), &truth[i]))
                .collect::<Vec<usize>>()
        },
    )?;
    let worst = ranks.into_iter().flatten().max().unwrap_or(most);
    if worst >= most && most < n - 1 {
        monitor.note("eight bits do not separate these items; searching in f32");
        return Ok(None);
    }
    let keep = (worst + worst / 4 + 8).max(k + k / 4 + 8).min(n - 1);

    let finish = |first, lists: Lists| finished(kernel, rows, first, lists, k, true);
    let lists = panel::self_join(kernel, &(&queries, &items), &side, keep, monitor, finish)?;
    let lists: Vec<Vec<Candidate>> = lists.into_iter().flatten().collect();

    let found: usize = (measure.iter().zip(&held_out))
        .map(|(&i, truth)| lists[i].iter().filter(|c| truth.contains(c)).count())
        .sum();
    let recall = found as f64 / (k * measure.len()) as f64;
    if recall < RECALL {
        monitor.note(format!(
            "eight bits found {recall:.5} of the neighbours of a sample; searching in f32"
        ));
        return Ok(None);
    }
    let searched = ExactSearch {
        kernel: kernel.name().into(),
        precision: Precision::I8,
        recall,
        sampled: measure.len(),
        candidates: keep,
    };
    Ok(Some((lists, searched)))
}

fn longest(rows: &Rows, centre: &[f32]) -> f64 {
    (0..rows.n())
        .into_par_iter()
        .map(|i| {
            let values = rows.row(i).iter().zip(centre);
            values
                .map(|(v, c)| f64::from(v - c).powi(2))
                .sum::<f64>()
                .sqrt()
        })
        .reduce(|| 0.0, f64::max)
}

/// How many of the candidates must be looked at to have all of the true neighbours; all of
/// them, if that is not enough.
fn needed(candidates: &[Candidate], truth: &[Candidate]) -> usize {
    (truth.iter())
        .map(|t| {
            let place = candidates.iter().position(|c| c.index() == t.index());
            place.map_or(candidates.len(), |p| p + 1)
        })
        .max()
        .unwrap_or(0)
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
    fn the_rotation_keeps_products_and_evens_out_the_values() {
        // Rows along one axis only: all their length is in one value.
        let rows = Array2::from_shape_fn((40, 64), |(i, c)| if c == i % 3 { 1.0 } else { 0.0 });
        let quantizer = Quantizer::new(vec![0.0; 64], 1.0);
        let codes = quantizer.rows(40, |i, out| {
            out.copy_from_slice(rows.row(i).as_slice().unwrap());
        });
        let code = |i: usize| codes[i * 64..(i + 1) * 64].iter().map(|&v| f64::from(v));
        let square = f64::from(quantizer.scale).powi(2);
        for (i, j) in [(0, 0), (0, 3), (0, 1), (1, 2)] {
            let product: f64 = code(i).zip(code(j)).map(|(a, b)| a * b).sum::<f64>() / square;
            let expected = f64::from(rows.row(i).dot(&rows.row(j)));
            assert!((product - expected).abs() < 0.03, "{i} {j}: {product}");
        }
        assert!(code(0).filter(|v| *v != 0.0).count() > 50);
    }

    #[test]
    fn the_candidates_that_are_needed() {
        let list = |items: &[u32]| -> Vec<Candidate> {
            items
                .iter()
                .zip(1..)
                .map(|(&i, p)| Candidate::new(i, -(p as f32)))
                .collect()
        };
        assert_eq!(needed(&list(&[4, 2, 9, 7]), &list(&[2, 4])), 2);
        assert_eq!(needed(&list(&[4, 2, 9, 7]), &list(&[9])), 3);
        assert_eq!(needed(&list(&[4, 2, 9, 7]), &list(&[5])), 4);
    }
}
