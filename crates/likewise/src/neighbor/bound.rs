//! How far a first pass may be off, and which candidates that leaves.
//!
//! A first pass compares with numbers that are not quite the final similarities. Where none
//! of them is off by more than `e`, the `k` best by the first pass have final similarities of
//! at least `t - e`, `t` being the worst of the `k`. So whatever is among the best in the end
//! is at least `t - e` too, and at least `t - 2 e` in the first pass: all that lie within
//! this window are computed again, and the answer is that of comparing all.
//!
//! All bounds are worst cases over all roundings, by the inequality of Cauchy and Schwarz.
//! Source: Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 3.1.

use crate::distance::Metric;

/// Largest relative error of one operation in `f32`.
pub(super) const UNIT: f64 = 1.0 / (1 << 24) as f64;

/// Largest relative error of a sum of `d` products in `f32`, with a few operations more.
fn of_a_sum(d: usize) -> f64 {
    let error = (d + 4) as f64 * UNIT;
    if error < 0.5 {
        error / (1.0 - error)
    } else {
        f64::INFINITY
    }
}

/// Largest error of the final similarity of a query of length `own` with a row of at most
/// `longest`, both from the centre: of the product, and for the Euclidean distance of
/// `-|q - x|² / 2`, that is of `q . x - |x|² / 2` up to the query's own share.
pub(super) fn of_similarity(metric: Metric, d: usize, own: f64, longest: f64) -> f64 {
    let rounding = match metric {
        Metric::Cosine | Metric::InnerProduct => of_a_sum(d) * own * longest,
        // Half the error of the squared distance, and that of moving both to the centre.
        Metric::Euclidean => (of_a_sum(d) / 2.0 + UNIT) * (own + longest).powi(2),
    };
    rounding + underflow(d)
}

/// What products may lose that are too small for `f32`.
fn underflow(d: usize) -> f64 {
    (d + 4) as f64 * 2.0_f64.powi(-148)
}

/// Largest error of adding `-|x|² / 2` in `f32`, rounded before, to a product, and of
/// taking a window from the sum.
pub(super) fn of_bias(metric: Metric, product: f64, longest: f64) -> f64 {
    let half = match metric {
        Metric::Cosine | Metric::InnerProduct => 0.0,
        Metric::Euclidean => longest.powi(2) / 2.0,
    };
    UNIT * (half + 3.0 * (product + half))
}

/// The window of a first pass that is off by `error` at most.
pub(super) fn window(error: f64) -> f32 {
    if error.is_nan() {
        return f32::INFINITY;
    }
    // A little more than 2 for the roundings of the bound itself.
    ((2.001 * error) as f32).next_up()
}

/// The windows of a first pass in `f32` by `q . x - |x|² / 2`, from the lengths of the queries
/// and the items, both from the centre.
pub(super) fn of_f32(metric: Metric, d: usize, queries: Vec<f64>, items: &[f64]) -> Vec<f32> {
    let longest = items.iter().copied().fold(0.0, f64::max);
    (queries.into_iter())
        .map(|own| {
            let product = of_a_sum(d) * own * longest + underflow(d);
            window(
                product
                    + of_bias(metric, own * longest, longest)
                    + of_similarity(metric, d, own, longest),
            )
        })
        .collect()
}
