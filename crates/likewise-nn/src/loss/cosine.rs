//! Unit rows, their cosines and their distances: what most losses are made of.

use burn::tensor::Tensor;

/// Rows scaled to unit length, for rows of any finite length.
///
/// A row shorter than 1e-12 has no direction: it stays as it is, with a finite gradient.
pub(crate) fn l2_normalize(x: Tensor<2>) -> Tensor<2> {
    // The squares of very long rows would overflow; other rows are not touched by this.
    let largest = x.clone().detach().abs().max_dim(1);
    let short = largest.clone().lower_elem(1e12);
    let x = x / largest.mask_fill(short, 1.0);
    let square = x.clone().square().sum_dim(1);
    let nothing = square.clone().lower_elem(1e-24);
    x / square.mask_fill(nothing, 1.0).sqrt()
}

/// Cosines between the first `anchors` rows and all rows, `[anchors, n]`.
pub(crate) fn cosines(embeddings: Tensor<2>, anchors: usize) -> Tensor<2> {
    let unit = l2_normalize(embeddings);
    let first = unit.clone().slice(0..anchors);
    first.matmul(unit.transpose())
}

/// Squared Euclidean distances of unit rows, from their cosines.
pub(crate) fn squared_distances(cosines: Tensor<2>) -> Tensor<2> {
    cosines.mul_scalar(-2.0).add_scalar(2.0).clamp_min(0.0)
}

/// Euclidean distances of unit rows, from their cosines; where two rows agree the distance
/// and its gradient are 0.
pub(crate) fn distances(cosines: Tensor<2>) -> Tensor<2> {
    let square = squared_distances(cosines);
    let same = square.clone().lower_elem(1e-12);
    let away = square.mask_fill(same.clone(), 1.0).sqrt();
    away.mask_fill(same, 0.0)
}
