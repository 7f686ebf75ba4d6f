//! The first pass of an exact search in sixteen bits.
//!
//! Rows are multiplied by one number and rounded to integers, so that the products of the
//! rounded rows are exact in 32 bits. What a row loses in this is known, and with it how far
//! any product may be off ([`bound`]): all candidates within this reach are computed again
//! in `f32`. A row that has too many of them is left to a search in `f32`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::bound::{self, UNIT};
use super::candidate::{Candidate, Lists};
use super::panel::{self, Items16, Keep, Queries16, Side};
use super::rows::{Rows, SPARE};
use crate::distance::Metric;
use crate::distance::tile::Kernel;
use crate::{Monitor, Result, parallel};

/// Most that a value may be.
const LARGEST: f64 = 32767.0;
/// Most that a rounded row may be long: the root of 2^31, rounded down.
const LONGEST: f64 = 46340.0;

/// Whether sixteen bits are worth the preparation.
pub(super) fn pays(rows: &Rows) -> bool {
    rows.n() >= 8192 && rows.dimension() >= 48
}

/// What a first pass found.
pub(super) struct Found {
    /// The final lists by position; `None` where there were too many candidates.
    pub(super) lists: Vec<Option<Vec<Candidate>>>,
    /// Candidates that were computed again.
    pub(super) candidates: u64,
}

/// Lengths of a row: rounded, and of what the rounding took away.
#[derive(Clone, Copy)]
struct Lengths {
    rounded: f64,
    rest: f64,
}

pub(super) fn search(kernel: Kernel, rows: &Rows, k: usize, monitor: &Monitor) -> Result<Found> {
    let (n, d) = (rows.n(), rows.dimension());
    let center = rows.center();
    let lengths = rows.lengths(&center);
    let longest = lengths.iter().copied().fold(0.0, f64::max);
    let scale = scale(d, longest, rows.largest(&center));
    let scaled = |i: usize| {
        let values = rows.row(i).iter().zip(&center);
        values.map(move |(v, c)| scale * f64::from(v - c))
    };
    let write = |i: usize, out: &mut [i16]| {
        for (out, v) in out.iter_mut().zip(scaled(i)) {
            *out = round(v);
        }
    };
    let parts = parallel::map_rows(n, |i| {
        let (mut rounded, mut rest) = (0.0, 0.0);
        for v in scaled(i) {
            let r = f64::from(round(v));
            rounded += r * r;
            rest += (v - r) * (v - r);
        }
        Lengths {
            rounded: rounded.sqrt(),
            rest: rest.sqrt(),
        }
    });
    let (queries, items) = (Queries16::pack(n, d, write), Items16::pack(n, d, write));
    monitor.check()?;

    let square = scale * scale;
    let bias = match rows.metric {
        Metric::Cosine | Metric::InnerProduct => Vec::new(),
        Metric::Euclidean => (lengths.iter())
            .map(|l| (l * l / -2.0 * square) as f32)
            .collect(),
    };
    let side = Side::new(rows.ids.clone(), bias);
    let most = parts.iter().fold(
        Lengths {
            rounded: 0.0,
            rest: 0.0,
        },
        |most, part| Lengths {
            rounded: most.rounded.max(part.rounded),
            rest: most.rest.max(part.rest),
        },
    );
    let long = scale * longest;
    let window: Vec<f32> = (parts.iter().zip(&lengths))
        .map(|(own, &length)| {
            let product = own.rounded * most.rounded;
            // q = q' + q", x = x' + x": q . x - q' . x' = q' . x" + q" . x.
            let rounding = own.rounded * most.rest + own.rest * long + UNIT * product;
            let last = square * bound::of_similarity(rows.metric, d, length, longest);
            bound::window(rounding + bound::of_bias(rows.metric, product, long) + last)
        })
        .collect();

    let candidates = AtomicU64::new(0);
    let finish = |first: usize, mut lists: Lists| -> Vec<Option<Vec<Candidate>>> {
        (first..(first + lists.threshold.len()).min(n))
            .map(|i| {
                let found = lists.all(i - first)?;
                candidates.fetch_add(found.len() as u64, Relaxed);
                Some(rows.rescore(kernel, rows.row(i), found, k))
            })
            .collect()
    };
    let keep = Keep::Within {
        k,
        spare: SPARE,
        window: &window,
    };
    let lists = panel::self_join(kernel, &(&queries, &items), &side, keep, monitor, finish)?;
    Ok(Found {
        lists: lists.into_iter().flatten().collect(),
        candidates: candidates.into_inner(),
    })
}

/// The number that makes rows of at most this length and of values of at most this size as
/// long as the sums allow.
fn scale(d: usize, longest: f64, largest: f64) -> f64 {
    // Rounding makes a row longer by half a unit a value at most.
    let room = LONGEST - (d as f64).sqrt() / 2.0 - 1.0;
    let scale = (room / longest).min((LARGEST - 1.0) / largest);
    if scale.is_finite() && scale > 0.0 {
        scale
    } else {
        1.0
    }
}

/// Rounds to the nearest integer, ties to even. Adding 3 x 2^51 leaves no bits for a
/// fraction, so the addition rounds and the lowest bytes are the answer; the library
/// function is a call for each value on machines of the oldest kind.
fn round(v: f64) -> i16 {
    const NO_FRACTION: f64 = 6_755_399_441_055_744.0;
    (v + NO_FRACTION).to_bits() as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding() {
        let values = [
            -32767.0, -3.5, -2.5, -0.5, -0.0, 0.49, 0.5, 1.5, 126.51, 32766.6,
        ];
        assert_eq!(
            values.map(round),
            [-32767, -4, -2, 0, 0, 0, 0, 2, 127, 32767]
        );
    }

    #[test]
    fn sums_stay_within_32_bits() {
        for (d, longest, largest) in [(1, 1.0, 1.0), (100, 10.0, 1.0), (1 << 20, 3e-40, 1e-42)] {
            let scale = scale(d, longest, largest);
            let length = scale * longest + (d as f64).sqrt() / 2.0;
            assert!(length * length < 2.0_f64.powi(31), "{d}");
            assert!(scale * largest < 32767.0);
            assert!(scale * longest > 32000.0);
        }
        assert!((scale(5, 0.0, 0.0) - 1.0).abs() < 1e-12);
    }
}
