//! From many terms to one: weighted means and sums of exponentials.

use burn::tensor::{Tensor, activation::softplus_with_threshold};

/// Stands for the logarithm of 0, and for a sum over nothing: finite in f32.
const NOTHING: f64 = -1e30;

/// Keeps a quotient of 0 by 0 at 0.
const LEAST: f64 = 1e-30;

/// `sum w t / sum w`; 0 without weight.
pub(crate) fn weighted_mean(terms: Tensor<2>, weights: Tensor<2>) -> Tensor<1> {
    (terms * weights.clone()).sum() / weights.sum().clamp_min(LEAST)
}

/// The weighted mean over the terms above 0 of `max(t, 0)`; how many there are is a constant
/// of the gradient.
pub(crate) fn mean_positive(terms: Tensor<2>, weights: Tensor<2>) -> Tensor<1> {
    let inactive = terms.clone().detach().lower_equal_elem(0.0);
    weighted_mean(terms, weights.mask_fill(inactive, 0.0))
}

/// `log sum_j w_ij exp(x_ij)` of each row, `[rows, 1]`; about -1e30 where a row has no weight.
pub(crate) fn log_sum_exp(x: Tensor<2>, weights: Tensor<2>) -> Tensor<2> {
    let absent = weights.clone().lower_equal_elem(0.0);
    let log_weights = weights.mask_fill(absent.clone(), 1.0).log();
    let x = (x + log_weights).mask_fill(absent, NOTHING);
    let largest = x.clone().detach().max_dim(1);
    (x - largest.clone()).exp().sum_dim(1).log() + largest
}

/// `log(1 + exp(x))`, exact to f64 everywhere.
pub(crate) fn softplus<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    softplus_with_threshold(x, 1.0, 40.0)
}

/// `log(1 + sum_j w_ij exp(x_ij))` of each row, `[rows, 1]`; 0 where a row has no weight.
pub(crate) fn log_one_plus_sum_exp(x: Tensor<2>, weights: Tensor<2>) -> Tensor<2> {
    softplus(log_sum_exp(x, weights))
}

/// As [`log_sum_exp`], with 0 in place of a sum over nothing.
pub(crate) fn log_sum_exp_or_zero(x: Tensor<2>, weights: Tensor<2>) -> Tensor<2> {
    let sum = log_sum_exp(x, weights);
    let nothing = sum.clone().lower_elem(NOTHING / 2.0);
    sum.mask_fill(nothing, 0.0)
}

/// A tensor that equals `value` and has the gradient `slope` with respect to `at`.
///
/// For losses over triplets: value and gradient are found block by block outside of the
/// graph of operations, which would hold every block at once.
pub(crate) fn with_slope(value: Tensor<1>, slope: Tensor<2>, at: Tensor<2>) -> Tensor<1> {
    value.detach() + ((at.clone() - at.detach()) * slope.detach()).sum()
}
